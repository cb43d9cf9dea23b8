"""One training step: Algorithm 1, lines 8 to 19, as the composition of the other rooms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pyslide.arrays import BoolArray, FloatArray, IntArray, require_shape
from pyslide.conventions import Conventions
from pyslide.errors import ShapeError
from pyslide.spec.backward import batch_scale, input_error, output_error, through_relu, weight_gradient
from pyslide.spec.candidates import candidate_log_weights, candidate_set
from pyslide.spec.forward import hidden_output, preactivations, softmax
from pyslide.spec.loss import cross_entropy, targets
from pyslide.spec.network import Layer, Moments, Network, retrieve
from pyslide.spec.optimizer import Optimizer, Update, update_rows
from pyslide.spec.sampling import NOBODY, active_set, log_weights, selected_set, union
from pyslide.spec.vectors import SparseVector


class Draws(NamedTuple):
    """The random choices of one layer for one sample."""

    order: IntArray  # (L,) in which order vanilla sampling reads the tables
    candidates: IntArray  # distinct neurons for the padding, or the candidates of a sampled softmax
    tries: int = 0  # how many draws gave the candidates of a sampled softmax


class Sample(NamedTuple):
    """One row of the training data."""

    features: SparseVector
    labels: IntArray


class LayerPass(NamedTuple):
    """What one layer does for one sample."""

    inputs: SparseVector
    active: IntArray  # (s,)
    sums: FloatArray  # (s,) before the activation function
    log_weights: FloatArray  # (s,) added to the logits of an output layer (question 24, or a correction)


class SamplePass(NamedTuple):
    """What all layers do for one sample."""

    layers: tuple[LayerPass, ...]
    probabilities: FloatArray  # (s,) of the output layer's active set
    wanted: FloatArray  # (s,)
    loss: float


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient by one layer's weights, summed over a batch, and what the batch touched."""

    weights: FloatArray  # (n, d)
    biases: FloatArray  # (n,)
    neurons: BoolArray  # (n,) active for at least one sample
    inputs: BoolArray  # (d,) an entry of at least one sample's input


class StepResult(NamedTuple):
    """A network after a step, and all that led to it."""

    network: Network
    passes: tuple[SamplePass, ...]
    gradients: tuple[Gradient, ...]
    loss: float  # mean over the batch, each sample's multiplied by its weight


class Choice(NamedTuple):
    """The neurons that one sample activates, and those among them that are not random padding."""

    active: IntArray  # (s,)
    selected: IntArray


def choose_active(
    layer: Layer, inputs: SparseVector, labels: IntArray, draws: Draws, conventions: Conventions
) -> Choice:
    """Return a layer's active set for one sample: all neurons where the layer has neither tables nor candidates.

    What conventions say of active sets concerns tables; a sampled softmax is always the candidates and the labels.
    """
    if layer.candidates is not None:
        everyone = candidate_set(draws.candidates, labels)
        return Choice(everyone, everyone)
    if layer.tables is None:
        return Choice(np.arange(layer.biases.size), np.arange(layer.biases.size))
    buckets = retrieve(inputs, layer.tables, conventions)
    sampling = layer.tables.sampling
    return Choice(
        active_set(buckets, draws.order, labels, draws.candidates, sampling, conventions),
        selected_set(buckets, draws.order, labels, sampling, conventions),
    )


def batch_active_sets(
    layer: Layer, inputs: Sequence[SparseVector], labels: Sequence[IntArray], draws: Sequence[Draws],
    conventions: Conventions,
) -> list[Choice]:
    """Return a layer's active sets for a batch, joined into one where the convention says so (question 15)."""
    choices = [
        choose_active(layer, one_input, one_labels, one_draws, conventions)
        for one_input, one_labels, one_draws in zip(inputs, labels, draws, strict=True)
    ]
    if conventions.active_set == "per_sample" or layer.candidates is not None:
        return choices
    everyone = union([choice.active for choice in choices])
    return [choice._replace(active=everyone) for choice in choices]


def forward(
    network: Network, samples: Sequence[Sample], draws: Sequence[Sequence[Draws]], conventions: Conventions
) -> tuple[SamplePass, ...]:
    """Return the forward passes of a batch (Algorithm 1, lines 9 to 13).

    Parameters
    ----------
    network : Network
    samples : sequence of B Sample
    draws : sequence (layers) of sequences (B) of Draws
        For a layer without tables and candidates they are not read.
    conventions : Conventions
    """
    inputs = [sample.features for sample in samples]
    nobody = [NOBODY] * len(samples)
    passes: list[list[LayerPass]] = []
    for depth, layer in enumerate(network.layers):
        labels = [sample.labels for sample in samples] if depth == len(network.layers) - 1 else nobody
        choices = batch_active_sets(layer, inputs, labels, draws[depth], conventions)
        passes.append(
            [pass_layer(layer, *parts, conventions) for parts in zip(inputs, choices, draws[depth], strict=True)]
        )
        inputs = [hidden_output(done.sums, done.active, layer.biases.size) for done in passes[-1]]
    return tuple(
        finish_pass(tuple(layers), sample.labels, conventions)
        for layers, sample in zip(zip(*passes, strict=True), samples, strict=True)
    )


def pass_layer(
    layer: Layer, inputs: SparseVector, choice: Choice, draws: Draws, conventions: Conventions
) -> LayerPass:
    """Return what one layer does for one sample, its neurons chosen."""
    sums = preactivations(layer.weights, layer.biases, choice.active, inputs)
    return LayerPass(inputs, choice.active, sums, choice_log_weights(layer, choice, draws, conventions))


def choice_log_weights(layer: Layer, choice: Choice, draws: Draws, conventions: Conventions) -> FloatArray:
    """Return what is added to the logits of a layer's active neurons because of how they were chosen."""
    neurons, drawn = layer.biases.size, layer.candidates
    if drawn is None:
        return log_weights(choice.active, choice.selected, neurons, conventions.padding_weight)
    if not drawn.correction:
        return np.zeros(choice.active.size)
    ranks = drawn.ranks[choice.active]
    return candidate_log_weights(ranks, drawn.distribution, draws.candidates.size, draws.tries, neurons)


def finish_pass(layers: tuple[LayerPass, ...], labels: IntArray, conventions: Conventions) -> SamplePass:
    """Return a sample's pass with outputs, targets and loss."""
    wanted = targets(layers[-1].active, labels)
    logits = layers[-1].sums + layers[-1].log_weights
    return SamplePass(layers, softmax(logits, conventions.softmax), wanted, cross_entropy(logits, wanted))


def errors_of(network: Network, one_pass: SamplePass, scale: float, conventions: Conventions) -> list[FloatArray]:
    """Return the derivatives by each layer's sums for one sample, from the input layer to the output (lines 14, 15)."""
    error = scale * output_error(one_pass.probabilities, one_pass.wanted, conventions.softmax)
    errors = [error]
    for layer, above in zip(network.layers[:0:-1], one_pass.layers[:0:-1], strict=True):
        error = through_relu(input_error(error, layer.weights, above.active, above.inputs), above.inputs.values)
        errors.append(error)
    return errors[::-1]


def backward(
    network: Network,
    passes: Sequence[SamplePass],
    conventions: Conventions,
    sample_weights: FloatArray | None = None,
) -> tuple[Gradient, ...]:
    """Return the gradients of a batch, one for each layer; a weight multiplies its sample's derivatives."""
    scale = batch_scale(len(passes), conventions.batch_reduction)
    weights = np.ones(len(passes)) if sample_weights is None else sample_weights
    gradients = tuple(zero_gradient(layer) for layer in network.layers)
    for one_pass, weight in zip(passes, weights, strict=True):
        errors = errors_of(network, one_pass, scale * weight, conventions)
        gradients = tuple(
            add_sample(*parts) for parts in zip(gradients, one_pass.layers, errors, strict=True)
        )
    return gradients


def zero_gradient(layer: Layer) -> Gradient:
    """Return the gradient of an empty batch."""
    neurons, inputs = layer.weights.shape
    return Gradient(
        np.zeros((neurons, inputs)), np.zeros(neurons), np.zeros(neurons, dtype=bool), np.zeros(inputs, dtype=bool)
    )


def add_sample(gradient: Gradient, layer_pass: LayerPass, error: FloatArray) -> Gradient:
    """Return a layer's gradient with one more sample in it; only active weights change (line 16)."""
    weights, biases = gradient.weights.copy(), gradient.biases.copy()
    neurons, inputs = gradient.neurons.copy(), gradient.inputs.copy()
    weights[np.ix_(layer_pass.active, layer_pass.inputs.indices)] += weight_gradient(error, layer_pass.inputs)
    biases[layer_pass.active] += error
    neurons[layer_pass.active] = True
    inputs[layer_pass.inputs.indices] = True
    return Gradient(weights, biases, neurons, inputs)


def update_layer(
    layer: Layer, gradient: Gradient, steps: int, optimizer: Optimizer, conventions: Conventions
) -> Layer:
    """Return a layer after the update (line 18).

    A row is what the optimiser touches or leaves alone: a neuron's weights in a sampled layer, and the weights of
    one input coordinate in a layer whose neurons are all active (there sparsity is in the inputs).
    """
    before = Update(layer.weights, layer.weight_moments.first, layer.weight_moments.second)
    change, touched = gradient.weights, gradient.neurons
    if not layer.sampled:
        before, change, touched = Update(*(array.T for array in before)), change.T, gradient.inputs
    after, touches = update_rows(before, change, touched, steps, layer.touches, optimizer, conventions)
    if not layer.sampled:
        after = Update(*(array.T for array in after))
    bias_before = Update(layer.biases, layer.bias_moments.first, layer.bias_moments.second)
    bias, bias_touches = update_rows(
        bias_before, gradient.biases, gradient.neurons, steps, layer.bias_touches, optimizer, conventions
    )
    return replace(
        layer,
        weights=after.values,
        biases=bias.values,
        weight_moments=Moments(after.first, after.second),
        bias_moments=Moments(bias.first, bias.second),
        touches=touches,
        bias_touches=bias_touches,
    )


def training_step(
    network: Network,
    samples: Sequence[Sample],
    draws: Sequence[Sequence[Draws]],
    optimizer: Optimizer,
    conventions: Conventions,
    sample_weights: FloatArray | None = None,
) -> StepResult:
    """Train a network on one batch and return it with every intermediate stage.

    Parameters
    ----------
    network : Network
    samples : sequence of B Sample
    draws : sequence (layers) of sequences (B) of Draws
    optimizer : Optimizer
    conventions : Conventions
    sample_weights : ndarray, shape (B,), optional
        What each sample's loss is multiplied by; 1 unless given.  The mean stays one over B samples, so that the
        weights of a batch matter as such and not only beside each other.

    Raises
    ------
    ShapeError
        If the batch is empty, or there is not one weight a sample.
    """
    if not samples:
        raise ShapeError("samples: expected at least one, got none")
    weights = np.ones(len(samples)) if sample_weights is None else sample_weights
    require_shape(weights, (len(samples),), "sample_weights")
    steps = network.steps + 1
    passes = forward(network, samples, draws, conventions)
    gradients = backward(network, passes, conventions, weights)
    layers = tuple(
        update_layer(layer, gradient, steps, optimizer, conventions)
        for layer, gradient in zip(network.layers, gradients, strict=True)
    )
    loss = float(np.mean([weight * one_pass.loss for weight, one_pass in zip(weights, passes, strict=True)]))
    return StepResult(Network(layers, steps), passes, gradients, loss)
