"""What a network's predictions are worth on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.network import Network
from pyslide.engine.vectors import Batch
from pyslide.inference import exact_top_k, recall_against, sampled_top_k, top_k
from pyslide.metrics import ndcg_at_k, precision_at_k, propensity_scored_precision_at_k, recall_at_k

RANKS = (1, 3, 5)
"""The k of P@k and its relatives."""


def ranking_metrics(
    ranked: IntArray, labels: sparse.csr_array, ranks: Sequence[int] = RANKS, propensities: FloatArray | None = None
) -> dict[str, float]:
    """Return P@k, nDCG@k and recall@k, and with propensities PSP@k, by name (``"P@1"``), as fractions of 1.

    Parameters
    ----------
    ranked : ndarray of int, shape (rows, at least max(ranks))
    labels : csr_array, shape (rows, n)
    ranks : sequence of int
    propensities : ndarray, shape (n,), optional
    """
    metrics: dict[str, float] = {}
    for name, metric in (("P", precision_at_k), ("nDCG", ndcg_at_k), ("R", recall_at_k)):
        metrics |= {f"{name}@{k}": float(metric(ranked, labels, k)) for k in ranks}
    if propensities is not None:
        metrics |= {f"PSP@{k}": propensity_scored_precision_at_k(ranked, labels, propensities, k) for k in ranks}
    return metrics


def evaluate(
    network: Network,
    features: Batch,
    labels: sparse.csr_array,
    conventions: Conventions,
    ranks: Sequence[int] = RANKS,
    propensities: FloatArray | None = None,
) -> dict[str, float]:
    """Return the metrics of a network on held-out rows; all neurons or sampled ones, by question 20.

    Ranks beyond the number of labels are left out.
    """
    ranks = [k for k in ranks if k <= network.layers[-1].neurons]
    ranking = top_k(network, features, max(ranks), conventions)
    return ranking_metrics(ranking.labels, labels, ranks, propensities)


def recall_of_exact(
    network: Network, features: Batch, conventions: Conventions, ranks: Sequence[int] = RANKS
) -> dict[str, float]:
    """Return by name (``"found@5"``) which share of the exact top k the sampled top k contains, as fractions of 1.

    Ranks beyond the number of labels are left out.
    """
    shares = {}
    for k in (k for k in ranks if k <= network.layers[-1].neurons):
        exact, sampled = exact_top_k(network, features, k), sampled_top_k(network, features, k, conventions)
        shares[f"found@{k}"] = float(recall_against(exact, sampled).mean())
    return shares


def most_frequent_labels(
    training_labels: sparse.csr_array, labels: sparse.csr_array, ranks: Sequence[int] = RANKS
) -> dict[str, float]:
    """Return the metrics of predicting the labels that are most frequent in training, whatever the row."""
    ranks = [k for k in ranks if k <= labels.shape[1]]
    frequency = np.bincount(training_labels.indices, minlength=labels.shape[1])
    best = np.argsort(-frequency, kind="stable")[: max(ranks)]
    return ranking_metrics(np.tile(best, (labels.shape[0], 1)), labels, ranks)
