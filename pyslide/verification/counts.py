"""Counts over independent draws against exact probabilities.

A check says: this event has exactly this probability, and an error of so much must not escape.  From that, from its
share of the false-alarm budget and from the wanted power follows how many independent draws it needs, all with exact
binomial tails.  After the draws, Holm's step-down procedure (Holm 1979) judges all checks together: whatever their
dependence, the probability that any true law is rejected is at most the budget.  Planning with equal shares is safe,
since Holm rejects all that Bonferroni rejects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from pyslide.errors import OutOfRangeError

BUDGET = 1e-6
"""The probability that a whole run accuses an innocent implementation."""
POWER = 0.99
"""The probability that an error of the stated size is caught."""
LARGEST = 2**40
"""More draws than this are refused."""


class Check(NamedTuple):
    """One claim: an event has this probability, and an error of this size must be caught."""

    name: str
    probability: float
    detectable_error: float


class Verdict(NamedTuple):
    """What the draws say about a claim."""

    check: Check
    trials: int
    successes: int
    tail: float  # two-sided, exact
    rejected: bool  # by Holm's procedure over all checks


def two_sided_tail(count: int, trials: int, probability: float) -> float:
    """Return twice the smaller exact binomial tail, 1 at most: a valid p-value.

    Parameters
    ----------
    count, trials : int
    probability : float
    """
    below = float(binom.cdf(count, trials, probability))
    above = float(binom.sf(count - 1, trials, probability))
    return min(1.0, 2 * min(below, above))


def region(trials: int, probability: float, alpha: float) -> tuple[int, int]:
    """Return the largest low and the smallest high count that are rejected at level alpha; -1 and trials+1 for none."""
    low = int(binom.ppf(alpha / 2, trials, probability))
    while low >= 0 and binom.cdf(low, trials, probability) > alpha / 2:
        low -= 1
    high = int(binom.isf(alpha / 2, trials, probability)) + 1
    while high <= trials and binom.sf(high - 1, trials, probability) > alpha / 2:
        high += 1
    return low, high


def power(trials: int, probability: float, truth: float, alpha: float) -> float:
    """Return the exact probability that a check of so many draws rejects when the truth is another probability."""
    low, high = region(trials, probability, alpha)
    return float(binom.cdf(low, trials, truth) + binom.sf(high - 1, trials, truth))


def alternatives(check: Check) -> list[float]:
    """Return the probabilities that lie the detectable error away, as far as there are any.

    Raises
    ------
    OutOfRangeError
        If there are none, or the claim is no probability.
    """
    if not 0 <= check.probability <= 1:
        raise OutOfRangeError(f"{check.name}: expected a probability, got {check.probability}")
    apart = (check.probability - check.detectable_error, check.probability + check.detectable_error)
    inside = [truth for truth in apart if 0 <= truth <= 1]
    if check.detectable_error <= 0 or not inside:
        raise OutOfRangeError(
            f"{check.name}: expected a positive error that leaves a probability, got {check.detectable_error} "
            f"around {check.probability}"
        )
    return inside


def detectable(check: Check, trials: int, alpha: float) -> float:
    """Return the power against the worse of the two alternatives at the detectable error."""
    return min(power(trials, check.probability, truth, alpha) for truth in alternatives(check))


def sample_size(check: Check, alpha: float, wanted: float = POWER) -> int:
    """Return a number of draws at which the check has its power; a few per cent above the smallest at most.

    Power rises with the draws but for small steps back, since counts are whole.  The search doubles and then halves the
    interval, and the number that it returns has the power by exact computation.

    Raises
    ------
    OutOfRangeError
        If the check would need more than 2^40 draws.
    """
    trials = 8
    while detectable(check, trials, alpha) < wanted:
        trials *= 2
        if trials > LARGEST:
            raise OutOfRangeError(f"{check.name}: needs more than {LARGEST} draws")
    short = trials // 2
    while trials - short > max(1, trials // 50):
        middle = (short + trials) // 2
        if detectable(check, middle, alpha) >= wanted:
            trials = middle
        else:
            short = middle
    return trials


def judge(
    checks: Sequence[Check], trials: Sequence[int], counts: Sequence[int], budget: float = BUDGET
) -> list[Verdict]:
    """Judge all checks of a run together (Holm 1979).

    Parameters
    ----------
    checks, trials, counts : sequences of one length
    budget : float
        The probability that any true claim is rejected.

    Returns
    -------
    list of Verdict, in the order of the checks
    """
    tails = [
        two_sided_tail(count, number, check.probability)
        for check, number, count in zip(checks, trials, counts, strict=True)
    ]
    rejected = [False] * len(tails)
    for rank, place in enumerate(np.argsort(tails, kind="stable")):
        if tails[place] > budget / (len(tails) - rank):
            break
        rejected[place] = True
    return [Verdict(*parts) for parts in zip(checks, trials, counts, tails, rejected, strict=True)]
