"""Predictions: the spec by hand and by brute force, and the batch inference against the spec."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from strategies import problems

from pyslide.building import build_network, rebuild_layer
from pyslide.conventions import PAPER
from pyslide.inference import exact_top_k, sampled_top_k
from pyslide.randomness import generators
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec import inference
from pyslide.spec.network import LayerTables, Network, new_layer, rebuild, retrieve
from pyslide.spec.vectors import from_dense


def spec_network(network, order):
    """Return the same weights as a network of the spec, its tables built anew."""
    layers = []
    for layer in network.layers:
        tables = layer.tables
        kept = LayerTables(
            tables.family, tables.codes_per_table, tables.table_bits, tables.multipliers, tables.capacity,
            tables.sampling, (),
        )  # fmt: skip
        plain = new_layer(np.array(layer.weights), np.array(layer.biases), kept)
        uniforms = np.zeros((tables.multipliers.size, layer.neurons))
        layers.append(rebuild(plain, order, uniforms, PAPER))
    return Network(tuple(layers), 0)


def test_top_k_by_hand_gives_equal_logits_to_the_smaller_id():
    weights = np.array([[1.0], [3.0], [2.0], [3.0]])
    network = Network((new_layer(weights, np.zeros(4), None),), 0)
    best = inference.top_k(network, from_dense(np.array([1.0])), 3, PAPER)
    assert best.neurons.tolist() == [1, 3, 2]
    assert best.logits.tolist() == [3.0, 3.0, 2.0]


@pytest.mark.parametrize("sampled", [False, True])
def test_batch_inference_equals_the_spec(sampled):
    hashing = Hashing(codes_per_table=1, tables=3, bin_size=4)
    settings = [LayerSettings(neurons=12, hashing=hashing), LayerSettings(neurons=40, hashing=hashing)]
    weights, functions, draws = generators(3, 3)
    network = build_network(settings, 9, PAPER, weights, functions, np.float64)
    for layer in network.layers:
        rebuild_layer(layer, hashing, PAPER, draws, new_functions=False)
    features = draws.standard_normal((20, 9))
    conventions = PAPER.replace(inference="sampled" if sampled else "all_neurons")
    ranking = sampled_top_k(network, features, 7, PAPER) if sampled else exact_top_k(network, features, 7)
    reference = spec_network(network, None)
    for row, labels, logits in zip(features, ranking.labels, ranking.scores, strict=True):
        best = inference.top_k(reference, from_dense(row), 7, conventions)
        found = labels >= 0
        assert labels[found].tolist() == best.neurons.tolist()
        np.testing.assert_allclose(logits[found], best.logits, rtol=1e-12)


@given(problems(), st.integers(1, 4))
def test_all_neurons_are_ranked_by_a_dense_product(problem, k):
    features = problem.samples[0].features
    outputs = np.zeros(features.dimension)
    outputs[features.indices] = features.values
    for layer in problem.network.layers:
        sums = layer.weights @ outputs + layer.biases
        outputs = np.maximum(sums, 0)
    ranked = sorted(range(sums.size), key=lambda neuron: (-sums[neuron], neuron))[:k]
    best = inference.top_k(problem.network, features, k, PAPER)
    # multiples of 1/4 and their products are exact in any order, so that ties are ties
    assert best.neurons.tolist() == ranked
    assert best.logits.tolist() == sums[ranked].tolist()
    computed = inference.scores(problem.network, features, PAPER)
    assert computed.neurons.tolist() == list(range(sums.size))


@given(problems())
def test_sampled_inference_computes_what_the_tables_give_and_no_more(problem):
    conventions = PAPER.replace(inference="sampled")
    layer, features = problem.network.layers[0], problem.samples[0].features
    computed = inference.neurons_at_inference(layer, features, conventions)
    if layer.tables is None:
        assert computed.tolist() == list(range(layer.biases.size))
        return
    found = {int(neuron) for bucket in retrieve(features, layer.tables, PAPER) for neuron in bucket}
    assert set(computed.tolist()) <= found
    if layer.tables.sampling.strategy == "union":
        assert set(computed.tolist()) == found
