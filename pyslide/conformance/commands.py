"""The commands of the kit: ``vectors``, ``verify``, ``export``, ``check`` and ``explain``.

Each has a function that adds its options to a parser and one that runs it.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from pyslide.conformance.cases import all_cases
from pyslide.conformance.compare import add_compare, add_record
from pyslide.conformance.explaining import explain
from pyslide.conformance.files_adapter import FilesAdapter, export
from pyslide.conformance.known_failures import read_known_failures
from pyslide.conformance.library import computed, fill_files, named, read_files
from pyslide.conformance.messages import PRECISIONS
from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.pages import fill_pages
from pyslide.conformance.profiles import BROKEN, CONFORMS, DOES_NOT, USAGE, profile_of
from pyslide.conformance.python_adapter import PythonAdapter, imported
from pyslide.conformance.random_claims import Claim, claims
from pyslide.conformance.replies import Adapter, HarnessError
from pyslide.conformance.reports import REPORTS
from pyslide.conformance.subprocess_adapter import SubprocessAdapter
from pyslide.conformance.vectors import Vector, varied
from pyslide.conformance.verifying import Verifier, selected
from pyslide.conventions import Conventions
from pyslide.data.writing import written_aside
from pyslide.errors import PyslideError

VECTORS = Path("reference_tests/vectors")
"""Where the vectors are committed."""
PAGES = Path("reference_tests/formats")
"""Where the format pages are, whose tables and examples are made with the vectors."""


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose vectors."""
    parser.add_argument("--operations", default="", help="only these, separated by commas")
    parser.add_argument("--case", metavar="ID", help="only this case")
    parser.add_argument("--vectors", type=Path, metavar="DIR", help="vectors from files (computed unless given)")


def add_variation(parser: argparse.ArgumentParser) -> None:
    """Add the option that makes arbitrary inputs anew."""
    parser.add_argument("--vary-seed", type=int, metavar="N", help="make the arbitrary inputs anew, from this number")


def add_judgement(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how answers are judged and reported."""
    parser.add_argument("--profile", default="PAPER", help="PAPER, ORIGINAL_CPP or a JSON file of answers (PAPER)")
    parser.add_argument("--precision", choices=PRECISIONS, help="in which it computes (as it says itself)")
    parser.add_argument("--known-failures", type=Path, metavar="FILE", help="JSON list of id, reason and link")
    parser.add_argument("--report", choices=list(REPORTS), default="terminal", help="(terminal)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report there")


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify``."""
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--adapter", metavar="COMMAND", help="a program that speaks JSON lines")
    way.add_argument("--python", metavar="MODULE:CLASS", help="a Python class")
    way.add_argument("--files", type=Path, metavar="DIR", help="a directory with answers.jsonl")
    parser.add_argument("--time-limit", type=float, default=10.0, metavar="SECONDS", help="for one case (10)")
    add_choice(parser)
    add_variation(parser)
    add_judgement(parser)
    parser.set_defaults(run=run_verify)


def add_export(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument("directory", type=Path, help="where inputs.jsonl is written")
    add_choice(parser)
    add_variation(parser)
    parser.set_defaults(run=run_export)


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    parser.add_argument("files", type=Path, metavar="directory", help="where answers.jsonl is")
    add_choice(parser)
    add_variation(parser)
    add_judgement(parser)
    parser.set_defaults(run=run_verify, adapter=None, python=None, time_limit=10.0)


def add_vectors(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``vectors``."""
    parser.add_argument("action", choices=("fill", "list"), help="write the files, or list the cases")
    parser.add_argument("--directory", type=Path, default=VECTORS, help=f"({VECTORS})")
    parser.add_argument("--pages", type=Path, default=PAGES, metavar="DIR", help=f"of the format pages ({PAGES})")
    parser.set_defaults(run=run_vectors)


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``explain``."""
    parser.add_argument("id", help="of a vector, an operation or a flag")
    parser.set_defaults(run=run_explain)


def chosen_operations(options: argparse.Namespace) -> list[str]:
    """Return the operations that the options name.

    Raises
    ------
    PyslideError
        If there is no such operation.
    """
    operations = [name for name in options.operations.split(",") if name]
    unknown = [name for name in operations if name not in EVERY_OPERATION]
    if unknown:
        raise PyslideError(f"no such operation: {', '.join(unknown)}; there are {', '.join(EVERY_OPERATION)}")
    return operations


def chosen(options: argparse.Namespace) -> list[Vector]:
    """Return the vectors that the options choose.

    Raises
    ------
    PyslideError
        If a case is named and there is none of this name.
    """
    operations = chosen_operations(options)
    if options.case in {claim.id for claim in claims()}:
        return []
    if options.vary_seed is not None:
        cases = [varied(case, options.vary_seed) for case in all_cases() if case.remade is not None]
        named_only = [case for case in cases if options.case in (None, case.id)]
        return selected(computed(named_only if options.case else cases), operations)
    if options.vectors is None:
        cases_or_all = None if options.case is None else [named(options.case)]
        return selected(computed(cases_or_all), operations)
    vectors = selected(read_files(options.vectors), operations, options.case)
    if not vectors and options.case is not None:
        raise PyslideError(f"{options.vectors}: no vector is called {options.case!r}")
    return vectors


def chosen_claims(options: argparse.Namespace, profile: Conventions) -> list[Claim]:
    """Return the claims about random choices that the options choose."""
    operations = chosen_operations(options)
    return [
        claim
        for claim in claims(profile)
        if options.case in (None, claim.id) and (not operations or claim.operation in operations)
    ]


def adapter_of(options: argparse.Namespace) -> Adapter:
    """Return the way that the options choose."""
    if options.adapter is not None:
        command = shlex.split(options.adapter)
        if not command:
            raise PyslideError("--adapter: expected a command, got none")
        return SubprocessAdapter(command, options.time_limit)
    if options.python is not None:
        return PythonAdapter(imported(options.python))
    return FilesAdapter(options.files, options.precision or "float64")


def again(options: argparse.Namespace) -> str:
    """Return the command that verifies once more, for a case's id to be added."""
    if options.adapter is not None:
        way = f"--adapter {shlex.quote(options.adapter)}"
    else:
        way = f"--python {options.python}" if options.python else f"--files {shlex.quote(str(options.files))}"
    profile = "" if options.profile == "PAPER" else f" --profile {shlex.quote(options.profile)}"
    vectors = f" --vectors {shlex.quote(str(options.vectors))}" if options.vectors else ""
    seed = "" if options.vary_seed is None else f" --vary-seed {options.vary_seed}"
    return f"pyslide verify {way}{profile}{vectors}{seed}"


def run_verify(options: argparse.Namespace) -> int:
    """Verify an implementation and print the report."""
    try:
        known = read_known_failures(options.known_failures) if options.known_failures else []
        profile = profile_of(options.profile)
        seed = options.vary_seed or 0
        verifier = Verifier(profile, options.profile, options.precision, known, again(options), seed)
        report = verifier.verify(adapter_of(options), chosen(options), chosen_claims(options, profile))
    except HarnessError as fault:
        print(f"pyslide: {fault}", file=sys.stderr)
        return BROKEN
    except (PyslideError, OSError) as fault:
        print(f"pyslide: {fault}", file=sys.stderr)
        return USAGE
    text = REPORTS[options.report](report)
    if options.output is None:
        sys.stdout.write(text)
    else:
        with written_aside(options.output) as stream:
            stream.write(text.encode())
    return CONFORMS if report.conforms else DOES_NOT


def run_export(options: argparse.Namespace) -> int:
    """Write inputs."""
    try:
        vectors = chosen(options)
    except PyslideError as fault:
        print(f"pyslide: {fault}", file=sys.stderr)
        return USAGE
    path = export((vector.case for vector in vectors), options.directory)
    print(f"{path}: {len(vectors)} cases")
    return 0


def run_vectors(options: argparse.Namespace) -> int:
    """Fill the files, or list the cases."""
    if options.action == "list":
        for vector in computed():
            print(f"{vector.case.id}  [{', '.join(vector.case.flags)}]  {vector.case.summary}")
        return 0
    changed = fill_files(options.directory) + fill_pages(options.pages)
    for path in changed:
        print(f"wrote {path}")
    print(f"{len(changed)} files changed")
    return 0


def run_explain(options: argparse.Namespace) -> int:
    """Print what is behind an id."""
    try:
        sys.stdout.write(explain(options.id))
    except PyslideError as fault:
        print(f"pyslide: {fault}", file=sys.stderr)
        return USAGE
    return 0


COMMANDS = {
    "vectors": (add_vectors, "write the vectors' files, or list them"),
    "verify": (add_verify, "put every vector to an implementation, and say what is wrong and what it matches"),
    "export": (add_export, "write inputs for an implementation that runs elsewhere"),
    "check": (add_check, "judge the answers that such an implementation wrote"),
    "record": (add_record, "write the weights of a training run, step by step, as the spec trains"),
    "compare": (add_compare, "say where somebody's recorded training run first departs, and what it follows"),
    "explain": (add_explain, "say what a vector, an operation or a flag is about"),
}
"""Every command: the function that adds its options, and a line of help."""


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add every command to a parser."""
    for name, (add, text) in COMMANDS.items():
        add(commands.add_parser(name, help=text, description=text))
