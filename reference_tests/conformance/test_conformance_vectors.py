"""The committed vectors: refilled without a change, within their schema, and right by the spec."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from pyslide.conformance.cases import all_cases
from pyslide.conformance.flags import FLAGS
from pyslide.conformance.library import computed, fill_files, read_files
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.plain import dumps, loads
from pyslide.conformance.schema import schema
from pyslide.errors import FormatError

VECTORS = Path(__file__).parents[1] / "vectors"


def test_refilling_gives_the_same_bytes(tmp_path):
    copy = tmp_path / "vectors"
    shutil.copytree(VECTORS, copy)
    assert fill_files(copy) == []


def test_there_are_enough_of_every_operation_and_kind_in_little_space():
    cases = all_cases()
    assert len(cases) >= 400
    assert {case.operation for case in cases} == set(OPERATIONS)
    assert {case.kind for case in cases} == {"plain", "edge", "invalid"}
    assert sum(path.stat().st_size for path in VECTORS.iterdir()) < 5_000_000


def test_ids_are_unique_and_flags_are_known():
    assert max(Counter(case.id for case in all_cases()).values()) == 1
    assert {flag for case in all_cases() for flag in case.flags} == set(FLAGS)


def test_only_invalid_inputs_are_refused():
    for vector in computed():
        assert (vector.paper.error is not None) == (vector.case.kind == "invalid"), vector.case.id


def test_files_keep_to_the_schema():
    jsonschema = pytest.importorskip("jsonschema", reason="needs the extra 'test'")
    validator = jsonschema.Draft202012Validator(schema())
    for name in OPERATIONS:
        faults = [fault.message for fault in validator.iter_errors(json.loads((VECTORS / f"{name}.json").read_text()))]
        assert faults == []


def test_the_schema_is_closed():
    jsonschema = pytest.importorskip("jsonschema", reason="needs the extra 'test'")
    content = json.loads((VECTORS / "sgd.json").read_text())
    content["vectors"][0]["seed"] = 1
    assert not jsonschema.Draft202012Validator(schema()).is_valid(content)


def test_a_file_of_another_version_is_refused(tmp_path):
    (tmp_path / "sgd.json").write_text('{"version": 99, "operation": "sgd", "vectors": []}')
    with pytest.raises(FormatError, match="version 1"):
        read_files(tmp_path)


@pytest.mark.parametrize("number", [0.1, 1e300, 5e-324, -0.0, float("inf"), float("-inf"), 1 / 3])
def test_numbers_survive(number):
    text = dumps({"values": [number]})
    value = json.loads(text)["values"][0]
    assert float(value) == number


def test_a_bare_nan_is_refused():
    with pytest.raises(FormatError, match="quotes"):
        loads("[NaN]", "a text")
