"""Operations of section 4.1 and Appendix B: buckets become an active set, always strictly ascending."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import IntArray, require_ids, require_rising, require_shape
from pyslide.conformance.kinds import BUCKETS, INTEGER, INTEGERS, NUMBERS, Field, choice_of
from pyslide.conformance.operation import Answer, Given, Operation
from pyslide.conformance.operations.keys import require_at_least
from pyslide.conventions import Conventions
from pyslide.errors import OutOfRangeError
from pyslide.settings import STRATEGIES
from pyslide.spec.sampling import (
    NOBODY,
    Sampling,
    active_set,
    force_labels,
    log_weights,
    pad,
    padding_target,
    sample,
    selected_set,
)

FILLED = Field("buckets", BUCKETS, "one bucket of each of the L tables")
ORDER = Field("order", INTEGERS, "(L,) the order in which the tables are read")
BUDGET = Field("budget", INTEGER, "beta")
ACTIVE = Field("active", INTEGERS, "the active neurons, strictly rising")
LABELS = Field("labels", INTEGERS, "the sample's labels")
CANDIDATES = Field("candidates", INTEGERS, "distinct neurons in a random order, for the padding")
MINIMUM_ACTIVE = Field("minimum_active", INTEGER, "up to how many neurons a small active set is padded")
MINIMUM_COUNT = Field("minimum_count", INTEGER, "m")


def require_order(order: IntArray, tables: int) -> None:
    """Refuse what is no order of all tables.

    Raises
    ------
    ShapeError, OutOfRangeError
    """
    require_shape(order, (tables,), "order")
    if order.size:
        require_ids(order, tables, "order")
    if np.unique(order).size != tables:
        raise OutOfRangeError("order: expected every table once")


def strategy(given: Given, name: str, conventions: Conventions, order: IntArray = NOBODY) -> Answer:
    """Return what one strategy selects."""
    for field in ("budget", "minimum_count"):
        if field in given:
            require_at_least(given[field], 0, field)
    sampling = Sampling(
        strategy=name, budget=given.get("budget", 0), minimum_count=given.get("minimum_count", 1)
    )
    return {"active": sample(given["buckets"], order, NOBODY, sampling, conventions)}


def compute_union(given: Given, conventions: Conventions) -> Answer:
    """Return the union of the buckets."""
    return strategy(given, "union", conventions)


def compute_vanilla(given: Given, conventions: Conventions) -> Answer:
    """Return what vanilla sampling selects."""
    require_order(given["order"], len(given["buckets"]))
    return strategy(given, "vanilla", conventions, given["order"])


def compute_top_k(given: Given, conventions: Conventions) -> Answer:
    """Return what TopK sampling selects."""
    return strategy(given, "top_k", conventions)


def compute_hard_threshold(given: Given, conventions: Conventions) -> Answer:
    """Return what hard thresholding selects."""
    return strategy(given, "hard_threshold", conventions)


def compute_force_labels(given: Given, conventions: Conventions) -> Answer:
    """Return the active set with the labels."""
    require_rising(given["selected"], "selected")
    labels = NOBODY if conventions.label_forcing == "never" else given["labels"]
    return {"active": force_labels(given["selected"], labels)}


def compute_pad(given: Given, conventions: Conventions) -> Answer:
    """Return the padded active set."""
    require_rising(given["selected"], "selected")
    require_at_least(given["minimum_active"], 0, "minimum_active")
    if np.unique(given["candidates"]).size != given["candidates"].size:
        raise OutOfRangeError("candidates: expected distinct neurons")
    sampling = Sampling(budget=given["budget"], minimum_active=given["minimum_active"])
    return {"active": pad(given["selected"], given["candidates"], padding_target(sampling, conventions))}


def compute_active_set(given: Given, conventions: Conventions) -> Answer:
    """Return the selected neurons, and with the padding the active set."""
    require_order(given["order"], len(given["buckets"]))
    sampling = Sampling(
        strategy=given["strategy"],
        budget=given["budget"],
        minimum_count=given["minimum_count"],
        minimum_active=given["minimum_active"],
    )
    known = given["buckets"], given["order"], given["labels"]
    return {
        "selected": selected_set(*known, sampling, conventions),
        "active": active_set(*known, given["candidates"], sampling, conventions),
    }


def compute_log_weights(given: Given, conventions: Conventions) -> Answer:
    """Return with what each active neuron enters the softmax."""
    active, selected = given["active"], given["selected"]
    require_rising(active, "active")
    if active.size:
        require_ids(active, given["population"], "active")
    if not np.isin(selected, active).all():
        raise OutOfRangeError("selected: expected a part of the active set")
    return {"log_weights": log_weights(active, selected, given["population"], conventions.padding_weight)}


SAMPLING = (
    Operation(
        "union", "2", "The neurons that occur in any bucket", (FILLED,), (ACTIVE,), ("query",), compute_union, "active"
    ),
    Operation(
        "vanilla",
        "4.1",
        "Tables are read in the given order, whole buckets, until at least beta distinct neurons are selected",
        (FILLED, ORDER, BUDGET),
        (ACTIVE,),
        ("vanilla_stop", "query"),
        compute_vanilla,
        "active",
    ),
    Operation(
        "top_k",
        "4.1",
        "The beta neurons that occur most often; of equal counts the smaller ids",
        (FILLED, BUDGET),
        (ACTIVE,),
        ("query",),
        compute_top_k,
        "active",
    ),
    Operation(
        "hard_threshold",
        "4.1",
        "The neurons that occur at least m times",
        (FILLED, MINIMUM_COUNT),
        (ACTIVE,),
        ("threshold", "query"),
        compute_hard_threshold,
        "active",
    ),
    Operation(
        "force_labels",
        "3.1",
        "A sample's labels join the active set of the output layer",
        (Field("selected", INTEGERS, "what sampling gave, strictly rising"), LABELS),
        (ACTIVE,),
        ("label_forcing",),
        compute_force_labels,
        "active",
    ),
    Operation(
        "pad",
        "4.1",
        "A small active set is filled up to minimum_active with the first candidates that are not in it",
        (Field("selected", INTEGERS, "the active set before, strictly rising"), CANDIDATES, MINIMUM_ACTIVE, BUDGET),
        (ACTIVE,),
        ("padding",),
        compute_pad,
        "active",
    ),
    Operation(
        "active_set",
        "4.1",
        "All of it: sample by a strategy, force the labels in, pad",
        (
            FILLED,
            ORDER,
            LABELS,
            CANDIDATES,
            Field("strategy", choice_of(*STRATEGIES), "how buckets are read"),
            BUDGET,
            MINIMUM_COUNT,
            MINIMUM_ACTIVE,
        ),
        (Field("selected", INTEGERS, "without the padding, strictly rising"), ACTIVE),
        ("vanilla_stop", "padding", "threshold", "label_forcing", "query"),
        compute_active_set,
        "active",
    ),
    Operation(
        "log_weights",
        "3.1",
        "The logarithm of the weight with which each active neuron enters the softmax: 0 for all, in the paper",
        (ACTIVE, Field("selected", INTEGERS, "without the padding"), Field("population", INTEGER, "N")),
        (Field("log_weights", NUMBERS, "one for each active neuron"),),
        ("padding_weight",),
        compute_log_weights,
        "log_weights",
    ),
)
"""The operations, in the order in which data flows."""
