"""SimHash: the signs of random projections (section 3.2, Appendix A)."""

from __future__ import annotations

from math import fsum

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.parameters import SimHashParameters
from pyslide.spec.vectors import SparseVector, to_dense


def projection_sums(vector: SparseVector, parameters: SimHashParameters) -> FloatArray:
    """Return the C inner products of a vector with the projections.

    Each product is rounded once and their sum is exact (`math.fsum`), so that the sign does not depend on the order
    in which an implementation adds.  Signs +-1 make the products exact as well.

    Returns
    -------
    ndarray of float64, shape (C,)

    Raises
    ------
    OverflowError
        If a partial sum leaves the range of float64 (values near 1e308).
    """
    dense = to_dense(vector)
    products = dense[parameters.coordinates] * parameters.coefficients  # (C, s)
    return np.array([fsum(row) for row in products])


def sign_bits(sums: FloatArray, sign_bit: str) -> IntArray:
    """Return the bit of each inner product, under the answer to question 1."""
    above = {
        "one_at_zero_or_above": sums >= 0,
        "zero_at_zero_or_above": ~(sums >= 0),
        "one_above_zero": sums > 0,
    }
    return above[sign_bit].astype(np.int64)


def simhash_codes(vector: SparseVector, parameters: SimHashParameters, sign_bit: str) -> IntArray:
    """Return the C bits of a vector.

    Two vectors at the angle theta share a bit of a Gaussian projection with probability 1 - theta/pi; for sparse
    signs that is a limit.
    """
    return sign_bits(projection_sums(vector, parameters), sign_bit)
