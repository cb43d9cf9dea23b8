"""What an estimator is given as X and as weights: anything that scikit-learn would take, checked before any work.

Where scikit-learn's own wording is part of what its users and its tests rely on, messages contain it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, require_shape
from pyslide.engine.vectors import Batch, checked_batch, is_sparse
from pyslide.errors import DtypeError, NonFiniteError, OutOfRangeError, ShapeError


class InputTypeError(DtypeError, ValueError):
    """X, y or weights hold what an estimator cannot take; scikit-learn raises a ``ValueError`` for that."""


Names = npt.NDArray[np.object_]
"""Names of features, as scikit-learn keeps them."""


def feature_names(X: Any) -> Names | None:
    """Return the names of a data frame's columns; None where there are none, or numbers instead.

    Raises
    ------
    InputTypeError
        If some names are text and others are not.
    """
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = np.array([*columns], dtype=object)
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        kinds = sorted({type(name).__name__ for name in names})
        raise InputTypeError(
            f"Feature names are only supported if all input features have string names, but X has names of the types "
            f"{', '.join(kinds)}"
        )
    return names if any(text) else None


def require_names(names: Names | None, fitted: Names | None, estimator: str) -> None:
    """Refuse other feature names than those of ``fit``; warn where only one of the two had names.

    Raises
    ------
    ShapeError
        With the names that are new, missing, or in another order.
    """
    if names is None and fitted is None:
        return
    if names is None:
        warnings.warn(
            f"X does not have valid feature names, but {estimator} was fitted with feature names", stacklevel=4
        )
    elif fitted is None:
        warnings.warn(f"X has feature names, but {estimator} was fitted without feature names", stacklevel=4)
    elif list(names) != list(fitted):
        raise ShapeError(_difference(set(names), set(fitted)))


def _difference(names: set[str], fitted: set[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    differences = {"unseen at fit time": names - fitted, "seen at fit time, yet now missing": fitted - names}
    for title, others in differences.items():
        if others:
            message += f"Feature names {title}:\n" + "".join(f"- {name}\n" for name in sorted(others)[:5])
    if names == fitted:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def checked_features(X: Any, dtype: str) -> Batch:
    """Return the features as a CSR array or a dense one, in the working precision.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of any format, shape (rows, d)
    dtype : {"float32", "float64"}

    Raises
    ------
    InputTypeError
        If they are not real numbers.
    ShapeError
        If there are not two dimensions, no row, or no column.
    NonFiniteError
        If one is NaN, infinite, or too large for the precision.
    """
    given = X if is_sparse(X) else _as_array(X)
    if given.dtype.kind == "c":
        raise InputTypeError(f"X: expected real numbers, got {given.dtype}. Complex data not supported")
    _require_table(given.shape)
    numbers = _in_precision(given, dtype)
    _require_finite(numbers.data if is_sparse(numbers) else numbers, dtype)
    return checked_batch(numbers, dtype, "X")


def _as_array(X: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(X)
    except ValueError as fault:  # rows of different lengths
        raise InputTypeError(f"X: expected numbers in rows of equal length: {fault}") from fault


def _require_table(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ShapeError(
            f"X: expected two dimensions, (rows, features), got shape {shape}. Reshape your data: X.reshape(-1, 1) if "
            "it has a single feature, X.reshape(1, -1) if it is a single row"
        )
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise ShapeError(f"X: found 0 {what} (shape={shape}) while a minimum of 1 is required.")


def _in_precision(given: Any, dtype: str) -> Batch:
    with np.errstate(over="ignore"):  # what became infinite is refused right after
        try:
            return sparse.csr_array(given, dtype=dtype) if is_sparse(given) else np.asarray(given, dtype=dtype)
        except (TypeError, ValueError) as fault:
            raise InputTypeError(f"X: expected real numbers: {fault}") from fault


def _require_finite(numbers: FloatArray, dtype: str) -> None:
    if np.isfinite(numbers).all():
        return
    place = tuple(int(axis) for axis in np.argwhere(~np.isfinite(numbers))[0])
    found = "NaN" if np.isnan(numbers[place]) else f"infinity, or a value too large for {dtype},"
    where = f"at {place}" if numbers.ndim == 2 else f"as stored element {place[0]}"
    raise NonFiniteError(f"X: expected finite numbers, got {found} {where}")


def checked_sample_weights(sample_weight: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """Return the samples' weights, at least one of them positive; None stands for ones.

    Raises
    ------
    InputTypeError, ShapeError, NonFiniteError, OutOfRangeError
        If there is not one finite number a row, one is negative, or all are 0.
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise InputTypeError(f"sample_weight: expected real numbers: {fault}") from fault
    require_shape(weights, (rows,), "sample_weight")
    if not np.isfinite(weights).all():
        raise NonFiniteError("sample_weight: expected finite numbers, got NaN or infinity")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise OutOfRangeError(f"sample_weight: expected at least 0, got {weights[row]} in row {row}")
    if not weights.any():
        raise OutOfRangeError("sample_weight: expected a positive weight for some row, got only zeros")
    return weights
