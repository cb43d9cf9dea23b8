"""Contenders take turns, on the same rows, each in a process of its own, so that a noisy machine is noisy for all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from pyslide.bench.cases import COUNTED, PROFILED, REBUILD_INTERVAL, WARM_UP, Case
from pyslide.bench.contenders import CONTENDERS, EngineContender, Sizes, WorkersContender
from pyslide.bench.memory import peak_resident_bytes
from pyslide.bench.processes import Remote, in_processes
from pyslide.bench.stages import STATIONS, median_seconds, station_seconds

REBUILDS = 3
"""Rebuilds that are timed."""


class Measurement(NamedTuple):
    """What was measured of one contender."""

    name: str
    step_milliseconds: float  # median
    spread_milliseconds: float  # interquartile range
    quartiles_milliseconds: tuple[float, float]
    rebuild_milliseconds: float  # of one rebuild; 0 without tables
    amortised_milliseconds: float  # a step and its share of the rebuilds
    samples_per_second: float  # amortised
    active_neurons: float  # a sample, at the output
    touched_rows: float  # of the output's weights, a batch
    peak_megabytes: float  # of the contender's process, 10^6 bytes; workers map most of it
    times_as_fast: float  # as the slowest contender, amortised
    stages: Mapping[str, float]  # milliseconds


class Measured:
    """A contender that measures itself, in a process of its own.

    Parameters
    ----------
    name : str
        Its key in `CONTENDERS`.
    case : Case
    """

    def __init__(self, name: str, case: Case) -> None:
        self.contender = CONTENDERS[name](case)

    def step(self) -> float:
        """Let it have a turn, and return the seconds of one step."""
        started = time.perf_counter()
        self.contender.step()
        return (time.perf_counter() - started) / self.contender.steps_a_turn

    def rebuild(self) -> float:
        """Return the seconds of a rebuild; 0 for a contender without tables."""
        if not isinstance(self.contender, EngineContender) or not self.contender.has_tables:
            return 0.0
        started = time.perf_counter()
        self.contender.rebuild()
        return time.perf_counter() - started

    def peak_bytes(self) -> int:
        """Return the largest resident set that the process ever had."""
        return peak_resident_bytes()

    def profile(self) -> dict[str, float]:
        """Return the seconds of the stations of one more step, which only our own engine in this process has."""
        if not isinstance(self.contender, EngineContender) or isinstance(self.contender, WorkersContender):
            return {}
        return station_seconds(self.contender.step, STATIONS, self.contender.threads)

    def sizes(self) -> Sizes:
        """Return the sizes of one more step."""
        sizes = self.contender.sizes()
        if isinstance(self.contender, EngineContender) and not self.contender.all_active:  # else all are the same
            self.contender.trainer.step()
        return sizes

    def close(self) -> None:
        """End what the contender began."""
        if isinstance(self.contender, WorkersContender):
            self.contender.close()


def take_turns(remotes: Mapping[str, Remote], steps: int) -> dict[str, list[float]]:
    """Let everybody train in turn and return the seconds of each step, those that warm up left out."""
    seconds: dict[str, list[float]] = {name: [] for name in remotes}
    for turn in range(WARM_UP + steps):
        for name, remote in remotes.items():
            spent = remote.ask("step")
            if turn >= WARM_UP:
                seconds[name].append(spent)
    return seconds


def measure(
    case: Case, names: Sequence[str], steps: int, rebuild_interval: int = REBUILD_INTERVAL
) -> list[Measurement]:
    """Measure contenders side by side on one case.

    Parameters
    ----------
    case : Case
    names : sequence of str
        Keys of `CONTENDERS`.
    steps : int
        Timed turns of each, after three that are not timed: a step, or what workers do between two rebuilds.
    rebuild_interval : int
        Steps between rebuilds, for the amortised time.

    Raises
    ------
    ContenderError
        If one of them fails.
    """
    return measure_all({name: (name, case) for name in names}, steps, case.threads, rebuild_interval)


def measure_all(
    entries: Mapping[str, tuple[str, Case]], steps: int, threads: int, rebuild_interval: int = REBUILD_INTERVAL
) -> list[Measurement]:
    """Measure contenders side by side, each on a case of its own.

    Parameters
    ----------
    entries : mapping
        From what a measurement is called to a key of `CONTENDERS` and a case.
    steps, threads, rebuild_interval : int

    Raises
    ------
    ContenderError
        If one of them fails.
    """
    builders = {called: partial(Measured, *entry) for called, entry in entries.items()}
    with in_processes(builders, threads) as remotes:
        seconds = take_turns(remotes, steps)
        rows = [
            measurement(called, remote, seconds[called], rebuild_interval, entries[called][1].shape.batch)
            for called, remote in remotes.items()
        ]
    slowest = max(row.amortised_milliseconds for row in rows)
    return [row._replace(times_as_fast=slowest / row.amortised_milliseconds) for row in rows]


def amortised(step: float, rebuild: float, rebuild_interval: int) -> float:
    """Return the time of a step with its share of a rebuild."""
    return step + rebuild / rebuild_interval


def measurement(
    name: str, remote: Remote, seconds: Sequence[float], rebuild_interval: int, batch: int
) -> Measurement:
    """Return one contender's figures."""
    low, middle, high = (float(value) for value in np.percentile(1e3 * np.asarray(seconds), [25, 50, 75]))
    rebuild = 1e3 * float(np.median([remote.ask("rebuild") for _ in range(REBUILDS)]))
    peak = remote.ask("peak_bytes")
    # Clocks first: counting brings into the cache what the step that it counts would have to fetch.
    profiles = [remote.ask("profile") for _ in range(PROFILED)]
    active, touched = np.mean([remote.ask("sizes") for _ in range(COUNTED)], axis=0)
    whole = amortised(middle, rebuild, rebuild_interval)
    return Measurement(
        name,
        middle,
        high - low,
        (low, high),
        rebuild,
        whole,
        1e3 * batch / whole,
        float(active),
        float(touched),
        peak / 1e6,
        1.0,
        {stage: 1e3 * spent for stage, spent in median_seconds(profiles).items()},
    )
