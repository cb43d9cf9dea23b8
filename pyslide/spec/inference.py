"""Predictions for one sample (question 20)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.spec.forward import hidden_output, preactivations
from pyslide.spec.network import Layer, Network
from pyslide.spec.sampling import NOBODY
from pyslide.spec.step import Draws, choose_active
from pyslide.spec.vectors import SparseVector


class Scores(NamedTuple):
    """The computed output neurons of a sample, ascending, and their logits."""

    neurons: IntArray
    logits: FloatArray


def neurons_at_inference(layer: Layer, inputs: SparseVector, conventions: Conventions) -> IntArray:
    """Return all neurons, or those that the tables give in their own order, without labels and without padding."""
    if layer.tables is None or conventions.inference == "all_neurons":
        return np.arange(layer.biases.size)
    draws = Draws(np.arange(len(layer.tables.tables)), NOBODY)
    return choose_active(layer, inputs, NOBODY, draws, conventions.replace(padding="none")).active


def scores(network: Network, features: SparseVector, conventions: Conventions) -> Scores:
    """Return the output neurons that are computed for a sample, and their logits."""
    inputs = features
    for layer in network.layers:
        active = neurons_at_inference(layer, inputs, conventions)
        sums = preactivations(layer.weights, layer.biases, active, inputs)
        inputs = hidden_output(sums, active, layer.biases.size)
    return Scores(active, sums)


def top_k(network: Network, features: SparseVector, k: int, conventions: Conventions) -> Scores:
    """Return the k neurons with the largest logits, best first; equal logits go to the smaller id.

    Fewer where fewer are computed.
    """
    computed = scores(network, features, conventions)
    best = np.argsort(-computed.logits, kind="stable")[:k]
    return Scores(computed.neurons[best], computed.logits[best])
