"""The bench measures what it says, side by side; how fast anything is, is no matter of tests."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from pyslide.bench import SHAPES, ladder, measure
from pyslide.bench.contenders import CONTENDERS
from pyslide.bench.memory import peak_copies
from pyslide.bench.shapes import synthetic
from pyslide.bench.stages import STATIONS
from pyslide.cli import main
from pyslide.data import write_extreme
from pyslide.engine import backward, forward, network, optimizer, sampling, step
from pyslide.settings import Hashing
from pyslide.spec.sampling import Sampling

TINY = SHAPES["width-1000"]._replace(features=200, labels=60, nonzeros=9, hidden=16, batch=16)
TABLES = Hashing(codes_per_table=2, tables=5, sampling=Sampling(minimum_active=20))


def test_contenders_side_by_side():
    data = synthetic(TINY, 160, np.random.default_rng(0))
    slide, full = measure(data, TINY, TABLES, ["slide", "full softmax"], 3, 1)
    assert slide.rebuild_milliseconds > 0 == full.rebuild_milliseconds
    assert slide.amortised_milliseconds == pytest.approx(slide.step_milliseconds + slide.rebuild_milliseconds / 50)
    assert full.active_neurons == 60
    assert 20 <= slide.active_neurons < 60
    slowest = max(slide.amortised_milliseconds, full.amortised_milliseconds)
    assert slide.times_as_fast == pytest.approx(slowest / slide.amortised_milliseconds)
    assert set(slide.stages) <= set(STATIONS.values())
    assert {"forward, active neurons", "optimiser, weights"} <= set(slide.stages)


@pytest.mark.peers
def test_pytorch_computes_what_we_do():
    """Three steps from the same weights move the output layer alike.

    Not to the last digit: PyTorch's hidden layer has no biases here, and ours moves them by 1e-3 a step.
    """
    pytest.importorskip("torch", reason="PyTorch is the extra `peers`")
    data = synthetic(TINY, 160, np.random.default_rng(0))
    ours = CONTENDERS["full softmax"](data, TINY, TABLES, 1)
    theirs = CONTENDERS["torch full softmax"](data, TINY, TABLES, 1)
    ours.trainer.row_order = np.arange(160)
    torch = theirs.torch
    first, last = ours.trainer.network.layers
    with torch.no_grad():
        theirs.embedding.weight.copy_(torch.from_numpy(first.weights.T.copy()))
        theirs.output.weight.copy_(torch.from_numpy(np.ascontiguousarray(last.weights)))
        theirs.output.bias.zero_()
    theirs.adam.param_groups[0]["lr"] = ours.trainer.settings.optimizer.learning_rate
    for _ in range(3):
        ours.step()
        theirs.step()
    np.testing.assert_allclose(theirs.output.bias.detach().numpy(), last.biases, rtol=0.2, atol=2e-4)
    moved = theirs.output.weight.detach().numpy()
    assert np.corrcoef(moved.ravel(), last.weights.ravel())[0, 1] > 0.999


def test_stations_exist():
    modules = (step, network, sampling, forward, backward, optimizer)
    for name in STATIONS:
        assert any(hasattr(module, name) for module in modules), name


def test_command(capsys):
    words = ["bench", "--shape", "width-1000", "--outputs", "80", "--steps", "2", "--active", "9", "--threads", "1"]
    assert main([*words, "--peers", "full softmax", "--stages"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("slide")
    assert "slide: optimiser, weights" in out
    assert main([*words, "--json"]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert parsed["labels"] == 80
    assert parsed["results"][0]["name"] == "slide"


def test_workers_are_measured_beside_one(capsys):
    assert main(["bench", "--quick", "--workers", "2", "--steps", "2", "--outputs", "300", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["workers"], row["kind"]) for row in rows] == [(1, "-"), (2, "processes"), (2, "threads")]
    assert rows[0]["times_one"] == 1
    assert all(row["step_milliseconds"] > 0 for row in rows)
    assert rows[1]["times_one"] == pytest.approx(rows[0]["step_milliseconds"] / rows[1]["step_milliseconds"])


def test_a_file_is_measured_as_it_is(tmp_path, capsys):
    data = synthetic(TINY, 200, np.random.default_rng(1))
    write_extreme(tmp_path / "rows.txt", data.features, data.labels)
    arguments = ["bench", "--data", str(tmp_path / "rows.txt"), "--steps", "2", "--active", "20", "--json"]
    assert main([*arguments, "--memory", "--csv", str(tmp_path / "out.csv")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["features"], said["labels"]) == (TINY.features, TINY.labels)
    assert said["peak_copies"] > 3  # weights and two moments
    with (tmp_path / "out.csv").open(encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["name"] == "slide"
    assert any(column.startswith("stage ") and float(row[column]) > 0 for column in row)


def test_a_missing_file_is_a_message(capsys):
    assert main(["bench", "--data", "no-such-file.txt"]) == 1
    assert "no-such-file.txt" in capsys.readouterr().err


def test_peak_memory_counts_the_largest_moment():
    data = synthetic(TINY, 200, np.random.default_rng(1))
    wide, narrow = (peak_copies(data, TINY, replace(TABLES, tables=tables), 1) for tables in (200, 2))
    assert wide > narrow > 3


def test_the_ladder_climbs(monkeypatch, capsys, tmp_path):
    small = {"width-1000": TINY, "width-10000": TINY._replace(labels=10_000)}
    monkeypatch.setattr(ladder, "SHAPES", small)
    monkeypatch.setattr(ladder, "RUNGS", tuple(small))
    arguments = ["bench", "--ladder", "--steps", "1", "--active", "20", "--csv", str(tmp_path / "ladder.csv")]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:1] == ["10,000"]
    assert lines[2].split()[2] == "1.00"
    assert len((tmp_path / "ladder.csv").read_text().splitlines()) == 3
