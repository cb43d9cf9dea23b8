"""Recordings: float32 stays within what is derived for it, and what is wrong is found at its step and layer."""

import json

import numpy as np
import pytest

from pyslide.cli import main
from pyslide.conformance import recordings as subject
from pyslide.conformance.cases.trace import ADAM, SGD, run, trace_cases
from pyslide.conformance.kinds import decode_fields
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.own_engine import Engine, SingleEngine
from pyslide.conventions import PAPER
from pyslide.errors import FormatError

FIELDS = OPERATIONS["training_trace"].inputs
LONG = {
    (family, settings["rule"]): run("long", family, settings, steps=12)
    for family in ("wta", None)
    for settings in (ADAM, SGD)
}


def decoded(inputs):
    return decode_fields(FIELDS, inputs, "training_trace")


def recording_of(inputs, conventions=PAPER, engine=SingleEngine):
    """Return the engine's weights: another computation than the spec's, in float32."""
    outputs = engine(conventions).training_trace(**decoded(inputs))
    return {name: value for name, value in outputs.items() if subject.NAME.fullmatch(name)}


def departure(inputs, theirs, unit=2.0**-24):
    given = decoded(inputs)
    return subject.first_departure(subject.recorded(given, unit=unit, theirs=theirs), theirs)


@pytest.mark.parametrize("case", [case for case in trace_cases() if case.kind != "invalid"], ids=lambda one: one.id)
def test_the_engine_in_float32_follows_every_trace(case):
    assert departure(case.inputs, recording_of(case.inputs)) is None


@pytest.mark.parametrize("which", LONG, ids=str)
def test_the_engine_follows_long_runs(which):
    assert departure(LONG[which], recording_of(LONG[which])) is None
    assert departure(LONG[which], recording_of(LONG[which], engine=Engine), unit=2.0**-53) is None


@pytest.mark.parametrize("which", LONG, ids=str)
def test_what_is_allowed_does_not_grow_beyond_all_use(which):
    """Half of the elements may be off by less than a thousandth of what a step moves, after any number of steps."""
    theirs = recording_of(LONG[which])
    before = None
    for step in subject.recorded(decoded(LONG[which]), theirs=theirs):
        name = f"step{step.number}.layer0.weights"
        if before is not None:
            moved = np.abs(step.arrays[name] - before)
            assert np.median(step.allowed[name][moved > 0]) < 1e-3 * np.median(moved[moved > 0])
        before = step.arrays[name]


def test_float32_is_no_float64():
    theirs = recording_of(LONG["wta", "sgd"])
    assert departure(LONG["wta", "sgd"], theirs, unit=2.0**-53) is not None


@pytest.mark.parametrize("step", [1, 7, 12])
@pytest.mark.parametrize("layer", [0, 1])
def test_the_first_step_and_layer_are_named(step, layer):
    inputs = LONG["wta", "sgd"]
    theirs = recording_of(inputs)
    for later in range(step, 13):
        weights = theirs[f"step{later}.layer{layer}.weights"].copy()
        weights[2, 3] += 1e-4
        theirs[f"step{later}.layer{layer}.weights"] = weights
    found = departure(inputs, theirs)
    assert (found.step, found.name, found.place) == (step, f"step{step}.layer{layer}.weights", (2, 3))


@pytest.mark.parametrize(
    ("question", "answer", "step"),
    [("batch_reduction", "sum", 1), ("adam_rows", "every_weight", 2), ("adam_epsilon", "uncorrected", 1)],
)
def test_other_conventions_are_named(tmp_path, capsys, question, answer, step):
    # an epsilon of 1e-8 is below what float32 can tell
    settings = SGD if question == "batch_reduction" else {**ADAM, "epsilon": 1e-3}
    inputs = run("named", "wta", settings, steps=3)
    theirs = recording_of(inputs, PAPER.replace(**{question: answer}))
    np.savez(tmp_path / "theirs.npz", **theirs)
    (tmp_path / "inputs.json").write_text(json.dumps(inputs))
    assert main(["compare", str(tmp_path / "inputs.json"), str(tmp_path / "theirs.npz")]) == 1
    said = capsys.readouterr().out
    assert f"step{step}." in said
    assert f"{question} = {answer}" in said


def test_a_recording_without_some_arrays(tmp_path):
    inputs = LONG["wta", "adam"]
    theirs = {name: array for name, array in recording_of(inputs).items() if "step3.layer1.weights" in name}
    assert departure(inputs, theirs) is None
    theirs["step3.layer1.weights"] = theirs["step3.layer1.weights"] * 1.5
    assert departure(inputs, theirs).step == 3


def test_the_original_programs_files(tmp_path):
    inputs = LONG["wta", "sgd"]
    theirs = recording_of(inputs)
    for step in (1, 2):
        arrays = {}
        for depth in (0, 1):
            weights = theirs[f"step{step}.layer{depth}.weights"].astype(np.float32)
            arrays |= {f"w_layer_{depth}": weights, f"b_layer_{depth}": np.zeros(len(weights), dtype=np.float32),
                       f"am_layer_{depth}": 0 * weights, f"av_layer_{depth}": 0 * weights}  # fmt: skip
        np.savez(tmp_path / f"weights_{step}.npz", **arrays)
    read = subject.read_recording(tmp_path)
    assert set(read) == {f"step{step}.layer{depth}.weights" for step in (1, 2) for depth in (0, 1)}
    assert departure(inputs, read) is None


def test_files_that_are_no_recordings(tmp_path, capsys):
    np.savez(tmp_path / "odd.npz", weights=np.ones(3))
    with pytest.raises(FormatError, match=r"step1\.layer0\.weights"):
        subject.read_recording(tmp_path / "odd.npz")
    (tmp_path / "inputs.json").write_text("[1, 2]")
    assert main(["compare", str(tmp_path / "inputs.json"), str(tmp_path / "odd.npz")]) == 2
    assert "expected an object" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="expected weight files"):
        subject.read_recording(tmp_path / "empty")


def test_another_shape_and_unknown_steps_are_refused():
    inputs = LONG["wta", "sgd"]
    with pytest.raises(FormatError, match="expected shape"):
        departure(inputs, {"step1.layer0.weights": np.ones((2, 2))})
    with pytest.raises(FormatError, match="step99"):
        departure(inputs, {"step99.layer0.biases": np.ones(6)})


def test_nan_departs():
    inputs = LONG["wta", "sgd"]
    theirs = recording_of(inputs)
    theirs["step2.layer0.biases"] = np.full_like(theirs["step2.layer0.biases"], np.nan)
    assert departure(inputs, theirs).step == 2


def test_our_own_recording_can_be_written_and_follows(tmp_path, capsys):
    assert main(["export", str(tmp_path), "--case", "training-trace-dwta-union-sgd"]) == 0
    inputs, ours = str(tmp_path / "inputs.jsonl"), str(tmp_path / "ours.npz")
    assert main(["record", inputs, ours]) == 0
    assert main(["compare", inputs, ours, "--precision", "float64"]) == 0
    assert "follows PAPER" in capsys.readouterr().out
