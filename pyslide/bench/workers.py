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


class IntervalEnds:
    """A callback of asynchronous runs that notes when their intervals end."""

    def __init__(self) -> None:
        self.ends: dict[int, float] = {}  # steps of the network when an interval has ended, and when that was

    def __call__(self, trainer: Trainer, record: StepRecord) -> None:
        """Note when an interval's first record comes: all of them come when it has ended."""
        self.ends.setdefault(trainer.network.steps, time.perf_counter())

    @property
    def later_steps(self) -> int:
        """Return the steps after the first interval, in which workers start."""
        return max(self.ends) - min(self.ends)

    @property
    def later_seconds(self) -> float:
        """Return the seconds of these steps."""
        return self.ends[max(self.ends)] - self.ends[min(self.ends)]


def step_milliseconds(trainer: Trainer, workers: Workers) -> float:
    """Return the milliseconds of a step in the later intervals of a run; an epoch is an interval.

    Raises
    ------
    KeyboardInterrupt
        If the run was interrupted: part of it is no measurement.
    """
    clock = IntervalEnds()
    if not run_asynchronously(trainer, trainer.epoch + INTERVALS, workers, [clock]):
        raise KeyboardInterrupt
    return 1e3 * clock.later_seconds / clock.later_steps


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
