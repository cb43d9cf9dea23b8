"""Borrowed codes against enumeration of every sequence of probes, and of every pair of bins."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from pyslide.errors import DtypeError, OrderError, OutOfRangeError, ShapeError
from pyslide.theory import (
    densified_collision_given_codes,
    densified_winner_take_all_bin_law,
    densified_winner_take_all_collision_probability,
)


def settled_code(code, occupied, codes, mask, probes, failure_code):
    """Return a bin's code after densification with the given probes."""
    donors = [codes[probe] for probe in probes if mask[probe]]
    return code if occupied else donors[0] if donors else failure_code


def enumerated(first, second, attempts, failure_code):
    """Return each bin's collision probability over all sequences of probes; a vector is (codes, mask)."""
    bins = len(first[0])
    sequences = list(product(range(bins), repeat=attempts))
    chances = []
    for place in range(bins):
        equal = sum(
            settled_code(first[0][place], first[1][place], *first, probes, failure_code)
            == settled_code(second[0][place], second[1][place], *second, probes, failure_code)
            for probes in sequences
        )
        chances.append(float(Fraction(equal, len(sequences))))
    return chances


@st.composite
def coded_pairs(draw):
    bins = draw(st.integers(1, 4))
    codes = st.lists(st.integers(0, 2), min_size=bins, max_size=bins)
    masks = st.lists(st.booleans(), min_size=bins, max_size=bins)
    return [(np.array(draw(codes)), np.array(draw(masks))) for _ in range(2)]


class TestGivenCodes:
    @given(coded_pairs(), st.integers(0, 4), st.sampled_from([0, -1]))
    @settings(max_examples=80, deadline=None)
    def test_equals_the_enumeration_of_all_probes(self, pair, attempts, failure_code):
        first, second = pair
        chances = densified_collision_given_codes(*first, *second, attempts=attempts, failure_code=failure_code)
        np.testing.assert_allclose(chances, enumerated(first, second, attempts, failure_code), atol=1e-14)

    @given(coded_pairs())
    @settings(max_examples=60, deadline=None)
    def test_without_a_limit_it_is_that_of_very_many_attempts(self, pair):
        first, second = pair
        unlimited = densified_collision_given_codes(*first, *second)
        np.testing.assert_allclose(
            unlimited, densified_collision_given_codes(*first, *second, attempts=300), atol=1e-12
        )

    @given(coded_pairs())
    @settings(max_examples=30, deadline=None)
    def test_a_vector_collides_with_itself_and_the_order_does_not_matter(self, pair):
        first, second = pair
        np.testing.assert_allclose(densified_collision_given_codes(*first, *first, attempts=3), 1)
        np.testing.assert_allclose(
            densified_collision_given_codes(*first, *second), densified_collision_given_codes(*second, *first)
        )

    def test_refusals(self):
        codes, mask = np.array([0, 1]), np.array([True, False])
        with pytest.raises(ShapeError, match="occupied"):
            densified_collision_given_codes(codes, mask[:1], codes, mask)
        with pytest.raises(ShapeError, match="codes"):
            densified_collision_given_codes(codes, mask, codes[:1], mask[:1])
        with pytest.raises(DtypeError, match="integers"):
            densified_collision_given_codes(codes * 0.5, mask, codes, mask)
        with pytest.raises(DtypeError, match="truth values"):
            densified_collision_given_codes(codes, codes, codes, mask)
        with pytest.raises(OutOfRangeError, match="attempts"):
            densified_collision_given_codes(codes, mask, codes, mask, attempts=-1)


def bin_codes(vector, bins):
    """Return codes and occupancy of a vector with distinct non-zero values."""
    values = np.where(vector == 0, -np.inf, vector)[bins]
    return values.argmax(axis=1), (values > -np.inf).any(axis=1)


class TestAveraged:
    @pytest.mark.parametrize(
        ("x", "y"),
        [
            ([1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]),
            ([1.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]),
            ([1.0, -2.0, 0.0, 0.0], [1.0, 3.0, 0.0, 0.0]),
            ([0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
            ([0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
        ],
    )
    @pytest.mark.parametrize("count", [1, 2])
    def test_equals_the_enumeration_of_independent_bins(self, x, y, count):
        x, y = np.array(x), np.array(y)
        every_bin = list(permutations(range(4), 2))
        chances = [
            densified_collision_given_codes(*bin_codes(x, np.array(bins)), *bin_codes(y, np.array(bins))).mean()
            for bins in product(every_bin, repeat=count)
        ]
        expected = densified_winner_take_all_collision_probability(x, y, 2, count)
        assert np.mean(chances) == pytest.approx(expected, abs=1e-13)

    def test_three_bins(self):
        x, y = np.array([1.0, 0.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.0, 0.0])
        every_bin = list(permutations(range(4), 2))
        chances = [
            densified_collision_given_codes(*bin_codes(x, np.array(bins)), *bin_codes(y, np.array(bins))).mean()
            for bins in product(every_bin, repeat=3)
        ]
        assert np.mean(chances) == pytest.approx(densified_winner_take_all_collision_probability(x, y, 2, 3))

    def test_without_empty_bins_it_is_the_law_of_a_bin(self):
        x, y = np.random.default_rng(2).standard_normal((2, 30))
        law = densified_winner_take_all_bin_law(x, y, 4)
        assert densified_winner_take_all_collision_probability(x, y, 4, 10) == pytest.approx(law.equal)

    def test_equal_directions_collide_always(self):
        x = np.zeros(1000)
        x[:9] = np.arange(1, 10)
        assert densified_winner_take_all_collision_probability(x, 3 * x, 8, 400) == pytest.approx(1)

    def test_ties_are_refused(self):
        with pytest.raises(OrderError, match="y: expected distinct"):
            densified_winner_take_all_collision_probability([1.0, 0.0, 2.0], [1.0, 0.0, 1.0], 2, 4)
