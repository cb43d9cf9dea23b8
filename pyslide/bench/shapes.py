"""The shapes that speed is measured at, and synthetic batches of them (section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numpy.random import Generator

from pyslide.data import Dataset
from pyslide.data.synthetic import planted_dataset


class Shape(NamedTuple):
    """How wide a network is, and how full a row of its data."""

    features: int
    labels: int
    nonzeros: int  # a row
    labels_per_row: float
    hidden: int = 128
    batch: int = 128


SHAPES: Mapping[str, Shape] = {
    "delicious-200k": Shape(782_585, 205_443, 301, 75.0),
    "amazon-670k": Shape(135_909, 670_091, 76, 5.0),
    "width-1000": Shape(10_000, 1_000, 76, 5.0),
    "width-10000": Shape(135_909, 10_000, 76, 5.0),
    "width-100000": Shape(135_909, 100_000, 76, 5.0),
    "width-1000000": Shape(135_909, 1_000_000, 76, 5.0),
}
"""The two sets of the paper's table 1, and a ladder of widths at one load of features."""


def synthetic(shape: Shape, rows: int, generator: Generator) -> Dataset:
    """Return planted data of a shape."""
    return planted_dataset(
        rows,
        shape.features,
        shape.labels,
        generator,
        nonzeros_per_row=shape.nonzeros,
        labels_per_row=shape.labels_per_row,
    )
