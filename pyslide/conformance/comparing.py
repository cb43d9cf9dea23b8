"""What is expected against what came: the first element that differs.

Integers, keys and sets have to be the same.  A number may be off by a few units of rounding of the implementation's
precision, relative to the largest number of its array; how many is derived beside each operation
(`pyslide.conformance.operation`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pyslide.conformance.operation import FEW_ROUNDINGS, Operation
from pyslide.conformance.plain import SPECIAL
from pyslide.conformance.replies import Reply
from pyslide.conformance.vectors import Outcome

UNITS = {"float64": 2.0**-53, "float32": 2.0**-24}
"""The unit of rounding of each precision."""


class Difference(NamedTuple):
    """Where two outcomes first differ."""

    place: str
    expected: Any
    got: Any
    allowed: float = 0.0  # by how much a number may be off

    @property
    def excess(self) -> str:
        """Return how far off a number is beside what is allowed, "" for anything else."""
        both = as_number(self.expected), as_number(self.got)
        if both[0] is None or both[1] is None or not self.allowed:
            return ""
        return f"off by {abs(both[0] - both[1]):.3g}, allowed {self.allowed:.3g}"

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.place}: expected {self.expected!r}, got {self.got!r}"


def as_float(value: float) -> float:
    """Return a number as a float; an integer beyond all floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def numbers_in(value: Any) -> Iterator[float]:
    """Yield the finite numbers of nested lists."""
    if isinstance(value, list):
        for part in value:
            yield from numbers_in(part)
    elif isinstance(value, int | float) and math.isfinite(as_float(value)):
        yield as_float(value)


def largest(value: Any) -> float:
    """Return the largest absolute number of nested lists."""
    return max((abs(number) for number in numbers_in(value)), default=0.0)


def largest_change(after: Any, before: Any) -> float:
    """Return by how much weights moved at most."""
    pairs = zip(numbers_in(after), numbers_in(before), strict=False)
    return max((abs(new - old) for new, old in pairs), default=0.0)


def slack(operation: Operation, inputs: Mapping[str, Any], name: str, expected: Any, precision: str) -> float:
    """Return by how much a number of an output may be off.

    Weights that moved are what they were, rounded once, plus a change that has the operation's error.
    """
    unit = UNITS[precision]
    if name == "values" and "values" in inputs:
        change = largest_change(expected, inputs["values"])
        return unit * (FEW_ROUNDINGS * largest(expected) + operation.roundings * change)
    return unit * operation.roundings * largest(expected)


def as_number(value: Any) -> float | None:
    """Return a number, or None for anything else."""
    if isinstance(value, str):
        return SPECIAL.get(value)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else as_float(value)


def same_leaf(expected: Any, got: Any, tolerance: float) -> bool:
    """Return whether two elements agree."""
    if isinstance(expected, bool):
        return got in (0, 1) and bool(got) == expected
    if isinstance(expected, int):
        return not isinstance(got, bool | str | list) and got == expected
    if isinstance(expected, str) and expected not in SPECIAL:
        return str(got) == expected  # a word of 64 bits, written as a string or as an integer
    wanted, number = as_number(expected), as_number(got)
    if wanted is None or number is None:
        return False
    if math.isfinite(wanted) and math.isfinite(number):
        return abs(wanted - number) <= tolerance
    return wanted == number or (math.isnan(wanted) and math.isnan(number))


def first_difference(expected: Any, got: Any, tolerance: float, place: str) -> Difference | None:
    """Return where nested lists first differ."""
    if not isinstance(expected, list):
        allowed = tolerance if isinstance(expected, float) else 0.0
        return None if same_leaf(expected, got, tolerance) else Difference(place, expected, got, allowed)
    if not isinstance(got, list):
        return Difference(place, f"a list of {len(expected)}", got)
    for number, (part, other) in enumerate(zip(expected, got, strict=False)):
        difference = first_difference(part, other, tolerance, f"{place}[{number}]")
        if difference is not None:
            return difference
    if len(expected) != len(got):
        return Difference(place, f"{len(expected)} elements: {expected}", f"{len(got)}: {got}")
    return None


def output_difference(
    operation: Operation, inputs: Mapping[str, Any], expected: Mapping[str, Any], got: Mapping[str, Any], precision: str
) -> Difference | None:
    """Return the first output, and its first element, that differs; intermediate ones may be left out."""
    if not got or (operation.primary and operation.primary not in got):
        return Difference("outputs", operation.primary or "at least one stage", list(got))
    for name, value in expected.items():
        if name in got:
            tolerance = slack(operation, inputs, name, value, precision)
            difference = first_difference(value, got[name], tolerance, name)
            if difference is not None:
                return difference
    unknown = [name for name in got if name not in expected]
    if unknown:  # nothing is wrong with what is known, but a misspelt output would never be looked at
        return Difference("names of outputs", f"some of {', '.join(list(expected)[:12])}", f"no such output: {unknown}")
    return None


def refusal_difference(expected: Outcome, reply: Reply) -> Difference | None:
    """Return how a refusal differs from the one expected; an implementation need not have classes of errors."""
    if reply.status != "refused":
        return Difference("refusal", expected.error, dict(reply.outputs))
    if reply.error is not None and reply.error != expected.error:
        return Difference("class of the refusal", expected.error, f"{reply.error} ({reply.message})")
    return None


def difference_of(
    operation: Operation, inputs: Mapping[str, Any], expected: Outcome, reply: Reply, precision: str
) -> Difference | None:
    """Return where a reply first differs from an outcome, None where it is the same."""
    if expected.outputs is None:
        return refusal_difference(expected, reply)
    if reply.status == "refused":
        return Difference("outputs", "outputs", f"a refusal: {reply.message or reply.error}")
    return output_difference(operation, inputs, expected.outputs, reply.outputs, precision)
