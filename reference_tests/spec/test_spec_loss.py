"""Targets, cross-entropy, and the error and scale that start the backward pass."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from strategies import ordinary

from pyslide.spec.backward import batch_scale, input_error, output_error, through_relu, weight_gradient
from pyslide.spec.forward import softmax_from_zero, stable_softmax
from pyslide.spec.loss import cross_entropy, log_softmax, targets
from pyslide.spec.vectors import sparse_vector


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([4], [0, 1, 0]),
        ([4, 9], [0, 0.5, 0.5]),
        ([1, 4, 9, 11], [0.25, 0.25, 0.25]),  # label 11 is not active: its share is nobody's
        ([11], [0, 0, 0]),
        ([], [0, 0, 0]),
    ],
)
def test_targets(labels, wanted):
    np.testing.assert_array_equal(targets(np.array([1, 4, 9]), np.array(labels, dtype=np.int64)), wanted)


def test_targets_of_an_empty_active_set():
    assert targets(np.array([], dtype=np.int64), np.array([3])).shape == (0,)


def test_cross_entropy_by_hand():
    logits = np.log([1.0, 2.0, 5.0])
    assert cross_entropy(logits, np.array([0.0, 1.0, 0.0])) == pytest.approx(log(4), rel=1e-15)
    assert cross_entropy(logits, np.array([0.5, 0.5, 0.0])) == pytest.approx((log(8) + log(4)) / 2, rel=1e-15)
    assert cross_entropy(logits, np.array([0.0, 0.25, 0.0])) == pytest.approx(log(4) / 4, rel=1e-15)
    assert cross_entropy(logits, np.zeros(3)) == 0
    assert cross_entropy(np.array([]), np.array([])) == 0


@given(st.lists(ordinary, min_size=1, max_size=6).map(np.array))
def test_log_softmax_against_scipy(logits):
    np.testing.assert_allclose(log_softmax(logits), scipy.special.log_softmax(logits), rtol=1e-12, atol=1e-14)


def test_loss_does_not_overflow_where_the_softmax_underflows():
    # log of the softmax itself would be -inf
    assert cross_entropy(np.array([0.0, 2000.0]), np.array([1.0, 0.0])) == 2000
    assert cross_entropy(np.array([-1e6, -1e6]), np.array([1.0, 0.0])) == pytest.approx(log(2), rel=1e-9)
    assert cross_entropy(np.array([-1e300, 1e300]), np.array([0.0, 1.0])) == 0
    assert log_softmax(np.array([])).shape == (0,)


def test_output_error_by_hand():
    probabilities = np.array([0.5, 0.25, 0.25])
    np.testing.assert_array_equal(output_error(probabilities, np.array([1.0, 0, 0]), "stable"), [-0.5, 0.25, 0.25])
    half = np.array([0.5, 0, 0])  # the other label is not active
    np.testing.assert_array_equal(output_error(probabilities, half, "stable"), [-0.25, 0.125, 0.125])
    np.testing.assert_array_equal(output_error(probabilities, half, "maximum_from_zero"), [0, 0.25, 0.25])
    np.testing.assert_array_equal(output_error(probabilities, np.zeros(3), "stable"), np.zeros(3))
    np.testing.assert_array_equal(output_error(probabilities, np.zeros(3), "maximum_from_zero"), probabilities)


@given(
    st.lists(ordinary.map(lambda value: value / 1e4), min_size=1, max_size=6).map(np.array),
    st.lists(st.integers(0, 9), unique=True, max_size=4),
)
def test_output_error_is_the_derivative_by_the_logits(logits, labels):
    wanted = targets(np.arange(logits.size), np.array(labels, dtype=np.int64))
    error = output_error(stable_softmax(logits), wanted, "stable")
    step = 1e-30
    derivative = [
        np.imag(-(wanted * log_softmax(logits + 1j * step * (np.arange(logits.size) == place))).sum()) / step
        for place in range(logits.size)
    ]
    np.testing.assert_allclose(error, derivative, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(error.sum(), 0, atol=1e-15)


def test_original_error_is_not_the_derivative():
    logits, wanted = np.array([-20.0, -21.0]), np.array([1.0, 0.0])
    original = output_error(softmax_from_zero(logits), wanted, "maximum_from_zero")
    assert abs(original.sum()) > 0.9  # a derivative of a function of differences adds up to 0


@pytest.mark.parametrize(("answer", "scale"), [("mean", 0.125), ("sum", 1.0)])
def test_batch_scale(answer, scale):
    assert batch_scale(8, answer) == scale
    assert batch_scale(1, answer) == 1


def test_weight_gradient_and_input_error_by_hand():
    inputs = sparse_vector([0, 2], [2.0, 0.0], 3)
    error = np.array([1.0, -3.0])
    np.testing.assert_array_equal(weight_gradient(error, inputs), [[2, 0], [-6, 0]])
    weights = np.array([[1.0, 2.0, 3.0], [np.nan, np.nan, np.nan], [4.0, np.nan, 6.0]])
    # neuron 0 and 2, entries 0 and 2: 1*1 - 3*4; 1*3 - 3*6
    np.testing.assert_array_equal(input_error(error, weights, np.array([0, 2]), inputs), [-11, -15])


def test_error_passes_a_relu_where_the_output_is_positive_only():
    np.testing.assert_array_equal(
        through_relu(np.array([1.0, -2.0, 3.0]), np.array([0.0, 5e-324, 7.0])), [0, -2, 3]
    )


def test_nobody_active():
    inputs = sparse_vector([0, 2], [2.0, 0.0], 3)
    nobody, nothing = np.array([], dtype=np.int64), np.array([])
    assert weight_gradient(nothing, inputs).shape == (0, 2)
    np.testing.assert_array_equal(input_error(nothing, np.ones((4, 3)), nobody, inputs), [0, 0])
