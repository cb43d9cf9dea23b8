"""The touched weights move, a few rows at a time, in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.forward import gathered
from pyslide.engine.threads import SERIAL, Threads
from pyslide.engine.vectors import Batch, is_sparse, row_slices
from pyslide.spec.optimizer import Optimizer as Optimizer  # the same settings

CHUNK_NUMBERS = 2**17
"""Numbers of one temporary: a chunk's weights, moments and gradient stay in the cache, and two threads spend their time
in NumPy, not waiting for the interpreter's lock (with chunks of 2^15 they were slower than one)."""
CHUNKS_A_SPAN = 4
"""Chunks that a thread takes at a time, in the same scratch memory."""


class Weights(NamedTuple):
    """An array of weights, what the optimiser remembers, and how often each row was updated; changed in place."""

    values: FloatArray  # (rows, ...)
    first: FloatArray  # (rows, ...)
    second: FloatArray  # (rows, ...)
    touches: IntArray  # (rows,)


def sgd(gradient: FloatArray, velocity: FloatArray, optimizer: Optimizer) -> None:
    """Make the velocity one step older in place, v = momentum * v + g, and the gradient what is taken from the weights.

    That is rate * v.
    """
    velocity *= velocity.dtype.type(optimizer.momentum)
    velocity += gradient
    np.multiply(velocity, velocity.dtype.type(optimizer.learning_rate), out=gradient)


def adam(
    gradient: FloatArray,
    first: FloatArray,
    second: FloatArray,
    step: IntArray | int,
    optimizer: Optimizer,
    adam_epsilon: str,
) -> None:
    """Make the moments one step older in place, and the gradient what Adam takes from the weights.

    Kingma and Ba 2015, algorithm 1.  The bias corrections are folded into two numbers, computed in float64:
    w -= rate * sqrt(c2) / c1 * m / (sqrt(v) + epsilon * sqrt(c2)), with c_i = 1 - beta_i^t; without the last root where
    epsilon meets the uncorrected moment (question 17).  Every result takes the place of what it came from: the fewer
    arrays, the more rows of them the cache holds.
    """
    number = gradient.dtype.type
    new_share = 1 - optimizer.first_decay
    first *= number(optimizer.first_decay)
    second *= number(optimizer.second_decay)
    gradient *= number(new_share)
    first += gradient
    gradient *= gradient
    gradient *= number((1 - optimizer.second_decay) / new_share**2)  # (1 - beta2) * g^2, from ((1 - beta1) * g)^2
    second += gradient
    root = np.sqrt(1 - np.power(optimizer.second_decay, step))
    rate = optimizer.learning_rate * root / (1 - np.power(optimizer.first_decay, step))
    epsilon = optimizer.epsilon * (root if adam_epsilon == "corrected" else np.ones_like(root))
    np.sqrt(second, out=gradient)
    gradient += np.asarray(epsilon, dtype=number)
    np.divide(first, gradient, out=gradient)
    gradient *= np.asarray(rate, dtype=number)


def gradient_rows(left: Batch, right: FloatArray, rows: slice) -> FloatArray:
    """Return some rows of a gradient kept as two factors."""
    if not is_sparse(left):
        return np.ascontiguousarray(left[rows] @ right)
    bounds = left.indptr[rows.start : rows.stop + 1]
    span = slice(bounds[0], bounds[-1])
    shape = (bounds.size - 1, left.shape[1])
    return sparse.csr_array((left.data[span], left.indices[span], bounds - bounds[0]), shape=shape) @ right


def as_items(array: FloatArray) -> NDArray[Any]:
    """Return an array's rows, shape (rows, ...), as single items, shape (rows,): copied whole, not number by number."""
    if array.ndim == 1:
        return array
    return array.view(np.dtype((np.void, array.shape[1] * array.itemsize)))[:, 0]


def fetch(array: FloatArray, rows: slice | IntArray, scratch: FloatArray) -> FloatArray:
    """Return some rows of an array: a view of a slice, else copies in scratch memory."""
    return array[rows] if isinstance(rows, slice) else gathered(array, rows, scratch)


def store(array: FloatArray, rows: slice | IntArray, block: FloatArray) -> None:
    """Write back what `fetch` gave; a view needs no writing."""
    if not isinstance(rows, slice):
        as_items(array)[rows] = as_items(block)


def _new_scratch(weights: Weights, rows: int) -> FloatArray:
    """Return memory for so many rows of two arrays of weights, shape (2, rows, ...)."""
    return np.empty((2, rows, *weights.values.shape[1:]), dtype=weights.values.dtype)


def update_chunk(
    weights: Weights,
    rows: slice | IntArray,
    gradient: FloatArray,
    steps: int,
    optimizer: Optimizer,
    conventions: Conventions,
    scratch: FloatArray,
) -> None:
    """Update some rows: fetched, changed while they are in the cache, and stored.  The gradient is overwritten."""
    weights.touches[rows] += 1
    step: IntArray | int = steps
    if conventions.adam_rows == "touched_own_step":
        step = weights.touches[rows].reshape((-1,) + (1,) * (gradient.ndim - 1))
    first = fetch(weights.first, rows, scratch[0])
    if optimizer.rule == "sgd":
        sgd(gradient, first, optimizer)
    else:
        second = fetch(weights.second, rows, scratch[1])
        adam(gradient, first, second, step, optimizer, conventions.adam_epsilon)
        store(weights.second, rows, second)
    store(weights.first, rows, first)
    values = fetch(weights.values, rows, scratch[0])
    values -= gradient
    store(weights.values, rows, values)


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
    chunk = max(1, CHUNK_NUMBERS // width)

    def move(span: slice) -> None:
        scratch = _new_scratch(weights, min(chunk, span.stop - span.start))
        gradient = gradient_rows(left, right, span)
        for part in row_slices(span.stop, chunk, span.start):
            place = part if rows.size == count else rows[part]  # all rows: nothing to fetch
            own = gradient[part.start - span.start : part.stop - span.start]
            update_chunk(weights, place, own, steps, optimizer, conventions, scratch)

    threads.map(move, row_slices(rows.size, chunk * CHUNKS_A_SPAN))


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
        update_chunk(weights, slice(None), everything, steps, optimizer, conventions, _new_scratch(weights, 0))
    else:
        scratch = _new_scratch(weights, neurons.size)
        update_chunk(weights, neurons, gradient.copy(), steps, optimizer, conventions, scratch)
