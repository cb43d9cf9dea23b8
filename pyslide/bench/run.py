"""Contenders take turns on the same batches, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pyslide.bench.contenders import CONTENDERS, Contender, EngineContender
from pyslide.bench.shapes import Shape
from pyslide.bench.stages import stage_seconds
from pyslide.data import Dataset
from pyslide.settings import Hashing


class Measurement(NamedTuple):
    """What was measured of one contender."""

    name: str
    step_milliseconds: float  # median
    spread_milliseconds: float  # interquartile range
    rebuild_milliseconds: float  # of one rebuild; 0 without tables
    amortised_milliseconds: float  # a step and its share of the rebuilds
    samples_per_second: float  # amortised
    active_neurons: float  # a sample, at the output
    times_as_fast: float  # as the slowest contender, amortised
    stages: Mapping[str, float]  # milliseconds


def timed(action: Contender) -> float:
    """Return the seconds of one step."""
    started = time.perf_counter()
    action.step()
    return time.perf_counter() - started


def rebuild_seconds(contender: Contender, repetitions: int) -> float:
    """Return the median seconds of a rebuild; 0 for a contender without tables."""
    if not isinstance(contender, EngineContender) or contender.trainer.network.layers[-1].tables is None:
        return 0.0
    seconds = []
    for _ in range(repetitions):
        started = time.perf_counter()
        contender.rebuild()
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


def measure(
    data: Dataset,
    shape: Shape,
    hashing: Hashing,
    names: Sequence[str],
    steps: int,
    threads: int,
    rebuild_interval: int = 50,
) -> list[Measurement]:
    """Measure contenders side by side.

    Parameters
    ----------
    data : Dataset
    shape : Shape
    hashing : Hashing
        The tables of SLIDE's output layer.
    names : sequence of str
        Keys of `CONTENDERS`.
    steps : int
        Timed steps of each, after three that are not timed.
    threads : int
    rebuild_interval : int
        Steps between rebuilds, for the amortised time.
    """
    contenders = {name: CONTENDERS[name](data, shape, hashing, threads) for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(steps + 3):
        for name, contender in contenders.items():
            spent = timed(contender)
            if turn >= 3:
                seconds[name].append(spent)
    rows = [
        measurement(name, contender, seconds[name], rebuild_interval, shape.batch)
        for name, contender in contenders.items()
    ]
    slowest = max(row.amortised_milliseconds for row in rows)
    return [row._replace(times_as_fast=slowest / row.amortised_milliseconds) for row in rows]


def measurement(
    name: str, contender: Contender, seconds: Sequence[float], rebuild_interval: int, batch: int
) -> Measurement:
    """Return one contender's figures."""
    milliseconds = 1e3 * np.asarray(seconds)
    low, middle, high = np.percentile(milliseconds, [25, 50, 75])
    rebuild = 1e3 * rebuild_seconds(contender, 3)
    amortised = middle + rebuild / rebuild_interval
    ours = isinstance(contender, EngineContender)
    stages = {name: 1e3 * spent for name, spent in stage_seconds(contender.step, 3).items()} if ours else {}
    active = float(np.mean(contender.active)) if isinstance(contender, EngineContender) else np.nan
    return Measurement(
        name,
        float(middle),
        float(high - low),
        rebuild,
        float(amortised),
        float(1e3 * batch / amortised),
        active,
        1.0,
        stages,
    )
