"""One door to all hash families, in chunks that stay in the cache."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import IntArray
from pyslide.conventions import Conventions
from pyslide.engine.hashing.densified_winner_take_all import densified_winner_take_all_codes
from pyslide.engine.hashing.minhash import minhash_codes
from pyslide.engine.hashing.simhash import simhash_codes
from pyslide.engine.hashing.winner_take_all import winner_take_all_codes
from pyslide.engine.vectors import CHUNK, Batch, is_sparse, row_slices
from pyslide.errors import ShapeError
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    Family,
    HashFamily,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.spec.hashing import code_range as code_range  # says something of a family, not of a vector


class Codes(NamedTuple):
    """The codes of a batch, and in how many of them densification failed."""

    codes: IntArray  # (B, C)
    failures: IntArray  # (B,)


def own_family_codes(batch: Batch, family: HashFamily, conventions: Conventions) -> IntArray:
    """Return the codes of a user's own family: by its ``batch_codes`` if it has one, else vector by vector."""
    rows = sparse.csr_array(batch)  # stored zeros of a CSR batch stay; a dense one loses its zeros
    if conventions.dense_input == "as_its_nonzeros":
        rows = rows.copy()
        rows.eliminate_zeros()
    elif not is_sparse(batch):
        samples, dimension = batch.shape
        indices = np.tile(np.arange(dimension), samples)
        rows = sparse.csr_array((batch.ravel(), indices, np.arange(samples + 1) * dimension), shape=batch.shape)
    if hasattr(family, "batch_codes"):
        return np.asarray(family.batch_codes(rows))
    ends = rows.indptr
    return np.array(
        [
            family.codes(rows.indices[start:end].astype(np.int64), rows.data[start:end].astype(np.float64))
            for start, end in pairwise(ends)
        ]
    ).reshape(rows.shape[0], family.code_count)


def chunk_codes(batch: Batch, family: Family, conventions: Conventions) -> Codes:
    """Return the codes of one chunk."""
    none = np.zeros(batch.shape[0], dtype=np.int64)
    match family:
        case SimHashParameters():
            return Codes(simhash_codes(batch, family, conventions.sign_bit), none)
        case WinnerTakeAllParameters():
            return Codes(winner_take_all_codes(batch, family), none)
        case DensifiedWinnerTakeAllParameters():
            return Codes(*densified_winner_take_all_codes(batch, family, conventions))
        case MinHashParameters():
            return Codes(*minhash_codes(batch, family, conventions))
        case _:
            return Codes(own_family_codes(batch, family, conventions), none)


def hash_codes(batch: Batch, family: Family, conventions: Conventions) -> Codes:
    """Return the C = K*L codes of every vector of a batch.

    Raises
    ------
    ShapeError
        If the family hashes another dimension.
    """
    if batch.shape[1] != family.dimension:
        raise ShapeError(f"batch to hash: expected dimension {family.dimension}, got {batch.shape[1]}")
    if batch.shape[0] == 0:
        return Codes(np.empty((0, family.code_count), dtype=np.int64), np.empty(0, dtype=np.int64))
    parts = [chunk_codes(batch[rows], family, conventions) for rows in row_slices(batch.shape[0], CHUNK)]
    return Codes(np.concatenate([part.codes for part in parts]), np.concatenate([part.failures for part in parts]))
