"""What experiments run on: the data set that ships, files, or planted data of any width; and its digest."""

from __future__ import annotations

import hashlib

from pyslide.data import Dataset, load, load_standard_library
from pyslide.data.synthetic import PlantedLabels
from pyslide.errors import OutOfRangeError, ShapeError
from pyslide.experiments.experiment import Data
from pyslide.randomness import generators

SYNTHETIC_ROWS = (12_800, 2_000)
"""Planted rows for training and held out."""
FEATURES_PER_LABEL = 2
LEAST_FEATURES = 2_000


def digest_of(*datasets: Dataset) -> str:
    """Return the SHA-256 of the matrices of some data sets, names left out."""
    seen = hashlib.sha256()
    for dataset in datasets:
        for matrix in (dataset.features, dataset.labels):
            seen.update(repr(matrix.shape).encode())
            for array in (matrix.indptr.astype("<i8"), matrix.indices.astype("<i8"), matrix.data.astype("<f4")):
                seen.update(array.tobytes())
    return seen.hexdigest()


def data_of(training: Dataset, test: Dataset) -> Data:
    """Return data with its digest.

    Raises
    ------
    ShapeError
        If the two have other features or labels, or no rows.
    """
    for what in ("feature_count", "label_count"):
        wanted, got = getattr(training, what), getattr(test, what)
        if wanted != got:
            raise ShapeError(f"{test.name}: expected {what} {wanted} as in the training data, got {got}")
    for dataset in (training, test):
        if dataset.rows == 0:
            raise ShapeError(f"{dataset.name}: expected rows, got none")
    return Data(training, test, digest_of(training, test))


def shipped() -> Data:
    """Return the data set that comes with the package."""
    return data_of(load_standard_library("train"), load_standard_library("test"))


def from_files(training: str, test: str) -> Data:
    """Return the data of two files.

    Raises
    ------
    FormatError, ShapeError
        If they cannot be read or do not fit each other.
    """
    return data_of(load(training), load(test))


def synthetic(labels: int, rows: tuple[int, int] = SYNTHETIC_ROWS) -> Data:
    """Return planted data with so many labels, always the same.

    Raises
    ------
    OutOfRangeError
        If there are fewer than two labels.
    """
    if labels < 2:
        raise OutOfRangeError(f"synthetic: expected at least 2 labels, got {labels}")
    plant, training, test = generators(0, 3)
    planted = PlantedLabels.plant(max(LEAST_FEATURES, FEATURES_PER_LABEL * labels), labels, plant)
    return data_of(planted.rows(rows[0], training), planted.rows(rows[1], test))
