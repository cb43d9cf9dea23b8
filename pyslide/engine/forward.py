"""Activations of the active sets of a batch, and of nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.ragged import ActiveSets, segment_reduce
from pyslide.engine.vectors import Batch, is_sparse, row_slices

BLOCK_ROWS = 1024
"""Weights that are gathered and multiplied at a time: they stay in the second-level cache, and a product of more would
wake BLAS's own threads, which then fight with ours."""
KEPT_BYTES = 2**24
"""Up to this, a group's gathered weights are kept for the way back: those of a few threads fit a last-level cache."""


def all_preactivations(weights: FloatArray, biases: FloatArray, inputs: Batch) -> FloatArray:
    """Return w_a . x + b_a for all neurons, shape (B, n)."""
    return np.asarray(inputs @ weights.T) + biases


def gathered(weights: FloatArray, neurons: IntArray, scratch: FloatArray) -> FloatArray:
    """Return the weights of some neurons, shape (s, d), copied into memory that is used again.

    New memory for every sample would cost more than the copy: the system clears each page first.
    """
    block = scratch[: neurons.size]
    weights.take(neurons, axis=0, out=block, mode="clip")
    return block


def sample_blocks(active: ActiveSets) -> Iterator[tuple[int, slice]]:
    """Yield the active sets in blocks: the sample, and the places of its neurons in the flat arrays."""
    for sample in range(active.offsets.size - 1):
        for block in row_slices(int(active.offsets[sample + 1]), BLOCK_ROWS, int(active.offsets[sample])):
            yield sample, block


class Preactivations(NamedTuple):
    """The sums of the active neurons, and the weights that led to them where they were kept."""

    sums: FloatArray  # flat
    kept: FloatArray | None  # flat (., d)


def preactivations(weights: FloatArray, biases: FloatArray, active: ActiveSets, inputs: Batch) -> Preactivations:
    """Return w_a . x + b_a for each sample's active neurons, flat.

    Weights are kept where the inputs are dense and the active neurons few enough.

    Parameters
    ----------
    weights : ndarray, shape (n, d)
    biases : ndarray, shape (n,)
    active : ActiveSets
    inputs : Batch, shape (B, d)
    """
    if is_sparse(inputs):
        sums, kept = sparse_products(weights, active, inputs), None
    else:
        sums, kept = dense_products(weights, active, inputs)
    sums += biases[active.neurons]
    return Preactivations(sums, kept)


def dense_products(weights: FloatArray, active: ActiveSets, inputs: FloatArray) -> Preactivations:
    """Return w_a . x for the active neurons of all samples; `numpy.vecdot` starts no threads of its own."""
    sums = np.empty(active.neurons.size, dtype=weights.dtype)
    kept = sums.size * weights.shape[1] * weights.itemsize <= KEPT_BYTES
    memory = np.empty((sums.size if kept else BLOCK_ROWS, weights.shape[1]), dtype=weights.dtype)
    for sample, block in sample_blocks(active):
        gathered_ = gathered(weights, active.neurons[block], memory[block] if kept else memory)
        np.vecdot(gathered_, inputs[sample], out=sums[block])  # (s, d) . (d,)
    return Preactivations(sums, memory if kept else None)


def sparse_products(weights: FloatArray, active: ActiveSets, inputs: Batch) -> FloatArray:
    """Return w_a . x for the active neurons of all samples; only the entries of the inputs are multiplied."""
    sums = np.empty(active.neurons.size, dtype=weights.dtype)
    for sample in range(active.offsets.size - 1):
        entries = slice(*inputs.indptr[sample : sample + 2])
        block = weights[np.ix_(active.of(sample), inputs.indices[entries])]  # (s, entries)
        sums[slice(*active.offsets[sample : sample + 2])] = np.vecdot(block, inputs.data[entries])
    return sums


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
