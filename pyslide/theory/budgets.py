"""Sampling under a budget: how many tables are read, and who is in (section 4.1, Appendix B).

Neuron a is in the query's bucket of each table with a given probability q_a, independently of other tables and of other
neurons.  The latter is a model: neurons that look alike are retrieved together.  Buckets are uncapped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray, require_shape
from pyslide.theory.checks import as_count, as_probabilities
from pyslide.theory.counting import any_of, binomial_law, binomial_tail, count_law, fewer_than, without_own


def vanilla_tables_read_distribution(hit_probabilities: npt.ArrayLike, budget: int, tables: int) -> FloatArray:
    """Return the law of tau, the number of tables that vanilla sampling reads.

    Whole buckets are read until at least beta distinct neurons are selected, or L tables are.  After t tables neuron a
    is selected with probability 1 - (1 - q_a)^t, so that Pr[tau > t] = Pr[fewer than beta of N independent
    events] for t < L.

    Parameters
    ----------
    hit_probabilities : array_like of float, shape (N,)
        q_a = p_a^K.
    budget : int
        beta, at least 0; 0 reads nothing.
    tables : int
        L, at least 0.

    Returns
    -------
    ndarray of float64, shape (L + 1,)
        Pr[tau = t] for t = 0..L.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    hits, beta, count = _checked(hit_probabilities, budget, tables)
    selected = any_of(hits, np.arange(count)[:, None])  # (L, N)
    reads_on = np.concatenate([[1.0], fewer_than(selected, beta), [0.0]])  # Pr[tau > t] for t = -1..L
    return np.maximum(-np.diff(reads_on), 0.0)


def vanilla_inclusion(hit_probabilities: npt.ArrayLike, budget: int, tables: int) -> FloatArray:
    """Return the probability that vanilla sampling selects each neuron, under a budget.

    A neuron is first hit in table t with probability q (1 - q)^(t-1), and table t is read if the others are fewer
    than beta after t - 1 tables: sum_{t=1..L} q_a (1 - q_a)^(t-1) Pr[fewer than beta others after t - 1].

    Parameters and errors as for `vanilla_tables_read_distribution`.

    Returns
    -------
    ndarray of float64, shape (N,)
    """
    hits, beta, count = _checked(hit_probabilities, budget, tables)
    before = np.arange(count)[:, None]  # (L, 1) tables read before this one
    others = without_own(any_of(hits, before))  # (L, N, N)
    first_hit_here = hits * (1 - hits) ** before  # (L, N)
    return np.sum(first_hit_here * fewer_than(others, beta), axis=0)


def topk_inclusion(hit_probabilities: npt.ArrayLike, tables: int, budget: int) -> FloatArray:
    """Return the probability that TopK sampling selects each neuron (section 4.1).

    The counts are independent binomials of L and q_a; neuron a with c >= 1 hits is selected if fewer than beta others
    come before it: those with a smaller id and at least c hits, those with a larger id and more than c.

    Parameters
    ----------
    hit_probabilities : array_like of float, shape (N,)
        q_a = p_a^K.
    tables : int
        L, at least 0.
    budget : int
        beta, at least 0.

    Returns
    -------
    ndarray of float64, shape (N,)
        Takes time for N^2 * L * beta operations.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    hits, beta, count = _checked(hit_probabilities, budget, tables)
    occurrences = np.arange(1, count + 1)[:, None]  # (L, 1)
    own = binomial_law(occurrences, count, hits)  # (L, N)
    at_least, more = (binomial_tail(least, count, hits) for least in (occurrences, occurrences + 1))  # (L, N)
    smaller_id = np.tri(hits.size, k=-1, dtype=bool)  # [a, b]: b < a
    precede = np.where(smaller_id, at_least[:, None, :], without_own(more))  # (L, N, N)
    return np.sum(own * fewer_than(precede, beta), axis=0)


def selected_count_law(hit_probabilities: npt.ArrayLike, tables: int) -> FloatArray:
    """Return the law of the number of neurons in the union of L buckets.

    Parameters
    ----------
    hit_probabilities : array_like of float, shape (N,)
    tables : int
        L, at least 0.

    Returns
    -------
    ndarray of float64, shape (N + 1,)
        Pr[n neurons] for n = 0..N.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    hits, _, count = _checked(hit_probabilities, 0, tables)
    return count_law(any_of(hits, count), hits.size + 1)


def _checked(hit_probabilities: npt.ArrayLike, budget: int, tables: int) -> tuple[FloatArray, int, int]:
    hits = as_probabilities(hit_probabilities, "hit_probabilities")
    require_shape(hits, (None,), "hit_probabilities")
    return hits, as_count(budget, "budget"), as_count(tables, "tables")
