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
from pyslide.engine.forward import KEPT_BYTES, all_preactivations, hidden_output, preactivations, softmax
from pyslide.engine.loss import cross_entropy, targets
from pyslide.engine.network import Layer, Network, retrieve
from pyslide.engine.optimizer import Optimizer, update_biases, update_rows
from pyslide.engine.ragged import ActiveSets, join_sets
from pyslide.engine.sampling import Chosen, active_sets, label_sets, log_weights, nobody
from pyslide.engine.threads import SERIAL, Threads
from pyslide.engine.vectors import Batch, row_slices
from pyslide.errors import ShapeError

SAMPLE_GROUP = 16
"""Samples that a thread takes at a time, at most: enough that it computes more than it waits for the interpreter."""


class Draws(NamedTuple):
    """The random choices of one layer for a batch."""

    orders: IntArray  # (B, L) in which order vanilla sampling reads the tables
    candidates: IntArray  # (B, any) distinct neurons for the padding, or (S,) candidates of a sampled softmax
    tries: int = 0  # how many draws gave the candidates of a sampled softmax

    def group(self, samples: slice) -> Draws:
        """Return the choices of consecutive samples; the candidates of a sampled softmax are those of all samples."""
        candidates = self.candidates if self.candidates.ndim == 1 else self.candidates[samples]
        return Draws(self.orders[samples], candidates, self.tries)


class LayerPass(NamedTuple):
    """What one layer does for a batch."""

    inputs: Batch  # (B, d)
    active: ActiveSets | None  # None: all neurons
    sums: FloatArray  # flat over the active sets, or (B, n), before the activation function
    log_weights: FloatArray | None  # flat, added to the logits of an output layer; None for zeros
    kept: FloatArray | None = None  # flat (., d): the weights of the active neurons, where they were kept

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


class OutputErrors(NamedTuple):
    """The derivatives of a batch's loss, by the sums of the output layer and by those of the layer below."""

    error: FloatArray  # flat, or (B, n)
    below: FloatArray | None  # None where there is no layer below


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
        active = candidate_sets(draws.candidates, labels)
        return Chosen(active, active)
    if layer.tables is None:
        return None
    buckets = retrieve(inputs, layer.tables, conventions)
    sampling = layer.tables.sampling
    return active_sets(buckets, draws.orders, labels, draws.candidates, sampling, conventions, layer.neurons)


def layer_forward(
    layer: Layer, inputs: Batch, labels: ActiveSets, draws: Draws, conventions: Conventions
) -> LayerPass:
    """Return what one layer does for a batch."""
    return pass_layer(layer, inputs, choose_active(layer, inputs, labels, draws, conventions), draws, conventions)


def pass_layer(
    layer: Layer, inputs: Batch, chosen: Chosen | None, draws: Draws, conventions: Conventions
) -> LayerPass:
    """Return what one layer does for a batch, its neurons chosen; None for all of them."""
    if chosen is None:
        return LayerPass(inputs, None, all_preactivations(layer.weights, layer.biases, inputs), None)
    sums, kept = preactivations(layer.weights, layer.biases, chosen.active, inputs)
    weights = choice_log_weights(layer, chosen, draws, conventions)
    return LayerPass(inputs, chosen.active, sums, weights, kept)


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


def hidden_forward(
    network: Network, features: Batch, draws: Sequence[Draws], conventions: Conventions
) -> tuple[tuple[LayerPass, ...], Batch]:
    """Return what the hidden layers do for a batch, and the inputs of the output layer."""
    inputs, none = features, nobody(features.shape[0])
    passes: list[LayerPass] = []
    for layer, own in zip(network.layers[:-1], draws, strict=False):
        done = layer_forward(layer, inputs, none, own, conventions)
        passes.append(done._replace(kept=None))  # which only the way back through the output layer reads
        inputs = hidden_output(passes[-1].sums, passes[-1].active, layer.neurons)
    return tuple(passes), inputs


def forward(
    network: Network, features: Batch, labels: sparse.csr_array, draws: Sequence[Draws], conventions: Conventions
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
    """
    hidden, inputs = hidden_forward(network, features, draws, conventions)
    own, output = label_sets(labels), network.layers[-1]
    last = layer_forward(output, inputs, own, draws[-1], conventions)
    return finish_pass((*hidden, last), own, output.neurons, conventions)


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


def output_errors(
    layer: Layer,
    batch_pass: BatchPass,
    scale: float,
    conventions: Conventions,
    sample_weights: FloatArray | None = None,
) -> OutputErrors:
    """Return the derivatives at the output layer.

    Parameters
    ----------
    layer : Layer
    batch_pass : BatchPass
        Of a batch, or of some of its samples.
    scale : float
        What `batch_scale` gives for the whole batch.
    conventions : Conventions
    sample_weights : ndarray, shape (samples of the pass,), optional
        What each sample's derivatives are multiplied by.
    """
    last = batch_pass.layers[-1]
    error = output_error(
        batch_pass.probabilities, batch_pass.wanted, batch_pass.active.offsets, conventions.softmax
    )
    error *= error.dtype.type(scale)
    if sample_weights is not None:
        error *= np.repeat(sample_weights.astype(error.dtype, copy=False), batch_pass.active.sizes)
    error = error.reshape(last.sums.shape)
    return OutputErrors(error, error_below(layer, last, error) if len(batch_pass.layers) > 1 else None)


def join_passes(hidden: tuple[LayerPass, ...], inputs: Batch, parts: Sequence[BatchPass]) -> BatchPass:
    """Return the pass of a whole batch from those of groups of its samples."""
    if len(parts) == 1:
        return parts[0]._replace(layers=(*hidden, *parts[0].layers))
    lasts = [part.layers[-1] for part in parts]
    weighted = lasts[0].log_weights is not None
    active = join_sets([part.active for part in parts])
    last = LayerPass(
        inputs,
        None if lasts[0].active is None else active,
        np.concatenate([one.sums for one in lasts]),
        np.concatenate([one.log_weights for one in lasts if one.log_weights is not None]) if weighted else None,
    )
    probabilities, wanted, losses = (
        np.concatenate(arrays)
        for arrays in zip(*((part.probabilities, part.wanted, part.losses) for part in parts), strict=True)
    )
    return BatchPass((*hidden, last), active, probabilities, wanted, losses)


def join_errors(parts: Sequence[OutputErrors]) -> OutputErrors:
    """Return the derivatives of a whole batch from those of groups of its samples."""
    if len(parts) == 1:
        return parts[0]
    below = [part.below for part in parts if part.below is not None]
    return OutputErrors(np.concatenate([part.error for part in parts]), np.concatenate(below) if below else None)


def choose_for_batch(
    layer: Layer, inputs: Batch, labels: ActiveSets, draws: Draws, conventions: Conventions, threads: Threads = SERIAL
) -> Chosen | None:
    """Return what `choose_active` gives, by groups of samples, or for all at once where they share one active set."""
    if not layer.sampled:
        return None
    shared = layer.tables is not None and conventions.active_set == "union_of_batch"
    samples = inputs.shape[0]

    def one_group(rows: slice) -> Chosen | None:
        return choose_active(layer, inputs[rows], labels.group(rows), draws.group(rows), conventions)

    parts = threads.map(one_group, row_slices(samples, samples if shared else SAMPLE_GROUP))
    chosen = [part for part in parts if part is not None]
    return Chosen(join_sets([part.active for part in chosen]), join_sets([part.selected for part in chosen]))


def sample_groups(samples: int, chosen: Chosen | None, layer: Layer) -> list[slice]:
    """Return the samples that go through the output layer together: as many as their weights can be kept of.

    All of them where one product computes all neurons.
    """
    if chosen is None:
        return [slice(0, samples)]
    row_bytes = layer.weights.shape[1] * layer.weights.itemsize
    ends = chosen.active.offsets * row_bytes  # (B+1,) where each sample's weights would end in memory
    groups, start = [], 0
    for stop in range(1, samples + 1):
        if stop == samples or stop - start == SAMPLE_GROUP or ends[stop + 1] - ends[start] > KEPT_BYTES:
            groups.append(slice(start, stop))
            start = stop
    return groups


def there_and_back(
    network: Network,
    features: Batch,
    labels: sparse.csr_array,
    draws: Sequence[Draws],
    conventions: Conventions,
    threads: Threads = SERIAL,
    sample_weights: FloatArray | None = None,
) -> tuple[BatchPass, OutputErrors]:
    """Return the forward pass of a batch and the derivatives at its output layer, in groups of samples.

    What `forward` and `output_errors` give one after the other.  A group's weights are gathered once, for both ways,
    and stay in the cache; threads take a group each.  Groups do not depend on the number of threads.
    """
    layer, own = network.layers[-1], label_sets(labels)
    hidden, inputs = hidden_forward(network, features, draws, conventions)
    samples = features.shape[0]
    scale = batch_scale(samples, conventions.batch_reduction)
    chosen = choose_for_batch(layer, inputs, own, draws[-1], conventions, threads)

    def one_group(rows: slice) -> tuple[BatchPass, OutputErrors]:
        some = None if chosen is None else chosen.group(rows)
        last = pass_layer(layer, inputs[rows], some, draws[-1].group(rows), conventions)
        part = finish_pass((*hidden, last), own.group(rows), layer.neurons, conventions)
        weights = None if sample_weights is None else sample_weights[rows]
        errors = output_errors(layer, part, scale, conventions, weights)
        return part._replace(layers=(part.layers[-1]._replace(kept=None),)), errors

    passes, errors = zip(*threads.map(one_group, sample_groups(samples, chosen, layer)), strict=True)
    return join_passes(hidden, inputs, passes), join_errors(errors)


def layer_backward(layer: Layer, layer_pass: LayerPass, error: FloatArray) -> Gradient:
    """Return the gradient by one layer, from the derivatives by its sums."""
    if layer_pass.active is None:
        return full_gradient(error, layer_pass.inputs)
    return sampled_gradient(error, layer_pass.active, layer_pass.inputs, layer.neurons)


def error_below(layer: Layer, layer_pass: LayerPass, error: FloatArray) -> FloatArray:
    """Return the derivatives by the sums of the layer below."""
    if layer_pass.active is None:
        below = full_input_error(error, layer.weights, layer_pass.inputs)
    else:
        below = sampled_input_error(error, layer.weights, layer_pass.active, layer_pass.inputs, layer_pass.kept)
    return through_relu(below, layer_pass.inputs)


def gradients_from(network: Network, batch_pass: BatchPass, errors: OutputErrors) -> tuple[Gradient, ...]:
    """Return the gradients of a batch, one for each layer, from the derivatives at the output layer."""
    gradients = [layer_backward(network.layers[-1], batch_pass.layers[-1], errors.error)]
    error, depth = errors.below, len(network.layers) - 2
    while error is not None:
        layer, layer_pass = network.layers[depth], batch_pass.layers[depth]
        gradients.append(layer_backward(layer, layer_pass, error))
        error, depth = (error_below(layer, layer_pass, error) if depth else None), depth - 1
    return tuple(gradients[::-1])


def backward(
    network: Network, batch_pass: BatchPass, conventions: Conventions, sample_weights: FloatArray | None = None
) -> tuple[Gradient, ...]:
    """Return the gradients of a batch, one for each layer; a weight multiplies its sample's derivatives."""
    scale = batch_scale(batch_pass.active.offsets.size - 1, conventions.batch_reduction)
    errors = output_errors(network.layers[-1], batch_pass, scale, conventions, sample_weights)
    return gradients_from(network, batch_pass, errors)


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
    batch_pass, errors = there_and_back(network, features, labels, draws, conventions, threads, sample_weights)
    gradients = gradients_from(network, batch_pass, errors)
    network.steps += 1
    for layer, gradient in zip(network.layers, gradients, strict=True):
        update_layer(layer, gradient, network.steps, optimizer, conventions, threads)
    losses = batch_pass.losses if sample_weights is None else sample_weights * batch_pass.losses
    return StepResult(batch_pass, gradients, float(losses.mean()))
