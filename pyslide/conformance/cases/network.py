"""Cases of the forward and backward pass."""

from __future__ import annotations

from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.cases.making import edge, invalid, plain_cases, with_changes
from pyslide.conformance.vectors import Case

Inputs = dict[str, Any]
TINY = 5e-324


def layer(some: Arbitrary) -> Inputs:
    """Return a small layer, an active set and an input."""
    return {"weights": some.rows(6, 8), "active": some.some(4, 6), "indices": some.some(3, 8), "values": some.numbers(3)}


def bad_layers(operation: str, good: Inputs) -> list[Case]:
    """Return layers that have to be refused."""
    return [
        invalid(operation, "active-outside", "A neuron that is not there", with_changes(good, active=[0, 1, 2, 6])),
        invalid(operation, "active-unsorted", "The active set falls", with_changes(good, active=[3, 2, 1, 0])),
        invalid(operation, "index-outside", "An input that is not there", with_changes(good, indices=[0, 1, 8])),
        invalid(operation, "weight-not-a-number", "A weight is NaN",
                with_changes(good, weights=[["NaN"] * 8, *good["weights"][1:]])),
    ]  # fmt: skip


def preactivation_cases() -> list[Case]:
    """Return the cases of the sums."""
    name = "preactivations"
    good = {**layer(Arbitrary(name)), "biases": Arbitrary("biases").numbers(6)}
    return [
        *plain_cases(name, 6, lambda one, number: {**layer(one), "biases": one.numbers(6)}),
        edge(name, "nobody-active", "An empty active set", ("empty_input",), with_changes(good, active=[])),
        edge(name, "no-entries", "Only biases", ("empty_input",), with_changes(good, indices=[], values=[])),
        edge(name, "everybody", "All active, all entries", ("edge_case",),
             with_changes(good, active=list(range(6)), indices=list(range(8)), values=[0.5] * 8)),
        edge(name, "one-neuron", "One active neuron", ("one_element",), with_changes(good, active=[5])),
        edge(name, "explicit-zero", "Entries of 0", ("explicit_zero",), with_changes(good, values=[0.0, 1.0, 0.0])),
        edge(name, "cancelling", "Terms that cancel", ("underflow", "needs_float64"),
             with_changes(good, weights=[[1e16, 1.0, -1e16, 0.0, 0.0, 0.0, 0.0, 0.0]] * 6, biases=[0.0] * 6,
                          indices=[0, 2], values=[1.0, 1.0])),
        invalid(name, "biases-missing", "A bias less than neurons", with_changes(good, biases=[0.0] * 5)),
        *bad_layers(name, good),
    ]  # fmt: skip


def activation_cases() -> list[Case]:
    """Return the cases of ReLU and softmax."""
    return [
        *plain_cases("relu", 3, lambda one, number: {"sums": one.numbers(6)}),
        edge("relu", "zeros", "0 and -0", ("all_zero", "tie"), {"sums": [0.0, 0.0]}),
        edge("relu", "all-negative", "Everybody is silenced and stays an entry", ("all_negative",),
             {"sums": [-1.0, -0.5, -3.0]}),
        edge("relu", "nobody", "An empty active set", ("empty_input",), {"sums": []}),
        edge("relu", "denormal", "The smallest positive number passes", ("denormal", "needs_float64"),
             {"sums": [TINY, -TINY]}),
        invalid("relu", "not-a-number", "A sum is NaN", {"sums": [1.0, "NaN"]}),
        *plain_cases("softmax", 6, lambda one, number: {"logits": one.numbers(3 + number, 4)}),
        edge("softmax", "nobody", "An empty active set", ("empty_input",), {"logits": []}),
        edge("softmax", "one", "One neuron has it all", ("one_element",), {"logits": [-3.5]}),
        edge("softmax", "equal", "Equal logits", ("tie",), {"logits": [2.0] * 4}),
        edge("softmax", "large", "Logits of 1000", ("overflow",), {"logits": [1000.0, 1001.0, 999.0]}),
        edge("softmax", "all-negative", "All logits far below 0", ("all_negative", "underflow", "known_bug"),
             {"logits": [-1000.0, -1001.0, -1002.0]}),
        edge("softmax", "moderately-negative", "Logits below 0", ("all_negative", "known_bug"),
             {"logits": [-20.0, -21.0, -22.5]}),
        edge("softmax", "far-apart", "A logit that vanishes beside the other", ("underflow",),
             {"logits": [0.0, -2000.0]}),
        edge("softmax", "denormal-result", "An output below the normal numbers", ("denormal", "needs_float64"),
             {"logits": [0.0, -740.0]}),
        edge("softmax", "fifty", "Fifty neurons", ("edge_case",), {"logits": Arbitrary("fifty").numbers(50, 4)}),
        invalid("softmax", "not-a-number", "A logit is NaN", {"logits": [1.0, "NaN"]}),
        invalid("softmax", "infinite", "A logit is infinite", {"logits": ["Infinity", 0.0]}),
    ]  # fmt: skip


def loss_cases() -> list[Case]:
    """Return the cases of targets and loss."""

    def make_targets(one: Arbitrary, number: int) -> Inputs:
        return {"active": one.some(5, 10), "labels": one.some(1 + number, 10)}

    def make_loss(one: Arbitrary, number: int) -> Inputs:
        wanted = [0.0] * 5
        wanted[number] = wanted[4 - number] = 1.0 if number == 2 else 0.5
        return {"logits": one.numbers(5, 4), "wanted": wanted}

    return [
        *plain_cases("targets", 4, make_targets),
        edge("targets", "no-labels", "A sample without labels", ("labels_missing",), {"active": [1, 2], "labels": []}),
        edge("targets", "labels-not-active", "Labels that are not active", ("labels_missing",),
             {"active": [1, 2, 5], "labels": [2, 3, 9]}),
        edge("targets", "nobody", "An empty active set", ("empty_input",), {"active": [], "labels": [1]}),
        edge("targets", "three", "Thirds", ("rounding",), {"active": [0, 1, 2, 3], "labels": [0, 2, 3]}),
        invalid("targets", "labels-repeat", "A label twice", {"active": [1, 2], "labels": [2, 2]}),
        *plain_cases("cross_entropy", 5, make_loss),
        edge("cross_entropy", "nothing-wanted", "No labels: 0", ("labels_missing",),
             {"logits": [1.0, 2.0], "wanted": [0.0, 0.0]}),
        edge("cross_entropy", "underflow", "A label whose probability underflows", ("underflow", "known_bug"),
             {"logits": [0.0, 2000.0], "wanted": [1.0, 0.0]}),
        edge("cross_entropy", "certain", "A label that has it all", ("edge_case",), {"logits": [3.0], "wanted": [1.0]}),
        edge("cross_entropy", "nobody", "An empty active set", ("empty_input",), {"logits": [], "wanted": []}),
        edge("cross_entropy", "all-negative", "All logits far below 0", ("all_negative", "underflow"),
             {"logits": [-800.0, -801.0], "wanted": [0.5, 0.5]}),
        invalid("cross_entropy", "lengths", "A target less", {"logits": [1.0, 2.0], "wanted": [1.0]}),
    ]  # fmt: skip


def backward_cases() -> list[Case]:
    """Return the cases of the errors and gradients."""

    def make_error(one: Arbitrary, number: int) -> Inputs:
        shares = [1 + one.below(9) for _ in range(4)]
        return {"probabilities": [share / sum(shares) for share in shares], "wanted": [0.5, 0.0, 0.5, 0.0],
                "samples": 1 + number}  # fmt: skip

    name = "backward"
    good = {**layer(Arbitrary(name)), "error": Arbitrary("error").numbers(4)}
    missing = {"probabilities": [0.5, 0.25, 0.25], "wanted": [0.5, 0.0, 0.0], "samples": 2}
    return [
        *plain_cases("output_error", 4, make_error),
        edge("output_error", "labels-missing", "Targets sum to 1/2: the error sums to 0 all the same",
             ("labels_missing", "known_bug"), missing),
        edge("output_error", "no-labels", "No labels: no error", ("labels_missing", "known_bug"),
             with_changes(missing, wanted=[0.0] * 3)),
        edge("output_error", "batch-of-one", "One sample: mean and sum agree", ("one_element",),
             with_changes(missing, samples=1, wanted=[1.0, 0.0, 0.0])),
        edge("output_error", "nobody", "An empty active set", ("empty_input",),
             {"probabilities": [], "wanted": [], "samples": 2}),
        invalid("output_error", "no-samples", "An empty batch", with_changes(missing, samples=0)),
        invalid("output_error", "lengths", "A target less", with_changes(missing, wanted=[0.5])),
        *plain_cases(name, 6, lambda one, number: {**layer(one), "error": one.numbers(4)}),
        edge(name, "nobody-active", "An empty active set", ("empty_input",), with_changes(good, active=[], error=[])),
        edge(name, "no-entries", "No entries", ("empty_input",), with_changes(good, indices=[], values=[])),
        edge(name, "silenced", "Inputs that a ReLU silenced pass no error", ("explicit_zero",),
             with_changes(good, values=[0.0, 1.0, 0.0])),
        edge(name, "zero-error", "No error", ("all_zero",), with_changes(good, error=[0.0] * 4)),
        edge(name, "one-neuron", "One active neuron", ("one_element",), with_changes(good, active=[2], error=[-0.5])),
        invalid(name, "lengths", "An error less than active neurons", with_changes(good, error=[1.0])),
        *bad_layers(name, good),
    ]  # fmt: skip


def network_cases() -> list[Case]:
    """Return all cases of the forward and backward pass."""
    return [*preactivation_cases(), *activation_cases(), *loss_cases(), *backward_cases()]
