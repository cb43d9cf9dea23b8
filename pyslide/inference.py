"""Predictions: the exact top k without a matrix of all scores, and the sampled top k through the tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.forward import all_preactivations, hidden_output
from pyslide.engine.network import Layer, Network
from pyslide.engine.ragged import ActiveSets, group_starts, ranks_in_groups
from pyslide.engine.sampling import nobody
from pyslide.engine.step import Draws, LayerPass, layer_forward, pass_layer
from pyslide.engine.vectors import Batch, checked_batch, row_slices
from pyslide.errors import OutOfRangeError, ShapeError

SAMPLES_AT_A_TIME = 256
NEURONS_AT_A_TIME = 2**16
"""At most 2^24 scores exist at a time."""


class Ranking(NamedTuple):
    """The best labels of each row, best first; -1 and -inf where a row has fewer."""

    labels: IntArray  # (rows, k)
    scores: FloatArray  # (rows, k) logits


def require_features(network: Network, features: Batch) -> Batch:
    """Return the features in the network's precision.

    Raises
    ------
    ShapeError
        If the network takes another number of features.
    """
    first = network.layers[0]
    features = checked_batch(features, first.weights.dtype, "features")
    if features.shape[1] != first.weights.shape[1]:
        raise ShapeError(f"features: expected {first.weights.shape[1]} columns, got {features.shape[1]}")
    return features


def require_k(k: int, labels: int) -> None:
    """Refuse a k that is not in 1..labels.

    Raises
    ------
    OutOfRangeError
        With the range.
    """
    if not 1 <= k <= labels:
        raise OutOfRangeError(f"k: expected 1 to {labels}, the number of labels; got {k}")


def hidden(network: Network, features: Batch) -> Batch:
    """Return what the output layer takes, every neuron of every hidden layer computed."""
    for layer in network.layers[:-1]:
        sums = all_preactivations(layer.weights, layer.biases, features)
        features = hidden_output(sums, None, layer.neurons)
    return features


def merge(best: Ranking, labels: IntArray, scores: FloatArray) -> Ranking:
    """Return the best of two rankings side by side; equal scores go to the smaller label."""
    k = best.labels.shape[1]
    both = np.hstack([best.labels, labels]), np.hstack([best.scores, scores])
    order = np.lexsort((both[0], -both[1]), axis=1)[:, :k]
    return Ranking(np.take_along_axis(both[0], order, axis=1), np.take_along_axis(both[1], order, axis=1))


def block_top_k(scores: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """Return the columns and scores of each row's k largest, in ascending columns; equal ones by smaller column."""
    columns = scores.shape[1]
    if columns <= k:
        return np.tile(np.arange(columns), (len(scores), 1)), scores
    least = np.partition(scores, columns - k, axis=1)[:, columns - k, None]
    above = scores > least
    level = scores == least
    missing = k - above.sum(axis=1, keepdims=True)
    kept = above | (level & (np.cumsum(level, axis=1) <= missing))
    chosen = np.nonzero(kept)[1].reshape(-1, k)
    return chosen, np.take_along_axis(scores, chosen, axis=1)


def nothing_yet(rows: int, k: int, dtype: np.dtype[np.floating]) -> Ranking:
    """Return a ranking without labels."""
    return Ranking(np.full((rows, k), -1), np.full((rows, k), -np.inf, dtype=dtype))


def output_top_k(layer: Layer, inputs: Batch, k: int) -> Ranking:
    """Return the k largest logits of a layer for one chunk of samples, block by block of neurons."""
    best = nothing_yet(inputs.shape[0], k, layer.weights.dtype)
    for block in row_slices(layer.neurons, NEURONS_AT_A_TIME):
        columns, scores = block_top_k(all_preactivations(layer.weights[block], layer.biases[block], inputs), k)
        best = merge(best, columns + block.start, scores)
    return best


def exact_top_k(network: Network, features: Batch, k: int) -> Ranking:
    """Return the k labels with the largest logits, all neurons computed (question 20).

    Parameters
    ----------
    network : Network
    features : Batch, shape (rows, d)
    k : int

    Raises
    ------
    ShapeError, NonFiniteError, OutOfRangeError
        If the features do not fit the network or k the labels.
    """
    features = require_features(network, features)
    require_k(k, network.layers[-1].neurons)
    parts = [
        output_top_k(network.layers[-1], hidden(network, features[rows]), k)
        for rows in row_slices(features.shape[0], SAMPLES_AT_A_TIME)
    ]
    return stack(parts, k, network)


def all_logits(network: Network, features: Batch) -> FloatArray:
    """Return the logits of all labels, in pieces as `exact_top_k` computes them, and so the same numbers.

    Parameters
    ----------
    network : Network
    features : Batch, shape (rows, d)

    Returns
    -------
    ndarray, shape (rows, n)

    Raises
    ------
    ShapeError, NonFiniteError
        If the features do not fit the network.
    """
    features = require_features(network, features)
    output = network.layers[-1]
    logits = np.empty((features.shape[0], output.neurons), dtype=output.weights.dtype)
    for rows in row_slices(features.shape[0], SAMPLES_AT_A_TIME):
        inputs = hidden(network, features[rows])
        for block in row_slices(output.neurons, NEURONS_AT_A_TIME):
            logits[rows, block] = all_preactivations(output.weights[block], output.biases[block], inputs)
    return logits


def stack(parts: list[Ranking], k: int, network: Network) -> Ranking:
    """Return the rankings of consecutive chunks as one."""
    parts = [nothing_yet(0, k, network.layers[-1].weights.dtype), *parts]
    return Ranking(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def ragged_top_k(active: ActiveSets, scores: FloatArray, k: int) -> Ranking:
    """Return each row's best entries; fewer than k where the active set is smaller."""
    samples = active.samples
    order = np.lexsort((active.neurons, -scores, samples))
    ranks = ranks_in_groups(group_starts(samples), samples.size)
    kept = ranks < k
    best = nothing_yet(active.offsets.size - 1, k, scores.dtype)
    best.labels[samples[kept], ranks[kept]] = active.neurons[order[kept]]
    best.scores[samples[kept], ranks[kept]] = scores[order[kept]]
    return best


def sampled_top_k(network: Network, features: Batch, k: int, conventions: Conventions) -> Ranking:
    """Return the k best labels among the neurons that the tables give, without labels and without padding.

    Tables are read in their own order.

    Raises
    ------
    ShapeError, NonFiniteError, OutOfRangeError
        If the features do not fit the network or k the labels.
    """
    features = require_features(network, features)
    require_k(k, network.layers[-1].neurons)
    unpadded = conventions.replace(padding="none")
    parts = []
    for rows in row_slices(features.shape[0], SAMPLES_AT_A_TIME):
        inputs = features[rows]
        for layer in network.layers:
            last = retrieved_pass(layer, inputs, unpadded)
            inputs = hidden_output(last.sums, last.active, layer.neurons)
        active = last.active_sets(network.layers[-1].neurons)
        parts.append(ragged_top_k(active, last.sums.ravel(), k))
    return stack(parts, k, network)


def retrieved_pass(layer: Layer, inputs: Batch, unpadded: Conventions) -> LayerPass:
    """Return what a layer does for the neurons that its tables give, read in their own order; without tables for all.

    Candidates are for training only.
    """
    samples = inputs.shape[0]
    tables = 0 if layer.tables is None else layer.tables.multipliers.size
    in_order = np.tile(np.arange(tables), (samples, 1))
    draws = Draws(in_order, np.empty((samples, 0), dtype=np.int64))
    if layer.tables is None:
        return pass_layer(layer, inputs, None, draws, unpadded)
    return layer_forward(layer, inputs, nobody(samples), draws, unpadded)


def top_k(network: Network, features: Batch, k: int, conventions: Conventions) -> Ranking:
    """Return the k best labels, by the answer to question 20."""
    if conventions.inference == "sampled":
        return sampled_top_k(network, features, k, conventions)
    return exact_top_k(network, features, k)


def recall_against(exact: Ranking, sampled: Ranking) -> FloatArray:
    """Return for each row which share of the exact top k the sampled top k contains, shape (rows,)."""
    hits = (exact.labels[:, :, None] == sampled.labels[:, None, :]).any(axis=2)
    return hits.mean(axis=1)
