"""The metrics against cases worked by hand, a naive implementation and scikit-learn."""

from __future__ import annotations

from math import log, log2

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from sklearn.metrics import ndcg_score

from pyslide.errors import DtypeError, NonFiniteError, OrderError, OutOfRangeError, ShapeError
from pyslide.metrics import (
    ndcg_at_k,
    precision_at_k,
    propensities,
    propensity_scored_precision_at_k,
    recall_at_k,
    top_k,
)

RANKED = np.array([[3, 0, 4], [1, 2, -1], [0, 1, 2]])
TRUTH = [{0, 3}, {0, 2, 4}, set()]
PROPENSITIES = np.array([0.5, 1.0, 0.25, 0.8, 0.1])


def as_labels(truth, n_labels=5):
    rows = [sorted(row) for row in truth]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    indices = np.array([label for row in rows for label in row], dtype=np.int32)
    return csr_array((np.ones(indices.size, dtype=np.float32), indices, indptr), shape=(len(rows), n_labels))


LABELS = as_labels(TRUTH)


def naive_precision(ranked, truth, k):
    return sum(len(set(row[:k]) & labels) / k for row, labels in zip(ranked, truth, strict=True)) / len(truth)


def naive_recall(ranked, truth, k):
    of_rows = [
        len(set(row[:k]) & labels) / len(labels) if labels else 0.0 for row, labels in zip(ranked, truth, strict=True)
    ]
    return sum(of_rows) / len(of_rows)


def naive_ndcg(ranked, truth, k):
    total = 0.0
    for row, labels in zip(ranked, truth, strict=True):
        if labels:
            gain = sum(1 / log2(place + 2) for place, label in enumerate(row[:k]) if label in labels)
            total += gain / sum(1 / log2(place + 2) for place in range(min(k, len(labels))))
    return total / len(truth)


def naive_weighted_precision(ranked, truth, weights, k):
    attained = sum(weights[label] for row, labels in zip(ranked, truth, strict=True) for label in set(row[:k]) & labels)
    best = sum(sum(sorted((weights[label] for label in labels), reverse=True)[:k]) for labels in truth)
    return attained / best


class TestByHand:
    def test_precision(self):
        assert precision_at_k(RANKED, LABELS, 1) == 1 / 3
        assert precision_at_k(RANKED, LABELS, 2) == pytest.approx((1 + 1 / 2 + 0) / 3, rel=1e-15)
        assert precision_at_k(RANKED, LABELS, 3) == pytest.approx((2 / 3 + 1 / 3 + 0) / 3, rel=1e-15)

    def test_recall(self):
        assert recall_at_k(RANKED, LABELS, 1) == pytest.approx((1 / 2 + 0 + 0) / 3, rel=1e-15)
        assert recall_at_k(RANKED, LABELS, 3) == pytest.approx((1 + 1 / 3 + 0) / 3, rel=1e-15)

    def test_ndcg(self):
        second = 1 / log2(3)
        assert ndcg_at_k(RANKED, LABELS, 1) == pytest.approx(1 / 3, rel=1e-15)
        assert ndcg_at_k(RANKED, LABELS, 2) == pytest.approx((1 + second / (1 + second) + 0) / 3, rel=1e-15)
        assert ndcg_at_k(RANKED, LABELS, 3) == pytest.approx((1 + second / (1.5 + second) + 0) / 3, rel=1e-15)

    def test_propensity_scored_precision(self):
        # Weights 2, 1, 4, 1.25, 10.  Attained at 2: (1.25 + 2) + 4; best: (2 + 1.25) + (10 + 4).
        assert propensity_scored_precision_at_k(RANKED, LABELS, PROPENSITIES, 2) == pytest.approx(7.25 / 17.25)
        assert propensity_scored_precision_at_k(RANKED, LABELS, PROPENSITIES, 1) == pytest.approx(1.25 / (2 + 10))

    def test_propensities(self):
        train = as_labels([{0}, {0, 1}, {0}, set()], n_labels=3)
        scale = (log(4) - 1) * 2.5**0.55
        expected = [1 / (1 + scale * (count + 1.5) ** -0.55) for count in (3, 1, 0)]
        np.testing.assert_allclose(propensities(train), expected, rtol=1e-14)

    def test_unfilled_places_do_not_hit_the_last_label(self):
        labels = as_labels([{4}])
        assert precision_at_k(np.array([[-1, -1]]), labels, 2) == 0
        assert propensity_scored_precision_at_k(np.array([[-1, -1]]), labels, PROPENSITIES, 2) == 0

    def test_unfilled_places_do_not_hit_the_row_before(self):
        assert precision_at_k(np.array([[0], [-1]]), as_labels([{4}, set()]), 1) == 0

    def test_equal_propensities_make_it_precision_over_the_best_precision(self):
        attained = propensity_scored_precision_at_k(RANKED, LABELS, np.full(5, 0.3), 3)
        assert attained == pytest.approx(3 / 5)

    def test_a_row_without_labels_counts_as_zero(self):
        with_row = (RANKED, LABELS, 2)
        without = (RANKED[:2], as_labels(TRUTH[:2]), 2)
        for metric in (precision_at_k, recall_at_k, ndcg_at_k):
            assert metric(*with_row) == pytest.approx(metric(*without) * 2 / 3)


class TestTopK:
    def test_equal_scores_go_to_the_smaller_id(self):
        scores = np.array([[1.0, 3.0, 3.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
        np.testing.assert_array_equal(top_k(scores, 2), [[1, 2], [0, 1]])
        np.testing.assert_array_equal(top_k(scores, 4), [[1, 2, 4, 3], [0, 1, 2, 3]])

    def test_what_was_not_scored_is_not_predicted(self):
        scores = np.array([[-np.inf, 1.0, -np.inf], [-np.inf, -np.inf, -np.inf]])
        np.testing.assert_array_equal(top_k(scores, 2), [[1, -1], [-1, -1]])

    def test_signed_zeros_are_equal(self):
        np.testing.assert_array_equal(top_k(np.array([[-0.0, 0.0, -0.0]]), 2), [[0, 1]])

    @given(st.data())
    @settings(max_examples=60, deadline=None)
    def test_equals_sorting_by_score_then_id(self, data):
        rows, columns = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 7))
        value = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0])
        drawn = data.draw(st.lists(value, min_size=rows * columns, max_size=rows * columns))
        scores = np.array(drawn, dtype=np.float32).reshape(rows, columns)
        k = data.draw(st.integers(1, columns))
        ranked = top_k(scores, k)
        assert ranked.dtype == np.int64
        assert ranked.shape == (rows, k)
        for row, values in zip(ranked, scores, strict=True):
            scored = [label for label in range(columns) if values[label] > -np.inf]
            best = sorted(scored, key=lambda label, values=values: (-values[label], label))[:k]
            assert row.tolist() == best + [-1] * (k - len(best))


@st.composite
def rankings(draw):
    n_labels, k_max = draw(st.integers(5, 9)), draw(st.integers(1, 5))
    ids = st.integers(0, n_labels - 1)
    truth = draw(st.lists(st.sets(ids), min_size=1, max_size=5))
    predicted = draw(st.lists(st.lists(ids, unique=True, max_size=k_max), min_size=len(truth), max_size=len(truth)))
    ranked = np.array([row + [-1] * (k_max - len(row)) for row in predicted], dtype=np.int64)
    return ranked, truth, n_labels, draw(st.integers(1, k_max))


class TestAgainstOthers:
    @given(rankings())
    @settings(max_examples=100, deadline=None)
    def test_equals_the_naive_implementation(self, case):
        ranked, truth, n_labels, k = case
        labels, predicted = as_labels(truth, n_labels), [row[row >= 0].tolist() for row in ranked]
        assert precision_at_k(ranked, labels, k) == pytest.approx(naive_precision(predicted, truth, k))
        assert recall_at_k(ranked, labels, k) == pytest.approx(naive_recall(predicted, truth, k))
        assert ndcg_at_k(ranked, labels, k) == pytest.approx(naive_ndcg(predicted, truth, k))

    @given(rankings().filter(lambda case: any(case[1])))
    @settings(max_examples=60, deadline=None)
    def test_propensity_scored_equals_the_naive_implementation(self, case):
        ranked, truth, n_labels, k = case
        chances = np.linspace(0.1, 1.0, n_labels)[np.arange(n_labels) * 2 % n_labels]
        predicted = [row[row >= 0].tolist() for row in ranked]
        attained = propensity_scored_precision_at_k(ranked, as_labels(truth, n_labels), chances, k)
        assert attained == pytest.approx(naive_weighted_precision(predicted, truth, 1 / chances, k))
        assert 0 <= attained <= 1 + 1e-12

    def test_ndcg_equals_scikit_learn(self):
        # The definitions coincide for 0/1 relevance and distinct scores; rows without relevance add 0 there too.
        generator = np.random.default_rng(7)
        relevant = (generator.random((40, 12)) < 0.2).astype(np.float64)
        scores = generator.permuted(np.tile(np.arange(12.0), (40, 1)), axis=1)
        labels = csr_array(relevant)
        for k in (1, 3, 5, 12):
            expected = ndcg_score(relevant, scores, k=k)
            assert ndcg_at_k(top_k(scores, k), labels, k) == pytest.approx(expected, rel=1e-12)

    @given(rankings().filter(lambda case: all(case[1])))
    @settings(max_examples=30, deadline=None)
    def test_a_perfect_ranking_gets_everything(self, case):
        _, truth, n_labels, k = case
        chances = np.linspace(0.2, 0.9, n_labels)
        ranked = np.full((len(truth), n_labels), -1)
        for row, relevant in zip(ranked, truth, strict=True):
            row[: len(relevant)] = sorted(relevant)  # propensities rise with the id: rarest first
        labels = as_labels(truth, n_labels)
        assert ndcg_at_k(ranked, labels, k) == pytest.approx(1)
        assert recall_at_k(ranked, labels, n_labels) == pytest.approx(1)
        assert propensity_scored_precision_at_k(ranked, labels, chances, k) == pytest.approx(1)

    def test_propensities_rise_with_the_number_of_rows(self):
        labels = as_labels([set(range(limit)) for limit in range(6)])
        estimated = propensities(labels, a=0.6, b=2.6)
        assert np.all(np.diff(estimated) < 0)  # label 0 is the most frequent
        assert np.all((estimated > 0) & (estimated <= 1))


METRICS = [precision_at_k, recall_at_k, ndcg_at_k]


@pytest.mark.parametrize("metric", METRICS)
class TestRefusals:
    @pytest.mark.parametrize(
        ("ranked", "k", "error", "message"),
        [
            (np.array([[0, 0], [1, 2], [0, 1]]), 1, OrderError, "got 0 twice in row 0"),
            (np.array([[0, 1], [-1, 2], [0, 1]]), 1, OrderError, "an id after it in row 1"),
            (np.array([[0, 1], [1, 5], [0, 1]]), 1, OutOfRangeError, "got 5 in row 1, place 1"),
            (np.array([[0, 1], [1, -2], [0, 1]]), 1, OutOfRangeError, "got -2"),
            (np.array([[0, 1]]), 1, ShapeError, "expected shape"),
            (np.array([0, 1, 2]), 1, ShapeError, "expected shape"),
            (RANKED.astype(np.float64), 1, DtypeError, "got float64"),
            (RANKED.astype(np.uint8), 1, DtypeError, "got uint8"),
            (RANKED, 0, OutOfRangeError, "expected 1..3, got 0"),
            (RANKED, 4, OutOfRangeError, "expected 1..3, got 4"),
        ],
    )
    def test_ranking(self, metric, ranked, k, error, message):
        with pytest.raises(error, match=message):
            metric(ranked, LABELS, k)

    def test_dense_labels(self, metric):
        with pytest.raises(DtypeError, match="csr_array"):
            metric(RANKED, LABELS.toarray(), 1)

    def test_labels_that_are_not_ones(self, metric):
        with pytest.raises(OutOfRangeError, match="expected ones"):
            metric(RANKED, LABELS * 2, 1)

    def test_a_label_that_occurs_twice(self, metric):
        doubled = csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2, 2, 2])), shape=(3, 5))
        with pytest.raises(OrderError, match="rise strictly"):
            metric(RANKED, doubled, 1)

    def test_a_label_outside_the_matrix(self, metric):
        damaged = as_labels(TRUTH)
        damaged.indices[-1] = 5
        with pytest.raises(OutOfRangeError, match=r"column indices in 0\.\.4"):
            metric(RANKED, damaged, 1)

    def test_no_rows(self, metric):
        with pytest.raises(ShapeError, match="at least one row"):
            metric(np.empty((0, 3), dtype=np.int64), as_labels([]), 1)


def test_propensity_scored_precision_needs_a_label():
    with pytest.raises(OutOfRangeError, match="at least one row"):
        propensity_scored_precision_at_k(np.array([[0]]), as_labels([set()]), PROPENSITIES, 1)


@pytest.mark.parametrize(
    ("chances", "error"),
    [(np.ones(4), ShapeError), (np.zeros(5), OutOfRangeError), (np.full(5, np.nan), NonFiniteError)],
)
def test_unusable_propensities_are_refused(chances, error):
    with pytest.raises(error, match="label_propensities"):
        propensity_scored_precision_at_k(RANKED, LABELS, chances, 1)


def test_settings_of_propensities_are_checked():
    with pytest.raises(OutOfRangeError, match="at least 3 rows"):
        propensities(as_labels([{0}, {1}]))
    with pytest.raises(OutOfRangeError, match="got a=-1"):
        propensities(LABELS, a=-1)
    with pytest.raises(OutOfRangeError, match="got b=0"):
        propensities(LABELS, b=0)


@pytest.mark.parametrize(
    ("scores", "k", "error"),
    [
        (np.array([1.0, 2.0]), 1, ShapeError),
        (np.array([[1, 2]]), 1, DtypeError),
        (np.array([[1.0, np.nan]]), 1, NonFiniteError),
        (np.array([[1.0, np.inf]]), 1, NonFiniteError),
        (np.array([[1.0, 2.0]]), 3, OutOfRangeError),
        (np.array([[1.0, 2.0]]), 0, OutOfRangeError),
    ],
)
def test_unusable_scores_are_refused(scores, k, error):
    with pytest.raises(error):
        top_k(scores, k)
