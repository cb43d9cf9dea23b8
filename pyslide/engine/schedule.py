"""When tables are rebuilt (section 4.2), for many rebuilds at once."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray, IntArray


def rebuild_times(count: int, first_interval: float, growth: float) -> FloatArray:
    """Return when the rebuilds 1..count are due, in steps, shape (count,)."""
    return np.cumsum(first_interval * np.exp(growth * np.arange(count)))


def rebuild_steps(count: int, first_interval: float, growth: float) -> IntArray:
    """Return the first step at or after the time of each of the rebuilds 1..count, shape (count,)."""
    return np.ceil(rebuild_times(count, first_interval, growth)).astype(np.int64)
