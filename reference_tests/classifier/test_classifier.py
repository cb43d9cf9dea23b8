"""The classifier keeps scikit-learn's promises and its own: labels of any kind, weights, pieces, bits that repeat."""

import doctest
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pyslide.classifier
from pyslide import PyslideError, SlideClassifier, exact_top_k, inference
from pyslide.errors import NonFiniteError, OutOfRangeError, ShapeError
from pyslide.estimator_input import InputTypeError
from pyslide.randomness import seed_from
from pyslide.scikit_learn import NotFittedError

ROOT = Path(__file__).resolve().parents[2]
X, Y = make_blobs(90, n_features=12, centers=6, cluster_std=2.0, random_state=0)
INDICATOR = np.zeros((90, 6), dtype=int)
INDICATOR[np.arange(90), Y] = 1
INDICATOR[np.arange(90), (2 * Y) % 6] = 1  # one label or two
INDICATOR[0] = 0
HASHED = {"hash_from": 2, "minimum_active": 2, "tables": 10, "hidden_sizes": (16,)}


def classifier(**parameters):
    return SlideClassifier(**{"hidden_sizes": (16,), "epochs": 20, "batch_size": 30, "random_state": 0, **parameters})


def weights_of(one):
    return [array for layer in one.network_.layers for array in (layer.weights, layer.biases, layer.weight_second)]


def same_bits(one, other):
    return all(np.array_equal(*pair) for pair in zip(weights_of(one), weights_of(other), strict=True))


# --- scikit-learn's own checks

ROUNDING = "they compare at 1e-7; a float32 rounds at 6e-8 in every one of 500 steps, in another order for other rows"
PADDING = "every row's active set is filled with neurons drawn for it, and so a repeated row's with others"
WEIGHT_CHECKS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


def expected_failures(estimator):
    if estimator.hash_from == 2:
        return dict.fromkeys(WEIGHT_CHECKS, PADDING)
    return dict.fromkeys(WEIGHT_CHECKS, ROUNDING) if estimator.dtype == "float32" else {}


@parametrize_with_checks(
    [SlideClassifier(), SlideClassifier(dtype="float64"), SlideClassifier(**HASHED, epochs=60)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def test_in_a_pipeline_and_a_grid_search():
    pipeline = make_pipeline(StandardScaler(), classifier(epochs=5))
    grid = {"slideclassifier__hidden_sizes": [(8,), (16,)], "slideclassifier__learning_rate": [1e-9, 2e-2]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_params_["slideclassifier__learning_rate"] == 2e-2
    assert search.best_score_ > 0.8
    assert search.predict(X).tolist() == search.best_estimator_.predict(X).tolist()


def test_the_example_of_the_documentation():
    assert doctest.testmod(pyslide.classifier) == (0, 3)


def test_clones_have_the_parameters_and_nothing_else():
    one = classifier(threshold=0.3).fit(X, Y)
    other = clone(one)
    assert other.get_params() == one.get_params()
    assert set(vars(other)) == set(one.get_params())


@pytest.mark.parametrize("hashed", [False, True])
def test_as_accurate_on_digits_as_scikit_learn(hashed):
    """Of 450 held-out rows the witnesses get 97 % right: 0.02 is 9 rows, two standard deviations of the difference."""
    rows, labels = load_digits(return_X_y=True)
    train, test, known, wanted = train_test_split(rows, labels, random_state=0)
    scaler = StandardScaler().fit(train)
    tables = {"hash_from": 2, "minimum_active": 2} if hashed else {}
    scores = [
        one.fit(scaler.transform(train), known).score(scaler.transform(test), wanted)
        for one in (
            SlideClassifier(random_state=0, **tables),
            MLPClassifier(random_state=0, max_iter=400),
            LogisticRegression(max_iter=1000),
        )
    ]
    assert scores[0] >= max(scores[1:]) - 0.02


# --- labels

KINDS = {
    "negative": lambda ids: 7 * ids - 20,
    "text": lambda ids: np.array(list("zebraf"))[ids],
    "objects": lambda ids: np.array(["no", "a", "long one", "b", "c", "d"], dtype=object)[ids],
    "fractions": lambda ids: ids / 2 * 2.0 - 3,
    "bytes": lambda ids: ids.astype(np.uint8) + 250 - 6,
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_any_type_come_back(kind):
    labels = KINDS[kind](Y)
    one = classifier().fit(X, labels)
    assert one.classes_.dtype == one.predict(X).dtype == labels.dtype
    assert one.classes_.tolist() == sorted(set(labels))
    assert np.mean(one.predict(X) == labels) > 0.9
    ranks = np.searchsorted(one.classes_, labels)
    assert np.array_equal(one.decision_function(X), classifier().fit(X, ranks).decision_function(X))


def test_two_classes_have_one_decision():
    one = classifier().fit(X, Y % 2 == 1)
    decision, probability = one.decision_function(X), one.predict_proba(X)
    assert decision.shape == (90,)
    assert np.array_equal(decision > 0, one.predict(X))
    np.testing.assert_allclose(probability[:, 1], 1 / (1 + np.exp(-decision.astype(float))), atol=1e-6)


def test_predictions_are_those_of_the_network_written_out():
    for labels in (Y, INDICATOR):
        one = classifier(dtype="float64").fit(X, labels)
        hidden, output = one.network_.layers
        inside = np.maximum(X @ hidden.weights.T + hidden.biases, 0)
        logits = inside @ output.weights.T + output.biases
        np.testing.assert_allclose(one.decision_function(X), logits, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.predict_proba(X), softmax(logits, axis=1), rtol=1e-9)


def test_predictions_agree_with_the_exact_ranking(monkeypatch):
    monkeypatch.setattr(inference, "NEURONS_AT_A_TIME", 4)
    monkeypatch.setattr(inference, "SAMPLES_AT_A_TIME", 50)
    one = classifier().fit(X, Y)
    ranking = exact_top_k(one.network_, X, 6)
    assert np.array_equal(one.predict(X), one.classes_[ranking.labels[:, 0]])
    assert np.array_equal(np.take_along_axis(one.decision_function(X), ranking.labels, axis=1), ranking.scores)
    assert np.array_equal(one.predict_proba(X).argmax(axis=1), ranking.labels[:, 0])


# --- several labels a row


def test_indicators_dense_and_sparse():
    dense = classifier(epochs=60).fit(X, INDICATOR)
    thin = classifier(epochs=60).fit(X, sparse.csr_array(INDICATOR))
    assert same_bits(dense, thin)
    assert isinstance(dense.predict(X), np.ndarray)
    assert isinstance(thin.predict(X), sparse.csr_array)
    assert np.array_equal(dense.predict(X), thin.predict(X).toarray())
    assert dense.score(X, INDICATOR) == thin.score(X, sparse.csr_array(INDICATOR)) > 0.9
    assert dense.classes_.tolist() == list(range(6))
    stored = sparse.csr_array(INDICATOR + 1)
    stored.data -= 1  # stored zeros are no labels
    assert same_bits(dense, classifier(epochs=60).fit(X, stored))


@pytest.mark.parametrize("threshold", [0.02, 0.5, 1.0])
def test_labels_that_are_probable_beside_the_most_probable(threshold):
    one = classifier(threshold=threshold, dtype="float64").fit(X, INDICATOR)
    probability = one.predict_proba(X)
    expected = probability >= threshold * probability.max(axis=1, keepdims=True)
    assert np.array_equal(one.predict(X), expected)
    assert one.predict(X).any(axis=1).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)


def test_the_number_of_labels_is_not_needed():
    """Rows with one, two and six labels, learned well: a threshold on the probability itself would miss some."""
    rows = np.repeat(np.eye(12)[:3] * 3, 30, axis=0)
    indicator = np.repeat(np.array([[1, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]]), 30, axis=0)
    one = classifier(epochs=200).fit(rows, indicator)
    assert np.array_equal(one.predict(rows), indicator)
    np.testing.assert_allclose(one.predict_proba(rows), indicator / indicator.sum(axis=1, keepdims=True), atol=0.05)


def test_scores_are_those_of_scikit_learn():
    weights = np.random.default_rng(0).random(90)
    for labels in (Y, INDICATOR):
        one = classifier(epochs=3).fit(X, labels)
        for given in (None, weights):
            wanted = accuracy_score(labels, one.predict(X), sample_weight=given)
            assert one.score(X, labels, given) == pytest.approx(wanted)
    with pytest.raises(ShapeError, match="labels like those"):
        one.score(X, Y)


# --- weights


@pytest.mark.parametrize("hashed", [False, True])
def test_a_row_with_weight_0_is_not_there(hashed):
    tables = HASHED if hashed else {}
    weights = np.arange(90) % 3
    rows = weights > 0
    one = classifier(**tables).fit(X, Y, weights)
    assert same_bits(one, classifier(**tables).fit(X[rows], Y[rows], weights[rows]))
    one = classifier(**tables).partial_fit(X, Y, range(6), weights)
    assert same_bits(one, classifier(**tables).partial_fit(X[rows], Y[rows], range(6), weights[rows]))


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("labels", [Y, INDICATOR], ids=["multiclass", "multilabel"])
def test_a_whole_weight_is_as_many_rows(labels, dtype, close):
    """Up to rounding: a batch of 135 rows adds up in another order than one of 67, 20 times."""
    weights = np.arange(90) % 4
    one, other = (classifier(dtype=dtype, batch_size=200) for _ in range(2))
    one.fit(X, labels, weights)
    other.fit(X.repeat(weights, axis=0), labels.repeat(weights, axis=0))
    for ours, theirs in zip(weights_of(one), weights_of(other), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=close, atol=close)
    np.testing.assert_allclose(one.loss_curve_, other.loss_curve_, rtol=close)


def test_only_the_ratios_of_weights_matter_to_fit():
    plain, equal, four = classifier().fit(X, Y), classifier().fit(X, Y, np.full(90, 3.7)), np.full(90, 4.0)
    assert same_bits(plain, equal)
    weights = 1.0 + np.arange(90) % 3
    assert same_bits(classifier().fit(X, Y, weights), classifier().fit(X, Y, four * weights))


def test_weights_matter_in_batches_of_one_row():
    """A batch divided by its weights' sum would forget them here."""
    rows, labels = np.ones((40, 2)), np.arange(40) % 2
    heavy = classifier(batch_size=1, learning_rate=1e-2).fit(rows, labels, np.where(labels, 9.0, 1.0))
    np.testing.assert_allclose(heavy.predict_proba(rows[:1])[0], [0.1, 0.9], atol=0.08)


def test_weights_of_pieces_are_taken_as_they_are():
    """The loss of a piece is multiplied by its rows' weights, and not by their ratios."""
    ones = [classifier(batch_size=90).partial_fit(X, Y, range(6), np.full(90, weight)) for weight in (1.0, 3.0)]
    assert ones[1].loss_curve_[0] == pytest.approx(3 * ones[0].loss_curve_[0], rel=1e-6)
    assert same_bits(ones[0], classifier(batch_size=90).partial_fit(X, Y, range(6)))


# --- going on


@pytest.mark.parametrize("hashed", [False, True])
def test_pieces_of_whole_batches_are_as_all_rows_at_once(hashed):
    tables = HASHED if hashed else {}
    whole, pieces = classifier(**tables), classifier(**tables)
    for _ in range(30):  # past the first rebuild
        whole.partial_fit(X, Y, range(6))
        for start in (0, 60):
            pieces.partial_fit(X[start : start + 60], Y[start : start + 60], range(6))
    assert same_bits(whole, pieces)
    assert whole.network_.steps == 90
    assert whole.score(X, Y) > 0.8


@pytest.mark.parametrize("hashed", [False, True])
def test_a_warm_start_goes_on_where_the_fit_before_ended(hashed):
    tables = HASHED if hashed else {}
    whole = classifier(epochs=40, **tables).fit(X, Y)
    parts = classifier(warm_start=True, **tables).fit(X, Y).fit(X, Y)
    cold = classifier(**tables).fit(X, Y).fit(X, Y)
    assert same_bits(whole, parts)
    assert parts.loss_curve_ == whole.loss_curve_
    assert len(cold.loss_curve_) == 20
    assert cold.network_.steps == 60


def test_a_warm_start_takes_other_rows_and_another_learning_rate():
    one = classifier(warm_start=True).fit(X, Y)
    before = one.network_
    one.set_params(learning_rate=1e-9).fit(X[:40], Y[:40])
    assert one.network_ is before
    with pytest.raises(OutOfRangeError, match="warm_start=False"):
        one.set_params(hidden_sizes=(8,)).fit(X, Y)
    with pytest.raises(OutOfRangeError, match=r"one of the 6 classes, got .*9.* in row 3"):
        one.set_params(hidden_sizes=(16,)).fit(X[:4], [0, 1, 2, 9])
    with pytest.raises(ShapeError, match="one label a row, as before"):
        one.fit(X, INDICATOR)


@pytest.mark.parametrize("hashed", [False, True])
def test_a_pickle_predicts_and_goes_on_and_holds_no_rows(hashed):
    many = np.tile(X, (200, 1))
    one = classifier(epochs=1, batch_size=3000, n_jobs=2, **(HASHED if hashed else {}))
    one.partial_fit(many, np.tile(Y, 200), range(6))
    text = pickle.dumps(one)
    assert len(text) < many.size  # a byte a number would be more
    other = pickle.loads(text)
    assert np.array_equal(other.predict_proba(X), one.predict_proba(X))
    assert same_bits(one.partial_fit(X, Y), other.partial_fit(X, Y))


def test_indicators_in_pieces_need_no_classes():
    one = classifier().partial_fit(X[:30], INDICATOR[:30]).partial_fit(X[30:], sparse.csr_array(INDICATOR[30:]))
    assert one.classes_.size == 6
    with pytest.raises(ShapeError, match="6 columns"):
        one.partial_fit(X, INDICATOR[:, :5])


def test_classes_of_pieces():
    with pytest.raises(OutOfRangeError, match="classes must be passed on the first call"):
        classifier().partial_fit(X, Y)
    one = classifier().partial_fit(X[:10], np.full(10, "b"), classes=["c", "b", "a"])
    assert one.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(OutOfRangeError, match="those of the first call"):
        one.partial_fit(X[:10], np.full(10, "b"), classes=["a", "b"])


# --- randomness, threads, tables


def test_the_same_random_state_gives_the_same_bits():
    for tables in ({}, HASHED):
        one = classifier(**tables).fit(X, Y)
        assert same_bits(one, classifier(**tables).fit(X, Y))
        assert same_bits(one, classifier(**tables, n_jobs=2).fit(X, Y))
        assert not same_bits(one, classifier(**tables, random_state=1).fit(X, Y))
        assert not same_bits(*(classifier(**tables, random_state=None).fit(X, Y) for _ in range(2)))


def test_seeds():
    assert seed_from(7) == seed_from(np.int64(7)) == 7
    for make in (np.random.default_rng, np.random.RandomState):
        generator = make(3)
        first = seed_from(generator)
        assert first == seed_from(make(3))
        assert first != seed_from(generator)
    for wrong in (-1, 0.5, "seed"):
        with pytest.raises(OutOfRangeError, match="random_state"):
            seed_from(wrong)


@pytest.mark.parametrize(
    ("parameters", "hashed"),
    [({}, False), ({"hash_from": 7}, False), ({"hash_from": 6}, True), ({"hash_from": 6, "minimum_active": 6}, False)],
    ids=str,
)
def test_few_classes_have_no_tables(parameters, hashed):
    one = classifier(epochs=1, **parameters).fit(X, Y)
    assert (one.network_.layers[-1].tables is not None) == hashed


def test_tables_are_those_asked_for():
    one = classifier(epochs=1, hash_from=2, hash_family="simhash", codes_per_table=3, tables=5, minimum_active=1)
    tables = one.fit(X, Y).network_.layers[-1].tables
    assert tables.family.code_count == 15
    assert tables.family.code_range == 2
    assert tables.sampling.minimum_active == 1


def test_many_classes_are_hashed_and_learned():
    rows = np.random.default_rng(0).standard_normal((1200, 20))
    one = SlideClassifier(random_state=0, epochs=20, batch_size=50, learning_rate=1e-2).fit(rows, np.arange(1200))
    assert one.network_.layers[-1].tables.sampling.minimum_active == 234  # 1200 // 5 - 1200 // 200
    assert one.score(rows, np.arange(1200)) > 0.9


def test_few_rows_make_more_epochs():
    assert SlideClassifier(batch_size=30, random_state=0).fit(X, Y).network_.steps == 3 * 167  # at least 500
    assert len(SlideClassifier(batch_size=1, random_state=0).fit(X, Y).loss_curve_) == 10


# --- what is refused, before any work

BAD = {
    "a fraction of a batch": ({"batch_size": 2.5}, X, Y, None, OutOfRangeError, "batch_size: expected a whole number"),
    "no batch": ({"batch_size": 0}, X, Y, None, OutOfRangeError, "batch_size"),
    "one width": ({"hidden_sizes": 16}, X, Y, None, OutOfRangeError, "hidden_sizes: expected a sequence"),
    "no epochs": ({"epochs": 0}, X, Y, None, OutOfRangeError, "epochs"),
    "threshold": ({"threshold": 0}, X, Y, None, OutOfRangeError, "threshold"),
    "family": ({"hash_family": "md5"}, X, Y, None, OutOfRangeError, "family"),
    "precision": ({"dtype": "float16"}, X, Y, None, OutOfRangeError, "dtype"),
    "rate": ({"learning_rate": "fast"}, X, Y, None, OutOfRangeError, "learning_rate: expected a number"),
    "seed": ({"random_state": "dice"}, X, Y, None, OutOfRangeError, "random_state"),
    "text": ({}, np.full((90, 2), "x"), Y, None, InputTypeError, "X: expected real numbers"),
    "ragged": ({}, [[1.0], [1.0, 2.0]], [0, 1], None, InputTypeError, "rows of equal length"),
    "too large": ({}, np.full((90, 2), 1e300), Y, None, NonFiniteError, r"too large for float32, at \(0, 0\)"),
    "stored NaN": ({}, sparse.csr_array(X * np.nan), Y, None, NonFiniteError, "NaN as stored element 0"),
    "too few labels": ({}, X, Y[:9], None, ShapeError, "as many rows as X has, 90, got 9"),
    "three axes": ({}, X, np.zeros((90, 2, 2)), None, ShapeError, "y should be a 1d array"),
    "fractions": ({}, X, Y + 0.5, None, InputTypeError, "continuous"),
    "outputs": ({}, X, np.column_stack([Y, Y]), None, InputTypeError, "multiclass-multioutput"),
    "text matrix": ({}, X, np.full((90, 2), "x"), None, InputTypeError, "MultiLabelBinarizer"),
    "complex": ({}, X, Y * 1j, None, InputTypeError, "Unknown label type"),
    "ids": ({}, X[:2], [[1, 2], [2, 3]], None, InputTypeError, "MultiLabelBinarizer"),
    "sets": ({}, X[:2], [{"a"}, {"b"}], None, InputTypeError, "MultiLabelBinarizer"),
    "nothing": ({}, X, np.full(90, None), None, NonFiniteError, "None"),
    "mixed": ({}, X, np.array([1, "a"] * 45, dtype=object), None, InputTypeError, "can be ordered"),
    "ragged labels": ({}, X, [[1], [1, 2]] * 45, None, InputTypeError, "MultiLabelBinarizer.*different lengths"),
    "negative weight": ({}, X, Y, np.linspace(-1, 1, 90), OutOfRangeError, "sample_weight: .* in row 0"),
    "NaN weight": ({}, X, Y, np.full(90, np.nan), NonFiniteError, "sample_weight"),
    "text weight": ({}, X, Y, ["heavy"] * 90, InputTypeError, "sample_weight"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what):
    parameters, rows, labels, weights, error, message = BAD[what]
    one = classifier(**parameters)
    with pytest.raises(error, match=message) as caught:
        one.fit(rows, labels, weights)
    assert isinstance(caught.value, PyslideError)
    assert isinstance(caught.value, ValueError)
    assert not hasattr(one, "classes_")


def test_nobody_predicts_before_a_fit():
    for error in (NotFittedError, TheirNotFittedError):
        with pytest.raises(error, match="fit or partial_fit comes first"):
            classifier().predict(X)


def test_an_interrupted_fit_says_so(monkeypatch):
    monkeypatch.setattr("pyslide.training.Trainer.run", lambda *arguments: False)
    with pytest.raises(KeyboardInterrupt):
        classifier().fit(X, Y)


def test_progress_on_request(capsys):
    classifier(epochs=2).fit(X, Y)
    assert capsys.readouterr().err == ""
    classifier(epochs=2, verbose=True).fit(X, Y)
    assert "step 6/6" in capsys.readouterr().err


class Frame:
    """As much of a data frame as an estimator looks at."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def test_names_of_features():
    names = [f"column {place}" for place in range(12)]
    one = classifier(epochs=1).fit(Frame(X, names), Y)
    assert one.feature_names_in_.tolist() == names
    one.predict(Frame(X, names))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but SlideClassifier was fitted with"):
        one.predict(X)
    with pytest.raises(ShapeError, match=r"unseen at fit time:\n- new\n.*now missing:\n- column 0\n"):
        one.predict(Frame(X, ["new", *names[1:]]))
    with pytest.raises(ShapeError, match="in the same order"):
        one.predict(Frame(X, names[::-1]))
    with pytest.raises(InputTypeError, match="int, str"):
        one.fit(Frame(X, [0, *names[1:]]), Y)
    one.fit(Frame(X, range(12)), Y)
    assert not hasattr(one, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but SlideClassifier was fitted without"):
        one.predict(Frame(X, names))


# --- without scikit-learn

WITHOUT = """
import pickle, sys, warnings

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
import numpy as np
from pyslide import SlideClassifier
from pyslide.errors import OutOfRangeError
from pyslide.scikit_learn import NotFittedError

rows, labels = np.eye(4).repeat(5, axis=0), np.array(list("abcd")).repeat(5)
one = SlideClassifier(random_state=0, epochs=30).set_params(batch_size=10)
assert one.get_params()["batch_size"] == 10 and len(one.get_params()) == 16
assert repr(one) == "SlideClassifier(batch_size=10, epochs=30, random_state=0)"
try:
    one.predict(rows)
    raise SystemExit("predicted before a fit")
except NotFittedError:
    pass
try:
    one.set_params(sise=3)
    raise SystemExit("took an unknown parameter")
except OutOfRangeError as fault:
    assert "sise" in str(fault)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    one.fit(rows, labels[:, None], np.ones(20))
assert [type(one.message).__name__ for one in caught] == ["DataConversionWarning"]
assert one.score(rows, labels) == 1 and pickle.loads(pickle.dumps(one)).predict(rows).tolist() == labels.tolist()
assert not any(name.partition(".")[0] == "sklearn" for name in sys.modules)
print(one.predict_proba(rows).tobytes().hex())
"""


def in_a_fresh_process(program):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_works_where_scikit_learn_is_not_installed():
    rows, labels = np.eye(4).repeat(5, axis=0), np.array(list("abcd")).repeat(5)
    with_it = SlideClassifier(random_state=0, epochs=30, batch_size=10).fit(rows, labels).predict_proba(rows)
    assert in_a_fresh_process(WITHOUT) == with_it.tobytes().hex()


def test_the_package_itself_does_not_import_scikit_learn():
    in_a_fresh_process("import sys, pyslide; assert 'sklearn' not in sys.modules; pyslide.SlideClassifier()")
    with pytest.raises(AttributeError, match="no attribute 'Classifier'"):
        __import__("pyslide").Classifier  # noqa: B018
