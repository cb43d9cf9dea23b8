"""Densification: when do two vectors share a code that either of them borrowed? (section 3.2, Appendix A)."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import BoolArray, FloatArray, IntArray, require_shape
from pyslide.errors import DtypeError
from pyslide.theory.checks import as_count, require_same_size


def densified_collision_given_codes(
    first_codes: IntArray,
    first_occupied: BoolArray,
    second_codes: IntArray,
    second_occupied: BoolArray,
    *,
    attempts: int | None = None,
    failure_code: int = 0,
) -> FloatArray:
    """Return, for given undensified codes, the probability of equal densified codes in each bin.

    Random are the probes alone: an empty bin asks bins that are independent and uniform over all C, the same for both
    vectors, and takes the undensified code of the first occupied one as it is (questions 5 and 6, `PAPER`).  A
    universal hash of (bin, attempt) is pairwise independent only and comes close.  Holds for DWTA and for MinHash.

    - Neither bin is empty: 1 if the codes are equal, else 0.
    - One is: the donor is uniform among the bins that the vector occupies.
    - Both are: the first probe that either vector occupies is uniform among those; it serves the vectors that occupy
      it, and the other goes on asking.

    Parameters
    ----------
    first_codes, second_codes : ndarray of int, shape (C,)
        What stands in an empty bin is not read.
    first_occupied, second_occupied : ndarray of bool, shape (C,)
    attempts : int, optional
        After how many probes a bin gives up; None for as many as it takes, given up only if no bin is occupied.
    failure_code : int
        The code of a bin that gave up (question 8); two that gave up have equal codes.

    Returns
    -------
    ndarray of float64, shape (C,)

    Raises
    ------
    ShapeError
        If the arrays do not have the same length.
    DtypeError
        If codes are not integers or masks not truth values.
    OutOfRangeError
        If ``attempts`` is negative.
    """
    first = _Bins(first_codes, first_occupied, failure_code)
    second = _Bins(second_codes, second_occupied, failure_code)
    require_same_size(first.codes, second.codes, "codes")
    limit = None if attempts is None else as_count(attempts, "attempts")
    chances = (first.codes == second.codes).astype(np.float64)
    only_second, only_first = second.occupied & ~first.occupied, first.occupied & ~second.occupied
    chances[only_second] = first.matches(second.codes[only_second], first.given_up(limit))
    chances[only_first] = second.matches(first.codes[only_first], second.given_up(limit))
    chances[~first.occupied & ~second.occupied] = _both_borrow(first, second, limit)
    return chances


class _Bins:
    """One vector's undensified codes, and the bins that can lend them."""

    def __init__(self, codes: IntArray, occupied: BoolArray, failure_code: int) -> None:
        self.codes, self.occupied, self.failure_code = np.asarray(codes), np.asarray(occupied), failure_code
        require_shape(self.codes, (None,), "codes")
        require_shape(self.occupied, self.codes.shape, "occupied")
        if not np.issubdtype(self.codes.dtype, np.integer):
            raise DtypeError(f"codes: expected integers, got {self.codes.dtype}")
        if self.occupied.dtype != np.bool_:
            raise DtypeError(f"occupied: expected truth values, got {self.occupied.dtype}")

    @property
    def share(self) -> float:
        """How likely a probe meets an occupied bin."""
        return float(self.occupied.mean())

    def given_up(self, attempts: int | None) -> float:
        """Return the probability that no probe of so many meets an occupied bin."""
        if attempts is None:
            return 0.0 if self.occupied.any() else 1.0
        return (1.0 - self.share) ** attempts

    def matches(self, codes: IntArray, given_up: float) -> FloatArray:
        """Return how likely a borrowed code equals each of the given ones."""
        donors = self.codes[self.occupied]
        lent = np.mean(codes[:, None] == donors, axis=1) if donors.size else np.zeros(codes.size)
        return (1 - given_up) * lent + given_up * (codes == self.failure_code)


def _both_borrow(first: _Bins, second: _Bins, attempts: int | None) -> float:
    """Return the probability of equal codes in a bin that both vectors find empty."""
    both = first.occupied & second.occupied
    either = _Bins(first.codes, first.occupied | second.occupied, first.failure_code)
    lenders = int(either.occupied.sum())
    if lenders == 0:
        return 1.0
    met = (1 - either.given_up(attempts)) / lenders  # the first lender is this one
    common = met * np.count_nonzero(first.codes[both] == second.codes[both])
    goes_on = _one_goes_on(first, second, either, met, attempts) + _one_goes_on(second, first, either, met, attempts)
    return float(common) + goes_on + either.given_up(attempts)


def _one_goes_on(served: _Bins, asking: _Bins, either: _Bins, met: float, attempts: int | None) -> float:
    """Return the probability of equal codes where the first lender serves one vector only."""
    codes = served.codes[served.occupied & ~asking.occupied]
    late = _meets_then_gives_up(asking, either, met, attempts)
    settled = (met - late) * asking.matches(codes, 0.0)
    return float(np.sum(settled + late * asking.matches(codes, 1.0)))


def _meets_then_gives_up(asking: _Bins, either: _Bins, met: float, attempts: int | None) -> float:
    """Return the probability that the first lender is a given bin and the other vector then finds none.

    Over the attempt t at which the lender is met: sum_t (1 - u)^(t-1) / C * (1 - o)^(T-t).
    """
    if attempts is None:
        return 0.0 if asking.occupied.any() else met
    attempt = np.arange(1, attempts + 1)
    waits = (1.0 - either.share) ** (attempt - 1) * (1.0 - asking.share) ** (attempts - attempt)
    return float(waits.sum()) / either.codes.size
