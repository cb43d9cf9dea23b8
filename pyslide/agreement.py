"""How often neurons of a trained network really share a code with its inputs.

Codes are drawn anew, many more than the tables use.  The share of a thousand codes has a standard error below 0.016;
its K-th power is too large by about K^2 (1 - p) / (2000 p) of itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy import sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.choosing import Collisions
from pyslide.conventions import Conventions
from pyslide.engine.hashing import hash_codes
from pyslide.engine.network import HASHED_ROWS, Layer, Network
from pyslide.engine.vectors import Batch, append_coordinate, row_slices
from pyslide.errors import OutOfRangeError, ShapeError
from pyslide.inference import exact_top_k, hidden, require_features
from pyslide.parameters import Family
from pyslide.randomness import draw_distinct, draw_family
from pyslide.settings import Hashing

CODES, ROWS, TOP, RANDOM = 1000, 100, 100, 200
"""How many codes are compared, of how many inputs, with how many of the largest and of all other neurons."""


class Agreement(NamedTuple):
    """The share of codes that neurons have in common with inputs."""

    labels: FloatArray  # (sum of labels,)
    label_rows: IntArray  # (sum of labels,) which input each belongs to
    top: FloatArray  # (Q, k) neurons with the largest activations
    random: FloatArray  # (Q, n) any neurons

    def wanting(self, group: str) -> Collisions:
        """Return the collisions if the ``labels`` or the ``top`` neurons are to be found."""
        if group == "labels":
            return Collisions(self.labels, self.label_rows, self.random)
        return Collisions(self.top.ravel(), np.repeat(np.arange(len(self.top)), self.top.shape[1]), self.random)


def measure(
    network: Network,
    features: Batch,
    labels: sparse.csr_array,
    hashing: Hashing,
    conventions: Conventions,
    generator: Generator,
) -> Agreement:
    """Compare codes of the output layer's inputs with those of its neurons.

    Parameters
    ----------
    network : Network
    features : ndarray or csr_array, shape (rows, d)
    labels : csr_array, shape (rows, n)
    hashing : Hashing
        The family and its bin size; K and L are of no account.
    conventions : Conventions
    generator : Generator
        Draws the rows that are looked at, the random neurons and the hash functions.

    Raises
    ------
    ShapeError, NonFiniteError
        If the data do not fit the network.
    OutOfRangeError
        If no row has a label.
    """
    output = network.layers[-1]
    if labels.shape[1] != output.neurons:
        raise ShapeError(f"labels: expected {output.neurons} columns, got {labels.shape[1]}")
    labelled = np.flatnonzero(np.diff(labels.indptr))
    if labelled.size == 0:
        raise OutOfRangeError("labels: expected at least one row with a label")
    rows = labelled[draw_distinct(generator, labelled.size, min(ROWS, labelled.size))]
    features, labels = require_features(network, features)[rows], labels[rows]
    best = exact_top_k(network, features, min(TOP, output.neurons)).labels
    anyone = draw_distinct(generator, output.neurons, min(RANDOM, output.neurons))
    neurons, places = np.unique(np.concatenate([labels.indices, best.ravel(), anyone]), return_inverse=True)
    of_labels, of_best, of_anyone = np.split(places, [labels.indices.size, labels.indices.size + best.size])

    dimension = output.weights.shape[1]
    family = draw_family(generator, replace(hashing, codes_per_table=1, tables=CODES), dimension, conventions)
    asked = codes(hidden(network, features), np.ones(rows.size), family, conventions)
    held = neuron_codes(output, neurons, family, conventions)
    label_rows = np.repeat(np.arange(rows.size), np.diff(labels.indptr))
    return Agreement(
        shares(held[of_labels], asked[label_rows]),
        label_rows,
        np.array([shares(held[ids], one) for ids, one in zip(of_best.reshape(best.shape), asked, strict=True)]),
        np.array([shares(held[of_anyone], one) for one in asked]),
    )


def codes(batch: Batch, last: FloatArray, family: Family, conventions: Conventions) -> IntArray:
    """Return the codes of vectors, shape (B, C); ``last`` is the coordinate that a hashed bias adds (question 19)."""
    if conventions.bias_hashing == "hashed":
        batch = append_coordinate(batch, last)
    return hash_codes(batch, family, conventions)[0]


def neuron_codes(layer: Layer, neurons: IntArray, family: Family, conventions: Conventions) -> IntArray:
    """Return the codes of some neurons."""
    parts = []
    for chunk in row_slices(neurons.size, HASHED_ROWS):
        ids = neurons[chunk]
        parts.append(codes(layer.weights[ids], layer.biases[ids], family, conventions))
    return np.concatenate(parts)


def shares(first: IntArray, second: IntArray) -> FloatArray:
    """Return which share of codes is equal."""
    return np.mean(first == second, axis=-1)
