"""How good a ranking of labels is, as the scripts of the Extreme Classification Repository measure it.

Every metric takes ``ranked``, the predicted label ids of each row, best first, and ``labels``, the ground truth.
Where a row has fewer predictions than columns the rest is filled up with `NOT_PREDICTED`, which never hits.

A row without labels has nothing to hit: it adds 0 to every mean and counts as a row, as in those scripts.  All
results are fractions of 1; the repository prints them times 100.

References
----------
Bhatia, Dahiya, Jain, Kar, Mittal, Prabhu, Varma, "The Extreme Classification Repository: Multi-label Datasets
and Code", section "Performance Metrics".

Jain, Prabhu, Varma, "Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking and Other
Missing Label Applications", KDD 2016.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pyslide.arrays import BoolArray, FloatArray, IntArray, require_finite, require_shape
from pyslide.errors import DtypeError, NonFiniteError, OrderError, OutOfRangeError, ShapeError

NOT_PREDICTED = -1
"""The id that fills up a row with fewer predictions than columns."""


def top_k(scores: FloatArray, k: int) -> npt.NDArray[np.int64]:
    """Rank the k labels with the highest scores; equal scores go to the smaller id.

    Parameters
    ----------
    scores : ndarray of float, shape (rows, n)
        A score of -inf means that the label was not scored: it is never predicted.
    k : int
        In 1..n.

    Returns
    -------
    ndarray of int64, shape (rows, k)
        Best first, filled up with `NOT_PREDICTED` in rows with fewer than k scored labels.

    Raises
    ------
    ShapeError, DtypeError
        If the scores are not a matrix of floats.
    NonFiniteError
        If a score is NaN or +inf.
    OutOfRangeError
        If k lies outside 1..n.
    """
    scores = np.asarray(scores)
    _require_scores(scores)
    _require_between(k, 1, scores.shape[1], "k")
    chosen = np.nonzero(_among_best(scores, k))[1].reshape(-1, k)  # ascending ids in each row
    values = np.take_along_axis(scores, chosen, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    ranked = np.take_along_axis(chosen, order, axis=1)
    ranked[np.take_along_axis(values, order, axis=1) == -np.inf] = NOT_PREDICTED
    return ranked


def precision_at_k(ranked: IntArray, labels: csr_array, k: int) -> float:
    """P@k: which fraction of the first k places hits a label (Extreme Classification Repository).

    A place that is not filled is a miss, and so is every place of a row without labels: the sum over the rows of
    (hits among the first k) / k, divided by the number of rows.

    Parameters
    ----------
    ranked : ndarray of int, shape (rows, k_max)
        Distinct ids in a row, best first, `NOT_PREDICTED` behind the last.
    labels : csr_array, shape (rows, n_labels)
        Ones where a row has a label; indices that rise strictly in each row.
    k : int
        In 1..k_max.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ShapeError
        If ``ranked`` is not a matrix, the numbers of rows differ, or there are no rows.
    DtypeError
        If ``ranked`` does not hold integers, or ``labels`` is not a csr_array.
    OutOfRangeError
        If k or an id lies outside its range, or a stored label is not 1.
    OrderError
        If a row predicts an id twice or goes on after `NOT_PREDICTED`, or label indices do not rise strictly.
    """
    return float(_hits(ranked, labels, k).mean())


def recall_at_k(ranked: IntArray, labels: csr_array, k: int) -> float:
    """R@k: which fraction of a row's labels is among its first k places, averaged over the rows.

    A row without labels adds 0 and counts.  Parameters and errors as for `precision_at_k`.
    """
    hits = _hits(ranked, labels, k).sum(axis=1)
    return float(np.mean(hits / np.maximum(_labels_per_row(labels), 1)))


def ndcg_at_k(ranked: IntArray, labels: csr_array, k: int) -> float:
    """nDCG@k: hits discounted by 1 / log2(place + 1), over what the best ranking would get.

    The best ranking of a row has its labels at the first min(k, number of labels) places, places counted from 1.
    A row without labels adds 0 and counts.  Parameters and errors as for `precision_at_k`.
    """
    discounts = 1 / np.log2(np.arange(2, k + 2))  # (k,)
    attainable = np.concatenate([[1.0], np.cumsum(discounts)])  # by number of labels; 1 in place of 0 / 0
    gains = _hits(ranked, labels, k) @ discounts
    return float(np.mean(gains / attainable[np.minimum(_labels_per_row(labels), k)]))


def propensities(train_labels: csr_array, a: float = 0.55, b: float = 1.5) -> npt.NDArray[np.float64]:
    """Estimate how likely it is that a relevant label was recorded (Jain et al. 2016, section 4).

    p_l = 1 / (1 + C * (N_l + b)^-a) with C = (ln N - 1) * (b + 1)^a, N rows of which N_l have the label.

    Parameters
    ----------
    train_labels : csr_array, shape (N, n_labels)
        The labels of the training set; N >= 3, since C is negative below e.
    a, b : float
        A and B of Jain et al., not negative: 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon, 0.55 and 1.5 elsewhere.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        In (0, 1].

    Raises
    ------
    DtypeError, OrderError, OutOfRangeError
        If the labels or a setting are not as above.  A label without rows needs b > 0.
    """
    _require_labels(train_labels)
    rows = int(train_labels.shape[0])
    if rows < 3:
        raise OutOfRangeError(f"train_labels: expected at least 3 rows, got {rows}")
    if not (np.isfinite([a, b]).all() and a >= 0 and b >= 0):
        raise OutOfRangeError(f"expected finite a >= 0 and b >= 0, got a={a}, b={b}")
    occurrences = np.bincount(train_labels.indices, minlength=train_labels.shape[1])
    if b == 0 and not occurrences.all():
        raise OutOfRangeError("expected b > 0 where a label has no rows, got b=0")
    scale = (np.log(rows) - 1) * (b + 1) ** a
    return 1 / (1 + scale * (occurrences + b) ** -a)


def propensity_scored_precision_at_k(
    ranked: IntArray, labels: csr_array, label_propensities: FloatArray, k: int
) -> float:
    """PSP@k: precision in which a hit of label l weighs 1 / p_l, over the best that any could get (Jain et al. 2016).

    Numerator and denominator are both summed over the rows before the division, as in the repository's scripts; it
    is not the mean of the rows' ratios.

    Parameters
    ----------
    ranked, labels, k
        As for `precision_at_k`.
    label_propensities : ndarray of float, shape (n_labels,)
        Positive; of the training labels, see `propensities`.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ShapeError, DtypeError, OutOfRangeError, OrderError
        As for `precision_at_k`; OutOfRangeError also if a propensity is not positive, or if no row has a label, so
        that nothing is attainable.
    NonFiniteError
        If a propensity is NaN or infinite.
    """
    hits = _hits(ranked, labels, k)
    _require_propensities(label_propensities, labels.shape[1])
    weights = 1 / np.asarray(label_propensities, dtype=np.float64)
    attained = float((weights[ranked[:, :k]] * hits).sum())  # what is not predicted does not hit
    attainable = _best_weight(labels, weights, k)
    if attainable == 0:
        raise OutOfRangeError("labels: expected a label in at least one row, got none")
    return attained / attainable


def _among_best(scores: FloatArray, k: int) -> BoolArray:
    """Mark exactly k entries of each row; of those equal to the k-th best the ones with the smallest ids."""
    least = np.partition(scores, -k, axis=1)[:, -k, None]
    above, tied = scores > least, scores == least
    room = k - above.sum(axis=1, keepdims=True)
    return above | (tied & (np.cumsum(tied, axis=1) <= room))


def _best_weight(labels: csr_array, weights: FloatArray, k: int) -> float:
    """Sum the k largest weights of each row's labels."""
    per_row = _labels_per_row(labels)
    rows = np.repeat(np.arange(per_row.size), per_row)
    of_label = weights[labels.indices]
    order = np.lexsort((-of_label, rows))  # heaviest first within a row
    place = np.arange(rows.size) - labels.indptr[rows]
    return float(of_label[order][place < k].sum())


def _hits(ranked: IntArray, labels: csr_array, k: int) -> BoolArray:
    """Mark which of the first k places of each row hit a label: (rows, k)."""
    _require_labels(labels)
    _require_ranking(ranked, labels)
    _require_between(k, 1, ranked.shape[1], "k")
    first = ranked[:, :k].astype(np.int64)
    asked = np.arange(first.shape[0])[:, None] * labels.shape[1] + first
    return np.isin(asked, _entry_numbers(labels)) & (first != NOT_PREDICTED)


def _entry_numbers(labels: csr_array) -> npt.NDArray[np.int64]:
    """Number the stored entries row by row: row * n_labels + label."""
    rows = np.repeat(np.arange(labels.shape[0], dtype=np.int64), _labels_per_row(labels))
    return rows * labels.shape[1] + labels.indices


def _labels_per_row(labels: csr_array) -> IntArray:
    return np.diff(labels.indptr)


def _require_between(value: int, least: int, most: int, name: str) -> None:
    if not least <= value <= most:
        raise OutOfRangeError(f"{name}: expected {least}..{most}, got {value}")


def _require_scores(scores: FloatArray) -> None:
    require_shape(scores, (None, None), "scores")
    if not np.issubdtype(scores.dtype, np.floating):
        raise DtypeError(f"scores: expected floats, got {scores.dtype}")
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise NonFiniteError("scores: expected finite numbers or -inf, got NaN or +inf")


def _require_labels(labels: csr_array) -> None:
    if not isinstance(labels, csr_array) or labels.ndim != 2:
        raise DtypeError(f"labels: expected a two-dimensional scipy.sparse.csr_array, got {type(labels).__name__}")
    if not np.all(labels.data == 1):
        raise OutOfRangeError("labels: expected ones, and nothing else, got another stored value")
    if np.any((labels.indices < 0) | (labels.indices >= labels.shape[1])):
        raise OutOfRangeError(f"labels: expected column indices in 0..{labels.shape[1] - 1}, got one outside")
    if np.any(np.diff(_entry_numbers(labels)) <= 0):
        raise OrderError("labels: expected column indices that rise strictly in each row")


def _require_ranking(ranked: IntArray, labels: csr_array) -> None:
    require_shape(ranked, (labels.shape[0], None), "ranked")
    if ranked.shape[0] == 0:
        raise ShapeError("ranked: expected at least one row, got none")
    if not np.issubdtype(ranked.dtype, np.signedinteger):
        raise DtypeError(f"ranked: expected signed integers, got {ranked.dtype}")
    outside = (ranked < NOT_PREDICTED) | (ranked >= labels.shape[1])
    if outside.any():
        row, place = (int(axis) for axis in np.argwhere(outside)[0])
        expected = f"ids in 0..{labels.shape[1] - 1} or {NOT_PREDICTED}"
        raise OutOfRangeError(f"ranked: expected {expected}, got {ranked[row, place]} in row {row}, place {place}")
    _require_distinct(ranked)


def _require_distinct(ranked: IntArray) -> None:
    ordered = np.sort(ranked, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOT_PREDICTED)
    if repeated.any():
        row, place = (int(axis) for axis in np.argwhere(repeated)[0])
        raise OrderError(f"ranked: expected distinct ids in a row, got {ordered[row, place]} twice in row {row}")
    resumes = (ranked[:, :-1] == NOT_PREDICTED) & (ranked[:, 1:] != NOT_PREDICTED)
    if resumes.any():
        row = int(np.argwhere(resumes)[0, 0])
        raise OrderError(f"ranked: expected {NOT_PREDICTED} only behind the last id, got an id after it in row {row}")


def _require_propensities(label_propensities: FloatArray, count: int) -> None:
    require_shape(np.asarray(label_propensities), (count,), "label_propensities")
    require_finite(np.asarray(label_propensities), "label_propensities")
    if np.any(np.asarray(label_propensities) <= 0):
        raise OutOfRangeError("label_propensities: expected positive numbers, got one that is not")
