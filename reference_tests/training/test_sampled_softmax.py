"""Training with a sampled softmax: what competes with the labels, that it repeats, and where it is the full softmax."""

import numpy as np
import pytest

from pyslide.building import classes_by_frequency, layer_candidates
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.errors import OutOfRangeError
from pyslide.evaluation import evaluate, most_frequent_labels
from pyslide.inference import exact_top_k, sampled_top_k
from pyslide.randomness import draw_candidates, generators
from pyslide.settings import CandidateSampling, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.training import Trainer, TrainingSettings

DATA = planted_dataset(150, 80, 40, np.random.default_rng(0), nonzeros_per_row=10, labels_per_row=2)
FREQUENCIES = np.asarray((DATA.labels != 0).sum(axis=0)).ravel()


def trainer(candidates, **changes):
    layers = (LayerSettings(neurons=16), LayerSettings(neurons=40, candidates=candidates))
    settings = TrainingSettings(**{"layers": layers, "batch_size": 32, **changes})
    return Trainer(settings, DATA.features, DATA.labels)


def sampling(distribution="log_uniform", count=7, correction=True):
    return CandidateSampling(distribution=distribution, count=count, correction=correction)


@pytest.mark.parametrize("distribution", ["uniform", "log_uniform"])
@pytest.mark.parametrize("rule", ["adam", "sgd"])
def test_with_all_classes_it_is_the_full_softmax(distribution, rule):
    """Of S = n candidates each is certain, but for log-uniform counts; float64, where sums have other orders."""
    changes = {"dtype": "float64", "optimizer": Optimizer(rule=rule, learning_rate=0.01)}
    full, sampled = trainer(None, **changes), trainer(sampling(distribution, 40, distribution == "uniform"), **changes)
    full.run(2)
    sampled.run(2)
    for one, other in zip(full.network.layers, sampled.network.layers, strict=True):
        np.testing.assert_allclose(other.weights, one.weights, rtol=1e-7, atol=1e-9)
    losses = [[row["loss"] for row in run.history] for run in (full, sampled)]
    np.testing.assert_allclose(*losses, rtol=1e-9)
    assert all(row["active_share"] == 1 for row in sampled.history)


def test_a_uniform_correction_changes_nothing():
    """Q is the same for all classes, and a softmax does not change by a constant."""
    runs = [trainer(sampling("uniform", 7, correction), dtype="float64") for correction in (True, False)]
    for run in runs:
        run.run(2)
    np.testing.assert_allclose(*(run.network.layers[-1].weights for run in runs), rtol=1e-7, atol=1e-10)


def test_same_seed_same_bits_and_other_candidates_at_every_step():
    runs = [trainer(sampling()) for _ in range(2)]
    for run in runs:
        run.run(3)
    assert np.array_equal(*(run.network.layers[1].weights for run in runs))
    first, second = (runs[0].draws(32)[1] for _ in range(2))
    assert first.candidates.shape == (7,)
    assert not np.array_equal(np.sort(first.candidates), np.sort(second.candidates))
    assert first.tries >= 7


def test_classes_are_ranked_by_how_many_rows_have_them():
    held = trainer(sampling()).network.layers[1].candidates
    assert (np.diff(FREQUENCIES[held.classes]) <= 0).all()
    np.testing.assert_array_equal(held.ranks[held.classes], np.arange(40))
    np.testing.assert_array_equal(classes_by_frequency(np.array([1, 5, 0, 5])), [1, 3, 0, 2])
    np.testing.assert_array_equal(layer_candidates(sampling(), np.array([1, 3, 0, 2])).ranks, [2, 0, 3, 1])


def test_active_are_the_candidates_and_the_labels():
    one = trainer(sampling(count=5))
    record = one.step()
    assert 5 / 40 <= record.active_share <= 8 / 40
    touched = one.network.layers[1].touches
    assert 0 < touched.sum() < 40
    assert one.network.layers[1].weights.flags.c_contiguous


def test_it_learns():
    data = planted_dataset(900, 200, 50, np.random.default_rng(1), nonzeros_per_row=20, labels_per_row=1)
    layers = (LayerSettings(neurons=32), LayerSettings(neurons=50, candidates=sampling(count=10)))
    settings = TrainingSettings(layers=layers, optimizer=Optimizer(learning_rate=0.01))
    one = Trainer(settings, data.features[:700], data.labels[:700])
    one.run(8)
    learned = evaluate(one.network, data.features[700:], data.labels[700:], PAPER, ranks=(1,))["P@1"]
    assert learned > 2 * most_frequent_labels(data.labels[:700], data.labels[700:], (1,))["P@1"]


def test_predictions_compute_all_classes():
    one = trainer(sampling())
    one.run(1)
    exact, sampled = exact_top_k(one.network, DATA.features, 3), sampled_top_k(one.network, DATA.features, 3, PAPER)
    np.testing.assert_array_equal(exact.labels, sampled.labels)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"distribution": "zipf"}, "distribution: expected one of uniform, log_uniform, got 'zipf'"),
        ({"count": 0}, "count of candidates: expected at least 1, got 0"),
        ({"count": 41}, "count of candidates: expected at most the 40 neurons, got 41"),
    ],
)
def test_candidates_that_cannot_be(change, words):
    with pytest.raises(OutOfRangeError, match=words):
        trainer(sampling(**change))


@pytest.mark.parametrize("distribution", ["uniform", "log_uniform"])
def test_all_classes_can_be_drawn_but_no_more(distribution):
    (generator,) = generators(0, 1)
    assert sorted(draw_candidates(generator, distribution, 9, np.arange(9))[0]) == list(range(9))
    with pytest.raises(OutOfRangeError, match="expected at most the 9 classes, got 10"):
        draw_candidates(generator, distribution, 10, np.arange(9))


def test_candidates_have_no_tables_beside_them():
    with pytest.raises(OutOfRangeError, match="candidates: expected no hashing beside them"):
        LayerSettings(neurons=40, hashing=Hashing(), candidates=sampling())


def test_candidates_are_for_the_output():
    layers = (LayerSettings(neurons=16, candidates=sampling()), LayerSettings(neurons=40))
    with pytest.raises(OutOfRangeError, match="candidates in the output layer only, layer 0"):
        TrainingSettings(layers=layers)
