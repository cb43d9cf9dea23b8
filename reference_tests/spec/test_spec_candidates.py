"""Sampled softmax: active sets, expected counts and corrections, worked by hand, counted out, and as sets."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, log

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from pyslide.conventions import ORIGINAL_CPP, PAPER
from pyslide.spec.candidates import (
    candidate_log_weights,
    candidate_set,
    expected_counts,
    log_uniform_probabilities,
)
from pyslide.spec.inference import scores
from pyslide.spec.network import LayerCandidates, Network, new_layer
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.step import Choice, Draws, Sample, choice_log_weights, forward, training_step
from pyslide.spec.vectors import sparse_vector

NOTHING = np.empty(0, dtype=np.int64)
ids = st.sets(st.integers(0, 20), max_size=8)
corrected = st.builds(
    lambda distribution, ranks, tries: (distribution, np.array(ranks), tries),
    st.sampled_from(["uniform", "log_uniform"]),
    st.permutations(range(7)),
    st.integers(3, 40),
)


def array(numbers):
    return np.array(numbers, dtype=np.int64)


def test_labels_join_the_candidates_and_an_accidental_hit_enters_once():
    active = candidate_set(array([5, 0, 3]), array([1, 3]))
    assert active.dtype == np.int64
    np.testing.assert_array_equal(active, [0, 1, 3, 5])
    np.testing.assert_array_equal(candidate_set(array([2]), NOTHING), [2])
    np.testing.assert_array_equal(candidate_set(NOTHING, array([2])), [2])


@given(ids, ids)
def test_candidates_and_labels_against_sets(candidates, labels):
    active = candidate_set(array(list(candidates)), array(sorted(labels)))
    assert active.tolist() == sorted(candidates | labels)


def test_one_log_uniform_draw_by_hand():
    # of 3 classes: log 2, log 3/2 and log 4/3 over log 4
    expected = [0.5, log(1.5) / log(4), log(4 / 3) / log(4)]
    np.testing.assert_allclose(log_uniform_probabilities(array([0, 1, 2]), 3), expected, rtol=1e-15)
    np.testing.assert_allclose(log_uniform_probabilities(array([2, 0]), 3), [expected[2], 0.5], rtol=1e-15)


@given(st.integers(1, 300))
def test_log_uniform_probabilities_are_those_of_intervals_of_the_logarithm(population):
    """Class r has the numbers from log(r + 1) to log(r + 2) of those up to log(n + 1): all classes have everything."""
    probabilities = log_uniform_probabilities(np.arange(population), population)
    bounds = np.log(np.arange(1, population + 2)) / log(population + 1)
    # the difference of two logarithms is off by an ulp of 1
    np.testing.assert_allclose(probabilities, np.diff(bounds), rtol=1e-12, atol=4e-16)


def test_expected_counts_by_hand():
    np.testing.assert_array_equal(expected_counts(array([3, 0]), "uniform", 2, 2, 8), [0.25, 0.25])
    # the most frequent of 3 classes comes with probability 1/2: in two tries with 3/4, in three with 7/8
    np.testing.assert_allclose(expected_counts(array([0]), "log_uniform", 2, 2, 3), [0.75], rtol=1e-15)
    np.testing.assert_allclose(expected_counts(array([0]), "log_uniform", 2, 3, 3), [0.875], rtol=1e-15)
    np.testing.assert_array_equal(expected_counts(array([0]), "log_uniform", 1, 1, 1), [1.0])


def test_rare_classes_do_not_round_to_nothing():
    """1 - (1 - p)^tries of a p below the spacing of numbers at 1 is tries * p."""
    rank = array([10**17])
    probability = log_uniform_probabilities(rank, 10**18)[0]
    assert 0 < probability < 2**-53
    np.testing.assert_allclose(expected_counts(rank, "log_uniform", 3, 4, 10**18), [4 * probability], rtol=1e-12)


@given(st.integers(2, 4), st.integers(1, 4))
def test_expected_counts_against_all_sequences_of_draws(population, tries):
    probabilities = log_uniform_probabilities(np.arange(population), population)
    counted = np.zeros(population)
    for sequence in product(range(population), repeat=tries):
        counted[list(set(sequence))] += np.prod(probabilities[list(sequence)])
    found = expected_counts(np.arange(population), "log_uniform", 1, tries, population)
    np.testing.assert_allclose(found, counted, rtol=1e-12)


@given(st.integers(1, 9), st.data())
def test_uniform_counts_against_fractions(population, data):
    """A class is in C(n - 1, S - 1) of the C(n, S) sets."""
    candidates = data.draw(st.integers(1, population))
    share = Fraction(comb(population - 1, candidates - 1), comb(population, candidates))
    found = expected_counts(np.arange(population), "uniform", candidates, candidates, population)
    np.testing.assert_allclose(found, [float(share)] * population, rtol=1e-15)


def test_corrections_by_hand():
    np.testing.assert_allclose(
        candidate_log_weights(array([3, 0]), "uniform", 2, 2, 8), [log(4), log(4)], rtol=1e-15
    )
    np.testing.assert_allclose(
        candidate_log_weights(array([0, 2]), "log_uniform", 1, 1, 3), [log(2), log(log(4) / log(4 / 3))], rtol=1e-15
    )


@given(corrected)
def test_corrections_are_inverse_counts(drawn):
    distribution, ranks, tries = drawn
    weights = np.exp(candidate_log_weights(ranks, distribution, 3, tries, 7))
    np.testing.assert_allclose(weights * expected_counts(ranks, distribution, 3, tries, 7), 1, rtol=1e-13)
    assert (np.diff(weights[np.argsort(ranks)]) >= 0).all()  # the rarer, the heavier


# In a network: 4 classes, by falling frequency 2, 0, 3, 1; candidates 3 and 2; logits 1, 2, 3, 4

WEIGHTS, RANKS = np.array([[1.0], [2.0], [3.0], [4.0]]), array([1, 3, 0, 2])
DRAWS = Draws(NOTHING, array([3, 2]), 3)
SAMPLES = [Sample(sparse_vector([0], [1.0], 1), array(labels)) for labels in ([1], [2, 0])]


def layer(distribution, correction):
    return new_layer(WEIGHTS, np.zeros(4), None, LayerCandidates(distribution, correction, RANKS))


def counts_of(classes):
    """Return Q after three tries, by the definition."""
    return [1 - (1 - log((RANKS[one] + 2) / (RANKS[one] + 1)) / log(5)) ** 3 for one in classes]


@pytest.mark.parametrize("conventions", [PAPER, ORIGINAL_CPP.replace(softmax="stable")], ids=["paper", "original"])
@pytest.mark.parametrize(("distribution", "correction"), [("log_uniform", True), ("log_uniform", False),
                                                          ("uniform", True), ("uniform", False)])  # fmt: skip
def test_a_batch_by_hand(distribution, correction, conventions):
    """Labels and candidates are corrected alike; the candidates are the batch's and the labels each sample's own."""
    passes = forward(Network((layer(distribution, correction),), 0), SAMPLES, [[DRAWS] * 2], conventions)
    for one, active, labels in zip(passes, ([1, 2, 3], [0, 2, 3]), ([1], [2, 0]), strict=True):
        np.testing.assert_array_equal(one.layers[0].active, active)
        np.testing.assert_array_equal(one.layers[0].sums, np.add(active, 1))
        q = {"log_uniform": counts_of(active), "uniform": [0.5] * 3}[distribution] if correction else [1.0] * 3
        np.testing.assert_allclose(one.layers[0].log_weights, -np.log(q), rtol=1e-14)
        terms = np.exp(np.add(active, 1)) / q
        np.testing.assert_allclose(one.probabilities, terms / terms.sum(), rtol=1e-14)
        losses = [-log(terms[active.index(label)] / terms.sum()) for label in labels]
        assert one.loss == pytest.approx(np.mean(losses), rel=1e-13)


def test_a_step_moves_the_active_rows_only():
    network, rule = Network((layer("log_uniform", True),), 0), Optimizer(rule="sgd", learning_rate=1.0)
    result = training_step(network, SAMPLES[:1], [[DRAWS]], rule, PAPER)
    (after,) = result.network.layers
    terms = np.exp([2.0, 3.0, 4.0]) / counts_of([1, 2, 3])
    change = terms / terms.sum() - [1, 0, 0]
    np.testing.assert_allclose(after.weights[:, 0], [1, *(WEIGHTS[1:, 0] - change)], rtol=1e-13)
    np.testing.assert_array_equal(after.touches, [0, 1, 1, 1])
    np.testing.assert_array_equal(after.bias_touches, [0, 1, 1, 1])
    assert after.candidates is not None


@given(corrected, st.booleans(), st.sets(st.integers(0, 6), min_size=1))
def test_a_layers_corrections_are_those_of_its_active_classes(drawn, correction, active):
    distribution, ranks, tries = drawn
    chosen = array(sorted(active))
    one = new_layer(np.zeros((7, 1)), np.zeros(7), None, LayerCandidates(distribution, correction, ranks))
    found = choice_log_weights(one, Choice(chosen, chosen), Draws(NOTHING, np.arange(3), tries), PAPER)
    for weight, neuron in zip(found, chosen, strict=True):
        probability = log((ranks[neuron] + 2) / (ranks[neuron] + 1)) / log(8)
        q = 3 / 7 if distribution == "uniform" else 1 - (1 - probability) ** tries
        assert weight == pytest.approx(-log(q) if correction else 0, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("inference", ["all_neurons", "sampled"])
def test_predictions_compute_all_classes(inference):
    found = scores(Network((layer("uniform", True),), 0), SAMPLES[0].features, PAPER.replace(inference=inference))
    np.testing.assert_array_equal(found.neurons, [0, 1, 2, 3])
    np.testing.assert_array_equal(found.logits, [1, 2, 3, 4])
