"""What the output should have been: multi-label cross-entropy (section 3.1)."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray, IntArray


def targets(active: IntArray, labels: IntArray) -> FloatArray:
    """Return the wanted outputs: 1/|labels| for each active label, 0 for every other active neuron.

    Returns
    -------
    ndarray of float64, shape (s,)
        Its sum is 1 where all labels are active, less where some are missing, and 0 for a sample without labels.
    """
    return np.isin(active, labels) / max(1, labels.size)


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return the logarithm of the softmax over the active set, without overflow or underflow."""
    if logits.size == 0:
        return logits
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def cross_entropy(logits: FloatArray, wanted: FloatArray) -> float:
    """Return -sum_a t_a log p_a over the active set; 0 for a sample without labels."""
    return float(-(wanted * log_softmax(logits)).sum())
