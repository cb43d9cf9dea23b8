"""The pytest plugin, in a pytest of its own."""

import os
import subprocess
import sys

import pytest

IMPLEMENTATION = """
from pyslide.conformance.own import Specification

class Mine:
    def __init__(self):
        self.own = Specification()
    def relu(self, *, sums):
        return abs(sums)
    def targets(self, **given):
        return self.own.targets(**given)["wanted"]
    def random_reservoirs(self, *, capacity, arrivals, count, seed):
        return [list(range(capacity))] * count
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "mine.py").write_text(IMPLEMENTATION)

    def pytest_in_its_own_process(*options):
        installed = "pyslide" in {entry.name for entry in entry_points()}
        loaded = [] if installed else ["-p", "pyslide.conformance.pytest_plugin"]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", *loaded, *options]
        own = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        return subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, check=False)

    return pytest_in_its_own_process


def entry_points():
    from importlib.metadata import entry_points as all_of

    return all_of(group="pytest11")


def test_every_case_is_a_test(run):
    done = run("--pyslide-python", "mine:Mine", "--pyslide-operations", "relu,targets,random_reservoirs")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    assert "pyslide verify --python mine:Mine --case relu-plain-01" in done.stdout
    assert "the oldest are kept" in done.stdout


def test_known_failures_are_expected(run, tmp_path):
    (tmp_path / "known.json").write_text('[{"id": "random-reservoirs-arrival-9", "reason": "oldest", "link": "x"}]')
    options = ["--pyslide-python", "mine:Mine", "--pyslide-operations", "random_reservoirs"]
    done = run(*options, "--pyslide-known-failures", "known.json")
    assert "1 xfailed" in done.stdout, done.stdout + done.stderr


def test_without_an_implementation_nothing_is_added(run):
    assert run().returncode == 5  # no tests


def test_an_unknown_operation_is_a_usage_error(run):
    done = run("--pyslide-python", "mine:Mine", "--pyslide-operations", "rleu")
    assert done.returncode == 4
    assert "no such operation: rleu" in done.stderr


def test_a_harness_that_does_not_start_ends_the_run(run):
    done = run("--pyslide-adapter", "false")
    assert done.returncode == 3
