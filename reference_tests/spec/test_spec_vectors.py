"""Sparse vectors: what is an entry, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from strategies import extreme, sparse_vectors

from pyslide.errors import DtypeError, NonFiniteError, OrderError, OutOfRangeError, ShapeError
from pyslide.spec.vectors import append_coordinate, from_dense, nonzeros, sparse_vector, to_dense


def test_entries_and_their_dimension():
    vector = sparse_vector([1, 4], [0.5, -2], 6)
    assert vector.indices.dtype == np.int64
    assert vector.values.dtype == np.float64
    np.testing.assert_array_equal(to_dense(vector), [0, 0.5, 0, 0, -2, 0])


def test_zero_is_an_entry_until_it_is_taken_out():
    vector = from_dense(np.array([0.0, 3.0, -0.0]))
    np.testing.assert_array_equal(vector.indices, [0, 1, 2])
    np.testing.assert_array_equal(nonzeros(vector).indices, [1])
    np.testing.assert_array_equal(nonzeros(vector).values, [3.0])
    assert nonzeros(vector).dimension == 3


def test_denormal_numbers_are_not_zero():
    np.testing.assert_array_equal(nonzeros(from_dense(np.array([5e-324, 0.0, -5e-324]))).indices, [0, 2])


def test_appended_coordinate_is_the_last_even_where_it_is_zero():
    longer = append_coordinate(sparse_vector([0], [7.0], 3), 0.0)
    np.testing.assert_array_equal(longer.indices, [0, 3])
    np.testing.assert_array_equal(longer.values, [7.0, 0.0])
    assert longer.dimension == 4


@pytest.mark.parametrize("indices", [[], np.empty(0), np.empty(0, dtype=np.int32)])
def test_no_features(indices):
    vector = sparse_vector(indices, [], 3)
    assert vector.indices.dtype == np.int64
    np.testing.assert_array_equal(to_dense(vector), np.zeros(3))
    assert nonzeros(vector).indices.size == 0


def test_a_checked_vector_does_not_change_with_the_indices_it_was_made_from():
    indices = np.array([0, 2])
    vector = sparse_vector(indices, [1.0, 1.0], 3)
    indices[0] = 1
    np.testing.assert_array_equal(vector.indices, [0, 2])


@pytest.mark.parametrize(
    ("indices", "values", "dimension", "error", "words"),
    [
        ([[0]], [1.0], 3, ShapeError, "indices"),
        ([0, 1], [1.0], 3, ShapeError, "values.*(2).*(1,)"),
        ([0], [[1.0]], 3, ShapeError, "values"),
        ([0.0, 1.0], [1.0, 1.0], 3, DtypeError, "float64"),
        ([True], [1.0], 3, DtypeError, "bool"),
        ([0, 3], [1.0, 1.0], 3, OutOfRangeError, r"0\.\.2, got 3 at place 1"),
        ([-1, 0], [1.0, 1.0], 3, OutOfRangeError, "got -1"),
        ([1, 1], [1.0, 1.0], 3, OrderError, "1 then 1 at place 0"),
        ([0, 2, 1], [1.0, 1.0, 1.0], 3, OrderError, "2 then 1 at place 1"),
        ([0, 1], [1.0, np.nan], 3, NonFiniteError, r"nan at \(1,\)"),
        ([0], [np.inf], 3, NonFiniteError, "inf"),
        ([0], [-np.inf], 3, NonFiniteError, "-inf"),
        ([0], [1.0], 0, OutOfRangeError, "got 0"),
    ],
)
def test_what_is_not_a_vector(indices, values, dimension, error, words):
    with pytest.raises(error, match=words):
        sparse_vector(indices, values, dimension)


def test_unsigned_indices_that_fall_are_refused():
    with pytest.raises(OrderError):
        sparse_vector(np.array([2, 1], dtype=np.uint64), [1.0, 1.0], 3)


@pytest.mark.parametrize("dense", [np.zeros((2, 2)), np.float64(1.0)])
def test_what_is_not_a_dense_vector(dense):
    with pytest.raises(ShapeError, match="one dimension"):
        from_dense(dense)


@given(sparse_vectors(values=extreme))
def test_dense_and_back(vector):
    back = from_dense(to_dense(vector))
    np.testing.assert_array_equal(nonzeros(back).indices, nonzeros(vector).indices)
    np.testing.assert_array_equal(nonzeros(back).values, nonzeros(vector).values)
    np.testing.assert_array_equal(to_dense(nonzeros(vector)), to_dense(vector))


@given(sparse_vectors(values=extreme), extreme)
def test_an_appended_coordinate_stands_behind_all_others(vector, value):
    longer = append_coordinate(vector, value)
    np.testing.assert_array_equal(to_dense(longer), [*to_dense(vector), value])
    assert longer.indices.tolist() == [*vector.indices, vector.dimension]
