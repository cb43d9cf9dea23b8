"""How likely a neuron is retrieved, from p, the probability that one code collides (section 4.1, Appendix B).

The K codes of a table and the L tables are taken to be independent, as the paper does, and buckets to be uncapped.
All functions take scalars or arrays and broadcast.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py, xlogy

from pyslide.arrays import FloatArray
from pyslide.theory.checks import as_counts, as_probabilities
from pyslide.theory.counting import any_of, binomial_tail


def meta_hash_probability(code_collision: npt.ArrayLike, codes_per_key: npt.ArrayLike) -> FloatArray:
    """Return q = p^K, the probability that all K codes of a table's key collide (section 2).

    Parameters
    ----------
    code_collision : array_like of float
        p.
    codes_per_key : array_like of int
        K, at least 0.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    OutOfRangeError
        If p lies outside [0, 1] or K is negative.
    DtypeError
        If K is not an integer.
    """
    return as_probabilities(code_collision, "code_collision") ** as_counts(codes_per_key, "codes_per_key")


def inclusion_after_tables(
    code_collision: npt.ArrayLike, codes_per_key: npt.ArrayLike, tables_read: npt.ArrayLike
) -> FloatArray:
    """Return 1 - (1 - p^K)^tau: a neuron is in at least one of tau buckets (section 4.1, corrected).

    This is inclusion under vanilla sampling if the number of tables read is fixed beforehand; under a budget it is
    random, see `pyslide.theory.vanilla_inclusion`.

    Parameters
    ----------
    code_collision : array_like of float
        p.
    codes_per_key, tables_read : array_like of int
        K and tau, at least 0.

    Returns
    -------
    ndarray of float64
        With a small relative error even where it is tiny.

    Raises
    ------
    OutOfRangeError, DtypeError
        As for `meta_hash_probability`.

    Examples
    --------
    >>> print(f"{inclusion_after_tables(0.8, 9, 5):.3f}")
    0.514
    """
    return any_of(meta_hash_probability(code_collision, codes_per_key), as_counts(tables_read, "tables_read"))


def union_inclusion(code_collision: npt.ArrayLike, codes_per_key: npt.ArrayLike, tables: npt.ArrayLike) -> FloatArray:
    """Return 1 - (1 - p^K)^L: a neuron is in the union of all L buckets (section 2; Appendix B with m = 1).

    Parameters, results and errors as for `inclusion_after_tables`, with tau = L.
    """
    return inclusion_after_tables(code_collision, codes_per_key, tables)


def hard_threshold_inclusion(
    code_collision: npt.ArrayLike, codes_per_key: npt.ArrayLike, tables: npt.ArrayLike, minimum_count: npt.ArrayLike
) -> FloatArray:
    """Return sum_{i=m..L} C(L, i) q^i (1 - q)^(L-i), q = p^K: a neuron is in at least m of L buckets (Appendix B).

    Parameters
    ----------
    code_collision : array_like of float
        p.
    codes_per_key, tables : array_like of int
        K and L, at least 0.
    minimum_count : array_like of int
        m; 1 is the union, 0 certain, more than L impossible.  For the answer "more than m" to question 13 give m + 1.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    OutOfRangeError, DtypeError
        As for `meta_hash_probability`.
    """
    retrieved = meta_hash_probability(code_collision, codes_per_key)
    return binomial_tail(as_counts(minimum_count, "minimum_count"), as_counts(tables, "tables"), retrieved)


def printed_hit_pattern_probability(
    code_collision: npt.ArrayLike, codes_per_key: npt.ArrayLike, tables: npt.ArrayLike, tables_read: npt.ArrayLike
) -> FloatArray:
    """Return (p^K)^tau (1 - p^K)^(L-tau), which section 4.1 prints for vanilla sampling.  NOT an inclusion probability.

    It is the probability of one hit pattern: that tau given tables hold the neuron and the L - tau others do not.
    Erratum: the inclusion probability after tau tables is `inclusion_after_tables`.

    Parameters
    ----------
    code_collision : array_like of float
        p.
    codes_per_key, tables, tables_read : array_like of int
        K, L and tau <= L.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    OutOfRangeError, DtypeError
        As for `meta_hash_probability`, or if tau > L.

    Examples
    --------
    >>> print(f"{printed_hit_pattern_probability(0.8, 9, 50, 5):.1e}")
    6.6e-08
    """
    hit = meta_hash_probability(code_collision, codes_per_key)
    hits = as_counts(tables_read, "tables_read")
    misses = as_counts(as_counts(tables, "tables") - hits, "tables - tables_read")
    return np.exp(xlogy(hits, hit) + xlog1py(misses, -hit))


def expected_active_count(
    code_collision: npt.ArrayLike, codes_per_key: npt.ArrayLike, tables: npt.ArrayLike
) -> FloatArray:
    """Return the expected size of the union of L buckets, sum_a 1 - (1 - p_a^K)^L.

    Expectations add up whether or not neurons are independent.  Divided by N it is the expected active fraction.

    Parameters
    ----------
    code_collision : array_like of float, shape (..., N)
        p_a of each neuron.
    codes_per_key, tables : array_like of int
        K and L.

    Returns
    -------
    ndarray of float64, shape (...)

    Raises
    ------
    OutOfRangeError, DtypeError
        As for `meta_hash_probability`.
    """
    return np.sum(union_inclusion(code_collision, codes_per_key, tables), axis=-1)
