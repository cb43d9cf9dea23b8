"""Cases of sampling."""

from __future__ import annotations

from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.cases.making import edge, invalid, plain_cases, with_changes
from pyslide.conformance.vectors import Case
from pyslide.settings import STRATEGIES

Inputs = dict[str, Any]
BUCKETS = [[4, 1, 7], [1, 9], [], [7, 1, 3], [2]]


def edge_buckets(operation: str, others: Inputs) -> list[Case]:
    """Return buckets at the edges of every strategy."""

    def case(name: str, summary: str, flags: tuple[str, ...], buckets: list[list[int]]) -> Case:
        inputs = {"buckets": buckets, **others}
        if "order" in others:
            inputs["order"] = others["order"] if len(buckets) == 5 else list(range(len(buckets)))
        return edge(operation, name, summary, flags, inputs)

    return [
        case("all-empty", "Every bucket is empty", ("empty_input",), [[], [], [], [], []]),
        case("one-table", "One table", ("one_element",), [[5, 2, 8]]),
        case("same-bucket", "Every bucket holds the same", ("repeated", "tie"), [[6, 2, 4]] * 5),
        case("one-neuron-everywhere", "One neuron in every bucket, others in one", ("repeated",),
             [[3, 0], [3, 1], [2, 3], [4, 3], [3, 5]]),
        case("first-bucket-empty", "The first bucket is empty", ("empty_input",), [[], [1], [2, 1], [1], [0]]),
        case("neuron-zero", "Neuron 0 is a neuron", ("edge_case",), [[0], [0], [], [0], [1]]),
        case("large-ids", "Ids near 2^31", ("edge_case",), [[2147483646, 3], [2147483646], [], [], []]),
    ]  # fmt: skip


def strategy_cases() -> list[Case]:
    """Return the cases of single strategies."""
    order = [3, 0, 4, 1, 2]
    vanilla = {"buckets": BUCKETS, "order": order, "budget": 4}

    def make(one: Arbitrary) -> Inputs:
        return {"buckets": one.buckets(6, 5, 12)}

    return [
        *plain_cases("union", 4, lambda one, number: make(one)),
        *edge_buckets("union", {}),
        *plain_cases(
            "vanilla", 8, lambda one, number: {**make(one), "order": one.order(6), "budget": 2 + number}
        ),
        *edge_buckets("vanilla", {"order": order, "budget": 3}),
        edge("vanilla", "budget-met-at-the-end", "A bucket ends where the budget is met", ("budget",),
             with_changes(vanilla, budget=3)),
        edge("vanilla", "budget-met-inside", "The budget is met inside a bucket, which is taken whole", ("budget",),
             vanilla),
        edge("vanilla", "budget-zero", "Nothing is wanted, nothing is read", ("budget", "edge_case"),
             with_changes(vanilla, budget=0)),
        edge("vanilla", "budget-huge", "The tables run out", ("budget",), with_changes(vanilla, budget=100)),
        edge("vanilla", "distinct-counts", "Neurons met again do not count", ("budget", "repeated"),
             {"buckets": [[1, 2], [1, 2], [2, 1], [3]], "order": [0, 1, 2, 3], "budget": 3}),
        invalid("vanilla", "order-repeats", "A table is read twice", with_changes(vanilla, order=[0, 0, 1, 2, 3])),
        invalid("vanilla", "order-short", "A table is missing", with_changes(vanilla, order=[0, 1, 2, 3])),
        invalid("vanilla", "order-outside", "A table that is not there", with_changes(vanilla, order=[0, 1, 2, 3, 5])),
        invalid("vanilla", "budget-negative", "A negative budget", with_changes(vanilla, budget=-1)),
        *plain_cases("top_k", 6, lambda one, number: {**make(one), "budget": 1 + number}),
        *edge_buckets("top_k", {"budget": 2}),
        edge("top_k", "tie-at-the-cut", "Equal counts at the cut: the smaller id stays", ("tie", "budget"),
             {"buckets": [[9, 5], [5, 9], [7, 2], [2, 7]], "budget": 3}),
        edge("top_k", "budget-zero", "Nothing is wanted", ("budget", "edge_case"), {"buckets": BUCKETS, "budget": 0}),
        edge("top_k", "budget-huge", "More than there are", ("budget",), {"buckets": BUCKETS, "budget": 99}),
        *plain_cases("hard_threshold", 6, lambda one, number: {**make(one), "minimum_count": 1 + number % 4}),
        *edge_buckets("hard_threshold", {"minimum_count": 2}),
        edge("hard_threshold", "exactly-m", "A neuron in exactly m buckets is kept", ("tie",),
             {"buckets": BUCKETS, "minimum_count": 3}),
        edge("hard_threshold", "more-than-tables", "m beyond L", ("edge_case",),
             {"buckets": BUCKETS, "minimum_count": 6}),
        edge("hard_threshold", "m-one", "m = 1 is the union", ("edge_case",), {"buckets": BUCKETS, "minimum_count": 1}),
    ]  # fmt: skip


def label_cases() -> list[Case]:
    """Return the cases of forced labels and padding."""

    def make_labels(one: Arbitrary, number: int) -> Inputs:
        return {"selected": one.some(4, 12), "labels": one.some(1 + number, 12)}

    def make_pad(one: Arbitrary, number: int) -> Inputs:
        return {"selected": one.some(3, 16), "candidates": one.order(16)[:10], "minimum_active": 3 + number,
                "budget": 5}  # fmt: skip

    good = {"selected": [2, 5], "candidates": [5, 7, 2, 0, 9, 1], "minimum_active": 4, "budget": 3}
    return [
        *plain_cases("force_labels", 4, make_labels),
        edge("force_labels", "already-there", "The labels are there", ("repeated",), {"selected": [1, 4], "labels": [4]}),
        edge("force_labels", "nobody", "Into an empty set", ("empty_input",), {"selected": [], "labels": [7, 9]}),
        edge("force_labels", "no-labels", "A sample without labels", ("labels_missing",),
             {"selected": [1, 4], "labels": []}),
        invalid("force_labels", "unsorted", "The active set falls", {"selected": [4, 1], "labels": [2]}),
        *plain_cases("pad", 6, make_pad),
        edge("pad", "candidates-are-active", "Candidates that are active already do not count", ("padding", "repeated"),
             good),
        edge("pad", "large-enough", "Nothing to do", ("padding", "edge_case"), with_changes(good, minimum_active=2)),
        edge("pad", "no-minimum", "A minimum of 0", ("padding", "edge_case"), with_changes(good, minimum_active=0)),
        edge("pad", "candidates-run-out", "Fewer candidates than wanted", ("padding",),
             with_changes(good, candidates=[7], minimum_active=6)),
        edge("pad", "from-nothing", "An empty active set", ("padding", "empty_input"), with_changes(good, selected=[])),
        invalid("pad", "candidates-repeat", "A candidate twice", with_changes(good, candidates=[7, 7])),
        invalid("pad", "minimum-negative", "A negative minimum", with_changes(good, minimum_active=-1)),
    ]  # fmt: skip


def whole_cases() -> list[Case]:
    """Return the cases of whole active sets and of their weights."""

    def make(one: Arbitrary, number: int) -> Inputs:
        return {"buckets": one.buckets(6, 4, 16), "order": one.order(6), "labels": one.some(2, 16),
                "candidates": one.order(16), "strategy": STRATEGIES[number % 4], "budget": 4, "minimum_count": 2,
                "minimum_active": 5 + number % 3}  # fmt: skip

    good = {"buckets": BUCKETS, "order": [3, 0, 4, 1, 2], "labels": [2, 8], "candidates": [6, 1, 5, 0, 3, 9, 4],
            "strategy": "vanilla", "budget": 4, "minimum_count": 1, "minimum_active": 0}  # fmt: skip

    def make_weights(one: Arbitrary, number: int) -> Inputs:
        active = one.some(6, 20)
        return {"active": active, "selected": active[: 2 + number], "population": 20}

    weights = {"active": [1, 3, 5], "selected": [3], "population": 9}
    return [
        *plain_cases("active_set", 12, make),
        edge("active_set", "labels-do-not-count", "Labels are not counted towards the budget", ("budget", "known_bug"),
             good),
        edge("active_set", "padding-after-labels", "Labels are there before padding is counted", ("padding",),
             with_changes(good, strategy="top_k", budget=2, minimum_active=6)),
        edge("active_set", "no-labels", "A hidden layer", ("labels_missing",), with_changes(good, labels=[])),
        edge("active_set", "nothing-retrieved", "Only labels and padding", ("empty_input", "padding"),
             with_changes(good, buckets=[[], [], [], [], []], minimum_active=3)),
        invalid("active_set", "order-short", "A table is missing", with_changes(good, order=[0, 1])),
        *plain_cases("log_weights", 4, make_weights),
        edge("log_weights", "no-padding", "Nobody is padding", ("edge_case",), with_changes(weights, selected=[1, 3, 5])),
        edge("log_weights", "all-padding", "All are padding", ("padding",), with_changes(weights, selected=[])),
        edge("log_weights", "everybody", "All neurons are active", ("edge_case",),
             {"active": [0, 1, 2], "selected": [1], "population": 3}),
        invalid("log_weights", "outside", "A neuron that is not there", with_changes(weights, population=5)),
    ]  # fmt: skip


def sampling_cases() -> list[Case]:
    """Return all cases of sampling."""
    return [*strategy_cases(), *label_cases(), *whole_cases()]
