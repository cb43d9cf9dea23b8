"""Runs on disk: resumed to the same bits, whole or not there, and refused where damaged."""

import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sparse

from pyslide import checkpoint
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.errors import CheckpointError, OutOfRangeError
from pyslide.inference import exact_top_k
from pyslide.parameters import WinnerTakeAllParameters
from pyslide.settings import FAMILIES, CandidateSampling, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import STREAMS, Schedule, Trainer, TrainingSettings

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
            assert layer.tables.tables.table_bits == twin.tables.tables.table_bits
            arrays = layer.tables.tables.arrays().values(), twin.tables.tables.arrays().values()
            for mine, yours in zip(*arrays, strict=True):
                assert np.array_equal(mine, yours)
        if layer.candidates is not None:
            assert np.array_equal(layer.candidates.ranks, twin.candidates.ranks)
            assert np.array_equal(layer.candidates.classes, twin.candidates.classes)
    losses = [[row["loss"] for row in run.history] for run in (one, other)]
    assert losses[0] == losses[1]


def policy(name):
    return {"conventions": PAPER.replace(bucket_policy=name)}


FOLDED = Hashing(codes_per_table=3, tables=6, bin_size=4, table_bits=3)  # 64 keys for 8 buckets
VARIANTS = {
    **{family: {"family": family} for family in FAMILIES},
    **{name: policy(name) for name in ("unlimited", "reservoir", "reservoir_one_over_n")},
    "vanilla": {"strategy": "vanilla"},
    "vanilla-padded-to-budget": {"strategy": "vanilla", "conventions": PAPER.replace(padding="up_to_budget")},
    "top-k": {"strategy": "top_k"},
    "given-order-own-step": {
        "conventions": PAPER.replace(insertion_order="given_order", adam_rows="touched_own_step")
    },
    "folded-keys": {"layers": (LayerSettings(neurons=16), LayerSettings(neurons=40, hashing=FOLDED))},
    "hashed-biases": {"family": "simhash", "conventions": PAPER.replace(bias_hashing="hashed")},
    "float64-adam": {"dtype": "float64"},
    "float32-sgd": {"optimizer": Optimizer(rule="sgd", momentum=0.9, learning_rate=0.1)},
    "float64-sgd": {"dtype": "float64", "optimizer": Optimizer(rule="sgd", learning_rate=0.1)},
    **{
        f"sampled-softmax-{distribution}": {
            "layers": (
                LayerSettings(neurons=16),
                LayerSettings(neurons=40, candidates=CandidateSampling(distribution=distribution, count=9)),
            )
        }
        for distribution in ("uniform", "log_uniform")
    },
    "no-tables": {"layers": (LayerSettings(neurons=16), LayerSettings(neurons=40))},
    "tables-twice": {
        "layers": (
            LayerSettings(neurons=30, hashing=Hashing(family="wta", codes_per_table=1, tables=5)),
            LayerSettings(neurons=16),
            LayerSettings(neurons=40, hashing=Hashing(codes_per_table=1, tables=5, bin_size=4)),
        )
    },
}


@pytest.mark.parametrize("stop", [3, 4, 13])
@pytest.mark.parametrize("name", VARIANTS)
def test_resumed_runs_give_the_same_bits(tmp_path, name, stop):
    """Step 3 (the next one ends with a rebuild), 4 (a rebuild is just over), 13 (in the middle of an epoch)."""
    change = VARIANTS[name]
    whole, first = trainer(**change), trainer(**change)
    whole.run(4)
    first.run(4, steps=stop)
    path = tmp_path / "run.npz"
    checkpoint.save(path, first)
    second = checkpoint.resume(path, DATA.features, DATA.labels)
    same(first, second)
    assert second.rebuilds == first.rebuilds
    second.run(4)
    same(whole, second)
    assert whole.rebuilds == second.rebuilds > 1
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_run_that_is_stopped_at_every_step(tmp_path):
    whole, path = trainer(strategy="vanilla"), tmp_path / "run.npz"
    whole.run(2)
    one = trainer(strategy="vanilla")
    for step in range(1, 19):
        one.run(2, steps=step)
        checkpoint.save(path, one)
        one = checkpoint.resume(path, DATA.features, DATA.labels)
    same(whole, one)


def test_a_dense_data_set(tmp_path):
    dense, path = DATA.features.toarray(), tmp_path / "run.npz"
    whole, first = (Trainer(settings(), dense, DATA.labels) for _ in range(2))
    whole.run(2)
    first.run(2, steps=7)
    checkpoint.save(path, first)
    second = checkpoint.resume(path, dense, DATA.labels)
    second.run(2)
    same(whole, second)


def test_a_weighted_run_goes_on_with_its_weights_only(tmp_path):
    weights, path = np.linspace(0, 2, DATA.rows), tmp_path / "run.npz"
    whole, first = (Trainer(settings(), DATA.features, DATA.labels, sample_weights=weights) for _ in range(2))
    whole.run(2)
    first.run(2, steps=7)
    checkpoint.save(path, first)
    second = checkpoint.resume(path, DATA.features, DATA.labels, weights)
    second.run(2)
    same(whole, second)
    for others in (None, weights[::-1]):
        with pytest.raises(CheckpointError, match="own data"):
            checkpoint.resume(path, DATA.features, DATA.labels, others)


def test_ctrl_c_then_resumed_gives_the_same_bits(tmp_path):
    """The signal comes in the middle of step 5: the step is finished, and nothing of the run is lost."""
    whole, first, path = trainer(), trainer(), tmp_path / "run.npz"
    whole.run(3)
    draws = first.draws

    def press(samples):
        if first.network.steps == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return draws(samples)

    first.draws = press
    assert first.run(3) is False
    assert first.network.steps == len(first.history) == 5
    checkpoint.save(path, first)
    second = checkpoint.resume(path, DATA.features, DATA.labels)
    assert second.run(3) is True
    same(whole, second)


def test_everything_that_was_saved(tmp_path):
    one = trainer(strategy="vanilla")
    one.run(2, [lambda run, record: {"kind": "evaluation", "P@1": np.float32(0.1)}], steps=13)
    checkpoint.save(tmp_path / "run.npz", one)
    saved = checkpoint.load(tmp_path / "run.npz")
    assert (saved.epoch, saved.position) == (one.epoch, one.position) == (1, 64)
    assert saved.rebuilds == one.rebuilds == 2  # at 4 and 8.4; 13.3 is still to come
    assert saved.row_order.tolist() == one.row_order.tolist()
    assert [pool.tolist() for pool in saved.pools] == [pool.tolist() for pool in one.pools]
    assert saved.streams == {name: generator.bit_generator.state for name, generator in one.streams.items()}
    assert saved.data == checkpoint.fingerprint(one.features, one.labels)
    assert saved.history == one.history
    assert saved.model.network.steps == 13
    assert np.array_equal(saved.model.network.layers[1].weights, one.network.layers[1].weights)


def test_a_model_without_its_data(tmp_path):
    one = trainer()
    one.run(1)
    checkpoint.save(tmp_path / "run.npz", one, [f"label {place} \u00e9\u732b" for place in range(40)], None)
    model = checkpoint.load_model(tmp_path / "run.npz")
    assert model.label_names[39] == "label 39 \u00e9\u732b"
    assert model.feature_names is None
    assert model.settings == one.settings
    assert model.description["steps"] == 9
    before = exact_top_k(one.network, DATA.features, 5)
    assert exact_top_k(model.network, DATA.features, 5).labels.tolist() == before.labels.tolist()


def test_no_pickle_inside(tmp_path):
    checkpoint.save(tmp_path / "run.npz", trainer())
    with np.load(tmp_path / "run.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


@pytest.mark.parametrize("name", VARIANTS)
def test_settings_there_and_back(name):
    one = settings(**{"seed": 2**70, "schedule": Schedule(first_interval=0.1 + 0.2), **VARIANTS[name]})
    text = json.dumps(checkpoint.settings_to_dict(one))
    assert checkpoint.settings_from_dict(json.loads(text)) == one


def test_settings_that_are_left_out_are_the_defaults():
    values = {"layers": [{"neurons": 3}]}
    assert checkpoint.settings_from_dict(values) == TrainingSettings(layers=(LayerSettings(neurons=3),))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "by name"),
        ({"layers": 3}, "list of layers"),
        ({"layers": [3]}, "layers"),
        ({"layers": [{}]}, "a setting neurons"),
        ({}, "output layer"),
        ({"layers": [{"neurons": 3.5}]}, "neurons"),
        ({"layers": [{"neurons": 3}], "seed": "1"}, "seed"),
        ({"layers": [{"neurons": 3}], "batch_size": True}, "batch_size"),
        ({"layers": [{"neurons": 3}], "optimizer": None}, "optimizer"),
        ({"layers": [{"neurons": 3, "candidates": 3}]}, "candidates: expected settings by name"),
        ({"layers": [{"neurons": 3, "candidates": {"count": 2}}]}, "candidates: expected a setting distribution"),
        (
            {"layers": [{"neurons": 3, "candidates": {"distribution": "uniform", "count": 2, "correction": 1}}]},
            "candidates: expected correction to be of type bool, got 1",
        ),
        ({"layers": [{"neurons": 3}], "schedule": {"growth": "fast"}}, "growth"),
    ],
)
def test_settings_of_another_kind_are_refused(values, message):
    with pytest.raises((CheckpointError, OutOfRangeError), match=message):
        checkpoint.settings_from_dict(values)


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


def other_value(features, labels):
    features.data[0] += 1
    return features, labels


def other_place(features, labels):
    labels.indices[0] = (set(range(40)) - set(labels[[0]].indices.tolist())).pop()
    return features, labels


@pytest.mark.parametrize(
    "change",
    [
        other_value,
        other_place,
        lambda features, labels: (features[::-1], labels[::-1]),
        lambda features, labels: (features[:100], labels[:100]),
        lambda features, labels: (features[:, :59], labels),
        lambda features, labels: (features, labels[:, :39]),
        lambda features, labels: (features.toarray(), labels),
    ],
)
def test_other_data_are_refused(tmp_path, change):
    path = tmp_path / "run.npz"
    checkpoint.save(path, trainer())
    features, labels = change(DATA.features.copy(), DATA.labels.copy())
    with pytest.raises(CheckpointError, match="own data") as caught:
        checkpoint.resume(path, features, sparse.csr_array(labels))
    assert caught.value.path == str(path)


def rewrite(path, change):
    """Rewrite a checkpoint's arrays."""
    with np.load(path) as archive:
        arrays = dict(archive)
    change(arrays)
    np.savez(path, **arrays)


def described(**changes):
    def change(arrays):
        description = {**json.loads(arrays["description"].tobytes()), **changes}
        arrays["description"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)

    return change


def changed(name, change):
    return lambda arrays: arrays.update({name: change(arrays[name])})


def text(value):
    return np.frombuffer(value, dtype=np.uint8)


DAMAGE = {
    "schema": (described(schema=99), "schema version 2, got 99"),
    "settings": (described(settings={"layers": []}), "settings.*output layer"),
    "unknown-setting": (described(settings={"colour": "blue"}), "settings.*colour"),
    "not-json": (changed("description", lambda _: text(b"{")), "'description': damaged"),
    "not-an-object": (changed("description", lambda _: text(b"[]")), "'description': expected a JSON object"),
    "no-text": (changed("names", lambda _: np.zeros(3)), "names"),
    "names": (changed("names", lambda _: text(b'{"labels": ["one"]}')), "labels: expected 40 names"),
    "biases": (changed("layer_1_biases", lambda one: one[:39]), r"'layer_1_biases'.*\(40,\), got \(39,\)"),
    "moment": (changed("layer_0_weight_first", lambda one: one[:1]), r"'layer_0_weight_first'.*\(60, 16\)"),
    "precision": (changed("layer_1_weights", np.float64), "'layer_1_weights'.*float32, got float64"),
    "dimensions": (changed("layer_1_weights", np.ravel), "'layer_1_weights'"),
    "touches": (changed("layer_1_touches", np.float32), "'layer_1_touches'.*int64, got float32"),
    "members": (changed("layer_1_tables_members", lambda one: one + 40), "tables_members.*0..39"),
    "addresses": (changed("layer_1_tables_addresses", lambda one: one[::-1]), "tables_addresses.*rising"),
    "far-addresses": (changed("layer_1_tables_addresses", lambda one: one.astype(int) + 2**40), "tables_addresses"),
    "offsets": (changed("layer_1_tables_offsets", lambda one: one + 1), "tables_offsets"),
    "falling-offsets": (changed("layer_1_tables_offsets", lambda one: np.r_[0, one[-1], one[2:]]), "tables_offsets"),
    "arrivals": (changed("layer_1_tables_arrivals", lambda one: one[1:]), "tables_arrivals"),
    "family": (changed("layer_1_family", lambda _: np.array("md5")), "layer_1_family.*md5"),
    "probes": (changed("layer_1_family_probes", lambda one: one + 12), "layer_1_family.*probes"),
    "dimension": (changed("layer_1_family_dimension", lambda one: one + 1), "layer_1_family.*16"),
    "multipliers": (changed("layer_1_multipliers", lambda one: one[:2]), r"layer_1_multipliers.*\(6,\)"),
}
STATE_DAMAGE = {
    "position": (described(position=130), "position"),
    "negative": (described(epoch=-1), "epoch: expected a count, got -1"),
    "no-number": (described(rebuilds=None), "rebuilds"),
    "a-stream": (described(streams={"rows": {}}), "streams"),
    "a-state": (described(streams={name: {} for name in STREAMS}), "stream 'weights'"),
    "rows": (changed("row_order", lambda one: 0 * one), "row_order.*once"),
    "pool": (changed("layer_1_pool", lambda one: one[1:]), "layer_1_pool"),
    "history": (changed("history", lambda _: text(b"{\n")), "history.*damaged"),
    "history-rows": (changed("history", lambda _: text(b"3\n")), "history.*object"),
}


def damaged(tmp_path, change):
    path = tmp_path / "run.npz"
    checkpoint.save(path, trainer())
    rewrite(path, change)
    return path


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_models(tmp_path, name):
    change, message = DAMAGE[name]
    path = damaged(tmp_path, change)
    for read in (checkpoint.load_model, checkpoint.load):
        with pytest.raises(CheckpointError, match=message) as caught:
            read(path)
        assert caught.value.path == str(path)


@pytest.mark.parametrize("name", STATE_DAMAGE)
def test_damaged_states_of_a_run(tmp_path, name):
    change, message = STATE_DAMAGE[name]
    path = damaged(tmp_path, change)
    with pytest.raises(CheckpointError, match=message) as caught:
        checkpoint.resume(path, DATA.features, DATA.labels)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("change", [lambda one: one[1:], lambda one: 0 * one, np.float64])
def test_damaged_ranks_of_a_sampled_softmax(tmp_path, change):
    path = tmp_path / "run.npz"
    checkpoint.save(path, trainer(**VARIANTS["sampled-softmax-uniform"]))
    rewrite(path, changed("layer_1_classes", change))
    with pytest.raises(CheckpointError, match="layer_1_classes"):
        checkpoint.load_model(path)


def test_every_part_is_missed(tmp_path):
    path = damaged(tmp_path, lambda arrays: None)
    with np.load(path) as archive:
        names = archive.files
    for name in names:
        rewrite(damaged(tmp_path, lambda arrays: None), lambda arrays, name=name: arrays.pop(name))
        with pytest.raises(CheckpointError, match=f"expected a part '{name}', found none"):
            checkpoint.load(path)


def test_arrays_of_something_else(tmp_path):
    np.savez(tmp_path / "run.npz", weights=np.zeros(3))
    with pytest.raises(CheckpointError, match="'description'"):
        checkpoint.load_model(tmp_path / "run.npz")


def test_a_pickle_is_not_opened(tmp_path):
    path = damaged(tmp_path, lambda arrays: arrays.update(names=np.array([{}], dtype=object)))
    with pytest.raises(CheckpointError, match=r"whole \.npz file"):
        checkpoint.load_model(path)


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
    """The disk is full after some of the parts, with and without an older file of that name."""
    path, older = tmp_path / "run.npz", tmp_path / "older.npz"
    checkpoint.save(older, trainer())
    before = older.read_bytes()
    written, write = [], np.lib.format.write_array

    def fail(stream, array, *rest, **options):
        written.append(array)
        if len(written) % 9 == 0:
            raise OSError("the disk is full")
        write(stream, array, *rest, **options)

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    for name in (path, older):
        with pytest.raises(OSError, match="full"):
            checkpoint.save(name, trainer(seed=1))
    assert len(written) == 18
    assert older.read_bytes() == before
    assert os.listdir(tmp_path) == ["older.npz"]


def test_a_family_of_ones_own_cannot_be_saved(tmp_path):
    class Own:
        dimension, code_count, code_range = 16, 12, 2

        def codes(self, indices, values):
            return np.zeros(12, dtype=int)

    class Derived(WinnerTakeAllParameters):
        pass

    one = trainer()
    for family in (Own(), Derived(np.arange(16).reshape(4, 4), 16)):
        one.network.layers[1].tables.family = family
        with pytest.raises(CheckpointError, match=r"run\.npz.*user's own \((Own|Derived)\)"):
            checkpoint.save(tmp_path / "run.npz", one)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("row", [{"kind": object()}, {"kind": {1}}, {(1, 2): 3}])
def test_a_history_that_cannot_be_saved(tmp_path, row):
    one = trainer()
    one.history.append(row)
    with pytest.raises(CheckpointError, match="JSON"):
        checkpoint.save(tmp_path / "run.npz", one)
    assert not os.listdir(tmp_path)


def test_names_that_do_not_fit(tmp_path):
    with pytest.raises(CheckpointError, match="labels: expected 40, got 1"):
        checkpoint.save(tmp_path / "run.npz", trainer(), ["one"])
    with pytest.raises(CheckpointError, match="features: expected 60, got 1"):
        checkpoint.save(tmp_path / "run.npz", trainer(), None, ["one"])
    with pytest.raises(CheckpointError, match="npz"):
        checkpoint.save(tmp_path / "run.npz.gz", trainer())
    assert not os.listdir(tmp_path)


def test_bad_values_in_saved_settings():
    values = checkpoint.settings_to_dict(replace(settings(), seed=1))
    values["seed"] = -1
    with pytest.raises(OutOfRangeError, match="seed"):
        checkpoint.settings_from_dict(values)
