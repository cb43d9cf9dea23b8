"""The touched weights move, a few rows at a time, in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.threads import SERIAL, Threads
from pyslide.engine.vectors import Batch, is_sparse, row_slices
from pyslide.spec.optimizer import Optimizer as Optimizer  # the same settings

CHUNK_NUMBERS = 2**18
"""Numbers of one temporary: a chunk's weights, moments and gradient stay in the last-level cache, and two threads spend
their time in NumPy, not waiting for the interpreter's lock (with chunks of 2^15 they were slower than one)."""


class Weights(NamedTuple):
    """An array of weights, what the optimiser remembers, and how often each row was updated; changed in place."""

    values: FloatArray  # (rows, ...)
    first: FloatArray  # (rows, ...)
    second: FloatArray  # (rows, ...)
    touches: IntArray  # (rows,)


def sgd(values: FloatArray, gradient: FloatArray, velocity: FloatArray, optimizer: Optimizer) -> None:
    """Make one step of SGD in place: v = momentum * v + g; w = w - rate * v.  The gradient is overwritten."""
    velocity *= velocity.dtype.type(optimizer.momentum)
    velocity += gradient
    np.multiply(velocity, velocity.dtype.type(optimizer.learning_rate), out=gradient)
    values -= gradient


def adam(
    values: FloatArray,
    gradient: FloatArray,
    first: FloatArray,
    second: FloatArray,
    step: IntArray | int,
    optimizer: Optimizer,
    adam_epsilon: str,
) -> None:
    """Make one step of Adam in place (Kingma and Ba 2015, algorithm 1).  The gradient is overwritten.

    The bias corrections are folded into two numbers, computed in float64:
    w -= rate * sqrt(c2) / c1 * m / (sqrt(v) + epsilon * sqrt(c2)), with c_i = 1 - beta_i^t; without the last root where
    epsilon meets the uncorrected moment (question 17).
    """
    number = values.dtype.type
    first *= number(optimizer.first_decay)
    second *= number(optimizer.second_decay)
    squares = gradient * gradient
    squares *= number(1 - optimizer.second_decay)
    second += squares
    gradient *= number(1 - optimizer.first_decay)
    first += gradient
    root = np.sqrt(1 - np.power(optimizer.second_decay, step))
    rate = optimizer.learning_rate * root / (1 - np.power(optimizer.first_decay, step))
    epsilon = optimizer.epsilon * (root if adam_epsilon == "corrected" else np.ones_like(root))
    np.sqrt(second, out=squares)
    squares += np.asarray(epsilon, dtype=number)
    np.divide(first, squares, out=gradient)
    gradient *= np.asarray(rate, dtype=number)
    values -= gradient


def gradient_rows(left: Batch, right: FloatArray, rows: slice) -> FloatArray:
    """Return some rows of a gradient kept as two factors."""
    if not is_sparse(left):
        return np.ascontiguousarray(left[rows] @ right)
    bounds = left.indptr[rows.start : rows.stop + 1]
    span = slice(bounds[0], bounds[-1])
    shape = (bounds.size - 1, left.shape[1])
    return sparse.csr_array((left.data[span], left.indices[span], bounds - bounds[0]), shape=shape) @ right


def update_chunk(
    weights: Weights,
    rows: slice | IntArray,
    gradient: FloatArray,
    steps: int,
    optimizer: Optimizer,
    conventions: Conventions,
) -> None:
    """Update some rows: gathered, changed while they are in the cache, and written back."""
    weights.touches[rows] += 1
    step: IntArray | int = steps
    if conventions.adam_rows == "touched_own_step":
        step = weights.touches[rows].reshape((-1,) + (1,) * (gradient.ndim - 1))
    values, first, second = (array[rows] for array in weights[:3])  # views for a slice, copies for an index
    if optimizer.rule == "sgd":
        sgd(values, gradient, first, optimizer)
    else:
        adam(values, gradient, first, second, step, optimizer, conventions.adam_epsilon)
    if not isinstance(rows, slice):
        weights.values[rows], weights.first[rows] = values, first
        if optimizer.rule == "adam":
            weights.second[rows] = second


def update_rows(
    weights: Weights,
    rows: IntArray,
    left: Batch,
    right: FloatArray,
    steps: int,
    optimizer: Optimizer,
    conventions: Conventions,
    threads: Threads = SERIAL,
) -> None:
    """Move the touched rows, or all of them (question 16), in place.

    Parameters
    ----------
    weights : Weights
        Of shape (rows, width), C-contiguous.
    rows : ndarray of int
        The touched rows, rising.
    left, right : Batch (touched rows, B) and ndarray (B, width)
        The factors of their gradient.
    steps : int
        The global step number, counted from 1.
    optimizer : Optimizer
    conventions : Conventions
    """
    count, width = weights.values.shape
    if conventions.adam_rows == "every_weight" and rows.size < count:
        left = spread(left, rows, count)
        rows = np.arange(count)

    def move(chunk: slice) -> None:
        part = gradient_rows(left, right, chunk)
        place = chunk if rows.size == count else rows[chunk]  # all rows: no gather
        update_chunk(weights, place, part, steps, optimizer, conventions)

    threads.map(move, row_slices(rows.size, max(1, CHUNK_NUMBERS // width)))


def spread(left: Batch, rows: IntArray, count: int) -> Batch:
    """Return a left factor with a row for every row of the weights, zero for those that were not touched."""
    part = sparse.csr_array(left)
    lengths = np.zeros(count, dtype=part.indptr.dtype)
    lengths[rows] = np.diff(part.indptr)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((part.data, part.indices, indptr), shape=(count, part.shape[1]))


def update_biases(
    weights: Weights, neurons: IntArray, gradient: FloatArray, steps: int, optimizer: Optimizer,
    conventions: Conventions,
) -> None:
    """Move the biases of the touched neurons, or all of them, in place."""
    if conventions.adam_rows == "every_weight":
        everything = np.zeros_like(weights.values)
        everything[neurons] = gradient
        update_chunk(weights, slice(None), everything, steps, optimizer, conventions)
    else:
        update_chunk(weights, neurons, gradient.copy(), steps, optimizer, conventions)
