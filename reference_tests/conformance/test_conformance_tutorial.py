"""The tutorial does what it says: its program, its commands, and the verdicts it shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = (Path(__file__).parents[2] / "docs" / "test-your-implementation.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL, re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    (program,) = blocks("python")
    (tmp_path / "my_slide.py").write_text(program)
    (tmp_path / "known.json").write_text(blocks("json")[0])
    return tmp_path


def verify(folder, *more):
    command = [sys.executable, "-m", "pyslide", "verify", "--python", "my_slide:Mine", *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_verdicts_are_what_is_shown(folder):
    done = verify(folder)
    assert done.returncode == 1
    for shown in blocks("text"):
        assert shown in done.stdout
    assert "accepted with 1/n in place of R/n" in done.stdout


def test_the_mended_program_fails_for_inputs_that_are_not_refused_only(folder):
    program = (folder / "my_slide.py").read_text()
    mended = program.replace(">= dense[", "> dense[").replace("1 / (neuron + 1)", "capacity / (neuron + 1)")
    assert mended.count("capacity / (neuron") == 1
    (folder / "my_slide.py").write_text(mended)
    done = verify(folder, "--known-failures", "known.json", "--report", "junit")
    failed = re.findall(r'name="([a-z0-9-]+)" time="[0-9.]+"><failure', done.stdout)
    assert failed
    assert all("invalid" in name for name in failed)
    assert "wta-codes-invalid-unsorted" not in failed


def test_everything_named_can_be_explained(folder):
    for name in re.findall(r"`pyslide explain ([\w-]+)`", TUTORIAL):
        done = subprocess.run([sys.executable, "-m", "pyslide", "explain", name], capture_output=True, check=False)
        assert done.returncode == 0


def test_links_lead_somewhere():
    docs = Path(__file__).parents[2] / "docs"
    for target in re.findall(r"\]\(([^)#]+)\)", TUTORIAL):
        assert target.startswith("http") or (docs / target).exists(), target
