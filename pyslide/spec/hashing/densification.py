"""Densification: an empty bin borrows the code of another (Chen and Shrivastava 2018; Shrivastava and Li 2014)."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import BoolArray, IntArray

FAILURE_CODES = {"code_zero": 0, "minus_one": -1, "smallest_integer": -(2**31)}
"""The code of a bin that found no donor, by the answer to question 8."""


def probe_table(bins: int, attempts: int, multiplier: int, addend: int) -> IntArray:
    """Return which bin each bin asks at each attempt: a universal hash of (bin, attempt).

    With x = bin * attempts + attempt, the upper 32 bits of ``multiplier * x + addend`` modulo 2^64 are strongly
    universal (Dietzfelbinger 1996) for x < 2^32; scaled by the number of bins, every bin can be a donor.

    Parameters
    ----------
    bins, attempts : int
        Their product must not exceed 2^32.
    multiplier, addend : int
        In 0..2^64-1.

    Returns
    -------
    ndarray of int64, shape (bins, attempts)
    """
    place = np.arange(bins * attempts, dtype=np.uint64).reshape(bins, attempts)
    mixed = np.uint64(multiplier) * place + np.uint64(addend)  # modulo 2^64
    return ((mixed >> np.uint64(32)) * np.uint64(bins) >> np.uint64(32)).astype(np.int64)


def borrowed(code: int, attempt: int, code_range: int, borrowed_code: str) -> int:
    """Return what the borrowing bin gets from its donor's code at an attempt counted from 1 (question 6)."""
    return code + attempt * code_range if borrowed_code == "shifted_by_attempt" else code


def densify(
    codes: IntArray,
    occupied: BoolArray,
    probes: IntArray,
    code_range: int,
    *,
    donor: str,
    borrowed_code: str,
    densification_failure: str,
) -> tuple[IntArray, int]:
    """Fill the empty bins with the code of the first occupied bin that they ask.

    Parameters
    ----------
    codes : ndarray of int, shape (C,)
        Codes of the occupied bins; what stands in an empty one is not read.
    occupied : ndarray of bool, shape (C,)
    probes : ndarray of int, shape (C, attempts)
    code_range : int
        m, the number of places of a bin.
    donor, borrowed_code, densification_failure : str
        The answers to questions 5, 6 and 8.

    Returns
    -------
    codes : ndarray of int64, shape (C,)
    failures : int
        How many bins found no donor.
    """
    source, lends = codes.copy(), occupied.copy()
    result = codes.astype(np.int64)
    failures = 0
    for empty in np.flatnonzero(~occupied):
        asked = np.flatnonzero(lends[probes[empty]])
        if asked.size == 0:
            result[empty] = FAILURE_CODES[densification_failure]
            failures += 1
            continue
        attempt = int(asked[0])
        result[empty] = borrowed(int(source[probes[empty, attempt]]), attempt + 1, code_range, borrowed_code)
        if donor == "densified_so_far":
            source[empty], lends[empty] = result[empty], True
    return result, failures
