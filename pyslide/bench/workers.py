"""Asynchronous workers: milliseconds a step by their number and kind, in turn on one network."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pyslide.bench.cases import Case
from pyslide.bench.contenders import EngineContender
from pyslide.parallel import Workers, run_asynchronously
from pyslide.training import StepRecord, Trainer

ROUNDS = 2
"""How often everybody has a turn."""
INTERVALS = 3
"""Intervals of a turn; the first, in which workers start, is not timed."""


class WorkerMeasurement(NamedTuple):
    """What was measured of some workers."""

    workers: int
    kind: str
    step_milliseconds: float  # median over the turns
    times_one: float  # the throughput of one worker is 1


def step_milliseconds(trainer: Trainer, workers: Workers) -> float:
    """Return the milliseconds of a step in the later intervals of a run; an epoch is an interval."""
    ends: dict[int, float] = {}  # steps of the network when an interval has ended, and when that was

    def note(trained: Trainer, record: StepRecord) -> None:
        ends.setdefault(trained.network.steps, time.perf_counter())

    run_asynchronously(trainer, trainer.epoch + INTERVALS, workers, [note])
    steps = sorted(ends)
    return 1e3 * (ends[steps[-1]] - ends[steps[0]]) / (steps[-1] - steps[0])


def measure_workers(case: Case, counts: Sequence[int]) -> list[WorkerMeasurement]:
    """Measure one worker, and threads and processes of every other number.

    Parameters
    ----------
    case : Case
        Its rows are one interval: at most 50 batches.  A worker has one thread.
    counts : sequence of int
        Numbers of workers above 1.
    """
    trainer = EngineContender(case._replace(threads=1), hashing=case.hashing).trainer
    chosen = [Workers(count=1)]
    chosen += [Workers(count=count, kind=kind) for count in counts for kind in ("processes", "threads")]
    turns = [[step_milliseconds(trainer, workers) for workers in chosen] for _ in range(ROUNDS)]
    medians = np.median(turns, axis=0)
    return [
        WorkerMeasurement(workers.count, workers.kind if workers.count > 1 else "-", float(spent), medians[0] / spent)
        for workers, spent in zip(chosen, medians, strict=True)
    ]
