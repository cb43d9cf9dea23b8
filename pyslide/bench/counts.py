"""How much a step of SLIDE has to do: what is active, touched and retrieved, counted beside the clock."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import numpy as np

from pyslide.engine.network import retrieve
from pyslide.engine.ragged import distinct
from pyslide.engine.step import BatchPass, forward
from pyslide.engine.vectors import is_sparse
from pyslide.training import Trainer


class Counts(NamedTuple):
    """Counts of one step with a layer below the output."""

    samples: int  # B
    features: int  # stored features of the batch
    touched_features: int  # distinct ones among them
    all_features: int  # of the network
    hidden: int  # d, the width of the layer below the output
    neurons: int  # N, of the output
    tables: int  # L
    retrieved: int  # members of the buckets that are read, repeats included
    active: int  # output neurons over all samples, repeats included
    touched: int  # distinct ones among them
    number_bytes: int  # of a weight


def next_counts(trainer: Trainer) -> Counts:
    """Return the counts of the step that a trainer makes next; it changes nothing.

    They come from a forward pass with the draws that the step will make.
    """
    stream = trainer.streams["steps"]
    before = deepcopy(stream.bit_generator.state)
    rows = trainer.row_order[trainer.position : trainer.position + trainer.settings.batch_size]
    draws = trainer.draws(rows.size)
    stream.bit_generator.state = before
    features, conventions = trainer.features[rows], trainer.settings.conventions
    done = forward(trainer.network, features, trainer.labels[rows], draws, conventions)
    output = trainer.network.layers[-1]
    return Counts(
        samples=rows.size,
        features=features.nnz if is_sparse(features) else features.size,
        touched_features=distinct(features.indices).size if is_sparse(features) else features.shape[1],
        all_features=features.shape[1],
        hidden=output.weights.shape[1],
        neurons=output.neurons,
        tables=0 if output.tables is None else output.tables.multipliers.size,
        retrieved=retrieved(trainer, done),
        active=done.active.neurons.size,
        touched=distinct(done.active.neurons).size,
        number_bytes=output.weights.itemsize,
    )


def retrieved(trainer: Trainer, done: BatchPass) -> int:
    """Return how many members a batch finds in the buckets of the output's tables; 0 without tables."""
    tables = trainer.network.layers[-1].tables
    if tables is None:
        return 0
    return int(retrieve(done.layers[-1].inputs, tables, trainer.settings.conventions).members.size)


def mean_counts(counts: list[Counts]) -> Counts:
    """Return the means of several steps, rounded."""
    return Counts._make(int(value) for value in np.rint(np.mean(counts, axis=0)))
