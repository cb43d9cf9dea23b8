"""Buckets against enumeration of every key and of every draw of the reservoir, in exact fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from pyslide.errors import ConventionError, DtypeError, OutOfRangeError, ShapeError
from pyslide.theory import (
    expected_bucket_load,
    expected_load_met,
    fifo_retained,
    fifo_retrieval_probabilities,
    reservoir_retention_probability,
    reservoir_retrieval_probabilities,
    retrieved_from_any_table,
    uniform_active_count,
)

CHANCES = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.875, 1.0])
HITS = st.lists(CHANCES, min_size=1, max_size=5)


def reservoirs(arrivals, capacity):
    """Return the law of a reservoir's members: the n-th arrival draws one of n numbers, and takes that slot if any."""
    law = Counter({(): Fraction(1)})
    for number, arrival in enumerate(arrivals, start=1):
        after = Counter()
        for members, probability in law.items():
            if len(members) < capacity:
                after[(*members, arrival)] += probability
                continue
            for draw in range(number):
                kept = (*members[:draw], arrival, *members[draw + 1 :]) if draw < capacity else members
                after[kept] += probability / number
        law = after
    return law


def last_arrivals(arrivals, capacity):
    return Counter({tuple(arrivals[-capacity:]): Fraction(1)})


def enumerated_retrieval(hits, capacity, members_law):
    """Return how likely each neuron is in the query's bucket, over who has its key and what the bucket kept."""
    chances, found = [Fraction(hit) for hit in hits], [Fraction(0)] * len(hits)
    for shared in product((False, True), repeat=len(hits)):
        probability = prod((q if has else 1 - q for q, has in zip(chances, shared, strict=True)), start=Fraction(1))
        arrivals = [neuron for neuron, has in enumerate(shared) if has]
        for members, share in members_law(arrivals, capacity).items():
            for neuron in members:
                found[neuron] += probability * share
    return [float(p) for p in found]


class TestRetention:
    @pytest.mark.parametrize("capacity", [1, 2, 3])
    @pytest.mark.parametrize("arrivals", [1, 2, 5])
    def test_reservoir_keeps_each_arrival_alike(self, capacity, arrivals):
        law = reservoirs(range(arrivals), capacity)
        expected = float(reservoir_retention_probability(capacity, arrivals))
        for arrival in range(arrivals):
            assert float(sum(p for members, p in law.items() if arrival in members)) == pytest.approx(expected)

    def test_reservoir_broadcasts(self):
        np.testing.assert_array_equal(reservoir_retention_probability(4, [1, 4, 8, 16]), [1, 1, 0.5, 0.25])

    def test_fifo_keeps_the_last(self):
        np.testing.assert_array_equal(fifo_retained(3, 5), [2, 3, 4])
        np.testing.assert_array_equal(fifo_retained(3, 2), [0, 1])
        assert fifo_retained(3, 0).size == 0

    def test_refusals(self):
        with pytest.raises(OutOfRangeError, match="capacity"):
            reservoir_retention_probability(0, 3)
        with pytest.raises(DtypeError, match="arrivals"):
            reservoir_retention_probability(1, 3.5)
        with pytest.raises(OutOfRangeError, match="capacity"):
            fifo_retained(0, 3)


class TestLoads:
    @given(st.integers(0, 4), st.integers(1, 5))
    @settings(max_examples=40, deadline=None)
    def test_equal_the_enumeration_of_all_keys(self, neurons, capacity):
        keys = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
        free, capped = [Fraction(0)] * 3, [Fraction(0)] * 3
        for chosen in product(range(3), repeat=neurons):
            probability = prod((keys[key] for key in chosen), start=Fraction(1))
            for key in range(3):
                free[key] += probability * chosen.count(key)
                capped[key] += probability * min(chosen.count(key), capacity)
        given_keys = [float(key) for key in keys]
        np.testing.assert_allclose(expected_bucket_load(neurons, given_keys), [float(v) for v in free])
        np.testing.assert_allclose(
            expected_bucket_load(neurons, given_keys, capacity), [float(v) for v in capped], atol=1e-14
        )

    def test_uniform_keys(self):
        assert expected_bucket_load(1000, 1 / 64) == 1000 / 64
        assert expected_bucket_load(1000, 1 / 64, 10**6) == pytest.approx(1000 / 64)
        assert expected_bucket_load(1000, 1 / 64, 8) < 8

    def test_frequent_keys_are_met_in_large_buckets(self):
        keys = np.array([0.7, 0.2, 0.1])
        assert expected_load_met(50, keys, keys) == pytest.approx(50 * (0.49 + 0.04 + 0.01))
        assert expected_load_met(50, keys, [0, 0, 1], 2) == pytest.approx(float(expected_bucket_load(50, 0.1, 2)))

    def test_refusals(self):
        with pytest.raises(ShapeError, match="query_probabilities"):
            expected_load_met(5, [0.5, 0.5], [1.0])
        with pytest.raises(OutOfRangeError, match="neurons"):
            expected_bucket_load(-1, 0.5)


class TestRetrieval:
    @given(HITS, st.integers(1, 4))
    @settings(max_examples=50, deadline=None)
    def test_fifo_equals_the_enumeration(self, hits, capacity):
        expected = enumerated_retrieval(hits, capacity, last_arrivals)
        np.testing.assert_allclose(fifo_retrieval_probabilities(hits, capacity), expected, atol=1e-14)

    @given(HITS, st.integers(1, 4))
    @settings(max_examples=50, deadline=None)
    def test_reservoir_equals_the_enumeration(self, hits, capacity):
        expected = enumerated_retrieval(hits, capacity, reservoirs)
        np.testing.assert_allclose(reservoir_retrieval_probabilities(hits, capacity), expected, atol=1e-14)

    def test_both_fill_the_bucket_alike(self):
        hits = np.linspace(0, 1, 20)
        fifo, reservoir = fifo_retrieval_probabilities(hits, 4), reservoir_retrieval_probabilities(hits, 4)
        assert fifo.sum() == pytest.approx(reservoir.sum())

    def test_ample_capacity_changes_nothing(self):
        hits = np.linspace(0, 1, 9)
        np.testing.assert_allclose(fifo_retrieval_probabilities(hits, 9), hits)
        np.testing.assert_allclose(reservoir_retrieval_probabilities(hits, 9), hits)

    def test_refusals(self):
        with pytest.raises(OutOfRangeError, match="capacity"):
            fifo_retrieval_probabilities([0.5], 0)
        with pytest.raises(ShapeError, match="hit_probabilities"):
            reservoir_retrieval_probabilities(0.5, 1)


class TestUniformActiveCount:
    @pytest.mark.parametrize(("policy", "members_law"), [("fifo", last_arrivals), ("reservoir", reservoirs)])
    @pytest.mark.parametrize("capacity", [1, 2])
    def test_equals_the_enumeration(self, policy, members_law, capacity):
        per_table = np.array(enumerated_retrieval([0.25] * 5, capacity, members_law))
        expected = np.sum(1 - (1 - per_table) ** 3)
        assert uniform_active_count(5, 4, 3, capacity, policy) == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("policy", "per_table"),
        [("fifo", fifo_retrieval_probabilities), ("reservoir", reservoir_retrieval_probabilities)],
    )
    def test_is_the_case_of_equal_neurons(self, policy, per_table):
        expected = retrieved_from_any_table(per_table(np.full(40, 1 / 8), 3), 6).sum()
        assert uniform_active_count(40, 8, 6, 3, policy) == pytest.approx(expected)

    def test_without_a_capacity(self):
        expected = 1000 * (1 - (1 - 1 / 64) ** 50)
        assert uniform_active_count(1000, 64, 50) == pytest.approx(expected)
        assert uniform_active_count(1000, 64, 50, 5, "unlimited") == pytest.approx(expected)
        assert uniform_active_count(1000, 64, 50, 1000, "fifo") == pytest.approx(expected)

    def test_fifo_shows_the_same_neurons_in_every_table(self):
        # The last ids stay everywhere, so that the union is smaller than the reservoir's.
        assert uniform_active_count(1000, 64, 50, 8, "fifo") < uniform_active_count(1000, 64, 50, 8, "reservoir")

    def test_refusals(self):
        with pytest.raises(ConventionError, match="bucket_policy"):
            uniform_active_count(10, 4, 3, 2, "reservoir_one_over_n")
        with pytest.raises(OutOfRangeError, match="buckets"):
            uniform_active_count(10, 0, 3)
        with pytest.raises(OutOfRangeError, match="per_table"):
            retrieved_from_any_table(1.5, 3)
