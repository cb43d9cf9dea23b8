"""The catalogue fits the package as it is; whether the suite catches each is what the command shows."""

import ast

import pytest

from reference_tests.mutants.catalogue import MUTANTS
from reference_tests.mutants.running import ROOT, TESTS, nearest


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_a_mutant_changes_one_place_and_compiles(mutant):
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    changed = text.replace(mutant.old, mutant.new)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    assert mutant.fault


def test_there_are_enough_of_both_layers():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40
    for layer in ("spec", "engine"):
        assert sum(mutant.layer == layer for mutant in MUTANTS) >= 20


def test_the_nearest_tests_exist():
    for mutant in MUTANTS:
        for test in nearest(mutant.file):
            assert (ROOT / test).exists(), test
    assert (ROOT / TESTS / "mutants").is_dir()
