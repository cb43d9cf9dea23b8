"""Operations of which an implementation makes the random choices itself: many independent draws, judged by counts.

Each item of an answer comes from choices of its own.  What stands here answers by the spec, and so shows what is asked
for; its numbers are expected of nobody.
"""

from __future__ import annotations

import numpy as np

from pyslide import randomness
from pyslide.arrays import FloatArray, IntArray
from pyslide.conformance.kinds import BUCKETS, INTEGER, INTEGER_ROWS, NUMBER_ROWS, Field, choice_of, list_of
from pyslide.conformance.operation import Answer, Given, Operation
from pyslide.conformance.operations.keys import require_at_least
from pyslide.conformance.operations.tables import policy_of
from pyslide.conventions import Conventions
from pyslide.parameters import Family
from pyslide.parameters import MinHashParameters as MinHash
from pyslide.parameters import WinnerTakeAllParameters as WinnerTakeAll
from pyslide.spec.hashing import hash_codes
from pyslide.spec.keys import bucket_keys
from pyslide.spec.sampling import Sampling, active_set
from pyslide.spec.tables import build_table
from pyslide.spec.vectors import from_dense

COUNT = Field("count", INTEGER, "how many independent draws are wanted")
SEED = Field("seed", INTEGER, "for whoever wants the same draws again; another one for every request")
VECTORS = Field("vectors", NUMBER_ROWS, "(V, d) dense vectors, all hashed by the same functions")
MATRICES = list_of(INTEGER_ROWS, "a list of matrices of integers")
CODES_OF = (
    Field("family", choice_of("simhash", "wta", "minhash"), "which of the hash families"),
    Field("bin_size", INTEGER, "m of WTA and MinHash; not read for SimHash"),
    Field("kept", INTEGER, "k of MinHash; not read for the others"),
    VECTORS,
)
"""What is hashed, and by what."""


def draw_functions(given: Given, count: int, seed: int, conventions: Conventions) -> Family:
    """Return independent functions of a family: for bins, the first of a permutation each."""
    (generator,) = randomness.generators(seed, 1)
    dimension = given["vectors"].shape[1]
    if given["family"] == "simhash":
        return randomness.draw_projections(generator, count, dimension, conventions.projection)
    of_one = dimension // given["bin_size"]
    bins = randomness.draw_bins(generator, count * of_one, given["bin_size"], dimension)[::of_one]
    if given["family"] == "wta":
        return WinnerTakeAll(bins, dimension)
    return MinHash(bins, np.zeros((count, 1), dtype=np.int64), given["kept"], dimension)


def codes_of(vectors: FloatArray, family: Family, conventions: Conventions) -> IntArray:
    """Return the codes of all vectors, shape (V, C)."""
    return np.array([hash_codes(from_dense(vector), family, conventions).codes for vector in vectors])


def compute_codes(given: Given, conventions: Conventions) -> Answer:
    """Return the codes of each vector by independent functions."""
    require_at_least(given["count"], 1, "count")
    family = draw_functions(given, given["count"], given["seed"], conventions)
    return {"codes": codes_of(given["vectors"], family, conventions)}


def compute_keys(given: Given, conventions: Conventions) -> Answer:
    """Return the keys of each vector by independent families of K*L functions, SimHash's."""
    digits, tables, count = given["codes_per_table"], given["tables"], given["count"]
    for name in ("codes_per_table", "tables", "count"):
        require_at_least(given[name], 1, name)
    family = draw_functions({**given, "family": "simhash"}, digits * tables * count, given["seed"], conventions)
    codes = codes_of(given["vectors"], family, conventions)
    ones = np.ones(tables * count, dtype=np.uint64)
    keys = [bucket_keys(row, 2, digits, 32, ones, conventions.packing) for row in codes]
    return {"keys": np.stack(keys, axis=1).reshape(count, tables, -1).transpose(0, 2, 1).tolist()}


def compute_reservoirs(given: Given, conventions: Conventions) -> Answer:
    """Return the members of independent buckets in which the same neurons arrived."""
    (generator,) = randomness.generators(given["seed"], 1)
    arrivals = given["arrivals"]
    uniforms = randomness.draw_uniforms(generator, (given["count"], arrivals))
    keys, order = np.zeros(arrivals, dtype=np.int64), np.arange(arrivals)
    policy = policy_of({"policy": "reservoir"}, conventions)
    built = [build_table(keys, order, given["capacity"], row, policy) for row in uniforms]
    return {"buckets": [list(table[0].members) for table in built]}


def compute_active_sets(given: Given, conventions: Conventions) -> Answer:
    """Return active sets by independent orders of the tables and paddings."""
    (generator,) = randomness.generators(given["seed"], 1)
    settings = Sampling(
        strategy=given["strategy"], budget=given["budget"], minimum_active=given["minimum_active"]
    )
    orders = randomness.draw_table_orders(generator, given["count"], len(given["buckets"]))
    paddings = [randomness.draw_permutation(generator, given["population"]) for _ in orders]
    nobody = np.empty(0, dtype=np.int64)
    return {
        "active": [
            active_set(given["buckets"], order, nobody, padding, settings, conventions).tolist()
            for order, padding in zip(orders, paddings, strict=True)
        ]
    }


RANDOM: tuple[Operation, ...] = (
    Operation(
        "random_codes",
        "3.2",
        "Codes by independently drawn functions: the c-th code of every vector comes from the same function",
        (*CODES_OF, COUNT, SEED),
        (Field("codes", INTEGER_ROWS, "(V, count)"),),
        (),
        compute_codes,
        "codes",
    ),
    Operation(
        "random_keys",
        "3.2",
        "Keys by independently drawn families of K*L SimHash functions, unfolded",
        (
            VECTORS,
            Field("codes_per_table", INTEGER, "K"),
            Field("tables", INTEGER, "L"),
            COUNT,
            SEED,
        ),
        (Field("keys", MATRICES, "(count, V, L) a matrix for each family; equal keys are what counts"),),
        (),
        compute_keys,
        "keys",
    ),
    Operation(
        "random_reservoirs",
        "3.2",
        "Buckets with reservoirs, in each of which the neurons 0, 1, 2, ... arrived one after the other",
        (
            Field("capacity", INTEGER, "R"),
            Field("arrivals", INTEGER, "how many neurons arrive"),
            COUNT,
            SEED,
        ),
        (Field("buckets", BUCKETS, "the members of each bucket, in any order"),),
        (),
        compute_reservoirs,
        "buckets",
    ),
    Operation(
        "random_active_sets",
        "4.1",
        "Active sets of a sample without labels, each with an order of the tables and a padding of its own",
        (
            Field("buckets", BUCKETS, "one bucket of each of the L tables"),
            Field("strategy", choice_of("vanilla", "union"), "how buckets are read"),
            Field("budget", INTEGER, "beta, of vanilla sampling"),
            Field("minimum_active", INTEGER, "up to how many neurons a small active set is padded"),
            Field("population", INTEGER, "N, the neurons of the layer"),
            COUNT,
            SEED,
        ),
        (Field("active", BUCKETS, "the active sets"),),
        (),
        compute_active_sets,
        "active",
    ),
)
"""The operations, in the order in which data flows."""
