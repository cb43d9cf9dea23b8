"""Densification for a batch: all empty bins ask at the same time."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import BoolArray, IntArray
from pyslide.spec.hashing.densification import FAILURE_CODES


def borrow(codes: IntArray, attempt: int, code_range: int, borrowed_code: str) -> IntArray:
    """Return what borrowing bins get from their donors' codes at an attempt counted from 1 (question 6)."""
    return codes + attempt * code_range if borrowed_code == "shifted_by_attempt" else codes


def densify(
    codes: IntArray,
    occupied: BoolArray,
    probes: IntArray,
    code_range: int,
    *,
    donor: str,
    borrowed_code: str,
    densification_failure: str,
) -> tuple[IntArray, IntArray]:
    """Fill the empty bins of a batch.

    Parameters
    ----------
    codes : ndarray of int, shape (C, B)
    occupied : ndarray of bool, shape (C, B)
    probes : ndarray of int, shape (C, attempts)
    code_range : int
    donor, borrowed_code, densification_failure : str
        The answers to questions 5, 6 and 8.

    Returns
    -------
    codes : ndarray of int, shape (C, B)
    failures : ndarray of int, shape (B,)
    """
    if occupied.all():
        return codes, np.zeros(codes.shape[1], dtype=np.int64)
    fill = fill_from_undensified if donor == "undensified" else fill_in_order
    result, empty = fill(codes.astype(np.int64), occupied, probes, code_range, borrowed_code)
    result[empty] = FAILURE_CODES[densification_failure]
    return result, empty.sum(axis=0)


def fill_from_undensified(
    codes: IntArray, occupied: BoolArray, probes: IntArray, code_range: int, borrowed_code: str
) -> tuple[IntArray, BoolArray]:
    """Let every empty bin borrow from the codes before densification; return what is still empty."""
    result = codes.copy()
    bins, samples = np.nonzero(~occupied)
    for attempt in range(probes.shape[1]):
        asked = probes[bins, attempt]
        lends = occupied[asked, samples]
        lent = borrow(codes[asked[lends], samples[lends]], attempt + 1, code_range, borrowed_code)
        result[bins[lends], samples[lends]] = lent
        bins, samples = bins[~lends], samples[~lends]
        if bins.size == 0:
            break
    empty = np.zeros(occupied.shape, dtype=bool)
    empty[bins, samples] = True
    return result, empty


def fill_in_order(
    codes: IntArray, occupied: BoolArray, probes: IntArray, code_range: int, borrowed_code: str
) -> tuple[IntArray, BoolArray]:
    """Let the empty bins borrow in ascending order, from bins filled before them too; return what is still empty."""
    result, lends = codes.copy(), occupied.copy()
    for one in np.flatnonzero(~occupied.all(axis=1)):
        samples = np.flatnonzero(~occupied[one])
        asked = lends[np.ix_(probes[one], samples)]  # (attempts, samples)
        found = np.any(asked, axis=0)
        attempts, samples = np.argmax(asked, axis=0)[found], samples[found]
        given = result[probes[one, attempts], samples]
        shift = (attempts + 1) * code_range if borrowed_code == "shifted_by_attempt" else 0
        result[one, samples] = given + shift
        lends[one, samples] = True
    return result, ~lends
