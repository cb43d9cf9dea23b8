"""MinHash: when do two sets have the same first member? (section 3.2, Appendix A)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyslide.errors import OutOfRangeError
from pyslide.theory.bins import BinLaw, bin_law, missing_probability
from pyslide.theory.checks import as_count, as_set


def jaccard(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return |A and B| / |A or B|: the probability that whole permutations give two sets one MinHash (Broder 1997).

    Parameters
    ----------
    a, b : array_like of int
        Distinct ids.

    Returns
    -------
    float

    Raises
    ------
    ShapeError, DtypeError, OrderError
        If they are not sets of ids.
    OutOfRangeError
        If an id is negative or both sets are empty, which have no similarity.
    """
    first, second = as_set(a, "a"), as_set(b, "b")
    either = np.union1d(first, second).size
    if either == 0:
        raise OutOfRangeError("a, b: expected a member in at least one set, got two empty sets")
    return (first.size + second.size - either) / either


def minhash_bin_law(a: npt.ArrayLike, b: npt.ArrayLike, dimension: int, bin_size: int) -> BinLaw:
    """Return what two sets do in one bin of MinHash before densification (Shrivastava and Li 2014).

    The code of a bin is its first place that holds a member; a bin without one is empty.  Unless neither set is met,
    the first member of either is one of both with the probability of their Jaccard similarity J:

        Pr[equal codes] = J * (1 - C(d - |A or B|, m) / C(d, m)).

    Parameters
    ----------
    a, b : array_like of int
        Distinct ids of 0..d-1.
    dimension : int
        d.
    bin_size : int
        m, in 1..d; m = d is the whole permutation.

    Returns
    -------
    BinLaw

    Raises
    ------
    ShapeError, DtypeError, OrderError, OutOfRangeError
        If they are not sets of such ids, or m lies outside 1..d.
    """
    size = as_count(bin_size, "bin_size", 1, as_count(dimension, "dimension", 1))
    first, second = as_set(a, "a", dimension), as_set(b, "b", dimension)
    either = np.union1d(first, second).size
    similarity = (first.size + second.size - either) / max(either, 1)
    equal = similarity * (1 - missing_probability(either, dimension, size))
    return bin_law(equal, first.size, second.size, either, dimension, size)
