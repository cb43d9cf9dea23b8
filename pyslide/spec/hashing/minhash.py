"""Densified one-permutation MinHash over a vector's largest coordinates (Shrivastava and Li 2014; Appendix A)."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import BoolArray, IntArray
from pyslide.conventions import Conventions
from pyslide.parameters import MinHashParameters
from pyslide.spec.hashing.densification import densify
from pyslide.spec.vectors import SparseVector


def largest_coordinates(vector: SparseVector, kept: int) -> IntArray:
    """Return the ids of the ``kept`` largest entries, ascending; equal values go to the smaller id.

    A vector with fewer entries gives all of them.
    """
    order = np.argsort(-vector.values, kind="stable")
    return np.sort(vector.indices[order[:kept]])


def first_members(members: IntArray, parameters: MinHashParameters) -> tuple[IntArray, BoolArray]:
    """Return for each bin the first place that holds a member of the set, and whether there is one."""
    present = np.zeros(parameters.dimension, dtype=bool)
    present[members] = True
    inside = present[parameters.bins]  # (C, m)
    return np.argmax(inside, axis=1), np.any(inside, axis=1)


def minhash_codes(
    vector: SparseVector, parameters: MinHashParameters, conventions: Conventions
) -> tuple[IntArray, int]:
    """Return the C codes of a vector, and how many bins found no donor.

    For bins that are whole permutations two vectors share a code with the probability of the Jaccard similarity of
    their sets of largest coordinates.
    """
    codes, occupied = first_members(largest_coordinates(vector, parameters.kept), parameters)
    return densify(
        codes,
        occupied,
        parameters.probes,
        parameters.code_range,
        donor=conventions.donor,
        borrowed_code=conventions.borrowed_code,
        densification_failure=conventions.densification_failure,
    )
