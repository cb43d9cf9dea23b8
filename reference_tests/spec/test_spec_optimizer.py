"""Settings of the optimisers, and rows worked by hand; the comparison with PyTorch lies beside the gradients."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from pyslide.conventions import PAPER
from pyslide.errors import OutOfRangeError
from pyslide.spec.optimizer import Optimizer, Update, adam, sgd, update_rows

BEFORE = Update(np.ones((3, 2)), np.full((3, 2), 4.0), np.zeros((3, 2)))
GRADIENT = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
TOUCHED = np.array([True, False, True])
TOUCHES = np.array([5, 6, 7])


def test_sgd_by_hand():
    optimizer = Optimizer(rule="sgd", learning_rate=0.5, momentum=0.25)
    update = sgd(np.array([10.0]), np.array([3.0]), np.array([4.0]), optimizer)
    np.testing.assert_array_equal(update.first, [4.0])  # 0.25 * 4 + 3
    np.testing.assert_array_equal(update.values, [8.0])  # 10 - 0.5 * 4
    np.testing.assert_array_equal(update.second, [0.0])


def test_first_step_of_adam_is_the_learning_rate():
    optimizer = Optimizer(learning_rate=0.1, epsilon=1e-300)
    zero = np.zeros(3)
    update = adam(zero, np.array([1e-3, -7.0, 1e3]), zero, zero, 1, optimizer, "corrected")
    np.testing.assert_allclose(update.values, [-0.1, 0.1, -0.1], rtol=1e-12)


def test_a_step_number_for_each_row():
    optimizer = Optimizer(learning_rate=0.1)
    ones = np.ones((2, 2))
    both = adam(ones, ones, ones, ones, np.array([[1], [9]]), optimizer, "corrected")
    for row, step in enumerate((1, 9)):
        alone = adam(ones[row], ones[row], ones[row], ones[row], step, optimizer, "corrected")
        np.testing.assert_array_equal(both.values[row], alone.values)


@pytest.mark.parametrize(
    ("answer", "rows", "touches"),
    [
        ("touched_global_step", [0, 2], [6, 6, 8]),
        ("touched_own_step", [0, 2], [6, 6, 8]),
        ("every_weight", [0, 1, 2], [6, 7, 8]),
    ],
)
def test_which_rows_move(answer, rows, touches):
    optimizer = Optimizer(rule="sgd", learning_rate=0.5, momentum=0.5)
    after, counted = update_rows(
        BEFORE, GRADIENT, TOUCHED, 40, TOUCHES, optimizer, PAPER.replace(adam_rows=answer)
    )
    expected = BEFORE.values.copy()
    expected[rows] -= 0.5 * (2.0 + GRADIENT[rows])  # a touched row without a gradient still rolls on
    np.testing.assert_array_equal(after.values, expected)
    np.testing.assert_array_equal(counted, touches)
    np.testing.assert_array_equal(BEFORE.values, np.ones((3, 2)))
    np.testing.assert_array_equal(TOUCHES, [5, 6, 7])


@pytest.mark.parametrize(
    ("answer", "steps"),
    [("touched_global_step", [40, None, 40]), ("touched_own_step", [6, None, 8]), ("every_weight", [40, 40, 40])],
)
def test_which_step_number_a_row_takes(answer, steps):
    optimizer = Optimizer(learning_rate=0.5)
    after, _ = update_rows(BEFORE, GRADIENT, TOUCHED, 40, TOUCHES, optimizer, PAPER.replace(adam_rows=answer))
    for row, step in enumerate(steps):
        if step is None:
            np.testing.assert_array_equal(after.values[row], BEFORE.values[row])
            continue
        alone = adam(*(array[row] for array in (BEFORE.values, GRADIENT, BEFORE.first, BEFORE.second)), step,
                     optimizer, "corrected")  # fmt: skip
        np.testing.assert_array_equal(after.values[row], alone.values)
        np.testing.assert_array_equal(after.first[row], alone.first)
        np.testing.assert_array_equal(after.second[row], alone.second)


def test_biases_are_rows_of_one_number():
    optimizer = Optimizer(rule="sgd", learning_rate=1.0)
    before = Update(np.zeros(3), np.zeros(3), np.zeros(3))
    for answer in ("touched_global_step", "touched_own_step"):
        after, _ = update_rows(
            before, np.array([1.0, 2.0, 3.0]), TOUCHED, 1, np.zeros(3, dtype=int), optimizer,
            PAPER.replace(adam_rows=answer),
        )  # fmt: skip
        np.testing.assert_array_equal(after.values, [-1, 0, -3])


@pytest.mark.parametrize(
    "settings",
    [
        {"rule": "rmsprop"},
        {"learning_rate": 0.0},
        {"learning_rate": -1.0},
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
        {"momentum": 1.0},
        {"momentum": -0.1},
        {"momentum": float("nan")},
        {"first_decay": 1.0},
        {"second_decay": 1.0},
        {"second_decay": -0.1},
        {"epsilon": 0.0},
        {"epsilon": float("nan")},
    ],
)
def test_settings_with_which_no_step_makes_sense(settings):
    (name,) = settings
    with pytest.raises(OutOfRangeError, match=name):
        Optimizer(**settings)


def test_settings_at_the_edge():
    assert Optimizer(momentum=0.0, first_decay=0.0, second_decay=0.0, epsilon=1e-300).rule == "adam"


rates = st.floats(1e-4, 1.0)
decays = st.floats(0.0, 0.999)
numbers = st.lists(st.floats(-8, 8, allow_subnormal=False), min_size=1, max_size=6)


@given(numbers, rates, decays)
def test_momentum_sums_the_gradients_of_the_past(gradients, rate, momentum):
    optimizer = Optimizer(rule="sgd", learning_rate=rate, momentum=momentum)
    state = Update(np.zeros(1), np.zeros(1), np.zeros(1))
    for gradient in gradients:
        state = sgd(state.values, np.array([gradient]), state.first, optimizer)
    # the i-th of n gradients has moved the weight n - i times, each time with one more power of the momentum
    moved = [sum(momentum**j for j in range(len(gradients) - i)) * g for i, g in enumerate(gradients)]
    np.testing.assert_allclose(state.values, [-rate * sum(moved)], rtol=1e-9, atol=1e-9)


@given(numbers, rates, decays, decays, st.sampled_from([1e-8, 0.1]))
def test_adam_averages_the_gradients_of_the_past(gradients, rate, first, second, epsilon):
    optimizer = Optimizer(learning_rate=rate, first_decay=first, second_decay=second, epsilon=epsilon)
    state, expected = Update(np.zeros(1), np.zeros(1), np.zeros(1)), 0.0
    for t, gradient in enumerate(gradients, start=1):
        state = adam(state.values, np.array([gradient]), state.first, state.second, t, optimizer, "corrected")
        mean = weighted_mean(gradients[:t], first)
        square = weighted_mean([g * g for g in gradients[:t]], second)
        expected -= rate * mean / (square**0.5 + epsilon)
    # 1 - b1^t is at least 1 - 0.999 and has lost 3 digits, twice; with g near 0 the root is as small as the mean
    np.testing.assert_allclose(state.values, [expected], rtol=1e-7, atol=1e-7)


def weighted_mean(numbers, decay):
    """Return the mean with weights that fall by a decay from the last to the first (0^0 = 1)."""
    weights = [decay ** (len(numbers) - 1 - place) for place in range(len(numbers))]
    return sum(w * x for w, x in zip(weights, numbers, strict=True)) / sum(weights)
