"""Two vectors meet in one bin: the law that WTA, DWTA and MinHash share.

A bin is an ordered tuple of m distinct coordinates, a piece of a uniformly random permutation.  A vector's winners in
a bin are its largest entries there (MinHash: the members of its set), and its code is the place of the first winner.
Given the coordinates of the bin their order is uniform, so the first among the winners of either vector is any of
them with the same probability; the codes are equal exactly if it is a winner of both.  Hence, given the coordinates,

    Pr[equal codes] = |winners of both| / |winners of either|,

the Jaccard similarity of the two sets of winners.  Summed over the C(d, m) equally likely sets of coordinates that is

    Pr[equal codes] = sum_i (C(w_i, m) - C(r_i, m)) / (w_i - r_i) / C(d, m)

over the coordinates i at which both vectors have an entry.  There w_i counts the coordinates j (i included) that do
not beat i in either vector and r_i those that are below i in both: i wins for both exactly if all others are among the
w_i, and with t of the w_i - r_i - 1 others that equal i somewhere it counts 1 / (t + 1), where
sum_t C(n, t) C(r, m-1-t) / (t + 1) = (C(n + 1 + r, m) - C(r, m)) / (n + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, fsum

import numpy as np

from pyslide.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class BinLaw:
    """What two vectors do in one bin; the five probabilities add up to 1.

    Attributes
    ----------
    equal : float
        Neither finds the bin empty and the codes are equal.
    differ : float
        Neither finds it empty and the codes differ.
    only_first_empty, only_second_empty : float
        One finds it empty.
    both_empty : float
        Both do.
    """

    equal: float
    differ: float
    only_first_empty: float
    only_second_empty: float
    both_empty: float


def missing_probability(members: int, dimension: int, bin_size: int) -> float:
    """Return C(d - n, m) / C(d, m), the probability that none of n coordinates falls into a bin of m places."""
    return comb(dimension - members, bin_size) / comb(dimension, bin_size)


def bin_law(equal: float, first: int, second: int, either: int, dimension: int, bin_size: int) -> BinLaw:
    """Complete the law of a bin from Pr[equal codes] and the numbers of entries.

    Parameters
    ----------
    equal : float
    first, second, either : int
        At how many coordinates the first, the second and either of the vectors have an entry.
    dimension, bin_size : int
        d and m.
    """
    first_empty = missing_probability(first, dimension, bin_size)
    second_empty = missing_probability(second, dimension, bin_size)
    both_empty = missing_probability(either, dimension, bin_size)
    occupied = 1 - first_empty - second_empty + both_empty
    # Rounding must not turn "never" into a tiny negative probability.
    return BinLaw(equal, max(0.0, occupied - equal), first_empty - both_empty, second_empty - both_empty, both_empty)


def shared_win_probability(x: FloatArray, y: FloatArray, absent: int, bin_size: int) -> float:
    """Return Pr[equal codes] of two vectors in a bin, ties included.

    Parameters
    ----------
    x, y : ndarray of float, shape (u,)
        The values at the coordinates at which either has an entry; -inf where it has none.
    absent : int
        d - u, the number of coordinates at which neither has an entry.
    bin_size : int
        m.
    """
    dimension = absent + x.size
    unbeaten, below = (absent + count for count in _rivals(x, y))
    terms = [
        (comb(w, bin_size) - comb(r, bin_size)) / ((w - r) * comb(dimension, bin_size))
        for w, r in zip(unbeaten.tolist(), below.tolist(), strict=True)
    ]
    return fsum(terms)


def _rivals(x: FloatArray, y: FloatArray) -> tuple[IntArray, IntArray]:
    """Count, for each coordinate with an entry in both vectors, those that do not beat it and those below it."""
    shared = (x > -np.inf) & (y > -np.inf)
    unbeaten = (x <= x[shared, None]) & (y <= y[shared, None])  # (shared, u)
    below = (x < x[shared, None]) & (y < y[shared, None])
    return unbeaten.sum(axis=1), below.sum(axis=1)
