"""Results on stdout: tables for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option that every command with a result has."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def print_json(value: Any) -> None:
    """Print one JSON document on one line."""
    print(json.dumps(value))


def say(message: str, options: argparse.Namespace) -> None:
    """Print a message to stderr, unless asked to be quiet."""
    if not getattr(options, "quiet", False):
        print(message, file=sys.stderr)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows in aligned columns: the first to the left, the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def percent(fraction: float) -> str:
    """Return a fraction of 1 as a percentage."""
    return f"{100 * fraction:.2f}"
