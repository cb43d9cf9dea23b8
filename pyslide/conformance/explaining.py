"""What a vector, an operation or a flag is about, as text."""

from __future__ import annotations

from collections.abc import Sequence

from pyslide.conformance.diagnosis import NUMBERS_OF_QUESTIONS, describe
from pyslide.conformance.flags import FLAGS
from pyslide.conformance.kinds import Field
from pyslide.conformance.library import named
from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.plain import dumps
from pyslide.conformance.vectors import ANSWERS, Outcome, fill
from pyslide.conventions import PAPER


def explain(name: str) -> str:
    """Return what is known of a name.

    Raises
    ------
    PyslideError
        If nothing has it.
    """
    if name in EVERY_OPERATION:
        return explain_operation(name)
    if name in FLAGS:
        flag = FLAGS[name]
        return f"flag {name}: {flag.meaning}\nwhat goes wrong: {flag.effect}\npaper: section {flag.section}\n"
    return explain_vector(name)


def fields(title: str, members: Sequence[Field]) -> list[str]:
    """Return lines on inputs or outputs."""
    return [f"{title}:"] + [f"  {field.name}: {field.kind.text}. {field.meaning}".rstrip() for field in members]


def explain_operation(name: str) -> str:
    """Return what an operation does, takes and gives."""
    operation = EVERY_OPERATION[name]
    lines = [f"{name}: {operation.summary} (paper: section {operation.section})"]
    lines += fields("inputs", operation.inputs)
    lines += fields("outputs", operation.outputs) if operation.outputs else ["outputs: stages, by name"]
    for question in operation.questions:
        lines.append(f"question {NUMBERS_OF_QUESTIONS[question]}, {question}:")
        for answer, meaning in ANSWERS[question].items():
            mark = "*" if answer == getattr(PAPER, question) else " "
            lines.append(f"  {mark} {answer}: {meaning}")
    return "\n".join(lines) + "\n"


def what(outcome: Outcome) -> str:
    """Return an outcome as text."""
    if outcome.outputs is None:
        return f"a refusal: {outcome.error} {outcome.message}".rstrip() + "\n"
    return dumps(dict(outcome.outputs))


def explain_vector(name: str) -> str:
    """Return a vector: what it is for, its inputs, and what everybody gives."""
    vector = fill(named(name))
    case = vector.case
    lines = [f"{case.id}: {case.summary}", f"operation {case.operation}: {EVERY_OPERATION[case.operation].summary}"]
    lines += [f"flag {flag}: {FLAGS[flag].meaning}; what goes wrong: {FLAGS[flag].effect}" for flag in case.flags]
    text = "\n".join(lines) + f"\ninputs: {dumps(dict(case.inputs))}the paper's reading gives: {what(vector.paper)}"
    for other in vector.otherwise:
        who = "; or ".join(describe(answers) for answers in other.answers)
        text += f"{who}\n  gives: {what(other.outcome)}"
    return text
