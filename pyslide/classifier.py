"""SLIDE as a scikit-learn classifier: one hidden layer or several, and an output layer that is hashed if it is wide.

It follows scikit-learn's conventions and does without it: `pyslide.scikit_learn` has what stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log
from numbers import Integral, Real
from typing import Any, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse
from scipy.special import softmax

from pyslide import defaults
from pyslide.arrays import FloatArray
from pyslide.engine.network import Network
from pyslide.engine.threads import SERIAL, Threads
from pyslide.engine.vectors import Batch, row_slices
from pyslide.errors import OutOfRangeError, ShapeError
from pyslide.estimator_input import checked_features, checked_sample_weights, feature_names, require_names
from pyslide.history import Row
from pyslide.inference import SAMPLES_AT_A_TIME, all_logits, exact_top_k
from pyslide.label_encoding import Labels, checked_labels, classes_of, is_multilabel, label_matrix
from pyslide.progress import progress
from pyslide.randomness import seed_from
from pyslide.scikit_learn import BaseEstimator, ClassifierMixin, NotFittedError
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Trainer, TrainingSettings

WHOLE_NUMBERS = ("codes_per_table", "tables", "minimum_active", "hash_from", "batch_size", "epochs")
"""Parameters that count something; None, where it is allowed, stands for a default that depends on the data."""
REAL_NUMBERS = ("learning_rate", "initial_scale", "threshold")


class Rows(NamedTuple):
    """What is trained on."""

    features: Batch  # (rows, d)
    labels: sparse.csr_array  # (rows, n)
    weights: FloatArray | None  # (rows,) all positive


class SlideClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network with a softmax over the classes, trained on the few that matter for each row.

    One class a row (multiclass) or any number of them (multilabel).  The loss is the cross-entropy between the softmax
    and the uniform distribution over a row's labels (section 3.1); a row without labels has no loss.  All randomness
    comes from ``random_state``: with the same one, the same data give the same network bit for bit.

    Parameters
    ----------
    hidden_sizes : sequence of int, default (128,)
        The widths of the hidden layers, of ReLUs; they have no tables.
    hash_family : {"dwta", "simhash", "wta", "minhash"}, default "dwta"
        How the output layer is hashed.  All but SimHash cut the last hidden layer into bins of 8 neurons, and so need
        that many.
    codes_per_table, tables : int, default 4 and 50
        K and L of the paper.
    minimum_active : int, optional
        Up to how many neurons the active sets of the output layer are filled with random ones; unless given, a fifth
        of the classes, 1,000 at most.
    hash_from : int, default 1000
        With fewer classes, or with no more than ``minimum_active``, there are no tables: every class is active for
        every row, which is the full softmax.
    learning_rate : float, default 0.002
        Of Adam.
    initial_scale : float, default 0.1
        Standard deviation of the initial weights.
    batch_size : int, default 128
    epochs : int, optional
        How often `fit` goes through the rows; unless given, 10 times, and more often where that makes fewer than 500
        steps.
    threshold : float, default 0.5
        Multilabel only: a row is given all labels that are at least so many times as probable as its most probable
        one.  See Notes.
    dtype : {"float32", "float64"}, default "float32"
        Of the weights, and of what is predicted.
    random_state : int, RandomState, Generator or None
    n_jobs : int, optional
        Threads for one batch, as in joblib (-1 for all cores); the result does not depend on it.
    warm_start : bool, default False
        Whether a further `fit` goes on with the network instead of drawing a new one.
    verbose : bool, default False
        Whether progress is shown on stderr.

    Attributes
    ----------
    classes_ : ndarray, shape (n,)
        The labels, rising; the numbers of the columns if multilabel.
    multilabel_ : bool
    sparse_labels_ : bool
        Whether y was a sparse matrix, which `predict` then returns, too.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Only if X was a data frame with names.
    loss_curve_ : list of float
        The mean loss of each epoch, over active sets.

    Notes
    -----
    **Multilabel prediction.**  What is learned is a distribution over labels that gives each of a row's m labels 1/m.
    A fixed threshold on the probability would have to know m.  Relative to the largest probability it need not: the
    m labels are near 1 and all others near 0, whatever m is, and 0.5 lies between.  A row always gets one label or
    more: a distribution cannot say "none".

    **Sample weights** multiply the losses of their rows; a batch is divided by its number of rows.  `fit` first
    divides them by the mean of those that are not 0, so that only their ratios matter, and leaves rows with weight 0
    out.  A whole weight then is the same as as many rows, up to rounding, if a batch holds all of them and there are
    no tables, for which each row makes random choices of its own; in smaller batches it is so in the mean.
    `partial_fit`, which does not know the other rows, takes the weights as they are.

    `pyslide.exact_top_k` ranks the labels of ``network_`` without a matrix of all probabilities.

    Examples
    --------
    >>> from pyslide import SlideClassifier
    >>> classifier = SlideClassifier(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["up", "right"])
    >>> classifier.predict([[0.1, 0.9]]).tolist()
    ['up']
    """

    def __init__(
        self,
        *,
        hidden_sizes: Sequence[int] = defaults.HIDDEN,
        hash_family: str = "dwta",
        codes_per_table: int = 4,
        tables: int = 50,
        minimum_active: int | None = None,
        hash_from: int = defaults.HASH_FROM,
        learning_rate: float = defaults.LEARNING_RATE,
        initial_scale: float = defaults.INITIAL_SCALE,
        batch_size: int = 128,
        epochs: int | None = None,
        threshold: float = 0.5,
        dtype: str = "float32",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.hidden_sizes = hidden_sizes
        self.hash_family = hash_family
        self.codes_per_table = codes_per_table
        self.tables = tables
        self.minimum_active = minimum_active
        self.hash_from = hash_from
        self.learning_rate = learning_rate
        self.initial_scale = initial_scale
        self.batch_size = batch_size
        self.epochs = epochs
        self.threshold = threshold
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn wants to know of an estimator (asked by version 1.6 and later)."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def network_(self) -> Network:
        """The trained network, tables included."""
        return self._fitted_trainer().network

    # --- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SlideClassifier:
        """Train on rows, in a new order in every epoch.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix, shape (rows, d)
        y : array_like of shape (rows,), or indicator matrix of zeros and ones, dense or sparse, shape (rows, n)
        sample_weight : array_like, shape (rows,), optional

        Returns
        -------
        SlideClassifier
            Itself.

        Raises
        ------
        PyslideError
            If a parameter lies outside its range, or data are not what is expected: one of its kinds, most of which
            are a ``ValueError``, too.
        """
        features, labels = self._checked(X, y)
        goes_on = self.warm_start and hasattr(self, "_trainer")
        if goes_on:
            self._require_same_kind(X, features, labels)
        classes = self.classes_ if goes_on else classes_of(labels)
        rows = weighed_rows(features, label_matrix(labels, classes), sample_weight)
        if rows.weights is not None:
            rows = rows._replace(weights=rows.weights / rows.weights.mean())
        trainer = self._resumed_trainer(rows) if goes_on else self._new_trainer(rows)
        self._train(trainer, self._epochs_of(rows))
        if not goes_on:
            self._remember(X, y, classes, is_multilabel(labels))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> SlideClassifier:
        """Train once on each of some rows, in the order given: for data that come in pieces.

        Pieces of a multiple of ``batch_size`` rows give the same network bit for bit as all of them at once.  Rows that
        are sorted by class should be shuffled before.

        Parameters
        ----------
        X, y
            As for `fit`.
        classes : array_like, shape (n,), optional
            All labels that will ever come; needed at the first call, unless y is an indicator matrix.
        sample_weight : array_like, shape (rows,), optional
            Taken as they are.

        Returns
        -------
        SlideClassifier
            Itself.

        Raises
        ------
        PyslideError
            As `fit`; also if the classes are missing, or others than before.
        """
        features, labels = self._checked(X, y)
        goes_on = hasattr(self, "_trainer")
        if goes_on:
            self._require_same_kind(X, features, labels)
        known = self._known_classes(labels, classes)
        rows = weighed_rows(features, label_matrix(labels, known), sample_weight)
        trainer = self._resumed_trainer(rows) if goes_on else self._new_trainer(rows)
        trainer.row_order = np.arange(rows.features.shape[0])
        self._train(trainer, 1)
        if not goes_on:
            self._remember(X, y, known, is_multilabel(labels))
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Batch, Labels]:
        """Return features and labels, and refuse parameters that no network can be built from."""
        self._require_parameters()
        features = checked_features(X, self.dtype)
        return features, checked_labels(y, features.shape[0])

    def _require_parameters(self) -> None:
        for name in (*WHOLE_NUMBERS, *REAL_NUMBERS):
            value, kind = getattr(self, name), Integral if name in WHOLE_NUMBERS else Real
            if not isinstance(value, kind) and not (value is None and name in ("minimum_active", "epochs")):
                raise OutOfRangeError(f"{name}: expected a {'whole ' * (kind is Integral)}number, got {value!r}")
        sizes = self.hidden_sizes
        if isinstance(sizes, str | Integral) or not all(isinstance(size, Integral) for size in sizes):
            raise OutOfRangeError(f"hidden_sizes: expected a sequence of whole numbers, got {sizes!r}")
        if self.epochs is not None and self.epochs < 1:
            raise OutOfRangeError(f"epochs: expected at least 1, got {self.epochs}")
        if not 0 < self.threshold <= 1:
            raise OutOfRangeError(f"threshold: expected more than 0 and at most 1, got {self.threshold}")
        self._settings(1, 0)  # the rest is refused there

    def _require_same_kind(self, X: Any, features: Batch, labels: Labels) -> None:
        """Refuse rows of another kind than those of the first fit."""
        self._require_features(X, features)
        if is_multilabel(labels) != self.multilabel_:
            kinds = {True: "an indicator of several labels a row", False: "one label a row"}
            raise ShapeError(f"y: expected {kinds[self.multilabel_]}, as before, got {kinds[is_multilabel(labels)]}")

    def _require_features(self, X: Any, features: Batch) -> None:
        require_names(feature_names(X), getattr(self, "feature_names_in_", None), type(self).__name__)
        if features.shape[1] != self.n_features_in_:
            raise ShapeError(
                f"X has {features.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )

    def _known_classes(self, labels: Labels, classes: Any) -> npt.NDArray[Any]:
        """Return the classes of `partial_fit`: those given at first, or an indicator's columns."""
        given = None if classes is None else np.unique(classes)
        if hasattr(self, "_trainer"):
            if given is not None and not np.array_equal(given, self.classes_):
                raise OutOfRangeError(f"classes: expected those of the first call, {self.classes_}, got {given}")
            return self.classes_
        if given is not None:
            return given
        if not is_multilabel(labels):
            raise OutOfRangeError("classes must be passed on the first call to partial_fit.")
        return classes_of(labels)

    def _settings(self, classes: int, seed: int) -> TrainingSettings:
        hidden = [LayerSettings(neurons=int(n), initial_scale=self.initial_scale) for n in self.hidden_sizes]
        output = LayerSettings(neurons=classes, initial_scale=self.initial_scale, hashing=self._hashing(classes))
        return TrainingSettings(
            layers=(*hidden, output),
            batch_size=self.batch_size,
            seed=seed,
            dtype=self.dtype,
            threads=joblib.effective_n_jobs(1 if self.n_jobs is None else self.n_jobs),
            optimizer=Optimizer(learning_rate=self.learning_rate),
            conventions=defaults.CONVENTIONS,
        )

    def _hashing(self, classes: int) -> Hashing | None:
        """Return the tables of the output layer; None where every class is active for every row."""
        minimum = defaults.default_padding(classes) if self.minimum_active is None else self.minimum_active
        hashing = Hashing(
            family=self.hash_family,
            codes_per_table=self.codes_per_table,
            tables=self.tables,
            sampling=Sampling(minimum_active=minimum),
        )
        return None if classes < self.hash_from or classes <= minimum else hashing

    def _new_trainer(self, rows: Rows) -> Trainer:
        settings = self._settings(rows.labels.shape[1], seed_from(self.random_state))
        return Trainer(settings, rows.features, rows.labels, sample_weights=rows.weights)

    def _resumed_trainer(self, rows: Rows) -> Trainer:
        """Return the trainer of the fit before, with the rows and the settings of this one."""
        trainer = self._trainer
        settings = self._settings(rows.labels.shape[1], trainer.settings.seed)
        before = trainer.settings
        if (settings.layers, settings.dtype) != (before.layers, before.dtype):
            raise OutOfRangeError(
                f"expected to go on with the layers {before.layers} in {before.dtype}, got {settings.layers} in "
                f"{settings.dtype}; a new network needs warm_start=False and fit"
            )
        trainer.turn_to(rows.features, rows.labels, rows.weights)
        trainer.settings, trainer.threads = settings, Threads(settings.threads)
        return trainer

    def _epochs_of(self, rows: Rows) -> int:
        if self.epochs is not None:
            return int(self.epochs)
        steps = ceil(rows.features.shape[0] / self.batch_size)
        return max(defaults.EPOCHS, ceil(defaults.LEAST_STEPS / steps))

    def _train(self, trainer: Trainer, epochs: int) -> None:
        """Train, and set what is known of it."""
        steps = epochs * ceil(trainer.features.shape[0] / trainer.settings.batch_size)
        shown = progress(trainer.network.steps + steps, trainer.network.steps) if self.verbose else None
        try:
            finished = trainer.run(trainer.epoch + epochs, [] if shown is None else [shown])
        finally:
            let_go(trainer)
            if shown is not None:
                shown.close()
        if not finished:
            raise KeyboardInterrupt
        before: list[float] = self.loss_curve_ if getattr(self, "_trainer", None) is trainer else []
        self.loss_curve_: list[float] = [*before, *epoch_losses(trainer)]
        trainer.history.clear()
        self._trainer = trainer

    def _remember(self, X: Any, y: Any, classes: npt.NDArray[Any], multilabel: bool) -> None:
        """Set what is known since the first fit."""
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = self.network_.layers[0].weights.shape[1]
        self.classes_ = classes
        self.multilabel_ = multilabel
        self.sparse_labels_ = sparse.issparse(y)

    # --- predictions

    def predict(self, X: Any) -> Any:
        """Return the label of each row, or the indicator of its labels.

        Returns
        -------
        ndarray, shape (rows,)
            Multiclass: the most probable class; of equal ones the first.
        ndarray or csr_array of int64, shape (rows, n)
            Multilabel: dense or sparse as y was.

        Raises
        ------
        NotFittedError
            Before a fit.
        PyslideError
            If X is not what is expected.
        """
        features = self._features(X)
        if not self.multilabel_:
            return self.classes_[exact_top_k(self.network_, features, 1).labels[:, 0]]
        parts = [
            self._probable_labels(all_logits(self.network_, features[rows]))
            for rows in row_slices(features.shape[0], SAMPLES_AT_A_TIME)
        ]
        indicator = sparse.csr_array(sparse.vstack(parts))
        return indicator if self.sparse_labels_ else indicator.toarray()

    def _probable_labels(self, logits: FloatArray) -> sparse.csr_array:
        """Return which labels are probable enough beside the most probable one; logits are log p up to a constant."""
        least = logits.max(axis=1, keepdims=True) + log(self.threshold)
        return sparse.csr_array(logits >= least).astype(np.int64)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the logits.

        Returns
        -------
        ndarray, shape (rows, n)
            Of two classes that exclude each other, shape (rows,): the second's logit less the first's.

        Raises
        ------
        NotFittedError
            Before a fit.
        PyslideError
            If X is not what is expected.
        """
        logits = all_logits(self.network_, self._features(X))
        if self.classes_.size == 2 and not self.multilabel_:
            return logits[:, 1] - logits[:, 0]
        return logits

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the softmax over all classes; a row sums to 1, multilabel or not.

        Multilabel it is one distribution over the labels of a row, not for each label the probability that the row
        has it: m labels that are equally sure get 1/m each.  Scikit-learn's one-against-the-rest classifiers return
        the latter.

        Returns
        -------
        ndarray, shape (rows, n)

        Raises
        ------
        NotFittedError
            Before a fit.
        PyslideError
            If X is not what is expected.
        """
        logits = all_logits(self.network_, self._features(X))
        return softmax(logits, axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows, weighted if so wished, of which exactly the right labels are predicted.

        Raises
        ------
        NotFittedError
            Before a fit.
        PyslideError
            If X, y or weights are not what is expected.
        """
        predicted = self.predict(X)
        labels = checked_labels(y, predicted.shape[0])
        weights = checked_sample_weights(sample_weight, predicted.shape[0])
        if is_multilabel(labels) != self.multilabel_ or labels.shape[1:] != predicted.shape[1:]:
            raise ShapeError(f"y: expected labels like those of fit, shape {predicted.shape}, got {labels.shape}")
        if self.multilabel_:
            wrong = abs(sparse.csr_array(predicted) - labels)
            right = np.asarray(wrong.sum(axis=1)) == 0
        else:
            right = predicted == labels
        return float(np.average(right, weights=weights))

    def _features(self, X: Any) -> Batch:
        """Return the features of rows that are to be predicted."""
        dtype = self._fitted_trainer().settings.dtype
        features = checked_features(X, dtype)
        self._require_features(X, features)
        return features

    def _fitted_trainer(self) -> Trainer:
        if not hasattr(self, "_trainer"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: fit or partial_fit comes first")
        return self._trainer


def weighed_rows(features: Batch, labels: sparse.csr_array, sample_weight: Any) -> Rows:
    """Return rows with their weights, without those of weight 0, which an optimiser would still touch.

    Raises
    ------
    PyslideError
        If weights are not what is expected.
    """
    weights = checked_sample_weights(sample_weight, features.shape[0])
    if weights is None:
        return Rows(features, labels, None)
    kept = np.flatnonzero(weights)
    return Rows(features[kept], labels[kept], weights[kept])


def let_go(trainer: Trainer) -> None:
    """Take the rows and the threads from a trainer that rests, so that a pickle holds neither."""
    trainer.threads.close()
    trainer.threads = SERIAL
    trainer.features, trainer.labels = trainer.features[:0].copy(), trainer.labels[:0].copy()
    trainer.sample_weights = None


def epoch_losses(trainer: Trainer) -> list[float]:
    """Return the mean loss of each epoch of a trainer's history."""
    epochs: dict[int, list[Row]] = {}
    for row in trainer.history:
        epochs.setdefault(row["epoch"], []).append(row)
    return [
        float(np.average([step["loss"] for step in steps], weights=[step["samples"] for step in steps]))
        for steps in epochs.values()
    ]
