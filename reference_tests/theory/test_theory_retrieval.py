"""Retrieval probabilities against exact fractions, SciPy and the figures of the paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binom

from pyslide.errors import DtypeError, OutOfRangeError
from pyslide.theory import (
    expected_active_count,
    hard_threshold_inclusion,
    inclusion_after_tables,
    meta_hash_probability,
    printed_hit_pattern_probability,
    schedule_iterations,
    union_inclusion,
)

EIGHTHS = st.integers(0, 8).map(lambda count: count / 8)


class TestFigures:
    def test_of_the_paper(self):
        assert f"{printed_hit_pattern_probability(0.8, 9, 50, 5):.1e}" == "6.6e-08"
        assert f"{inclusion_after_tables(0.8, 9, 5):.3f}" == "0.514"

    def test_printed_pattern_is_no_inclusion_probability(self):
        # Summed over which and how many tables hit, the patterns with a hit give the union.
        patterns = sum(comb(10, hits) * printed_hit_pattern_probability(0.8, 3, 10, hits) for hits in range(1, 11))
        assert patterns == pytest.approx(union_inclusion(0.8, 3, 10))
        assert printed_hit_pattern_probability(0.8, 3, 10, 1) < inclusion_after_tables(0.8, 3, 1)


class TestExactly:
    @given(EIGHTHS, st.integers(0, 4), st.integers(0, 6))
    @settings(max_examples=80, deadline=None)
    def test_inclusion_is_the_share_of_hit_patterns_with_a_hit(self, p, codes, tables):
        q = Fraction(p) ** codes
        total = sum(
            np.prod([q if hit else 1 - q for hit in hits], initial=Fraction(1))
            for hits in product((False, True), repeat=tables)
            if any(hits)
        )
        assert meta_hash_probability(p, codes) == float(q)
        assert union_inclusion(p, codes, tables) == pytest.approx(float(total), rel=1e-13, abs=0)

    @given(EIGHTHS, st.integers(0, 4), st.integers(0, 12), st.integers(0, 14))
    @settings(max_examples=80, deadline=None)
    def test_hard_threshold_is_the_binomial_tail(self, p, codes, tables, minimum):
        q = Fraction(p) ** codes
        tail = sum(comb(tables, i) * q**i * (1 - q) ** (tables - i) for i in range(minimum, tables + 1))
        assert hard_threshold_inclusion(p, codes, tables, minimum) == pytest.approx(float(tail), rel=1e-12, abs=0)

    @given(EIGHTHS, st.integers(0, 4), st.integers(0, 9), st.integers(0, 9))
    @settings(max_examples=60, deadline=None)
    def test_printed_pattern(self, p, codes, hits, misses):
        q = Fraction(p) ** codes
        expected = float(q**hits * (1 - q) ** misses)
        assert printed_hit_pattern_probability(p, codes, hits + misses, hits) == pytest.approx(expected, rel=1e-12)

    def test_hard_threshold_equals_scipy(self):
        p, minimum = np.linspace(0, 1, 21)[:, None], np.arange(1, 51)
        expected = binom.sf(minimum - 1, 50, p**6)
        np.testing.assert_allclose(hard_threshold_inclusion(p, 6, 50, minimum), expected, rtol=1e-11, atol=1e-300)

    def test_one_hit_is_the_union(self):
        p = np.linspace(0, 1, 33)
        np.testing.assert_allclose(hard_threshold_inclusion(p, 5, 40, 1), union_inclusion(p, 5, 40), rtol=1e-12, atol=0)


class TestTinyProbabilities:
    @pytest.mark.parametrize("p", [1e-3, 1e-10, 1e-30])
    def test_inclusion_keeps_its_digits(self, p):
        q = Fraction(p) ** 9
        exact = float(50 * q - 1225 * q**2 + 19600 * q**3)  # 1 - (1-q)^50 up to q^4
        assert union_inclusion(p, 9, 50) == pytest.approx(exact, rel=1e-13, abs=0)

    def test_threshold_keeps_its_digits(self):
        q = Fraction(1e-20)
        exact = float(comb(50, 3) * q**3)
        assert hard_threshold_inclusion(1e-20, 1, 50, 3) == pytest.approx(exact, rel=1e-12, abs=0)

    def test_near_certainty(self):
        assert 1 - union_inclusion(0.5, 1, 40) == pytest.approx(2.0**-40, rel=1e-3)


class TestShapes:
    def test_broadcasting(self):
        assert inclusion_after_tables(np.full((3, 1), 0.5), 2, np.arange(4)).shape == (3, 4)
        assert inclusion_after_tables(0.5, 2, np.arange(4)).shape == (4,)
        assert np.ndim(hard_threshold_inclusion(0.5, 2, 4, 1)) == 0

    def test_limits(self):
        np.testing.assert_array_equal(inclusion_after_tables([0.0, 1.0], 3, [[0], [4]]), [[0, 0], [0, 1]])
        assert not np.signbit(inclusion_after_tables(0.0, 3, 4))

    def test_expected_active_count_adds_up(self):
        p = np.array([[0.1, 0.9, 0.5], [1.0, 0.0, 1.0]])
        np.testing.assert_allclose(expected_active_count(p, 2, 5), union_inclusion(p, 2, 5).sum(axis=1))

    @given(EIGHTHS, st.integers(1, 6), st.integers(1, 20))
    @settings(max_examples=40, deadline=None)
    def test_more_codes_narrow_and_more_tables_widen(self, p, codes, tables):
        here = union_inclusion(p, codes, tables)
        assert union_inclusion(p, codes + 1, tables) <= here <= union_inclusion(p, codes, tables + 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.5, 2, 3), OutOfRangeError, r"code_collision: expected probabilities in \[0, 1\], got 1.5"),
        ((np.nan, 2, 3), OutOfRangeError, "got nan"),
        ((0.5, -1, 3), OutOfRangeError, "codes_per_key: expected at least 0, got -1"),
        ((0.5, 2, 3.0), DtypeError, "tables_read: expected integers, got float64"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        inclusion_after_tables(*arguments)


def test_more_hits_than_tables_are_refused():
    with pytest.raises(OutOfRangeError, match="tables - tables_read"):
        printed_hit_pattern_probability(0.5, 2, 3, 4)


class TestSchedule:
    @given(st.integers(0, 30), st.floats(0.5, 500), st.floats(-0.5, 0.5))
    @settings(max_examples=80, deadline=None)
    def test_is_the_sum_of_growing_intervals(self, count, first, decay):
        intervals = first * np.exp(decay * np.arange(count))
        np.testing.assert_allclose(schedule_iterations(count, first, decay), np.cumsum(intervals), rtol=1e-12)

    def test_the_first_rebuild_is_after_the_first_interval(self):
        for decay in (0.0, 1e-18, 0.3, -0.3):
            assert schedule_iterations(1, 50, decay)[0] == 50

    def test_equal_intervals(self):
        np.testing.assert_array_equal(schedule_iterations(3, 50, 0), [50, 100, 150])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((-1, 50, 0.1), "count"),
            ((3, 0, 0.1), "first_interval"),
            ((3, np.nan, 0.1), "first_interval"),
            ((3, 50, np.inf), "decay"),
            ((3, 50, 500.0), "at t=3"),
        ],
    )
    def test_refusals(self, arguments, message):
        with pytest.raises(OutOfRangeError, match=message):
            schedule_iterations(*arguments)
