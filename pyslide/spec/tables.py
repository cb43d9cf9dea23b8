"""Neurons are kept in the buckets of L tables (sections 3.2 and 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import NamedTuple

import numpy as np

from pyslide.arrays import FloatArray, IntArray


class Bucket(NamedTuple):
    """The members of a bucket, by slot, and how many neurons ever arrived in it (departures taken off)."""

    members: tuple[int, ...]
    arrivals: int


EMPTY_BUCKET = Bucket((), 0)
"""What a key that nobody has gives."""

Table = Mapping[int, Bucket]
"""The buckets of one table by key; those without arrivals are left out."""


def insert_fifo(bucket: Bucket, neuron: int, capacity: int, uniform: float) -> Bucket:
    """Append; when the bucket is full its oldest member leaves.  The draw is not used."""
    return Bucket((*bucket.members, neuron)[-capacity:], bucket.arrivals + 1)


def insert_unlimited(bucket: Bucket, neuron: int, capacity: int, uniform: float) -> Bucket:
    """Append, whatever the capacity.  The draw is not used."""
    return Bucket((*bucket.members, neuron), bucket.arrivals + 1)


def replace_slot(bucket: Bucket, slot: int, neuron: int) -> Bucket:
    """Put a neuron into a slot, as one more arrival."""
    members = (*bucket.members[:slot], neuron, *bucket.members[slot + 1 :])
    return Bucket(members, bucket.arrivals + 1)


def insert_reservoir(bucket: Bucket, neuron: int, capacity: int, uniform: float) -> Bucket:
    """Algorithm R (Vitter 1985): the n-th arrival replaces slot floor(u*n) of a full bucket if there is such a slot.

    With u uniform on [0, 1) that is a uniformly chosen slot with probability capacity/n, so that after n arrivals each
    is a member with the same probability.  A departure frees a slot that the next arrival takes: uniformity then
    returns with the next rebuild.
    """
    if len(bucket.members) < capacity:
        return Bucket((*bucket.members, neuron), bucket.arrivals + 1)
    slot = floor(uniform * (bucket.arrivals + 1))
    return replace_slot(bucket, slot, neuron) if slot < capacity else bucket._replace(arrivals=bucket.arrivals + 1)


def insert_one_over_n(bucket: Bucket, neuron: int, capacity: int, uniform: float) -> Bucket:
    """Replace a uniform slot with probability 1/n, as the original program's reservoir does; late arrivals lose.

    One draw serves twice: floor(u*n) = 1 accepts, and the remainder of u*n, uniform again, chooses the slot.
    """
    if len(bucket.members) < capacity:
        return Bucket((*bucket.members, neuron), bucket.arrivals + 1)
    scaled = uniform * (bucket.arrivals + 1)
    if floor(scaled) != 1:
        return bucket._replace(arrivals=bucket.arrivals + 1)
    return replace_slot(bucket, floor((scaled - 1) * capacity), neuron)


INSERTIONS = {
    "fifo": insert_fifo,
    "reservoir": insert_reservoir,
    "unlimited": insert_unlimited,
    "reservoir_one_over_n": insert_one_over_n,
}
"""What an arrival does, by the answer to question 10."""


def insert(table: Table, key: int, neuron: int, capacity: int, uniform: float, bucket_policy: str) -> Table:
    """Return the table with one more arrival.

    Parameters
    ----------
    table : mapping from key to Bucket
    key, neuron : int
    capacity : int
        R, the slots of a bucket.
    uniform : float
        A draw from [0, 1), for the policies that need one.
    bucket_policy : str
        The answer to question 10.
    """
    bucket = INSERTIONS[bucket_policy](table.get(key, EMPTY_BUCKET), neuron, capacity, uniform)
    return {**table, key: bucket}


def delete(table: Table, key: int, neuron: int) -> Table:
    """Return the table without a neuron that had arrived under this key, whether or not it is still a member."""
    bucket = table.get(key, EMPTY_BUCKET)
    members = tuple(member for member in bucket.members if member != neuron)
    remaining = Bucket(members, bucket.arrivals - 1)
    others = {other: kept for other, kept in table.items() if other != key}
    return {**others, key: remaining} if remaining.arrivals > 0 else others


def insert_all(
    table: Table, keys: IntArray, neurons: IntArray, capacity: int, uniforms: FloatArray, bucket_policy: str
) -> Table:
    """Return the table after several arrivals, in the order given."""
    for key, neuron, uniform in zip(keys, neurons, uniforms, strict=True):
        table = insert(table, int(key), int(neuron), capacity, float(uniform), bucket_policy)
    return table


def move(
    table: Table,
    old_keys: IntArray,
    new_keys: IntArray,
    neurons: IntArray,
    capacity: int,
    uniforms: FloatArray,
    bucket_policy: str,
) -> Table:
    """Return the table after the weights of some neurons changed: all of them leave, then all arrive, in their order.

    A neuron that had been displaced from a full bucket comes back; one that a newcomer displaced earlier does not.
    """
    for key, neuron in zip(old_keys, neurons, strict=True):
        table = delete(table, int(key), int(neuron))
    return insert_all(table, new_keys, neurons, capacity, uniforms, bucket_policy)


def build_table(
    keys: IntArray, order: IntArray, capacity: int, uniforms: FloatArray, bucket_policy: str
) -> Table:
    """Return the table that holds neuron a under ``keys[a]`` for all a (Algorithm 1, line 6; section 4.2).

    Parameters
    ----------
    keys : ndarray of int, shape (N,)
    order : ndarray of int, shape (N,)
        The order of arrival (question 9); ascending ids in the paper's reading.
    capacity : int
    uniforms : ndarray of float, shape (N,)
        One draw a neuron, by id.
    bucket_policy : str
    """
    return insert_all({}, keys[order], order, capacity, uniforms[order], bucket_policy)


def query(table: Table, key: int) -> IntArray:
    """Return the members of one bucket, by slot."""
    return np.array(table.get(key, EMPTY_BUCKET).members, dtype=np.int64)


def query_tables(tables: Sequence[Table], keys: IntArray) -> list[IntArray]:
    """Return one bucket of each of the L tables (Algorithm 2, lines 2 and 3)."""
    return [query(table, int(key)) for table, key in zip(tables, keys, strict=True)]
