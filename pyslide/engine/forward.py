"""Activations of the active sets of a batch, and of nobody else."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.ragged import ActiveSets, segment_reduce
from pyslide.engine.vectors import Batch, is_sparse


def all_preactivations(weights: FloatArray, biases: FloatArray, inputs: Batch) -> FloatArray:
    """Return w_a . x + b_a for all neurons, shape (B, n)."""
    return np.asarray(inputs @ weights.T) + biases


def gathered(weights: FloatArray, neurons: IntArray) -> FloatArray:
    """Return the weights of some neurons, shape (s, d): one copy of whole rows."""
    return weights.take(neurons, axis=0, mode="clip")


def preactivations(weights: FloatArray, biases: FloatArray, active: ActiveSets, inputs: Batch) -> FloatArray:
    """Return w_a . x + b_a for each sample's active neurons, flat.

    One gather and one matrix-vector product a sample: the gathered block stays in the cache.

    Parameters
    ----------
    weights : ndarray, shape (n, d)
    biases : ndarray, shape (n,)
    active : ActiveSets
    inputs : Batch, shape (B, d)

    Returns
    -------
    ndarray, shape (active.neurons.size,)
    """
    sums = np.empty(active.neurons.size, dtype=weights.dtype)
    for sample in range(active.offsets.size - 1):
        span = slice(active.offsets[sample], active.offsets[sample + 1])
        sums[span] = active_products(weights, active.neurons[span], inputs, sample)
    sums += biases[active.neurons]
    return sums


def active_products(weights: FloatArray, neurons: IntArray, inputs: Batch, sample: int) -> FloatArray:
    """Return w_a . x for one sample's active neurons, shape (s,); only entries of a sparse input are multiplied."""
    if not is_sparse(inputs):
        return gathered(weights, neurons) @ inputs[sample]  # (s, d) @ (d,)
    entries = slice(inputs.indptr[sample], inputs.indptr[sample + 1])
    return weights[np.ix_(neurons, inputs.indices[entries])] @ inputs.data[entries]  # (s, entries) @ (entries,)


def relu(sums: FloatArray) -> FloatArray:
    """Return max(0, z)."""
    return np.maximum(sums, 0)


def hidden_output(sums: FloatArray, active: ActiveSets | None, neurons: int) -> Batch:
    """Return a hidden layer's output: dense where all neurons are active, else a CSR array of the active ones."""
    if active is None:
        return relu(sums)
    shape = (active.offsets.size - 1, neurons)
    return sparse.csr_array((relu(sums), active.neurons, active.offsets), shape=shape)


def stable_softmax(logits: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the softmax of each row of flat logits, the row's maximum subtracted first."""
    maxima = segment_reduce(np.maximum, logits, offsets, 0.0)
    exponentials = np.exp(logits - np.repeat(maxima, np.diff(offsets)))
    sums = segment_reduce(np.add, exponentials, offsets, 1.0)
    exponentials /= np.repeat(sums, np.diff(offsets))
    return exponentials


def softmax_from_zero(logits: FloatArray, offsets: IntArray) -> FloatArray:
    """Return what the original program computes: the maximum search starts at 0, and 1e-7 is added to the sum."""
    maxima = np.maximum(segment_reduce(np.maximum, logits, offsets, 0.0), 0)
    exponentials = np.exp(logits - np.repeat(maxima, np.diff(offsets)))
    sums = segment_reduce(np.add, exponentials, offsets, 1.0) + logits.dtype.type(1e-7)
    exponentials /= np.repeat(sums, np.diff(offsets))
    return exponentials


SOFTMAXES = {"stable": stable_softmax, "maximum_from_zero": softmax_from_zero}
"""The softmax functions, by the answer to question 23."""


def softmax(logits: FloatArray, offsets: IntArray, convention: str) -> FloatArray:
    """Return the outputs of the active sets of the last layer, flat."""
    return SOFTMAXES[convention](logits, offsets)
