"""When tables are rebuilt (section 4.2)."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray
from pyslide.errors import OutOfRangeError
from pyslide.theory.checks import as_count


def schedule_iterations(count: int, first_interval: float, decay: float) -> FloatArray:
    """Return when the first rebuilds are due: sum_{i=0..t-1} N0 * exp(lambda * i) for t = 1..count (section 4.2).

    Taken as the geometric sum N0 * (exp(lambda * t) - 1) / (exp(lambda) - 1), or N0 * t for lambda = 0.  Real numbers:
    an implementation acts on the first iteration at or after each.  The first is N0, not 0.

    Parameters
    ----------
    count : int
        How many rebuilds, at least 0.
    first_interval : float
        N0 > 0, in iterations.
    decay : float
        lambda, by which the frequency of rebuilds decays; intervals grow where it is positive.

    Returns
    -------
    ndarray of float64, shape (count,)
        In iterations.

    Raises
    ------
    DtypeError
        If ``count`` is not an integer.
    OutOfRangeError
        If an argument is not as above, or a sum is too large for a float64.
    """
    rebuilds = np.arange(1, as_count(count, "count") + 1)
    if not (np.isfinite(first_interval) and first_interval > 0):
        raise OutOfRangeError(f"first_interval: expected a finite number above 0, got {first_interval}")
    if not np.isfinite(decay):
        raise OutOfRangeError(f"decay: expected a finite number, got {decay}")
    if decay == 0:
        return first_interval * rebuilds.astype(np.float64)
    # In units of the largest term no power overflows; a sum does only if it is itself too large.
    largest = np.maximum(decay * (rebuilds - 1), 0.0)
    with np.errstate(over="ignore"):
        sums = first_interval * np.exp(largest) * (np.expm1(-abs(decay) * rebuilds) / np.expm1(-abs(decay)))
    if not np.isfinite(sums).all():
        first = int(np.argmin(np.isfinite(sums))) + 1
        raise OutOfRangeError(f"count: expected sums below 1.8e308, got a larger one at t={first}")
    return sums
