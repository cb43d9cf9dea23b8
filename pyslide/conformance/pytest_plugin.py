"""A pytest plugin: every vector and every claim about random choices is a test.

``pytest -p pyslide.conformance.pytest_plugin --pyslide-adapter "./harness"`` (installed, ``-p`` is not needed).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyslide.conformance import black_box
from pyslide.conformance.commands import adapter_of, again, chosen, chosen_claims
from pyslide.conformance.commands import add_verify as add_verify_options
from pyslide.conformance.findings import Finding, Report
from pyslide.conformance.known_failures import find, read_known_failures
from pyslide.conformance.profiles import profile_of
from pyslide.conformance.random_claims import Claim
from pyslide.conformance.replies import Adapter, Capabilities, HarnessError
from pyslide.conformance.reports import details
from pyslide.conformance.vectors import Vector
from pyslide.conformance.verifying import Verifier
from pyslide.errors import PyslideError


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    group = parser.getgroup("pyslide", "conformance to SLIDE")
    group.addoption("--pyslide-adapter", metavar="COMMAND", help="a program that speaks JSON lines")
    group.addoption("--pyslide-python", metavar="MODULE:CLASS", help="a Python class")
    group.addoption("--pyslide-profile", default="PAPER", help="PAPER, ORIGINAL_CPP or a JSON file of answers")
    group.addoption("--pyslide-operations", default="", help="only these, separated by commas")
    group.addoption("--pyslide-known-failures", metavar="FILE", help="they count as expected failures")


def settings_of(config: pytest.Config) -> argparse.Namespace | None:
    """Return what ``pyslide verify`` would be told, None if no implementation is named."""
    adapter, python = config.getoption("--pyslide-adapter"), config.getoption("--pyslide-python")
    if not adapter and not python:
        return None
    parser = argparse.ArgumentParser(prog="pytest", exit_on_error=False)
    add_verify_options(parser)
    arguments = ["--adapter", adapter] if adapter else ["--python", python]
    arguments += ["--profile", config.getoption("--pyslide-profile")]
    arguments += ["--operations", config.getoption("--pyslide-operations")]
    known = config.getoption("--pyslide-known-failures")
    return parser.parse_args([*arguments, *(["--known-failures", known] if known else [])])


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for every vector and every claim."""
    settings = settings_of(config)
    if settings is None:
        return
    try:
        collector = Conformance.from_parent(session, name="pyslide", settings=settings)
        items.extend(collector.collect())
    except (PyslideError, OSError) as fault:
        raise pytest.UsageError(f"pyslide: {fault}") from fault


class Conformance(pytest.Collector):
    """All cases that are put to one implementation; it is started when the first is run."""

    def __init__(self, *, settings: argparse.Namespace, **more: Any) -> None:
        super().__init__(**more)
        self.settings = settings
        known = read_known_failures(Path(settings.known_failures)) if settings.known_failures else []
        self.profile = profile_of(settings.profile)
        self.verifier = Verifier(self.profile, settings.profile, settings.precision, known, again(settings))
        self.adapter: Adapter | None = None
        self.capabilities: Capabilities | None = None
        self.claimed: dict[str, Finding] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for every case."""
        for vector in chosen(self.settings):
            yield Case.from_parent(self, name=vector.case.id, subject=vector)
        for claim in chosen_claims(self.settings, self.profile):
            yield Case.from_parent(self, name=claim.id, subject=claim)

    def reached(self) -> tuple[Adapter, Capabilities]:
        """Return the implementation, started."""
        if self.adapter is None or self.capabilities is None:
            self.adapter = adapter_of(self.settings)
            self.config.add_cleanup(self.adapter.stop)
            self.capabilities = self.adapter.start()
        return self.adapter, self.capabilities

    def finding_of(self, subject: Vector | Claim) -> Finding:
        """Return what comes of a case; claims are judged all together, when the first is run."""
        adapter, capabilities = self.reached()
        if isinstance(subject, Vector):
            return self.verifier.judge(adapter, capabilities, subject)
        if self.claimed is None:
            wanted = chosen_claims(self.settings, self.profile)
            found = black_box.findings(adapter, capabilities, wanted, self.verifier.seed)
            self.claimed = {finding.case.id: finding for finding in found}
        return self.claimed[subject.id]


class FailedCase(Exception):
    """A case failed; its text is what the report says of it."""


class Case(pytest.Item):
    """One case."""

    parent: Conformance

    def __init__(self, *, subject: Vector | Claim, **more: Any) -> None:
        super().__init__(**more)
        self.subject = subject
        known = find(self.parent.verifier.known, self.name)
        if known is not None:
            self.add_marker(pytest.mark.xfail(reason=known.reason, strict=False))

    def runtest(self) -> None:
        """Put the case to the implementation."""
        try:
            finding = self.parent.finding_of(self.subject)
        except HarnessError as fault:
            pytest.exit(f"pyslide: {fault}", returncode=3)
        if finding.status == "skipped":
            pytest.skip(finding.message)
        if finding.status != "passed":
            assert self.parent.capabilities is not None
            report = Report(self.parent.capabilities, [finding], rerun=self.parent.verifier.rerun)
            raise FailedCase("\n".join(details(finding, report)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> str:
        """Return the failure as the kit's own reports have it."""
        return str(excinfo.value) if isinstance(excinfo.value, FailedCase) else str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return how the test is called."""
        return self.path, None, f"pyslide: {self.name}"
