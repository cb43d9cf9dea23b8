"""How many of several independent events happen: the laws that retrieval is counted with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, gammaln, xlog1py, xlogy

from pyslide.arrays import FloatArray


def any_of(probability: FloatArray, trials: npt.ArrayLike) -> FloatArray:
    """Return 1 - (1 - q)^n, accurate for tiny q too."""
    return 0.0 - np.expm1(xlog1py(np.asarray(trials), -probability))  # 0 - 0 is 0, where -(0) would be -0


def binomial_tail(least: npt.ArrayLike, trials: npt.ArrayLike, probability: npt.ArrayLike) -> FloatArray:
    """Return Pr[X >= k] of a binomial X, as the incomplete beta function I_q(k, n - k + 1): no cancellation."""
    k, n = np.asarray(least, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    inside = betainc(np.clip(k, 1, None), np.clip(n - k + 1, 1, None), np.asarray(probability, dtype=np.float64))
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, inside))[()]


def binomial_law(count: npt.ArrayLike, trials: int, probability: FloatArray) -> FloatArray:
    """Return Pr[X = k] of a binomial X."""
    k = np.asarray(count)
    ways = gammaln(trials + 1) - gammaln(k + 1) - gammaln(trials - k + 1)
    return np.exp(ways + xlogy(k, probability) + xlog1py(trials - k, -probability))


def count_law(probabilities: FloatArray, size: int) -> FloatArray:
    """Return Pr[exactly c of N independent events] for c = 0..size-1 (the Poisson binomial law).

    One event after the other is added; all terms are positive.

    Parameters
    ----------
    probabilities : ndarray of float, shape (..., N)
    size : int
        How many counts are wanted.

    Returns
    -------
    ndarray of float64, shape (..., size)
    """
    law = np.zeros((*probabilities.shape[:-1], size))
    law[..., :1] = 1.0
    for event in range(probabilities.shape[-1]):
        happens = probabilities[..., event, None]
        with_event = law[..., :-1] * happens
        law *= 1 - happens
        law[..., 1:] += with_event
    return law


def fewer_than(probabilities: FloatArray, count: int) -> FloatArray:
    """Return Pr[fewer than ``count`` of N independent events]: shape (..., N) becomes (...)."""
    return count_law(probabilities, count).sum(axis=-1)


def without_own(probabilities: FloatArray) -> FloatArray:
    """Return for each event the probabilities of the others, its own set to 0: shape (..., N) becomes (..., N, N)."""
    own = np.eye(probabilities.shape[-1], dtype=bool)
    return np.where(own, 0.0, probabilities[..., None, :])
