"""Asynchronous workers without locks (section 3.1; HOGWILD, Recht et al. 2011).

Between two rebuilds of the tables the batches of an interval are dealt out to workers.  Each reads the weights as they
are, and writes the rows that its batch touched back into the same memory, whatever the others do meanwhile.  Threads
share the arrays of the network; processes share files that are mapped into memory.  Everything that is drawn is drawn
beforehand, in the order of the batches, so that one worker gives what `Trainer.run` gives, bit for bit.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib.externals.loky.process_executor import TerminatedWorkerError

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.network import Layer, Network
from pyslide.engine.step import BatchPass, Draws, training_step
from pyslide.engine.vectors import Batch
from pyslide.errors import NonFiniteError, OutOfRangeError, PyslideError
from pyslide.interruption import DeferredInterrupt
from pyslide.spec.schedule import rebuild_step
from pyslide.training import Callback, StepRecord, Trainer, TrainingSettings, precision_at_1

KINDS = {"processes": "loky", "threads": "threading"}
"""What workers are, and joblib's name for it."""
LONGEST_INTERVAL = 50
"""Steps of a worker between two reports, where tables are rebuilt more rarely."""


class WorkerDiedError(PyslideError):
    """A worker's process ended without a word, as the operating system ends one that takes too much memory."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """How many workers there are, and of which kind.

    Attributes
    ----------
    count : int
    kind : {"processes", "threads"}
    """

    count: int = 2
    kind: str = "processes"

    def __post_init__(self) -> None:
        """Refuse workers that cannot be."""
        if self.count < 1:
            raise OutOfRangeError(f"workers: expected at least 1, got {self.count}")
        if self.kind not in KINDS:
            raise OutOfRangeError(f"kind of workers: expected {' or '.join(KINDS)}, got {self.kind!r}")


class Task(NamedTuple):
    """One batch: its place in the run, its rows, and what was drawn for it."""

    step: int  # t of the optimiser, counted from 1
    epoch: int
    rows: IntArray
    draws: list[Draws]


class Data(NamedTuple):
    """What workers train on."""

    features: Batch
    labels: Any
    sample_weights: FloatArray | None
    settings: TrainingSettings
    process: int  # of the trainer


def train_tasks(network: Network, data: Data, tasks: Sequence[Task]) -> list[StepRecord]:
    """Train on some batches, one after the other, in the weights that all workers share."""
    if os.getpid() != data.process:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    own = Network(list(network.layers))  # its count of steps is nobody else's
    return [train_task(own, data, task) for task in tasks]


def train_task(network: Network, data: Data, task: Task) -> StepRecord:
    """Train on one batch and return its record."""
    started = time.perf_counter()
    network.steps = task.step - 1
    weights = None if data.sample_weights is None else data.sample_weights[task.rows]
    result = training_step(
        network,
        data.features[task.rows],
        data.labels[task.rows],
        task.draws,
        data.settings.optimizer,
        data.settings.conventions,
        sample_weights=weights,
    )
    return record_of(task, result.batch_pass, result.loss, network, time.perf_counter() - started)


def record_of(task: Task, batch_pass: BatchPass, loss: float, network: Network, seconds: float) -> StepRecord:
    """Return the record of a batch."""
    share = batch_pass.active.neurons.size / task.rows.size / network.layers[-1].neurons
    precision = precision_at_1(batch_pass)
    return StepRecord(task.step, task.epoch, task.rows.size, loss, precision, share, seconds)


def interval_of(trainer: Trainer, workers: Workers, last_step: float) -> int:
    """Return how many batches are dealt out: up to the next rebuild, the end of the epoch or the last step."""
    schedule = trainer.settings.schedule
    due = rebuild_step(trainer.rebuilds + 1, schedule.first_interval, schedule.growth)
    rows = trainer.features.shape[0] - trainer.position
    left = -(-rows // trainer.settings.batch_size)
    steps = trainer.network.steps
    return int(max(1, min(due - steps, last_step - steps, left, LONGEST_INTERVAL * workers.count)))


def next_tasks(trainer: Trainer, count: int) -> list[Task]:
    """Draw for the next batches what `Trainer.step` would draw, in the same order."""
    size, tasks = trainer.settings.batch_size, []
    for number in range(count):
        start = trainer.position + number * size
        rows = trainer.row_order[start : start + size]
        tasks.append(Task(trainer.network.steps + number + 1, trainer.epoch, rows, trainer.draws(rows.size)))
    return tasks


def shared_folder(size: int) -> str | None:
    """Return a folder in memory with room for so many bytes, None for the ordinary place of temporary files."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 2 * size:
        return str(memory)
    return None


def mapped(array: Any, path: Path) -> np.ndarray:
    """Return a copy of an array in a file that is mapped into memory, in the same order."""
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    copy: np.ndarray = np.memmap(path, dtype=array.dtype, mode="w+", shape=array.shape, order=order)  # type: ignore[call-overload]
    copy[...] = array
    return copy


def arrays_of(layer: Layer) -> dict[str, np.ndarray]:
    """Return the arrays of a layer that training changes."""
    named = {field.name: getattr(layer, field.name) for field in fields(layer)}
    return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}


def in_files(layer: Layer, folder: Path, name: str) -> Layer:
    """Return a layer with the same tables whose arrays are mapped files."""
    copy = replace(layer)
    for field, array in arrays_of(layer).items():
        setattr(copy, field, mapped(array, folder / f"{name}-{field}"))
    return copy


@contextmanager
def shared_network(network: Network, kind: str) -> Iterator[Network]:
    """Give a network whose arrays all workers can write to; in the end the network has what they wrote.

    Threads have the network itself.  For processes its arrays are copied to mapped files, which are gone in the end,
    whatever happens.
    """
    if kind == "threads":
        yield network
        return
    size = sum(array.nbytes for layer in network.layers for array in arrays_of(layer).values())
    with tempfile.TemporaryDirectory(prefix="pyslide-workers-", dir=shared_folder(size)) as folder:
        layers = [in_files(layer, Path(folder), f"layer{depth}") for depth, layer in enumerate(network.layers)]
        shared = Network(layers, network.steps)
        try:
            yield shared
        finally:
            for layer, copy in zip(network.layers, layers, strict=True):
                for name, array in arrays_of(layer).items():
                    array[...] = getattr(copy, name)


def run_asynchronously(
    trainer: Trainer,
    epochs: int,
    workers: Workers,
    callbacks: Sequence[Callback] = (),
    steps: int | None = None,
) -> bool:
    """Train like `Trainer.run`, with workers that share the weights without locks.

    Tables are rebuilt, and callbacks called, when all workers have done their share of an interval.

    Parameters
    ----------
    trainer : Trainer
    epochs : int
        The epochs of the whole run, those before a resumption included.
    workers : Workers
    callbacks : sequence of Callback
        Called for every batch, with the weights at the end of its interval.
    steps : int, optional
        The steps of the whole run.

    Returns
    -------
    bool
        Whether the run came to its end; False after Ctrl-C, when all workers have done their share.

    Raises
    ------
    WorkerDiedError
        If a worker's process is gone.
    NonFiniteError
        If a loss is no longer finite.
    """
    data = Data(trainer.features, trainer.labels, trainer.sample_weights, trainer.settings, os.getpid())
    private = trainer.network
    with shared_network(private, workers.kind) as shared, pool_of(workers) as pool, DeferredInterrupt() as interrupt:
        trainer.network = shared  # rebuilds read what workers wrote
        try:
            while trainer.epoch < epochs and (steps is None or shared.steps < steps):
                if interrupt.requested:
                    return False
                last = np.inf if steps is None else steps
                tasks = next_tasks(trainer, interval_of(trainer, workers, last))
                finish_interval(trainer, work(pool, shared, data, tasks, workers.count), callbacks)
        finally:
            trainer.network = private
            private.steps = shared.steps  # tables are the same objects in both
    return True


@contextmanager
def pool_of(workers: Workers) -> Iterator[joblib.Parallel]:
    """Give joblib's workers, each with one thread for BLAS where they are processes."""
    limit = 1 if workers.kind == "processes" else None
    with (
        joblib.parallel_config(backend=KINDS[workers.kind], n_jobs=workers.count, inner_max_num_threads=limit),
        joblib.Parallel() as pool,
    ):
        yield pool


def work(
    pool: joblib.Parallel, shared: Network, data: Data, tasks: Sequence[Task], workers: int
) -> list[StepRecord]:
    """Deal tasks out in turn, let all be done, and return their records in the order of the steps."""
    shares = [tasks[start::workers] for start in range(min(workers, len(tasks)))]
    try:
        done = pool(joblib.delayed(train_tasks)(shared, data, share) for share in shares)
    except TerminatedWorkerError as fault:
        raise WorkerDiedError(f"a worker ended between step {tasks[0].step} and {tasks[-1].step}: {fault}") from fault
    return sorted((record for part in done for record in part), key=lambda record: record.step)


def finish_interval(trainer: Trainer, records: Sequence[StepRecord], callbacks: Sequence[Callback]) -> None:
    """Move the trainer on by an interval: records, rebuild, place in the epoch."""
    for record in records:
        if not np.isfinite(record.loss):
            raise NonFiniteError(f"loss: expected a finite number, got {record.loss} at step {record.step}")
    trainer.network.steps = records[-1].step
    trainer.rebuild_if_due()
    for record in records:
        trainer.advance(record.samples)
        trainer.history.append(record.row())
        for callback in callbacks:
            row = callback(trainer, record)
            if row is not None:
                trainer.history.append(row)
