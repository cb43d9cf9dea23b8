"""Cases of whole training runs."""

from __future__ import annotations

from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.cases.keys import family_inputs
from pyslide.conformance.cases.making import edge, invalid, with_changes
from pyslide.conformance.vectors import Case

Inputs = dict[str, Any]
FEATURES, HIDDEN, OUTPUTS = 10, 6, 12
"""The sizes of the traced networks."""
TABLES = 3
"""L."""
ADAM: Inputs = {"rule": "adam", "learning_rate": 0.0625, "momentum": 0.0, "first_decay": 0.9, "second_decay": 0.999,
                "epsilon": 1e-8}  # fmt: skip
SGD = {**ADAM, "rule": "sgd", "learning_rate": 0.25, "momentum": 0.5}


def tables(some: Arbitrary, family: str, **sampling: Any) -> Inputs:
    """Return the tables of the output layer."""
    chosen = {"capacity": 4, "policy": "fifo", "strategy": "union", "budget": 4, "minimum_count": 2,
              "minimum_active": 0, **sampling}  # fmt: skip
    return {**family_inputs(some, family, HIDDEN, 1 if family != "simhash" else 3, TABLES), **chosen}


def network(some: Arbitrary, output_tables: Inputs | None) -> list[Inputs]:
    """Return a hidden and an output layer."""
    return [
        {"weights": some.rows(HIDDEN, FEATURES, 1), "biases": some.numbers(HIDDEN, 1), "tables": None},
        {"weights": some.rows(OUTPUTS, HIDDEN, 1), "biases": some.numbers(OUTPUTS, 1), "tables": output_tables},
    ]


def sample(some: Arbitrary) -> Inputs:
    """Return a row of training data."""
    return {"indices": some.some(4, FEATURES), "values": some.numbers(4), "labels": some.some(2, OUTPUTS)}


def step(some: Arbitrary, samples: int, with_tables: bool) -> Inputs:
    """Return a batch and its draws."""
    draws = [{"order": some.order(TABLES), "candidates": some.order(OUTPUTS)[:8]} for _ in range(samples)]
    return {"samples": [sample(some) for _ in range(samples)], "draws": [None, draws if with_tables else None]}


def building(some: Arbitrary, after: int) -> Inputs:
    """Return the draws for building the output layer's tables."""
    draws = {"order": some.order(OUTPUTS), "uniforms": [some.uniforms(OUTPUTS) for _ in range(TABLES)]}
    return {"after_step": after, "layers": [None, draws]}


def run(
    name: str, family: str | None, optimizer: Inputs, steps: int = 3, samples: int = 2, **sampling: Any
) -> Inputs:
    """Return the inputs of a run; tables are built at first and rebuilt after the second step."""
    some = Arbitrary(f"trace {name}")
    hashing = None if family is None else tables(some, family, **sampling)
    builds = [] if family is None else [building(some, after) for after in (0, 2) if after < steps]
    return {
        "layers": network(some, hashing),
        "optimizer": optimizer,
        "builds": builds,
        "steps": [step(some, samples, family is not None) for _ in range(steps)],
    }


def trace_cases() -> list[Case]:
    """Return all traces."""
    name = "training_trace"
    many: tuple[str, ...] = ("several_steps", "rebuild")
    good = run("good", "dwta", ADAM, steps=1)
    unsorted = [with_changes(good["steps"][0]["samples"][0], indices=[3, 2, 1, 0])]
    strategies: list[tuple[str, str, Inputs, Inputs]] = [
        ("dwta-vanilla-adam", "dwta", ADAM, {"strategy": "vanilla"}),
        ("simhash-vanilla-adam", "simhash", ADAM, {"strategy": "vanilla"}),
        ("wta-top-k-adam", "wta", ADAM, {"strategy": "top_k"}),
        ("minhash-threshold-adam", "minhash", ADAM, {"strategy": "hard_threshold"}),
        ("dwta-union-sgd", "dwta", SGD, {}),
        ("simhash-reservoir-padding", "simhash", SGD, {"policy": "reservoir", "capacity": 2, "minimum_active": 7}),
        ("dwta-padding-adam", "dwta", ADAM, {"strategy": "vanilla", "budget": 3, "minimum_active": 9, "capacity": 2}),
    ]
    return [
        edge(name, "full-softmax-adam", "All neurons active, Adam", ("several_steps",), run("full", None, ADAM)),
        edge(name, "full-softmax-sgd", "All neurons active, SGD with momentum", ("several_steps",),
             run("sgd", None, SGD)),
        *(edge(name, slug, f"{family}, {sampling.get('strategy', 'union')}", many,
               run(slug, family, optimizer, **sampling)) for slug, family, optimizer, sampling in strategies),
        edge(name, "one-sample", "A batch of one", ("one_element",), run("one", "dwta", ADAM, 2, 1, strategy="vanilla")),
        edge(name, "one-step", "One step", ("first_step",), good),
        edge(name, "nobody-retrieved", "Nobody is retrieved but for the labels", ("empty_input", "several_steps"),
             run("nobody", "minhash", ADAM, 2, strategy="hard_threshold", minimum_count=4)),
        invalid(name, "empty-batch", "A step without samples",
                with_changes(good, steps=[{"samples": [], "draws": [None, []]}])),
        invalid(name, "unsorted", "A sample's indices fall",
                with_changes(good, steps=[with_changes(good["steps"][0], samples=unsorted,
                                                       draws=[None, good["steps"][0]["draws"][1][:1]])])),
        invalid(name, "layers-do-not-fit", "The output layer has more weights than there are hidden neurons",
                with_changes(good, layers=[good["layers"][0], with_changes(
                    good["layers"][1], weights=[[0.5] * (HIDDEN + 1)] * OUTPUTS)])),
    ]  # fmt: skip
