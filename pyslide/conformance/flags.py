"""The closed dictionary of flags: why a vector is there, and what it can bring to light."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Flag(NamedTuple):
    """What a flag says of a vector, what a wrong implementation does there, and where to read on."""

    meaning: str
    effect: str
    section: str


FLAGS: Mapping[str, Flag] = {
    "plain": Flag("nothing special", "a failure here is a failure of the operation as a whole", "3.1"),
    "edge_case": Flag("the smallest or largest input that makes sense", "loops that assume one more element", "3.1"),
    "tie": Flag("two candidates are equal", "the other one is taken: >= in place of >, last in place of first", "3.2"),
    "empty_input": Flag("a vector, bucket or set without members", "an index out of bounds, or NaN", "3.1"),
    "all_zero": Flag("every value is 0", "a tie everywhere; empty bins everywhere", "3.2"),
    "explicit_zero": Flag("an entry whose value is 0", "it is taken for absent, or an absent one for an entry", "3.2"),
    "one_element": Flag("a single element", "a maximum that starts at the second, a division by n-1", "3.1"),
    "dense_input": Flag("a vector with all its coordinates", "zeros compete as entries (question 7)", "3.2"),
    "empty_bin": Flag("bins that no entry falls into", "densification is missing or borrows from another bin", "3.2"),
    "densification_fails": Flag("no donor is found", "an endless loop, or a code outside its range", "3.2"),
    "all_negative": Flag("only negative values", "a maximum that starts at 0 (questions 4 and 23)", "3.1"),
    "overflow": Flag("a product or power beyond its type", "32-bit or signed arithmetic; exp without shift", "3.2"),
    "underflow": Flag("numbers that vanish beside others", "a logarithm of 0, or an output of 0 everywhere", "3.1"),
    "denormal": Flag("numbers below the smallest normal one", "they are flushed to 0", "3.1"),
    "needs_float64": Flag("numbers that float32 cannot hold", "float32 implementations are not asked", "3.1"),
    "full_bucket": Flag("more arrivals than slots", "a wrong slot, or a bucket that grows", "3.2"),
    "repeated": Flag("the same neuron or coordinate several times", "it is counted once too often", "4.1"),
    "wide_key": Flag("keys wider than the table", "they are cut, or fold by another hash", "3.2"),
    "known_bug": Flag("a fault that public implementations have", "the fault shows", "3.2"),
    "labels_missing": Flag("labels that are not active, or none", "targets that do not sum to 1", "3.1"),
    "padding": Flag("an active set that is too small", "padding counts neurons twice, or too many", "4.1"),
    "budget": Flag("the budget is met at a bucket's end or inside", "one bucket too many or too few", "4.1"),
    "first_step": Flag("the first step of an optimiser", "bias correction with t = 0", "5"),
    "late_step": Flag("a late step of an optimiser", "powers of the decays that underflow or are not taken", "5"),
    "untouched_rows": Flag("rows without a gradient", "they move, or their moments decay (question 16)", "5"),
    "rounding": Flag("a sum next to an integer", "floor in place of ceil, or a rounded sum", "4.2"),
    "invalid_input": Flag("an input that has to be refused", "it is accepted, and something is computed", "3.1"),
    "several_steps": Flag("several training steps", "state that is lost between steps", "3.1"),
    "rebuild": Flag("tables are rebuilt during training", "stale keys, or new functions", "4.2"),
}
"""Every flag by its name."""
