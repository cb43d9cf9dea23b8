"""Which K, L and bucket size find the neurons one wants within a budget: the laws of `pyslide.theory`, searched.

A neuron that one wants found shares one code with the input with probability p, a typical other one with p'.  Both may
be a single number or what was measured (`pyslide.agreement`).  For given K and bucket size R

1. a neuron has the input's key in one table with probability q = p^K,
2. and is still in the bucket with probability E[min(1, R / (1 + X))], X the number of others with that key: for a
   reservoir at any place, for FIFO on average over the places of a neuron in the order of arrival,
3. so that L tables find it with probability 1 - (1 - h)^L, h the product of the two.

Codes are taken to be independent, as the paper does.  The smallest L that reaches the wished recall is the best for its
K and R, since more tables find more of everything.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray, IntArray, require_ids, require_shape
from pyslide.errors import OutOfRangeError
from pyslide.settings import Hashing
from pyslide.theory import expected_bucket_load, meta_hash_probability, retrieved_from_any_table
from pyslide.theory.checks import as_count, as_probabilities

CAPACITIES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Bucket sizes that are tried."""
KEY_BITS = 63
"""A key is packed into so many bits."""
MORE_TABLES = 100
"""How many times the allowed tables are looked at when nothing is feasible."""
MEMBER_BYTES, BUCKET_BYTES = 4, 24
"""Of the engine's tables, at most: a member's id; a bucket's address, offset and number of arrivals."""


@dataclass(frozen=True, eq=False)
class Collisions:
    """How likely neurons share one code with inputs.

    Attributes
    ----------
    wanted : ndarray of float, shape (W,)
        p of neurons that an input should find.
    askers : ndarray of int, shape (W,)
        By which input each is wanted.
    others : ndarray of float, shape (Q, n)
        p' of typical other neurons, for each of Q inputs.
    """

    wanted: FloatArray
    askers: IntArray
    others: FloatArray

    def __post_init__(self) -> None:
        """Refuse what are no probabilities, or nobody."""
        require_shape(as_probabilities(self.others, "others"), (None, None), "others")
        require_shape(as_probabilities(self.wanted, "wanted"), (None,), "wanted")
        require_shape(self.askers, self.wanted.shape, "askers")
        if self.wanted.size == 0 or self.others.size == 0:
            raise OutOfRangeError("wanted, others: expected at least one neuron of each")
        require_ids(self.askers, len(self.others), "askers")

    @classmethod
    def of(cls, wanted: float, other: float) -> Collisions:
        """Return those of one wanted neuron and one typical other."""
        return cls(np.array([wanted]), np.zeros(1, dtype=np.int64), np.array([[other]]))


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the tables of a layer should do.

    Attributes
    ----------
    neurons : int
        N, at least 2.
    hashing : Hashing
        Family, bin size and table bits are taken from it; K, L and bucket size are searched.
    inputs : int
        d, the inputs of a neuron.
    recall : float
        With which probability a wanted neuron is to be found, in (0, 1).
    active : float
        How many neurons may be active for an input, on average.
    tables : int
        The largest L.
    """

    neurons: int
    hashing: Hashing
    inputs: int
    recall: float = 0.9
    active: float = 1000
    tables: int = 200

    def __post_init__(self) -> None:
        """Refuse what nobody can wish."""
        as_count(self.neurons, "neurons", 2)
        as_count(self.inputs, "inputs", 1)
        as_count(self.tables, "tables", 1)
        if not 0 < self.recall < 1:
            raise OutOfRangeError(f"recall: expected a probability between 0 and 1, got {self.recall}")
        if not 1 <= self.active <= self.neurons:
            raise OutOfRangeError(f"active: expected 1 to {self.neurons}, the neurons; got {self.active}")

    @property
    def code_range(self) -> int:
        """Return m, the values of a code."""
        return 2 if self.hashing.family == "simhash" else self.hashing.bin_size

    @property
    def code_reads(self) -> int:
        """Return how many coordinates of a dense vector one code looks at: ceil(d/3) for SimHash, else m."""
        return ceil(self.inputs / 3) if self.hashing.family == "simhash" else self.hashing.bin_size

    @property
    def most_codes(self) -> int:
        """Return the largest K that a key holds."""
        return int(KEY_BITS / log2(self.code_range))


class Candidate(NamedTuple):
    """K, L and bucket size, and what follows."""

    codes_per_table: int  # K
    tables: int  # L
    capacity: int | None  # R; None: buckets have none
    recall: float  # probability that a wanted neuron is found
    active: float  # expected neurons found by an input
    load: float  # expected neurons that have the key of the bucket that an input reads
    overflow: float  # share of them that the bucket cannot hold
    megabytes: float  # of the tables, at most
    sample_reads: int  # coordinates read to hash a dense input
    rebuild_reads: int  # and all neurons


@dataclass(frozen=True, eq=False)
class OneTable:
    """What a table with keys of K codes and buckets of R slots does, whatever the number of tables."""

    wish: Wish
    collisions: Collisions
    codes_per_table: int
    capacity: int | None

    def key_hits(self, code_collision: npt.ArrayLike) -> FloatArray:
        """Return how likely a neuron lies in the input's bucket: it has its key, or one folded onto the same place."""
        hits = meta_hash_probability(code_collision, self.codes_per_table)
        bits = self.wish.hashing.table_bits
        folded = self.codes_per_table * log2(self.wish.code_range) > bits
        return hits + (1 - hits) / 2**bits if folded else hits

    @cached_property
    def other_hits(self) -> FloatArray:
        """Return how likely each other neuron has each input's key, shape (Q, n)."""
        return self.key_hits(self.collisions.others)

    @cached_property
    def loads(self) -> FloatArray:
        """Return how many neurons have each input's key, shape (Q,)."""
        return self.wish.neurons * self.other_hits.mean(axis=1)

    @cached_property
    def kept(self) -> FloatArray:
        """Return which share of them is in the bucket, shape (Q,): E[min(X, R)] / E[X]."""
        if self.capacity is None:
            return np.ones_like(self.loads)
        held = expected_bucket_load(self.wish.neurons, self.other_hits.mean(axis=1), self.capacity)
        return np.divide(held, self.loads, out=np.ones_like(held), where=self.loads > 0)

    def recall(self, tables: int) -> float:
        """Return the probability that L tables find a wanted neuron."""
        kept = self.kept[self.collisions.askers]
        return float(retrieved_from_any_table(self.key_hits(self.collisions.wanted) * kept, tables).mean())

    def active(self, tables: int) -> float:
        """Return how many neurons L tables find: the wanted one and others."""
        found = retrieved_from_any_table(self.other_hits * self.kept[:, None], tables)
        return self.recall(tables) + (self.wish.neurons - 1) * float(found.mean())

    def candidate(self, tables: int) -> Candidate:
        """Return what follows from L tables."""
        codes = self.codes_per_table * tables
        return Candidate(
            codes_per_table=self.codes_per_table,
            tables=tables,
            capacity=self.capacity,
            recall=self.recall(tables),
            active=self.active(tables),
            load=float(self.loads.mean()),
            overflow=1 - float(np.average(self.kept, weights=self.loads)) if self.loads.any() else 0.0,
            megabytes=table_bytes(self.wish, self.codes_per_table, self.capacity) * tables / 1e6,
            sample_reads=codes * self.wish.code_reads,
            rebuild_reads=self.wish.neurons * codes * self.wish.code_reads,
        )


def table_bytes(wish: Wish, codes_per_table: int, capacity: int | None) -> int:
    """Return what a table takes at most: every neuron in a bucket, and as many buckets as there can be."""
    buckets = min(wish.neurons, wish.code_range**codes_per_table, 2**wish.hashing.table_bits)
    members = wish.neurons if capacity is None else min(wish.neurons, buckets * capacity)
    return members * MEMBER_BYTES + buckets * BUCKET_BYTES


def fewest(reached: Callable[[int], float], least: float, most: int) -> int | None:
    """Return the smallest n of 1..most at which a function that does not fall reaches a value, if there is one."""
    numbers = range(1, most + 1)
    place = bisect_left(numbers, least, key=reached)
    return numbers[place] if place < most else None


def kinds_of_tables(wish: Wish, collisions: Collisions, tables: int) -> Iterator[OneTable]:
    """Yield every bucket size of every K at which so many tables without a capacity can reach the wished recall."""
    for codes_per_table in range(1, wish.most_codes + 1):
        unlimited = OneTable(wish, collisions, codes_per_table, None)
        if unlimited.recall(tables) < wish.recall:
            return
        for capacity in CAPACITIES:
            if capacity < wish.neurons:
                yield OneTable(wish, collisions, codes_per_table, capacity)
        yield unlimited


def candidates(wish: Wish, collisions: Collisions) -> list[Candidate]:
    """Return the K, L and bucket sizes that fulfil a wish, the least work for hashing first.

    Of the bucket sizes of a K that need the same number of tables only the smallest is listed.
    """
    found: dict[tuple[int, int], Candidate] = {}
    for table in kinds_of_tables(wish, collisions, wish.tables):
        tables = fewest(table.recall, wish.recall, wish.tables)
        if tables is None or (table.codes_per_table, tables) in found:
            continue
        if table.active(tables) <= wish.active:
            found[table.codes_per_table, tables] = table.candidate(tables)
    return sorted(found.values(), key=lambda one: (one.sample_reads, one.active))


def nearest_misses(wish: Wish, collisions: Collisions) -> dict[str, Candidate]:
    """Return what could be had if one limit were given up, by the limit.

    ``active``: the fewest active neurons within the tables; ``tables``: the fewest tables within the active neurons, up
    to 100 times those allowed; ``recall``: the best recall within both.  A limit is missing if giving it up does not
    help.
    """
    misses: dict[str, Candidate] = {}
    for table in kinds_of_tables(wish, collisions, wish.tables * MORE_TABLES):
        tables = fewest(table.recall, wish.recall, wish.tables * MORE_TABLES)
        if tables is not None and tables <= wish.tables:
            keep_better(misses, "active", table.candidate(tables), lambda one: -one.active)
        elif tables is not None and table.active(tables) <= wish.active:
            keep_better(misses, "tables", table.candidate(tables), lambda one: -one.tables)
        too_many = fewest(table.active, np.nextafter(wish.active, np.inf), wish.tables)
        most = wish.tables if too_many is None else too_many - 1
        if most > 0:
            keep_better(misses, "recall", table.candidate(most), lambda one: one.recall)
    return misses


def keep_better(
    best: dict[str, Candidate], limit: str, candidate: Candidate, worth: Callable[[Candidate], float]
) -> None:
    """Put a candidate in the place of one that is worth less."""
    if limit not in best or worth(candidate) > worth(best[limit]):
        best[limit] = candidate
