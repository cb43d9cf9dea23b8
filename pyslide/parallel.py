"""Asynchronous workers without locks (section 3.1; HOGWILD, Recht et al. 2011).

Between two rebuilds of the tables the batches of an interval are dealt out to workers.  Each reads the weights as they
are, and writes the rows that its batch touched back into the same memory, whatever the others do meanwhile.  Threads
share the arrays of the network; processes share files that are mapped into memory.  Everything that is drawn is drawn
beforehand, in the order of the batches, so that one worker gives what `Trainer.run` gives, bit for bit.  Adam's t
is a batch's place in that order.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import joblib
import numpy as np

from pyslide.arrays import IntArray
from pyslide.conventions import Conventions
from pyslide.engine.network import HASHED_ROWS, Layer, LayerTables, Network, neuron_keys
from pyslide.engine.step import BatchPass, Draws, training_step
from pyslide.engine.threads import Threads
from pyslide.engine.vectors import row_slices
from pyslide.errors import NonFiniteError, OutOfRangeError, PyslideError
from pyslide.interruption import DeferredInterrupt, held_back_interrupts, orderly_termination
from pyslide.shared_memory import Data, Shared, put_tables_in_files, shared_memory, space_of_keys
from pyslide.spec.schedule import rebuild_step
from pyslide.training import Callback, StepRecord, Trainer, precision_at_1

KINDS = {"processes": "loky", "threads": "threading"}
"""What workers are, and joblib's name for it."""
LONGEST_INTERVAL = 50
"""Steps of a worker between two reports, where tables are rebuilt more rarely."""

NEURONS_AT_A_TIME = 8192
"""Neurons whose keys a worker holds before it writes them to the shared file: few enough to use their memory again."""


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


def leave_interrupts(process: int) -> bool:
    """Return whether we are in another process than that one, to which Ctrl-C is then left: it waits for us.

    Workers do not hear of one when they begin; those that take the place of others, long idle, might.
    """
    elsewhere = os.getpid() != process
    if elsewhere:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return elsewhere


def train_tasks(network: Network, data: Data, tasks: Sequence[Task]) -> list[StepRecord] | Exception:
    """Train on some batches, one after the other, in the weights that all workers share.

    A fault is returned, not raised, and stops the other workers after their batch: when it is raised to the caller,
    nobody writes to the weights any more.
    """
    elsewhere = leave_interrupts(data.process)
    own, records = Network(list(network.layers)), []  # its count of steps is nobody else's
    try:
        for task in tasks:
            if data.stop[0]:
                break
            records.append(train_task(own, data, task))
    except Exception as fault:
        data.stop[0] = True
        if elsewhere:  # on its way home an exception keeps its notes, but not its traceback
            fault.add_note(f"in a worker:\n{traceback.format_exc()}")
        return fault
    return records


def train_task(network: Network, data: Data, task: Task) -> StepRecord:
    """Train on one batch and return its record.

    Raises
    ------
    NonFiniteError
        If the loss is no longer finite; weights are then useless.
    """
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
    if not np.isfinite(result.loss):
        raise NonFiniteError(
            f"loss: expected a finite number, got {result.loss} at step {task.step}; "
            "a smaller learning rate or initial scale may help"
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
        Called for every batch when its interval has ended, with the trainer as it is then.
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
    last = np.inf if steps is None else steps
    with (
        orderly_termination(),
        DeferredInterrupt() as interrupt,  # until the trainer has what workers wrote
        crew_of(trainer, workers) as crew,
    ):
        while trainer.epoch < epochs and trainer.network.steps < last:
            if interrupt.requested:
                return False
            crew.interval(last, callbacks)
    return True


class Crew(NamedTuple):
    """Workers that are there, and what they share."""

    trainer: Trainer
    workers: Workers
    shared: Shared
    pool: joblib.Parallel

    def interval(self, last_step: float, callbacks: Sequence[Callback] = ()) -> None:
        """Train up to the next rebuild, the end of the epoch or the last step, rebuild if that is due, and call back.

        Raises
        ------
        WorkerDiedError
            If a worker's process is gone.
        NonFiniteError
            If a loss is no longer finite.
        """
        put_tables_in_files(self.shared)
        tasks = next_tasks(self.trainer, interval_of(self.trainer, self.workers, last_step))
        finish_interval(self.trainer, work(self.pool, self.shared, tasks, self.workers.count), callbacks)


@contextmanager
def crew_of(trainer: Trainer, workers: Workers) -> Iterator[Crew]:
    """Give workers for a trainer, whose network they share."""
    threads, hash_neurons = trainer.threads, trainer.hash_neurons
    with shared_memory(trainer, workers.kind) as shared, pool_of(workers) as pool:
        trainer.threads = Threads(max(threads.count, workers.count))  # while tables are rebuilt, workers wait
        if shared.folder is not None:
            trainer.hash_neurons = partial(hash_in_workers, pool, shared, workers.count)
        try:
            yield Crew(trainer, workers, shared, pool)
        finally:
            trainer.threads.close()
            trainer.threads, trainer.hash_neurons = threads, hash_neurons


@contextmanager
def pool_of(workers: Workers) -> Iterator[joblib.Parallel]:
    """Give joblib's workers, each with one thread for BLAS where they are processes.

    joblib writes no files: of every array above a limit that is no mapped file yet, such as those of rebuilt tables, it
    would keep one to the end of the run.  A folder that is named to it is not made before it is needed.

    Processes begin here and now, where Ctrl-C does not reach them: it is for this one, which waits for them.
    """
    limit = 1 if workers.kind == "processes" else None
    with (
        joblib.parallel_config(
            backend=KINDS[workers.kind],
            n_jobs=workers.count,
            max_nbytes=None,
            temp_folder=tempfile.gettempdir(),
            inner_max_num_threads=limit,
        ),
        joblib.Parallel() as pool,
    ):
        if workers.kind == "processes":
            with held_back_interrupts():
                in_workers(pool, (joblib.delayed(os.getpid)() for _ in range(workers.count)), "at its start")
        yield pool


def in_workers(pool: joblib.Parallel, calls: Iterable[Any], when: str) -> list[Any]:
    """Return what calls give that workers make.

    Raises
    ------
    WorkerDiedError
        If a worker's process is gone.
    """
    try:
        return list(pool(calls))
    except BrokenProcessPool as fault:
        raise WorkerDiedError(f"a worker ended {when}: {fault}") from fault


def work(pool: joblib.Parallel, shared: Shared, tasks: Sequence[Task], workers: int) -> list[StepRecord]:
    """Deal tasks out in turn, let all be done, and return their records in the order of the steps.

    Raises
    ------
    WorkerDiedError
        If a worker's process is gone.
    Exception
        What a worker raised.
    """
    shares = [tasks[start::workers] for start in range(min(workers, len(tasks)))]
    calls = (joblib.delayed(train_tasks)(shared.network, shared.data, share) for share in shares)
    try:
        done = in_workers(pool, calls, f"between step {tasks[0].step} and {tasks[-1].step}")
    finally:
        shared.data.stop[0] = True  # for threads that go on after a second Ctrl-C
    records: list[StepRecord] = []
    for part in done:
        if isinstance(part, Exception):
            raise part
        records += part
    shared.data.stop[0] = False
    return sorted(records, key=lambda record: record.step)


def hash_share(
    layer: Layer, tables: LayerTables, conventions: Conventions, keys: IntArray, rows: slice, process: int
) -> int:
    """Hash some neurons into the keys of all, shape (L, N), which workers share; return densification failures."""
    leave_interrupts(process)
    failures = 0
    for part in row_slices(rows.stop, NEURONS_AT_A_TIME, rows.start):
        some = replace(layer, weights=layer.weights[part], biases=layer.biases[part])
        own, failed = neuron_keys(some, tables, conventions)
        keys[:, part] = own.T
        failures += failed
    return failures


def hash_in_workers(
    pool: joblib.Parallel, shared: Shared, workers: int, layer: Layer, tables: LayerTables, conventions: Conventions
) -> tuple[IntArray, int]:
    """Return what `neuron_keys` gives, a share of the neurons hashed by each worker: interpreters of their own wait for
    no lock.

    Where a worker dies all are hashed here, so that tables stay whole.
    """
    keys = space_of_keys(shared, layer, tables)
    blocks = -(-layer.neurons // (workers * HASHED_ROWS))  # whole ones: the same products as where one hashes all
    shares = row_slices(layer.neurons, blocks * HASHED_ROWS)
    hash_one = joblib.delayed(hash_share)
    calls = (hash_one(layer, tables, conventions, keys, rows, shared.data.process) for rows in shares)
    try:
        return keys.T, sum(in_workers(pool, calls, "while it hashed neurons"))
    except WorkerDiedError as fault:
        warnings.warn(f"{fault}; all neurons are hashed in this process", RuntimeWarning, stacklevel=2)
        return neuron_keys(layer, tables, conventions)


def finish_interval(trainer: Trainer, records: Sequence[StepRecord], callbacks: Sequence[Callback]) -> None:
    """Move the trainer on by an interval, and then call back: a callback that saves finds the end of the interval."""
    trainer.network.steps = records[-1].step
    trainer.rebuild_if_due()
    for record in records:
        trainer.advance(record.samples)
        trainer.history.append(record.row())
    for record in records:
        for callback in callbacks:
            row = callback(trainer, record)
            if row is not None:
                trainer.history.append(row)
