"""Runs on disk: resumed to the same bits, whole or not there, and refused where damaged."""

import os
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from pyslide import checkpoint
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.errors import CheckpointError, FormatError, OutOfRangeError
from pyslide.inference import exact_top_k
from pyslide.original_weights import InitialBiasesWarning, read_original, to_network, write_original
from pyslide.settings import FAMILIES, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Schedule, Trainer, TrainingSettings

DATA = planted_dataset(130, 60, 40, np.random.default_rng(0), nonzeros_per_row=8, labels_per_row=2)
ARRAYS = checkpoint.LAYER_ARRAYS


def settings(family="dwta", strategy="union", **changes):
    sampling = Sampling(strategy=strategy, budget=8, minimum_active=10)
    hashing = Hashing(family=family, codes_per_table=2, tables=6, bin_size=4, capacity=4, sampling=sampling)
    layers = (LayerSettings(neurons=16), LayerSettings(neurons=40, hashing=hashing))
    schedule = Schedule(first_interval=4, growth=0.1, redraw_every=2)
    return TrainingSettings(**{"layers": layers, "batch_size": 16, "schedule": schedule, **changes})


def trainer(**changes):
    return Trainer(settings(**changes), DATA.features, DATA.labels)


def same(one, other):
    for layer, twin in zip(one.network.layers, other.network.layers, strict=True):
        for name in ARRAYS:
            assert np.array_equal(getattr(layer, name), getattr(twin, name)), name
        assert layer.weights.dtype == twin.weights.dtype
        assert layer.weights.flags.c_contiguous == twin.weights.flags.c_contiguous
        if layer.tables is not None:
            for mine, yours in zip(layer.tables.tables, twin.tables.tables, strict=True):
                assert np.array_equal(mine, yours)
    losses = [[row["loss"] for row in run.history] for run in (one, other)]
    assert losses[0] == losses[1]


VARIANTS = [
    *({"family": family} for family in FAMILIES),
    *({"conventions": PAPER.replace(bucket_policy=policy)} for policy in ("reservoir", "unlimited")),
    {"strategy": "vanilla"},
    {"conventions": PAPER.replace(insertion_order="given_order", adam_rows="touched_own_step")},
    {"dtype": "float64", "optimizer": Optimizer(rule="sgd", momentum=0.9, learning_rate=0.1)},
]


@pytest.mark.parametrize("stop", [4, 13])
@pytest.mark.parametrize("change", VARIANTS, ids=lambda one: "-".join(one))
def test_resumed_runs_give_the_same_bits(tmp_path, change, stop):
    """Steps 4 (a rebuild is just over) and 13 (in the middle of an epoch)."""
    whole, first = trainer(**change), trainer(**change)
    whole.run(4)
    first.run(4, steps=stop)
    path = tmp_path / "run.npz"
    checkpoint.save(path, first)
    second = checkpoint.resume(path, DATA.features, DATA.labels)
    same(first, second)
    second.run(4)
    same(whole, second)
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_model_without_its_data(tmp_path):
    one = trainer()
    one.run(1)
    checkpoint.save(tmp_path / "run.npz", one, [f"label {place}" for place in range(40)], None)
    model = checkpoint.load_model(tmp_path / "run.npz")
    assert model.label_names[39] == "label 39"
    assert model.feature_names is None
    assert model.settings == one.settings
    assert model.description["steps"] == 9
    before = exact_top_k(one.network, DATA.features, 5)
    assert exact_top_k(model.network, DATA.features, 5).labels.tolist() == before.labels.tolist()


def test_no_pickle_inside(tmp_path):
    checkpoint.save(tmp_path / "run.npz", trainer())
    with np.load(tmp_path / "run.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_settings_there_and_back():
    one = settings(family="simhash", strategy="vanilla", seed=5, optimizer=Optimizer(rule="sgd"))
    assert checkpoint.settings_from_dict(checkpoint.settings_to_dict(one)) == one


@pytest.mark.parametrize("place", [(), ("optimizer",), ("schedule",), ("layers", 1), ("layers", 1, "hashing")])
def test_unknown_settings_are_refused(place):
    values = checkpoint.settings_to_dict(settings())
    values["layers"] = list(values["layers"])
    part = values
    for step in place:
        part = part[step]
    part["colour"] = "blue"
    with pytest.raises(CheckpointError, match="colour"):
        checkpoint.settings_from_dict(values)


def test_other_data_are_refused(tmp_path):
    checkpoint.save(tmp_path / "run.npz", trainer())
    other = DATA.features.copy()
    other.data[0] += 1
    with pytest.raises(CheckpointError, match="own data"):
        checkpoint.resume(tmp_path / "run.npz", other, DATA.labels)


def rewrite(path, change):
    """Rewrite a checkpoint's arrays."""
    with np.load(path) as archive:
        arrays = dict(archive)
    change(arrays)
    np.savez(path, **arrays)


def described(**changes):
    import json

    def change(arrays):
        description = {**json.loads(arrays["description"].tobytes()), **changes}
        arrays["description"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (described(schema=99), "schema version 2, got 99"),
        (described(settings={"layers": []}), "settings"),
        (lambda arrays: arrays.pop("description"), "description"),
        (lambda arrays: arrays.update(description=np.frombuffer(b"{", dtype=np.uint8)), "damaged"),
        (lambda arrays: arrays.pop("layer_1_weights"), "layer_1_weights"),
        (lambda arrays: arrays.pop("layer_1_tables_members"), "layer_1_tables_members"),
        (lambda arrays: arrays.update(layer_1_biases=np.zeros(39)), r"layer_1_biases.*\(40,\), got \(39,\)"),
        (lambda arrays: arrays.update(layer_0_weight_first=np.zeros((1, 1))), "layer_0_weight_first"),
    ],
)
def test_damaged_checkpoints(tmp_path, change, message):
    path = tmp_path / "run.npz"
    checkpoint.save(path, trainer())
    rewrite(path, change)
    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoint.load_model(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 no more"])
def test_files_that_are_no_checkpoints(tmp_path, content):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"whole \.npz file"):
        checkpoint.load_model(path)


def test_a_truncated_checkpoint(tmp_path):
    path = tmp_path / "run.npz"
    checkpoint.save(path, trainer())
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match=r"whole \.npz file"):
        checkpoint.load_model(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        checkpoint.load_model(tmp_path / "none.npz")


def test_nothing_is_half_written(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    checkpoint.save(path, trainer())
    before = path.read_bytes()

    def fail(stream, **arrays):
        stream.write(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="full"):
        checkpoint.save(path, trainer(seed=1))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_family_of_ones_own_cannot_be_saved(tmp_path):
    class Own:
        dimension, code_count, code_range = 16, 12, 2

        def codes(self, indices, values):
            return np.zeros(12, dtype=int)

    one = trainer()
    one.network.layers[1].tables.family = Own()
    with pytest.raises(CheckpointError, match="Own"):
        checkpoint.save(tmp_path / "run.npz", one)
    assert not os.listdir(tmp_path)


def test_weight_files_of_the_original_program(tmp_path):
    one = trainer()
    one.run(1)
    path = tmp_path / "original.npz"
    write_original(path, one.network)
    with zipfile.ZipFile(path) as archive:
        names = sorted(archive.namelist())
    assert names == sorted(f"{kind}_layer_{depth}.npy" for kind in ("w", "b", "am", "av") for depth in (0, 1))
    with pytest.warns(InitialBiasesWarning, match="biases it started from"):
        layers = read_original(path)
    network = to_network(layers)
    for layer, twin in zip(one.network.layers, network.layers, strict=True):
        assert np.array_equal(layer.weights, twin.weights)
        assert np.array_equal(layer.weight_second, twin.weight_second)
    expected = exact_top_k(one.network, DATA.features, 3).labels
    assert np.array_equal(exact_top_k(network, DATA.features, 3).labels, expected)


def narrow_second_layer(arrays):
    for kind in ("w", "am", "av"):
        arrays[f"{kind}_layer_1"] = arrays[f"{kind}_layer_1"][:, :9]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("w_layer_0"), "found none"),
        (lambda arrays: arrays.pop("av_layer_1"), "av_layer_1"),
        (lambda arrays: arrays.update(b_layer_1=np.zeros(3)), r"b_layer_1.*\(40,\), got \(3,\)"),
        (lambda arrays: arrays.update(w_layer_0=np.zeros(3)), "two dimensions"),
        (narrow_second_layer, "does not take"),
    ],
)
def test_bad_weight_files(tmp_path, change, message):
    path = tmp_path / "original.npz"
    write_original(path, trainer().network)
    rewrite(path, change)
    with pytest.raises(FormatError, match=message):
        read_original(path)


def test_no_weight_file(tmp_path):
    path = tmp_path / "original.npz"
    path.write_bytes(b"text")
    with pytest.raises(FormatError, match="npz"):
        read_original(path)


def test_bad_values_in_saved_settings():
    values = checkpoint.settings_to_dict(replace(settings(), seed=1))
    values["seed"] = -1
    with pytest.raises(OutOfRangeError, match="seed"):
        checkpoint.settings_from_dict(values)
