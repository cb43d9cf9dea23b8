"""Densified one-permutation MinHash over the largest coordinates, for a batch."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import BoolArray, FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.hashing.densification import densify
from pyslide.engine.hashing.winner_take_all import first_maxima
from pyslide.engine.vectors import Batch, entries
from pyslide.parameters import MinHashParameters


def largest_coordinates(dense: FloatArray, kept: int) -> BoolArray:
    """Return which coordinates are among the ``kept`` largest entries of their row, equal values by smaller id.

    Parameters
    ----------
    dense : ndarray, shape (B, d)
        With -inf where there is no entry.
    kept : int
    """
    best = np.argsort(-dense, axis=1, kind="stable")[:, :kept]
    members = np.zeros(dense.shape, dtype=bool)
    np.put_along_axis(members, best, True, axis=1)
    return members & (dense > -np.inf)


def first_members(members: BoolArray, parameters: MinHashParameters) -> tuple[IntArray, BoolArray]:
    """Return for each bin the first place that holds a member, and whether there is one; both (C, B).

    The first member is the first maximum of the indicator.
    """
    columns = np.ascontiguousarray(members.T).astype(np.float32)  # (d, B)
    codes, found = first_maxima(columns, parameters.bins)
    return codes, found > 0


def minhash_codes(
    batch: Batch, parameters: MinHashParameters, conventions: Conventions
) -> tuple[IntArray, IntArray]:
    """Return the codes of a batch, shape (B, C), and how many bins of each vector found no donor, shape (B,)."""
    zeros = conventions.dense_input == "every_coordinate"
    dense = entries(batch, -np.inf, zeros_are_entries=zeros)
    codes, occupied = first_members(largest_coordinates(dense, parameters.kept), parameters)
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
