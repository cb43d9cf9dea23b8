"""One training step: worked by hand, and what holds for every network, batch and convention."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import log

import numpy as np
import pytest
from hypothesis import given
from strategies import all_conventions, problems

from pyslide.conventions import ORIGINAL_CPP, PAPER
from pyslide.parameters import SimHashParameters
from pyslide.spec.network import LayerTables, Network, new_layer, rebuild
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.spec.step import Draws, Sample, backward, choose_active, errors_of, forward, training_step
from pyslide.spec.vectors import SparseVector, sparse_vector

USABLE = all_conventions(densification_failure="code_zero")
SGD = Optimizer(rule="sgd", learning_rate=1.0)
NOTHING = np.empty(0, dtype=np.int64)
NO_DRAWS = Draws(NOTHING, NOTHING)

# By hand: input (1, no entry, 2); hidden sums (1, -1, 1); logits (1, 1)
HIDDEN = np.array([[1.0, 9.0, 0.0], [-1.0, 9.0, 0.0], [0.0, 9.0, 0.5]])
OUTPUT = np.array([[1.0, 5.0, 0.0], [0.0, 7.0, 1.0]])
SMALL = Network((new_layer(HIDDEN, np.zeros(3), None), new_layer(OUTPUT, np.zeros(2), None)), 0)
ROW = Sample(sparse_vector([0, 2], [1.0, 2.0], 3), np.array([0]))


def test_forward_by_hand():
    (one,) = forward(SMALL, [ROW], [[NO_DRAWS], [NO_DRAWS]], PAPER)
    np.testing.assert_array_equal(one.layers[0].sums, [1, -1, 1])
    np.testing.assert_array_equal(one.layers[1].inputs.indices, [0, 1, 2])  # the silenced one is an entry
    np.testing.assert_array_equal(one.layers[1].inputs.values, [1, 0, 1])
    np.testing.assert_array_equal(one.layers[1].sums, [1, 1])
    np.testing.assert_array_equal(one.probabilities, [0.5, 0.5])
    np.testing.assert_array_equal(one.wanted, [1, 0])
    assert one.loss == pytest.approx(log(2), rel=1e-15)


def test_backward_by_hand():
    passes = forward(SMALL, [ROW], [[NO_DRAWS], [NO_DRAWS]], PAPER)
    below, above = errors_of(SMALL, passes[0], 1.0, PAPER)
    np.testing.assert_array_equal(above, [-0.5, 0.5])
    # through the output's weights (-0.5, 1, 0.5); the second hidden neuron is silent
    np.testing.assert_array_equal(below, [-0.5, 0, 0.5])
    hidden, output = backward(SMALL, passes, PAPER)
    np.testing.assert_array_equal(output.weights, [[-0.5, 0, -0.5], [0.5, 0, 0.5]])
    np.testing.assert_array_equal(output.biases, [-0.5, 0.5])
    np.testing.assert_array_equal(hidden.weights, [[-0.5, 0, -1], [0, 0, 0], [0.5, 0, 1]])
    np.testing.assert_array_equal(hidden.biases, [-0.5, 0, 0.5])
    np.testing.assert_array_equal(hidden.inputs, [True, False, True])
    np.testing.assert_array_equal(hidden.neurons, [True, True, True])


@pytest.mark.parametrize(("answer", "times"), [("mean", 1), ("sum", 2)])
def test_a_step_by_hand(answer, times):
    conventions = PAPER.replace(batch_reduction=answer)
    result = training_step(SMALL, [ROW, ROW], [[NO_DRAWS] * 2] * 2, SGD, conventions)
    hidden, output = result.network.layers
    np.testing.assert_array_equal(
        hidden.weights, HIDDEN - times * np.array([[-0.5, 0, -1], [0, 0, 0], [0.5, 0, 1]])
    )
    np.testing.assert_array_equal(output.weights, OUTPUT - times * np.array([[-0.5, 0, -0.5], [0.5, 0, 0.5]]))
    np.testing.assert_array_equal(output.biases, [0.5 * times, -0.5 * times])
    np.testing.assert_array_equal(hidden.touches, [1, 0, 1])  # the columns of the entries
    np.testing.assert_array_equal(hidden.bias_touches, [1, 1, 1])
    np.testing.assert_array_equal(output.touches, [1, 1, 1])
    assert result.network.steps == 1
    assert result.loss == pytest.approx(log(2), rel=1e-15)  # a mean in any case


@pytest.mark.parametrize(("answer", "times"), [("mean", 0.5), ("sum", 1)])
def test_weighted_samples_by_hand(answer, times):
    """The losses are multiplied, not what they are divided by: (3 * loss + 0 * loss) / 2."""
    conventions = PAPER.replace(batch_reduction=answer)
    weights = np.array([3.0, 0.0])
    result = training_step(SMALL, [ROW, ROW], [[NO_DRAWS] * 2] * 2, SGD, conventions, weights)
    hidden, output = result.gradients
    np.testing.assert_array_equal(hidden.weights, 3 * times * np.array([[-0.5, 0, -1], [0, 0, 0], [0.5, 0, 1]]))
    np.testing.assert_array_equal(output.biases, 3 * times * np.array([-0.5, 0.5]))
    assert result.loss == pytest.approx(1.5 * log(2), rel=1e-15)


@given(problem=problems(USABLE))
def test_a_whole_weight_is_a_repeated_sample(problem):
    network, samples, draws, conventions = problem
    summed = conventions.replace(batch_reduction="sum")
    passes = forward(network, samples, draws, summed)
    weights = np.arange(len(passes)) % 3
    repeated = [one for one, times in zip(passes, weights, strict=True) for _ in range(times)]
    gradients = backward(network, passes, summed, weights), backward(network, repeated, summed)
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.biases, other.biases, rtol=1e-12, atol=1e-12)


def test_errors_pass_weights_as_they_were_before_the_step():
    result = training_step(SMALL, [ROW], [[NO_DRAWS]] * 2, SGD, PAPER)
    np.testing.assert_array_equal(result.gradients[0].biases, [-0.5, 0, 0.5])


def tabled(weights, sampling=None, codes=1):
    """Return a layer in one table by the sign of the first input coordinate."""
    weights = np.array(weights)
    family = SimHashParameters(np.zeros((codes, 1), dtype=int), np.ones((codes, 1)), weights.shape[1])
    tables = LayerTables(family, codes, 1, np.array([1]), 9, sampling or Sampling(), ({},))
    layer = new_layer(weights, np.zeros(len(weights)), tables)
    return rebuild(layer, np.arange(len(weights)), np.zeros((1, len(weights))), PAPER)


SIGNED = [[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0], [-2.0, 0.0]]
PLUS = Sample(sparse_vector([0], [1.0], 2), np.array([1]))
MINUS = Sample(sparse_vector([0], [-1.0], 2), np.array([3]))
DRAWS = [Draws(np.array([0]), np.array([3, 2, 1, 0]))] * 2


def active_sets(network, conventions):
    passes = forward(network, [PLUS, MINUS], [DRAWS] * len(network.layers), conventions)
    return [[layer.active.tolist() for layer in one.layers] for one in passes]


def test_active_sets_of_a_batch():
    network = Network((tabled(SIGNED),), 0)
    assert active_sets(network, PAPER) == [[[0, 1, 2]], [[1, 3]]]
    assert active_sets(network, PAPER.replace(label_forcing="never")) == [[[0, 2]], [[1, 3]]]
    union = PAPER.replace(active_set="union_of_batch", label_forcing="never")
    assert active_sets(network, union) == [[[0, 1, 2, 3]]] * 2


def test_a_union_of_the_batch_holds_the_labels_of_others():
    network = Network((tabled(SIGNED[:1] * 3 + SIGNED[:1]),), 0)  # nobody at the negative side
    assert active_sets(network, PAPER.replace(active_set="union_of_batch"))[1] == [[0, 1, 2, 3]]
    assert active_sets(network, PAPER)[1] == [[3]]


def test_labels_are_forced_into_the_output_layer_only():
    hidden, output = tabled(SIGNED), tabled(np.vstack([np.eye(4), -np.eye(4)]))
    network = Network((hidden, output), 0)
    (plus, *_), (minus, *_) = active_sets(network, PAPER)
    assert plus == [0, 2]  # label 1 is the name of an output
    assert minus == [1, 3]


def test_padding_takes_the_draws_of_its_own_layer_and_sample():
    layer = tabled(SIGNED, Sampling(minimum_active=3))
    draws = [Draws(np.array([0]), np.array([3, 1])), Draws(np.array([0]), np.array([0, 2]))]
    passes = forward(Network((layer,), 0), [PLUS, MINUS], [draws], PAPER.replace(label_forcing="never"))
    assert [one.layers[0].active.tolist() for one in passes] == [[0, 2, 3], [0, 1, 3]]


def test_a_layer_without_tables_computes_everybody():
    layer = new_layer(np.array(SIGNED), np.zeros(4), None)
    for conventions in (PAPER, ORIGINAL_CPP):
        choice = choose_active(layer, PLUS.features, PLUS.labels, NO_DRAWS, conventions)
        np.testing.assert_array_equal(choice.active, [0, 1, 2, 3])
        np.testing.assert_array_equal(choice.selected, [0, 1, 2, 3])


@pytest.mark.parametrize(("answer", "weight"), [("one", 1), ("inverse_probability", 2)])
def test_a_padding_neuron_stands_for_those_that_were_not_retrieved(answer, weight):
    # 0 and 2 are retrieved, 3 is drawn from the two others and counts for both; the label 0 is there already
    layer = tabled(SIGNED, Sampling(minimum_active=3))
    conventions = PAPER.replace(padding_weight=answer)
    sample = PLUS._replace(labels=np.array([0]))
    result = training_step(Network((layer,), 0), [sample], [DRAWS[:1]], SGD, conventions)
    (one,) = result.passes
    np.testing.assert_array_equal(one.layers[0].active, [0, 2, 3])
    np.testing.assert_array_equal(one.layers[0].sums, [1, 2, -2])
    parts = np.exp([1.0, 2.0, -2.0]) * [1, 1, weight]
    np.testing.assert_allclose(one.probabilities, parts / parts.sum(), rtol=1e-15)
    assert one.loss == pytest.approx(log(parts.sum()) - 1, rel=1e-14)
    np.testing.assert_allclose(
        result.gradients[0].biases, np.array([parts[0] - parts.sum(), 0, parts[1], parts[2]]) / parts.sum(), rtol=1e-14
    )


def test_nobody_retrieved():
    network = Network((tabled([[-1.0, 0.0]] * 2), tabled(np.ones((3, 2)))), 0)
    sample = Sample(sparse_vector([0], [1.0], 2), np.array([2]))
    result = training_step(network, [sample], [DRAWS[:1]] * 2, SGD, PAPER)
    below, above = result.passes[0].layers
    assert below.active.size == 0
    assert above.inputs.indices.size == 0
    np.testing.assert_array_equal(above.active, [0, 1, 2])  # an empty input ties, and a tie is a 1
    np.testing.assert_allclose(result.gradients[1].biases, [1 / 3, 1 / 3, -2 / 3], rtol=1e-15)
    assert (result.gradients[0].weights == 0).all()
    np.testing.assert_array_equal(result.network.layers[0].weights, network.layers[0].weights)


def test_nobody_active_in_the_output():
    network = Network((tabled([[-1.0, 0.0]] * 2),), 0)
    result = training_step(network, [PLUS], [DRAWS[:1]], SGD, PAPER.replace(label_forcing="never"))
    assert result.loss == 0
    assert result.passes[0].probabilities.shape == (0,)
    np.testing.assert_array_equal(result.network.layers[0].weights, network.layers[0].weights)


@given(problems(USABLE))
def test_active_sets_rise_and_hold_what_they_must(problem):
    network, samples, draws, conventions = problem
    passes = forward(network, samples, draws, conventions)
    for sample, one in zip(samples, passes, strict=True):
        for layer, layer_pass in zip(network.layers, one.layers, strict=True):
            active = layer_pass.active
            assert active.dtype == np.int64
            assert (np.diff(active) > 0).all()
            assert ((active >= 0) & (active < layer.biases.size)).all()
            assert layer_pass.sums.shape == active.shape
            if layer.tables is None:
                assert active.size == layer.biases.size
            elif conventions.padding == "up_to_minimum":
                assert active.size >= min(layer.tables.sampling.minimum_active, layer.biases.size)
        if conventions.label_forcing != "never":
            assert set(sample.labels.tolist()) <= set(one.layers[-1].active.tolist())
        if conventions.active_set == "union_of_batch":
            np.testing.assert_array_equal(one.layers[-1].active, passes[0].layers[-1].active)
        for below, above in zip(one.layers, one.layers[1:], strict=False):
            np.testing.assert_array_equal(above.inputs.indices, below.active)


@given(problems(USABLE))
def test_a_step_is_the_same_for_a_batch_in_another_order(problem):
    network, samples, draws, conventions = problem
    optimizer = Optimizer(rule="sgd", learning_rate=0.5)
    result = training_step(network, samples, draws, optimizer, conventions)
    turned = training_step(network, samples[::-1], [layer[::-1] for layer in draws], optimizer, conventions)
    for one, other in zip(result.network.layers, turned.network.layers, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(one.biases, other.biases, rtol=1e-13, atol=1e-14)
        np.testing.assert_array_equal(one.touches, other.touches)
    assert result.loss == pytest.approx(turned.loss, rel=1e-13)


def arrays_of(thing):
    """Return every array inside nested dataclasses, tuples and lists."""
    if isinstance(thing, np.ndarray):
        return [thing]
    if is_dataclass(thing):
        return [array for field in fields(thing) for array in arrays_of(getattr(thing, field.name))]
    if isinstance(thing, tuple | list):
        return [array for part in thing for array in arrays_of(part)]
    return []


@given(problems(USABLE))
def test_a_step_mutates_nothing(problem):
    inside = arrays_of(list(problem))
    assert inside
    for array in inside:
        array.setflags(write=False)  # whoever writes fails
    before = [layer.tables and [dict(table) for table in layer.tables.tables] for layer in problem.network.layers]
    training_step(problem.network, problem.samples, problem.draws, Optimizer(), problem.conventions)
    after = [layer.tables and [dict(table) for table in layer.tables.tables] for layer in problem.network.layers]
    assert after == before


@given(problems(USABLE))
def test_rows_that_no_sample_touches_stay(problem):
    network, samples, draws, conventions = problem
    conventions = conventions.replace(adam_rows="touched_own_step")
    result = training_step(network, samples, draws, Optimizer(), conventions)
    for before, gradient, after in zip(network.layers, result.gradients, result.network.layers, strict=True):
        still = ~gradient.neurons if before.tables is not None else slice(None), slice(None)
        if before.tables is None:
            still = slice(None), ~gradient.inputs
        np.testing.assert_array_equal(after.weights[still], before.weights[still])
        np.testing.assert_array_equal(after.weight_moments.second[still], 0)
        np.testing.assert_array_equal(after.biases[~gradient.neurons], before.biases[~gradient.neurons])


@pytest.mark.parametrize("values", [[0.0, 0.0], [1e150, -1e150], [5e-324, 1e-310], [3.0, 3.0]])
@pytest.mark.parametrize("conventions", [PAPER, ORIGINAL_CPP], ids=["paper", "original"])
def test_extreme_features(values, conventions):
    network = Network((tabled(SIGNED),), 0)
    sample = Sample(SparseVector(np.array([0, 1]), np.array(values), 2), np.array([3]))
    result = training_step(network, [sample], [DRAWS[:1]], Optimizer(), conventions)
    assert np.isfinite(result.loss)
    assert 3 in result.passes[0].layers[0].active
    for layer in result.network.layers:
        assert np.isfinite(layer.weights).all()
