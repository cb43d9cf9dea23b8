"""Sampling under a budget against enumeration of every hit pattern, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from pyslide.errors import DtypeError, OutOfRangeError, ShapeError
from pyslide.theory import (
    selected_count_law,
    topk_inclusion,
    union_inclusion,
    vanilla_inclusion,
    vanilla_tables_read_distribution,
)

HITS = st.lists(st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.875, 1.0]), min_size=1, max_size=3)
CASES = st.tuples(HITS, st.integers(0, 4), st.integers(0, 3))


def hit_patterns(hits, tables):
    """Yield every (pattern, probability); a pattern is a tuple of tables, a table the set of neurons it holds."""
    chances = [Fraction(hit) for hit in hits]
    for cells in product((False, True), repeat=len(hits) * tables):
        rows = [cells[table * len(hits) : (table + 1) * len(hits)] for table in range(tables)]
        probability = prod(
            (q if held else 1 - q for row in rows for q, held in zip(chances, row, strict=True)), start=Fraction(1)
        )
        yield [{a for a, held in enumerate(row) if held} for row in rows], probability


def read_whole_buckets(buckets, budget):
    """Return how many tables are read and who is selected."""
    selected: set[int] = set()
    for read, bucket in enumerate(buckets):
        if len(selected) >= budget:
            return read, selected
        selected = selected | bucket
    return len(buckets), selected


def most_frequent(buckets, budget):
    counts = {a: sum(a in bucket for bucket in buckets) for a in set().union(*buckets)}
    return set(sorted(counts, key=lambda a: (-counts[a], a))[:budget])


class TestVanilla:
    @given(CASES)
    @settings(max_examples=60, deadline=None)
    def test_tables_read_and_inclusion_equal_the_enumeration(self, case):
        hits, budget, tables = case
        read_law, inclusion = [Fraction(0)] * (tables + 1), [Fraction(0)] * len(hits)
        for buckets, probability in hit_patterns(hits, tables):
            read, selected = read_whole_buckets(buckets, budget)
            read_law[read] += probability
            for neuron in selected:
                inclusion[neuron] += probability
        distribution = vanilla_tables_read_distribution(hits, budget, tables)
        np.testing.assert_allclose(distribution, [float(p) for p in read_law], atol=1e-14)
        np.testing.assert_allclose(vanilla_inclusion(hits, budget, tables), [float(p) for p in inclusion], atol=1e-14)

    def test_an_unreachable_budget_reads_everything(self):
        hits = np.linspace(0.01, 0.9, 20)
        np.testing.assert_allclose(vanilla_tables_read_distribution(hits, 21, 10)[-1], 1)
        np.testing.assert_allclose(vanilla_inclusion(hits, 21, 10), union_inclusion(hits, 1, 10), rtol=1e-12)

    def test_no_budget_reads_nothing(self):
        np.testing.assert_array_equal(vanilla_tables_read_distribution([0.5, 0.5], 0, 3), [1, 0, 0, 0])
        np.testing.assert_array_equal(vanilla_inclusion([0.5, 0.5], 0, 3), [0, 0])

    def test_a_single_neuron_stops_at_its_first_hit(self):
        np.testing.assert_allclose(vanilla_tables_read_distribution([0.25], 1, 3), [0, 1 / 4, 3 / 16, 9 / 16])

    def test_more_neurons_than_can_be_enumerated(self):
        hits = np.full(100, 0.05)
        law = vanilla_tables_read_distribution(hits, 12, 50)
        assert law.sum() == pytest.approx(1)
        # The expected number selected is at least beta and overshoots by less than a bucket's largest plausible load.
        assert 12 <= vanilla_inclusion(hits, 12, 50).sum() < 24

    def test_tiny_probabilities_keep_their_digits(self):
        np.testing.assert_allclose(vanilla_inclusion([1e-30, 1e-25], 1, 4), [4e-30, 4e-25], rtol=1e-12)


class TestTopK:
    @given(CASES)
    @settings(max_examples=60, deadline=None)
    def test_equals_the_enumeration(self, case):
        hits, budget, tables = case
        inclusion = [Fraction(0)] * len(hits)
        for buckets, probability in hit_patterns(hits, tables):
            for neuron in most_frequent(buckets, budget):
                inclusion[neuron] += probability
        np.testing.assert_allclose(topk_inclusion(hits, tables, budget), [float(p) for p in inclusion], atol=1e-13)

    def test_a_large_budget_is_the_union(self):
        hits = np.linspace(0, 1, 12)
        np.testing.assert_allclose(topk_inclusion(hits, 20, 12), union_inclusion(hits, 1, 20), rtol=1e-11)

    def test_equal_neurons_are_taken_by_id(self):
        np.testing.assert_allclose(topk_inclusion(np.ones(5), 7, 2), [1, 1, 0, 0, 0], atol=1e-13)

    def test_the_budget_is_never_exceeded(self):
        assert topk_inclusion(np.linspace(0.1, 0.9, 30), 10, 6).sum() == pytest.approx(6, rel=1e-3)


class TestSelectedCount:
    @given(HITS, st.integers(0, 3))
    @settings(max_examples=40, deadline=None)
    def test_equals_the_enumeration(self, hits, tables):
        law = [Fraction(0)] * (len(hits) + 1)
        for buckets, probability in hit_patterns(hits, tables):
            law[len(set().union(*buckets))] += probability
        np.testing.assert_allclose(selected_count_law(hits, tables), [float(p) for p in law], atol=1e-14)


@pytest.mark.parametrize("law", [vanilla_tables_read_distribution, vanilla_inclusion, topk_inclusion])
def test_refusals(law):
    with pytest.raises(OutOfRangeError, match="hit_probabilities"):
        law([0.5, 1.2], 2, 3)
    with pytest.raises(ShapeError, match="hit_probabilities"):
        law(0.5, 2, 3)
    with pytest.raises(OutOfRangeError, match="at least 0"):
        law([0.5], -1, 3)
    with pytest.raises(DtypeError, match="integers"):
        law([0.5], 1, 2.5)
