"""One training step for a batch, in place: the composition of the other rooms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray, require_shape
from pyslide.conventions import Conventions
from pyslide.engine.backward import (
    Gradient,
    batch_scale,
    full_gradient,
    full_input_error,
    output_error,
    sampled_gradient,
    sampled_input_error,
    through_relu,
)
from pyslide.engine.candidates import candidate_log_weights, candidate_sets
from pyslide.engine.forward import all_preactivations, hidden_output, preactivations, softmax
from pyslide.engine.loss import cross_entropy, targets
from pyslide.engine.network import Layer, Network, retrieve
from pyslide.engine.optimizer import Optimizer, update_biases, update_rows
from pyslide.engine.ragged import ActiveSets
from pyslide.engine.sampling import Chosen, active_sets, label_sets, log_weights, nobody
from pyslide.engine.threads import SERIAL, Threads
from pyslide.engine.vectors import Batch
from pyslide.errors import ShapeError


class Draws(NamedTuple):
    """The random choices of one layer for a batch."""

    orders: IntArray  # (B, L) in which order vanilla sampling reads the tables
    candidates: IntArray  # (B, any) distinct neurons for the padding, or (S,) candidates of a sampled softmax
    tries: int = 0  # how many draws gave the candidates of a sampled softmax


class LayerPass(NamedTuple):
    """What one layer does for a batch."""

    inputs: Batch  # (B, d)
    active: ActiveSets | None  # None: all neurons
    sums: FloatArray  # flat over the active sets, or (B, n), before the activation function
    log_weights: FloatArray | None  # flat, added to the logits of an output layer; None for zeros

    def active_sets(self, neurons: int) -> ActiveSets:
        """Return the active sets, written out where all neurons are active."""
        return everyone(self.inputs.shape[0], neurons) if self.active is None else self.active


class BatchPass(NamedTuple):
    """What all layers do for a batch."""

    layers: tuple[LayerPass, ...]
    active: ActiveSets  # of the output layer
    probabilities: FloatArray  # flat
    wanted: FloatArray  # flat
    losses: FloatArray  # (B,)


class StepResult(NamedTuple):
    """What led to a step; the network itself was changed."""

    batch_pass: BatchPass
    gradients: tuple[Gradient, ...]
    loss: float  # mean over the batch, each sample's multiplied by its weight


def everyone(samples: int, neurons: int) -> ActiveSets:
    """Return active sets that hold all neurons."""
    return ActiveSets(np.arange(samples + 1) * neurons, np.tile(np.arange(neurons), samples))


def choose_active(
    layer: Layer, inputs: Batch, labels: ActiveSets, draws: Draws, conventions: Conventions
) -> Chosen | None:
    """Return a layer's active sets; None, for all neurons, where it has neither tables nor candidates.

    What conventions say of active sets concerns tables; a sampled softmax is always the candidates and the labels.
    """
    if layer.candidates is not None:
        everyone = candidate_sets(draws.candidates, labels)
        return Chosen(everyone, everyone)
    if layer.tables is None:
        return None
    buckets = retrieve(inputs, layer.tables, conventions)
    sampling = layer.tables.sampling
    return active_sets(buckets, draws.orders, labels, draws.candidates, sampling, conventions, layer.neurons)


def layer_forward(
    layer: Layer,
    inputs: Batch,
    labels: ActiveSets,
    draws: Draws,
    conventions: Conventions,
    threads: Threads = SERIAL,
) -> LayerPass:
    """Return what one layer does for a batch."""
    chosen = choose_active(layer, inputs, labels, draws, conventions)
    if chosen is None:
        return LayerPass(inputs, None, all_preactivations(layer.weights, layer.biases, inputs), None)
    sums = preactivations(layer.weights, layer.biases, chosen.active, inputs, threads)
    return LayerPass(inputs, chosen.active, sums, choice_log_weights(layer, chosen, draws, conventions))


def choice_log_weights(layer: Layer, chosen: Chosen, draws: Draws, conventions: Conventions) -> FloatArray | None:
    """Return what is added to the logits because of how the active sets were chosen, flat; None for zeros."""
    drawn, dtype = layer.candidates, layer.weights.dtype
    if drawn is None and conventions.padding_weight == "one":
        return None
    if drawn is None:
        return log_weights(*chosen, layer.neurons, conventions.padding_weight, dtype)
    if not drawn.correction:
        return None
    size = draws.candidates.size
    return candidate_log_weights(chosen.active, drawn.ranks, drawn.distribution, size, draws.tries, dtype)


def forward(
    network: Network,
    features: Batch,
    labels: sparse.csr_array,
    draws: Sequence[Draws],
    conventions: Conventions,
    threads: Threads = SERIAL,
) -> BatchPass:
    """Return the forward pass of a batch.

    Parameters
    ----------
    network : Network
    features : Batch, shape (B, d)
    labels : csr_array, shape (B, n) of the output layer
        Stored elements are labels.
    draws : sequence of Draws, one a layer
        For a layer without tables and candidates it is not read.
    conventions : Conventions
    threads : Threads
    """
    inputs, none, own = features, nobody(features.shape[0]), label_sets(labels)
    passes: list[LayerPass] = []
    for depth, layer in enumerate(network.layers):
        last = depth == len(network.layers) - 1
        passes.append(layer_forward(layer, inputs, own if last else none, draws[depth], conventions, threads))
        if not last:
            inputs = hidden_output(passes[-1].sums, passes[-1].active, layer.neurons)
    return finish_pass(tuple(passes), own, network.layers[-1].neurons, conventions)


def finish_pass(
    layers: tuple[LayerPass, ...], labels: ActiveSets, neurons: int, conventions: Conventions
) -> BatchPass:
    """Return a batch's pass with outputs, targets and losses."""
    active, logits = layers[-1].active_sets(neurons), layers[-1].sums.ravel()
    if layers[-1].log_weights is not None:
        logits = logits + layers[-1].log_weights
    wanted = targets(active, labels, neurons, logits.dtype)
    losses = cross_entropy(logits, wanted, active.offsets)
    return BatchPass(layers, active, softmax(logits, active.offsets, conventions.softmax), wanted, losses)


def layer_backward(layer: Layer, layer_pass: LayerPass, error: FloatArray) -> Gradient:
    """Return the gradient by one layer, from the derivatives by its sums."""
    if layer_pass.active is None:
        return full_gradient(error, layer_pass.inputs)
    return sampled_gradient(error, layer_pass.active, layer_pass.inputs, layer.neurons)


def error_below(
    layer: Layer, layer_pass: LayerPass, error: FloatArray, threads: Threads = SERIAL
) -> FloatArray:
    """Return the derivatives by the sums of the layer below."""
    if layer_pass.active is None:
        below = full_input_error(error, layer.weights, layer_pass.inputs)
    else:
        below = sampled_input_error(error, layer.weights, layer_pass.active, layer_pass.inputs, threads)
    return through_relu(below, layer_pass.inputs)


def backward(
    network: Network,
    batch_pass: BatchPass,
    conventions: Conventions,
    threads: Threads = SERIAL,
    sample_weights: FloatArray | None = None,
) -> tuple[Gradient, ...]:
    """Return the gradients of a batch, one for each layer; a weight multiplies its sample's derivatives."""
    samples = batch_pass.active.offsets.size - 1
    error = output_error(
        batch_pass.probabilities, batch_pass.wanted, batch_pass.active.offsets, conventions.softmax
    )
    error *= error.dtype.type(batch_scale(samples, conventions.batch_reduction))
    if sample_weights is not None:
        error *= np.repeat(sample_weights.astype(error.dtype, copy=False), batch_pass.active.sizes)
    error = error.reshape(batch_pass.layers[-1].sums.shape)
    gradients = []
    for depth in range(len(network.layers) - 1, -1, -1):
        layer, layer_pass = network.layers[depth], batch_pass.layers[depth]
        gradients.append(layer_backward(layer, layer_pass, error))
        if depth:
            error = error_below(layer, layer_pass, error, threads)
    return tuple(gradients[::-1])


def update_layer(
    layer: Layer,
    gradient: Gradient,
    steps: int,
    optimizer: Optimizer,
    conventions: Conventions,
    threads: Threads = SERIAL,
) -> None:
    """Move a layer's weights and biases, in place."""
    update_rows(layer.rows, gradient.rows, gradient.left, gradient.right, steps, optimizer, conventions, threads)
    update_biases(layer.bias_rows, gradient.neurons, gradient.biases, steps, optimizer, conventions)


def training_step(
    network: Network,
    features: Batch,
    labels: sparse.csr_array,
    draws: Sequence[Draws],
    optimizer: Optimizer,
    conventions: Conventions,
    threads: Threads = SERIAL,
    sample_weights: FloatArray | None = None,
) -> StepResult:
    """Train a network on one batch, in place, and return every intermediate stage.

    Parameters
    ----------
    network : Network
    features : Batch, shape (B, d)
    labels : csr_array, shape (B, n)
    draws : sequence of Draws, one a layer
    optimizer : Optimizer
    conventions : Conventions
    threads : Threads
    sample_weights : ndarray, shape (B,), optional
        What each sample's loss is multiplied by; 1 unless given.  The mean stays one over B samples, so that the
        weights of a batch matter as such and not only beside each other.

    Raises
    ------
    ShapeError
        If the batch is empty, or there is not one weight a sample.
    """
    if features.shape[0] == 0:
        raise ShapeError("features: expected at least one sample, got none")
    if sample_weights is not None:
        require_shape(sample_weights, (features.shape[0],), "sample_weights")
    batch_pass = forward(network, features, labels, draws, conventions, threads)
    gradients = backward(network, batch_pass, conventions, threads, sample_weights)
    network.steps += 1
    for layer, gradient in zip(network.layers, gradients, strict=True):
        update_layer(layer, gradient, network.steps, optimizer, conventions, threads)
    losses = batch_pass.losses if sample_weights is None else sample_weights * batch_pass.losses
    return StepResult(batch_pass, gradients, float(losses.mean()))
