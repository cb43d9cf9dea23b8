"""Whose answer is it?  A wrong reply is held against what the other known conventions give, and common slips."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from pyslide.conformance.comparing import difference_of, first_difference, largest
from pyslide.conformance.operation import Operation
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.replies import Reply
from pyslide.conformance.vectors import ANSWERS, Case, outcome, single_answers
from pyslide.conventions import ORIGINAL_CPP, PAPER, QUESTIONS, Conventions
from pyslide.errors import ConventionError

NUMBERS_OF_QUESTIONS = {question.field: question.number for question in QUESTIONS}
"""The number of each question."""
MOST_PAIRS = 12
"""Pairs of answers are tried for operations with at most so many other answers; a trace has too many."""


def describe(answers: dict[str, str]) -> str:
    """Return answers as a person reads them."""
    if "preset" in answers:
        return f"the preset {answers['preset']}"
    parts = [
        f"question {NUMBERS_OF_QUESTIONS[question]}, {question} = {answer} ({ANSWERS[question][answer]})"
        + (", as ORIGINAL_CPP" if getattr(ORIGINAL_CPP, question) == answer else "")
        for question, answer in answers.items()
    ]
    return " and ".join(parts)


def candidates(operation: str, profile: Conventions) -> Iterator[tuple[dict[str, str], Conventions]]:
    """Yield other conventions, the likeliest first: one other answer, a preset, two other answers."""
    if profile != PAPER:
        yield {"preset": "PAPER"}, PAPER
    singles = list(single_answers(operation))
    yield from singles
    answers = [answer for answer, _ in singles if "preset" not in answer]
    if len(answers) > MOST_PAIRS:
        return
    for one, other in combinations(answers, 2):
        if set(one) != set(other):
            try:
                yield {**one, **other}, PAPER.replace(**one, **other)
            except ConventionError:
                continue


def matching_answers(case: Case, reply: Reply, precision: str, profile: Conventions = PAPER) -> list[dict[str, str]]:
    """Return the conventions that give a reply; two answers only where no single one does."""
    found: list[dict[str, str]] = []
    operation = OPERATIONS[case.operation]
    for answers, conventions in candidates(case.operation, profile):
        if found and len(answers) > 1:
            break
        other = outcome(case, conventions)
        if difference_of(operation, case.inputs, other, reply, precision) is None:
            found.append(answers)
    return found


def negated(value: Any) -> Any:
    """Return nested lists of the numbers with the other sign."""
    return [negated(part) for part in value] if isinstance(value, list) else -value


def shifted(value: Any, by: int) -> Any:
    """Return nested lists of integers, each larger by a number."""
    return [shifted(part, by) for part in value] if isinstance(value, list) else value + by


def sorted_rows(value: Any) -> Any:
    """Return nested lists with the innermost ones sorted."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [sorted_rows(part) for part in value]
    return sorted(value) if isinstance(value, list) else value


SLIPS: dict[str, Callable[[Any], Any]] = {
    "the expected numbers with the other sign (a step of descent in place of the gradient?)": negated,
    "the expected numbers plus 1 (counted from 1?)": lambda value: shifted(value, 1),
    "the expected numbers minus 1": lambda value: shifted(value, -1),
    "the expected numbers in reverse order": lambda value: value[::-1],
    "the expected members in ascending order": sorted_rows,
    "the expected matrix transposed": lambda value: [list(row) for row in zip(*value, strict=True)],
}
"""What is often done to a right answer."""


def slips(operation: Operation, expected: dict[str, Any], reply: Reply, precision: str) -> list[str]:
    """Return the slips that turn the expected output into the one that came."""
    name = operation.primary or next((stage for stage in expected if stage in reply.outputs), "")
    if name not in reply.outputs or name not in expected:
        return []
    if in_another_order(expected[name], reply.outputs[name]):
        return ["the expected members in another order"]
    return [text for text, slip in SLIPS.items() if slipped(slip, expected[name], reply.outputs[name])]


def in_another_order(expected: Any, got: Any) -> bool:
    """Return whether rows hold the right members, in a wrong order."""
    try:
        return bool(expected != got and sorted_rows(got) == sorted_rows(expected))
    except TypeError:  # members that cannot be ordered are no numbers
        return False


def slipped(slip: Callable[[Any], Any], expected: Any, got: Any) -> bool:
    """Return whether a slip explains what came, and changes anything."""
    try:
        changed = slip(expected)
    except (TypeError, ValueError, IndexError):
        return False
    tolerance = 1e-6 * largest(expected)
    return changed != expected and first_difference(changed, got, tolerance, "") is None
