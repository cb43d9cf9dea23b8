"""The loop: what is seen, when tables are rebuilt, that runs repeat bit for bit, and that they learn."""

import csv
import dataclasses
import json
import os
import signal

import numpy as np
import pytest
import scipy.sparse as sparse

from pyslide import inference, training
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.engine.ragged import ActiveSets
from pyslide.errors import FormatError, NonFiniteError, OutOfRangeError, ShapeError
from pyslide.evaluation import evaluate, most_frequent_labels, ranking_metrics
from pyslide.history import write_history
from pyslide.progress import Lines, progress
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Schedule, Trainer, TrainingSettings

DATA = planted_dataset(150, 80, 40, np.random.default_rng(0), nonzeros_per_row=10, labels_per_row=2)
TABLES = Hashing(codes_per_table=2, tables=8, bin_size=4, sampling=Sampling(minimum_active=10))


def settings(hashing=TABLES, **changes):
    layers = (LayerSettings(neurons=16), LayerSettings(neurons=40, hashing=hashing))
    return TrainingSettings(**{"layers": layers, "batch_size": 32, **changes})


def trainer(**changes):
    return Trainer(settings(**changes), DATA.features, DATA.labels)


def test_same_seed_same_bits_and_another_seed_others():
    weights = []
    for seed in (0, 0, 1):
        one = trainer(seed=seed)
        one.run(3)
        weights.append(one.network.layers[1].weights)
    assert np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def test_threads_change_no_bit():
    weights = []
    for threads in (1, 2):
        one = trainer(threads=threads)
        one.run(2)
        weights.append(one.network.layers[1].weights)
    assert np.array_equal(*weights)


def test_every_row_is_seen_once_an_epoch_and_the_last_batch_is_smaller():
    one, seen = trainer(), []
    sizes = []
    while one.epoch < 2:
        seen += one.row_order[one.position : one.position + 32].tolist()
        sizes.append(one.step().samples)
    assert sizes == [32, 32, 32, 32, 22] * 2
    assert sorted(seen[:150]) == sorted(seen[150:]) == list(range(150))
    assert seen[:150] != seen[150:]


def rebuilds(one, steps):
    seen = []
    original = one.rebuild

    def rebuild(*, new_functions):
        seen.append((one.network.steps, new_functions))
        original(new_functions=new_functions)

    one.rebuild = rebuild
    one.run(100, steps=steps)
    return seen


def test_rebuilds_fall_on_the_schedule():
    """3, 3 + 3e^0.5 = 7.95, 3 + 3e^0.5 + 3e = 16.1: steps 3, 8 and 17."""
    one = trainer(schedule=Schedule(first_interval=3, growth=0.5, redraw_every=2))
    assert rebuilds(one, 20) == [(3, False), (8, True), (17, False)]


def test_new_functions_at_every_rebuild_where_the_convention_says_so():
    one = trainer(schedule=Schedule(first_interval=4), conventions=PAPER.replace(rebuild="new_functions"))
    before = one.network.layers[1].tables.family.bins
    assert rebuilds(one, 8) == [(4, True), (8, True)]
    assert not np.array_equal(before, one.network.layers[1].tables.family.bins)


def test_tables_hold_the_codes_of_the_weights_after_a_rebuild():
    from pyslide.engine.network import neuron_keys

    one = trainer(schedule=Schedule(first_interval=5))
    one.run(9, steps=5)
    layer = one.network.layers[1]
    keys = neuron_keys(layer, layer.tables, PAPER)[0]
    wanted = keys + (np.arange(8) << 18)
    assert np.isin(wanted, layer.tables.tables.addresses).all()


def test_learns_what_was_planted():
    data = planted_dataset(900, 200, 50, np.random.default_rng(1), nonzeros_per_row=20, labels_per_row=1)
    layers = (LayerSettings(neurons=32), LayerSettings(neurons=50, hashing=TABLES))
    one = Trainer(
        TrainingSettings(layers=layers, optimizer=Optimizer(learning_rate=0.01)), data.features[:700], data.labels[:700]
    )
    one.run(8)
    held_out = data.features[700:], data.labels[700:]
    learned = evaluate(one.network, *held_out, PAPER, ranks=(1,))["P@1"]
    assert learned > 2 * most_frequent_labels(data.labels[:700], data.labels[700:], (1,))["P@1"]
    losses = [row["loss"] for row in one.history]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) / 2


def test_a_layer_without_tables_is_dense_training():
    """One step of SGD on a softmax regression, worked out with dense matrices."""
    one = Trainer(
        TrainingSettings(
            layers=(LayerSettings(neurons=40),), batch_size=150, dtype="float64",
            optimizer=Optimizer(rule="sgd", learning_rate=0.5),
        ),
        DATA.features, DATA.labels,
    )  # fmt: skip
    weights = one.network.layers[0].weights.copy()
    features, labels = one.features.toarray(), one.labels.toarray()
    logits = features @ weights.T
    outputs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    counts = labels.sum(axis=1, keepdims=True)
    errors = (outputs * (counts > 0) - labels / np.maximum(1, counts)) / 150
    one.step()
    np.testing.assert_allclose(one.network.layers[0].weights, weights - 0.5 * errors.T @ features, atol=1e-13)
    np.testing.assert_allclose(one.network.layers[0].biases, -0.5 * errors.sum(axis=0), atol=1e-13)


def test_precision_of_a_batch_is_that_of_the_best_active_neuron():
    one = trainer()
    result = training.training_step(
        one.network, one.features[:9], one.labels[:9], one.draws(9), one.settings.optimizer, PAPER
    ).batch_pass
    hits = 0
    for row in range(9):
        active = result.active.of(row)
        logits = result.layers[-1].sums[slice(*result.active.offsets[row : row + 2])]
        hits += active[np.argmax(logits)] in one.labels[[row]].indices
    assert training.precision_at_1(result) == pytest.approx(hits / 9)


def test_callbacks_add_to_the_history():
    one, steps = trainer(), []
    one.run(1, [lambda run, record: steps.append(record.step), lambda run, record: {"kind": "evaluation"}])
    assert steps == [1, 2, 3, 4, 5]
    assert [row["kind"] for row in one.history] == ["step", "evaluation"] * 5


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_history_on_disk(tmp_path, ending):
    rows = [{"kind": "step", "loss": 0.1, "step": 1}, {"kind": "evaluation", "P@1": 0.5}]
    path = tmp_path / f"run.{ending}"
    write_history(path, rows)
    if ending == "jsonl":
        assert [json.loads(line) for line in path.read_text().splitlines()] == rows
    else:
        with path.open(newline="") as stream:
            read = list(csv.DictReader(stream))
        assert read[0] == {"kind": "step", "loss": "0.1", "step": "1", "P@1": ""}
        assert read[1]["P@1"] == "0.5"
    assert os.listdir(tmp_path) == [path.name]


def test_history_of_another_kind_is_refused(tmp_path):
    with pytest.raises(FormatError, match="xml"):
        write_history(tmp_path / "run.xml", [])
    assert not os.listdir(tmp_path)


def test_ctrl_c_ends_after_a_whole_step():
    one = trainer()

    def press(run, record):
        if record.step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    assert one.run(5, [press]) is False
    assert one.network.steps == 3
    assert len(one.history) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    other = trainer()
    other.run(5, steps=3)
    assert np.array_equal(one.network.layers[1].weights, other.network.layers[1].weights)
    assert one.run(1) is True


def test_a_second_ctrl_c_interrupts_at_once():
    def press(run, record):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer().run(5, [press])


def test_divergence_is_said():
    with (
        pytest.raises(NonFiniteError, match="at step"),
        np.errstate(all="ignore"),
    ):
        trainer(optimizer=Optimizer(rule="sgd", learning_rate=1e30)).run(9)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"layers": ()}, "output layer"),
        ({"batch_size": 0}, "batch_size"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed"),
        ({"dtype": "float16"}, "dtype"),
    ],
)
def test_bad_settings(change, error):
    with pytest.raises(OutOfRangeError, match=error):
        settings(**change)


@pytest.mark.parametrize(
    "change",
    [{"first_interval": 0}, {"first_interval": np.inf}, {"growth": -1}, {"growth": 11}, {"redraw_every": -1}],
)
def test_bad_schedules(change):
    with pytest.raises(OutOfRangeError, match=next(iter(change))):
        Schedule(**change)


@pytest.mark.parametrize(
    "change",
    [{"family": "md5"}, {"codes_per_table": 0}, {"tables": 0}, {"bin_size": 1}, {"table_bits": 33}, {"capacity": 0},
     {"sampling": Sampling(strategy="most")}, {"sampling": Sampling(strategy="vanilla")},
     {"sampling": Sampling(minimum_active=-1)}, {"sampling": Sampling(minimum_count=-1)}],
    ids=str,
)  # fmt: skip
def test_bad_tables(change):
    with pytest.raises(OutOfRangeError, match="expected"):
        Hashing(**change)


@pytest.mark.parametrize("change", [{"neurons": 0}, {"neurons": 1, "initial_scale": -1.0}])
def test_bad_layers(change):
    with pytest.raises(OutOfRangeError, match="expected"):
        LayerSettings(**change)


def test_data_that_do_not_fit():
    with pytest.raises(ShapeError, match="labels"):
        Trainer(settings(), DATA.features, DATA.labels[:, :39])
    with pytest.raises(ShapeError, match="labels"):
        Trainer(settings(), DATA.features[:9], DATA.labels)
    with pytest.raises(ShapeError, match="at least one row"):
        Trainer(settings(), DATA.features[:0], DATA.labels[:0])
    broken = DATA.features.copy()
    broken.data[0] = np.nan
    with pytest.raises(NonFiniteError, match="features"):
        Trainer(settings(), broken, DATA.labels)
    with pytest.raises(OutOfRangeError, match="bin_size"):
        trainer(hashing=Hashing(bin_size=17))


def naive_top_k(network, features, k):
    inputs = features.toarray()
    for layer in network.layers[:-1]:
        inputs = np.maximum(0, inputs @ layer.weights.T + layer.biases)
    scores = inputs @ network.layers[-1].weights.T + network.layers[-1].biases
    return np.lexsort((np.broadcast_to(np.arange(scores.shape[1]), scores.shape), -scores), axis=1)[:, :k], scores


@pytest.mark.parametrize("k", [1, 3, 40])
def test_exact_top_k_in_blocks(monkeypatch, k):
    monkeypatch.setattr(inference, "NEURONS_AT_A_TIME", 7)
    monkeypatch.setattr(inference, "SAMPLES_AT_A_TIME", 32)
    one = trainer(dtype="float64")
    layer = one.network.layers[1]
    layer.weights[5] = layer.weights[30] = layer.weights[6]  # ties, within a block and across blocks
    ranking = inference.exact_top_k(one.network, DATA.features, k)
    labels, scores = naive_top_k(one.network, one.features, k)
    assert ranking.labels.tolist() == labels.tolist()
    np.testing.assert_allclose(ranking.scores, np.take_along_axis(scores, labels, axis=1), rtol=1e-12)


def test_sampled_top_k_finds_less_and_says_how_much():
    one = trainer(dtype="float64")
    exact = inference.exact_top_k(one.network, DATA.features, 5)
    sampled = inference.sampled_top_k(one.network, DATA.features, 5, PAPER)
    recall = inference.recall_against(exact, sampled)
    naive = [len(set(a) & set(b)) / 5 for a, b in zip(exact.labels, sampled.labels, strict=True)]
    assert recall.tolist() == naive
    assert 0 < recall.mean() < 1
    by_question = inference.top_k(one.network, DATA.features, 5, PAPER.replace(inference="sampled"))
    assert by_question.labels.tolist() == sampled.labels.tolist()


def test_small_active_sets_leave_places_open():
    active = ActiveSets(np.array([0, 2, 2, 5]), np.array([3, 8, 1, 4, 6]))
    ranking = inference.ragged_top_k(active, np.array([1.0, 2.0, 5.0, 7.0, 7.0]), 3)
    assert ranking.labels.tolist() == [[8, 3, -1], [-1, -1, -1], [4, 6, 1]]
    assert ranking.scores.tolist()[0] == [2.0, 1.0, -np.inf]


def test_bad_questions():
    one = trainer()
    with pytest.raises(OutOfRangeError, match="1 to 40"):
        inference.exact_top_k(one.network, DATA.features, 41)
    with pytest.raises(ShapeError, match="80 columns, got 79"):
        inference.exact_top_k(one.network, DATA.features[:, :79], 1)


def test_metrics_by_name():
    labels = sparse.csr_array(np.eye(3))
    metrics = ranking_metrics(np.array([[0, 1], [0, 1], [0, 1]]), labels, (1, 2), np.full(3, 0.5))
    assert metrics["P@1"] == pytest.approx(1 / 3)
    assert metrics["R@2"] == pytest.approx(2 / 3)
    assert {name.split("@")[0] for name in metrics} == {"P", "nDCG", "R", "PSP"}


def test_progress_lines(capsys):
    one = trainer()
    shown = progress(5)
    assert isinstance(shown, Lines)
    one.run(1, [shown])
    shown.close()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "step 5/5, epoch 1: loss" in printed.err
    assert "samples/s" in printed.err


def test_a_bar_where_there_is_a_terminal():
    pytest.importorskip("tqdm", reason="the live bar is the extra `progress`")
    from io import StringIO

    class Terminal(StringIO):
        def isatty(self):
            return True

    stream, one = Terminal(), trainer()
    bar = progress(5, stream=stream)
    one.run(1, [bar])
    bar.close()
    assert "5/5" in stream.getvalue()
    assert "loss=" in stream.getvalue()


def test_every_sample_has_a_padding_window_of_its_own():
    one = trainer()
    candidates, pool = one.draws(60)[1].candidates, one.pools[1]
    places = np.argsort(pool)[candidates]  # where in the pool each candidate stands
    assert (np.diff(places, axis=1) % 40 == 1).all()
    assert candidates.shape == (60, 10)
    assert len(set(places[:, 0].tolist())) > 20  # of 40; 60 draws leave fewer with probability 4.6e-8


def test_the_callers_labels_stay_as_they_are():
    labels = DATA.labels.astype(np.float32)
    labels.data[0] = 0
    stored = labels.indices.copy(), labels.indptr.copy(), labels.data.copy()
    one = Trainer(settings(), DATA.features, labels)
    assert one.labels.nnz == labels.nnz - 1
    for before, after in zip(stored, (labels.indices, labels.indptr, labels.data), strict=True):
        assert np.array_equal(before, after)


def test_a_network_that_was_trained_before_goes_on():
    first = trainer()
    first.run(2)
    held = first.network.layers[1].tables.tables
    second = Trainer(first.settings, DATA.features, DATA.labels, first.network)
    assert second.network.layers[1].tables.tables is held
    assert sorted(second.pools[1].tolist()) == list(range(40))
    assert second.pools[0].size == 0
    assert second.step().step == 11


def test_rows_are_weighed_by_their_own_weights():
    """Weights follow their rows into shuffled batches: the loss of each step is that of its rows."""
    weights = np.arange(150.0)
    plain, weighed = trainer(hashing=None), Trainer(settings(None), DATA.features, DATA.labels, sample_weights=weights)
    rows = plain.row_order[:32]
    result = training.training_step(
        plain.network, DATA.features[rows], DATA.labels[rows], plain.draws(32), plain.settings.optimizer, PAPER
    )
    losses = result.batch_pass.losses
    assert weighed.step().loss == pytest.approx(float(np.mean(weights[rows] * losses)), rel=1e-5)


@pytest.mark.parametrize(
    ("weights", "error"),
    [(np.ones(149), ShapeError), (np.full(150, np.nan), NonFiniteError), (-np.arange(150.0), OutOfRangeError)],
    ids=["too few", "NaN", "negative"],
)
def test_bad_weights(weights, error):
    with pytest.raises(error, match="sample_weights"):
        Trainer(settings(), DATA.features, DATA.labels, sample_weights=weights)


def test_a_run_turns_to_other_rows():
    one = trainer()
    one.run(1, steps=3)
    one.turn_to(DATA.features[:50], DATA.labels[:50], np.ones(50))
    assert (one.position, sorted(one.row_order.tolist())) == (0, list(range(50)))
    one.run(1)
    assert one.network.steps == 5  # 50 rows in batches of 32
    with pytest.raises(ShapeError, match="79"):
        one.turn_to(DATA.features[:, :79], DATA.labels)
    with pytest.raises(ShapeError, match="labels"):
        one.turn_to(DATA.features, DATA.labels[:9])
    assert one.features.shape == (50, 80)


def test_to_turn_to_the_same_rows_between_epochs_changes_nothing():
    whole, turned = trainer(), trainer()
    whole.run(3)
    for epoch in (1, 2, 3):
        turned.turn_to(DATA.features, DATA.labels)
        turned.run(epoch)
    assert np.array_equal(whole.network.layers[1].weights, turned.network.layers[1].weights)


def test_every_step_is_recorded_as_it_was():
    """Without tables every neuron is active, and the record says so."""
    one = trainer(hashing=None)
    one.run(2)
    assert [row["step"] for row in one.history] == list(range(1, 11))
    assert [row["epoch"] for row in one.history] == [0] * 5 + [1] * 5
    assert [row["samples"] for row in one.history] == [32, 32, 32, 32, 22] * 2
    assert {row["active_share"] for row in one.history} == {1.0}
    assert all(row["seconds"] > 0 and 0 <= row["precision_at_1"] <= 1 for row in one.history)
    json.dumps(one.history)


def test_a_run_ends_at_its_steps_or_epochs_whichever_comes_first():
    one = trainer()
    assert one.run(3, steps=7) is True
    assert (one.network.steps, one.epoch, one.position) == (7, 1, 64)
    one.run(2, steps=99)
    assert (one.network.steps, one.epoch, one.position) == (10, 2, 0)
    one.run(2)
    assert one.network.steps == 10


def test_a_trained_network_goes_on_in_its_schedule():
    first = trainer(schedule=Schedule(first_interval=3))
    first.run(9, steps=10)
    second = Trainer(first.settings, first.features, first.labels, first.network)
    assert second.rebuilds == first.rebuilds == 3
    second.run(9, steps=11)
    assert second.rebuilds == 3
    second.run(9, steps=12)
    assert second.rebuilds == 4


@pytest.mark.parametrize(
    ("layers", "changes", "words"),
    [
        ([("neurons", 8), None], {}, "layer 0: expected neurons 8"),
        ([None, ("hashing", None)], {}, "layer 1: expected tables False"),
        ([None, None], {"dtype": "float64"}, "layer 0: expected dtype float64 as the settings say, got float32"),
        ([None], {}, "expected 1 layers, got 2"),
    ],
)
def test_a_network_that_the_settings_do_not_describe(layers, changes, words):
    trained = trainer()
    given_layers = trained.settings.layers[len(trained.settings.layers) - len(layers) :]
    wanted = [
        one if change is None else dataclasses.replace(one, **dict([change]))
        for one, change in zip(given_layers, layers, strict=True)
    ]
    other = dataclasses.replace(trained.settings, layers=tuple(wanted), **changes)
    with pytest.raises(ShapeError, match=words):
        Trainer(other, DATA.features, DATA.labels, network=trained.network)
