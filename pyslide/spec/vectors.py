"""Sparse vectors: what flows from one layer to the next (section 3.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pyslide.arrays import FloatArray, IntArray, require_finite, require_ids, require_rising, require_shape
from pyslide.errors import ShapeError


class SparseVector(NamedTuple):
    """The entries of a vector; every coordinate without an entry is zero.

    An entry may itself be zero: an active neuron that its ReLU has silenced is an entry with the value 0.
    """

    indices: IntArray  # (entries,) strictly rising
    values: FloatArray  # (entries,)
    dimension: int


def sparse_vector(indices: IntArray, values: FloatArray, dimension: int) -> SparseVector:
    """Return a checked sparse vector.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError, OrderError, NonFiniteError
        If the parts do not make a vector of this dimension.
    """
    indices = np.asarray(indices)
    values = np.asarray(values, dtype=np.float64)
    require_shape(indices, (None,), "indices")
    require_shape(values, (indices.size,), "values")
    if indices.size:
        require_ids(indices, dimension, "indices")
    indices = indices.astype(np.int64)  # differences of unsigned indices would not be negative
    require_rising(indices, "indices")
    require_finite(values, "values")
    return SparseVector(indices, values, dimension)


def from_dense(dense: FloatArray) -> SparseVector:
    """Return a dense vector with every coordinate as an entry, zeros included."""
    dense = np.asarray(dense, dtype=np.float64)
    if dense.ndim != 1:
        raise ShapeError(f"dense vector: expected one dimension, got {dense.ndim}")
    return sparse_vector(np.arange(dense.size), dense, dense.size)


def to_dense(vector: SparseVector) -> FloatArray:
    """Return all coordinates, zeros where there is no entry."""
    dense = np.zeros(vector.dimension)
    dense[vector.indices] = vector.values
    return dense


def nonzeros(vector: SparseVector) -> SparseVector:
    """Return the vector without its zero entries."""
    kept = vector.values != 0
    return SparseVector(vector.indices[kept], vector.values[kept], vector.dimension)


def append_coordinate(vector: SparseVector, value: float) -> SparseVector:
    """Return the vector with one more coordinate at its end (a bias, or the 1 that meets it)."""
    indices = np.append(vector.indices, vector.dimension)
    return SparseVector(indices, np.append(vector.values, value), vector.dimension + 1)
