"""Layers and their tables: keys of neurons and inputs, rebuilding, retrieving."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import all_conventions, layers, sparse_vectors, winner_take_all_parameters

from pyslide.conventions import PAPER
from pyslide.errors import OutOfRangeError, ShapeError
from pyslide.parameters import DensifiedWinnerTakeAllParameters, SimHashParameters, WinnerTakeAllParameters
from pyslide.spec.network import (
    LayerTables,
    input_keys,
    neuron_keys,
    new_layer,
    rebuild,
    retrieve,
)
from pyslide.spec.sampling import Sampling
from pyslide.spec.tables import Bucket
from pyslide.spec.vectors import from_dense, sparse_vector

WEIGHTS = np.array([[5.0, 1.0, 2.0], [1.0, 5.0, 2.0], [1.0, 2.0, 5.0], [6.0, 2.0, 1.0]])
BIASES = np.array([0.0, 9.0, 0.0, -9.0])
# table 0: where is the largest of the coordinates 0, 1, 2; table 1: is coordinate 2 larger than 1
FAMILY = WinnerTakeAllParameters(np.array([[0, 1, 2], [1, 2, 0]]), 3)
TABLES = LayerTables(FAMILY, 1, 2, np.array([1, 1]), 8, Sampling(), ({}, {}))
LAYER = new_layer(WEIGHTS, BIASES, TABLES)
NO_DRAWS = np.zeros((2, 4))


def test_a_new_layer_remembers_nothing():
    for tables, rows in ((TABLES, 4), (None, 3)):
        layer = new_layer(WEIGHTS, BIASES, tables)
        for array, shape in (
            (layer.weight_moments.first, (4, 3)),
            (layer.weight_moments.second, (4, 3)),
            (layer.bias_moments.first, (4,)),
            (layer.bias_moments.second, (4,)),
            (layer.touches, (rows,)),  # a row is a neuron with tables, an input coordinate without
            (layer.bias_touches, (4,)),
        ):
            assert array.shape == shape
            assert (array == 0).all()


def test_neuron_keys_by_hand():
    np.testing.assert_array_equal(neuron_keys(LAYER, TABLES, PAPER), [[0, 2], [1, 0], [2, 1], [0, 2]])


def test_rebuild_and_retrieve_by_hand():
    layer = rebuild(LAYER, np.arange(4), NO_DRAWS, PAPER)
    assert layer.tables.tables == (
        {0: Bucket((0, 3), 2), 1: Bucket((1,), 1), 2: Bucket((2,), 1)},
        {0: Bucket((1,), 1), 1: Bucket((2,), 1), 2: Bucket((0, 3), 2)},
    )
    # (0, 0, 7): largest at 2 -> key 2; among (1, 2, 0) at place 1 -> key 1
    first, second = retrieve(sparse_vector([2], [7.0], 3), layer.tables, PAPER)
    np.testing.assert_array_equal(first, [2])
    np.testing.assert_array_equal(second, [2])
    assert LAYER.tables.tables == ({}, {})


def test_a_rebuild_forgets_what_the_tables_held():
    full = replace(LAYER, tables=replace(TABLES, tables=({0: Bucket((77,), 9)}, {3: Bucket((78,), 1)})))
    assert rebuild(full, np.arange(4), NO_DRAWS, PAPER).tables.tables == (
        rebuild(LAYER, np.arange(4), NO_DRAWS, PAPER).tables.tables
    )


@pytest.mark.parametrize(("answer", "members"), [("ascending_id", (3,)), ("given_order", (0,))])
def test_order_of_arrival(answer, members):
    narrow = replace(LAYER, tables=replace(TABLES, capacity=1))
    layer = rebuild(narrow, np.array([3, 1, 0, 2]), NO_DRAWS, PAPER.replace(insertion_order=answer))
    assert layer.tables.tables[0][0] == Bucket(members, 2)


def test_each_table_has_its_own_draws():
    narrow = replace(LAYER, tables=replace(TABLES, capacity=1))
    uniforms = np.array([[0.0, 0, 0, 0.9], [0.0, 0, 0, 0.1]])  # neuron 3 comes second: 1/2 decides
    layer = rebuild(narrow, np.arange(4), uniforms, PAPER.replace(bucket_policy="reservoir"))
    assert layer.tables.tables[0][0].members == (0,)
    assert layer.tables.tables[1][2].members == (3,)


def test_new_functions():
    other = WinnerTakeAllParameters(np.array([[2, 1, 0], [0, 1, 2]]), 3)
    layer = rebuild(LAYER, np.arange(4), NO_DRAWS, PAPER, other)
    assert layer.tables.family is other
    assert layer.tables.tables[0] == {2: Bucket((0, 3), 2), 1: Bucket((1,), 1), 0: Bucket((2,), 1)}
    assert rebuild(layer, np.arange(4), NO_DRAWS, PAPER).tables.family is other


def test_a_layer_without_tables_stays_as_it_is():
    layer = new_layer(WEIGHTS, BIASES, None)
    assert rebuild(layer, np.arange(4), NO_DRAWS, PAPER) is layer


def test_a_bias_is_hashed_as_one_more_coordinate():
    # is the largest of (coordinate 0, bias) the bias?
    tables = replace(TABLES, family=WinnerTakeAllParameters(np.array([[0, 3]]), 4), multipliers=np.array([1]))
    hashed = PAPER.replace(bias_hashing="hashed")
    np.testing.assert_array_equal(neuron_keys(LAYER, tables, hashed), [[0], [1], [0], [0]])
    np.testing.assert_array_equal(input_keys(sparse_vector([0], [0.5], 3), tables, hashed), [1])  # it meets a 1
    np.testing.assert_array_equal(input_keys(sparse_vector([0], [1.5], 3), tables, hashed), [0])
    with pytest.raises(ShapeError, match="got \\(3,\\)"):
        neuron_keys(LAYER, tables, PAPER)
    with pytest.raises(ShapeError, match="got \\(4,\\)"):
        neuron_keys(LAYER, TABLES, hashed)


def test_a_bias_does_not_matter_where_it_is_not_hashed():
    moved = replace(LAYER, biases=BIASES + 100)
    np.testing.assert_array_equal(neuron_keys(moved, TABLES, PAPER), neuron_keys(LAYER, TABLES, PAPER))


def test_codes_of_one_table_lie_side_by_side():
    family = SimHashParameters(np.array([[0], [1], [2], [0], [1], [2]]), np.ones((6, 1)), 3)
    tables = LayerTables(family, 3, 3, np.array([1, 1]), 8, Sampling(), ({}, {}))
    keys = input_keys(from_dense(np.array([1.0, -1.0, 1.0])), tables, PAPER)
    np.testing.assert_array_equal(keys, [0b101, 0b101])
    pairs = replace(tables, codes_per_table=2, multipliers=np.array([1, 1, 1]))
    np.testing.assert_array_equal(input_keys(from_dense(np.array([1.0, -1.0, 1.0])), pairs, PAPER), [0b10, 0b11, 0b01])


@pytest.mark.parametrize(
    ("packing", "key"),
    [("positional", 1 * 3 + 0), ("positional_reversed", 1), ("whole_bits", 1 * 4 + 0), ("natural_log_bits", 1 * 2 + 0)],
)
def test_packing_is_the_conventions(packing, key):
    family = WinnerTakeAllParameters(np.array([[0, 1, 2], [1, 0, 2]]), 3)
    tables = LayerTables(family, 2, 4, np.array([1]), 8, Sampling(), ({},))
    conventions = PAPER.replace(packing=packing)
    # coordinate 1 is the largest: code 1 in the first bin, 0 in the second
    np.testing.assert_array_equal(input_keys(from_dense(np.array([0.0, 2.0, 1.0])), tables, conventions), [key])


@pytest.mark.parametrize("answer", ["minus_one", "smallest_integer"])
@pytest.mark.parametrize("packing", ["positional", "positional_reversed", "whole_bits", "natural_log_bits"])
def test_failed_densification_that_no_table_can_hold(answer, packing):
    family = DensifiedWinnerTakeAllParameters(np.array([[0, 1]]), np.array([[0]]), 3)
    tables = LayerTables(family, 1, 18, np.array([1]), 8, Sampling(), ({},))
    conventions = PAPER.replace(densification_failure=answer, packing=packing)
    with pytest.raises(OutOfRangeError):
        input_keys(sparse_vector([2], [1.0], 3), tables, conventions)
    np.testing.assert_array_equal(
        input_keys(sparse_vector([2], [1.0], 3), tables, conventions.replace(densification_failure="code_zero")), [0]
    )


@given(st.data())
def test_every_neuron_finds_itself(data):
    conventions = data.draw(
        all_conventions(
            densification_failure="code_zero", bucket_policy="unlimited", bias_hashing="not_hashed"
        )
    )
    layer = data.draw(layers(4, 5, conventions, with_tables=True))
    for neuron, weights in enumerate(layer.weights):
        for bucket in retrieve(from_dense(weights), layer.tables, conventions):
            assert neuron in bucket


@given(st.data())
def test_a_neuron_lies_in_one_bucket_of_a_table_at_most(data):
    conventions = data.draw(all_conventions(densification_failure="code_zero"))
    layer = data.draw(layers(4, 6, conventions, with_tables=True))
    keys = neuron_keys(layer, layer.tables, conventions)
    for number, table in enumerate(layer.tables.tables):
        held = [(neuron, key) for key, bucket in table.items() for neuron in bucket.members]
        assert len({neuron for neuron, _ in held}) == len(held)
        assert all(keys[neuron, number] == key for neuron, key in held)
        assert sum(bucket.arrivals for bucket in table.values()) == 6


@given(st.data())
def test_keys_of_winner_take_all_against_a_loop(data):
    codes, tables = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    family = data.draw(winner_take_all_parameters(5, codes * tables))
    multipliers = np.ones(tables, dtype=np.uint64)
    held = LayerTables(family, codes, 20, multipliers, 4, Sampling(), ({},) * tables)
    vector = data.draw(sparse_vectors(5))
    dense = dict(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))
    keys = input_keys(vector, held, PAPER)
    for table in range(tables):
        key = 0
        for places in family.bins[table * codes : (table + 1) * codes].tolist():
            values = [dense.get(place, 0.0) for place in places]
            key = key * len(places) + values.index(max(values))
        assert keys[table] == key
