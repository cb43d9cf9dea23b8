"""Random candidates become the active sets of a batch: sampled softmax."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.ragged import ActiveSets, contains, distinct
from pyslide.engine.sampling import select
from pyslide.spec import candidates as spec


def candidate_sets(candidates: IntArray, labels: ActiveSets) -> ActiveSets:
    """Return for each sample the candidates of the batch and its own labels.

    The sorted candidates are repeated, and each label that is none of them is put in its place among them: nothing is
    sorted but the candidates.

    Parameters
    ----------
    candidates : ndarray of int, shape (S,)
        Distinct.
    labels : ActiveSets
    """
    ordered = np.sort(candidates)
    fresh = select(labels, ~contains(ordered, labels.neurons))
    samples = fresh.offsets.size - 1
    places = fresh.samples * ordered.size + np.searchsorted(ordered, fresh.neurons)
    neurons = np.insert(np.tile(ordered, samples), places, fresh.neurons)
    return ActiveSets(fresh.offsets + ordered.size * np.arange(samples + 1), neurons)


def candidate_log_weights(
    active: ActiveSets,
    ranks: IntArray,
    distribution: str,
    candidates: int,
    tries: int,
    dtype: npt.DTypeLike = np.float32,
) -> FloatArray:
    """Return what is added to the logits of the active classes, -log Q, flat; computed once for each class.

    Parameters
    ----------
    active : ActiveSets
    ranks : ndarray of int, shape (n,)
        Places of all classes by falling frequency, from 0.
    distribution : {"uniform", "log_uniform"}
    candidates : int
        S.
    tries : int
        The draws that gave them.
    dtype : dtype
    """
    classes = distinct(active.neurons)
    weights = np.empty(ranks.size, dtype=dtype)
    weights[classes] = spec.candidate_log_weights(ranks[classes], distribution, candidates, tries, ranks.size)
    return weights[active.neurons]
