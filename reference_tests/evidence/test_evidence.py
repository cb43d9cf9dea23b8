"""The registry of evidence is whole; ``python -m reference_tests.evidence`` shows that its tests can fail."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sparse

from pyslide.spec.keys import fold_key
from reference_tests.evidence.corrupting import UNCHANGED, replaced, with_wrong_result, wrong
from reference_tests.evidence.functions import public_functions
from reference_tests.evidence.registry import PAGE, ROOT, mutants_of, page, read_registry
from reference_tests.evidence.searching import KINDS, admissible
from reference_tests.mutants.catalogue import MUTANTS


def test_every_public_function_has_a_property_and_a_witness():
    registry = read_registry()
    assert set(registry) == set(public_functions())
    assert all(set(tests) == set(KINDS) for tests in registry.values())


def test_the_tests_of_the_registry_exist_and_may_speak():
    for name, tests in read_registry().items():
        for test in tests.values():
            file, *_, last = test.split("::")
            text = (ROOT / file).read_text()
            assert last == "runTest" or f"def {last.partition('[')[0]}(" in text, test
            assert admissible(name, test)


def test_the_page_is_made_from_the_registry():
    assert PAGE.read_text() == page(read_registry())


def test_mutants_belong_to_the_function_that_they_change():
    assert "spec-fold-lower-bits" in mutants_of("spec.keys.fold_key")
    assert "spec-fold-lower-bits" not in mutants_of("spec.keys.bucket_key")
    layers = ("pyslide/spec/", "pyslide/engine/")
    inside = {mutant for name in public_functions() for mutant in mutants_of(name)}
    shown = [mutant.name in inside for mutant in MUTANTS if mutant.file.startswith(layers)]
    assert np.mean(shown) > 0.9  # the others change a constant or a class


class Pair(NamedTuple):
    """A record."""

    ids: np.ndarray
    numbers: np.ndarray


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 4),
        (True, False),
        (2.0, 2.002),
        (np.array([1, 2]), [1, 3]),
        (np.array([1.0, np.inf]), [1.001, np.inf]),
        (np.array([], dtype=np.int64), [0]),
        (np.array([False, False]), [False, True]),
        (sparse.csr_array(np.array([[0.0, 5.0]])), [[0.0, 5.005]]),
        ([Path(), Path()], [Path()]),
        ({"a": 1, "b": 2}, {"a": 1}),
        ((1, 2.0), (1, 2.002)),
    ],
)
def test_wrong_results(value, expected):
    other = wrong(value)
    np.testing.assert_equal(other.toarray().tolist() if sparse.issparse(other) else other, expected)


def test_of_a_record_the_numbers_are_wrong():
    other = wrong(Pair(np.array([1]), np.array([1.0])))
    assert (other.ids.tolist(), other.numbers.tolist()) == ([1], [1.001])


def test_what_cannot_be_wrong():
    assert wrong("text") is UNCHANGED
    assert wrong(np.zeros((0, 3))) is UNCHANGED


def test_a_replaced_function_is_wrong_everywhere_and_right_again():
    right = fold_key(3, 2**63 + 1, 4)
    with replaced(fold_key, with_wrong_result):
        assert fold_key(3, multiplier=2**63 + 1, table_bits=4) == right + 1
    assert fold_key(3, 2**63 + 1, 4) == right
