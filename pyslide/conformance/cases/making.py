"""Short ways to make cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyslide.conformance.arbitrary import Arbitrary
from pyslide.conformance.vectors import Case

Inputs = Mapping[str, Any]
"""Plain JSON by name."""


def slug_of(operation: str) -> str:
    """Return the first part of a case's id."""
    return operation.replace("_", "-")


def plain_cases(operation: str, count: int, make: Callable[[Arbitrary, int], Inputs]) -> list[Case]:
    """Return cases with arbitrary inputs; ``make`` is given arbitrary numbers and the case's number."""
    names = [f"{slug_of(operation)}-plain-{number + 1:02d}" for number in range(count)]
    return [arbitrary_case(name, operation, make, number) for number, name in enumerate(names)]


def arbitrary_case(
    name: str, operation: str, make: Callable[[Arbitrary, int], Inputs], number: int
) -> Case:
    """Return a case with arbitrary inputs, which can be made again with others."""

    def remade(other: str) -> Inputs:
        return make(Arbitrary(other), number)

    return Case(name, operation, "Arbitrary inputs", ("plain",), remade(name), remade)


def edge(operation: str, name: str, summary: str, flags: tuple[str, ...], inputs: Inputs) -> Case:
    """Return a case at an edge."""
    return Case(f"{slug_of(operation)}-{name}", operation, summary, flags, inputs)


def invalid(operation: str, name: str, summary: str, inputs: Inputs) -> Case:
    """Return a case that has to be refused."""
    return Case(f"{slug_of(operation)}-invalid-{name}", operation, summary, ("invalid_input",), inputs)


def with_changes(inputs: Inputs, **changes: Any) -> dict[str, Any]:
    """Return inputs with some of them changed."""
    return {**inputs, **changes}
