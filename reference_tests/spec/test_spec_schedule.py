"""When tables are rebuilt."""

from __future__ import annotations

from math import ceil, exp, expm1, log

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pyslide.errors import OutOfRangeError
from pyslide.spec.schedule import rebuild_step, rebuild_time, rebuilds_due


def test_times_by_hand():
    assert rebuild_time(0, 50, 0.1) == 0
    assert rebuild_time(1, 50, 0.1) == 50  # the first at N0: i starts at 0
    assert rebuild_time(2, 50, 0.1) == pytest.approx(50 + 50 * exp(0.1), rel=1e-15)
    assert [rebuild_time(count, 50, 0) for count in (1, 2, 3)] == [50, 100, 150]
    assert rebuild_time(3, 10, log(2)) == pytest.approx(70, rel=1e-15)


@given(st.integers(1, 60), st.floats(1e-3, 0.5), st.floats(0.5, 100))
def test_times_are_a_geometric_sum(count, growth, first_interval):
    closed = first_interval * expm1(growth * count) / expm1(growth)
    assert rebuild_time(count, first_interval, growth) == pytest.approx(closed, rel=1e-12)


def test_a_rebuild_falls_on_the_first_step_at_or_after_its_time():
    assert rebuild_step(1, 50, 0.1) == 50
    assert rebuild_step(2, 50, 0.1) == 106  # 105.26
    assert rebuild_step(3, 50, 0.1) == 167  # 166.33
    assert rebuild_step(1, 0.3, 0.0) == 1
    assert rebuild_step(1, 2.5, 0.0) == 3


def test_rebuilds_due_by_hand():
    due = [rebuilds_due(steps, 50, 0.1) for steps in (0, 49, 50, 105, 106, 166, 167)]
    assert due == [0, 0, 1, 1, 2, 2, 3]
    assert [rebuilds_due(steps, 1, 0.0) for steps in range(4)] == [0, 1, 2, 3]
    assert rebuilds_due(1, 0.25, 0.0) == 4  # several fall on one step


@given(st.integers(0, 2000), st.floats(1, 100), st.floats(0, 0.5))
def test_rebuilds_due_against_counting(steps, first_interval, growth):
    total, interval_exponent, count = 0.0, 0, 0
    while True:
        total += first_interval * exp(growth * interval_exponent)
        if total > steps:
            break
        interval_exponent, count = interval_exponent + 1, count + 1
    if abs(total - ceil(total)) > 1e-6 and abs(total - steps) > 1e-6:
        assert rebuilds_due(steps, first_interval, growth) == count


@given(st.integers(1, 40), st.integers(1, 400), st.booleans())
def test_steps_against_whole_numbers(count, quarters, doubling):
    """With N0 in quarters and intervals that double, sums are exact: ceil(N0 (2^t - 1)) in integers."""
    growth = log(2) if doubling else 0.0
    count = min(count, 8) if doubling else count
    total = quarters * (2**count - 1) if doubling else quarters * count
    if growth == 0 or total % 4:  # exp(log 2) is not quite 2, which matters at a whole number only
        assert rebuild_step(count, quarters / 4, growth) == -(-total // 4)


@pytest.mark.parametrize(
    ("first_interval", "growth"), [(0, 0.1), (-1, 0.1), (50, -0.1), (float("nan"), 0.1), (50, float("nan"))]
)
def test_schedules_that_never_move_on(first_interval, growth):
    with pytest.raises(OutOfRangeError, match="schedule"):
        rebuilds_due(100, first_interval, growth)
