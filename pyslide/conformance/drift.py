"""How far a right implementation in lower precision can drift from the spec, step by step.

Every number of a training step is followed by a bound of its error, to first order and with all signs against us: a
sum of n products is off by gamma_n = n u / (1 - n u) of the absolute products (Higham 2002, section 3.1) and by what
its terms are off.  Active sets and tables are the spec's: a hash that tips over by rounding is beyond any bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pyslide.arrays import BoolArray, FloatArray
from pyslide.conventions import Conventions
from pyslide.spec.backward import batch_scale, output_error
from pyslide.spec.network import Layer, Moments
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.step import LayerPass, SamplePass, StepResult
from pyslide.spec.vectors import to_dense


class Off(NamedTuple):
    """By how much an array of weights and its moments may be off."""

    values: FloatArray
    first: FloatArray
    second: FloatArray


@dataclass(frozen=True, eq=False)
class LayerDrift:
    """By how much a layer's weights and biases, with their moments, may be off."""

    weights: Off
    biases: Off


class GradientDrift(NamedTuple):
    """By how much a layer's gradient may be off."""

    weights: FloatArray
    biases: FloatArray


def gamma(terms: int, unit: float) -> float:
    """Return n u / (1 - n u)."""
    return terms * unit / (1 - terms * unit)


def at_first(layer: Layer, unit: float) -> LayerDrift:
    """Return the drift before training: the weights are rounded once, the moments are 0."""
    return LayerDrift(*(
        Off(unit * np.abs(array), np.zeros_like(array), np.zeros_like(array))
        for array in (layer.weights, layer.biases)
    ))  # fmt: skip


class Passed(NamedTuple):
    """A sample's input to a layer and the layer's sums, dense, with what they may be off."""

    inputs: FloatArray  # (d,)
    inputs_off: FloatArray  # (d,)
    sums: FloatArray  # (n,), 0 for those that are not active
    sums_off: FloatArray  # (n,)


def passed(layer: Layer, drift: LayerDrift, done: LayerPass, inputs_off: FloatArray, unit: float) -> Passed:
    """Return what one layer's sums may be off for a sample."""
    inputs, active = to_dense(done.inputs), done.active
    weights, off = np.abs(layer.weights[active]), drift.weights.values[active]  # (s, d)
    sizes = (weights + off) @ (np.abs(inputs) + inputs_off) + np.abs(layer.biases[active])
    carried = weights @ inputs_off + off @ (np.abs(inputs) + inputs_off) + drift.biases.values[active]
    sums, sums_off = np.zeros(layer.biases.size), np.zeros(layer.biases.size)
    sums[active], sums_off[active] = done.sums, carried + gamma(done.inputs.indices.size + 1, unit) * sizes
    return Passed(inputs, inputs_off, sums, sums_off)


def passes(layers: tuple[Layer, ...], drifts: list[LayerDrift], one: SamplePass, unit: float) -> list[Passed]:
    """Return all layers' inputs and sums for a sample; ReLU hands errors on as they are."""
    found: list[Passed] = []
    off: FloatArray = unit * np.abs(to_dense(one.layers[0].inputs))
    for layer, drift, done in zip(layers, drifts, one.layers, strict=True):
        found.append(passed(layer, drift, done, off, unit))
        off = found[-1].sums_off
    return found


def error_drift(one: SamplePass, last: Passed, samples: int, unit: float, conventions: Conventions) -> FloatArray:
    """Return what the errors of the output neurons may be off, shape (s,).

    Logits that are off by d change a probability by a factor within exp(2 d); s terms, exp and a quotient add
    gamma_{s+8}.
    """
    active = one.layers[-1].active
    factor = np.expm1(2 * last.sums_off[active].max(initial=0)) + gamma(active.size + 8, unit)
    change = np.minimum(factor * one.probabilities, 1.0) + 4 * unit * (one.probabilities + one.wanted)
    return np.asarray(batch_scale(samples, conventions.batch_reduction) * change)


def layer_gradient_drift(
    one: Passed, error: FloatArray, error_off: FloatArray, samples: int, unit: float
) -> GradientDrift:
    """Return what one sample adds to the drift of a layer's gradient; errors are dense, shape (n,)."""
    sizes, products = np.abs(error), gamma(samples + 3, unit)
    weights = np.outer(sizes, one.inputs_off) + np.outer(error_off, np.abs(one.inputs) + one.inputs_off)
    return GradientDrift(
        weights + products * np.outer(sizes, np.abs(one.inputs)), error_off + products * sizes
    )


def below(
    layer: Layer, drift: LayerDrift, lower: Passed, error: FloatArray, error_off: FloatArray, unit: float
) -> tuple[FloatArray, FloatArray]:
    """Return the error below a layer's ReLU, and what it may be off; where the gate is in doubt, all of it."""
    weights, off = np.abs(layer.weights), drift.weights.values
    size, plain = np.abs(error) @ weights, error @ layer.weights
    carried = error_off @ (weights + off) + np.abs(error) @ off
    carried += gamma(int(np.count_nonzero(error)) + 1, unit) * (size + carried)
    open_ = lower.sums > 0
    doubtful = (np.abs(lower.sums) <= lower.sums_off) & (lower.sums_off > 0)
    return plain * open_, np.where(doubtful, np.abs(plain) + carried, carried * open_)


def gradient_drifts(
    layers: tuple[Layer, ...], drifts: list[LayerDrift], result: StepResult, unit: float, conventions: Conventions
) -> list[GradientDrift]:
    """Return by how much each layer's gradient of a batch may be off."""
    samples = len(result.passes)
    total = [GradientDrift(np.zeros_like(layer.weights), np.zeros_like(layer.biases)) for layer in layers]
    for one in result.passes:
        found, active = passes(layers, drifts, one, unit), one.layers[-1].active
        error: FloatArray = np.zeros(layers[-1].biases.size)
        error_off: FloatArray = np.zeros(layers[-1].biases.size)
        error[active] = batch_scale(samples, conventions.batch_reduction) * output_error(
            one.probabilities, one.wanted, conventions.softmax
        )
        error_off[active] = error_drift(one, found[-1], samples, unit, conventions)
        for depth in range(len(layers) - 1, -1, -1):
            part = layer_gradient_drift(found[depth], error, error_off, samples, unit)
            total[depth] = GradientDrift(*(sum_ + more for sum_, more in zip(total[depth], part, strict=True)))
            if depth:
                error, error_off = below(layers[depth], drifts[depth], found[depth - 1], error, error_off, unit)
    return total


def sgd_drift(off: Off, change: FloatArray, after: Off, optimizer: Optimizer, unit: float) -> Off:
    """Return the drift after a step of SGD; ``after`` holds the sizes of values and velocity."""
    velocity = optimizer.momentum * off.first + change + 4 * unit * np.abs(after.first)
    moved = optimizer.learning_rate * (velocity + 3 * unit * np.abs(after.first))
    return Off(off.values + moved + unit * np.abs(after.values), velocity, off.second)


def adam_drift(
    off: Off, gradient: FloatArray, change: FloatArray, after: Off, step: int, optimizer: Optimizer, unit: float
) -> Off:
    """Return the drift after a step of Adam.

    1 - beta, in low precision, has lost the leading digits of beta: its relative error is up to 4 u / (1 - beta), that
    of 1 - beta^t as well.  The step m / (sqrt(v) + epsilon) is taken at the corners of what m and v may be.  No step
    is larger than rate * max(1, (1 - beta1) / sqrt(1 - beta2)) (Kingma and Ba 2015, section 2.1), and so no error
    than the two steps together.
    """
    lost = [4 * unit / (1 - decay) for decay in (optimizer.first_decay, optimizer.second_decay)]
    size = np.abs(gradient)
    first = optimizer.first_decay * off.first + (1 - optimizer.first_decay) * (change + lost[0] * size)
    first += 3 * unit * np.abs(after.first)
    square = 2 * size * change + change**2 + lost[1] * size**2
    second = optimizer.second_decay * off.second + (1 - optimizer.second_decay) * square + 3 * unit * after.second
    corrections = 1 - optimizer.first_decay**step, 1 - optimizer.second_decay**step

    def moved(numerator: FloatArray, squares: FloatArray) -> FloatArray:
        root = np.sqrt(np.maximum(squares, 0) / corrections[1])
        return np.asarray(optimizer.learning_rate * numerator / corrections[0] / (root + optimizer.epsilon))

    middle = moved(np.abs(after.first), after.second)
    largest = moved(np.abs(after.first) + first, after.second - second)
    least = np.abs(after.first) - first  # negative where the sign is in doubt
    smallest = moved(least, after.second + np.where(least < 0, -second, second))
    apart = np.maximum(largest - middle, middle - smallest) + (lost[0] + lost[1] + 8 * unit) * middle
    limit = optimizer.learning_rate * max(1.0, (1 - optimizer.first_decay) / (1 - optimizer.second_decay) ** 0.5)
    apart = np.minimum(apart, middle + 1.001 * limit)
    return Off(off.values + apart + unit * np.abs(after.values), first, second)


def updated(
    off: Off, gradient: FloatArray, change: FloatArray, after: Off, moved: BoolArray, step: int, optimizer: Optimizer,
    unit: float,
) -> Off:
    """Return the drift after an update; rows that rest drift no further."""
    new = (
        sgd_drift(off, change, after, optimizer, unit)
        if optimizer.rule == "sgd"
        else adam_drift(off, gradient, change, after, step, optimizer, unit)
    )
    return Off(*(np.where(moved, array, old) for array, old in zip(new, off, strict=True)))


def off_of(values: FloatArray, moments: Moments) -> Off:
    """Return an array with its moments, whose sizes the roundings are relative to."""
    return Off(values, moments.first, moments.second)


def after_step(
    layers: tuple[Layer, ...],
    drifts: list[LayerDrift],
    result: StepResult,
    optimizer: Optimizer,
    conventions: Conventions,
    unit: float,
) -> list[LayerDrift]:
    """Return the drift of every layer after a step.

    Parameters
    ----------
    layers : tuple of Layer
        Before the step.
    drifts : list of LayerDrift
        Before the step.
    result : StepResult
        The spec's step.
    optimizer : Optimizer
    conventions : Conventions
    unit : float
        u, the unit of rounding of the implementation.
    """
    changes = gradient_drifts(layers, drifts, result, unit, conventions)
    everything = conventions.adam_rows == "every_weight"
    new = []
    for depth, (drift, change, gradient) in enumerate(zip(drifts, changes, result.gradients, strict=True)):
        after = result.network.layers[depth]
        touched = gradient.neurons[:, None] if after.tables is not None else gradient.inputs[None, :]
        step = result.network.steps
        weights = updated(
            drift.weights, gradient.weights, change.weights, off_of(after.weights, after.weight_moments),
            np.asarray(touched | everything), step, optimizer, unit,
        )  # fmt: skip
        biases = updated(
            drift.biases, gradient.biases, change.biases, off_of(after.biases, after.bias_moments),
            np.asarray(gradient.neurons | everything), step, optimizer, unit,
        )  # fmt: skip
        new.append(replace(drift, weights=weights, biases=biases))
    return new
