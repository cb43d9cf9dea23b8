"""Cases of tables."""

from __future__ import annotations

from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.cases.making import edge, invalid, plain_cases, with_changes
from pyslide.conformance.vectors import Case

Inputs = dict[str, Any]
POLICIES = ("fifo", "reservoir")
SOME_TABLE = {"keys": [1, 4, 6], "buckets": [[3, 5, 8], [2], [9, 0]], "arrivals": [5, 1, 2]}
NO_TABLE: Inputs = {"keys": [], "buckets": [], "arrivals": []}


def build_cases() -> list[Case]:
    """Return the cases of building."""
    name = "build_table"

    def make(one: Arbitrary, number: int) -> Inputs:
        neurons = 8 + number
        return {"keys": one.integers(neurons, 3 + number // 2), "capacity": 1 + number % 4,
                "policy": POLICIES[number % 2], "uniforms": one.uniforms(neurons), "order": one.order(neurons)}  # fmt: skip

    some = Arbitrary("building")
    crowd = {"keys": [5] * 9, "capacity": 3, "policy": "fifo", "uniforms": some.uniforms(9), "order": some.order(9)}
    reservoir = with_changes(crowd, policy="reservoir")
    return [
        *plain_cases(name, 10, make),
        edge(name, "nobody", "No neurons", ("empty_input",),
             {"keys": [], "capacity": 2, "policy": "fifo", "uniforms": [], "order": []}),
        edge(name, "one", "One neuron", ("one_element",),
             {"keys": [3], "capacity": 2, "policy": "fifo", "uniforms": [0.5], "order": [0]}),
        edge(name, "one-bucket-fifo", "All in one bucket", ("full_bucket",), crowd),
        edge(name, "one-bucket-reservoir", "All in one bucket", ("full_bucket", "known_bug"), reservoir),
        edge(name, "capacity-one-fifo", "One slot", ("full_bucket", "edge_case"), with_changes(crowd, capacity=1)),
        edge(name, "capacity-one-reservoir", "One slot", ("full_bucket", "edge_case"),
             with_changes(reservoir, capacity=1)),
        edge(name, "exactly-full", "As many arrivals as slots", ("edge_case",), with_changes(crowd, capacity=9)),
        edge(name, "reservoir-zero-draws", "Every draw is 0: slot 0 each time", ("full_bucket", "edge_case"),
             with_changes(reservoir, uniforms=[0.0] * 9)),
        edge(name, "reservoir-high-draws", "Every draw is near 1: nobody enters a full bucket",
             ("full_bucket", "edge_case"), with_changes(reservoir, uniforms=[0.9990234375] * 9)),
        edge(name, "reservoir-last-slot", "Draws just inside and just outside the last slot", ("full_bucket", "tie"),
             with_changes(reservoir, uniforms=[0.0, 0.0, 0.0, 0.75, 0.5, 0.5, 0.25, 0.375, 0.3125])),
        edge(name, "backwards", "Threads inserted in falling order", ("known_bug", "full_bucket"),
             with_changes(crowd, order=list(range(8, -1, -1)))),
        edge(name, "large-keys", "Keys of 32 bits", ("edge_case",),
             with_changes(crowd, keys=[2**32 - 1 - place % 2 for place in range(9)])),
        invalid(name, "capacity-none", "No slots", with_changes(crowd, capacity=0)),
        invalid(name, "draw-one", "A draw of 1", with_changes(reservoir, uniforms=[1.0] * 9)),
        invalid(name, "draws-missing", "A draw less than neurons", with_changes(crowd, uniforms=[0.5] * 8)),
        invalid(name, "order-repeats", "An order that repeats a neuron", with_changes(crowd, order=[0] * 9)),
        invalid(name, "key-negative", "A negative key", with_changes(crowd, keys=[-1] * 9)),
    ]  # fmt: skip


def insert_cases() -> list[Case]:
    """Return the cases of insertion."""
    name = "insert_all"

    def make(one: Arbitrary, number: int) -> Inputs:
        arrivals = 4 + number
        return {"table": SOME_TABLE, "keys": [one.one_of((1, 4, 6, 7)) for _ in range(arrivals)],
                "neurons": [10 + place for place in one.order(arrivals)], "capacity": 3,
                "policy": POLICIES[number % 2], "uniforms": one.uniforms(arrivals)}  # fmt: skip

    good = {"table": SOME_TABLE, "keys": [1, 1], "neurons": [10, 11], "capacity": 3, "policy": "fifo",
            "uniforms": [0.25, 0.75]}  # fmt: skip
    return [
        *plain_cases(name, 8, make),
        edge(name, "nobody", "Nobody arrives", ("empty_input",), with_changes(good, keys=[], neurons=[], uniforms=[])),
        edge(name, "into-nothing", "Into an empty table", ("empty_input",), with_changes(good, table=NO_TABLE)),
        edge(name, "reservoir-counts-all-arrivals", "The draw is multiplied by all arrivals, not by members",
             ("full_bucket", "known_bug"), with_changes(good, policy="reservoir", uniforms=[0.4, 0.4])),
        edge(name, "same-neuron-twice", "A neuron arrives twice", ("repeated",), with_changes(good, neurons=[10, 10])),
        edge(name, "freed-slot", "A bucket with a free slot after more arrivals than slots", ("full_bucket",),
             with_changes(good, table={"keys": [1], "buckets": [[3, 5]], "arrivals": [6]}, policy="reservoir")),
        invalid(name, "capacity-none", "No slots", with_changes(good, capacity=0)),
        invalid(name, "lengths", "Fewer keys than neurons", with_changes(good, keys=[1])),
        invalid(name, "table-unsorted", "The table's keys fall",
                with_changes(good, table=with_changes(SOME_TABLE, keys=[6, 4, 1]))),
    ]  # fmt: skip


def leaving_cases() -> list[Case]:
    """Return the cases of deletion, moves and queries."""
    moving = {"table": SOME_TABLE, "old_keys": [1, 4], "new_keys": [6, 1], "neurons": [5, 2], "capacity": 3,
              "policy": "fifo", "uniforms": [0.5, 0.125]}  # fmt: skip

    def make_move(one: Arbitrary, number: int) -> Inputs:
        return with_changes(moving, new_keys=one.integers(2, 8), policy=POLICIES[number % 2], uniforms=one.uniforms(2))

    def make_delete(one: Arbitrary, number: int) -> Inputs:
        key, neuron = [(1, 5), (6, 9), (6, 0), (1, 3)][number]
        return {"table": SOME_TABLE, "key": key, "neuron": neuron}

    def make_query(one: Arbitrary, number: int) -> Inputs:
        return {"table": SOME_TABLE, "keys": one.integers(4, 8)}

    gone = {"table": SOME_TABLE, "key": 4, "neuron": 2}
    return [
        *plain_cases("delete", 4, make_delete),
        edge("delete", "last-member", "The bucket becomes empty and is dropped", ("one_element",), gone),
        edge("delete", "displaced", "A neuron that a newcomer displaced leaves", ("full_bucket",),
             with_changes(gone, key=1, neuron=7)),
        edge("delete", "nobody-there", "From a key that nobody has", ("empty_input",), with_changes(gone, key=2)),
        *plain_cases("move", 6, make_move),
        edge("move", "same-key", "A neuron leaves and comes back last", ("edge_case",),
             with_changes(moving, new_keys=[1, 4])),
        edge("move", "displaced-comes-back", "A displaced neuron comes back", ("full_bucket",),
             with_changes(moving, old_keys=[1], new_keys=[1], neurons=[7], uniforms=[0.5])),
        edge("move", "all-leave-first", "One leaves a full bucket before the other comes", ("full_bucket",),
             with_changes(moving, neurons=[2, 5], old_keys=[4, 1], new_keys=[1, 4])),
        edge("move", "reservoir-after-departure", "The arrivals fall with a departure", ("full_bucket",),
             with_changes(moving, old_keys=[1, 6], new_keys=[1, 1], neurons=[5, 9], policy="reservoir")),
        invalid("move", "lengths", "Fewer old keys than neurons", with_changes(moving, old_keys=[1])),
        *plain_cases("query_table", 4, make_query),
        edge("query_table", "unknown-key", "A key that nobody has", ("empty_input",),
             {"table": SOME_TABLE, "keys": [0, 2, 4294967295]}),
        edge("query_table", "empty-table", "An empty table", ("empty_input",), {"table": NO_TABLE, "keys": [1]}),
        edge("query_table", "twice", "The same bucket twice", ("repeated",), {"table": SOME_TABLE, "keys": [6, 6]}),
    ]  # fmt: skip


def table_cases() -> list[Case]:
    """Return all cases of tables."""
    return [*build_cases(), *insert_cases(), *leaving_cases()]
