"""Buckets become an active set (section 4.1, Appendix B).

An active set is a strictly ascending array of neuron ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions

NOBODY: IntArray = np.empty(0, dtype=np.int64)
NOBODY.setflags(write=False)


def union(buckets: Sequence[IntArray]) -> IntArray:
    """Return the neurons that occur in any bucket (section 2; question 21)."""
    return np.unique(np.concatenate([NOBODY, *buckets]))


def intersection(buckets: Sequence[IntArray]) -> IntArray:
    """Return the neurons that occur in every bucket: Algorithm 2 as printed, an erratum."""
    return np.unique(reduce(np.intersect1d, buckets)) if buckets else NOBODY


def read_to_budget(buckets: Sequence[IntArray], budget: int, vanilla_stop: str, already: IntArray) -> list[IntArray]:
    """Return the buckets that vanilla sampling reads, the last one cut where the answer to question 11 says so."""
    taken: list[IntArray] = []
    for bucket in buckets:
        selected = union([already, *taken])
        if selected.size >= budget:
            break
        if vanilla_stop == "cut_at_budget":
            fresh = bucket[~np.isin(bucket, selected)]
            bucket = fresh[: budget - selected.size]
        taken.append(bucket)
    return taken


def vanilla(
    buckets: Sequence[IntArray], order: IntArray, budget: int, vanilla_stop: str, already: IntArray = NOBODY
) -> IntArray:
    """Vanilla sampling: read tables in a random order until ``budget`` distinct neurons are selected.

    Parameters
    ----------
    buckets : sequence of L arrays
    order : ndarray of int, shape (L,)
        The order in which the tables are read.
    budget : int
        beta of section 4.1.
    vanilla_stop : str
        The answer to question 11.
    already : ndarray of int
        Neurons that count as selected before the first table (labels forced before sampling).
    """
    in_order = [buckets[table] for table in order]
    if vanilla_stop == "all_tables":
        return union([already, *in_order])
    return union([already, *read_to_budget(in_order, budget, vanilla_stop, already)])


def counts(buckets: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the neurons that occur, ascending, and in how many buckets each does."""
    neurons, occurrences = np.unique(np.concatenate([NOBODY, *buckets]), return_counts=True)
    return neurons, occurrences


def top_k(buckets: Sequence[IntArray], budget: int) -> IntArray:
    """TopK sampling: the ``budget`` neurons that occur most often; equal counts go to the smaller id (section 4.1)."""
    neurons, occurrences = counts(buckets)
    most_frequent = np.argsort(-occurrences, kind="stable")[:budget]
    return np.sort(neurons[most_frequent])


def hard_threshold(buckets: Sequence[IntArray], minimum: int, threshold: str) -> IntArray:
    """Hard thresholding: the neurons that occur at least (question 13: or more than) ``minimum`` times."""
    neurons, occurrences = counts(buckets)
    return neurons[occurrences > minimum if threshold == "more_than" else occurrences >= minimum]


def force_labels(active: IntArray, labels: IntArray) -> IntArray:
    """Return the active set with the sample's labels in it (question 14)."""
    return np.union1d(active, labels)


def pad(active: IntArray, candidates: IntArray, minimum: int) -> IntArray:
    """Fill an active set up to ``minimum`` neurons with the first candidates that are not in it (question 12).

    Parameters
    ----------
    active : ndarray of int
    candidates : ndarray of int
        Distinct neurons in a random order; ``min(minimum, N)`` of them are always enough.
    minimum : int
    """
    fresh = candidates[~np.isin(candidates, active)]
    return np.union1d(active, fresh[: max(0, minimum - active.size)])


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a layer's active set is chosen from its buckets.

    Attributes
    ----------
    strategy : {"union", "vanilla", "top_k", "hard_threshold"}
    budget : int
        beta, for vanilla and TopK.
    minimum_count : int
        m, for the hard threshold.
    minimum_active : int
        Up to how many neurons a small active set is padded.
    """

    strategy: str = "union"
    budget: int = 0
    minimum_count: int = 1
    minimum_active: int = 0


def sample(
    buckets: Sequence[IntArray], order: IntArray, already: IntArray, sampling: Sampling, conventions: Conventions
) -> IntArray:
    """Return what the strategy selects; with the printed intersection the strategy does not matter."""
    if conventions.query == "intersection":
        return intersection(buckets)
    match sampling.strategy:
        case "vanilla":
            return vanilla(buckets, order, sampling.budget, conventions.vanilla_stop, already)
        case "top_k":
            return top_k(buckets, sampling.budget)
        case "hard_threshold":
            return hard_threshold(buckets, sampling.minimum_count, conventions.threshold)
        case _:
            return union(buckets)


def padding_target(sampling: Sampling, conventions: Conventions) -> int:
    """Return up to how many neurons an active set is padded, 0 for not at all (question 12)."""
    targets = {"up_to_minimum": sampling.minimum_active, "up_to_budget": sampling.budget, "none": 0}
    return targets[conventions.padding]


def selected_set(
    buckets: Sequence[IntArray], order: IntArray, labels: IntArray, sampling: Sampling, conventions: Conventions
) -> IntArray:
    """Choose the part of a sample's active set that is not random padding: sample, and force the labels in."""
    forced = NOBODY if conventions.label_forcing == "never" else labels
    already = forced if conventions.label_forcing == "before_sampling" else NOBODY
    return force_labels(sample(buckets, order, already, sampling, conventions), forced)


def active_set(
    buckets: Sequence[IntArray],
    order: IntArray,
    labels: IntArray,
    candidates: IntArray,
    sampling: Sampling,
    conventions: Conventions,
) -> IntArray:
    """Choose a sample's active set: sample, force the labels in, pad.

    Parameters
    ----------
    buckets : sequence of L arrays
        One bucket of each table.
    order : ndarray of int, shape (L,)
        The order in which vanilla sampling reads them.
    labels : ndarray of int
        The sample's labels for the output layer, empty for a hidden layer and at inference.
    candidates : ndarray of int
        Distinct random neurons for the padding.
    sampling : Sampling
    conventions : Conventions

    Returns
    -------
    ndarray of int64
        Strictly ascending.
    """
    selected = selected_set(buckets, order, labels, sampling, conventions)
    return pad(selected, candidates, padding_target(sampling, conventions))


def log_weights(active: IntArray, selected: IntArray, population: int, padding_weight: str) -> FloatArray:
    """Return the logarithm of the weight with which each active neuron enters the softmax (question 24).

    The r = |active| - |selected| padding neurons are a uniform draw from the N - |selected| that were not selected, and
    each is in it with probability r / (N - |selected|).  Weighted by the inverse they stand for all of those (Horvitz
    and Thompson 1952).

    Returns
    -------
    ndarray of float64, shape (s,)
    """
    drawn = ~np.isin(active, selected)
    if padding_weight == "one" or not drawn.any():
        return np.zeros(active.size)
    return np.where(drawn, np.log((population - selected.size) / drawn.sum()), 0.0)
