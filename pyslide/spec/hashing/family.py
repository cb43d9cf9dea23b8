"""One door to all hash families (Algorithm 1, line 5; Algorithm 2, line 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pyslide.arrays import IntArray, require_shape
from pyslide.conventions import Conventions
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    Family,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.spec.hashing.densified_winner_take_all import densified_winner_take_all_codes
from pyslide.spec.hashing.minhash import minhash_codes
from pyslide.spec.hashing.simhash import simhash_codes
from pyslide.spec.hashing.winner_take_all import winner_take_all_codes
from pyslide.spec.vectors import SparseVector, nonzeros, to_dense


class Codes(NamedTuple):
    """The codes of one vector, and in how many of them densification failed."""

    codes: IntArray  # (C,)
    failures: int


def hashed_entries(vector: SparseVector, dense_input: str) -> SparseVector:
    """Return the entries that the sparse families see (question 7): non-zeros only, or zeros too."""
    return nonzeros(vector) if dense_input == "as_its_nonzeros" else vector


def code_range(family: Family, conventions: Conventions) -> int:
    """Return m, the number of values of a code; borrowed codes that are shifted by their attempt need more.

    Where filled bins lend in their turn (question 5) a code can be shifted by each of the other C-1 bins.
    """
    densified = isinstance(family, DensifiedWinnerTakeAllParameters | MinHashParameters)
    if densified and conventions.borrowed_code == "shifted_by_attempt":
        attempts = int(family.probes.shape[1])  # type: ignore[union-attr]
        borrowings = max(1, family.code_count - 1) if conventions.donor == "densified_so_far" else 1
        return family.code_range * (attempts * borrowings + 1)
    return family.code_range


def hash_codes(vector: SparseVector, family: Family, conventions: Conventions) -> Codes:
    """Return the C = K*L codes of a layer's input or of a neuron's weights.

    Raises
    ------
    ShapeError
        If the family hashes another dimension.
    """
    require_shape(to_dense(vector), (family.dimension,), "vector to hash")
    entries = hashed_entries(vector, conventions.dense_input)
    match family:
        case SimHashParameters():
            return Codes(simhash_codes(vector, family, conventions.sign_bit), 0)
        case WinnerTakeAllParameters():
            return Codes(winner_take_all_codes(vector, family), 0)
        case DensifiedWinnerTakeAllParameters():
            return Codes(*densified_winner_take_all_codes(entries, family, conventions))
        case MinHashParameters():
            return Codes(*minhash_codes(entries, family, conventions))
        case _:
            return Codes(np.asarray(family.codes(entries.indices, entries.values)), 0)
