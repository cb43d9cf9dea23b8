"""Apply a mutant to a copy of the tree and see which test notices first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from reference_tests.mutants.catalogue import Mutant

ROOT = Path(__file__).resolve().parents[2]
TESTS = "reference_tests"
SECONDS = 240
"""After which a run of the nearest tests counts as hung, and so as noticed."""
WHOLE_SECONDS = 1800
"""The same of the whole suite, which takes minutes when nothing hangs."""
NEAREST = (
    ("experiments/", ["experiments"]),
    ("spec/hashing", ["spec/test_spec_hashing.py", "spec/test_spec_densification.py"]),
    ("spec/backward", ["spec/test_spec_step.py", "gradients"]),
    ("spec/step", ["spec/test_spec_step.py", "gradients"]),
    ("spec/", ["spec/test_spec_{stem}.py"]),
    ("engine/hashing", ["engine/test_engine_hashing.py"]),
    ("engine/keys", ["engine/test_engine_hashing.py"]),
    ("engine/tables", ["engine/test_engine_tables.py"]),
    ("engine/ragged", ["engine/test_engine_tables.py"]),
    ("engine/sampling", ["engine/test_engine_sampling.py"]),
    ("engine/candidates", ["engine/test_engine_candidates.py"]),
    ("engine/", ["engine/test_engine_stations.py", "engine/test_engine_steps.py", "engine/test_engine_candidates.py"]),
    ("randomness", ["statistical"]),
    ("choosing", ["choosing"]),
    ("agreement", ["choosing"]),
    ("theory", ["theory"]),
    ("checkpoint", ["checkpoint"]),
    ("parallel", ["parallel/test_parallel.py"]),
    ("shared_memory", ["parallel/test_parallel.py"]),
    ("interruption", ["parallel/test_parallel.py"]),
    ("simulator", ["parallel/test_simulator.py"]),
    ("bench/", [f"bench/test_bench_{part}.py" for part in ("roofline", "measuring", "processes", "command")]),
    ("classifier", ["classifier"]),
    ("label_encoding", ["classifier"]),
    ("estimator_input", ["classifier"]),
    ("", ["training"]),
)
"""Which tests stand nearest to a file; the first match counts.  The whole suite follows."""


class Verdict(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant | None  # None: the unchanged package
    caught_by: str  # a test, or "" for nobody
    seconds: float


def nearest(file: str) -> list[str]:
    """Return the tests nearest to a file."""
    first = next(tests for part, tests in NEAREST if part in file)
    return [f"{TESTS}/{test.format(stem=Path(file).stem)}" for test in first]


def whole_suite(tree: Path) -> list[str]:
    """Return the folders of all tests but those of the mutants themselves."""
    folders = [path.name for path in (tree / TESTS).iterdir() if path.is_dir()]
    return [f"{TESTS}/{name}" for name in sorted(folders) if name not in ("mutants", "evidence", "__pycache__")]


def copy_tree(target: Path) -> None:
    """Copy all that tests may read: where a file is missing, a test that fails says nothing of a mutant."""
    unneeded = shutil.ignore_patterns(".*", "__pycache__", "_build", "*.egg-info", "build", "dist", "htmlcov")
    shutil.copytree(ROOT, target, ignore=unneeded, dirs_exist_ok=True)


def run_suite(tree: Path, tests: list[str], seconds: float) -> str:
    """Run tests until the first failure and return its name, "" if there is none."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests]
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"(no end within {seconds} s)"
    if done.returncode == 0:
        return ""
    if done.returncode not in (1, 2):  # neither failed tests nor a failed collection: nobody has noticed anything
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    found = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - |$)", done.stdout, re.MULTILINE)
    return found[1] if found else f"(exit code {done.returncode})"


def judge(mutant: Mutant | None, tree: Path) -> Verdict:
    """Run the suite against a mutant in a tree of its own, and put the tree right again."""
    started = time.monotonic()
    if mutant is None:
        return Verdict(None, run_suite(tree, whole_suite(tree), WHOLE_SECONDS), time.monotonic() - started)
    path = tree / mutant.file
    text = path.read_text(encoding="utf-8")
    if mutant.old not in text:
        raise RuntimeError(f"{mutant.name}: {mutant.file} has not the text that it changes")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        caught_by = run_suite(tree, nearest(mutant.file), SECONDS) or run_suite(
            tree, whole_suite(tree), WHOLE_SECONDS
        )
    finally:
        path.write_text(text, encoding="utf-8")
    return Verdict(mutant, caught_by, time.monotonic() - started)
