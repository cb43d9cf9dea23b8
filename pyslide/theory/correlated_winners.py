"""WTA of vectors whose coordinates are pairs of correlated normal numbers: what a cosine means for it.

The cosine of two long vectors of independent pairs (x_i, y_i) of standard normal numbers with correlation rho is rho.
In a bin of m pairs the codes are equal if one pair is the largest in both vectors:

    Pr[equal codes] = m * E[Phi2(x, y; rho)^(m - 1)],

Phi2 the distribution function of such a pair.  For m = 2 this is 1 - arccos(rho) / pi, the law of SimHash: the code
says the sign of x_1 - x_2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr, owens_t

from pyslide.arrays import FloatArray
from pyslide.errors import OutOfRangeError
from pyslide.theory.checks import as_count

NODES = 100
"""Of the Gauss-Hermite rule in each of two directions: for bins of up to 64 places the error is below 1e-6."""
LARGEST_BIN = 64


def correlated_winner_collision_probability(correlation: npt.ArrayLike, bin_size: int) -> FloatArray:
    """Return the probability that two vectors of correlated normal numbers share a WTA code.

    The expectation over a pair is taken by a product Gauss-Hermite rule in x + y and x - y, which are independent.

    Parameters
    ----------
    correlation : array_like of float
        rho, in [-1, 1].
    bin_size : int
        m, in 2..64.

    Returns
    -------
    ndarray of float64, the shape of ``correlation``

    Raises
    ------
    OutOfRangeError
        If an argument is not as above.
    """
    size = as_count(bin_size, "bin_size", 2, LARGEST_BIN)
    given = np.asarray(correlation, dtype=np.float64)
    inside = np.abs(given) <= 1
    if not inside.all():
        raise OutOfRangeError(f"correlation: expected numbers in [-1, 1], got {given[~inside][0]}")
    found = np.array([_expected(float(rho), size) for rho in given.ravel()]).reshape(given.shape)
    return found[()]


def _expected(rho: float, size: int) -> float:
    if abs(rho) == 1:
        return max(rho, 0.0)  # the largest of one is the smallest of the other
    nodes, weights = hermegauss(NODES)
    mean, half = np.sqrt((1 + rho) / 2) * nodes[:, None], np.sqrt((1 - rho) / 2) * nodes
    weight = np.outer(weights, weights) / (2 * np.pi)
    return float(size * np.sum(weight * pair_distribution(mean + half, mean - half, rho) ** (size - 1)))


def pair_distribution(x: FloatArray, y: FloatArray, correlation: float) -> FloatArray:
    """Return Phi2(x, y; rho) = Pr[X <= x, Y <= y] by Owen's function T (Owen 1956, equation 2.1).

    Parameters
    ----------
    x, y : ndarray of float
        Not both 0 at the same place.
    correlation : float
        rho, with |rho| < 1.
    """
    root = np.sqrt(1 - correlation**2)
    with np.errstate(divide="ignore"):
        slopes = (y - correlation * x) / (x * root), (x - correlation * y) / (y * root)
    opposite = (x * y < 0) | ((x * y == 0) & (x + y < 0))
    value = (ndtr(x) + ndtr(y)) / 2 - owens_t(x, slopes[0]) - owens_t(y, slopes[1]) - opposite / 2
    return np.clip(value, 0.0, 1.0)
