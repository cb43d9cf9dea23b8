"""Densification: who lends, what is lent, and who can be asked at all."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from strategies import words

from pyslide.spec.hashing import borrowed, densify, probe_table

WORD = 2**64


@given(st.integers(1, 7), st.integers(1, 7), words, words)
def test_probes_against_whole_numbers(bins, attempts, multiplier, addend):
    table = probe_table(bins, attempts, multiplier, addend)
    assert table.dtype == np.int64
    assert table.shape == (bins, attempts)
    for bin_id in range(bins):
        for attempt in range(attempts):
            upper = (multiplier * (bin_id * attempts + attempt) + addend) % WORD // 2**32
            assert table[bin_id, attempt] == upper * bins // 2**32


def test_probes_by_hand():
    # multiplier 2^62 turns the places 0, 1, 2, ... into quarters of the circle: 0, 1/4, 1/2, 3/4, 0, ...
    np.testing.assert_array_equal(probe_table(3, 2, 2**62, 0), [[0, 0], [1, 2], [0, 0]])
    np.testing.assert_array_equal(probe_table(3, 2, 2**62, 2**63), [[1, 2], [0, 0], [1, 2]])


@given(st.integers(1, 400), st.data())
def test_every_bin_can_be_a_donor(bins, data):
    donor = data.draw(st.integers(0, bins - 1))
    addend = -(-donor * 2**32 // bins) << 32
    assert (probe_table(bins, 3, 0, addend) == donor).all()


@pytest.mark.parametrize("bins", [3, 24, 130, 400])  # none a power of two: floor(log2) would leave the last ones out
def test_every_bin_is_a_donor_for_an_ordinary_multiplier(bins):
    table = probe_table(bins, 100, 0x9E3779B97F4A7C15, 0x632BE59BD9B4E019)
    asked = np.bincount(table.ravel(), minlength=bins)
    assert asked.size == bins
    assert asked.min() > 0
    assert asked.max() < 250  # 100 each are fair


def test_bins_do_not_all_ask_the_same():
    table = probe_table(400, 2, 0x9E3779B97F4A7C15, 1)
    assert np.unique(table[:, 0]).size > 200
    assert (table[:, 0] != table[:, 1]).mean() > 0.9


CODES = np.array([3, 77, 1, 77])  # 77: what stands in an empty bin is not read
OCCUPIED = np.array([True, False, True, False])
ANSWERS = {"donor": "undensified", "borrowed_code": "as_is", "densification_failure": "code_zero"}


def filled(probes, **answers):
    return densify(CODES, OCCUPIED, np.array(probes), 4, **(ANSWERS | answers))


def test_the_first_occupied_bin_that_is_asked_lends():
    codes, failures = filled([[1, 1], [3, 2], [1, 1], [0, 2]])
    np.testing.assert_array_equal(codes, [3, 1, 1, 3])
    assert failures == 0


@pytest.mark.parametrize(("donor", "code", "missing"), [("undensified", 0, 1), ("densified_so_far", 1, 0)])
def test_whether_a_filled_bin_lends(donor, code, missing):
    codes, failures = filled([[0, 0], [1, 2], [0, 0], [1, 3]], donor=donor)
    np.testing.assert_array_equal(codes, [3, 1, 1, code])
    assert failures == missing


def test_bins_are_filled_in_ascending_order():
    codes, failures = filled([[0], [3], [0], [2]], donor="densified_so_far")
    np.testing.assert_array_equal(codes, [3, 0, 1, 1])  # bin 1 asks bin 3 before that is filled
    assert failures == 1


def test_a_bin_that_failed_does_not_lend():
    codes, failures = filled([[0], [1], [0], [1]], donor="densified_so_far", densification_failure="minus_one")
    np.testing.assert_array_equal(codes, [3, -1, 1, -1])
    assert failures == 2


def test_a_shifted_code_tells_the_attempt():
    codes, _ = filled([[0, 0], [1, 2], [0, 0], [0, 2]], borrowed_code="shifted_by_attempt")
    np.testing.assert_array_equal(codes, [3, 1 + 2 * 4, 1, 3 + 1 * 4])
    assert borrowed(3, 2, 4, "shifted_by_attempt") == 11
    assert borrowed(3, 2, 4, "as_is") == 3


@pytest.mark.parametrize(
    ("answer", "code"), [("code_zero", 0), ("minus_one", -1), ("smallest_integer", -2147483648)]
)
def test_what_a_bin_without_a_donor_gets(answer, code):
    codes, failures = filled([[0, 0], [1, 3], [0, 0], [3, 1]], densification_failure=answer)
    np.testing.assert_array_equal(codes, [3, code, 1, code])
    assert failures == 2


def test_nobody_occupied():
    codes, failures = densify(CODES, np.zeros(4, dtype=bool), np.zeros((4, 2), dtype=int), 4, **ANSWERS)
    np.testing.assert_array_equal(codes, np.zeros(4))
    assert failures == 4


def test_arguments_are_left_alone():
    codes, occupied = CODES.copy(), OCCUPIED.copy()
    densify(codes, occupied, np.array([[0], [0], [0], [1]]), 4, **(ANSWERS | {"donor": "densified_so_far"}))
    np.testing.assert_array_equal(codes, CODES)
    np.testing.assert_array_equal(occupied, OCCUPIED)
