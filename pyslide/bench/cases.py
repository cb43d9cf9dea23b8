"""What every contender of a comparison is given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pyslide.bench.shapes import Shape, synthetic
from pyslide.conventions import Conventions
from pyslide.data import Dataset
from pyslide.randomness import draw_permutation, generators
from pyslide.settings import Hashing

WARM_UP = 3
"""Steps of each contender before those that are timed."""
PROFILED = 3
"""Steps of each contender after those that are timed, under a profiler."""
COUNTED = 3
"""Steps after those, of which active neurons and touched rows are counted."""

REBUILD_INTERVAL = 50
"""Steps between rebuilds, as in the paper's schedule and the original program."""
MOST_BATCHES = 200
"""Batches of rows that are made or kept at most."""


class Case(NamedTuple):
    """Rows to train on, and how; contenders differ in nothing else than how they train."""

    data: Dataset
    shape: Shape
    hashing: Hashing  # the tables of SLIDE's output layer
    conventions: Conventions
    threads: int


def rows_needed(shape: Shape, steps: int) -> int:
    """Return for how many rows every step, timed or not, has a batch of its own; in long runs batches come again.

    Workers have those of an interval between two rebuilds at least: the end of the rows ends it.
    """
    return shape.batch * max(min(WARM_UP + steps + PROFILED + COUNTED, MOST_BATCHES), REBUILD_INTERVAL)


def synthetic_rows(shape: Shape, steps: int) -> Dataset:
    """Return made-up rows of a shape for so many timed steps, always the same."""
    return synthetic(shape, rows_needed(shape, steps), generators(0, 1)[0])


def some_rows(data: Dataset, count: int) -> Dataset:
    """Return at most so many rows of a data set, drawn at random, always the same, in their order and without names."""
    (generator,) = generators(0, 1)
    rows = np.sort(draw_permutation(generator, data.rows)[:count])
    return Dataset(data.features[rows], data.labels[rows], name=data.name)


def shape_of(data: Dataset) -> Shape:
    """Return the shape of a data set."""
    labels_per_row = data.labels.nnz / data.rows
    return Shape(data.feature_count, data.label_count, round(data.features.nnz / data.rows), labels_per_row)
