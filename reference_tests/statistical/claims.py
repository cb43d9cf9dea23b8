"""The claims: what is drawn how, and the exact probability of what is counted.

A claim counts successes in independent draws of all random parameters.  Functions of one family are independent where
they come from rows (SimHash) or from permutations of their own (the first bin of each); where a family as a whole is
one draw, it is drawn anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.stats import binom, norm

from pyslide import randomness, theory
from pyslide.conventions import PAPER, QUESTIONS
from pyslide.engine import hashing as engine_hashing
from pyslide.engine import keys as engine_keys
from pyslide.engine import sampling as engine_sampling
from pyslide.engine import tables as engine_tables
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.spec import hashing as spec_hashing
from pyslide.spec import keys as spec_keys
from pyslide.spec import sampling as spec_sampling
from pyslide.spec import tables as spec_tables
from pyslide.spec.vectors import from_dense
from pyslide.verification import Check

Count = Callable[[int, Generator], int]
SPEC, ENGINE, DRAWS = "spec", "engine", "randomness"


class Claim(NamedTuple):
    """A check, where it belongs, and how its successes are counted."""

    check: Check
    layer: str
    count: Count


def codes_by(layer: str, family, vector):
    """Return the codes of one vector by the spec or by the engine."""
    if layer == SPEC:
        return spec_hashing.hash_codes(from_dense(vector), family, PAPER).codes
    return engine_hashing.hash_codes(vector[None, :], family, PAPER).codes[0]


def collisions(layer: str, draw, x, y) -> Count:
    """Count the functions of a family of independent ones that give two vectors the same code."""

    def count(trials: int, generator: Generator) -> int:
        family = draw(generator, trials)
        return int((codes_by(layer, family, x) == codes_by(layer, family, y)).sum())

    return count


def projections(projection: str, dimension: int):
    """Return how to draw independent projections."""
    return lambda generator, count: randomness.draw_projections(generator, count, dimension, projection)


def independent_bins(generator: Generator, count: int, bin_size: int, dimension: int):
    """Return bins that each come from a permutation of their own: the first of every cut."""
    a_permutation = dimension // bin_size
    return randomness.draw_bins(generator, count * a_permutation, bin_size, dimension)[::a_permutation]


def winner_take_all(bin_size: int, dimension: int):
    """Return how to draw independent bins."""
    return lambda generator, count: WinnerTakeAllParameters(
        independent_bins(generator, count, bin_size, dimension), dimension
    )


def minhash(dimension: int, kept: int):
    """Return how to draw whole permutations, which never have to borrow."""
    return lambda generator, count: MinHashParameters(
        independent_bins(generator, count, dimension, dimension), np.zeros((count, 1), dtype=int), kept, dimension
    )


def sign_law(x, y, nonzeros: int) -> float:
    """Return the probability that a sparse sign projection gives x and y the same bit."""
    return float(theory.sparse_sign_collision(x, y, nonzeros).collision())


ANGLE = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.5, np.sqrt(0.75), 0.0, 0.0])
NEAR = np.array([1.0, 2.0, -1.0, 0.5]), np.array([1.0, 2.0, -1.0, 0.7])
CROSSED = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, -1.0, 0.0, 0.0])
TIES = np.array([1.0, 1.0, -1.0, 0.0, 2.0, 0.0]), np.array([1.0, 0.0, -1.0, 1.0, 0.0, 0.0])
RANKED = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0]), np.array([2.0, 7.0, 1.0, 8.0, 2.5, 1.5, 9.0])
EQUAL = np.array([1.0, 1.0, 2.0, 2.0, 0.0, 2.0, 1.0]), np.array([2.0, 1.0, 2.0, 0.0, 1.0, 2.0, 1.0])
SPARSE = np.array([0.0, 3.0, 0.0, 1.0, 2.0, 0.0, 0.0]), np.array([0.0, 3.0, 1.0, 0.0, 0.5, 0.0, 0.0])


def cosine(x, y) -> float:
    """Return the cosine of two vectors."""
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def hashing_claims(layer: str) -> list[Claim]:
    """Return the claims about single codes."""
    gaussian = {"60 degrees": ANGLE, "near-identical": NEAR, "orthogonal": CROSSED}
    claims = [
        Claim(
            Check(f"SimHash, Gaussian, {name}", float(theory.simhash_collision_probability(cosine(*pair))), 0.02),
            layer,
            collisions(layer, projections("gaussian", 4), *pair),
        )
        for name, pair in gaussian.items()
    ]
    signs = {
        "signs_without_replacement": sign_law(*TIES, 2),
        "signs_with_replacement": float(theory.repeated_sign_collision(*TIES, 2).collision()),
        "dense_signs": sign_law(*TIES, 6),
    }
    assert {"gaussian", *signs} == set(next(one.answers for one in QUESTIONS if one.number == 2))
    claims += [
        Claim(Check(f"SimHash, {name}, ties", law, 0.02), layer, collisions(layer, projections(name, 6), *TIES))
        for name, law in signs.items()
    ]
    for name, pair in {"distinct values": RANKED, "equal values": EQUAL}.items():
        law = float(theory.winner_take_all_collision_probability(*pair, 3))
        claims.append(
            Claim(Check(f"WTA m=3 d=7, {name}", law, 0.02), layer, collisions(layer, winner_take_all(3, 7), *pair))
        )
    members = [set(np.argsort(-vector, kind="stable")[:3].tolist()) for vector in RANKED]
    law = float(theory.jaccard(*(np.array(sorted(one)) for one in members)))
    whole = collisions(layer, minhash(7, 3), *RANKED)
    claims.append(Claim(Check("MinHash, whole permutations", law, 0.02), layer, whole))
    return claims + densified_claims(layer)


def occupation(layer: str, vector, bins):
    """Return codes and occupation of independent DWTA bins."""
    if layer == SPEC:
        kept = spec_hashing.hashed_entries(from_dense(vector), PAPER.dense_input)
        return spec_hashing.occupied_codes(kept, bins, PAPER.empty_bin)
    columns = np.where(vector == 0, -np.inf, vector)[:, None]
    codes, occupied = engine_hashing.occupied_codes(columns, bins, PAPER.empty_bin)
    return codes[:, 0], occupied[:, 0]


def bin_outcomes(layer: str, outcome: str) -> Count:
    """Count the bins in which two sparse vectors have one of the outcomes of a bin's law."""

    def count(trials: int, generator: Generator) -> int:
        bins = independent_bins(generator, trials, 3, 7)
        (a, in_a), (b, in_b) = (occupation(layer, vector, bins) for vector in SPARSE)
        outcomes = {
            "equal": in_a & in_b & (a == b),
            "differ": in_a & in_b & (a != b),
            "only_first_empty": ~in_a & in_b,
            "only_second_empty": in_a & ~in_b,
            "both_empty": ~in_a & ~in_b,
        }
        return int(outcomes[outcome].sum())

    return count


def densified_collisions(layer: str, bins: int) -> Count:
    """Count the families, each drawn anew, whose first codes agree after densification."""

    def count(trials: int, generator: Generator) -> int:
        equal = 0
        for _ in range(trials):
            probes = randomness.draw_probes(generator, bins, 64)
            family = DensifiedWinnerTakeAllParameters(independent_bins(generator, bins, 3, 7), probes, 7)
            first, second = (codes_by(layer, family, vector)[0] for vector in SPARSE)
            equal += int(first == second)
        return equal

    return count


def densified_claims(layer: str) -> list[Claim]:
    """Return the claims about DWTA's bins and about borrowed codes."""
    law = theory.densified_winner_take_all_bin_law(*SPARSE, 3)
    claims = [
        Claim(Check(f"DWTA bin, {outcome}", float(getattr(law, outcome)), 0.02), layer, bin_outcomes(layer, outcome))
        for outcome in ("equal", "differ", "only_first_empty", "only_second_empty", "both_empty")
    ]
    after = float(theory.densified_winner_take_all_collision_probability(*SPARSE, 3, 16))
    claims.append(Claim(Check("DWTA, densified, 16 bins", after, 0.1), layer, densified_collisions(layer, 16)))
    return claims


K, L, THRESHOLD = 3, 4, 2


def keys_of(layer: str, vector, family: SimHashParameters, trials: int):
    """Return the keys of independent families of K*L functions, shape (trials, L)."""
    codes = codes_by(layer, family, vector)
    multipliers = np.ones(trials * L, dtype=np.uint64)
    bucket_keys = spec_keys.bucket_keys if layer == SPEC else engine_bucket_keys
    return bucket_keys(codes, 2, K, 18, multipliers, PAPER.packing).reshape(trials, L)


def engine_bucket_keys(codes, *rest):
    """Return one vector's keys by the engine."""
    return engine_keys.bucket_keys(codes[None, :], *rest)[0]


def shared_keys(layer: str, trials: int, generator: Generator):
    """Return in which tables two vectors at 60 degrees share a key, for independent families, shape (trials, L)."""
    family = randomness.draw_projections(generator, trials * K * L, 4, "gaussian")
    return keys_of(layer, ANGLE[0], family, trials) == keys_of(layer, ANGLE[1], family, trials)


def retrieval_claims(layer: str) -> list[Claim]:
    """Return the claims about keys and about inclusion over tables."""
    p = float(theory.simhash_collision_probability(cosine(*ANGLE)))

    def selected(strategy: str):
        settings = spec_sampling.Sampling(strategy=strategy, budget=1, minimum_count=THRESHOLD)

        def count(trials: int, generator: Generator) -> int:
            shared = shared_keys(layer, trials, generator)
            orders = randomness.draw_table_orders(generator, trials, L)
            return retrieved(layer, shared[:, :, None], orders, settings)[0]

        return count

    return [
        Claim(Check("key of one table, p^K", float(theory.meta_hash_probability(p, K)), 0.03), layer,
              lambda trials, generator: int(shared_keys(layer, trials, generator)[:, 0].sum())),
        Claim(Check("union of L tables", float(theory.union_inclusion(p, K, L)), 0.03), layer, selected("union")),
        Claim(Check("vanilla, budget 1, one neuron", float(theory.union_inclusion(p, K, L)), 0.03), layer,
              selected("vanilla")),
        Claim(Check("hard threshold m=2", float(theory.hard_threshold_inclusion(p, K, L, THRESHOLD)), 0.03), layer,
              selected("hard_threshold")),
    ]  # fmt: skip


def retrieved(layer: str, hits, orders, settings):
    """Return how often each neuron is selected, given in which buckets it is, shape (trials, tables, neurons)."""
    trials, tables, neurons = hits.shape
    if layer == ENGINE:
        members = np.nonzero(hits.reshape(-1, neurons))[1]
        buckets = engine_tables.Buckets(hits.sum(axis=2), members)
        nobody = engine_sampling.nobody(trials)
        chosen = engine_sampling.sample(buckets, orders, nobody, settings, PAPER, neurons)
        return np.bincount(chosen.neurons, minlength=neurons)
    totals = np.zeros(neurons, dtype=int)
    for sample in range(trials):
        buckets = [np.flatnonzero(hits[sample, table]) for table in range(tables)]
        totals[spec_sampling.sample(buckets, orders[sample], spec_sampling.NOBODY, settings, PAPER)] += 1
    return totals


HITS = np.array([0.6, 0.3, 0.3, 0.1])


def budget_claims(layer: str) -> list[Claim]:
    """Return the claims about vanilla and TopK with a budget, over neurons that hit tables independently."""

    def selected(strategy: str, neuron: int):
        settings = spec_sampling.Sampling(strategy=strategy, budget=2)

        def count(trials: int, generator: Generator) -> int:
            hits = generator.random((trials, L, HITS.size)) < HITS
            orders = randomness.draw_table_orders(generator, trials, L)
            return int(retrieved(layer, hits, orders, settings)[neuron])

        return count

    laws = {
        "vanilla": theory.vanilla_inclusion(HITS, 2, L),
        "top_k": theory.topk_inclusion(HITS, L, 2),
    }
    return [
        Claim(Check(f"{strategy}, budget 2, neuron {neuron}", float(law[neuron]), 0.04), layer,
              selected(strategy, neuron))
        for strategy, law in laws.items()
        for neuron in (0, 1, 3)
    ]  # fmt: skip


CAPACITY, ARRIVALS = 3, 10


def retained(layer: str, arrival: int, arrivals: int = ARRIVALS) -> Count:
    """Count the reservoirs that hold an arrival in the end."""

    def count(trials: int, generator: Generator) -> int:
        uniforms = randomness.draw_uniforms(generator, (trials, arrivals))
        neurons = np.arange(arrivals)
        if layer == SPEC:
            held = 0
            for row in uniforms:
                table = spec_tables.insert_all({}, np.zeros(arrivals, int), neurons, CAPACITY, row, "reservoir")
                held += arrival in table[0].members
            return held
        addresses = np.repeat(np.arange(trials), arrivals)
        empty = engine_tables.empty_tables(32)
        tables = engine_tables.insert_all(
            empty, addresses, np.tile(neurons, trials), CAPACITY, uniforms.ravel(), "reservoir"
        )
        return int((tables.members == arrival).sum())

    return count


def reservoir_claims(layer: str) -> list[Claim]:
    """Return the claims about Algorithm R: every arrival has the same chance; without overflow all stay."""
    chance = float(theory.reservoir_retention_probability(CAPACITY, ARRIVALS))
    claims = [
        Claim(Check(f"reservoir R=3 n=10, arrival {arrival}", chance, 0.04), layer, retained(layer, arrival))
        for arrival in (0, 2, 3, 6, 9)
    ]
    claims.append(Claim(Check("reservoir R=3 n=3, arrival 1", 1.0, 0.04), layer, retained(layer, 1, 3)))
    return claims


NEURONS = 8


def first_buckets(layer: str, policy: str, capacity: int, trials: int, generator: Generator) -> list[list[int]]:
    """Return the first bucket of independent tables of two, into which every neuron falls by the toss of a coin."""
    keys = generator.integers(0, 2, (NEURONS, trials))
    uniforms = randomness.draw_uniforms(generator, (trials, NEURONS))
    order = np.arange(NEURONS)
    if layer == SPEC:
        tables = [
            spec_tables.build_table(column, order, capacity, row, policy)
            for column, row in zip(keys.T, uniforms, strict=True)
        ]
        return [spec_tables.query(table, 0).tolist() for table in tables]
    built = engine_tables.build_tables(keys, order, capacity, uniforms, policy, 1)
    found = engine_tables.query_tables(built, np.zeros((1, trials), dtype=np.int64))
    return [bucket.tolist() for bucket in np.split(found.members, np.cumsum(found.lengths[0])[:-1])]


def bucket_claims(layer: str) -> list[Claim]:
    """Return the claims about who is found in a bucket, and how full it is, with overflow and without."""
    coins = np.full(NEURONS, 0.5)
    laws = {"fifo": theory.fifo_retrieval_probabilities, "reservoir": theory.reservoir_retrieval_probabilities}

    def found(policy: str, capacity: int, neuron: int) -> Count:
        return lambda trials, generator: sum(
            neuron in bucket for bucket in first_buckets(layer, policy, capacity, trials, generator)
        )

    def at_least(load: int) -> Count:
        return lambda trials, generator: sum(
            len(bucket) >= load for bucket in first_buckets(layer, "fifo", NEURONS, trials, generator)
        )

    retrieved = [
        Claim(Check(f"{policy} bucket of {capacity}, neuron {neuron} of 8", float(law(coins, capacity)[neuron]), 0.04),
              layer, found(policy, capacity, neuron))
        for policy, law in laws.items()
        for capacity, neuron in ((CAPACITY, 1), (CAPACITY, 6), (NEURONS, 1))
    ]
    loads = [
        Claim(Check(f"bucket load of 8 neurons, at least {load}", float(binom.sf(load - 1, NEURONS, 0.5)), 0.04), layer,
              at_least(load))
        for load in (2, 5)
    ]
    return retrieved + loads  # fmt: skip


def folded_meetings(layer: str, key: int, bits: int) -> Count:
    """Count the odd multipliers by which a key folds into the bucket of the key 0."""

    def count(trials: int, generator: Generator) -> int:
        multipliers = randomness.draw_multipliers(generator, trials)
        if layer == SPEC:
            return sum(spec_keys.fold_key(key, int(multiplier), bits) == 0 for multiplier in multipliers)
        keys = np.full((trials, 1), key, dtype=np.int64)
        return int((engine_keys.fold_keys(keys, multipliers, bits) == 0).sum())

    return count


def fold_claims(layer: str) -> list[Claim]:
    """Return the claims about folding: an odd multiple of an odd key is a uniform odd number modulo 2^64."""
    return [
        Claim(Check(f"key {key} folds to 0 in {2**bits} buckets", 2.0**-bits, 0.04), layer,
              folded_meetings(layer, key, bits))
        for key, bits in ((5, 3), (3**30, 2), (6, 3))  # 6: the same for twice an odd number
    ]  # fmt: skip


def expected_donor(bins: int, donor: int) -> float:
    """Return the probability that 32 uniform bits, scaled to the bins, give a donor."""
    first, last = -(-donor * 2**32 // bins), -(-(donor + 1) * 2**32 // bins)
    return (last - first) / 2**32


def repeated(one: Callable[[Generator], bool]) -> Count:
    """Count successes of single draws."""
    return lambda trials, generator: sum(one(generator) for _ in range(trials))


def drawing_claims() -> list[Claim]:
    """Return the claims about the functions that draw."""
    quantile = 0.7
    checks = {
        "fair signs": (0.5, 0.01, lambda n, g: int((randomness.draw_signs(g, (n,)) > 0).sum())),
        "uniforms below 0.3": (0.3, 0.02, lambda n, g: int((randomness.draw_uniforms(g, (n,)) < 0.3).sum())),
        "weights below 0.7 standard deviations": (
            float(norm.cdf(quantile)), 0.02,
            lambda n, g: int((randomness.draw_weights(g, (n,), 0.1, np.float64) < 0.1 * quantile).sum()),
        ),
        "padding starts": (1 / 7, 0.02, lambda n, g: int((randomness.draw_starts(g, n, 7) == 3).sum())),
        "table orders, first place": (
            1 / 5, 0.02, lambda n, g: int((randomness.draw_table_orders(g, n, 5)[:, 0] == 4).sum()),
        ),
        "table orders, last place": (
            1 / 5, 0.02, lambda n, g: int((randomness.draw_table_orders(g, n, 5)[:, 4] == 0).sum()),
        ),
        "bins of one permutation, places": (
            1 / 7, 0.02, lambda n, g: int((independent_bins(g, n, 3, 7)[:, 1] == 6).sum()),
        ),
        "second bins of a permutation, places": (
            1 / 7, 0.02, lambda n, g: int((randomness.draw_bins(g, 2 * n, 3, 7)[1::2][:, 0] == 0).sum()),
        ),
        "sparse projections, coordinates": (
            1 / 3, 0.02,
            lambda n, g: int(
                (randomness.draw_projections(g, n, 6, "signs_without_replacement").coordinates == 5).any(axis=1).sum()
            ),
        ),
        "donors, first": (
            expected_donor(6, 0), 0.04, repeated(lambda g: randomness.draw_probes(g, 6, 2)[3, 1] == 0),
        ),
        "donors, last": (
            expected_donor(6, 5), 0.04, repeated(lambda g: randomness.draw_probes(g, 6, 2)[0, 0] == 5),
        ),
        "multipliers are odd": (
            1.0, 0.02, lambda n, g: int((randomness.draw_multipliers(g, n) % np.uint64(2) == 1).sum()),
        ),
        "multipliers' upper bit": (
            0.5, 0.02, lambda n, g: int((randomness.draw_multipliers(g, n) >> np.uint64(63) == 1).sum()),
        ),
        "permutations": (1 / 6, 0.04, repeated(lambda g: randomness.draw_permutation(g, 6)[2] == 4)),
        "distinct, few": (3 / 20, 0.04, repeated(lambda g: 7 in randomness.draw_distinct(g, 20, 3))),
        "distinct, many": (15 / 20, 0.04, repeated(lambda g: 7 in randomness.draw_distinct(g, 20, 15))),
    }  # fmt: skip
    return [Claim(Check(name, law, error), DRAWS, count) for name, (law, error, count) in checks.items()]


SHUFFLED = np.array([4, 2, 5, 0, 3, 1])
"""Six classes by falling frequency."""
CHANCES = np.diff(np.log(np.arange(1, 8))) / np.log(7)
"""Of each place in one log-uniform draw."""


def sequences(count: int) -> list[tuple[tuple[int, ...], float]]:
    """Return all orders in which so many distinct places can come first, and the probability of each."""
    found = []
    for places in permutations(range(CHANCES.size), count):
        before = np.concatenate([[0.0], np.cumsum(CHANCES[list(places)])[:-1]])
        found.append((places, float(np.prod(CHANCES[list(places)] / (1 - before)))))
    return found


def repetitions(count: int, repeats: int) -> float:
    """Return the probability that draws until so many places are distinct have so many repetitions, 0 or 1."""
    total = 0.0
    for places in permutations(range(CHANCES.size), count):
        chances = CHANCES[list(places)]
        repeated = sum(np.cumsum(chances)[:-1]) if repeats else 1.0  # of those that came before, at each turn
        total += float(np.prod(chances) * repeated)
    return total


def candidate_claims() -> list[Claim]:
    """Return the claims about the candidates of a sampled softmax."""

    def drawn(distribution: str, count: int, neuron: int) -> Count:
        return repeated(lambda g: neuron in randomness.draw_candidates(g, distribution, count, SHUFFLED)[0])

    def tried(tries: int) -> Count:
        return repeated(lambda g: randomness.draw_candidates(g, "log_uniform", 3, SHUFFLED)[1] == tries)

    claims = [Claim(Check("uniform candidates, 4 of 6", 4 / 6, 0.04), DRAWS, drawn("uniform", 4, 5))]
    claims += [
        Claim(Check(f"one log-uniform candidate, place {place}", float(CHANCES[place]), 0.04), DRAWS,
              drawn("log_uniform", 1, SHUFFLED[place]))
        for place in (0, 1, 5)
    ]  # fmt: skip
    for place in (0, 2, 5):
        law = sum(chance for places, chance in sequences(3) if place in places)
        claims.append(
            Claim(Check(f"3 of 6 log-uniform candidates, place {place}", law, 0.04), DRAWS,
                  drawn("log_uniform", 3, SHUFFLED[place]))
        )  # fmt: skip
    claims += [
        Claim(Check(f"3 log-uniform candidates, {repeats} repetitions", repetitions(3, repeats), 0.04), DRAWS,
              tried(3 + repeats))
        for repeats in (0, 1)
    ]  # fmt: skip
    return claims


def claims() -> list[Claim]:
    """Return all claims of the suite."""
    layered = [
        claim
        for layer in (SPEC, ENGINE)
        for part in (hashing_claims, retrieval_claims, budget_claims, reservoir_claims, bucket_claims, fold_claims)
        for claim in part(layer)
    ]
    return layered + drawing_claims() + candidate_claims()
