"""The bench measures what it says, side by side; how fast anything is, is no matter of tests."""

import json

import numpy as np
import pytest

from pyslide.bench import SHAPES, measure
from pyslide.bench.contenders import CONTENDERS
from pyslide.bench.shapes import synthetic
from pyslide.bench.stages import STATIONS
from pyslide.cli import main
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
