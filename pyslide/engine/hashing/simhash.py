"""SimHash for a batch: one matrix product, and an exact second look at the sums that are too close to a tie."""

from __future__ import annotations

from math import fsum

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import BoolArray, FloatArray, IntArray
from pyslide.engine.vectors import Batch, is_sparse
from pyslide.parameters import SimHashParameters
from pyslide.spec.hashing import sign_bits as sign_bits  # already works on arrays of any shape

DENSE_LIMIT = 2**24
"""Up to this many numbers the projections are kept as a dense matrix: BLAS beats a sparse product there."""


def projection_matrix(parameters: SimHashParameters, dtype: np.dtype[np.floating]) -> FloatArray | sparse.csr_array:
    """Return the projections as a matrix (d, C)."""
    count, nonzeros = parameters.coordinates.shape
    functions = np.repeat(np.arange(count), nonzeros)
    matrix = sparse.csr_array(
        (parameters.coefficients.ravel().astype(dtype), (parameters.coordinates.ravel(), functions)),
        shape=(parameters.dimension, count),
    )
    return matrix.toarray() if count * parameters.dimension <= DENSE_LIMIT else matrix


def doubtful(sums: FloatArray, batch: Batch, parameters: SimHashParameters) -> BoolArray:
    """Return which computed sums might have the wrong sign.

    A sum of s products in any order is off by at most gamma * sum |products|, gamma = (s + 2) u / (1 - (s + 2) u) with
    the unit roundoff u (Higham 2002, section 3.1; two more roundings for a coefficient and its product), plus s times
    the smallest normal number for products that underflow.
    """
    precision = np.finfo(sums.dtype)
    terms = (parameters.coordinates.shape[1] + 2) * precision.eps / 2
    norms = abs(batch).sum(axis=1, dtype=np.float64)
    largest = float(np.abs(parameters.coefficients).max(initial=0.0))
    bound = terms / (1 - terms) * norms * largest * (1 + 1e-3) + parameters.dimension * float(precision.tiny)
    magnitudes = np.abs(sums)
    return ~((magnitudes > bound[:, None]) & (magnitudes < np.inf))  # what overflowed, NaN too, is in doubt


def exact_sums(rows: Batch, functions: IntArray, parameters: SimHashParameters) -> FloatArray:
    """Return the sums of some (vector, function) pairs, exactly but for the rounding of each product.

    Parameters
    ----------
    rows : Batch, shape (pairs, d)
        The vector of each pair.
    functions : ndarray of int, shape (pairs,)
    """
    dense = rows.toarray() if is_sparse(rows) else rows
    values = np.take_along_axis(dense.astype(np.float64), parameters.coordinates[functions], axis=1)  # (pairs, s)
    products = values * parameters.coefficients[functions]
    sums = np.zeros(functions.size)
    for pair in np.flatnonzero(products.any(axis=1)):
        sums[pair] = fsum(products[pair])
    return sums


def projection_sums(batch: Batch, parameters: SimHashParameters) -> FloatArray:
    """Return the inner products of a batch with the projections, shape (B, C): right in sign, rounded in value."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is in doubt, and looked at again
        product = batch @ projection_matrix(parameters, batch.dtype)
        sums = product.toarray() if is_sparse(product) else product
        vectors, functions = np.nonzero(doubtful(sums, batch, parameters))
    for start in range(0, vectors.size, 4096):
        pairs = slice(start, start + 4096)
        exact = exact_sums(batch[vectors[pairs]], functions[pairs], parameters)
        sums[vectors[pairs], functions[pairs]] = keep_sign(exact, sums.dtype)
    return sums


def keep_sign(exact: FloatArray, dtype: np.dtype[np.floating]) -> FloatArray:
    """Return float64 sums in the working precision, tiny ones at the smallest number of their sign."""
    smallest = np.finfo(dtype).smallest_subnormal
    largest = np.finfo(dtype).max
    magnitudes = np.clip(np.abs(exact), smallest, largest)
    return np.where(exact == 0, 0.0, np.copysign(magnitudes, exact)).astype(dtype)


def simhash_codes(batch: Batch, parameters: SimHashParameters, sign_bit: str) -> IntArray:
    """Return the bits of a batch, shape (B, C)."""
    return sign_bits(projection_sums(batch, parameters), sign_bit)
