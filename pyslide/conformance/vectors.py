"""A vector: inputs with all their random parameters, what the paper's reading gives, and what others give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyslide.conformance.operations import OPERATIONS
from pyslide.conventions import ORIGINAL_CPP, PAPER, QUESTIONS, Conventions
from pyslide.errors import PyslideError

ANSWERS = {question.field: question.answers for question in QUESTIONS}
"""All answers, by question."""
PLAIN_FLAGS = {"plain", "several_steps", "rebuild"}
"""Flags that say nothing of an edge."""


@dataclass(frozen=True, eq=False)
class Case:
    """The inputs of a vector, before anything is computed.

    Attributes
    ----------
    id : str
        A slug that never changes.
    operation : str
    summary : str
    flags : tuple of str
        From `pyslide.conformance.flags`.
    inputs : mapping
        Plain JSON.
    remade : callable, optional
        From another name to inputs of the same kind, if these are arbitrary.
    """

    id: str
    operation: str
    summary: str
    flags: tuple[str, ...]
    inputs: Mapping[str, Any]
    remade: Callable[[str], Mapping[str, Any]] | None = None

    @property
    def kind(self) -> str:
        """Return "plain", "edge" or "invalid"."""
        if "invalid_input" in self.flags:
            return "invalid"
        return "plain" if set(self.flags) <= PLAIN_FLAGS else "edge"


def varied(case: Case, seed: int) -> Case:
    """Return a case with other arbitrary inputs, if it has such."""
    if case.remade is None:
        return case
    return replace(case, inputs=case.remade(f"{case.id} {seed}"))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an operation gives: outputs by name, or the class of the error with which it refuses its inputs."""

    outputs: Mapping[str, Any] | None
    error: str | None = None
    message: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as a vector's file has it."""
        return {"outputs": dict(self.outputs)} if self.outputs is not None else {"error": self.error}


@dataclass(frozen=True, eq=False)
class Otherwise:
    """What conventions other than the paper's give for a vector.

    Attributes
    ----------
    answers : tuple of dict
        Each of them (answers by question; all else as in the paper) gives this; a preset is ``{"preset": name}``.
    outcome : Outcome
        For a trace only the first stage that departs from the paper.
    """

    answers: tuple[dict[str, str], ...]
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class Vector:
    """A case with its expected outcome."""

    case: Case
    paper: Outcome
    otherwise: tuple[Otherwise, ...] = field(default=())


def outcome(case: Case, conventions: Conventions = PAPER) -> Outcome:
    """Return what the spec gives for a case."""
    try:
        return Outcome(OPERATIONS[case.operation].run(case.inputs, conventions))
    except PyslideError as refusal:
        return Outcome(None, type(refusal).__name__, str(refusal))


def single_answers(operation: str) -> Iterator[tuple[dict[str, str], Conventions]]:
    """Yield the conventions that differ from the paper's in one answer, and the original program's."""
    for question in OPERATIONS[operation].questions:
        for answer in ANSWERS[question]:
            if answer != getattr(PAPER, question):
                yield {question: answer}, PAPER.replace(**{question: answer})
    if OPERATIONS[operation].questions:
        yield {"preset": "ORIGINAL_CPP"}, ORIGINAL_CPP


def first_departure(expected: Outcome, other: Outcome) -> Outcome:
    """Return only the first stage at which one trace departs from another."""
    if expected.outputs is None or other.outputs is None:
        return other
    for stage, value in other.outputs.items():
        if expected.outputs.get(stage) != value:
            return Outcome({stage: value})
    return other


def other_outcomes(case: Case, paper: Outcome) -> tuple[Otherwise, ...]:
    """Return what other conventions give where it is something else, equal outcomes together."""
    found: list[tuple[Outcome, list[dict[str, str]]]] = []
    for answers, conventions in single_answers(case.operation):
        other = outcome(case, conventions)
        if other.as_dict() == paper.as_dict():
            continue
        if case.operation == "training_trace":
            other = first_departure(paper, other)
        for known, who in found:
            if known.as_dict() == other.as_dict():
                who.append(answers)
                break
        else:
            found.append((other, [answers]))
    return tuple(Otherwise(tuple(who), known) for known, who in found)


def fill(case: Case) -> Vector:
    """Return a case with what the paper and others give."""
    paper = outcome(case)
    # An input that the paper's reading refuses is refused; what a fault makes of it is nobody's business.
    return Vector(case, paper, () if case.kind == "invalid" else other_outcomes(case, paper))
