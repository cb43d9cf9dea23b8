"""Densified winner-take-all for a batch."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import BoolArray, FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.hashing.densification import densify
from pyslide.engine.hashing.winner_take_all import first_maxima
from pyslide.engine.vectors import Batch, entries
from pyslide.parameters import DensifiedWinnerTakeAllParameters


def occupied_codes(columns: FloatArray, bins: IntArray, empty_bin: str) -> tuple[IntArray, BoolArray]:
    """Return codes and occupation of the bins, both (C, B), for vectors in columns with -inf for no entry."""
    codes, maxima = first_maxima(columns, bins)
    occupied = maxima > -np.inf
    if empty_bin == "maximum_is_zero":
        occupied &= maxima != 0
    elif empty_bin == "code_is_zero":
        occupied &= codes != 0
    return codes, occupied


def densified_winner_take_all_codes(
    batch: Batch, parameters: DensifiedWinnerTakeAllParameters, conventions: Conventions
) -> tuple[IntArray, IntArray]:
    """Return the codes of a batch, shape (B, C), and how many bins of each vector found no donor, shape (B,)."""
    zeros = conventions.dense_input == "every_coordinate"
    columns = np.ascontiguousarray(entries(batch, -np.inf, zeros_are_entries=zeros).T)  # (d, B)
    codes, occupied = occupied_codes(columns, parameters.bins, conventions.empty_bin)
    codes, failures = densify(
        codes,
        occupied,
        parameters.probes,
        parameters.code_range,
        donor=conventions.donor,
        borrowed_code=conventions.borrowed_code,
        densification_failure=conventions.densification_failure,
    )
    return codes.T, failures
