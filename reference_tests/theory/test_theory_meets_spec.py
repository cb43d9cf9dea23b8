"""The spec, given every random choice in turn, does what the closed forms say: both speak of the same step."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest

from pyslide.conventions import PAPER
from pyslide.parameters import MinHashParameters, SimHashParameters, WinnerTakeAllParameters
from pyslide.spec.hashing import densify, first_members, occupied_codes, simhash_codes, winner_take_all_codes
from pyslide.spec.sampling import hard_threshold, top_k, union, vanilla
from pyslide.spec.schedule import rebuild_time
from pyslide.spec.vectors import from_dense, nonzeros
from pyslide.theory import (
    densified_collision_given_codes,
    densified_winner_take_all_bin_law,
    hard_threshold_inclusion,
    minhash_bin_law,
    schedule_iterations,
    sparse_sign_collision,
    topk_inclusion,
    union_inclusion,
    vanilla_inclusion,
    winner_take_all_collision_probability,
)

X = np.array([0.0, 2.0, -1.0, 2.0, 0.0, 0.5])
Y = np.array([1.0, 2.0, 0.0, -1.0, 0.0, 0.5])
EVERY_BIN = np.array(list(permutations(range(6), 3)))
LAW_NAMES = ("equal", "differ", "only_first_empty", "only_second_empty", "both_empty")


def shares(first, second):
    """Return the law of a bin as shares of all bins; a vector is (codes, occupied)."""
    (a, in_a), (b, in_b) = first, second
    masks = (in_a & in_b & (a == b), in_a & in_b & (a != b), ~in_a & in_b, in_a & ~in_b, ~in_a & ~in_b)
    return dict(zip(LAW_NAMES, (mask.mean() for mask in masks), strict=True))


def assert_law(law, expected):
    for name, share in expected.items():
        assert getattr(law, name) == pytest.approx(share, abs=1e-14), name


@pytest.mark.parametrize("sign_bit", ["one_at_zero_or_above", "zero_at_zero_or_above", "one_above_zero"])
def test_simhash(sign_bit):
    choices = [(c, s) for c in combinations(range(6), 2) for s in product((-1.0, 1.0), repeat=2)]
    coordinates, coefficients = (np.array(part) for part in zip(*choices, strict=True))
    every = SimHashParameters(coordinates=coordinates, coefficients=coefficients, dimension=6)
    first, second = (simhash_codes(from_dense(vector), every, sign_bit) for vector in (X, Y))
    assert np.mean(first == second) == pytest.approx(sparse_sign_collision(X, Y, 2).collision(sign_bit))


def test_winner_take_all():
    every = WinnerTakeAllParameters(bins=EVERY_BIN, dimension=6)
    first, second = (winner_take_all_codes(from_dense(vector), every) for vector in (X, Y))
    assert np.mean(first == second) == pytest.approx(winner_take_all_collision_probability(X, Y, 3))


def test_densified_winner_take_all_bins():
    first, second = (occupied_codes(nonzeros(from_dense(vector)), EVERY_BIN, PAPER.empty_bin) for vector in (X, Y))
    assert_law(densified_winner_take_all_bin_law(X, Y, 3), shares(first, second))


def test_minhash_bins():
    every = MinHashParameters(bins=EVERY_BIN, probes=np.zeros((len(EVERY_BIN), 1), dtype=int), kept=2, dimension=6)
    sets = (np.array([0, 3]), np.array([3, 5]))
    first, second = (first_members(members, every) for members in sets)
    assert_law(minhash_bin_law(*sets, 6, 3), shares(first, second))


def test_densification():
    codes, occupied = np.array([[0, 1, 2], [1, 1, 0]]), np.array([[True, False, False], [False, True, False]])
    equal = []
    for probes in product(product(range(3), repeat=3), repeat=3):
        first, second = (
            densify(
                codes[vector],
                occupied[vector],
                np.array(probes),
                3,
                donor=PAPER.donor,
                borrowed_code=PAPER.borrowed_code,
                densification_failure=PAPER.densification_failure,
            )[0]
            for vector in (0, 1)
        )
        equal.append(first == second)
    expected = densified_collision_given_codes(codes[0], occupied[0], codes[1], occupied[1], attempts=3)
    np.testing.assert_allclose(np.mean(equal, axis=0), expected)


def inclusion(select, hits, tables):
    """Return each neuron's probability to be selected, over every content of the query's buckets."""
    found = np.zeros(len(hits))
    for cells in product((False, True), repeat=tables * len(hits)):
        held = np.array(cells).reshape(tables, len(hits))
        found[select([np.flatnonzero(row) for row in held])] += np.prod(np.where(held, hits, 1 - np.array(hits)))
    return found


@pytest.mark.parametrize("budget", [0, 1, 2, 4])
def test_budgets(budget):
    hits, order = [0.2, 0.5, 0.9], np.arange(3)
    whole = inclusion(lambda buckets: vanilla(buckets, order, budget, "whole_buckets"), hits, 3)
    np.testing.assert_allclose(vanilla_inclusion(hits, budget, 3), whole, atol=1e-14)
    most_frequent = inclusion(lambda buckets: top_k(buckets, budget), hits, 3)
    np.testing.assert_allclose(topk_inclusion(hits, 3, budget), most_frequent, atol=1e-14)


def test_thresholds():
    p = np.array([0.3, 0.5, 0.95])
    np.testing.assert_allclose(union_inclusion(p, 2, 3), inclusion(union, p**2, 3))
    for minimum in (1, 2, 3):
        at_least = inclusion(lambda buckets, least=minimum: hard_threshold(buckets, least, "at_least"), p**2, 3)
        np.testing.assert_allclose(hard_threshold_inclusion(p, 2, 3, minimum), at_least)
        more = inclusion(lambda buckets, least=minimum: hard_threshold(buckets, least, "more_than"), p**2, 3)
        np.testing.assert_allclose(hard_threshold_inclusion(p, 2, 3, minimum + 1), more, atol=1e-15)


@pytest.mark.parametrize("decay", [0.0, 0.02, 1.0])
def test_schedule(decay):
    expected = [rebuild_time(count, 50, decay) for count in range(1, 9)]
    np.testing.assert_allclose(schedule_iterations(8, 50, decay), expected, rtol=1e-13)
