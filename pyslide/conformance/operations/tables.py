"""Operations of sections 3.2 and 4.2: neurons are kept in buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyslide.arrays import FloatArray, IntArray, require_ids, require_shape
from pyslide.conformance.kinds import BUCKETS, INTEGER, INTEGERS, NUMBERS, Field, choice_of, record_of
from pyslide.conformance.operation import Answer, Given, Operation
from pyslide.conformance.operations.keys import require_at_least
from pyslide.conventions import PAPER, Conventions
from pyslide.errors import OrderError, OutOfRangeError
from pyslide.spec.tables import Bucket, Table, build_table, delete, insert_all, move, query

TABLE = record_of(
    (
        Field("keys", INTEGERS, "the keys of the buckets in which anybody arrived, rising"),
        Field("buckets", BUCKETS, "the members of each, by slot"),
        Field("arrivals", INTEGERS, "how many arrived in each, departures taken off"),
    ),
    "a table",
)
"""One table."""
BEFORE = Field("table", TABLE, "the table before: its buckets' keys (rising), members by slot, and arrivals")
AFTER = (
    Field("keys", INTEGERS, "the keys of the buckets with arrivals, rising"),
    Field("buckets", BUCKETS, "the members of each, by slot"),
    Field("arrivals", INTEGERS, "how many arrived in each, departures taken off"),
)
CAPACITY = Field("capacity", INTEGER, "R, the slots of a bucket")
POLICY = Field("policy", choice_of("fifo", "reservoir"), "what happens when a bucket is full")
UNIFORMS = Field("uniforms", NUMBERS, "one draw of [0, 1) for each arrival; the reservoir reads it, FIFO does not")


def policy_of(given: Given, conventions: Conventions) -> str:
    """Return the policy asked for, unless the conventions have another than the paper's two."""
    answer = conventions.bucket_policy
    return str(given["policy"]) if answer == PAPER.bucket_policy else answer


def read_table(parts: Given) -> Table:
    """Return a table from its keys, buckets and arrivals."""
    keys, buckets, arrivals = parts["keys"], parts["buckets"], parts["arrivals"]
    require_shape(arrivals, keys.shape, "table.arrivals")
    require_at_least(len(buckets), keys.size, "table.buckets")
    if (np.diff(keys) <= 0).any():
        raise OrderError("table.keys: expected strictly rising keys")
    return {
        int(key): Bucket(tuple(members.tolist()), int(count))
        for key, members, count in zip(keys, buckets, arrivals, strict=True)
    }


def plain_table(table: Table) -> dict[str, Any]:
    """Return a table as its keys, buckets and arrivals."""
    keys = sorted(table)
    return {
        "keys": keys,
        "buckets": [list(table[key].members) for key in keys],
        "arrivals": [table[key].arrivals for key in keys],
    }


def require_arrivals(keys: IntArray, neurons: IntArray, uniforms: FloatArray, capacity: int) -> None:
    """Refuse arrivals that no table can take.

    Raises
    ------
    ShapeError, OutOfRangeError
    """
    require_shape(neurons, keys.shape, "neurons")
    require_shape(uniforms, keys.shape, "uniforms")
    require_at_least(capacity, 1, "capacity")
    require_at_least(int(min(keys.min(initial=0), neurons.min(initial=0))), 0, "keys and neurons")
    if not ((uniforms >= 0) & (uniforms < 1)).all():
        raise OutOfRangeError("uniforms: expected numbers of [0, 1)")


def compute_build(given: Given, conventions: Conventions) -> Answer:
    """Return the table of all neurons; the order is read only where the conventions do not insert by id."""
    keys, order, uniforms = given["keys"], given["order"], given["uniforms"]
    require_arrivals(keys, order, uniforms, given["capacity"])
    require_ids(order, max(1, keys.size), "order")
    if np.unique(order).size != order.size:
        raise OutOfRangeError("order: expected every neuron once")
    arrival = order if conventions.insertion_order == "given_order" else np.arange(keys.size)
    table = build_table(keys, arrival, given["capacity"], uniforms, policy_of(given, conventions))
    return plain_table(table)


def compute_insert(given: Given, conventions: Conventions) -> Answer:
    """Return the table after several arrivals."""
    arrivals = given["keys"], given["neurons"], given["uniforms"]
    require_arrivals(*arrivals, given["capacity"])
    keys, neurons, uniforms = arrivals
    policy = policy_of(given, conventions)
    return plain_table(insert_all(read_table(given["table"]), keys, neurons, given["capacity"], uniforms, policy))


def compute_delete(given: Given, conventions: Conventions) -> Answer:
    """Return the table after one departure."""
    return plain_table(delete(read_table(given["table"]), given["key"], given["neuron"]))


def compute_move(given: Given, conventions: Conventions) -> Answer:
    """Return the table after some neurons' keys changed."""
    neurons, uniforms = given["neurons"], given["uniforms"]
    require_shape(given["old_keys"], neurons.shape, "old_keys")
    require_arrivals(given["new_keys"], neurons, uniforms, given["capacity"])
    policy = policy_of(given, conventions)
    moved = move(
        read_table(given["table"]), given["old_keys"], given["new_keys"], neurons, given["capacity"], uniforms, policy
    )
    return plain_table(moved)


def compute_query(given: Given, conventions: Conventions) -> Answer:
    """Return the members of some buckets."""
    table = read_table(given["table"])
    return {"buckets": [query(table, int(key)) for key in given["keys"]]}


TABLES = (
    Operation(
        "build_table",
        "4.2",
        "A table from the keys of all neurons, which arrive by ascending id",
        (
            Field("keys", INTEGERS, "(N,) the key of each neuron"),
            CAPACITY,
            POLICY,
            Field(
                "uniforms", NUMBERS, "(N,) one draw of [0, 1) a neuron, by id; the reservoir reads it, FIFO does not"
            ),
            Field("order", INTEGERS, "(N,) an order in which threads might have inserted them; not read under PAPER"),
        ),
        AFTER,
        ("insertion_order", "bucket_policy"),
        compute_build,
        "buckets",
    ),
    Operation(
        "insert_all",
        "3.2",
        "Several arrivals, in the order given",
        (
            BEFORE,
            Field("keys", INTEGERS, "(n,) where each arrives"),
            Field("neurons", INTEGERS, "(n,) who arrives"),
            CAPACITY,
            POLICY,
            UNIFORMS,
        ),
        AFTER,
        ("bucket_policy",),
        compute_insert,
        "buckets",
    ),
    Operation(
        "delete",
        "4.2",
        "One neuron leaves the bucket that it had arrived in, member still or not; its bucket's arrivals fall by one",
        (BEFORE, Field("key", INTEGER, "where it had arrived"), Field("neuron", INTEGER, "who leaves")),
        AFTER,
        (),
        compute_delete,
        "buckets",
    ),
    Operation(
        "move",
        "4.2",
        "The keys of some neurons changed: all of them leave, then all arrive, in their order",
        (
            BEFORE,
            Field("old_keys", INTEGERS, "(n,)"),
            Field("new_keys", INTEGERS, "(n,)"),
            Field("neurons", INTEGERS, "(n,)"),
            CAPACITY,
            POLICY,
            UNIFORMS,
        ),
        AFTER,
        ("bucket_policy",),
        compute_move,
        "buckets",
    ),
    Operation(
        "query_table",
        "3.2",
        "The members of some buckets, by slot; a key that nobody has gives an empty bucket",
        (BEFORE, Field("keys", INTEGERS, "which buckets")),
        (Field("buckets", BUCKETS, "their members"),),
        (),
        compute_query,
        "buckets",
    ),
)
"""The operations, in the order in which data flows."""
