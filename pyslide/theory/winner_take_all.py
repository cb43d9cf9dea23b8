"""WTA and DWTA: when do two vectors win at the same place? (section 3.2, Appendix A)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyslide.errors import OrderError
from pyslide.theory.bins import BinLaw, bin_law, shared_win_probability
from pyslide.theory.checks import as_count, as_vector_pair


def winner_take_all_collision_probability(x: npt.ArrayLike, y: npt.ArrayLike, bin_size: int) -> float:
    """Return the probability that two vectors share a WTA code (Yagnik et al. 2011, section 3).

    With distinct values it is sum_i C(r_i, m-1) / C(d, m), r_i the number of coordinates below i in both vectors.
    With ties it is that of the first maximum in a bin of uniformly random order; see `pyslide.theory.bins` for the
    formula and its derivation.  Takes memory for d^2 truth values.

    Parameters
    ----------
    x, y : array_like of float, shape (d,)
        Every coordinate competes, zeros included.
    bin_size : int
        m, in 1..d.

    Returns
    -------
    float

    Raises
    ------
    ShapeError, NonFiniteError
        If the vectors differ in length or are not finite.
    OutOfRangeError
        If m lies outside 1..d.
    """
    first, second = as_vector_pair(x, y)
    size = as_count(bin_size, "bin_size", 1, first.size)
    return shared_win_probability(first, second, 0, size)


def densified_winner_take_all_bin_law(x: npt.ArrayLike, y: npt.ArrayLike, bin_size: int) -> BinLaw:
    """Return what two sparse vectors do in one bin of DWTA before densification (arXiv 1612.01834).

    Non-zeros alone compete, negative ones too; a bin without any is empty.  Equal values tie, the first in the bin
    wins.  Exact for a bin that is a piece of a uniformly random permutation.

    Parameters
    ----------
    x, y : array_like of float, shape (d,)
        Their zeros are no entries.
    bin_size : int
        m, in 1..d.

    Returns
    -------
    BinLaw

    Raises
    ------
    ShapeError, NonFiniteError, OutOfRangeError
        As for `winner_take_all_collision_probability`.
    """
    first, second = as_vector_pair(x, y)
    size = as_count(bin_size, "bin_size", 1, first.size)
    either = (first != 0) | (second != 0)
    entries = [np.where(vector[either] == 0, -np.inf, vector[either]) for vector in (first, second)]
    absent = first.size - int(either.sum())
    equal = shared_win_probability(entries[0], entries[1], absent, size)
    entries_of = [int(np.count_nonzero(mask)) for mask in (first, second, either)]
    return bin_law(equal, entries_of[0], entries_of[1], entries_of[2], first.size, size)


def densified_winner_take_all_collision_probability(
    x: npt.ArrayLike, y: npt.ArrayLike, bin_size: int, bins: int
) -> float:
    """Return the probability that two sparse vectors share a densified code, averaged over bins and probes.

    Let E, A, B, Z be the probabilities of equal codes, of only x, only y and both empty in one bin
    (`densified_winner_take_all_bin_law`).  A donor's code is independent of the codes in other bins and, the winner
    being a single coordinate, uniform on the m places.  So one borrower collides with probability 1/m.  Two borrowers
    ask the same bins in the same order: the first bin that is not empty for both, if there is one, serves both
    with probability (1 - A - B - Z) / (1 - Z), with equal codes in E of 1 - A - B - Z cases; else they meet by chance:

        Pr = E + (A + B) / m + Z * [(1 - Z^(C-1)) * (E + (A + B) / m) / (1 - Z) + Z^(C-1)].

    A bin without any donor gets code 0, so that two vectors without entries collide always.

    Assumptions: the C bins are independent, each from a permutation of its own (for bins cut from the same permutation
    the term with Z is an approximation, the others stay exact); probes are independent and uniform over the C bins,
    the same for both vectors, and as many as it takes; conventions `PAPER` (undensified donors, codes as they are).

    Parameters
    ----------
    x, y : array_like of float, shape (d,)
        Their zeros are no entries; the non-zero values of each are distinct.
    bin_size : int
        m, in 1..d.
    bins : int
        C, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ShapeError, NonFiniteError, OutOfRangeError
        As for `winner_take_all_collision_probability`, or if C < 1.
    OrderError
        If a vector has the same non-zero value twice: its codes would not be uniform.
    """
    law = densified_winner_take_all_bin_law(x, y, bin_size)
    count = as_count(bins, "bins", 1)
    for vector, name in ((x, "x"), (y, "y")):
        _require_distinct_entries(vector, name)
    if law.both_empty == 1:
        return 1.0
    settled = law.equal + (law.only_first_empty + law.only_second_empty) / bin_size
    nowhere = law.both_empty ** (count - 1)
    return settled + law.both_empty * ((1 - nowhere) * settled / (1 - law.both_empty) + nowhere)


def _require_distinct_entries(vector: npt.ArrayLike, name: str) -> None:
    values = np.asarray(vector, dtype=np.float64)
    entries = values[values != 0]
    if np.unique(entries).size != entries.size:
        raise OrderError(f"{name}: expected distinct non-zero values, got equal ones")
