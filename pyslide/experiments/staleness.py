"""How much staleness asynchronous training bears.

``python -m pyslide.experiments.staleness_study`` trains the data set that ships, with every interval between two
rebuilds replayed by the simulator (`pyslide.simulator`): batches that miss the writes of so many batches before them,
random orders with a bound on that, and workers that move in random turns and overwrite each other's updates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np
from joblib import Parallel, delayed

from pyslide import defaults
from pyslide.conventions import Conventions
from pyslide.data import Dataset, load_standard_library
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


def batch_of(trainer: Trainer, task: Task) -> BatchData:
    """Return a task's batch."""
    return BatchData(trainer.features[task.rows], trainer.labels[task.rows], task.draws)


def train(name: str, training: Dataset, test: Dataset, epochs: int, seed: int) -> float:
    """Train with one interleaving and one seed, and return P@1 in per cent."""
    sampling = Sampling(minimum_active=training.label_count // 5)
    hashing = Hashing(codes_per_table=4, tables=50, sampling=sampling)
    layers = (LayerSettings(neurons=128), LayerSettings(neurons=training.label_count, hashing=hashing))
    settings = TrainingSettings(
        layers=layers,
        seed=seed,
        optimizer=Optimizer(learning_rate=defaults.LEARNING_RATE),
        conventions=Conventions(padding_weight="inverse_probability"),
    )
    trainer, order = Trainer(settings, training.features, training.labels), orders(seed)[name]
    while trainer.epoch < epochs:
        tasks = next_tasks(trainer, interval_of(trainer, Workers(count=1), np.inf))
        batches = [batch_of(trainer, task) for task in tasks]
        replay(trainer.network, batches, order(len(batches)), settings.optimizer, settings.conventions)
        trainer.rebuild_if_due()
        for task in tasks:
            trainer.advance(task.rows.size)
    ranking = exact_top_k(trainer.network, test.features, 1)
    return 100 * precision_at_k(ranking.labels, test.labels, 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m pyslide.experiments.staleness_study", description=__doc__)
    parser.add_argument("--epochs", type=int, default=defaults.EPOCHS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    training, test = load_standard_library("train"), load_standard_library("test")
    print("| interleaving | P@1 | range |\n|---|---|---|")
    for name in orders(0):
        scores = Parallel(n_jobs=options.jobs)(
            delayed(train)(name, training, test, options.epochs, seed) for seed in range(options.seeds)
        )
        print(f"| {name} | {np.mean(scores):.2f} | {np.ptp(scores):.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
