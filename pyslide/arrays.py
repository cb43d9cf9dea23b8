"""The array types that the rooms exchange, and the checks at their doors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyslide.errors import DtypeError, NonFiniteError, OrderError, OutOfRangeError, ShapeError

FloatArray = npt.NDArray[np.floating[Any]]
"""Real numbers: float64 in ``spec``, float32 or float64 in ``engine``."""
IntArray = npt.NDArray[np.integer[Any]]
"""Codes, keys and ids."""
BoolArray = npt.NDArray[np.bool_]
"""Masks."""


def index_dtype(size: int) -> type[np.signedinteger[Any]]:
    """Return the narrower integers of 32 and 64 bits that can index so many places."""
    return np.int32 if size < 2**31 else np.int64


def require_shape(array: npt.NDArray[Any], shape: tuple[int | None, ...], name: str) -> None:
    """Refuse an array of another shape; None stands for any length.

    Raises
    ------
    ShapeError
        With the expected and the actual shape.
    """
    fits = array.ndim == len(shape) and all(
        want is None or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        expected = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
        raise ShapeError(f"{name}: expected shape {expected}, got {array.shape}")


def require_finite(array: npt.NDArray[Any], name: str) -> None:
    """Refuse NaN and infinity.

    Raises
    ------
    NonFiniteError
        With the place of the first such value.
    """
    if not np.isfinite(array).all():
        place = tuple(int(axis) for axis in np.argwhere(~np.isfinite(array))[0])
        raise NonFiniteError(f"{name}: expected finite numbers, got {array[place]} at {place}")


def require_ids(ids: npt.NDArray[Any], count: int, name: str) -> None:
    """Refuse ids that are not integers in 0..count-1.

    Raises
    ------
    DtypeError
        If the array does not hold integers.
    OutOfRangeError
        With the first id that lies outside.
    """
    if not np.issubdtype(ids.dtype, np.integer):
        raise DtypeError(f"{name}: expected integers, got {ids.dtype}")
    outside = (ids < 0) | (ids >= count)
    if outside.any():
        place = int(np.argmax(outside))
        raise OutOfRangeError(f"{name}: expected ids in 0..{count - 1}, got {ids.flat[place]} at place {place}")


def require_rising(ids: npt.NDArray[Any], name: str) -> None:
    """Refuse ids that do not rise strictly.

    Raises
    ------
    OrderError
        With the first place at which they do not.
    """
    falls = ids[1:] <= ids[:-1]  # a difference of unsigned ids would wrap
    if falls.any():
        place = int(np.argmax(falls))
        raise OrderError(
            f"{name}: expected strictly rising ids, got {ids[place]} then {ids[place + 1]} at place {place}"
        )
