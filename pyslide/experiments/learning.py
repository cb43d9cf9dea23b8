"""Training runs that pause to be evaluated, and the settings of the methods that are compared."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from pyslide import defaults
from pyslide.arrays import IntArray
from pyslide.data import Dataset
from pyslide.engine.vectors import Batch
from pyslide.evaluation import evaluate
from pyslide.experiments.experiment import Choices, Data, Row, Settings
from pyslide.settings import CandidateSampling, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Trainer, TrainingSettings

SLIDE, FULL, SAMPLED = "SLIDE", "full softmax", "sampled softmax"
"""The methods, as they are called everywhere."""
Look = Callable[[Trainer, Batch, sparse.csr_array], Row]
"""What is seen of a trainer with held-out features and labels."""


def pauses(steps: int, evaluations: int) -> list[int]:
    """Return the steps after which a run pauses, evenly apart, the last step among them."""
    return sorted({-(-steps * number // evaluations) for number in range(1, evaluations + 1)})


def fixed_rows(data: Dataset, count: int) -> IntArray:
    """Return the held-out rows that a run is evaluated on: evenly spread, always the same."""
    return np.unique(np.linspace(0, data.rows - 1, min(count, data.rows)).astype(np.int64))


def run_to(trainer: Trainer, step: int) -> float:
    """Train up to a step and return the seconds that it took, rebuilds included.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C: the cell is not finished.
    """
    started = time.perf_counter()
    if not trainer.run(sys.maxsize, steps=step):
        raise KeyboardInterrupt
    return time.perf_counter() - started


def precision(trainer: Trainer, features: Batch, labels: sparse.csr_array) -> Row:
    """Return P@1, P@3 and P@5 in per cent, all neurons computed."""
    metrics = evaluate(trainer.network, features, labels, trainer.settings.conventions)
    return {name: 100 * value for name, value in metrics.items() if name.startswith("P@")}


def curve(
    data: Data,
    columns: Mapping[str, Any],
    training: TrainingSettings,
    steps: int,
    evaluations: int,
    evaluation_rows: int,
    look: Look,
) -> list[Row]:
    """Train, pause now and then to look, and return a row for every pause.

    The seconds are those of the steps and rebuilds so far; drawing the network, the first build of its tables and the
    pauses are not counted.

    Parameters
    ----------
    data : Data
    columns : mapping
        Joins every row.
    training : TrainingSettings
    steps, evaluations, evaluation_rows : int
    look : callable
        From the trainer and held-out features and labels to more columns.
    """
    run_to(Trainer(training, data.training.features, data.training.labels), 1)  # imports and the like are not timed
    trainer = Trainer(training, data.training.features, data.training.labels)
    rows = fixed_rows(data.test, evaluation_rows)
    features, labels = data.test.features[rows], data.test.labels[rows]
    seconds = 0.0
    points: list[Row] = []
    for step in pauses(steps, evaluations):
        before = len(trainer.history)
        seconds += run_to(trainer, step)
        points.append(
            {
                **columns,
                "seed": training.seed,
                "step": step,
                "samples": sum(record["samples"] for record in trainer.history),
                "seconds": seconds,
                "loss": float(np.mean([record["loss"] for record in trainer.history[before:]])),
                "active_share": float(np.mean([record["active_share"] for record in trainer.history])),
                **look(trainer, features, labels),
            }
        )
    return points


def learning_curve(data: Data, **run: Any) -> list[Row]:
    """Return a `curve` with the precision at every pause."""
    return curve(data, look=precision, **run)


def hashing_of(choices: Choices, labels: int, share: float | None = None) -> Hashing:
    """Return the chosen tables, with active sets padded up to a share of the labels."""
    return Hashing(
        family=choices.family,
        codes_per_table=choices.codes_per_table,
        tables=choices.tables,
        sampling=Sampling(minimum_active=choices.active(labels, share)),
    )


def training_of(choices: Choices, output: LayerSettings, seed: int, batch_size: int | None = None) -> TrainingSettings:
    """Return the chosen training of a network with this output layer."""
    hidden = [LayerSettings(neurons=width, initial_scale=defaults.INITIAL_SCALE) for width in choices.hidden]
    return TrainingSettings(
        layers=(*hidden, replace(output, initial_scale=defaults.INITIAL_SCALE)),
        batch_size=choices.batch_size if batch_size is None else batch_size,
        seed=seed,
        threads=choices.threads,
        optimizer=Optimizer(learning_rate=choices.learning_rate),
        conventions=defaults.CONVENTIONS,
    )


def output_of(method: str, choices: Choices, labels: int, share: float | None = None) -> LayerSettings:
    """Return the output layer of a method: with tables, with all neurons, or with drawn candidates.

    Candidates are drawn log-uniformly and corrected: where the labels' frequencies differ much, the better rival.
    """
    if method == SLIDE:
        return LayerSettings(neurons=labels, hashing=hashing_of(choices, labels, share))
    if method == SAMPLED:
        candidates = CandidateSampling(distribution="log_uniform", count=choices.active(labels, share))
        return LayerSettings(neurons=labels, candidates=candidates)
    return LayerSettings(neurons=labels)


def curve_cells(
    choices: Choices, data: Data, outputs: Sequence[tuple[Mapping[str, Any], LayerSettings]]
) -> list[Settings]:
    """Return the cells of learning curves: every output layer, with the columns that name it, with every seed."""
    return [
        curve_cell(choices, data, columns, training_of(choices, output, seed))
        for columns, output in outputs
        for seed in range(choices.seeds)
    ]


def curve_cell(choices: Choices, data: Data, columns: Mapping[str, Any], training: TrainingSettings) -> Settings:
    """Return the settings of one `learning_curve`."""
    return {
        "columns": columns,
        "training": training,
        "steps": choices.steps_of(data.training.rows, training.batch_size),
        "evaluations": choices.evaluations,
        "evaluation_rows": choices.evaluation_rows,
    }
