"""The committed vectors are what the spec gives today: filling them again changes no byte."""

import shutil
from pathlib import Path

from pyslide.conformance import library

COMMITTED = Path(__file__).resolve().parents[1] / "vectors"


def test_filling_again_changes_no_byte(tmp_path):
    again = tmp_path / "vectors"
    shutil.copytree(COMMITTED, again)
    assert library.fill_files(again) == []


def test_a_changed_expectation_is_noticed(tmp_path):
    again = tmp_path / "vectors"
    shutil.copytree(COMMITTED, again)
    path = again / "relu.json"
    path.write_text(path.read_text().replace("0.", "9.", 1))
    assert path in library.fill_files(again)
    assert path.read_bytes() == (COMMITTED / "relu.json").read_bytes()


def test_there_are_many_and_they_are_small():
    assert len(library.read_files(COMMITTED)) >= 400
    assert sum(path.stat().st_size for path in COMMITTED.iterdir()) < 5_000_000
