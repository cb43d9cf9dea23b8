"""A pytest plugin that asks, function by function, whether a test notices that its result is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import FunctionType
from typing import Any

import pytest
from hypothesis import is_hypothesis_test

from reference_tests.evidence.corrupting import replaced, with_wrong_result
from reference_tests.evidence.functions import public_functions
from reference_tests.evidence.witnesses import BY_HAND, witness_of

KINDS = ("property", "witness")
"""What a function needs."""
SEARCHED = (
    "reference_tests/spec",
    "reference_tests/engine",
    "reference_tests/gradients",
    "reference_tests/estimators",
    "reference_tests/theory/test_theory_meets_spec.py",
    "reference_tests/training",
)
"""Where evidence is looked for."""


def is_property(item: pytest.Item) -> bool:
    """Return whether a test draws its cases: Hypothesis's functions and state machines."""
    return item.name == "runTest" or is_hypothesis_test(getattr(item, "obj", None))


def serves(item: pytest.Item, kind: str) -> bool:
    """Return whether a test is of a kind."""
    if kind == "property":
        return is_property(item)
    # A test of the spec that draws its cases has no numbers worked by hand.
    return witness_of(item.nodeid) not in ({"", BY_HAND} if is_property(item) else {""})


def admissible(name: str, test: str) -> bool:
    """Return whether a test may speak for a function: the engine is no evidence for the spec."""
    return not name.startswith("spec.") or "reference_tests/engine/" not in test


def passes(item: pytest.Item) -> bool:
    """Run one test and return whether all of its phases passed; one that was skipped has not noticed anything."""
    from _pytest.runner import runtestprotocol

    if hasattr(item, "_initrequest"):
        item._initrequest()  # a test that ran before has used up its fixtures
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


class Recorder:
    """Which test calls which functions."""

    def __init__(self) -> None:
        self.callers: dict[str, dict[str, None]] = {name: {} for name in public_functions()}
        self.called: dict[str, int] = {}
        self.running = ""

    def behaviour(self, name: str) -> Callable[..., Any]:
        """Return a function that notes its caller."""

        def noting(original: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            self.callers[name][self.running] = None
            return original(*arguments, **named)

        return noting

    def record(self, items: Iterable[pytest.Item]) -> None:
        """Run all tests once."""
        with ExitStack() as stack:
            for name, function in public_functions().items():
                stack.enter_context(replaced(function, self.behaviour(name)))
            for item in items:
                self.running = item.nodeid
                passes(item)
        for callers in self.callers.values():
            for test in callers:
                self.called[test] = self.called.get(test, 0) + 1

    def candidates(self, name: str) -> list[str]:
        """Return the tests that call a function, those that call the fewest others first."""
        admitted = (test for test in self.callers[name] if admissible(name, test))
        return sorted(admitted, key=lambda test: (self.called[test], test))


class Search:
    """Find for every function a test of each kind that notices its wrong result.

    Parameters
    ----------
    known : dict
        What was found before, by function and kind; tried first.
    """

    def __init__(self, known: dict[str, dict[str, str]]) -> None:
        self.known = {
            name: {kind: test for kind, test in tests.items() if admissible(name, test)}
            for name, tests in known.items()
        }
        self.found: dict[str, dict[str, str]] = {}
        self.sound: dict[str, bool] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run our own loop in place of pytest's."""
        items = {item.nodeid: item for item in session.items}
        recorder = Recorder()
        missing = [
            name for name in public_functions() if any(kind not in self.known.get(name, {}) for kind in KINDS)
        ]
        if missing:
            recorder.record(items.values())
        for name, function in public_functions().items():
            tests = [*self.known.get(name, {}).values(), *recorder.candidates(name)]
            chosen = {kind: self.noticing(items, tests, kind, function) for kind in KINDS}
            self.found[name] = {kind: test for kind, test in chosen.items() if test}
        return True

    def noticing(self, items: dict[str, pytest.Item], tests: list[str], kind: str, function: FunctionType) -> str:
        """Return the first test of a kind that fails with the wrong result and passes without, "" if there is none."""
        for test in tests:
            if test not in items or not serves(items[test], kind):
                continue
            with replaced(function, with_wrong_result):
                noticed = not passes(items[test])
            if noticed and self.passes_without(items[test]):
                return test
        return ""

    def passes_without(self, item: pytest.Item) -> bool:
        """Return whether a test passes with the right result."""
        if item.nodeid not in self.sound:
            self.sound[item.nodeid] = passes(item)
        return self.sound[item.nodeid]
