"""The format pages: what a person wrote of each operation, and its fields and an example, which are made here."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pyslide.conformance.cases import all_cases
from pyslide.conformance.kinds import Field
from pyslide.conformance.operation import Operation
from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.vectors import Case, outcome
from pyslide.data.writing import written_aside
from pyslide.errors import FormatError

BLOCK = re.compile(r"<!-- fields: (?P<operation>[a-z_]+) -->\n(?:.*?<!-- end -->\n)?", re.DOTALL)
"""What is made, from its marker to its end."""
LONGEST_EXAMPLE = 1200
"""Characters of an example that is shown; a trace is longer."""


def row(field: Field, direction: str) -> str:
    """Return a line of an operation's table."""
    return f"| {direction} | `{field.name}` | {field.kind.text} | {field.meaning} |"


def table(operation: Operation) -> list[str]:
    """Return an operation's fields as a Markdown table."""
    lines = ["| | field | kind | meaning |", "|---|---|---|---|"]
    lines += [row(field, "in") for field in operation.inputs]
    for field in operation.outputs:
        lines.append(row(field, "out, *primary*" if field.name == operation.primary else "out"))
    return lines


def one_line(value: object) -> str:
    """Return JSON without line breaks."""
    return json.dumps(value, ensure_ascii=False)


def example(operation: Operation) -> list[str]:
    """Return the operation's shortest plain vector as a request and its reply."""
    cases = [case for case in all_cases() if case.operation == operation.name and case.kind == "plain"]
    if not cases:  # random choices have no vectors
        return []
    shortest = min(cases, key=lambda case: len(one_line(case.inputs)))
    lines = exchange(shortest)
    return ["", "```", *lines, "```"] if sum(map(len, lines)) <= LONGEST_EXAMPLE else []


def exchange(case: Case) -> list[str]:
    """Return the inputs and the outputs of a case."""
    return [
        f"{case.id}",
        f"inputs  {one_line(case.inputs)}",
        f"outputs {one_line(outcome(case).outputs)}",
    ]


def block(operation: Operation) -> str:
    """Return all that is made for an operation, with its markers."""
    lines = [f"{operation.summary}.", "", *table(operation), *example(operation)]
    return "\n".join([f"<!-- fields: {operation.name} -->", *lines, "<!-- end -->", ""])


def filled(text: str, path: Path) -> str:
    """Return a page with its blocks made anew.

    Raises
    ------
    FormatError
        If a marker names no operation.
    """

    def replacement(match: re.Match[str]) -> str:
        name = match["operation"]
        if name not in EVERY_OPERATION:
            raise FormatError(f"expected the name of an operation, got {name!r}", path)
        return block(EVERY_OPERATION[name])

    return BLOCK.sub(replacement, text)


def fill_pages(directory: Path) -> list[Path]:
    """Make the blocks of every page of a directory anew, and return the pages that changed.

    Raises
    ------
    FormatError
        If an operation is described on no page, or on two.
    """
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.md"))}
    named = [match["operation"] for text in pages.values() for match in BLOCK.finditer(text)]
    if sorted(named) != sorted(EVERY_OPERATION):
        odd = sorted(set(named) ^ set(EVERY_OPERATION)) or sorted(name for name in named if named.count(name) > 1)
        raise FormatError(f"expected every operation on one page; not so for {', '.join(odd)}", directory)
    changed = []
    for path, text in pages.items():
        new = filled(text, path)
        if new != text:
            with written_aside(path) as stream:
                stream.write(new.encode())
            changed.append(path)
    return changed
