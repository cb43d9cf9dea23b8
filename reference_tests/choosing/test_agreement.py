"""Measured agreement against the law of SimHash, counted exactly, and against the spec's codes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats

from pyslide import theory
from pyslide.agreement import CODES, measure
from pyslide.conventions import PAPER
from pyslide.engine.network import Network, new_layer
from pyslide.errors import OutOfRangeError, ShapeError
from pyslide.randomness import draw_distinct, draw_family
from pyslide.settings import Hashing
from pyslide.spec.hashing import hash_codes
from pyslide.spec.vectors import from_dense

BUDGET = 1e-6
"""False alarms of the counts, over all pairs of a run; 0.1 off is caught with a probability above 0.99."""
GAUSSIAN = PAPER.replace(projection="gaussian")


@pytest.fixture
def network():
    weights = np.random.default_rng(3).standard_normal((12, 6))
    return Network([new_layer(weights, np.zeros(12), None)])


@pytest.fixture
def data(network):
    """Three inputs: near neuron 4, near neuron 7, and opposite to neuron 2."""
    weights = network.layers[-1].weights
    noise = 0.3 * np.random.default_rng(4).standard_normal((3, 6))
    labels = sparse.csr_array((np.ones(4), ([0, 1, 1, 2], [4, 1, 7, 2])), shape=(3, 12))
    return np.array([weights[4], weights[7], -weights[2]]) + noise, labels


def test_shares_follow_the_law(network, data):
    """With Gaussian projections the codes are independent, so that equal ones are binomial: exact two-sided tails."""
    features, labels = data
    weights = network.layers[-1].weights
    counts, expected = [], []
    for row in range(3):
        found = measure(
            network, features[[row]], labels[[row]], Hashing(family="simhash"), GAUSSIAN, np.random.default_rng(row)
        )
        logits = weights @ features[row]
        cosine = logits / np.linalg.norm(weights, axis=1) / np.linalg.norm(features[row])
        law = theory.simhash_collision_probability(cosine)
        counts += [found.labels, found.top[0]]
        expected += [law[labels[[row]].indices], law[np.argsort(-logits)]]
    shared, p = np.rint(np.concatenate(counts) * CODES), np.concatenate(expected)
    tails = 2 * np.minimum(stats.binom.cdf(shared, CODES, p), stats.binom.sf(shared - 1, CODES, p))
    assert tails.min() > BUDGET / shared.size


@pytest.mark.parametrize("conventions", [PAPER, PAPER.replace(bias_hashing="hashed")], ids=["weights", "with-biases"])
@pytest.mark.parametrize("family", ["simhash", "wta", "dwta", "minhash"])
def test_shares_are_those_of_the_specs_codes(network, data, family, conventions):
    """The same draws again, and one vector at a time."""
    features, labels = data
    hashing = Hashing(family=family, bin_size=3, kept=3)
    network.layers[-1].biases[:] = np.arange(12)
    found = measure(network, features, labels, hashing, conventions, np.random.default_rng(8))
    generator = np.random.default_rng(8)
    rows, anyone = draw_distinct(generator, 3, 3), draw_distinct(generator, 12, 12)
    drawn = draw_family(generator, replace(hashing, codes_per_table=1, tables=CODES), 6, conventions)

    def codes(vector, last):
        whole = np.append(vector, last) if conventions.bias_hashing == "hashed" else vector
        return hash_codes(from_dense(whole), drawn, conventions).codes

    layer = network.layers[-1]
    held = np.array([codes(*neuron) for neuron in zip(layer.weights, layer.biases, strict=True)])
    for place, row in enumerate(rows):
        equal = (held == codes(features[row], 1.0)).mean(axis=1)
        np.testing.assert_array_equal(found.random[place], equal[anyone])
        np.testing.assert_array_equal(found.labels[found.label_rows == place], equal[labels[[row]].indices])


def test_what_is_wanted(network, data):
    features, labels = data
    found = measure(network, features, labels, Hashing(family="simhash"), PAPER, np.random.default_rng(0))
    wanting_top = found.wanting("top")
    np.testing.assert_array_equal(wanting_top.wanted[wanting_top.askers == 1], found.top[1])
    np.testing.assert_array_equal(found.wanting("labels").askers, found.label_rows)
    assert found.wanting("labels").others is found.random


def test_data_that_do_not_fit_are_refused(network, data):
    features, labels = data
    hashing, generator = Hashing(family="simhash"), np.random.default_rng(0)
    with pytest.raises(ShapeError):
        measure(network, features, labels[:, :11], hashing, PAPER, generator)
    with pytest.raises(ShapeError):
        measure(network, features[:, :5], labels, hashing, PAPER, generator)
    with pytest.raises(OutOfRangeError):
        measure(network, features, sparse.csr_array((3, 12)), hashing, PAPER, generator)
