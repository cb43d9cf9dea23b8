"""``pyslide choose``: the calculator's words, numbers and exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyslide.checkpoint import save
from pyslide.choosing import Collisions, Wish, candidates
from pyslide.data import planted_dataset, write_extreme
from pyslide.settings import Hashing, LayerSettings
from pyslide.theory import correlated_winner_collision_probability, simhash_collision_probability
from pyslide.training import Trainer, TrainingSettings

WIDE = ["choose", "--neurons", "50000", "--active", "500"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    data = planted_dataset(200, 60, 30, np.random.default_rng(0), nonzeros_per_row=8, labels_per_row=2)
    hashing = Hashing(family="wta", bin_size=4, codes_per_table=2, tables=5)
    layers = (LayerSettings(neurons=16), LayerSettings(neurons=30, hashing=hashing))
    trainer = Trainer(TrainingSettings(layers=layers), data.features, data.labels)
    trainer.run(5)
    save(folder / "model.npz", trainer)
    write_extreme(folder / "test.txt", data.features, data.labels)
    return str(folder / "model.npz"), str(folder / "test.txt")


@pytest.mark.parametrize("family", ["dwta", "simhash"])
def test_the_numbers_are_those_of_the_calculator(run, family):
    code, out, _ = run(*WIDE, "--family", family, "--wanted-cosine", "0.9", "--other-cosine", "0.1", "--json")
    wish = Wish(neurons=50000, hashing=Hashing(family=family), inputs=128, active=500)
    cosines = np.array([0.9, 0.1])
    dwta, simhash = correlated_winner_collision_probability(cosines, 8), simhash_collision_probability(cosines)
    expected = candidates(wish, Collisions.of(*(simhash if family == "simhash" else dwta).tolist()))
    printed = json.loads(out)
    assert code == 0
    assert printed["feasible"] == [one._asdict() for one in expected]
    assert (printed["nearest"], printed["agreement"]) == ({}, None)


def test_a_table_for_people(run):
    code, out, err = run(*WIDE, "--wanted", "0.7", "--rows", "2")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 3)
    assert lines[0].split()[:5] == ["K", "L", "bucket", "recall", "active"]


def test_what_limits_is_said(run):
    code, out, _ = run(*WIDE, "--wanted", "0.3", "--most-tables", "20")
    assert code == 1
    assert out.startswith("nothing fulfils all three: 0.9 of the wanted neurons, 500 active ones and 20 tables")
    assert "a lower recall" in out
    assert "more active neurons" in out


def test_a_model_is_measured(run, model):
    code, out, _ = run("choose", "--model", model[0], "--test", model[1], "--active", "30")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["share", "of", "equal", "codes", "5%", "25%", "50%", "75%", "95%"]
    assert [line.split()[0] for line in lines[1:4]] == ["labels", "top", "random"]
    medians = [float(line.split()[3]) for line in lines[1:4]]
    assert medians[0] > medians[2]


def test_a_models_hash_functions_hold_unless_others_are_asked_for(run, model):
    words = ["choose", "--model", model[0], "--test", model[1], "--active", "30", "--json"]
    own, other = (json.loads(run(*words, *more)[1]) for more in ([], ["--family", "simhash"]))
    assert own["feasible"][0]["sample_reads"] % 4 == 0
    assert other["agreement"]["random"][2] == pytest.approx(0.5, abs=0.2)
    assert own["agreement"]["random"][2] == pytest.approx(0.25, abs=0.15)
    top = json.loads(run(*words, "--find", "top")[1])
    assert top["agreement"] == own["agreement"]
    assert top["feasible"] != own["feasible"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["choose"], "--neurons: expected"),
        (["choose", "--neurons", "5000"], "--wanted: expected"),
        ([*WIDE, "--wanted", "1.5"], "wanted: expected probabilities"),
        ([*WIDE, "--wanted-cosine", "0.9", "--family", "minhash"], "--family minhash: expected --wanted"),
        ([*WIDE, "--wanted", "0.9", "--recall", "1"], "recall: expected"),
        (["choose", "--neurons", "30", "--wanted", "0.9"], "active: expected 1 to 30"),
    ],
)
def test_refusals(run, words, said):
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert said in err
