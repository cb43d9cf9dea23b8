"""The ways in, end to end: arrays as files, known failures, vectors from files, messages that are none of ours."""

import io
import json
import sys

import numpy as np
import pytest

from pyslide.cli import main
from pyslide.conformance.arrays_as_files import inlined, outsourced
from pyslide.conformance.kinds import INTEGER, NUMBER, NUMBER_ROWS, TEXT, TRUTH, WORD, choice_of
from pyslide.conformance.library import computed, read_files
from pyslide.conformance.messages import line_of, read_capabilities, read_reply
from pyslide.conformance.own import Specification
from pyslide.conformance.replies import HarnessError
from pyslide.conformance.serve import main as serve_main
from pyslide.conformance.serve import serve
from pyslide.conformance.subprocess_adapter import SubprocessAdapter
from pyslide.conformance.vectors import Case
from pyslide.conformance.verifying import Verifier
from pyslide.errors import DtypeError, FormatError, OutOfRangeError, PyslideError, ShapeError


class WithFiles(Specification):
    """The spec behind a harness that wants long arrays as files."""

    npz = True


SERVE = [sys.executable, "-m", "pyslide.conformance.serve", "test_conformance_ways:WithFiles"]
LONG_SUMS = [float(number) for number in range(-50, 50)]


def test_a_harness_may_have_its_arrays_as_files(monkeypatch):
    monkeypatch.chdir(__file__.rpartition("/")[0])
    case = Case("relu-long", "relu", "A long list", ("plain",), {"sums": LONG_SUMS})
    adapter = SubprocessAdapter(SERVE)
    vectors = computed([case])
    report = Verifier().verify(adapter, [*vectors, *read_files_of("softmax")])
    assert adapter.capabilities.npz
    assert report.conforms
    assert not adapter.folder.name or not list_of(adapter.folder.name)


def read_files_of(operation):
    from pathlib import Path

    vectors = read_files(Path(__file__).parents[1] / "vectors")
    return [vector for vector in vectors if vector.case.operation == operation]


def list_of(folder):
    import os

    return os.listdir(folder) if os.path.isdir(folder) else []


def test_long_arrays_go_to_a_file_and_come_back(tmp_path):
    inputs = {"sums": LONG_SUMS, "rows": [[1, 2]] * 40, "short": [1.0], "name": "x", "odd": [[1], [2, 3]] * 40,
              "special": ["NaN", 1.0, "-Infinity"] * 30, "flags": [True, False] * 40}  # fmt: skip
    sent = outsourced(inputs, tmp_path / "case.npz")
    assert {name for name in inputs if sent[name] != inputs[name]} == {"sums", "rows", "special", "flags"}
    assert sent["sums"] == {"npz": str(tmp_path / "case.npz"), "array": "sums"}
    assert inlined(sent) == inputs
    with np.load(tmp_path / "case.npz") as arrays:
        assert arrays["rows"].dtype == np.dtype("<i8")


def test_a_file_that_is_none(tmp_path):
    (tmp_path / "x.npz").write_text("words")
    for reference in ({"npz": str(tmp_path / "x.npz"), "array": "a"}, {"npz": str(tmp_path / "none"), "array": "a"}):
        with pytest.raises(FormatError, match="array a: cannot be read"):
            inlined({"value": reference})


def test_serving_in_this_process():
    requests = [
        {"command": "start", "version": 1},
        {"command": "run", "id": "a", "operation": "relu", "inputs": {"sums": [-1.0, 2.0]}},
        {"command": "run", "id": "b", "operation": "relu", "inputs": {"sums": ["NaN"]}},
        {"command": "stop"},
        {"command": "run", "id": "c", "operation": "relu", "inputs": {"sums": []}},
    ]
    replies = io.BytesIO()
    serve(Specification(), io.BytesIO(b"\n".join(line_of(one) for one in requests)), replies)
    start, first, second = (json.loads(line) for line in replies.getvalue().splitlines())
    assert start["arrays"] == "inline"
    assert "relu" in start["operations"]
    assert first == {"id": "a", "outputs": {"outputs": [0.0, 2.0]}}
    assert second["refused"]["class"] == "NonFiniteError"


def test_serving_needs_a_class(capsys):
    assert serve_main([]) == 2
    assert "usage" in capsys.readouterr().err
    with pytest.raises(HarnessError, match="module:Class"):
        serve_main(["nothing"])
    with pytest.raises(HarnessError, match="no_such_module"):
        serve_main(["no_such_module:Mine"])


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"version": 2, "operations": []}, "version 1"),
        ({"version": 1, "operations": "relu"}, "list of names"),
        ({"version": 1, "operations": ["rleu"]}, "no such operation: rleu"),
        ({"version": 1, "operations": [], "precision": "float16"}, "float64, float32"),
    ],
)
def test_a_start_that_is_none(message, words):
    with pytest.raises(HarnessError, match=words):
        read_capabilities(message)


def test_replies():
    assert read_reply({"id": "a", "refused": "no"}, "a").message == "no"
    assert read_reply({"id": "a", "errored": "x"}, "a").status == "errored"
    for message, words in (
        ({"id": "a"}, "expected one of outputs"),
        ({"id": "a", "outputs": {}, "skipped": ""}, "expected one of outputs"),
        ({"id": "a", "outputs": [1]}, "expected an object"),
        ({"id": "b", "outputs": {}}, "expected a reply to a"),
    ):
        with pytest.raises(FormatError, match=words):
            read_reply(message, "a")


@pytest.mark.parametrize(
    ("kind", "value", "error"),
    [
        (INTEGER, 1.0, DtypeError), (INTEGER, True, DtypeError), (NUMBER, "x", DtypeError), (NUMBER, True, DtypeError),
        (TRUTH, 1, DtypeError), (TEXT, 1, DtypeError), (WORD, 7, DtypeError), (WORD, "-1", DtypeError),
        (WORD, str(2**64), OutOfRangeError), (NUMBER_ROWS, [[1.0], [1.0, 2.0]], ShapeError),
        (NUMBER_ROWS, 3, DtypeError), (choice_of("a", "b"), "c", OutOfRangeError),
    ],
)  # fmt: skip
def test_values_of_another_kind(kind, value, error):
    with pytest.raises(error, match="it"):
        kind.decode(value, "it")


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "expected JSON"), ("{}", "list"), ('[{"reason": "x"}]', "id"), ('[{"id": 3}]', "id")],
)
def test_known_failures_that_are_none(tmp_path, capsys, text, words):
    (tmp_path / "known.json").write_text(text)
    arguments = ["verify", "--python", "pyslide.conformance.own:Specification", "--operations", "relu"]
    assert main([*arguments, "--known-failures", str(tmp_path / "known.json")]) == 2
    assert words in capsys.readouterr().err


def test_vectors_from_files_and_a_profile_from_a_file(tmp_path, capsys):
    assert main(["vectors", "list"]) == 0
    assert "relu-plain-01" in capsys.readouterr().out
    (tmp_path / "answers.json").write_text('{"threshold": "more_than"}')
    base = ["verify", "--python", "pyslide.conformance.own:Specification", "--operations", "hard_threshold"]
    vectors = ["--vectors", str(__file__.rpartition("/")[0]) + "/../vectors"]
    assert main([*base, *vectors]) == 0
    assert main([*base, *vectors, "--profile", str(tmp_path / "answers.json")]) == 1
    assert main([*base, "--profile", "NOBODY"]) == 2
    assert main([*base, *vectors, "--case", "none-such"]) == 2
    assert main([*base, "--case", "none-such"]) == 2
    (tmp_path / "list.json").write_text("[]")
    assert main([*base, "--profile", str(tmp_path / "list.json")]) == 2
    assert main([*base, "--vectors", str(tmp_path)]) == 2
    assert "expected an object of answers" in capsys.readouterr().err


def test_a_report_goes_to_a_file(tmp_path):
    base = ["verify", "--python", "pyslide.conformance.own:Specification", "--operations", "relu"]
    assert main([*base, "--report", "json", "--output", str(tmp_path / "report.json")]) == 0
    assert json.loads((tmp_path / "report.json").read_text())["conforms"]


def test_answers_that_are_no_answers(tmp_path, capsys):
    for text, words in (("words", "answers.jsonl:1"), ('{"id": "a"}\n{"id": "a"}', "a second answer to a")):
        (tmp_path / "answers.jsonl").write_text(text)
        assert main(["check", str(tmp_path)]) == 3
        assert words in capsys.readouterr().err
    (tmp_path / "answers.jsonl").write_text('{"id": "relu-plain-01", "outputs": 3}')
    assert main(["check", str(tmp_path), "--case", "relu-plain-01"]) == 1
    assert "expected an object" in capsys.readouterr().out


def test_an_empty_command_is_a_usage_error(capsys):
    assert main(["verify", "--adapter", " "]) == 2
    assert "expected a command" in capsys.readouterr().err


def test_errors_have_one_base():
    assert issubclass(HarnessError, PyslideError)
