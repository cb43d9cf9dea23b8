"""Predictions against scores that are all computed and sorted, and the metrics made of them."""

import numpy as np
import pytest

from pyslide import inference
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.engine.network import input_keys, neuron_keys
from pyslide.errors import NonFiniteError, OutOfRangeError, ShapeError
from pyslide.evaluation import evaluate
from pyslide.inference import Ranking, exact_top_k, recall_against, sampled_top_k
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec.sampling import Sampling
from pyslide.training import Trainer, TrainingSettings

DATA = planted_dataset(90, 40, 35, np.random.default_rng(3), nonzeros_per_row=8, labels_per_row=2)


@pytest.fixture(scope="module")
def network():
    hashing = Hashing(codes_per_table=3, tables=4, bin_size=4, sampling=Sampling(minimum_active=20))
    layers = (LayerSettings(neurons=12, initial_scale=0.5), LayerSettings(neurons=35, hashing=hashing))
    one = Trainer(TrainingSettings(layers=layers, batch_size=32, dtype="float64"), DATA.features, DATA.labels)
    one.run(2)
    one.rebuild(new_functions=False)
    return one.network


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(inference, "NEURONS_AT_A_TIME", 8)
    monkeypatch.setattr(inference, "SAMPLES_AT_A_TIME", 32)


def outputs(network):
    hidden, output = network.layers
    inputs = np.maximum(0, DATA.features.toarray() @ hidden.weights.T + hidden.biases)
    return inputs, inputs @ output.weights.T + output.biases


def best(scores, allowed, k):
    """Sort all of one row's scores; equal ones by id."""
    order = [int(place) for place in np.argsort(-scores, kind="stable") if allowed[place]][:k]
    return order + [-1] * (k - len(order))


@pytest.mark.parametrize("k", [1, 5, 8, 9, 35])
def test_exact_top_k(network, k):
    scores = outputs(network)[1]
    ranking = exact_top_k(network, DATA.features, k)
    assert ranking.labels.tolist() == [best(row, np.ones(35, dtype=bool), k) for row in scores]
    np.testing.assert_allclose(ranking.scores, np.take_along_axis(scores, ranking.labels, axis=1), rtol=1e-10)
    dense = exact_top_k(network, DATA.features.toarray(), k)
    assert np.array_equal(dense.labels, ranking.labels)


@pytest.mark.parametrize("k", [1, 4, 8, 9, 20])
def test_equal_scores_go_to_the_smaller_label_across_blocks(network, k):
    """Integers as scores: exact ties, many of them."""
    scores = np.random.default_rng(k).integers(0, 4, (50, 35)).astype(float)
    wanted = [best(row, np.ones(35, dtype=bool), k) for row in scores]
    ranking = inference.nothing_yet(50, k, scores.dtype)
    for start in range(0, 35, 8):
        columns, part = inference.block_top_k(scores[:, start : start + 8], k)
        ranking = inference.merge(ranking, columns + start, part)
    assert ranking.labels.tolist() == wanted


@pytest.mark.parametrize("k", [1, 5, 35])
def test_sampled_top_k(network, k):
    """A neuron counts if a table holds it under the key of the row, whatever the padding of the training."""
    inputs, scores = outputs(network)
    layer = network.layers[1]
    keys = neuron_keys(layer, layer.tables, PAPER)[0]
    found = (input_keys(inputs, layer.tables, PAPER)[:, None, :] == keys[None]).any(axis=2)
    assert 0 < found.mean() < 0.9
    ranking = sampled_top_k(network, DATA.features, k, PAPER)
    wanted = [best(row, allowed, k) for row, allowed in zip(scores, found, strict=True)]
    assert ranking.labels.tolist() == wanted
    open_places = ranking.labels < 0
    assert (ranking.scores[open_places] == -np.inf).all()
    assert k < 35 or open_places.any()


def test_recall_against():
    exact = Ranking(np.array([[3, 1], [0, 2], [5, 4]]), np.zeros((3, 2)))
    sampled = Ranking(np.array([[1, 3], [2, 7], [-1, -1]]), np.zeros((3, 2)))
    assert recall_against(exact, sampled).tolist() == [1.0, 0.5, 0.0]


def test_no_rows(network):
    for ranking in (
        exact_top_k(network, DATA.features[:0], 3), sampled_top_k(network, DATA.features[:0], 3, PAPER)
    ):  # fmt: skip
        assert ranking.labels.shape == ranking.scores.shape == (0, 3)


@pytest.mark.parametrize("answer", ["all_neurons", "sampled"])
def test_evaluation_is_the_share_of_right_labels(network, answer):
    conventions = PAPER.replace(inference=answer)
    ranking = inference.top_k(network, DATA.features, 3, conventions)
    labels = DATA.labels.toarray() != 0
    hits = np.array([
        [place >= 0 and labels[row, place] for place in places] for row, places in enumerate(ranking.labels)
    ])
    metrics = evaluate(network, DATA.features, DATA.labels, conventions, ranks=(1, 3, 99))
    assert metrics["P@1"] == pytest.approx(hits[:, 0].mean())
    assert metrics["P@3"] == pytest.approx(hits.sum() / 3 / 90)
    assert "P@99" not in metrics


@pytest.mark.parametrize("method", [exact_top_k, lambda *rest: sampled_top_k(*rest, PAPER)], ids=["exact", "sampled"])
def test_bad_input(network, method):
    broken = DATA.features.toarray()
    broken[3, 3] = np.inf
    with pytest.raises(NonFiniteError, match="features"):
        method(network, broken, 1)
    with pytest.raises(ShapeError, match="40 columns, got 39"):
        method(network, DATA.features[:, :39], 1)
    with pytest.raises(ShapeError, match="two dimensions"):
        method(network, np.zeros(40), 1)
    for k in (0, 36):
        with pytest.raises(OutOfRangeError, match="1 to 35"):
            method(network, DATA.features, k)
