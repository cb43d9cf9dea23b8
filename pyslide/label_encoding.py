"""What a classifier is given as y, and what becomes of it: a sparse matrix (rows, classes) of labels.

A row with one class is multiclass, given as one label of any type that can be ordered.  A row with any number of
classes is multilabel, given as an indicator: a matrix of zeros and ones, dense or sparse.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import IntArray
from pyslide.errors import NonFiniteError, OutOfRangeError, ShapeError
from pyslide.estimator_input import InputTypeError
from pyslide.scikit_learn import DataConversionWarning

Labels = Any
"""An array of one label a row, shape (rows,); or a CSR array, the indicator of several, shape (rows, classes)."""

SEVERAL = "an indicator matrix for several, as sklearn.preprocessing.MultiLabelBinarizer makes it of lists of labels"
"""What is expected of rows with any number of labels."""


def is_multilabel(labels: Labels) -> bool:
    """Return whether rows may have any number of labels."""
    return bool(sparse.issparse(labels))


def checked_labels(y: Any, rows: int) -> Labels:
    """Return the labels of so many rows.

    Parameters
    ----------
    y : array_like of shape (rows,), or array_like or sparse matrix of shape (rows, classes)
        A dense column is taken for one label a row, with a warning, as everywhere in scikit-learn.
    rows : int

    Raises
    ------
    InputTypeError
        If labels are no classes: fractions, several classes in a column, lists of labels, or of a type without an
        order.
    ShapeError, NonFiniteError
        If there is none for some row, or one is NaN or infinite.
    """
    if y is None:
        raise ShapeError("SlideClassifier requires y to be passed, but the target y is None")
    labels = _indicator(y) if sparse.issparse(y) else _dense_labels(y)
    if labels.shape[0] != rows:
        raise ShapeError(f"y: expected as many rows as X has, {rows}, got {labels.shape[0]}: inconsistent numbers")
    return labels


def _dense_labels(y: Any) -> Labels:
    try:
        labels = np.asarray(y)
    except ValueError as fault:  # rows of different lengths
        raise InputTypeError(f"y: expected a label a row, or {SEVERAL}; got rows of different lengths") from fault
    if labels.ndim not in (1, 2):
        raise ShapeError(f"y should be a 1d array, or a 2d indicator matrix; got an array of shape {labels.shape}")
    if labels.ndim == 2 and labels.shape[1] != 1:
        return _indicator(labels)
    if labels.ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
    return _one_a_row(labels.ravel())


def _indicator(y: Any) -> sparse.csr_array:
    if y.dtype.kind not in "biuf":
        raise InputTypeError(f"Unknown label type: expected a label a row, or {SEVERAL}; got {y.dtype}")
    labels = sparse.csr_array(y, copy=True)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    if not (labels.data == 1).all():
        other = labels.data[labels.data != 1][0]
        raise InputTypeError(
            f"Unknown label type: expected zeros and ones in a matrix of labels, got {other} (multiclass-multioutput "
            f"and continuous targets are not supported); expected {SEVERAL}"
        )
    return labels


def _one_a_row(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    kind = labels.dtype.kind
    if kind not in "biufUSOT":
        raise InputTypeError(f"Unknown label type: expected whole numbers or text, got {labels.dtype}")
    if kind == "f":
        if not np.isfinite(labels).all():
            raise NonFiniteError("Input y contains NaN or infinity; expected labels")
        if (labels != np.floor(labels)).any():
            raise InputTypeError(f"Unknown label type: continuous. Expected classes, got {labels[labels % 1 != 0][0]}")
    if kind == "O" and any(isinstance(label, (list, tuple, set, frozenset)) for label in labels):
        raise InputTypeError(f"Unknown label type: expected a label a row, or {SEVERAL}; got {labels[0]!r}")
    if kind == "O" and any(label is None or label != label for label in labels):
        raise NonFiniteError("Input y contains NaN or None; expected labels")
    return labels


def classes_of(labels: Labels) -> npt.NDArray[Any]:
    """Return the classes, rising: the labels that occur, or the numbers of an indicator's columns.

    Raises
    ------
    InputTypeError
        If labels cannot be ordered.
    """
    if is_multilabel(labels):
        return np.arange(labels.shape[1])
    try:
        return np.unique(labels)
    except TypeError as fault:
        raise InputTypeError(f"Unknown label type: expected labels that can be ordered: {fault}") from fault


def label_matrix(labels: Labels, classes: npt.NDArray[Any]) -> sparse.csr_array:
    """Return the labels as the trainer takes them: the indicator, shape (rows, classes).

    Raises
    ------
    OutOfRangeError, ShapeError
        If a label is not among the classes, or an indicator has not a column for each.
    """
    if is_multilabel(labels):
        if labels.shape[1] != classes.size:
            raise ShapeError(f"y: expected {classes.size} columns, one a class, got {labels.shape[1]}")
        return labels
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise OutOfRangeError(f"y: expected one of the {classes.size} classes, got {labels[row]!r} in row {row}")
    ids: IntArray = np.asarray(np.searchsorted(classes, labels))
    return sparse.csr_array((np.ones(ids.size), ids, np.arange(ids.size + 1)), shape=(ids.size, classes.size))
