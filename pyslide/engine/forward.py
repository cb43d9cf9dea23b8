"""Activations of the active sets of a batch, and of nobody else."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.ragged import ActiveSets, segment_reduce
from pyslide.engine.threads import SERIAL, Threads
from pyslide.engine.vectors import Batch, is_sparse

SAMPLE_GROUP = 8
"""Samples that a thread takes at a time."""


def all_preactivations(weights: FloatArray, biases: FloatArray, inputs: Batch) -> FloatArray:
    """Return w_a . x + b_a for all neurons, shape (B, n)."""
    return np.asarray(inputs @ weights.T) + biases


def gathered(weights: FloatArray, neurons: IntArray, scratch: FloatArray) -> FloatArray:
    """Return the weights of some neurons, shape (s, d), copied row by row into scratch memory that is used again.

    New memory for every sample would cost more than the copy: the system clears each page first.
    """
    block = scratch[: neurons.size]
    weights.take(neurons, axis=0, out=block, mode="clip")
    return block


def _scratch_for(weights: FloatArray, active: ActiveSets) -> FloatArray:
    """Return memory for the weights of the largest active set."""
    return np.empty((int(active.sizes.max(initial=0)), weights.shape[1]), dtype=weights.dtype)


def sample_groups(samples: int) -> list[range]:
    """Return the samples of a batch in the groups that threads take."""
    return [range(start, min(start + SAMPLE_GROUP, samples)) for start in range(0, samples, SAMPLE_GROUP)]


def preactivations(
    weights: FloatArray, biases: FloatArray, active: ActiveSets, inputs: Batch, threads: Threads = SERIAL
) -> FloatArray:
    """Return w_a . x + b_a for each sample's active neurons, flat.

    One gather and one product a sample: the gathered block stays in the cache.

    Parameters
    ----------
    weights : ndarray, shape (n, d)
    biases : ndarray, shape (n,)
    active : ActiveSets
    inputs : Batch, shape (B, d)
    threads : Threads

    Returns
    -------
    ndarray, shape (active.neurons.size,)
    """
    sums = np.empty(active.neurons.size, dtype=weights.dtype)
    products = sparse_products if is_sparse(inputs) else dense_products

    def group_sums(group: range) -> None:
        products(weights, active, inputs, group, sums)

    threads.map(group_sums, sample_groups(active.offsets.size - 1))
    sums += biases[active.neurons]
    return sums


def dense_products(
    weights: FloatArray, active: ActiveSets, inputs: FloatArray, group: range, sums: FloatArray
) -> None:
    """Write w_a . x for the active neurons of some samples; `numpy.vecdot` starts no threads of its own."""
    scratch = _scratch_for(weights, active)
    for sample in group:
        block = gathered(weights, active.of(sample), scratch)
        np.vecdot(block, inputs[sample], out=sums[slice(*active.offsets[sample : sample + 2])])  # (s, d) . (d,)


def sparse_products(
    weights: FloatArray, active: ActiveSets, inputs: Batch, group: range, sums: FloatArray
) -> None:
    """Write w_a . x for the active neurons of some samples; only the entries of the inputs are multiplied."""
    for sample in group:
        entries = slice(*inputs.indptr[sample : sample + 2])
        block = weights[np.ix_(active.of(sample), inputs.indices[entries])]  # (s, entries)
        sums[slice(*active.offsets[sample : sample + 2])] = np.vecdot(block, inputs.data[entries])


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
