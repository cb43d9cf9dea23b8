"""When tables are rebuilt: ever more rarely (section 4.2)."""

from __future__ import annotations

from math import ceil, exp, fsum

from pyslide.errors import OutOfRangeError


def rebuild_time(count: int, first_interval: float, growth: float) -> float:
    """Return sum_{i=0}^{t-1} N0 * exp(lambda * i), when the t-th rebuild is due (section 4.2).

    Parameters
    ----------
    count : int
        t, counted from 1.
    first_interval : float
        N0, in steps.
    growth : float
        lambda; 0 gives equal intervals.
    """
    return fsum(first_interval * exp(growth * i) for i in range(count))


def rebuild_step(count: int, first_interval: float, growth: float) -> int:
    """Return the first step at or after the time of the t-th rebuild."""
    return ceil(rebuild_time(count, first_interval, growth))


def rebuilds_due(steps: int, first_interval: float, growth: float) -> int:
    """Return how many rebuilds are due after so many steps; a step that brings the number up is followed by one.

    Raises
    ------
    OutOfRangeError
        If the intervals are not positive or shrink: then infinitely many rebuilds can fall on one step.
    """
    if not (first_interval > 0 and growth >= 0):
        raise OutOfRangeError(
            f"schedule: expected first_interval > 0 and growth >= 0, got {first_interval} and {growth}"
        )
    count = 0
    while rebuild_step(count + 1, first_interval, growth) <= steps:
        count += 1
    return count
