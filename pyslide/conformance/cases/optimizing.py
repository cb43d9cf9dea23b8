"""Cases of the optimisers and the schedule."""

from __future__ import annotations

from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.cases.making import edge, invalid, plain_cases, with_changes
from pyslide.conformance.vectors import Case

Inputs = dict[str, Any]
SETTINGS: Inputs = {"learning_rate": 0.001, "first_decay": 0.9, "second_decay": 0.999, "epsilon": 1e-8}


def squares(numbers: list[float]) -> list[float]:
    """Return squares: second moments are not negative."""
    return [number * number / 64 for number in numbers]


def adam_cases() -> list[Case]:
    """Return the cases of Adam."""
    name = "adam"

    def make(one: Arbitrary, number: int) -> Inputs:
        return {"values": one.numbers(4), "gradient": one.numbers(4), "first": one.numbers(4),
                "second": squares(one.numbers(4)), "step": 2 + 7 * number, **SETTINGS}  # fmt: skip

    first = {"values": [1.0, -1.0, 0.5], "gradient": [0.5, -0.25, 0.0], "first": [0.0] * 3, "second": [0.0] * 3,
             "step": 1, **SETTINGS}  # fmt: skip
    return [
        *plain_cases(name, 6, make),
        edge(name, "first-step", "The first step: rate * sign(gradient), nearly", ("first_step",), first),
        edge(name, "tiny-gradient", "Gradients of the size of epsilon", ("underflow", "known_bug"),
             with_changes(first, gradient=[1e-8, -1e-9, 1e-10])),
        edge(name, "large-epsilon", "Epsilon of 1e-3", ("edge_case",), with_changes(first, epsilon=1e-3)),
        edge(name, "late", "Step one million", ("late_step",), with_changes(first, step=1_000_000)),
        edge(name, "zero-gradient", "Moments move the weight without a gradient", ("all_zero",),
             with_changes(first, gradient=[0.0] * 3, first=[0.5, -0.5, 0.25], second=[0.25] * 3, step=10)),
        edge(name, "no-memory", "Decays of 0", ("edge_case",), with_changes(first, first_decay=0.0, second_decay=0.0)),
        edge(name, "nothing", "No weights", ("empty_input",),
             with_changes(first, values=[], gradient=[], first=[], second=[])),
        edge(name, "denormal-gradient", "Gradients whose squares underflow", ("denormal", "needs_float64"),
             with_changes(first, gradient=[1e-200, -1e-170, 1e-160])),
        invalid(name, "step-zero", "Steps are counted from 1", with_changes(first, step=0)),
        invalid(name, "rate-negative", "A negative rate", with_changes(first, learning_rate=-0.1)),
        invalid(name, "decay-one", "A decay of 1", with_changes(first, second_decay=1.0)),
        invalid(name, "epsilon-zero", "Epsilon is 0", with_changes(first, epsilon=0.0)),
        invalid(name, "not-a-number", "A gradient is NaN", with_changes(first, gradient=["NaN", 0.0, 0.0])),
        invalid(name, "lengths", "A gradient less", with_changes(first, gradient=[1.0])),
    ]  # fmt: skip


def sgd_cases() -> list[Case]:
    """Return the cases of SGD."""
    name = "sgd"

    def make(one: Arbitrary, number: int) -> Inputs:
        return {"values": one.numbers(4), "gradient": one.numbers(4), "velocity": one.numbers(4),
                "learning_rate": 0.125, "momentum": number / 4}  # fmt: skip

    good = {"values": [1.0, -2.0], "gradient": [0.5, 0.25], "velocity": [1.0, -1.0], "learning_rate": 0.1,
            "momentum": 0.9}  # fmt: skip
    return [
        *plain_cases(name, 4, make),
        edge(name, "no-momentum", "Plain SGD", ("edge_case",), with_changes(good, momentum=0.0)),
        edge(name, "zero-gradient", "The velocity goes on", ("all_zero",), with_changes(good, gradient=[0.0, 0.0])),
        edge(name, "nothing", "No weights", ("empty_input",), with_changes(good, values=[], gradient=[], velocity=[])),
        invalid(name, "momentum-one", "A momentum of 1", with_changes(good, momentum=1.0)),
        invalid(name, "rate-zero", "A rate of 0", with_changes(good, learning_rate=0.0)),
    ]  # fmt: skip


def row_cases() -> list[Case]:
    """Return the cases of steps that move some rows."""
    name = "update_rows"

    def make(one: Arbitrary, number: int) -> Inputs:
        touched = [one.below(2) > 0 for _ in range(4)]
        gradient = [row if moved else [0.0] * 3 for row, moved in zip(one.rows(4, 3), touched, strict=True)]
        step = 3 + 5 * number
        return {"values": one.rows(4, 3), "gradient": gradient, "first": one.rows(4, 3),
                "second": [squares(row) for row in one.rows(4, 3)], "touched": touched, "step": step,
                "touches": one.integers(4, step), "rule": "adam" if number % 3 else "sgd", "momentum": 0.5,
                **SETTINGS}  # fmt: skip

    good = {"values": [[1.0, 2.0], [3.0, 4.0]], "gradient": [[0.5, -0.5], [0.0, 0.0]],
            "first": [[0.25, 0.25], [1.0, -1.0]], "second": [[0.25, 0.25], [0.5, 0.5]], "touched": [True, False],
            "step": 7, "touches": [2, 3], "rule": "adam", "momentum": 0.0, **SETTINGS}  # fmt: skip
    nobody = [[0.0, 0.0], [0.0, 0.0]]
    return [
        *plain_cases(name, 8, make),
        edge(name, "untouched-rest", "A row without a gradient rests, with its moments", ("untouched_rows", "known_bug"),
             good),
        edge(name, "nobody", "No row is touched", ("untouched_rows", "empty_input"),
             with_changes(good, touched=[False, False], gradient=nobody)),
        edge(name, "everybody", "All rows are touched", ("edge_case",),
             with_changes(good, touched=[True, True], gradient=[[0.5, 0.25], [0.125, -0.5]])),
        edge(name, "touched-without-gradient", "A touched row whose gradient is 0 moves by its moments",
             ("untouched_rows",), with_changes(good, gradient=nobody)),
        edge(name, "first-touch-late", "A row's first update at step 100", ("late_step", "known_bug"),
             with_changes(good, step=100, touches=[0, 0], first=nobody, second=nobody)),
        invalid(name, "step-zero", "Steps are counted from 1", with_changes(good, step=0)),
        invalid(name, "touched-shape", "A flag less than rows", with_changes(good, touched=[True])),
    ]  # fmt: skip


def schedule_cases() -> list[Case]:
    """Return the cases of the schedule."""

    def make_steps(one: Arbitrary, number: int) -> Inputs:
        return {"first_interval": 10.0 * (number + 1), "growth": number / 16, "count": 6}

    def make_due(one: Arbitrary, number: int) -> Inputs:
        return {"steps": 40 + 50 * number, "first_interval": 50.0, "growth": number / 8}

    due = {"steps": 50, "first_interval": 50.0, "growth": 0.0}
    return [
        *plain_cases("rebuild_steps", 5, make_steps),
        edge("rebuild_steps", "equal-intervals", "Growth 0", ("edge_case",),
             {"first_interval": 50.0, "growth": 0.0, "count": 5}),
        edge("rebuild_steps", "fraction", "Intervals of 1/3 of a step: several rebuilds fall on one step", ("rounding",),
             {"first_interval": 0.333333333333, "growth": 0.0, "count": 7}),
        edge("rebuild_steps", "tenths", "Ten intervals of 0.1 end at 1 exactly", ("rounding",),
             {"first_interval": 0.1, "growth": 0.0, "count": 10}),
        edge("rebuild_steps", "none", "No rebuild is asked for", ("empty_input",),
             {"first_interval": 50.0, "growth": 0.5, "count": 0}),
        edge("rebuild_steps", "published", "N0 = 50", ("plain",), {"first_interval": 50.0, "growth": 0.1, "count": 8}),
        invalid("rebuild_steps", "interval-zero", "No interval", {"first_interval": 0.0, "growth": 0.0, "count": 3}),
        invalid("rebuild_steps", "shrinking", "Intervals that shrink",
                {"first_interval": 50.0, "growth": -0.5, "count": 3}),
        *plain_cases("rebuilds_due", 5, make_due),
        edge("rebuilds_due", "just-due", "The step at which one falls due", ("tie",), due),
        edge("rebuilds_due", "not-yet", "The step before", ("edge_case",), with_changes(due, steps=49)),
        edge("rebuilds_due", "start", "Before the first step", ("edge_case",), with_changes(due, steps=0)),
        edge("rebuilds_due", "several", "Several on one step", ("rounding",),
             {"steps": 1, "first_interval": 0.25, "growth": 0.0}),
        invalid("rebuilds_due", "interval-zero", "No interval", with_changes(due, first_interval=0.0)),
        invalid("rebuilds_due", "shrinking", "Intervals that shrink", with_changes(due, growth=-1.0)),
    ]  # fmt: skip


def optimizing_cases() -> list[Case]:
    """Return all cases of the optimisers and the schedule."""
    return [*adam_cases(), *sgd_cases(), *row_cases(), *schedule_cases()]
