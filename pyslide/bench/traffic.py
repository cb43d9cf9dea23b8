"""The bytes that each stage of SLIDE's step must at least move between memory and processor, from its counts.

At least means: what is larger than a cache (weights, moments, tables) is read once where a stage needs it, and written
once where it changes, however often the stage comes back to it; what one stage hands to the next goes through memory
once in each direction; temporaries inside a stage cost nothing.  Ids, keys and places have four bytes, since four are
enough.  A stage that takes longer than these bytes has something else to do: sorting, computing, being called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pyslide.bench.counts import Counts

ID_BYTES = 4
"""Of a neuron's id, a key, or a place in an array."""
ADAM_ARRAYS = 3
"""Weights, first and second moments."""


def retrieve(counts: Counts) -> int:
    """Read the inputs, one place a table and sample, and the members of the buckets; write these."""
    inputs = counts.samples * counts.hidden * counts.number_bytes
    places = counts.samples * counts.tables * ID_BYTES
    return inputs + places + 2 * counts.retrieved * ID_BYTES


def active_sets(counts: Counts) -> int:
    """Read the members of the buckets and write the active sets."""
    return (counts.retrieved + counts.active) * ID_BYTES


def log_weights(counts: Counts) -> int:
    """Read the active sets and write a number for each of their neurons."""
    return counts.active * (ID_BYTES + counts.number_bytes)


def hidden_forward(counts: Counts) -> int:
    """Read the batch's features and the weights of those that occur; write the hidden sums."""
    features = counts.features * (ID_BYTES + counts.number_bytes)
    weights = counts.touched_features * counts.hidden * counts.number_bytes
    return features + weights + counts.samples * counts.hidden * counts.number_bytes


def active_forward(counts: Counts) -> int:
    """Read the active sets, the weights and biases of every touched neuron, and the inputs; write the sums."""
    rows = counts.touched * (counts.hidden + 1) * counts.number_bytes
    inputs = counts.samples * counts.hidden * counts.number_bytes
    return rows + inputs + counts.active * (ID_BYTES + counts.number_bytes)


def finish_pass(counts: Counts) -> int:
    """Read the sums; write probabilities and targets."""
    return 3 * counts.active * counts.number_bytes


def output_gradient(counts: Counts) -> int:
    """Read errors and active sets by sample; write them by neuron, with its place and the sum for its bias."""
    errors = 2 * counts.active * (ID_BYTES + counts.number_bytes)
    return errors + counts.touched * (ID_BYTES + counts.number_bytes)


def input_gradient(counts: Counts) -> int:
    """Read features by sample; write them by feature, with each feature's place."""
    return 2 * counts.features * (ID_BYTES + counts.number_bytes) + counts.touched_features * ID_BYTES


def error_below(counts: Counts) -> int:
    """Read errors and active sets; write the errors of the hidden layer.

    The weights are those that the way there has read: they can stay in the cache for a few samples at a time.
    """
    below = counts.samples * counts.hidden * counts.number_bytes
    return below + counts.active * (ID_BYTES + counts.number_bytes)


def join_groups(counts: Counts) -> int:
    """Read and write active sets, sums, probabilities, targets and errors, and the errors of the hidden layer."""
    flat = counts.active * (ID_BYTES + 4 * counts.number_bytes)
    return 2 * (flat + counts.samples * counts.hidden * counts.number_bytes)


def update_rows(counts: Counts) -> int:
    """Read both factors of both gradients; read and write the touched rows of weights and moments of both layers."""
    factors = (counts.active + counts.features) * (ID_BYTES + counts.number_bytes)
    dense = 2 * counts.samples * counts.hidden * counts.number_bytes
    rows = (counts.touched + counts.touched_features) * counts.hidden * counts.number_bytes
    return factors + dense + 2 * ADAM_ARRAYS * rows


def update_biases(counts: Counts) -> int:
    """Read the gradient; read and write touched biases and moments of both layers."""
    return (2 * ADAM_ARRAYS + 1) * (counts.touched + counts.hidden) * counts.number_bytes


def rebuild_hash(counts: Counts) -> int:
    """Read all weights and write a key for every neuron and table."""
    return counts.neurons * (counts.hidden * counts.number_bytes + counts.tables * ID_BYTES)


def rebuild_tables(counts: Counts) -> int:
    """Read the keys and write a member for each."""
    return 2 * counts.neurons * counts.tables * ID_BYTES


class Stage(NamedTuple):
    """What a stage must move, and which of the measured bandwidths fits the way in which it goes through memory."""

    bytes_of: Callable[[Counts], int]
    kind: str  # a field of `Bandwidth`


STEP: Mapping[str, Stage] = {
    "hash inputs and read buckets": Stage(retrieve, "copy"),
    "choose active sets": Stage(active_sets, "copy"),
    "weights of random neurons": Stage(log_weights, "copy"),
    "forward, all neurons": Stage(hidden_forward, "gather"),
    "forward, active neurons": Stage(active_forward, "gather"),
    "softmax, targets, loss": Stage(finish_pass, "copy"),
    "error of the layer below": Stage(error_below, "copy"),
    "join groups of samples": Stage(join_groups, "copy"),
    "gradient factors, output": Stage(output_gradient, "copy"),
    "gradient factors, input": Stage(input_gradient, "copy"),
    "optimiser, weights": Stage(update_rows, "update"),
    "optimiser, biases": Stage(update_biases, "update"),
}
"""The stages of a step, by the descriptions in `pyslide.bench.stages`."""
REBUILD: Mapping[str, Stage] = {
    "rebuild: hash": Stage(rebuild_hash, "copy"),
    "rebuild: tables": Stage(rebuild_tables, "copy"),
}
"""Those of a rebuild."""
EVERY_ROW = ("optimiser, weights", "optimiser, biases")
"""Stages that go through all neurons where the optimiser moves every weight (question 16)."""
