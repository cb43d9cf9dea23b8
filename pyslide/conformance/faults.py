"""Known faults that no convention names: what an operation gives with one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pyslide.arrays import IntArray
from pyslide.conformance.comparing import difference_of
from pyslide.conformance.kinds import decode_fields
from pyslide.conformance.operation import Answer, Given
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.operations.hashing import read_vector
from pyslide.conformance.plain import plain
from pyslide.conformance.replies import Reply
from pyslide.conformance.vectors import Case, Outcome
from pyslide.spec.sampling import counts
from pyslide.spec.tables import EMPTY_BUCKET, Bucket, Table
from pyslide.spec.vectors import to_dense

Fault = Callable[[Given], Answer]
"""From decoded inputs to wrong outputs."""


def binned_values(given: Given) -> IntArray:
    """Return the values at the places of each bin, shape (C, m)."""
    return np.asarray(to_dense(read_vector(given))[given["bins"]])


def last_of_equal(given: Given) -> Answer:
    """Return the places of the last maxima."""
    values = binned_values(given)
    return {"codes": values.shape[1] - 1 - np.argmax(values[:, ::-1], axis=1)}


def smallest(given: Given) -> Answer:
    """Return the places of the minima."""
    return {"codes": np.argmin(binned_values(given), axis=1)}


def beats_its_neighbour(given: Given) -> Answer:
    """Return the last place whose value is above the one before: the maximum is not kept."""
    values = binned_values(given)
    rises = np.concatenate([np.ones((len(values), 1), dtype=bool), values[:, 1:] > values[:, :-1]], axis=1)
    return {"codes": values.shape[1] - 1 - np.argmax(rises[:, ::-1], axis=1)}


def larger_ids_first(given: Given) -> Answer:
    """Return the most frequent neurons, of equal counts the larger ids."""
    neurons, occurrences = counts(given["buckets"])
    order = np.lexsort((-neurons, -occurrences))
    return {"active": np.sort(neurons[order[: given["budget"]]])}


def refusing_newcomers(given: Given) -> Answer:
    """Return the table whose full buckets refuse newcomers."""
    table: Table = {}
    for neuron, key in enumerate(given["keys"].tolist()):
        bucket = table.get(key, EMPTY_BUCKET)
        members = bucket.members if len(bucket.members) >= given["capacity"] else (*bucket.members, neuron)
        table = {**table, key: Bucket(members, bucket.arrivals + 1)}
    return {"buckets": [list(table[key].members) for key in sorted(table)]}


FAULTS: Mapping[str, Mapping[str, Fault]] = {
    "wta_codes": {
        "the last of equal maxima (>= in place of >)": last_of_equal,
        "the place of the minimum": smallest,
        "the running maximum is not kept: each value is compared with the one before it": beats_its_neighbour,
    },
    "top_k": {"of equal counts the larger ids": larger_ids_first},
    "build_table": {"a full bucket refuses newcomers in place of losing its oldest": refusing_newcomers},
}
"""By operation, in words."""


def matching_faults(case: Case, reply: Reply, precision: str) -> list[str]:
    """Return in words the known faults that give a reply."""
    operation, found = OPERATIONS[case.operation], list[str]()
    if case.kind == "invalid":  # what is refused has no answer, not even a wrong one
        return found
    for words, compute in FAULTS.get(case.operation, {}).items():
        wrong: Answer = plain(dict(compute(decode_fields(operation.inputs, case.inputs, case.operation))))
        expected = Outcome({**dict(reply.outputs), **wrong})
        if difference_of(operation, case.inputs, expected, reply, precision) is None:
            found.append(words)
    return found
