"""What the random choices of an implementation are counted against: exact laws, and the laws of known faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np

from pyslide import theory
from pyslide.arrays import FloatArray
from pyslide.conformance.vectors import Case
from pyslide.conventions import PAPER, Conventions
from pyslide.spec.sampling import vanilla
from pyslide.theory.simhash import SignLaw
from pyslide.verification import Check

Successes = Callable[[Mapping[str, Any]], tuple[int, int]]
"""From the outputs of a request to how many of its draws were successes, of how many."""


@dataclass(frozen=True, eq=False)
class Claim:
    """One probability of a random operation.

    Attributes
    ----------
    id : str
        A slug.
    operation, summary : str
    inputs : mapping
        Without ``count`` and ``seed``.
    check : Check
    successes : callable
    faults : mapping
        What other probabilities it would be by known faults, in words.
    """

    id: str
    operation: str
    summary: str
    inputs: Mapping[str, Any]
    check: Check
    successes: Successes
    faults: Mapping[str, float] = field(default_factory=dict)

    @property
    def case(self) -> Case:
        """Return the claim as a case of the report."""
        return Case(self.id, self.operation, self.summary, (), self.inputs)


TIES = [[1.0, 1.0, -1.0, 0.0, 2.0, 0.0], [1.0, 0.0, -1.0, 1.0, 0.0, 0.0]]
RANKED = [[3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0], [2.0, 7.0, 1.0, 8.0, 2.5, 1.5, 9.0]]
ONE_HOT = [[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
POWERS = [[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]]
"""The sign of the largest coordinate that is read decides, so that a biased sign shows in full."""
DIGITS, TABLES = 2, 3
"""K and L of the claims about keys."""
CAPACITY, ARRIVALS = 3, 10
BUCKETS = [[4, 7, 1], [1, 9], [4, 2, 5, 9], [8]]
POPULATION = 20
PROJECTIONS = {
    "gaussian": "Gaussian projections",
    "signs_without_replacement": "signs at ceil(d/3) distinct coordinates",
    "signs_with_replacement": "signs at ceil(d/3) coordinates that may repeat",
    "dense_signs": "signs at all coordinates",
}
"""The answers to question 2 in words."""


def sign_law(projection: str, x: FloatArray, y: FloatArray) -> SignLaw:
    """Return the joint law of the signs under an answer to question 2."""
    third = -(-x.size // 3)
    if projection == "signs_with_replacement":
        return theory.repeated_sign_collision(x, y, third)
    return theory.sparse_sign_collision(x, y, third if projection == "signs_without_replacement" else x.size)


def collision(projection: str, conventions: Conventions) -> float:
    """Return the probability that the vectors `TIES` share a bit."""
    x, y = (np.array(vector) for vector in TIES)
    if projection == "gaussian":
        return float(theory.simhash_collision_probability(x @ y / np.sqrt((x @ x) * (y @ y))))
    return sign_law(projection, x, y).collision(conventions.sign_bit)


def bit_law(projection: str, vector: Sequence[float], conventions: Conventions) -> float:
    """Return the probability that the bit of a vector is 1."""
    if projection == "gaussian":
        return 0.5
    joint = sign_law(projection, np.array(vector), np.array(vector)).joint
    positive, tie, negative = joint[2, 2], joint[1, 1], joint[0, 0]
    return float({
        "one_at_zero_or_above": positive + tie,
        "one_above_zero": positive,
        "zero_at_zero_or_above": negative,
    }[conventions.sign_bit])  # fmt: skip


def equal_codes(outputs: Mapping[str, Any]) -> tuple[int, int]:
    """Count the functions that give both vectors the same code."""
    first, second = outputs["codes"]
    return sum(one == other for one, other in zip(first, second, strict=True)), len(first)


def ones(outputs: Mapping[str, Any]) -> tuple[int, int]:
    """Count the bits that are 1."""
    (codes,) = outputs["codes"]
    return sum(code == 1 for code in codes), len(codes)


def code_claims(conventions: Conventions) -> Iterator[Claim]:
    """Yield the claims about single codes."""
    own = conventions.projection
    simhash = {"family": "simhash", "bin_size": 1, "kept": 1}
    others = {PROJECTIONS[one]: collision(one, conventions) for one in PROJECTIONS if one != own}
    yield Claim(
        "random-codes-simhash", "random_codes", "Two vectors share a bit of SimHash", {**simhash, "vectors": TIES},
        Check("collision", collision(own, conventions), 0.02), equal_codes, others,
    )  # fmt: skip
    for name, vectors, summary in (
        ("ties", ONE_HOT, "The bit of a vector with one entry: a projection that does not read it gives a tie"),
        ("fair-signs", POWERS, "The bit of a vector of powers of two, which a single sign decides"),
    ):
        law = bit_law(own, vectors[0], conventions)
        bits = {PROJECTIONS[one]: bit_law(one, vectors[0], conventions) for one in PROJECTIONS if one != own}
        other_bit = {"the other bit, 0 for a sum >= 0 (question 1)": 1 - law}
        yield Claim(
            f"random-codes-{name}", "random_codes", summary, {**simhash, "vectors": vectors},
            Check("bit is 1", law, 0.02), ones,
            {words: other for words, other in (bits | other_bit).items() if other != law},
        )  # fmt: skip
    x, y = (np.array(vector) for vector in RANKED)
    yield Claim(
        "random-codes-wta", "random_codes", "Two vectors have the same winner in bins of 3 of 7",
        {"family": "wta", "bin_size": 3, "kept": 1, "vectors": RANKED},
        Check("collision", float(theory.winner_take_all_collision_probability(x, y, 3)), 0.02), equal_codes,
        {"bins of 2": float(theory.winner_take_all_collision_probability(x, y, 2)),
         "bins of 4": float(theory.winner_take_all_collision_probability(x, y, 4))},
    )  # fmt: skip
    largest, smallest = (
        [np.sort(np.argsort(sign * vector, kind="stable")[:3]) for vector in (x, y)] for sign in (-1, 1)
    )
    yield Claim(
        "random-codes-minhash", "random_codes", "Whole permutations of MinHash collide with the Jaccard similarity",
        {"family": "minhash", "bin_size": 7, "kept": 3, "vectors": RANKED},
        Check("collision", theory.jaccard(*largest), 0.02), equal_codes,
        {"the smallest entries are kept": theory.jaccard(*smallest)},
    )  # fmt: skip


def shared(tables: Sequence[int], of_all: Callable[[Iterable[bool]], bool]) -> Successes:
    """Return how to count the families of which all (or any) of some tables share a key."""

    def successes(outputs: Mapping[str, Any]) -> tuple[int, int]:
        hits = [of_all(first[t] == second[t] for t in tables) for first, second in outputs["keys"]]
        return sum(hits), len(hits)

    return successes


def key_claims(conventions: Conventions) -> Iterator[Claim]:
    """Yield the claims about keys and about several tables."""
    p = collision(conventions.projection, conventions)
    inputs = {"vectors": TIES, "codes_per_table": DIGITS, "tables": TABLES}
    key = float(theory.meta_hash_probability(p, DIGITS))

    def united(digits: int, tables: int) -> float:
        return float(theory.union_inclusion(p, digits, tables))

    powers = {f"p^{digits}, with {digits} codes a table": p**digits for digits in (1, 3, 4)}
    for table in (0, TABLES - 1):
        yield Claim(
            f"random-keys-table-{table}", "random_keys", f"Two vectors share the key of table {table}: p^{DIGITS}",
            inputs, Check("collision", key, 0.03), shared([table], all), powers,
        )  # fmt: skip
    yield Claim(
        "random-keys-two-tables", "random_keys", "Two tables are independent: p^(2K)", inputs,
        Check("both collide", key**2, 0.03), shared([0, 1], all), {"the same functions in both tables": key},
    )  # fmt: skip
    yield Claim(
        "random-keys-any-table", "random_keys", "Two vectors share a key of any table: 1-(1-p^K)^L", inputs,
        Check("any collides", united(DIGITS, TABLES), 0.03), shared(range(TABLES), any),
        {"one table less": united(DIGITS, TABLES - 1), "K and L swapped": united(TABLES, DIGITS),
         "all tables the same": key},
    )  # fmt: skip


def retained_by_one_over_n(arrival: int) -> float:
    """Return how likely an arrival stays where the n-th is accepted with probability 1/n (the original program)."""
    first = 1.0 if arrival < CAPACITY else 1 / (arrival + 1)
    later = range(max(arrival + 1, CAPACITY) + 1, ARRIVALS + 1)
    return first * float(np.prod([1 - 1 / (n * CAPACITY) for n in later]))


def holding(neuron: int, name: str) -> Successes:
    """Return how to count the lists of an output that hold a neuron."""
    return lambda outputs: (sum(neuron in one for one in outputs[name]), len(outputs[name]))


def reservoir_claims(conventions: Conventions) -> Iterator[Claim]:
    """Yield the claims about reservoirs."""
    exact = float(theory.reservoir_retention_probability(CAPACITY, ARRIVALS))
    one_over_n = conventions.bucket_policy == "reservoir_one_over_n"
    for arrival in (0, 4, 9):
        faulty = retained_by_one_over_n(arrival)
        fifo = {"the newest are kept, as FIFO does": float(arrival >= ARRIVALS - CAPACITY),
                "the oldest are kept": float(arrival < CAPACITY)}  # fmt: skip
        other = {"every arrival stays alike, R/n": exact} if one_over_n else {
            "the n-th arrival is accepted with 1/n in place of R/n, as the original program does": faulty
        }  # fmt: skip
        yield Claim(
            f"random-reservoirs-arrival-{arrival}", "random_reservoirs",
            f"Arrival {arrival} of {ARRIVALS} is in a reservoir of {CAPACITY} in the end",
            {"capacity": CAPACITY, "arrivals": ARRIVALS},
            Check("retention", faulty if one_over_n else exact, 0.03), holding(arrival, "buckets"), other | fifo,
        )  # fmt: skip


def vanilla_law(neuron: int, budget: int, conventions: Conventions) -> float:
    """Return how likely vanilla sampling selects a neuron, by all orders of the tables."""
    buckets = [np.array(bucket) for bucket in BUCKETS]
    orders = permutations(range(len(buckets)))
    hits = sum(neuron in vanilla(buckets, np.array(order), budget, conventions.vanilla_stop) for order in orders)
    return hits / factorial(len(buckets))


def sampling_claims(conventions: Conventions) -> Iterator[Claim]:
    """Yield the claims about the order of the tables and about the padding."""
    inputs = {"buckets": BUCKETS, "budget": 3, "minimum_active": 0, "population": POPULATION}
    in_order = vanilla([np.array(bucket) for bucket in BUCKETS], np.arange(4), 3, conventions.vanilla_stop)
    for neuron in (8, 5, 7):
        yield Claim(
            f"random-active-sets-vanilla-{neuron}", "random_active_sets",
            f"Vanilla sampling with a budget of 3 meets neuron {neuron}", {**inputs, "strategy": "vanilla"},
            Check("inclusion", vanilla_law(neuron, 3, conventions), 0.03), holding(neuron, "active"),
            {"tables are always read in the same order, the first first": float(neuron in in_order)},
        )  # fmt: skip
    if conventions.padding != "up_to_minimum":
        return
    known, minimum = len({neuron for bucket in BUCKETS for neuron in bucket}), 12
    for neuron in (0, POPULATION - 1):
        yield Claim(
            f"random-active-sets-padding-{neuron}", "random_active_sets",
            f"Neuron {neuron}, which no bucket holds, comes in by the padding",
            {**inputs, "strategy": "union", "minimum_active": minimum},
            Check("inclusion", (minimum - known) / (POPULATION - known), 0.03), holding(neuron, "active"),
            {"no padding": 0.0, "the padding starts at neuron 0": float(neuron == 0),
             "as many draws as are missing, some of them in vain": (minimum - known) / POPULATION},
        )  # fmt: skip


def claims(conventions: Conventions = PAPER) -> list[Claim]:
    """Return every claim, under given conventions."""
    parts = code_claims, key_claims, reservoir_claims, sampling_claims
    return [claim for part in parts for claim in part(conventions)]
