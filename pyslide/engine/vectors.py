"""Batches of vectors: what flows from one layer to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, require_finite
from pyslide.errors import ShapeError

Batch = Any
"""A dense array (B, d), every coordinate an entry, or a CSR array, the stored elements its entries."""

CHUNK = 128
"""Rows hashed at a time: a transposed chunk and its codes stay in the second-level cache."""


def is_sparse(batch: Batch) -> bool:
    """Return whether a batch is a CSR array."""
    return bool(sparse.issparse(batch))


def checked_batch(batch: Batch, dtype: npt.DTypeLike, name: str) -> Batch:
    """Return a batch as a CSR array with sorted indices or as a dense array, in the working precision.

    Raises
    ------
    ShapeError
        If it has not two dimensions.
    NonFiniteError
        If it holds NaN or infinity.
    """
    if is_sparse(batch):
        rows = sparse.csr_array(batch, dtype=dtype)
        if not rows.has_canonical_format:  # a cast may share its indices with the caller's matrix, which stays as it is
            rows = rows.copy()
            rows.sum_duplicates()
        require_finite(rows.data, f"{name}, stored values")
        return rows
    dense = np.asarray(batch, dtype=dtype)
    if dense.ndim != 2:
        raise ShapeError(f"{name}: expected two dimensions, got {dense.ndim}")
    require_finite(dense, name)
    return dense


def row_slices(rows: int, chunk: int, first: int = 0) -> Iterator[slice]:
    """Yield consecutive slices of at most ``chunk`` rows, from the first row on."""
    for start in range(first, rows, chunk):
        yield slice(start, min(start + chunk, rows))


def entries(batch: Batch, absent: float, *, zeros_are_entries: bool) -> FloatArray:
    """Return a batch as a dense array that holds ``absent`` where a vector has no entry.

    Parameters
    ----------
    batch : Batch, shape (B, d)
    absent : float
        0 for families to which every coordinate counts, -inf for those that see entries only.
    zeros_are_entries : bool
        Whether an entry with the value 0 is one (question 7).
    """
    if is_sparse(batch):
        dense = np.full(batch.shape, absent, dtype=batch.dtype)
        samples = np.repeat(np.arange(batch.shape[0]), np.diff(batch.indptr))
        dense[samples, batch.indices] = batch.data
    else:
        dense = np.array(batch)
    if not zeros_are_entries and absent != 0:
        dense[dense == 0] = absent
    return dense


def append_coordinate(batch: Batch, column: FloatArray) -> Batch:
    """Return a batch with one more coordinate at its end (a bias, or the 1 that meets it)."""
    values = np.asarray(column).reshape(-1, 1).astype(batch.dtype)
    if not is_sparse(batch):
        return np.hstack([batch, values])
    rows = np.arange(batch.shape[0] + 1)
    last = sparse.csr_array((values[:, 0], np.zeros(batch.shape[0], dtype=np.int32), rows), shape=values.shape)
    return sparse.csr_array(sparse.hstack([batch, last], format="csr"))
