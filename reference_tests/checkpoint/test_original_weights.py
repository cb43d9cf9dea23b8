"""The weight files of the released C++ program: written as it writes them, read with a warning, refused where wrong."""

import os
import zipfile

import numpy as np
import pytest

from pyslide.data import planted_dataset
from pyslide.errors import FormatError
from pyslide.inference import exact_top_k
from pyslide.original_weights import InitialBiasesWarning, read_original, to_network, write_original
from pyslide.settings import Hashing, LayerSettings
from pyslide.training import Trainer, TrainingSettings

DATA = planted_dataset(60, 30, 20, np.random.default_rng(0), nonzeros_per_row=8, labels_per_row=2)


def trained(dtype="float32"):
    output = LayerSettings(neurons=20, hashing=Hashing(codes_per_table=2, tables=4, bin_size=4))
    settings = TrainingSettings(layers=(LayerSettings(neurons=8), output), batch_size=16, dtype=dtype)
    one = Trainer(settings, DATA.features, DATA.labels)
    one.run(1)
    return one


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "original.npz"
    write_original(path, trained().network)
    return path


def rewrite(path, change):
    with np.load(path) as archive:
        arrays = dict(archive)
    change(arrays)
    np.savez(path, **arrays)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_as_the_program_writes_them(tmp_path, dtype):
    one = trained(dtype)
    write_original(tmp_path / "original.npz", one.network)
    with zipfile.ZipFile(tmp_path / "original.npz") as archive:
        entries = archive.infolist()
    names = [f"{kind}_layer_{depth}.npy" for depth in (0, 1) for kind in ("w", "b", "am", "av")]
    assert [entry.filename for entry in entries] == names
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}
    with np.load(tmp_path / "original.npz") as archive:
        for depth, layer in enumerate(one.network.layers):
            assert np.array_equal(archive[f"w_layer_{depth}"], layer.weights.astype(np.float32))
            assert np.array_equal(archive[f"b_layer_{depth}"], layer.biases.astype(np.float32))
            assert np.array_equal(archive[f"am_layer_{depth}"], layer.weight_first.astype(np.float32))
            assert np.array_equal(archive[f"av_layer_{depth}"], layer.weight_second.astype(np.float32))
        assert all(archive[name].dtype == "<f4" and archive[name].flags.c_contiguous for name in archive.files)


def test_there_and_back(tmp_path):
    one, path = trained(), tmp_path / "original.npz"
    write_original(path, one.network)
    with pytest.warns(InitialBiasesWarning, match="biases it started from"):
        weights = read_original(path)
    network = to_network(weights, steps=4)
    assert network.steps == 4
    for layer, twin in zip(one.network.layers, network.layers, strict=True):
        for name in ("weights", "biases", "weight_first", "weight_second"):
            assert np.array_equal(getattr(layer, name), getattr(twin, name))
        assert twin.tables is None
        assert twin.weights.flags.f_contiguous
    expected = exact_top_k(one.network, DATA.features, 3).labels
    assert np.array_equal(exact_top_k(network, DATA.features, 3).labels, expected)


def test_training_goes_on_from_such_a_file(path):
    with pytest.warns(InitialBiasesWarning):
        weights = read_original(path)
    before = weights.layers[0].weights.copy()
    settings = TrainingSettings(layers=(LayerSettings(neurons=8), LayerSettings(neurons=20)), batch_size=16)
    one = Trainer(settings, DATA.features, DATA.labels, to_network(weights))
    one.run(2)
    assert np.isfinite(one.history[-1]["loss"])
    assert np.array_equal(weights.layers[0].weights, before)  # the network has arrays of its own


def narrow_second_layer(arrays):
    for kind in ("w", "am", "av"):
        arrays[f"{kind}_layer_1"] = arrays[f"{kind}_layer_1"][:, :5]


def skip_a_layer(arrays):
    for kind in ("w", "b", "am", "av"):
        arrays[f"{kind}_layer_2"] = arrays.pop(f"{kind}_layer_1")


def numbered(depth):
    def change(arrays):
        arrays[f"w_layer_{depth}"] = arrays.pop("w_layer_1")

    return change


def not_a_number(arrays):
    arrays["av_layer_0"][1, 1] = np.nan


CHANGES = {
    "nothing": (lambda arrays: arrays.clear(), "found none"),
    "foreign": (lambda arrays: [arrays.clear(), arrays.update(weights=np.zeros(3))], "found none"),
    "no-weights": (lambda arrays: arrays.pop("w_layer_0"), "w_layer_0, found none"),
    "no-biases": (lambda arrays: arrays.pop("b_layer_1"), "b_layer_1, found none"),
    "no-moment": (lambda arrays: arrays.pop("av_layer_1"), "av_layer_1, found none"),
    "gap": (skip_a_layer, "w_layer_1, found none"),
    "far": (numbered(10**12), "numbered 1000000000000"),
    "biases": (lambda arrays: arrays.update(b_layer_1=np.zeros(3)), r"b_layer_1.*\(20,\), got \(3,\)"),
    "one-dimension": (lambda arrays: arrays.update(w_layer_0=np.zeros(3)), "w_layer_0.*two dimensions"),
    "narrow": (narrow_second_layer, r"w_layer_1.*\(any, 8\).*\(20, 5\)"),
    "float64": (lambda arrays: arrays.update(b_layer_0=np.zeros(8)), "b_layer_0.*float32, got float64"),
    "nan": (not_a_number, "av_layer_0.*finite"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_bad_weight_files(path, name):
    change, message = CHANGES[name]
    rewrite(path, change)
    with pytest.raises(FormatError, match=message) as caught:
        read_original(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("keep", [0, 4, 300, -100])
def test_truncated_weight_files(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FormatError, match=r"whole \.npz"):
        read_original(path)


def test_nothing_is_half_written(tmp_path, monkeypatch):
    written, write = [], np.lib.format.write_array

    def fail(stream, array, *rest, **options):
        written.append(array)
        if len(written) == 5:
            raise OSError("the disk is full")
        write(stream, array, *rest, **options)

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="full"):
        write_original(tmp_path / "original.npz", trained().network)
    with pytest.raises(FormatError, match="npz"):
        write_original(tmp_path / "original.npz.gz", trained().network)
    assert not os.listdir(tmp_path)
