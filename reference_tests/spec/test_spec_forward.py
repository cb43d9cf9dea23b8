"""Activations and softmax: by hand, in exact arithmetic, against SciPy, and where naive formulas break."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from strategies import ordinary, sparse_vectors

from pyslide.spec.forward import (
    hidden_output,
    preactivations,
    relu,
    softmax,
    softmax_from_zero,
    stable_softmax,
)
from pyslide.spec.vectors import sparse_vector, to_dense

WEIGHTS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
BIASES = np.array([0.5, -0.5, 100.0])
logit_lists = st.lists(ordinary.map(lambda value: value / 1e4), min_size=1, max_size=6).map(np.array)


def test_preactivations_by_hand():
    inputs = sparse_vector([0, 2], [2.0, -1.0], 3)
    # 7*2 - 9 + 100; 1*2 - 3 + 0.5: in the order of the active set
    np.testing.assert_array_equal(preactivations(WEIGHTS, BIASES, np.array([2, 0]), inputs), [105, -0.5])


def test_preactivations_without_entries_or_neurons():
    nothing = sparse_vector([], [], 3)
    np.testing.assert_array_equal(preactivations(WEIGHTS, BIASES, np.array([1, 2]), nothing), [-0.5, 100])
    assert preactivations(WEIGHTS, BIASES, np.array([], dtype=int), nothing).shape == (0,)


def test_weights_without_an_entry_are_not_read():
    holes = WEIGHTS.copy()
    holes[:, 1] = np.nan
    holes[1] = np.nan
    sums = preactivations(holes, BIASES, np.array([0, 2]), sparse_vector([0, 2], [2.0, -1.0], 3))
    np.testing.assert_array_equal(sums, [-0.5, 105])


@given(sparse_vectors(3), st.sets(st.integers(0, 2)))
def test_preactivations_against_fractions(inputs, active):
    active = np.array(sorted(active), dtype=np.int64)
    dense = [Fraction(value) for value in to_dense(inputs)]
    exact = [
        sum(Fraction(weight) * value for weight, value in zip(WEIGHTS[a], dense, strict=True)) + Fraction(BIASES[a])
        for a in active
    ]
    np.testing.assert_array_equal(preactivations(WEIGHTS, BIASES, active, inputs), [float(one) for one in exact])


def test_relu_and_the_output_that_keeps_silenced_neurons():
    np.testing.assert_array_equal(relu(np.array([-1.0, 0.0, 5e-324, 2.0])), [0, 0, 5e-324, 2])
    output = hidden_output(np.array([-1.0, 2.0]), np.array([1, 4]), 6)
    np.testing.assert_array_equal(output.indices, [1, 4])
    np.testing.assert_array_equal(output.values, [0, 2])
    assert output.dimension == 6


def test_softmax_by_hand():
    np.testing.assert_allclose(softmax(np.log([1.0, 2.0, 5.0]), "stable"), [0.125, 0.25, 0.625], rtol=1e-15)
    np.testing.assert_array_equal(softmax(np.array([3.0]), "stable"), [1.0])
    assert softmax(np.array([]), "stable").shape == (0,)
    assert softmax(np.array([]), "maximum_from_zero").shape == (0,)


@given(logit_lists, st.sampled_from([0.0, -1e6, 1e6, -745.0]))
def test_softmax_against_scipy(logits, shift):
    moved = logits + shift
    np.testing.assert_allclose(stable_softmax(moved), scipy.special.softmax(moved), rtol=1e-13)
    np.testing.assert_allclose(stable_softmax(moved).sum(), 1, rtol=1e-14)


@pytest.mark.parametrize(
    ("logits", "outputs"),
    [
        ([-1e300, -1e300], [0.5, 0.5]),
        ([1e300, -1e300, 1e300], [0.5, 0, 0.5]),
        ([-1000.0, -2000.0], [1, 0]),
        ([1000.0, 0.0], [1, 0]),
        ([0.0, 0.0, 0.0, 0.0], [0.25] * 4),
        ([5e-324, -5e-324], [0.5, 0.5]),
    ],
)
def test_softmax_of_extreme_logits(logits, outputs):
    np.testing.assert_array_equal(stable_softmax(np.array(logits)), outputs)


def test_original_softmax_by_hand():
    # maximum 0: exp(-1) and exp(-2) over their sum plus 1e-7
    first, second = np.exp(-1.0), np.exp(-2.0)
    np.testing.assert_allclose(
        softmax(np.array([-1.0, -2.0]), "maximum_from_zero"),
        [first / (first + second + 1e-7), second / (first + second + 1e-7)],
        rtol=1e-15,
    )
    # maximum 3: 1 and exp(-1)
    np.testing.assert_allclose(
        softmax_from_zero(np.array([3.0, 2.0])), [1 / (1 + first + 1e-7), first / (1 + first + 1e-7)], rtol=1e-15
    )


def test_original_softmax_underflows_where_all_logits_are_negative():
    np.testing.assert_array_equal(softmax_from_zero(np.array([-1000.0, -1001.0])), [0, 0])
    # and leans on its 1e-7 long before: exp(-16) is about as large
    assert softmax_from_zero(np.array([-16.2]))[0] < 0.5


@given(logit_lists)
def test_original_softmax_adds_up_to_less_than_one(logits):
    assert softmax_from_zero(logits).sum() < 1
