"""What the closed forms take: probabilities, counts, vectors and sets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray, IntArray, require_finite, require_ids, require_shape
from pyslide.errors import DtypeError, OrderError, OutOfRangeError, ShapeError


def as_probabilities(values: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """Return float64 numbers of [0, 1].

    Raises
    ------
    OutOfRangeError
        With the first number that is not in [0, 1], NaN included.
    """
    probabilities = np.asarray(values, dtype=np.float64)
    inside = (probabilities >= 0) & (probabilities <= 1)
    if not inside.all():
        raise OutOfRangeError(f"{name}: expected probabilities in [0, 1], got {probabilities[~inside][0]}")
    return probabilities


def as_counts(values: npt.ArrayLike, name: str, least: int = 0) -> npt.NDArray[np.int64]:
    """Return int64 numbers of at least ``least``.

    Raises
    ------
    DtypeError
        If they are not integers.
    OutOfRangeError
        With the first that is too small.
    """
    counts = np.asarray(values)
    if not np.issubdtype(counts.dtype, np.integer):
        raise DtypeError(f"{name}: expected integers, got {counts.dtype}")
    if np.any(counts < least):
        raise OutOfRangeError(f"{name}: expected at least {least}, got {counts[counts < least][0]}")
    return counts.astype(np.int64)


def as_count(value: int, name: str, least: int = 0, most: int | None = None) -> int:
    """Return one integer of ``least..most``.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        If it is not one number, not an integer, or outside.
    """
    count = as_counts(value, name, least)
    require_shape(count, (), name)
    if most is not None and count > most:
        raise OutOfRangeError(f"{name}: expected at most {most}, got {count}")
    return int(count)


def as_vector_pair(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return two finite float64 vectors of the same length.

    Raises
    ------
    ShapeError, NonFiniteError
        If they are not.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    require_shape(first, (None,), "x")
    require_shape(second, (first.size,), "y")
    require_finite(first, "x")
    require_finite(second, "y")
    return first, second


def as_set(ids: npt.ArrayLike, name: str, dimension: int | None = None) -> IntArray:
    """Return a set of ids, ascending.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        If they are not a one-dimensional array of integers of 0..dimension-1.
    OrderError
        If an id occurs twice.
    """
    members = np.asarray(ids)
    if members.size == 0 and members.ndim == 1:
        return np.empty(0, dtype=np.int64)
    require_shape(members, (None,), name)
    require_ids(members, np.iinfo(np.int64).max if dimension is None else dimension, name)
    ascending = np.unique(members)
    if ascending.size != members.size:
        raise OrderError(f"{name}: expected distinct ids, got {members.size - ascending.size} repeated")
    return ascending


def require_work(steps: int, limit: int, what: str) -> None:
    """Refuse an enumeration that would not end.

    Raises
    ------
    OutOfRangeError
        With the number of cases.
    """
    if steps > limit:
        raise OutOfRangeError(f"{what}: expected at most {limit} cases to enumerate, got {steps}")


def require_same_size(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic], names: str) -> None:
    """Refuse two arrays of different shapes.

    Raises
    ------
    ShapeError
        With both shapes.
    """
    if first.shape != second.shape:
        raise ShapeError(f"{names}: expected equal shapes, got {first.shape} and {second.shape}")
