"""What the outputs should have been, for a batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.ragged import ActiveSets, contains, pack_sets, segment_reduce


def targets(
    active: ActiveSets, labels: ActiveSets, population: int, dtype: npt.DTypeLike = np.float32
) -> FloatArray:
    """Return 1/|labels| for each active label and 0 for every other active neuron, flat."""
    ordered, sought = pack_sets(active, population), pack_sets(labels, population)
    wanted = np.zeros(ordered.size, dtype=dtype)
    shares = (1 / np.maximum(1, labels.sizes)).astype(dtype)
    found = contains(ordered, sought)  # labels are few: they are sought among the active, not the active among them
    wanted[np.searchsorted(ordered, sought[found])] = np.repeat(shares, labels.sizes)[found]
    return wanted


def log_softmax(logits: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the logarithm of the softmax of each row of flat logits."""
    sizes = np.diff(offsets)
    shifted = logits - np.repeat(segment_reduce(np.maximum, logits, offsets, 0.0), sizes)
    sums = segment_reduce(np.add, np.exp(shifted), offsets, 1.0)
    return shifted - np.repeat(np.log(sums), sizes)


def cross_entropy(logits: FloatArray, wanted: FloatArray, offsets: IntArray) -> FloatArray:
    """Return each sample's loss, shape (B,); 0 for a sample without labels."""
    return -segment_reduce(np.add, wanted * log_softmax(logits, offsets), offsets, 0.0)
