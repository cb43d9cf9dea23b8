"""How full buckets are, who stays in a full one, and what that leaves to retrieve (sections 3.2 and 4.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray, IntArray, require_shape
from pyslide.errors import ConventionError
from pyslide.theory.checks import as_count, as_counts, as_probabilities, require_same_size
from pyslide.theory.counting import any_of, binomial_tail, count_law, without_own


def reservoir_retention_probability(capacity: npt.ArrayLike, arrivals: npt.ArrayLike) -> FloatArray:
    """Return min(1, R / n), the probability that a given one of n arrivals is in a reservoir.

    The same for every arrival, early or late (Vitter 1985, Algorithm R; section 4.2).

    Parameters
    ----------
    capacity, arrivals : array_like of int
        R and n, at least 1.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    DtypeError, OutOfRangeError
        If they are not integers of at least 1.
    """
    return np.minimum(1.0, as_counts(capacity, "capacity", 1) / as_counts(arrivals, "arrivals", 1))


def fifo_retained(capacity: int, arrivals: int) -> IntArray:
    """Return which arrivals, counted from 0, are in a FIFO bucket after n of them: the last R, oldest first.

    Parameters
    ----------
    capacity : int
        R, at least 1.
    arrivals : int
        n, at least 0.

    Returns
    -------
    ndarray of int64, shape (min(R, n),)

    Raises
    ------
    DtypeError, OutOfRangeError
        If they are not such integers.
    """
    count = as_count(arrivals, "arrivals")
    return np.arange(max(0, count - as_count(capacity, "capacity", 1)), count, dtype=np.int64)


def expected_bucket_load(neurons: int, key_probabilities: npt.ArrayLike, capacity: int | None = None) -> FloatArray:
    """Return the expected number of members of a bucket.

    Without a capacity N * q; with one E[min(X, R)] for a binomial X of N and q, which needs independent neurons.  Since
    x * C(N, x) = N * C(N-1, x-1) it is N * q * Pr[X' < R] + R * Pr[X > R], with X' binomial of N - 1 and q.

    Parameters
    ----------
    neurons : int
        N.
    key_probabilities : array_like of float
        q, the probability that a neuron has the bucket's key; 1/B for B uniform keys.
    capacity : int, optional
        R, at least 1.

    Returns
    -------
    ndarray of float64, the shape of ``key_probabilities``

    Raises
    ------
    DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    count, keys = as_count(neurons, "neurons"), as_probabilities(key_probabilities, "key_probabilities")
    if capacity is None:
        return count * keys
    slots = as_count(capacity, "capacity", 1)
    if slots >= count:
        return count * keys
    return count * keys * (1 - binomial_tail(slots, count - 1, keys)) + slots * binomial_tail(slots + 1, count, keys)


def expected_load_met(
    neurons: int, key_probabilities: npt.ArrayLike, query_probabilities: npt.ArrayLike, capacity: int | None = None
) -> float:
    """Return the expected size of the bucket that a query reads, sum_k r_k * E[load of bucket k].

    With queries distributed as the neurons are, it is N * sum q_k^2: a frequent key is read often and has a large
    bucket.

    Parameters
    ----------
    neurons : int
        N.
    key_probabilities, query_probabilities : array_like of float, shape (B,)
        q_k and r_k: how likely a neuron and a query have key k.
    capacity : int, optional
        R, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    asked = as_probabilities(query_probabilities, "query_probabilities")
    loads = expected_bucket_load(neurons, key_probabilities, capacity)
    require_same_size(loads, asked, "key_probabilities, query_probabilities")
    return float(np.sum(asked * loads))


def fifo_retrieval_probabilities(hit_probabilities: npt.ArrayLike, capacity: int) -> FloatArray:
    """Return how likely a query finds each neuron in one table with FIFO buckets filled by ascending id.

    Neuron a is in the query's bucket if it has its key and fewer than R later neurons do:
    q_a * Pr[fewer than R of the events a+1..N-1].  Neurons are taken to be independent.

    Parameters
    ----------
    hit_probabilities : array_like of float, shape (N,)
        q_a, the probability that neuron a has the query's key.
    capacity : int
        R, at least 1.

    Returns
    -------
    ndarray of float64, shape (N,)
        For L independent tables combine with `retrieved_from_any_table`.

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    hits, slots = _hits_and_capacity(hit_probabilities, capacity)
    later = np.triu(np.broadcast_to(hits, (hits.size, hits.size)), k=1)  # row a: the events behind a
    return hits * count_law(later, slots).sum(axis=-1)


def reservoir_retrieval_probabilities(hit_probabilities: npt.ArrayLike, capacity: int) -> FloatArray:
    """Return how likely a query finds each neuron in one table with reservoir buckets (Algorithm R).

    q_a * E[min(1, R / (1 + X_a))], X_a the number of other neurons with the query's key.  Neurons are taken to be
    independent.  Takes time for N^3 operations.

    Parameters, results and errors as for `fifo_retrieval_probabilities`.
    """
    hits, slots = _hits_and_capacity(hit_probabilities, capacity)
    others = count_law(without_own(hits), hits.size)  # (N, N): Pr[X_a = n]
    return hits * (others @ np.minimum(1.0, slots / np.arange(1, hits.size + 1)))


def retrieved_from_any_table(per_table: npt.ArrayLike, tables: npt.ArrayLike) -> FloatArray:
    """Return 1 - (1 - h)^L, the probability to be found in at least one of L independent tables.

    Parameters
    ----------
    per_table : array_like of float
        h, the probability to be found in one.
    tables : array_like of int
        L, at least 0.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    return any_of(as_probabilities(per_table, "per_table"), as_counts(tables, "tables"))


def uniform_active_count(
    neurons: int, buckets: int, tables: int, capacity: int | None = None, bucket_policy: str = "fifo"
) -> float:
    """Return the expected size of the union of L buckets if keys are independent and uniform.

    Without a capacity N * (1 - (1 - 1/B)^L).  With a reservoir every neuron is found in a table with probability
    h = E[min(X, R)] / N, X binomial of N and 1/B.  With FIFO by ascending id neuron a is found with probability
    Pr[Y_a < R] / B, Y_a binomial of N - 1 - a and 1/B.  Both are exact.

    Parameters
    ----------
    neurons, buckets : int
        N and B = m^K, at least 1.
    tables : int
        L, at least 0.
    capacity : int, optional
        R, at least 1.
    bucket_policy : {"fifo", "reservoir", "unlimited"}
        The answer to question 10; without a capacity it does not matter.

    Returns
    -------
    float
        Divided by N the expected active fraction.

    Raises
    ------
    ConventionError
        If the policy is another.
    DtypeError, OutOfRangeError
        If an argument is not as above.
    """
    count = as_count(neurons, "neurons", 1)
    per_table = _uniform_retrieval(count, 1 / as_count(buckets, "buckets", 1), capacity, bucket_policy)
    return float(np.sum(retrieved_from_any_table(per_table, as_count(tables, "tables"))))


def _uniform_retrieval(neurons: int, key_probability: float, capacity: int | None, bucket_policy: str) -> FloatArray:
    """Return how likely each neuron is found in one table: shape (N,)."""
    if bucket_policy not in ("fifo", "reservoir", "unlimited"):
        raise ConventionError(f"bucket_policy: expected fifo, reservoir or unlimited; got {bucket_policy!r}")
    if capacity is None or bucket_policy == "unlimited":
        return np.full(neurons, key_probability)
    if bucket_policy == "reservoir":
        return np.full(neurons, expected_bucket_load(neurons, key_probability, capacity) / neurons)
    later = np.arange(neurons - 1, -1, -1)
    displaced = binomial_tail(as_count(capacity, "capacity", 1), later, key_probability)
    return key_probability * (1 - displaced)


def _hits_and_capacity(hit_probabilities: npt.ArrayLike, capacity: int) -> tuple[FloatArray, int]:
    hits = as_probabilities(hit_probabilities, "hit_probabilities")
    require_shape(hits, (None,), "hit_probabilities")
    return hits, as_count(capacity, "capacity", 1)
