"""Densified winner-take-all: WTA for sparse vectors (Chen and Shrivastava 2018, arXiv 1612.01834; section 3.2)."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import BoolArray, IntArray
from pyslide.conventions import Conventions
from pyslide.parameters import DensifiedWinnerTakeAllParameters
from pyslide.spec.hashing.densification import densify
from pyslide.spec.vectors import SparseVector


def entry_values(vector: SparseVector, bins: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the bins' values, -inf where the vector has no entry, and where it has one; both of shape (C, m)."""
    values = np.full(vector.dimension, -np.inf)
    values[vector.indices] = vector.values
    seen = np.zeros(vector.dimension, dtype=bool)
    seen[vector.indices] = True
    return values[bins], seen[bins]


def occupied_codes(vector: SparseVector, bins: IntArray, empty_bin: str) -> tuple[IntArray, BoolArray]:
    """Return each bin's code, the place of its first largest entry, and whether the bin counts as occupied.

    Only entries compete.  An empty bin's code is 0 and means nothing.
    """
    values, seen = entry_values(vector, bins)
    codes = np.argmax(values, axis=1)  # (C,)
    occupied = {
        "no_entry_seen": seen.any(axis=1),
        "maximum_is_zero": seen.any(axis=1) & (values.max(axis=1) != 0),
        "code_is_zero": seen.any(axis=1) & (codes != 0),
    }
    return codes, occupied[empty_bin]


def densified_winner_take_all_codes(
    vector: SparseVector, parameters: DensifiedWinnerTakeAllParameters, conventions: Conventions
) -> tuple[IntArray, int]:
    """Return the C codes of a vector, and how many bins found no donor."""
    codes, occupied = occupied_codes(vector, parameters.bins, conventions.empty_bin)
    return densify(
        codes,
        occupied,
        parameters.probes,
        parameters.code_range,
        donor=conventions.donor,
        borrowed_code=conventions.borrowed_code,
        densification_failure=conventions.densification_failure,
    )
