"""What every loader returns: one sparse matrix of features, one of labels, and their names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pyslide.errors import DtypeError, NonFiniteError, OrderError, OutOfRangeError, ShapeError


@dataclass(frozen=True)
class Dataset:
    """Rows of sparse features, each with a set of labels.

    Parameters
    ----------
    features : csr_array of float32, (rows, features)
        Finite values; int32 column indices that rise strictly in every row.
    labels : csr_array of float32, (rows, labels)
        Ones where a row has a label; indices as for ``features``.
    label_names, feature_names : tuple of str, optional
        One name a column.
    name : str
        What to call the set in tables and messages.

    Raises
    ------
    ShapeError
        When the two matrices have different numbers of rows, or names do not match the columns.
    DtypeError
        When values are not float32 or indices not int32.
    OutOfRangeError, OrderError
        When a column index lies outside its matrix, or the indices of a row do not rise strictly.
    NonFiniteError
        When a feature value is NaN or infinite.
    """

    features: csr_array
    labels: csr_array
    label_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check everything that the class promises."""
        _check_matrix(self.features, "features")
        _check_matrix(self.labels, "labels")
        if self.features.shape[0] != self.labels.shape[0]:
            raise ShapeError(
                f"features have {self.features.shape[0]} rows and labels {self.labels.shape[0]}; expected as many"
            )
        if not np.all(self.labels.data == 1):
            raise OutOfRangeError("labels must hold ones, and nothing else")
        _check_names(self.label_names, self.labels.shape[1], "label")
        _check_names(self.feature_names, self.features.shape[1], "feature")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.features.shape[0])

    @property
    def feature_count(self) -> int:
        """Number of feature columns."""
        return int(self.features.shape[1])

    @property
    def label_count(self) -> int:
        """Number of label columns."""
        return int(self.labels.shape[1])

    def statistics(self) -> Statistics:
        """Count what a table of data sets shows.

        Returns
        -------
        Statistics
        """
        nonzeros, labels = np.diff(self.features.indptr), np.diff(self.labels.indptr)
        return Statistics(
            rows=self.rows,
            features=self.feature_count,
            labels=self.label_count,
            nonzeros_per_row=_mean(nonzeros),
            labels_per_row=_mean(labels),
            rows_without_features=int(np.count_nonzero(nonzeros == 0)),
            rows_without_labels=int(np.count_nonzero(labels == 0)),
        )


@dataclass(frozen=True)
class Statistics:
    """The figures of one data set.

    Attributes
    ----------
    rows, features, labels : int
        The sizes of the two matrices.
    nonzeros_per_row, labels_per_row : float
        Mean number of stored features and of labels in a row; 0 without rows.
    rows_without_features, rows_without_labels : int
        How many rows are empty on either side.
    """

    rows: int
    features: int
    labels: int
    nonzeros_per_row: float
    labels_per_row: float
    rows_without_features: int
    rows_without_labels: int


def _mean(counts: npt.NDArray[np.integer]) -> float:
    return float(counts.mean()) if counts.size else 0.0


def _check_names(names: tuple[str, ...] | None, columns: int, what: str) -> None:
    if names is not None and len(names) != columns:
        raise ShapeError(f"expected {columns} {what} names, one a column, got {len(names)}")


def _check_matrix(matrix: csr_array, what: str) -> None:
    if not isinstance(matrix, csr_array) or matrix.ndim != 2:
        raise DtypeError(f"{what} must be a two-dimensional scipy.sparse.csr_array, got {type(matrix).__name__}")
    if matrix.dtype != np.float32:
        raise DtypeError(f"{what} must hold float32, got {matrix.dtype}")
    if matrix.indices.dtype != np.int32:
        raise DtypeError(f"the column indices of {what} must be int32, got {matrix.indices.dtype}")
    if not np.isfinite(matrix.data).all():
        raise NonFiniteError(f"{what} hold a NaN or an infinity")
    _check_indices(matrix, what)


def _check_indices(matrix: csr_array, what: str) -> None:
    indices = matrix.indices
    if indices.size and not (indices.min() >= 0 and indices.max() < matrix.shape[1]):
        raise OutOfRangeError(f"a column index of {what} lies outside 0..{matrix.shape[1] - 1}")
    # Looked at afresh: SciPy remembers an answer that later changes of the arrays do not correct.
    rises = indices[1:] > indices[:-1]
    starts = matrix.indptr[1:-1]
    rises[starts[(starts > 0) & (starts < indices.size)] - 1] = True
    if not rises.all():
        raise OrderError(f"the column indices of every row of {what} must rise strictly")
