"""Sums over all neurons from the retrieved ones: unbiased under inverse-probability weights, and when they are not.

A retrieved set S with known inclusion probabilities pi_a gives sum_{a in S} f(a) / pi_a, whose mean is the sum over all
neurons (Horvitz and Thompson 1952).  At small sizes all hash parameters can be enumerated, so that means are exact.
"""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from pyslide.conventions import PAPER
from pyslide.parameters import SimHashParameters
from pyslide.spec.candidates import candidate_log_weights, expected_counts, log_uniform_probabilities
from pyslide.spec.network import LayerTables, new_layer, rebuild, retrieve
from pyslide.spec.sampling import Sampling, log_weights, pad, union
from pyslide.spec.vectors import from_dense
from pyslide.theory import sparse_sign_collision, union_inclusion

WEIGHTS = np.array([[1.0, 2.0, 0.5], [0.5, -1.0, 2.0], [-1.0, 1.0, 1.0], [2.0, 0.3, -0.2], [1.5, 1.0, -1.0]])
QUERY = np.array([1.0, 1.0, 0.4])
NEURONS, DIMENSION, TABLES = 5, 3, 2
TERMS = np.exp(WEIGHTS @ QUERY)  # of the partition function
FUNCTIONS = [SimHashParameters(np.array([[c]]), np.array([[s]]), DIMENSION) for c, s in product(range(3), (1.0, -1.0))]


def families():
    """Yield every family of L = 2 tables of K = 1 sparse sign: all are equally likely."""
    for first, second in product(FUNCTIONS, FUNCTIONS):
        coordinates = np.vstack([first.coordinates, second.coordinates])
        yield SimHashParameters(coordinates, np.vstack([first.coefficients, second.coefficients]), DIMENSION)


def retrieved_sets(policy, capacity):
    """Return the retrieved set under every family."""
    conventions = PAPER.replace(bucket_policy=policy)
    sets = []
    for family in families():
        tables = LayerTables(family, 1, 4, np.ones(TABLES, dtype=np.uint64), capacity, Sampling(), ())
        layer = new_layer(WEIGHTS, np.zeros(NEURONS), tables)
        layer = rebuild(layer, np.arange(NEURONS), np.zeros((TABLES, NEURONS)), conventions)
        sets.append(union(retrieve(from_dense(QUERY), layer.tables, conventions)))
    return sets


def inclusion():
    """Return every neuron's inclusion probability by the closed form: it knows nothing of buckets."""
    codes = [sparse_sign_collision(weights, QUERY, 1).collision() for weights in WEIGHTS]
    return union_inclusion(np.array(codes), 1, TABLES)


def mean_estimate(sets):
    """Return the mean of the weighted sum over equally likely retrieved sets."""
    return np.mean([(TERMS[one] / inclusion()[one]).sum() for one in sets])


def test_inclusion_probabilities_are_those_of_the_enumeration():
    sets = retrieved_sets("unlimited", 1)
    counted = np.mean([np.isin(np.arange(NEURONS), one) for one in sets], axis=0)
    np.testing.assert_allclose(counted, inclusion(), rtol=1e-12)
    assert (counted > 0).all()


def test_the_partition_function_is_estimated_without_bias():
    assert mean_estimate(retrieved_sets("unlimited", 1)) == pytest.approx(TERMS.sum(), rel=1e-12)


def test_a_capacity_that_nobody_exceeds_does_no_harm():
    assert mean_estimate(retrieved_sets("fifo", NEURONS)) == pytest.approx(TERMS.sum(), rel=1e-12)


@pytest.mark.parametrize("capacity", [1, 2])
def test_full_fifo_buckets_bias_it(capacity):
    """Only the last ids of a bucket stay: worked out without tables, from the signs of single coordinates."""
    sides = {(c, s): s * WEIGHTS[:, c] >= 0 for c, s in product(range(3), (1.0, -1.0))}
    asked = {(c, s): s * QUERY[c] >= 0 for c, s in sides}
    buckets = [np.flatnonzero(sides[one] == asked[one])[-capacity:] for one in sides]
    sets = [union(pair) for pair in product(buckets, repeat=TABLES)]
    expected = np.mean([(TERMS[one] / inclusion()[one]).sum() for one in sets])
    got = mean_estimate(retrieved_sets("fifo", capacity))
    assert got == pytest.approx(expected, rel=1e-12)
    assert got < 0.95 * TERMS.sum()


def test_forced_labels_bias_it_by_the_labels_overweight():
    """A label is always there, but weighted as if it had to be found: too much by f * (1/pi - 1)."""
    label = 1
    sets = [union([one, np.array([label])]) for one in retrieved_sets("unlimited", 1)]
    excess = TERMS[label] * (1 / inclusion()[label] - 1)
    assert mean_estimate(sets) == pytest.approx(TERMS.sum() + excess, rel=1e-12)
    assert excess > 0


@pytest.mark.parametrize("minimum", [3, 4, 5])
@pytest.mark.parametrize("selected", [[], [2], [0, 3]])
def test_weighted_padding_gives_an_unbiased_normaliser(selected, minimum):
    """All orders of candidates, equally likely; without weights the rest counts too little, exactly by its share."""
    chosen = np.array(selected, dtype=np.int64)
    sums = {"one": [], "inverse_probability": []}
    for candidates in permutations(range(NEURONS)):
        active = pad(chosen, np.array(candidates), minimum)
        for convention, estimates in sums.items():
            weights = np.exp(log_weights(active, chosen, NEURONS, convention))
            estimates.append((TERMS[active] * weights).sum())
    assert np.mean(sums["inverse_probability"]) == pytest.approx(TERMS.sum(), rel=1e-12)
    drawn = (minimum - chosen.size) / (NEURONS - chosen.size)
    rest = TERMS.sum() - TERMS[chosen].sum()
    assert np.mean(sums["one"]) == pytest.approx(TERMS.sum() - (1 - drawn) * rest, rel=1e-12)


RANKS = np.array([3, 0, 4, 1, 2])
CHANCES = log_uniform_probabilities(RANKS, NEURONS)


def weighted_sum(classes, distribution, candidates, tries):
    """Return the normaliser's estimate from some candidates."""
    log_weights = candidate_log_weights(RANKS[classes], distribution, candidates, tries, NEURONS)
    return (TERMS[classes] * np.exp(log_weights)).sum()


@pytest.mark.parametrize("candidates", range(1, NEURONS + 1))
def test_uniform_candidates_give_an_unbiased_normaliser(candidates):
    """All sets, equally likely; uncorrected, the sum is S/n of it."""
    sets = [np.array(one) for one in combinations(range(NEURONS), candidates)]
    means = [np.mean([weighted_sum(one, "uniform", candidates, candidates) for one in sets]),
             np.mean([TERMS[one].sum() for one in sets])]  # fmt: skip
    np.testing.assert_allclose(means, [TERMS.sum(), TERMS.sum() * candidates / NEURONS], rtol=1e-12)


@pytest.mark.parametrize("tries", [1, 2, 4])
def test_log_uniform_candidates_of_given_tries_give_an_unbiased_normaliser(tries):
    """All sequences of draws; uncorrected, every class is short of what it is not expected to come."""
    corrected = plain = 0.0
    for sequence in product(range(NEURONS), repeat=tries):
        classes = np.array(sorted(set(sequence)))
        corrected += np.prod(CHANCES[list(sequence)]) * weighted_sum(classes, "log_uniform", classes.size, tries)
        plain += np.prod(CHANCES[list(sequence)]) * TERMS[classes].sum()
    assert corrected == pytest.approx(TERMS.sum(), rel=1e-12)
    assert plain == pytest.approx((TERMS * (1 - (1 - CHANCES) ** tries)).sum(), rel=1e-12)


def stopped_draws(candidates, longest=300):
    """Yield every set of so many distinct classes, how many tries it took, and the probability of both."""
    open_sets = {frozenset(): 1.0}
    for tries in range(1, longest):
        longer = {}
        for classes, chance in open_sets.items():
            for fresh in range(NEURONS):
                grown = classes | {fresh}
                longer[grown] = longer.get(grown, 0.0) + chance * CHANCES[fresh]
        yield from ((np.array(sorted(one)), tries, part) for one, part in longer.items() if len(one) == candidates)
        open_sets = {one: part for one, part in longer.items() if len(one) < candidates}


@pytest.mark.parametrize("candidates", [2, 3])
def test_tries_that_end_with_the_last_candidate_bias_it(candidates):
    """The draw stops at a class that is new, so that counts which take the tries for given are too small."""
    draws = list(stopped_draws(candidates))
    assert sum(chance for *_, chance in draws) == pytest.approx(1, rel=1e-12)
    mean = sum(chance * weighted_sum(one, "log_uniform", candidates, tries) for one, tries, chance in draws)
    found = sum(chance * np.isin(np.arange(NEURONS), one) for one, _, chance in draws)
    counted = sum(
        chance * expected_counts(RANKS, "log_uniform", candidates, tries, NEURONS) for _, tries, chance in draws
    )
    assert (counted < found).all()
    assert TERMS.sum() < mean < 1.2 * TERMS.sum()
