"""``pyslide record`` and ``pyslide compare``: a whole training run against the spec's, step by step."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyslide.conformance.comparing import UNITS
from pyslide.conformance.diagnosis import describe
from pyslide.conformance.profiles import CONFORMS, DOES_NOT, USAGE, profile_of
from pyslide.conformance.recordings import (
    Arrays,
    Departure,
    Step,
    first_departure,
    read_inputs,
    read_recording,
    recorded,
    write_recording,
)
from pyslide.conformance.vectors import single_answers
from pyslide.errors import PyslideError


def add_record(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``record``."""
    parser.add_argument("inputs", type=Path, help="the inputs of training_trace, as JSON")
    parser.add_argument("output", type=Path, help="the .npz file that is written")
    parser.add_argument("--profile", default="PAPER", help="PAPER, ORIGINAL_CPP or a JSON file of answers (PAPER)")
    parser.set_defaults(run=run_record)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare``."""
    parser.add_argument("inputs", type=Path, help="the inputs of training_trace, as JSON")
    parser.add_argument("theirs", type=Path, help=".npz of arrays step1.layer0.weights, ..., or a directory of the "
                        "original program's weight files")  # fmt: skip
    parser.add_argument("--profile", default="PAPER", help="PAPER, ORIGINAL_CPP or a JSON file of answers (PAPER)")
    parser.add_argument("--precision", choices=list(UNITS), default="float32", help="in which theirs ran (float32)")
    parser.set_defaults(run=run_compare)


def run_record(options: argparse.Namespace) -> int:
    """Write the spec's recording."""
    try:
        write_recording(options.output, recorded(read_inputs(options.inputs), profile_of(options.profile)))
    except (PyslideError, OSError) as fault:
        print(f"pyslide: {fault}", file=sys.stderr)
        return USAGE
    print(f"wrote {options.output}")
    return CONFORMS


def until(steps: Iterator[Step], last: int) -> Iterator[Step]:
    """Yield the steps up to one."""
    for step in steps:
        if step.number > last:
            return
        yield step


def matching_answers(given: Mapping[str, Any], theirs: Arrays, departure: Departure, unit: float) -> list[str]:
    """Return in words the other conventions under which the run does not depart at that step."""
    kept = {name: array for name, array in theirs.items() if int(name[4 : name.index(".")]) <= departure.step}
    found = []
    for answers, conventions in single_answers("training_trace"):
        try:
            if first_departure(until(recorded(given, conventions, unit, kept), departure.step), kept) is None:
                found.append(describe(answers))
        except PyslideError:  # the conventions refuse such a run
            continue
    return found


def run_compare(options: argparse.Namespace) -> int:
    """Say where somebody's run first departs."""
    unit = UNITS[options.precision]
    try:
        given, theirs = read_inputs(options.inputs), read_recording(options.theirs)
        departure = first_departure(recorded(given, profile_of(options.profile), unit, theirs), theirs)
    except (PyslideError, OSError) as fault:
        print(f"pyslide: {fault}", file=sys.stderr)
        return USAGE
    if departure is None:
        print(f"{options.theirs} follows {options.profile} within the rounding of {options.precision}: "
              f"{len(theirs)} arrays")  # fmt: skip
        return CONFORMS
    print(f"{options.theirs} does not follow {options.profile}")
    print(departure)
    for words in matching_answers(given, theirs, departure, unit):
        print(f"up to there the run is what {words} gives")
    print("see the step's stages with: pyslide verify --operations training_trace")
    return DOES_NOT
