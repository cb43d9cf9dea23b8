"""The simulator: serialised it is the plain step, and staleness and losses are what they are said to be."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyslide.building import build_network, rebuild_layer
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.engine.step import Draws, training_step
from pyslide.errors import OrderError, OutOfRangeError
from pyslide.experiments import staleness_study as study
from pyslide.inference import exact_top_k
from pyslide.metrics import precision_at_k
from pyslide.randomness import draw_candidates, draw_permutation, draw_table_orders, draw_turns, generators
from pyslide.settings import CandidateSampling, Hashing, LayerSettings
from pyslide.simulator import (
    ACTS,
    Act,
    BatchData,
    Event,
    Interleaving,
    Loss,
    bounded_interleaving,
    own_copy,
    random_interleaving,
    replay,
    serialised,
    with_staleness,
)
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Trainer, TrainingSettings

BATCHES, FEATURES, LABELS = 6, 30, 24
HASHING = Hashing(codes_per_table=1, tables=4, bin_size=4, sampling=Sampling(minimum_active=6))
LAYERS = (LayerSettings(neurons=8), LayerSettings(neurons=LABELS, hashing=HASHING))
ADAM, SGD = Optimizer(learning_rate=0.01), Optimizer(rule="sgd", learning_rate=0.1)
ARRAYS = ("weights", "biases", "weight_first", "weight_second", "bias_first", "bias_second", "touches")


def problem(conventions=PAPER):
    weights, functions, draws = generators(5, 3)
    network = build_network(LAYERS, FEATURES, conventions, weights, functions, np.float64)
    rebuild_layer(network.layers[1], HASHING, conventions, draws, new_functions=False)
    data = planted_dataset(4 * BATCHES, FEATURES, LABELS, draws, nonzeros_per_row=8, labels_per_row=2.0)
    batches = []
    for start in range(0, 4 * BATCHES, 4):
        rows = slice(start, start + 4)
        none = np.empty((4, 0), dtype=np.int64)
        own = Draws(draw_table_orders(draws, 4, 4), np.stack([draw_permutation(draws, LABELS) for _ in range(4)]))
        batches.append(BatchData(data.features[rows].astype(np.float64), data.labels[rows], [Draws(none, none), own]))
    return network, batches


def stepped(network, batches, optimizer, conventions=PAPER):
    for one in batches:
        training_step(network, one.features, one.labels, one.draws, optimizer, conventions)
    return network


def same(one, other):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.layers, other.layers, strict=True)
        for name in ARRAYS
    )


@pytest.mark.parametrize("rows", ["touched_global_step", "touched_own_step", "every_weight"])
@pytest.mark.parametrize("optimizer", [ADAM, SGD], ids=["adam", "sgd"])
def test_serialised_is_synchronous_bit_for_bit(optimizer, rows):
    conventions = PAPER.replace(adam_rows=rows)
    network, batches = problem(conventions)
    plain = stepped(own_copy(network), batches, optimizer, conventions)
    losses = replay(network, batches, serialised(BATCHES), optimizer, conventions)
    assert same(network, plain)
    assert network.steps == plain.steps == BATCHES
    assert losses[-1] < np.log(LABELS) + 1


def sampled_problem():
    """Return a network with a sampled softmax, and batches each with its candidates."""
    layers = (LAYERS[0], LayerSettings(neurons=LABELS, candidates=CandidateSampling(distribution="uniform", count=5)))
    _, batches = problem()
    weights, functions, draws = generators(5, 3)
    network = build_network(layers, FEATURES, PAPER, weights, functions, np.float64)
    none = np.empty((4, 0), dtype=np.int64)
    drawn = [Draws(none, *draw_candidates(draws, "uniform", 5, np.arange(LABELS))) for _ in batches]
    return network, [replace(one, draws=[one.draws[0], own]) for one, own in zip(batches, drawn, strict=True)]


def test_a_sampled_softmax_is_replayed_too():
    network, batches = sampled_problem()
    plain = stepped(own_copy(network), batches, ADAM)
    before = own_copy(network).layers[1]
    interleaving = serialised(BATCHES)
    everything = {batch: (Loss(1, frozenset({3})),) for batch in range(BATCHES)}
    lossy = own_copy(network)
    replay(lossy, batches, Interleaving(interleaving.events, everything), ADAM, PAPER)
    replay(network, batches, interleaving, ADAM, PAPER)
    assert same(network, plain)
    # a lost row is a neuron, as in a layer with tables, and its bias is lost with it
    assert np.array_equal(lossy.layers[1].weights[3], before.weights[3])
    assert lossy.layers[1].biases[3] == before.biases[3] != plain.layers[1].biases[3]


def test_no_staleness_is_serialised():
    assert with_staleness(5, 0).events == serialised(5).events


@pytest.mark.parametrize("staleness", [1, 2, 4])
def test_stale_batches_read_weights_of_so_many_writes_ago(staleness):
    """SGD without momentum: each batch's gradient is taken at the weights before the last writes, and added now."""
    network, batches = problem()
    snapshots = [own_copy(network)]
    for batch, one in enumerate(batches):
        stale = own_copy(snapshots[max(0, batch - staleness)])
        before = own_copy(stale)
        training_step(stale, one.features, one.labels, one.draws, SGD, PAPER)
        now = own_copy(snapshots[-1])
        for layer, old, new in zip(now.layers, before.layers, stale.layers, strict=True):
            layer.weights += new.weights - old.weights
            layer.biases += new.biases - old.biases
        snapshots.append(now)
    replay(network, batches, with_staleness(BATCHES, staleness), SGD, PAPER)
    for layer, expected in zip(network.layers, snapshots[-1].layers, strict=True):
        np.testing.assert_allclose(layer.weights, expected.weights, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(layer.biases, expected.biases, rtol=1e-12, atol=1e-14)
    assert with_staleness(BATCHES, staleness).staleness().tolist() == [
        min(batch, staleness) for batch in range(BATCHES)
    ]


def test_a_row_that_is_gathered_before_another_writes_it_loses_that_update():
    network, batches = problem()
    alone = {}
    for batch in (0, 1):
        alone[batch] = own_copy(network)
        order = serialised(1)
        replay(alone[batch], [batches[batch]], order, SGD, PAPER)
    both = Interleaving(tuple(Event(batch, act) for act in ACTS for batch in (0, 1)))
    start = own_copy(network)
    replay(network, batches[:2], both, SGD, PAPER)
    for layer, old, first, second in zip(
        network.layers, start.layers, alone[0].layers, alone[1].layers, strict=True
    ):
        by_second = (second.rows.values != old.rows.values).any(axis=1)
        assert np.array_equal(layer.rows.values[by_second], second.rows.values[by_second])
        assert np.array_equal(layer.rows.values[~by_second], first.rows.values[~by_second])
        assert by_second.any()


def test_exactly_the_rows_that_are_named_are_lost():
    network, batches = problem()
    whole, start = own_copy(network), own_copy(network)
    replay(whole, batches[:1], serialised(1), ADAM, PAPER)
    moved = np.flatnonzero((whole.layers[1].weights != start.layers[1].weights).any(axis=1))
    gone = frozenset(moved[::2].tolist())
    lossy = Interleaving(serialised(1).events, {0: (Loss(1, gone),)})
    replay(network, batches[:1], lossy, ADAM, PAPER)
    for neuron in range(LABELS):
        expected = start if neuron in gone else whole
        assert np.array_equal(network.layers[1].weights[neuron], expected.layers[1].weights[neuron])
        assert network.layers[1].biases[neuron] == expected.layers[1].biases[neuron]
        assert network.layers[1].touches[neuron] == expected.layers[1].touches[neuron]
    assert np.array_equal(network.layers[0].weights, whole.layers[0].weights)


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_random_interleavings_are_some_workers(batches, workers, seed):
    drawn = random_interleaving(np.random.default_rng(seed), batches, workers)
    assert drawn.batches == batches
    place = {event: number for number, event in enumerate(drawn.events)}
    for batch in range(workers, batches):  # a worker takes its next batch when it has written the one before
        assert place[Event(batch, Act.READ)] > place[Event(batch - workers, Act.WRITE)]
    stale = drawn.staleness()
    assert stale.max(initial=0) <= batches
    if workers == 1:
        assert drawn.events == serialised(batches).events


@given(st.integers(1, 12), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_random_interleavings_keep_within_the_maximal_staleness(batches, staleness, seed):
    drawn = bounded_interleaving(np.random.default_rng(seed), batches, staleness)
    assert drawn.batches == batches
    assert drawn.staleness().max() <= staleness
    if staleness == 0:
        assert drawn.events == serialised(batches).events


def test_random_interleavings_reach_the_maximal_staleness_and_every_lesser_one():
    seen = set()
    for seed in range(200):
        seen.update(bounded_interleaving(np.random.default_rng(seed), 8, 3).staleness().tolist())
    assert seen == {0, 1, 2, 3}


def test_a_staleness_that_cannot_be():
    with pytest.raises(OutOfRangeError, match="staleness: expected at least 0, got -1"):
        bounded_interleaving(np.random.default_rng(0), 3, -1)


def test_turns_are_shares_in_any_order():
    counted = np.zeros(3)
    for seed in range(600):
        turns = draw_turns(np.random.default_rng(seed), np.array([1, 1, 2]))
        assert np.bincount(turns).tolist() == [1, 1, 2]
        counted[turns[0]] += 1
    assert (np.abs(counted / 600 - [0.25, 0.25, 0.5]) < 0.1).all()  # 5 standard deviations of 0.02


@pytest.mark.parametrize(
    "events",
    [
        [(0, Act.READ), (0, Act.WRITE), (0, Act.GATHER)],
        [(0, Act.READ), (0, Act.GATHER)],
        [(1, Act.READ), (1, Act.GATHER), (1, Act.WRITE)],
        [(0, Act.READ), (0, Act.READ), (0, Act.GATHER), (0, Act.WRITE)],
    ],
)
def test_what_is_no_interleaving(events):
    with pytest.raises(OrderError, match="expected read, gather, write"):
        Interleaving(tuple(Event(*event) for event in events))


def test_losses_and_batches_have_to_be_there():
    with pytest.raises(OutOfRangeError, match="lost"):
        Interleaving(serialised(1).events, {3: ()})
    network, batches = problem()
    with pytest.raises(OutOfRangeError, match="expected 6 batches, got 2"):
        replay(network, batches, serialised(2), ADAM, PAPER)


def test_the_study_without_staleness_is_the_plain_trainer(capsys):
    assert study.main(["--epochs", "1", "--seeds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    scores = {line.split("|")[1].strip(): float(line.split("|")[2]) for line in lines}
    assert set(scores) == set(study.orders(0))
    training, test = study.load_standard_library("train"), study.load_standard_library("test")
    assert scores["every batch misses 0 writes"] == pytest.approx(plain_score(training, test), abs=0.005)
    assert scores["every batch misses 15 writes"] < scores["every batch misses 0 writes"]


def plain_score(training, test):
    hashing = Hashing(codes_per_table=4, tables=50, sampling=Sampling(minimum_active=training.label_count // 5))
    layers = (LayerSettings(neurons=128), LayerSettings(neurons=training.label_count, hashing=hashing))
    weighted = PAPER.replace(padding_weight="inverse_probability")
    settings = TrainingSettings(layers=layers, seed=0, optimizer=Optimizer(learning_rate=2e-3), conventions=weighted)
    trainer = Trainer(settings, training.features, training.labels)
    trainer.run(1)
    return 100 * precision_at_k(exact_top_k(trainer.network, test.features, 1).labels, test.labels, 1)
