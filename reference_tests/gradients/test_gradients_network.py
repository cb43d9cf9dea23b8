"""The spec's gradients against a masked dense network: complex steps, finite differences and automatic differentiation.

The masked network is written here anew, dense, without a line of the spec: every neuron is computed, and those outside
the active sets, which are frozen, are multiplied by zero or left out of the softmax.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from strategies import all_conventions, layer_draws, problems

from pyslide.conventions import PAPER
from pyslide.parameters import SimHashParameters
from pyslide.spec.network import LayerCandidates, LayerTables, Network, new_layer, rebuild
from pyslide.spec.sampling import Sampling
from pyslide.spec.step import Sample, backward, forward
from pyslide.spec.vectors import from_dense, sparse_vector, to_dense

STEP = 1e-30
TRAINABLE = all_conventions(densification_failure="code_zero", softmax="stable")
"""Conventions under which every key exists and the error is a gradient."""


def parameters_of(network):
    return [(layer.weights, layer.biases) for layer in network.layers]


def sample_loss(parameters, features, labels, actives, log_weights):
    """Return the cross-entropy of the masked network; complex parameters pass through.

    The weights of question 24 are constants like the active sets.
    """
    hidden = to_dense(features)
    for weights, biases in parameters[:-1]:
        active, *actives = actives
        sums = weights @ hidden + biases
        hidden = np.zeros_like(sums)
        hidden[active] = np.where(sums[active].real > 0, sums[active], 0)
    weights, biases = parameters[-1]
    logits = (weights @ hidden + biases)[actives[0]] + log_weights
    if not logits.size or not labels.size:
        return 0.0
    highest = logits.real.max()
    log_sum = highest + np.log(np.exp(logits - highest).sum())
    wanted = [1 / labels.size if neuron in labels else 0.0 for neuron in actives[0]]
    return sum(share * (log_sum - logit) for share, logit in zip(wanted, logits, strict=True))


def loss_of_pass(parameters, sample, one):
    actives = [layer.active for layer in one.layers]
    return sample_loss(parameters, sample.features, sample.labels, actives, one.layers[-1].log_weights)


def batch_loss(parameters, samples, passes, reduction):
    losses = [
        loss_of_pass(parameters, sample, one) for sample, one in zip(samples, passes, strict=True)
    ]
    return sum(losses) / (len(losses) if reduction == "mean" else 1)


def complex_steps(parameters, loss):
    """Return the derivative of a loss by every weight and bias: Im f(w + ih) / h, exact to rounding."""
    derivatives = []
    for depth, pair in enumerate(parameters):
        both = []
        for which, array in enumerate(pair):
            derivative = np.zeros(array.shape)
            for place in np.ndindex(array.shape):
                moved = array.astype(complex)
                moved[place] += STEP * 1j
                changed = [list(one) for one in parameters]
                changed[depth][which] = moved
                derivative[place] = np.imag(loss(changed)) / STEP
            both.append(derivative)
        derivatives.append(tuple(both))
    return derivatives


def assert_gradients(gradients, derivatives, rtol=1e-11, atol=1e-13):
    for gradient, (weights, biases) in zip(gradients, derivatives, strict=True):
        np.testing.assert_allclose(gradient.weights, weights, rtol=rtol, atol=atol)
        np.testing.assert_allclose(gradient.biases, biases, rtol=rtol, atol=atol)


@given(problems(TRAINABLE))
def test_gradients_are_those_of_the_masked_network(problem):
    network, samples, draws, conventions = problem
    passes = forward(network, samples, draws, conventions)
    gradients = backward(network, passes, conventions)
    loss = lambda parameters: batch_loss(parameters, samples, passes, conventions.batch_reduction)  # noqa: E731
    assert_gradients(gradients, complex_steps(parameters_of(network), loss))
    np.testing.assert_allclose(
        [one.loss for one in passes],
        [
            loss_of_pass(parameters_of(network), sample, one)
            for sample, one in zip(samples, passes, strict=True)
        ],
        rtol=1e-12,
        atol=1e-14,
    )


@given(problems(all_conventions(densification_failure="code_zero")))
def test_nothing_outside_active_neurons_and_entries_is_touched(problem):
    network, samples, draws, conventions = problem
    passes = forward(network, samples, draws, conventions)
    for depth, gradient in enumerate(backward(network, passes, conventions)):
        between = np.zeros(gradient.weights.shape, dtype=bool)
        for one in passes:
            for neuron in one.layers[depth].active:
                between[neuron, one.layers[depth].inputs.indices] = True
        assert (gradient.weights[~between] == 0).all()
        np.testing.assert_array_equal(
            gradient.neurons,
            [any(neuron in one.layers[depth].active for one in passes) for neuron in range(gradient.biases.size)],
        )
        np.testing.assert_array_equal(
            gradient.inputs,
            [any(entry in one.layers[depth].inputs.indices for one in passes) for entry in range(between.shape[1])],
        )
        assert (gradient.biases[~gradient.neurons] == 0).all()


@given(problems(TRAINABLE))
def test_the_order_of_a_batch_changes_nothing(problem):
    network, samples, draws, conventions = problem
    passes = forward(network, samples, draws, conventions)
    turned = forward(network, samples[::-1], [layer[::-1] for layer in draws], conventions)
    for one, other in zip(passes, turned[::-1], strict=True):
        for here, there in zip(one.layers, other.layers, strict=True):
            np.testing.assert_array_equal(here.active, there.active)
            np.testing.assert_array_equal(here.sums, there.sums)
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
    assert_gradients(
        backward(network, passes, conventions),
        [(gradient.weights, gradient.biases) for gradient in backward(network, turned, conventions)],
        rtol=1e-13,
        atol=1e-15,
    )


# Networks with normal weights: no ties


def signs(random, count, dimension):
    width = -(-dimension // 3)
    coordinates = np.array([np.sort(random.permutation(dimension)[:width]) for _ in range(count)])
    return SimHashParameters(coordinates, random.choice([-1.0, 1.0], coordinates.shape), dimension)


def normal_layer(random, inputs, neurons, sampling):
    """Return a layer, with two tables of four buckets where a sampling is given."""
    weights, biases = random.normal(size=(neurons, inputs)), random.normal(size=neurons)
    if sampling is None:
        return new_layer(weights, biases, None)
    tables = LayerTables(signs(random, 4, inputs), 2, 2, np.array([1, 1]), neurons, sampling, ({}, {}))
    layer = new_layer(weights, biases, tables)
    return rebuild(layer, np.arange(neurons), np.zeros((2, neurons)), PAPER)


def normal_problem(seed, sizes, samplings, rows=4):
    random = np.random.default_rng(seed)
    network = Network(
        tuple(
            normal_layer(random, inputs, neurons, sampling)
            for inputs, neurons, sampling in zip(sizes, sizes[1:], samplings, strict=False)
        ),
        0,
    )
    samples = []
    for row in range(rows):
        entries = np.sort(random.permutation(sizes[0])[: sizes[0] // 2])
        labels = np.sort(random.permutation(sizes[-1])[: row % 3])
        samples.append(Sample(sparse_vector(entries, random.normal(size=entries.size), sizes[0]), labels))
    return network, samples, [layer_draws(random, layer, rows) for layer in network.layers]


UNION = Sampling(minimum_active=2)
SHAPES = [
    ((6, 5), [UNION]),
    ((6, 4, 7), [None, UNION]),
    ((6, 8, 7), [UNION, None]),
    ((6, 8, 7), [UNION, UNION]),
    ((6, 7, 5, 8), [None, UNION, UNION]),
    ((6, 7, 8, 9), [UNION, Sampling(strategy="vanilla", budget=3), Sampling(strategy="top_k", budget=4)]),
]


@pytest.mark.parametrize(("sizes", "samplings"), SHAPES)
@pytest.mark.parametrize("forcing", ["after_sampling", "never"])
def test_central_differences_with_frozen_active_sets(sizes, samplings, forcing):
    conventions = PAPER.replace(label_forcing=forcing)
    network, samples, draws = normal_problem(3, sizes, samplings)
    passes = forward(network, samples, draws, conventions)
    if samplings[-1] is not None:
        assert any(one.layers[-1].active.size < sizes[-1] for one in passes)  # or nothing is tested
    parameters = parameters_of(network)
    width, derivatives = 1e-5, []
    for depth, pair in enumerate(parameters):
        both = []
        for which, array in enumerate(pair):
            derivative = np.zeros(array.shape)
            for place in np.ndindex(array.shape):
                sides = []
                for side in (width, -width):
                    moved = array.copy()
                    moved[place] += side
                    changed = [list(one) for one in parameters]
                    changed[depth][which] = moved
                    sides.append(batch_loss(changed, samples, passes, "mean"))
                derivative[place] = (sides[0] - sides[1]) / (2 * width)
            both.append(derivative)
        derivatives.append(both)
    assert_gradients(backward(network, passes, conventions), derivatives, rtol=1e-6, atol=1e-9)


@pytest.mark.peers
@pytest.mark.parametrize(("sizes", "samplings"), SHAPES)
@pytest.mark.parametrize("forcing", ["after_sampling", "never"])
def test_automatic_differentiation_of_the_masked_network(sizes, samplings, forcing):
    torch = pytest.importorskip("torch", reason="torch is the witness for gradients")
    conventions = PAPER.replace(label_forcing=forcing)
    network, samples, draws = normal_problem(5, sizes, samplings, rows=5)
    passes = forward(network, samples, draws, conventions)
    parameters = [[torch.tensor(array, requires_grad=True) for array in pair] for pair in parameters_of(network)]
    total = torch.zeros((), dtype=torch.float64)
    for sample, one in zip(samples, passes, strict=True):
        hidden = torch.tensor(to_dense(sample.features))
        for depth, (weights, biases) in enumerate(parameters):
            outside = torch.ones(biases.shape, dtype=torch.bool)
            outside[torch.tensor(one.layers[depth].active)] = False
            sums = torch.nn.functional.linear(hidden, weights, biases)
            hidden = torch.relu(sums).masked_fill(outside, 0.0)
        logarithms = torch.log_softmax(sums.masked_fill(outside, -torch.inf), 0)
        for label in sample.labels:
            if not outside[label]:
                total = total - logarithms[label] / len(sample.labels)
    (total / len(samples)).backward()
    np.testing.assert_allclose(np.mean([one.loss for one in passes]), total.item() / len(samples), rtol=1e-13)
    assert_gradients(
        backward(network, passes, conventions), [[array.grad.numpy() for array in pair] for pair in parameters]
    )


# A sampled softmax: the candidates of a batch and each sample's labels, corrected by their expected counts

RANKS = np.array([3, 0, 6, 1, 5, 2, 4])
CANDIDATES, TRIES = np.array([5, 1, 3]), 4


def sampled_problem(correction, distribution):
    """Return a network with a sampled softmax of 7 classes; one label is a candidate, the others are not."""
    network, samples, draws = normal_problem(11, (6, 4, 7), [None, None])
    hidden, output = network.layers
    drawn = LayerCandidates(distribution, correction, RANKS)
    network = Network((hidden, new_layer(output.weights, output.biases, None, drawn)), 0)
    samples[1], samples[2] = (samples[row]._replace(labels=np.array(one)) for row, one in ((1, [1]), (2, [0, 6])))
    return network, samples, [draws[0], [one._replace(candidates=CANDIDATES, tries=TRIES) for one in draws[1]]]


@pytest.mark.parametrize("distribution", ["uniform", "log_uniform"])
@pytest.mark.parametrize("correction", [True, False])
def test_gradients_of_a_sampled_softmax_are_those_of_the_masked_network(distribution, correction):
    network, samples, draws = sampled_problem(correction, distribution)
    passes = forward(network, samples, draws, PAPER)
    loss = lambda parameters: batch_loss(parameters, samples, passes, "mean")  # noqa: E731
    gradients = backward(network, passes, PAPER)
    assert_gradients(gradients, complex_steps(parameters_of(network), loss))
    assert not gradients[1].neurons.all()  # or nothing is tested


@pytest.mark.peers
@pytest.mark.parametrize("distribution", ["uniform", "log_uniform"])
@pytest.mark.parametrize("correction", [True, False])
def test_automatic_differentiation_of_a_sampled_softmax(distribution, correction):
    """The sampled logits are made here from the definition: candidates without the labels, and the labels."""
    torch = pytest.importorskip("torch", reason="torch is the witness for gradients")
    network, samples, draws = sampled_problem(correction, distribution)
    passes = forward(network, samples, draws, PAPER)
    parameters = [[torch.tensor(array, requires_grad=True) for array in pair] for pair in parameters_of(network)]
    ranks = torch.tensor(RANKS, dtype=torch.float64)
    probabilities = torch.log((ranks + 2) / (ranks + 1)) / np.log(8)
    counts = 1 - (1 - probabilities) ** TRIES if distribution == "log_uniform" else 3 / 7 * torch.ones_like(ranks)
    total = torch.zeros((), dtype=torch.float64)
    for sample in samples:
        hidden = torch.tensor(to_dense(sample.features))
        hidden = torch.relu(torch.nn.functional.linear(hidden, *parameters[0]))
        logits = torch.nn.functional.linear(hidden, *parameters[1])
        logits = logits - torch.log(counts) if correction else logits
        negatives = [one for one in CANDIDATES if one not in sample.labels]
        for label in sample.labels:
            others = logits[[*negatives, *sample.labels]]
            total = total + (torch.logsumexp(others, 0) - logits[label]) / len(sample.labels)
    (total / len(samples)).backward()
    np.testing.assert_allclose(np.mean([one.loss for one in passes]), total.item() / len(samples), rtol=1e-13)
    assert_gradients(
        backward(network, passes, PAPER), [[array.grad.numpy() for array in pair] for pair in parameters]
    )


# All neurons active: the dense network


def dense_gradients(network, samples):
    """Return loss and gradients of the dense network, by the textbook, the batch as one matrix."""
    activations = [np.array([to_dense(sample.features) for sample in samples])]
    for layer in network.layers:
        activations.append(np.maximum(activations[-1] @ layer.weights.T + layer.biases, 0))
    logits = activations[-2] @ network.layers[-1].weights.T + network.layers[-1].biases
    wanted = np.array([[(a in sample.labels) / max(1, len(sample.labels)) for a in range(logits.shape[1])]
                       for sample in samples])  # fmt: skip
    logarithms = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    error = (np.exp(logarithms) * wanted.sum(axis=1, keepdims=True) - wanted) / len(samples)
    gradients = []
    for layer, below in zip(network.layers[::-1], activations[-2::-1], strict=True):
        gradients.append((error.T @ below, error.sum(axis=0)))
        error = (error @ layer.weights) * (below > 0)
    return -(wanted * logarithms).sum() / len(samples), gradients[::-1]


@pytest.mark.parametrize("sizes", [(6, 5), (6, 4, 7), (6, 7, 5, 8)])
@pytest.mark.parametrize("tables", [False, True])
def test_all_neurons_active_is_the_dense_network(sizes, tables):
    everybody = Sampling(minimum_active=max(sizes)) if tables else None
    network, samples, draws = normal_problem(11, sizes, [everybody] * 3)
    passes = forward(network, samples, draws, PAPER)
    for one in passes:
        for layer, neurons in zip(one.layers, sizes[1:], strict=True):
            np.testing.assert_array_equal(layer.active, np.arange(neurons))
    loss, gradients = dense_gradients(network, samples)
    np.testing.assert_allclose(np.mean([one.loss for one in passes]), loss, rtol=1e-13)
    assert_gradients(backward(network, passes, PAPER), gradients)


# Edges


def shifted(network, shift, scale=1.0):
    *below, output = network.layers
    return Network((*below, replace(output, weights=output.weights * scale, biases=output.biases * scale + shift)), 0)


@pytest.mark.parametrize(("shift", "scale"), [(-1e3, 1.0), (-1e6, 1.0), (1e6, 1.0), (0.0, 1e3), (-1e5, 1e4)])
def test_negative_and_huge_logits(shift, scale):
    network, samples, draws = normal_problem(13, (6, 4, 7), [None, UNION])
    moved = shifted(network, shift, scale)
    passes = forward(moved, samples, draws, PAPER)
    parameters = parameters_of(moved)
    gradients = backward(moved, passes, PAPER)
    assert_gradients(
        gradients,
        complex_steps(parameters, lambda changed: batch_loss(changed, samples, passes, "mean")),
        rtol=1e-9,
        atol=1e-12,
    )
    assert np.abs(gradients[-1].biases).max() > 1e-3  # not underflowed to nothing
    assert np.isfinite([one.loss for one in passes]).all()


def test_sum_is_the_mean_times_the_batch():
    network, samples, draws = normal_problem(17, (6, 4, 7), [None, UNION])
    passes = forward(network, samples, draws, PAPER)
    mean = backward(network, passes, PAPER)
    total = backward(network, passes, PAPER.replace(batch_reduction="sum"))
    assert_gradients(total, [(4 * gradient.weights, 4 * gradient.biases) for gradient in mean], rtol=1e-14)
    assert np.abs(mean[0].weights).max() > 0


def test_a_row_without_labels_touches_but_does_not_move():
    network, samples, draws = normal_problem(19, (6, 4, 7), [None, UNION], rows=1)
    assert samples[0].labels.size == 0
    passes = forward(network, samples, draws, PAPER)
    assert passes[0].loss == 0
    for gradient in backward(network, passes, PAPER):
        assert (gradient.weights == 0).all()
        assert (gradient.biases == 0).all()
        assert gradient.neurons.any()
        assert gradient.inputs.any()


@pytest.mark.parametrize("labels", [(0, 3, 4), (3, 4), (0,)])
def test_labels_that_are_missing_from_the_active_set(labels):
    """Two of five outputs are active; errors still add up to nothing, and only present labels pull."""
    weights = np.eye(5, 3)
    probabilities = np.exp([1.0, 0.5]) / np.exp([1.0, 0.5]).sum()
    tables = LayerTables(
        SimHashParameters(np.array([[0]]), np.array([[1.0]]), 3), 1, 1, np.array([1]), 5, Sampling(minimum_active=2),
        ({},),
    )  # fmt: skip
    network = Network((new_layer(weights, np.zeros(5), tables),), 0)
    sample = Sample(from_dense(np.array([1.0, 0.5, 2.0])), np.array(labels))
    draws = [[layer_draws(np.random.default_rng(0), network.layers[0], 1)[0]._replace(candidates=np.array([0, 1]))]]
    conventions = PAPER.replace(label_forcing="never")
    passes = forward(network, [sample], draws, conventions)
    np.testing.assert_array_equal(passes[0].layers[0].active, [0, 1])
    (gradient,) = backward(network, passes, conventions)
    share = 1 / len(labels) if 0 in labels else 0.0
    expected = np.array([share * probabilities[0] - share, share * probabilities[1], 0, 0, 0])
    np.testing.assert_allclose(gradient.biases, expected, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(gradient.biases.sum(), 0, atol=1e-16)
    np.testing.assert_allclose(passes[0].loss, -share * np.log(probabilities[0]), rtol=1e-14)


def test_the_original_error_pushes_everybody_when_labels_are_missing():
    network, samples, draws = normal_problem(23, (6, 7), [UNION], rows=1)
    original = PAPER.replace(softmax="maximum_from_zero", label_forcing="never")
    passes = forward(network, samples, draws, original)  # no labels at all: the target is zero everywhere
    (gradient,) = backward(network, passes, original)
    active = passes[0].layers[0].active
    np.testing.assert_array_equal(gradient.biases[active], passes[0].probabilities)
    assert (passes[0].probabilities > 0).all()


def test_the_original_error_where_every_output_underflows():
    network, samples, draws = normal_problem(29, (6, 7), [None], rows=2)
    original = PAPER.replace(softmax="maximum_from_zero")
    moved = shifted(network, -1e4)
    passes = forward(moved, samples[1:], [draws[0][1:]], original)
    assert (passes[0].probabilities == 0).all()
    (gradient,) = backward(moved, passes, original)
    np.testing.assert_array_equal(gradient.biases, -passes[0].wanted)
    assert passes[0].wanted.sum() == 1
