"""Operations of sections 5 and 4.2: the weights move, and tables are rebuilt ever more rarely."""

from __future__ import annotations

from pyslide.arrays import require_finite, require_shape
from pyslide.conformance.kinds import INTEGER, INTEGERS, NUMBER, NUMBER_ROWS, NUMBERS, TRUTHS, Field, choice_of
from pyslide.conformance.operation import CANCELLING_ROUNDINGS, Answer, Given, Operation
from pyslide.conformance.operations.keys import require_at_least
from pyslide.conventions import Conventions
from pyslide.spec.optimizer import Optimizer, Update, adam, sgd, update_rows
from pyslide.spec.schedule import rebuild_step, rebuild_time, rebuilds_due

LEARNING_RATE = Field("learning_rate", NUMBER, "positive")
MOMENTUM = Field("momentum", NUMBER, "of SGD")
DECAYS = (
    Field("first_decay", NUMBER, "beta1"),
    Field("second_decay", NUMBER, "beta2"),
    Field("epsilon", NUMBER, "positive"),
)
STEP = Field("step", INTEGER, "t, the global step number, counted from 1")
FIRST_INTERVAL = Field("first_interval", NUMBER, "N0, in steps")
GROWTH = Field("growth", NUMBER, "lambda")
SETTINGS = (Field("rule", choice_of("adam", "sgd"), "the optimiser"), LEARNING_RATE, MOMENTUM, *DECAYS)
"""The settings of an optimiser."""


def read_optimizer(given: Given, rule: str) -> Optimizer:
    """Return the optimiser whose settings are among the inputs."""
    names = ("learning_rate", "momentum", "first_decay", "second_decay", "epsilon")
    return Optimizer(rule=rule, **{name: given[name] for name in names if name in given})


def require_alike(given: Given, *names: str) -> None:
    """Refuse arrays of different shapes, and numbers that are not finite.

    Raises
    ------
    ShapeError, NonFiniteError
    """
    for name in names:
        require_shape(given[name], given[names[0]].shape, name)
        require_finite(given[name], name)


def compute_adam(given: Given, conventions: Conventions) -> Answer:
    """Return weights and moments after one step of Adam."""
    require_alike(given, "values", "gradient", "first", "second")
    require_at_least(given["step"], 1, "step")
    update = adam(
        given["values"],
        given["gradient"],
        given["first"],
        given["second"],
        given["step"],
        read_optimizer(given, "adam"),
        conventions.adam_epsilon,
    )
    return {"first": update.first, "second": update.second, "values": update.values}


def compute_sgd(given: Given, conventions: Conventions) -> Answer:
    """Return weights and velocity after one step of SGD."""
    require_alike(given, "values", "gradient", "velocity")
    update = sgd(given["values"], given["gradient"], given["velocity"], read_optimizer(given, "sgd"))
    return {"velocity": update.first, "values": update.values}


def compute_update_rows(given: Given, conventions: Conventions) -> Answer:
    """Return a matrix of weights after a step that moves the touched rows."""
    require_alike(given, "values", "gradient", "first", "second")
    rows = (given["values"].shape[0],)
    require_shape(given["touched"], rows, "touched")
    require_shape(given["touches"], rows, "touches")
    require_at_least(given["step"], 1, "step")
    before = Update(given["values"], given["first"], given["second"])
    after, touches = update_rows(
        before,
        given["gradient"],
        given["touched"],
        given["step"],
        given["touches"],
        read_optimizer(given, given["rule"]),
        conventions,
    )
    return {"touches": touches, "first": after.first, "second": after.second, "values": after.values}


def compute_rebuild_steps(given: Given, conventions: Conventions) -> Answer:
    """Return when the first few rebuilds fall due."""
    interval, growth = given["first_interval"], given["growth"]
    rebuilds_due(0, interval, growth)  # refuses intervals that shrink
    numbers = range(1, given["count"] + 1)
    return {
        "times": [rebuild_time(number, interval, growth) for number in numbers],
        "steps": [rebuild_step(number, interval, growth) for number in numbers],
    }


def compute_rebuilds_due(given: Given, conventions: Conventions) -> Answer:
    """Return how many rebuilds are due."""
    return {"count": rebuilds_due(given["steps"], given["first_interval"], given["growth"])}


OPTIMIZING = (
    Operation(
        "adam",
        "5",
        "One step of Adam, bias-corrected, epsilon beside the root of the corrected second moment",
        (
            Field("values", NUMBERS, "the weights"),
            Field("gradient", NUMBERS, "of the loss"),
            Field("first", NUMBERS, "m"),
            Field("second", NUMBERS, "v"),
            STEP,
            LEARNING_RATE,
            *DECAYS,
        ),
        (Field("first", NUMBERS, "m"), Field("second", NUMBERS, "v"), Field("values", NUMBERS, "the weights")),
        ("adam_epsilon",),
        compute_adam,
        "values",
        CANCELLING_ROUNDINGS,
    ),
    Operation(
        "sgd",
        "5",
        "One step of SGD: velocity = momentum * velocity + gradient; weights -= rate * velocity",
        (
            Field("values", NUMBERS, "the weights"),
            Field("gradient", NUMBERS, "of the loss"),
            Field("velocity", NUMBERS, "zeros at first"),
            LEARNING_RATE,
            MOMENTUM,
        ),
        (Field("velocity", NUMBERS, ""), Field("values", NUMBERS, "the weights")),
        (),
        compute_sgd,
        "values",
    ),
    Operation(
        "update_rows",
        "5",
        "One step that moves touched rows only, with the global step number; other rows and their moments rest",
        (
            Field("values", NUMBER_ROWS, "(rows, columns) the weights"),
            Field("gradient", NUMBER_ROWS, "of the loss, 0 in rows that are not touched"),
            Field("first", NUMBER_ROWS, "m, or the velocity"),
            Field("second", NUMBER_ROWS, "v; zeros for SGD"),
            Field("touched", TRUTHS, "(rows,)"),
            STEP,
            Field("touches", INTEGERS, "(rows,) how often each row was moved before"),
            *SETTINGS,
        ),
        (
            Field("touches", INTEGERS, "(rows,) with this step"),
            Field("first", NUMBER_ROWS, ""),
            Field("second", NUMBER_ROWS, ""),
            Field("values", NUMBER_ROWS, ""),
        ),
        ("adam_rows", "adam_epsilon"),
        compute_update_rows,
        "values",
        CANCELLING_ROUNDINGS,
    ),
    Operation(
        "rebuild_steps",
        "4.2",
        "The first step at or after sum_{i<t} N0 * exp(lambda * i), for t = 1..count",
        (FIRST_INTERVAL, GROWTH, Field("count", INTEGER, "how many rebuilds")),
        (Field("times", NUMBERS, "the sums"), Field("steps", INTEGERS, "the steps after which tables are rebuilt")),
        (),
        compute_rebuild_steps,
        "steps",
    ),
    Operation(
        "rebuilds_due",
        "4.2",
        "How many rebuilds are due after so many steps",
        (Field("steps", INTEGER, "how many steps were made"), FIRST_INTERVAL, GROWTH),
        (Field("count", INTEGER, "how many rebuilds were made by then"),),
        (),
        compute_rebuilds_due,
        "count",
    ),
)
"""The operations, in the order in which data flows."""
