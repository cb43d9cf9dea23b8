"""Gradients flow from active neurons to active neurons, for a batch.

The gradient by a layer's weights is never written out whole.  It is a product of two factors, the errors and the inputs
of the batch, of which the optimiser multiplies out a few rows at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.forward import BLOCK_ROWS, gathered, sample_blocks
from pyslide.engine.ragged import ActiveSets, segment_reduce
from pyslide.engine.vectors import Batch, is_sparse
from pyslide.spec.backward import batch_scale as batch_scale  # says something of a batch, not of a sample


class Gradient(NamedTuple):
    """The gradient by one layer, summed over a batch, for the rows that the batch touched.

    A row is a neuron in a layer with tables, an input coordinate in a layer without.
    """

    rows: IntArray  # (rows,) rising
    left: Batch  # (rows, B)
    right: FloatArray  # (B, width): left @ right is the gradient of the rows
    neurons: IntArray  # (touched neurons,) rising
    biases: FloatArray  # (touched neurons,)


def output_error(probabilities: FloatArray, wanted: FloatArray, offsets: IntArray, convention: str) -> FloatArray:
    """Return the derivative of each sample's loss by its active logits, flat: p * sum(t) - t, or p - t."""
    if convention == "maximum_from_zero":
        return probabilities - wanted
    mass = segment_reduce(np.add, wanted, offsets, 0.0)
    return probabilities * np.repeat(mass, np.diff(offsets)) - wanted


def touched_columns(matrix: sparse.csr_array) -> tuple[IntArray, sparse.csr_array]:
    """Return the columns that have an entry, rising, and the transposed matrix without the others.

    Columns are renumbered before they are sorted: counting over the few that are filled stays in the cache.
    """
    samples, width = matrix.shape
    marked = np.zeros(width, dtype=bool)
    marked[matrix.indices] = True
    filled = np.flatnonzero(marked)
    number = np.empty(width, dtype=matrix.indices.dtype)  # of each filled column among the filled
    number[filled] = np.arange(filled.size)
    compact = (matrix.data, number[matrix.indices], matrix.indptr)
    columns = sparse.csr_array(compact, shape=(samples, filled.size)).tocsc()
    return filled, sparse.csr_array((columns.data, columns.indices, columns.indptr), shape=(filled.size, samples))


def sampled_gradient(error: FloatArray, active: ActiveSets, inputs: Batch, neurons: int) -> Gradient:
    """Return the gradient of a layer with tables: rows are the neurons that any sample activated.

    Parameters
    ----------
    error : ndarray, shape (active.neurons.size,)
    active : ActiveSets
    inputs : Batch, shape (B, d)
    neurons : int
        n, of the layer.
    """
    errors = sparse.csr_array((error, active.neurons, active.offsets), shape=(active.offsets.size - 1, neurons))
    rows, left = touched_columns(errors)
    right = inputs.toarray() if is_sparse(inputs) else inputs
    return Gradient(rows, left, right, rows, segment_reduce(np.add, left.data, left.indptr, 0.0))


def full_gradient(error: FloatArray, inputs: Batch) -> Gradient:
    """Return the gradient of a layer without tables: rows are the input coordinates that any sample has.

    Parameters
    ----------
    error : ndarray, shape (B, n)
    inputs : Batch, shape (B, d)
    """
    everyone = np.arange(error.shape[1])
    if is_sparse(inputs):
        rows, left = touched_columns(inputs)
    else:
        rows, left = np.arange(inputs.shape[1]), inputs.T
    return Gradient(rows, left, error, everyone, error.sum(axis=0))


def sampled_input_error(
    error: FloatArray, weights: FloatArray, active: ActiveSets, inputs: Batch, kept: FloatArray | None = None
) -> Batch:
    """Return the derivatives by the inputs of a layer with tables, for the inputs' entries only.

    Parameters
    ----------
    error : ndarray, shape (active.neurons.size,)
    weights : ndarray, shape (n, d)
    active : ActiveSets
    inputs : Batch, shape (B, d)
    kept : ndarray, shape (active.neurons.size, d), optional
        The weights of the active neurons, gathered on the way forward; they are gathered again unless given.
    """
    if is_sparse(inputs):
        return sparse_input_errors(error, weights, active, inputs)
    return dense_input_errors(error, weights, active, kept)


def dense_input_errors(
    error: FloatArray, weights: FloatArray, active: ActiveSets, kept: FloatArray | None = None
) -> FloatArray:
    """Return the derivatives by all inputs of all samples."""
    below = np.zeros((active.offsets.size - 1, weights.shape[1]), dtype=weights.dtype)
    scratch = np.empty((BLOCK_ROWS if kept is None else 0, weights.shape[1]), dtype=weights.dtype)
    for sample, block in sample_blocks(active):
        own = gathered(weights, active.neurons[block], scratch) if kept is None else kept[block]
        below[sample] += error[block] @ own  # (s,) @ (s, d)
    return below


def sparse_input_errors(error: FloatArray, weights: FloatArray, active: ActiveSets, inputs: Batch) -> Batch:
    """Return the derivatives by the entries of the inputs of all samples."""
    below = inputs.copy()
    for sample in range(inputs.shape[0]):
        entries = slice(*below.indptr[sample : sample + 2])
        block = weights[np.ix_(active.of(sample), below.indices[entries])]  # (s, entries)
        below.data[entries] = error[slice(*active.offsets[sample : sample + 2])] @ block
    return below


def full_input_error(error: FloatArray, weights: FloatArray, inputs: Batch) -> Batch:
    """Return the derivatives by the inputs of a layer without tables, for the inputs' entries only."""
    if not is_sparse(inputs):
        return error @ weights  # (B, n) @ (n, d)
    below = inputs.copy()
    for sample in range(inputs.shape[0]):
        entries = slice(*inputs.indptr[sample : sample + 2])
        below.data[entries] = error[sample] @ weights[:, inputs.indices[entries]]
    return below


def through_relu(error: Batch, outputs: Batch) -> FloatArray:
    """Return the error below a ReLU: dense for dense outputs, flat for the entries of sparse ones."""
    if is_sparse(outputs):
        return error.data * (outputs.data > 0)
    return error * (outputs > 0)
