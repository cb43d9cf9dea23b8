"""Implementations in other languages, written from the format pages alone, conform; ours do, too."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pyslide.conformance.findings import Report
from pyslide.conformance.library import read_files
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.own_engine import Engine, SingleEngine
from pyslide.conformance.python_adapter import PythonAdapter
from pyslide.conformance.subprocess_adapter import SubprocessAdapter
from pyslide.conformance.verifying import Verifier
from pyslide.conventions import ORIGINAL_CPP

HERE = Path(__file__).parent
VECTORS = read_files(HERE.parent / "vectors")
NOT_OFFERED_BY_THE_ENGINE = {"probe_table", "rebuilds_due"}
"""The engine draws the first with the spec's function, and counts the second as it goes."""


def wrong(report: Report) -> list[str]:
    """Return what is wrong, in words that a failure shows."""
    return [f"{finding.case.id}: {finding.difference or finding.message}" for finding in report.findings
            if finding.status in ("failed", "errored")]  # fmt: skip


def operations_passed(report: Report) -> set[str]:
    """Return the operations of which a case passed."""
    return {finding.case.operation for finding in report.findings if finding.status == "passed"}


def lines_of(path: Path) -> int:
    """Return how long a file is."""
    return len(path.read_text(encoding="utf-8").splitlines())


def node_version() -> int:
    """Return the major version of Node, 0 where there is none."""
    if shutil.which("node") is None:
        return 0
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)", said)
    return int(found[1]) if found else 0


@pytest.mark.skipif(node_version() < 18, reason="needs Node 18 or newer")
def test_javascript_conforms():
    report = Verifier().verify(SubprocessAdapter(["node", str(HERE / "javascript" / "harness.mjs")]), VECTORS)
    assert wrong(report) == []
    assert operations_passed(report) == set(OPERATIONS)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_conforms(tmp_path):
    program, source = tmp_path / "harness", HERE / "c" / "harness.c"
    strict = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["cc", *strict, "-o", str(program), str(source), "-lm"], check=True)
    report = Verifier().verify(SubprocessAdapter([str(program)]), VECTORS)
    assert wrong(report) == []
    assert len(operations_passed(report)) == 16


@pytest.mark.parametrize("implementation", [Engine, SingleEngine])
def test_our_engine_conforms(implementation):
    report = Verifier().verify(PythonAdapter(implementation()), VECTORS)
    assert wrong(report) == []
    assert operations_passed(report) == set(OPERATIONS) - NOT_OFFERED_BY_THE_ENGINE


def test_our_engine_conforms_to_the_original_program_under_its_conventions():
    verifier = Verifier(profile=ORIGINAL_CPP, profile_name="ORIGINAL_CPP")
    assert wrong(verifier.verify(PythonAdapter(Engine(ORIGINAL_CPP)), VECTORS)) == []


@pytest.mark.parametrize("path", sorted(HERE.glob("*/harness.*")), ids=lambda path: path.parent.name)
def test_harnesses_are_short(path):
    assert lines_of(path) < 400
