"""``pyslide conventions``: the questions on which implementations disagree."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from pyslide.cli.output import add_json, print_json
from pyslide.conventions import PRESETS, QUESTIONS, Conventions


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "conventions",
        help="print the questions on which implementations disagree, and the answers",
        description="Print the questions on which implementations of SLIDE disagree, a preset's answers (marked *) and "
        "the alternatives.",
        epilog="example:\n  pyslide conventions --preset ORIGINAL_CPP",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--preset", choices=list(PRESETS), default="PAPER", help="whose answers to mark (PAPER)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print them."""
    chosen = PRESETS[options.preset]
    if options.json:
        print_json([as_json(question, chosen) for question in QUESTIONS])
        return 0
    for question in QUESTIONS:
        print(f"{question.number}. {question.text}  [{question.field}]")
        for answer, meaning in question.answers.items():
            mark = "*" if getattr(chosen, question.field) == answer else " "
            print(textwrap.fill(f"{mark} {answer}: {meaning}", 100, initial_indent="   ", subsequent_indent="       "))
    return 0


def as_json(question: Any, chosen: Conventions) -> dict[str, Any]:
    """Return a question as what JSON can hold."""
    answer = getattr(chosen, question.field)
    return {**question._asdict(), "answers": dict(question.answers), "answer": answer}
