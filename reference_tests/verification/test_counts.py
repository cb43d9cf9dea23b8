"""The judge itself: exact tails, sizes that have their power, and Holm by hand."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyslide.errors import OutOfRangeError
from pyslide.verification import Check, detectable, judge, power, region, sample_size, two_sided_tail


def law(trials, probability):
    """Return the exact binomial probabilities."""
    p = Fraction(probability)
    return [comb(trials, count) * p**count * (1 - p) ** (trials - count) for count in range(trials + 1)]


@given(st.integers(1, 30), st.floats(0.01, 0.99), st.data())
def test_tails_are_exact(trials, probability, data):
    count = data.draw(st.integers(0, trials))
    exact = law(trials, probability)
    tail = min(1, 2 * min(sum(exact[: count + 1]), sum(exact[count:])))
    assert two_sided_tail(count, trials, probability) == pytest.approx(float(tail), rel=1e-9, abs=1e-15)


@given(st.integers(1, 40), st.floats(0.01, 0.99), st.sampled_from([0.2, 0.05, 1e-3]))
def test_the_region_is_the_largest_that_keeps_the_level(trials, probability, alpha):
    low, high = region(trials, probability, alpha)
    exact = law(trials, probability)
    half = Fraction(alpha) / 2
    close = Fraction(1, 10**12)
    assert sum(exact[: low + 1]) <= half + close
    assert sum(exact[high:]) <= half + close
    assert sum(exact[: low + 2]) > half - close
    assert high == 0 or sum(exact[high - 1 :]) > half - close


def test_power_by_enumeration():
    low, high = region(30, 0.5, 0.05)
    exact = law(30, 0.8)
    assert power(30, 0.5, 0.8, 0.05) == pytest.approx(float(sum(exact[: low + 1]) + sum(exact[high:])))


@pytest.mark.parametrize(("probability", "error"), [(0.5, 0.05), (0.01, 0.01), (1.0, 0.02), (0.999, 0.05), (0.0, 0.1)])
@pytest.mark.parametrize("alpha", [0.05, 1e-8])
def test_sizes_have_their_power_and_little_more(probability, error, alpha):
    check = Check("some", probability, error)
    trials = sample_size(check, alpha)
    assert detectable(check, trials, alpha) >= 0.99
    assert detectable(check, int(trials * 0.8), alpha) < 0.99 or trials <= 8


def test_holm_by_hand():
    """Tails 0.001, 0.02, 0.04, 0.9 at 0.05: 0.001 <= 0.05/4, then 0.02 > 0.05/3 ends it."""
    checks = [Check(name, 0.5, 0.1) for name in "abcd"]
    trials, counts = [100, 100, 100, 100], [33, 62, 61, 50]
    verdicts = judge(checks, trials, counts, 0.05)
    assert [round(one.tail, 3) for one in verdicts] == [0.001, 0.021, 0.035, 1.0]
    assert [one.rejected for one in verdicts] == [True, False, False, False]
    assert [one.rejected for one in judge(checks, trials, [33, 35, 61, 50], 0.05)] == [True, True, False, False]


def test_the_budget_holds_for_a_whole_run():
    """Three true claims of 12 fair draws each: enumerate all counts and add up the runs that accuse anybody."""
    checks, exact = [Check(name, 0.5, 0.1) for name in "abc"], law(12, 0.5)
    alarm = 0
    for first in range(13):
        for second in range(13):
            for third in range(13):
                if any(one.rejected for one in judge(checks, [12] * 3, [first, second, third], 0.2)):
                    alarm += exact[first] * exact[second] * exact[third]
    assert 0.02 < alarm <= 0.2


@pytest.mark.parametrize(("probability", "error"), [(1.5, 0.1), (0.5, 0.0), (0.5, 0.6), (0.5, 1e-9)])
def test_claims_that_cannot_be_checked(probability, error):
    with pytest.raises(OutOfRangeError, match="some"):
        sample_size(Check("some", probability, error), 1e-6)
