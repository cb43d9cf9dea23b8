"""Neurons are kept in the buckets of L tables: all buckets of all tables in one sorted array.

A bucket's address is ``table * 2^table_bits + key``.  Addresses are sorted, and each bucket's members lie side by side,
by slot.  That takes one entry a neuron and table, whatever the number of buckets, and a lookup is a binary search.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray, index_dtype
from pyslide.engine.ragged import contains, distinct, group_starts, offsets_of, ranks_in_groups, spans
from pyslide.engine.threads import SERIAL, Threads

LANDMARK = 32
"""Addresses between two landmarks."""
COUNTED_KEYS = 8
"""Keys an arrival up to which arrivals are sorted by counting."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The buckets of L tables."""

    addresses: IntArray  # (buckets,) rising
    offsets: IntArray  # (buckets+1,)
    members: IntArray  # (entries,) by slot
    arrivals: IntArray  # (buckets,)
    table_bits: int

    def arrays(self) -> dict[str, IntArray]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "table_bits"}

    @property
    def sizes(self) -> IntArray:
        """Return the number of members of each bucket."""
        return np.diff(self.offsets)

    @cached_property
    def landmarks(self) -> IntArray:
        """Return every 32nd address: few enough to stay in the cache, where most of a search then takes place."""
        return self.addresses[::LANDMARK].copy()


class Buckets(NamedTuple):
    """One bucket of each of L tables for each of B samples, flattened by sample, table and slot."""

    lengths: IntArray  # (B, L)
    members: IntArray  # (lengths.sum(),)

    @property
    def samples(self) -> IntArray:
        """Return to which sample each member belongs."""
        return np.repeat(np.arange(self.lengths.shape[0]), self.lengths.sum(axis=1))

    @property
    def tables(self) -> IntArray:
        """Return from which table each member comes."""
        samples, tables = self.lengths.shape
        return np.repeat(np.tile(np.arange(tables), samples), self.lengths.ravel())


def empty_tables(table_bits: int, dtype: type[np.integer] = np.int32) -> Tables:
    """Return tables in which nobody is."""
    nothing = np.empty(0, dtype=np.int64)
    return Tables(nothing, np.zeros(1, dtype=np.int64), nothing.astype(dtype), nothing, table_bits)


def addresses_of(keys: IntArray, table_bits: int) -> IntArray:
    """Return the addresses of keys, shape (..., L)."""
    return keys + (np.arange(keys.shape[-1], dtype=np.int64) << table_bits)


def fifo_slots(ranks: IntArray, held: IntArray, arrivals: IntArray, capacity: int, uniforms: FloatArray) -> IntArray:
    """Return the slots of newcomers when all of a bucket's members stay for now; the oldest are dropped after."""
    return held + ranks


def reservoir_slots(
    ranks: IntArray, held: IntArray, arrivals: IntArray, capacity: int, uniforms: FloatArray
) -> IntArray:
    """Return the slots of newcomers by Algorithm R; ``capacity`` stands for none."""
    chosen = np.floor(uniforms * (arrivals + ranks + 1)).astype(np.int64)
    return np.where(held + ranks < capacity, held + ranks, np.minimum(chosen, capacity))


def one_over_n_slots(
    ranks: IntArray, held: IntArray, arrivals: IntArray, capacity: int, uniforms: FloatArray
) -> IntArray:
    """Return the slots of newcomers by the original program's reservoir; ``capacity`` stands for none."""
    scaled = uniforms * (arrivals + ranks + 1)
    chosen = np.floor((scaled - 1) * capacity).astype(np.int64)
    late = np.where(np.floor(scaled) == 1, chosen, capacity)
    return np.where(held + ranks < capacity, held + ranks, late)


SLOTS = {
    "fifo": fifo_slots,
    "unlimited": fifo_slots,
    "reservoir": reservoir_slots,
    "reservoir_one_over_n": one_over_n_slots,
}
"""Where newcomers go, by the answer to question 10."""


def in_order_of_arrival(addresses: IntArray) -> tuple[IntArray, IntArray]:
    """Return the stable order of addresses, and the addresses in it.

    A plain sort of address and place, packed into one integer, is much faster than a stable sort of the addresses.
    """
    place_bits = max(1, int(addresses.size - 1).bit_length())
    addresses = addresses.astype(np.int64)
    if addresses.size and int(addresses.max()).bit_length() + place_bits > 63:
        order = np.argsort(addresses, kind="stable")
        return order, addresses[order]
    packed = addresses << place_bits
    packed |= np.arange(addresses.size)
    packed.sort()
    return packed & ((1 << place_bits) - 1), packed >> place_bits


def merge_addresses(tables: Tables, newcomers: IntArray) -> Tables:
    """Return the tables with empty buckets for sorted distinct addresses that they lack."""
    if tables.addresses.size == 0:
        lengths = arrivals = np.zeros(newcomers.size, dtype=np.int64)
        return replace(tables, addresses=newcomers, offsets=offsets_of(lengths), arrivals=arrivals)
    fresh = newcomers[~contains(tables.addresses, newcomers)]
    addresses = np.concatenate([tables.addresses, fresh])
    order = np.argsort(addresses, kind="stable")
    padding = np.zeros(fresh.size, dtype=np.int64)
    lengths = np.concatenate([tables.sizes, padding])[order]
    arrivals = np.concatenate([tables.arrivals, padding])[order]
    return replace(tables, addresses=addresses[order], offsets=offsets_of(lengths), arrivals=arrivals)


def insert_all(
    tables: Tables, addresses: IntArray, neurons: IntArray, capacity: int, uniforms: FloatArray, bucket_policy: str
) -> Tables:
    """Return the tables after several arrivals, in the order given.

    Parameters
    ----------
    tables : Tables
    addresses, neurons : ndarray of int, shape (arrivals,)
    capacity : int
    uniforms : ndarray of float, shape (arrivals,)
    bucket_policy : str
        The answer to question 10.
    """
    order, ordered = in_order_of_arrival(addresses)
    starts = group_starts(ordered)
    tables = merge_addresses(tables, ordered[starts])
    buckets = np.searchsorted(tables.addresses, ordered[starts])
    newcomers = np.diff(np.append(starts, ordered.size))
    ranks = ranks_in_groups(starts, ordered.size)
    bucket = np.repeat(buckets, newcomers)
    held, arrivals = tables.sizes[bucket], tables.arrivals[bucket]
    slots = SLOTS[bucket_policy](ranks, held, arrivals, capacity, uniforms[order])
    total = tables.arrivals.copy()
    total[buckets] += newcomers
    grown = tables.sizes
    grown[buckets] += newcomers
    if bucket_policy.startswith("reservoir"):
        grown = np.minimum(grown, np.maximum(tables.sizes, capacity))
    placed = replace(place(tables, grown, bucket, slots, neurons[order]), arrivals=total)
    return keep_newest(placed, capacity) if bucket_policy == "fifo" else placed


def place(tables: Tables, lengths: IntArray, bucket: IntArray, slots: IntArray, neurons: IntArray) -> Tables:
    """Return tables with buckets of new lengths, old members in their slots and newcomers in theirs, the last wins."""
    offsets = offsets_of(lengths)
    members = np.empty(offsets[-1], dtype=tables.members.dtype)
    members[spans(offsets[:-1], tables.sizes)] = tables.members
    inside = slots < lengths[bucket]
    # A repeated index keeps the last value assigned, as NumPy documents, which is the order of arrival.
    members[offsets[bucket[inside]] + slots[inside]] = neurons[inside]
    return replace(tables, offsets=offsets, members=members)


def keep_newest(tables: Tables, capacity: int) -> Tables:
    """Return the tables with only the newest ``capacity`` members of each bucket."""
    lengths = np.minimum(tables.sizes, capacity)
    if lengths.sum() == tables.members.size:
        return tables
    kept = spans(tables.offsets[1:] - lengths, lengths)
    return replace(tables, offsets=offsets_of(lengths), members=tables.members[kept])


def delete(tables: Tables, addresses: IntArray, neurons: IntArray) -> Tables:
    """Return the tables without neurons that had arrived at these addresses, whether or not they are members still."""
    known = contains(tables.addresses, addresses)
    bucket = np.searchsorted(tables.addresses, addresses[known])
    arrivals = tables.arrivals - np.bincount(bucket, minlength=tables.addresses.size)
    holder = np.repeat(np.arange(tables.addresses.size), tables.sizes)
    population = int(max(tables.members.max(initial=0), neurons.max(initial=0))) + 1
    leaving = distinct(bucket * population + neurons[known])
    stays = ~contains(leaving, holder * population + tables.members) & (arrivals[holder] > 0)
    alive = arrivals > 0
    lengths = np.bincount(holder[stays], minlength=tables.addresses.size)[alive]
    return replace(
        tables,
        addresses=tables.addresses[alive],
        offsets=offsets_of(lengths),
        members=tables.members[stays],
        arrivals=arrivals[alive],
    )


def move(
    tables: Tables,
    old_addresses: IntArray,
    new_addresses: IntArray,
    neurons: IntArray,
    capacity: int,
    uniforms: FloatArray,
    bucket_policy: str,
) -> Tables:
    """Return the tables after the weights of some neurons changed: all of them leave, then all arrive."""
    left = delete(tables, old_addresses, neurons)
    return insert_all(left, new_addresses, neurons, capacity, uniforms, bucket_policy)


def join(parts: list[Tables], members: IntArray) -> Tables:
    """Return one structure from parts with ever higher addresses.

    Parameters
    ----------
    parts : list of Tables
    members : ndarray of int, shape (parts, at least the members of each)
        The members of part i stand at the beginning of row i; where a row is not full the next ones move up.
    """
    flat, end = members.reshape(-1), 0
    for row, part in enumerate(parts):
        start, end = end, end + part.members.size
        if start < row * members.shape[1]:
            flat[start:end] = members[row, : part.members.size]
    addresses = np.concatenate([part.addresses for part in parts])
    lengths = np.concatenate([part.sizes for part in parts])
    arrivals = np.concatenate([part.arrivals for part in parts])
    held = flat[:end] if 2 * end > flat.size else flat[:end].copy()  # a view keeps all of the memory
    offsets = offsets_of(lengths, index_dtype(end))
    return Tables(addresses, offsets, held, arrivals, parts[0].table_bits)


def in_buckets(keys: IntArray, neurons: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the keys that occur, rising, where the bucket of each begins and ends, and all buckets' neurons.

    Sorting by counting, which is what SciPy does to turn rows into columns: several times as fast as sorting by
    comparison where keys are not much more than arrivals; where they are, their counters would take most of the time.
    """
    limit = int(keys.max(initial=0)) + 1
    if limit > COUNTED_KEYS * keys.size:
        order, ordered = in_order_of_arrival(keys)
        starts = group_starts(ordered)
        return ordered[starts], np.append(starts, ordered.size), neurons[order]
    one_each = np.arange(keys.size + 1, dtype=np.int32)
    columns = sparse.csr_array((neurons, keys.astype(np.int32), one_each), shape=(keys.size, limit)).tocsc()
    filled = np.flatnonzero(np.diff(columns.indptr))
    return filled, np.append(columns.indptr[filled], columns.indptr[-1]), columns.data


def hold_all(tables: Tables, keys: IntArray, neurons: IntArray) -> Tables:
    """Return what becomes of empty tables whose buckets hold all that arrive: one sort, and no slots to choose."""
    addresses, offsets, members = in_buckets(keys, neurons)
    return Tables(addresses, offsets, members, np.diff(offsets), tables.table_bits)


def build_tables(
    keys: IntArray,
    order: IntArray,
    capacity: int,
    uniforms: FloatArray,
    bucket_policy: str,
    table_bits: int,
    threads: Threads = SERIAL,
    members: IntArray | None = None,
) -> Tables:
    """Return the tables that hold neuron a under ``keys[a, t]`` for all a and t, one table after the other.

    Parameters
    ----------
    keys : ndarray of int, shape (N, L)
    order : ndarray of int, shape (N,)
        The order of arrival.
    capacity : int
    uniforms : ndarray of float, shape (L, N)
        Draws by table and neuron.
    bucket_policy : str
    table_bits : int
    threads : Threads
    members : ndarray of int, shape (L, N), optional
        Memory for the members, which may be that of the keys: those of a table are read before its members are written.
    """
    neurons, count = keys.shape
    empty = empty_tables(table_bits, index_dtype(neurons))
    address = index_dtype(count << table_bits)
    ids = order.astype(empty.members.dtype)
    in_order = bool((order[1:] > order[:-1]).all())
    space = np.empty((count, neurons), dtype=ids.dtype) if members is None else members

    def one_table(table: int) -> Tables:
        addresses = keys[:, table] if in_order else keys[:, table].take(order)
        if bucket_policy.startswith("reservoir"):
            part = insert_all(empty, addresses, ids, capacity, uniforms[table][order], bucket_policy)
        else:
            part = hold_all(empty, addresses, ids)
        part = keep_newest(part, capacity) if bucket_policy == "fifo" else part
        held = space[table, : part.members.size]
        held[:] = part.members
        own: IntArray = part.addresses.astype(address)
        own += address(table << table_bits)
        return replace(part, addresses=own, members=held)

    return join(threads.map(one_table, range(count)), space)


def find_buckets(tables: Tables, wanted: IntArray) -> IntArray:
    """Return where each address is, or would be, among those of the tables, in two steps.

    A binary search of millions of addresses waits for memory at each of its last steps; one among the landmarks and one
    look at all addresses between two of them wait once.
    """
    wanted = wanted.astype(tables.addresses.dtype)
    first = LANDMARK * np.maximum(np.searchsorted(tables.landmarks, wanted, side="right") - 1, 0)
    places = first[..., None] + np.arange(LANDMARK)  # (..., 32)
    near = tables.addresses.take(places, mode="clip")
    return np.minimum(first + (near < wanted[..., None]).sum(axis=-1), tables.addresses.size - 1)


def query_tables(tables: Tables, keys: IntArray) -> Buckets:
    """Return one bucket of each of the L tables for every sample.

    Parameters
    ----------
    tables : Tables
    keys : ndarray of int, shape (B, L)
    """
    wanted = addresses_of(keys, tables.table_bits)
    if tables.addresses.size == 0:
        return Buckets(np.zeros(keys.shape, dtype=np.int64), tables.members)
    bucket = find_buckets(tables, wanted)
    sizes = tables.offsets[bucket + 1] - tables.offsets[bucket]
    lengths = np.where(tables.addresses[bucket] == wanted, sizes, 0)
    places = spans(tables.offsets[bucket].ravel(), lengths.ravel())
    return Buckets(lengths, tables.members[places])
