"""How much staleness asynchronous training bears, replayed by the simulator (`pyslide.simulator`).

Every interval between two rebuilds is replayed: batches that miss the writes of so many batches before them, random
orders with a bound on that, and workers that move in random turns and overwrite each other's updates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyslide import defaults
from pyslide.experiments import plotting
from pyslide.experiments.experiment import Choices, Data, Experiment, Finding, Row, Settings, Table
from pyslide.experiments.tidy import by, column, mean
from pyslide.inference import exact_top_k
from pyslide.metrics import precision_at_k
from pyslide.parallel import Task, Workers, interval_of, next_tasks
from pyslide.randomness import generators
from pyslide.settings import Hashing, LayerSettings
from pyslide.simulator import (
    BatchData,
    Interleaving,
    bounded_interleaving,
    random_interleaving,
    replay,
    with_staleness,
)
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Trainer, TrainingSettings

Order = Callable[[int], Interleaving]
"""From a number of batches to the order of their events."""


def orders(seed: int) -> dict[str, Order]:
    """Return the interleavings that are compared, by name."""
    (generator,) = generators(seed, 1)

    def stale(by: int) -> Order:
        return lambda batches: with_staleness(batches, min(by, batches))

    def bounded(by: int) -> Order:
        return lambda batches: bounded_interleaving(generator, batches, by)

    def random(workers: int) -> Order:
        return lambda batches: random_interleaving(generator, batches, workers)

    return {
        **{f"every batch misses {by} writes": stale(by) for by in (0, 1, 3, 7, 15)},
        **{f"random, at most {by} writes missed": bounded(by) for by in (3, 7)},
        **{f"{workers} workers in random turns": random(workers) for workers in (2, 4, 8)},
    }


def training_of(choices: Choices, labels: int, seed: int) -> TrainingSettings:
    """Return the training of every interleaving: a fifth of the output neurons active."""
    hashing = Hashing(codes_per_table=4, tables=50, sampling=Sampling(minimum_active=labels // 5))
    hidden = [LayerSettings(neurons=width) for width in choices.hidden]
    return TrainingSettings(
        layers=(*hidden, LayerSettings(neurons=labels, hashing=hashing)),
        batch_size=choices.batch_size,
        seed=seed,
        optimizer=Optimizer(learning_rate=choices.learning_rate),
        conventions=defaults.CONVENTIONS,
    )


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return a run with every interleaving and each seed."""
    names = list(orders(0))
    return [
        {
            "interleaving": name,
            "training": training_of(choices, data.labels, seed),
            "steps": choices.steps_of(data.training.rows),
        }
        for name in ([names[0], names[4], names[-1]] if choices.quick else names)
        for seed in range(choices.seeds)
    ]


def batch_of(trainer: Trainer, task: Task) -> BatchData:
    """Return a task's batch."""
    return BatchData(trainer.features[task.rows], trainer.labels[task.rows], task.draws)


def measure(data: Data, interleaving: str, training: TrainingSettings, steps: int) -> list[Row]:
    """Train with one interleaving, and rank all held-out rows in the end."""
    trainer = Trainer(training, data.training.features, data.training.labels)
    order = orders(training.seed)[interleaving]
    while trainer.network.steps < steps:
        tasks = next_tasks(trainer, interval_of(trainer, Workers(count=1), steps))
        batches = [batch_of(trainer, task) for task in tasks]
        replay(trainer.network, batches, order(len(batches)), training.optimizer, training.conventions)
        trainer.rebuild_if_due()
        for task in tasks:
            trainer.advance(task.rows.size)
    ranking = exact_top_k(trainer.network, data.test.features, 1)
    precision = 100 * precision_at_k(ranking.labels, data.test.labels, 1)
    return [{"interleaving": interleaving, "seed": training.seed, "step": trainer.network.steps, "P@1": precision}]


def table(rows: Sequence[Row]) -> Table:
    """Return means and ranges."""
    lines = [
        (name, f"{mean(group, 'P@1'):.2f}", f"{np.ptp(column(group, 'P@1')):.2f}")
        for name, group in by(rows, "interleaving").items()
    ]
    return Table(("interleaving", "P@1", "range"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what training without locks rests on."""
    found = by(rows, "interleaving")
    fresh = next(iter(found))
    worst = min(found, key=lambda name: mean(found[name], "P@1"))
    return [
        Finding(
            "threads push gradients without locks (HOGWILD); accuracy per iteration is that of the full softmax",
            f"P@1 {mean(found[fresh], 'P@1'):.2f} % where {fresh}, and at worst {mean(found[worst], 'P@1'):.2f} % "
            f"({worst}), with a fifth of the output neurons active",
        )
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the P@1 of every interleaving."""
    plotting.bars(figure, rows, "interleaving", "P@1", lambda name: int("random" in name) + int("turns" in name))


EXPERIMENT = Experiment(
    name="staleness",
    source="",
    title="How much staleness asynchronous training bears",
    explanation="Interleavings of workers without locks are replayed event by event in one process, so that they are "
    "the same every time: stale reads alone, and orders in which updates are overwritten and lost as well.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=("epochs", "steps", "learning_rate", "hidden", "batch_size"),
)
