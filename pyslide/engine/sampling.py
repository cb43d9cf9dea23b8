"""Buckets become active sets, for a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import BoolArray, FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.ragged import (
    ActiveSets,
    contains,
    distinct,
    group_starts,
    offsets_of,
    pack,
    pack_sets,
    ranks_in_groups,
    unpack,
)
from pyslide.engine.tables import Buckets
from pyslide.spec.sampling import Sampling
from pyslide.spec.sampling import padding_target as padding_target  # says something of settings, not of a sample


def nobody(samples: int) -> ActiveSets:
    """Return empty active sets."""
    return ActiveSets(np.zeros(samples + 1, dtype=np.int64), np.empty(0, dtype=np.int64))


def label_sets(labels: sparse.csr_array) -> ActiveSets:
    """Return the labels of each sample, shape (B, N) with sorted indices, as active sets."""
    return ActiveSets(labels.indptr.astype(np.int64), labels.indices.astype(np.int64))


def union(buckets: Buckets, population: int) -> ActiveSets:
    """Return the neurons that occur in any bucket of a sample (question 21)."""
    return unpack(distinct(pack(buckets.samples, buckets.members, population)), len(buckets.lengths), population)


def counts(buckets: Buckets, population: int) -> tuple[ActiveSets, IntArray]:
    """Return the neurons that occur, and in how many buckets each does."""
    ordered = np.sort(pack(buckets.samples, buckets.members, population))
    starts = group_starts(ordered)
    occurrences = np.diff(np.append(starts, ordered.size))
    return unpack(ordered[starts], len(buckets.lengths), population), occurrences


def select(active: ActiveSets, kept: BoolArray) -> ActiveSets:
    """Return the active sets without the entries that a mask leaves out."""
    sizes = np.bincount(active.samples[kept], minlength=active.offsets.size - 1)
    return ActiveSets(offsets_of(sizes), active.neurons[kept])


def intersection(buckets: Buckets, population: int) -> ActiveSets:
    """Return the neurons that occur in every bucket: Algorithm 2 as printed, an erratum."""
    found, occurrences = counts(buckets, population)
    return select(found, occurrences == buckets.lengths.shape[1])


def top_k(buckets: Buckets, budget: int, population: int) -> ActiveSets:
    """Return each sample's ``budget`` most frequent neurons; equal counts go to the smaller id."""
    found, occurrences = counts(buckets, population)
    samples = found.samples
    order = np.lexsort((found.neurons, -occurrences, samples))
    ranks = ranks_in_groups(group_starts(samples), samples.size)  # sorted by sample before and after
    kept = np.zeros(samples.size, dtype=bool)
    kept[order[ranks < budget]] = True
    return select(found, kept)


def hard_threshold(buckets: Buckets, minimum: int, threshold: str, population: int) -> ActiveSets:
    """Return the neurons that occur at least (question 13: or more than) ``minimum`` times."""
    found, occurrences = counts(buckets, population)
    return select(found, occurrences > minimum if threshold == "more_than" else occurrences >= minimum)


def first_occurrences(
    buckets: Buckets, moments: IntArray, already: ActiveSets, population: int
) -> tuple[IntArray, IntArray]:
    """Return the distinct neurons of each sample, packed, and the moment at which each is first met.

    Parameters
    ----------
    buckets : Buckets
    moments : ndarray of int, shape (members,)
        When each member is read, counted from 1; what is already selected counts as met at 0.
    already : ActiveSets
    population : int
    """
    packed = np.concatenate([pack_sets(already, population), pack(buckets.samples, buckets.members, population)])
    met = np.concatenate([np.zeros(already.neurons.size, dtype=np.int64), moments])
    order = np.lexsort((met, packed))
    starts = group_starts(packed[order])
    return packed[order][starts], met[order][starts]


def vanilla(
    buckets: Buckets, order: IntArray, budget: int, vanilla_stop: str, already: ActiveSets, population: int
) -> ActiveSets:
    """Vanilla sampling: read tables in each sample's order until ``budget`` distinct neurons are selected.

    Parameters
    ----------
    buckets : Buckets
    order : ndarray of int, shape (B, L)
    budget : int
        beta of section 4.1.
    vanilla_stop : str
        The answer to question 11.
    already : ActiveSets
        Neurons that count as selected before the first table.
    population : int
        N, the neurons of the layer.
    """
    samples, tables = buckets.lengths.shape
    turn = np.empty_like(order)
    np.put_along_axis(turn, order, np.arange(tables)[None, :], axis=1)  # (B, L) when each table is read
    moments = turn[buckets.samples, buckets.tables] + 1
    if vanilla_stop == "cut_at_budget":
        widest = int(buckets.lengths.max(initial=0)) + 1
        slots = ranks_in_groups(offsets_of(buckets.lengths.ravel())[:-1], buckets.members.size)
        moments = moments * widest + slots
    packed, met = first_occurrences(buckets, moments, already, population)
    if vanilla_stop == "all_tables":
        return unpack(packed, samples, population)
    within = within_budget if vanilla_stop == "whole_buckets" else first_in_time
    return unpack(packed[within(packed // population, met, samples, budget)], samples, population)


def within_budget(sample: IntArray, met: IntArray, samples: int, budget: int) -> BoolArray:
    """Return which neurons were met up to the first table after which a sample has its budget."""
    last = int(met.max(initial=0))
    per_table = np.bincount(sample * (last + 1) + met, minlength=samples * (last + 1)).reshape(samples, last + 1)
    enough = np.cumsum(per_table, axis=1) >= budget
    stop = np.where(enough.any(axis=1), np.argmax(enough, axis=1), last)
    return met <= stop[sample]


def first_in_time(sample: IntArray, met: IntArray, samples: int, budget: int) -> BoolArray:
    """Return which neurons are among the first ``budget`` that a sample met, or were there before."""
    order = np.lexsort((met, sample))
    ranks = ranks_in_groups(group_starts(sample[order]), sample.size)
    kept = np.zeros(sample.size, dtype=bool)
    kept[order] = (ranks < budget) | (met[order] == 0)
    return kept


def force_labels(active: ActiveSets, labels: ActiveSets, population: int) -> ActiveSets:
    """Return the active sets with the samples' labels in them (question 14)."""
    packed = np.concatenate([pack_sets(active, population), pack_sets(labels, population)])
    return unpack(distinct(packed), active.offsets.size - 1, population)


def are_members(active: ActiveSets, samples: IntArray, neurons: IntArray, population: int) -> BoolArray:
    """Return which neurons, a row for each of some samples, are in that sample's active set.

    One mark a neuron of the layer, set and taken back for each sample: faster than to search for each of a thousand.
    """
    marked = np.zeros(population, dtype=bool)
    found = np.empty(neurons.shape, dtype=bool)
    for row, sample in enumerate(samples):
        own = active.of(sample)
        marked[own] = True
        found[row] = marked[neurons[row]]
        marked[own] = False
    return found


def pad(active: ActiveSets, candidates: IntArray, minimum: int, population: int) -> ActiveSets:
    """Fill active sets up to ``minimum`` neurons with the first candidates that are not in them (question 12).

    Parameters
    ----------
    active : ActiveSets
    candidates : ndarray of int, shape (B, any)
        Distinct neurons for each sample.
    minimum : int
    population : int
    """
    missing = np.maximum(0, minimum - active.sizes)
    short = np.flatnonzero(missing)
    if short.size == 0:
        return active
    offered = candidates[short]  # (short, any)
    fresh = ~are_members(active, short, offered, population)
    taken = fresh & (np.cumsum(fresh, axis=1) <= missing[short, None])
    drawn = pack(np.repeat(short, taken.sum(axis=1)), offered[taken], population)
    packed = np.concatenate([pack_sets(active, population), drawn])
    return unpack(np.sort(packed), active.offsets.size - 1, population)


def sample(
    buckets: Buckets,
    order: IntArray,
    already: ActiveSets,
    sampling: Sampling,
    conventions: Conventions,
    population: int,
) -> ActiveSets:
    """Return what the strategy selects; with the printed intersection the strategy does not matter."""
    if conventions.query == "intersection":
        return intersection(buckets, population)
    match sampling.strategy:
        case "vanilla":
            return vanilla(buckets, order, sampling.budget, conventions.vanilla_stop, already, population)
        case "top_k":
            return top_k(buckets, sampling.budget, population)
        case "hard_threshold":
            return hard_threshold(buckets, sampling.minimum_count, conventions.threshold, population)
        case _:
            return union(buckets, population)


class Chosen(NamedTuple):
    """The active sets of a batch, and those among them that are not random padding."""

    active: ActiveSets
    selected: ActiveSets

    def group(self, samples: slice) -> Chosen:
        """Return those of consecutive samples."""
        return Chosen(self.active.group(samples), self.selected.group(samples))


def active_sets(
    buckets: Buckets,
    order: IntArray,
    labels: ActiveSets,
    candidates: IntArray,
    sampling: Sampling,
    conventions: Conventions,
    population: int,
) -> Chosen:
    """Choose the active sets of a batch: sample, force the labels in, pad, join (question 15).

    Parameters
    ----------
    buckets : Buckets
    order : ndarray of int, shape (B, L)
    labels : ActiveSets
        Empty for a hidden layer and at inference.
    candidates : ndarray of int, shape (B, any)
    sampling : Sampling
    conventions : Conventions
    population : int
    """
    none = nobody(len(buckets.lengths))
    forced = none if conventions.label_forcing == "never" else labels
    already = forced if conventions.label_forcing == "before_sampling" else none
    selected = sample(buckets, order, already, sampling, conventions, population)
    selected = force_labels(selected, forced, population)
    padded = pad(selected, candidates, padding_target(sampling, conventions), population)
    return Chosen(share(padded) if conventions.active_set == "union_of_batch" else padded, selected)


def log_weights(
    active: ActiveSets, selected: ActiveSets, population: int, padding_weight: str, dtype: npt.DTypeLike = np.float32
) -> FloatArray:
    """Return the logarithm of the weight with which each active neuron enters the softmax, flat (question 24)."""
    drawn_sizes = active.sizes - selected.sizes
    if padding_weight == "one" or not drawn_sizes.any():
        return np.zeros(active.neurons.size, dtype=dtype)
    drawn = ~contains(pack_sets(selected, population), pack_sets(active, population))
    left = np.where(drawn_sizes > 0, population - selected.sizes, 1)  # a sample that retrieved everyone draws nobody
    weights = np.log(left / np.maximum(1, drawn_sizes)).astype(dtype)
    return drawn * np.repeat(weights, active.sizes)


def share(active: ActiveSets) -> ActiveSets:
    """Return active sets that are all the union of the batch's."""
    everyone = distinct(active.neurons)
    samples = active.offsets.size - 1
    return ActiveSets(np.arange(samples + 1) * everyone.size, np.tile(everyone, samples))
