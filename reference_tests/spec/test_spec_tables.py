"""Tables: each policy by hand, their exact inclusion probabilities, and a naive model that forgets nothing."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyslide.spec.tables import (
    EMPTY_BUCKET,
    INSERTIONS,
    Bucket,
    build_table,
    delete,
    insert,
    insert_all,
    move,
    query,
    query_tables,
)

POLICIES = list(INSERTIONS)


def arrive(policy, capacity, *arrivals):
    """Let neurons arrive under key 5, each with its draw."""
    table = {}
    for neuron, uniform in arrivals:
        table = insert(table, 5, neuron, capacity, uniform, policy)
    return table


def test_fifo_loses_the_oldest():
    table = arrive("fifo", 2, (1, 0.9), (2, 0.9), (3, 0.9), (4, 0.0))
    assert table == {5: Bucket((3, 4), 4)}


def test_unlimited_has_no_capacity():
    assert arrive("unlimited", 1, (1, 0.0), (2, 0.0), (3, 0.0)) == {5: Bucket((1, 2, 3), 3)}


@pytest.mark.parametrize(
    ("uniform", "members"),
    [(0.0, (3, 2)), (0.33, (3, 2)), (0.34, (1, 3)), (0.66, (1, 3)), (0.67, (1, 2)), (0.999, (1, 2))],
)
def test_reservoir_third_arrival_takes_a_slot_with_two_thirds(uniform, members):
    table = arrive("reservoir", 2, (1, 0.99), (2, 0.99), (3, uniform))  # the first two need no luck
    assert table == {5: Bucket(members, 3)}


@pytest.mark.parametrize(
    ("uniform", "members"),
    [(0.0, (1, 2)), (0.33, (1, 2)), (0.34, (3, 2)), (0.49, (3, 2)), (0.51, (1, 3)), (0.66, (1, 3)), (0.67, (1, 2))],
)
def test_original_reservoir_third_arrival_takes_a_slot_with_one_third(uniform, members):
    table = arrive("reservoir_one_over_n", 2, (1, 0.99), (2, 0.99), (3, uniform))
    assert table == {5: Bucket(members, 3)}


LAST_DRAW = 1 - 2.0**-53


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("arrivals", [3, 4, 5, 7, 8, 129])
def test_largest_and_smallest_draws_stay_inside_the_bucket(policy, arrivals):
    for uniform in (0.0, LAST_DRAW, 1.5 / arrivals, (2 - 2.0**-50) / arrivals):
        table = arrive(policy, 2, *((neuron, uniform) for neuron in range(arrivals)))
        assert table[5].arrivals == arrivals
        assert len(table[5].members) == (arrivals if policy == "unlimited" else 2)


def test_every_neuron_is_in_a_reservoir_with_the_same_probability():
    capacity, neurons = 2, 6
    seen = Counter()
    grids = [[(slot + 0.5) / n for slot in range(n)] if n > capacity else [0.5] for n in range(1, neurons + 1)]
    outcomes = 0
    for uniforms in product(*grids):
        outcomes += 1
        seen.update(arrive("reservoir", capacity, *enumerate(uniforms))[5].members)
    assert {neuron: Fraction(count, outcomes) for neuron, count in seen.items()} == dict.fromkeys(
        range(neurons), Fraction(capacity, neurons)
    )


def test_original_reservoir_favours_early_arrivals():
    capacity, neurons = 2, 5
    chance = [Fraction(1)] * capacity
    for n in range(capacity + 1, neurons + 1):
        chance = [survivor * (1 - Fraction(1, n * capacity)) for survivor in chance] + [Fraction(1, n)]
    seen = Counter()
    grids = [
        [(part + 0.5) / (n * capacity) for part in range(n * capacity)] if n > capacity else [0.5]
        for n in range(1, neurons + 1)
    ]
    outcomes = 0
    for uniforms in product(*grids):
        outcomes += 1
        seen.update(arrive("reservoir_one_over_n", capacity, *enumerate(uniforms))[5].members)
    assert [Fraction(seen[neuron], outcomes) for neuron in range(neurons)] == chance


def test_a_departure_frees_a_place_and_takes_its_arrival_back():
    table = arrive("fifo", 2, (1, 0.0), (2, 0.0), (3, 0.0))
    assert delete(table, 5, 3) == {5: Bucket((2,), 2)}
    assert delete(table, 5, 1) == {5: Bucket((2, 3), 2)}  # 1 had been displaced already
    assert delete(delete(delete(table, 5, 1), 5, 2), 5, 3) == {}
    assert delete({}, 5, 1) == {}


def test_after_a_departure_a_reservoir_takes_the_next_arrival_in_any_case():
    table = delete(arrive("reservoir", 2, (1, 0.0), (2, 0.0), (3, 0.99)), 5, 1)
    assert table == {5: Bucket((2,), 2)}
    table = insert(table, 5, 4, 2, 0.99, "reservoir")
    assert table == {5: Bucket((2, 4), 3)}
    assert insert(table, 5, 6, 2, 0.49, "reservoir") == {5: Bucket((2, 6), 4)}  # floor(0.49 * 4) = 1


def test_a_bucket_whose_members_left_remembers_those_it_displaced():
    table = delete(arrive("fifo", 1, (1, 0.0), (2, 0.0)), 5, 2)
    assert table == {5: Bucket((), 1)}
    assert query(table, 5).size == 0


def test_tables_are_not_changed_in_place():
    table = {5: Bucket((1,), 1)}
    insert(table, 5, 2, 2, 0.0, "fifo")
    insert(table, 6, 2, 2, 0.0, "fifo")
    delete(table, 5, 1)
    assert table == {5: Bucket((1,), 1)}


def test_moves_all_leave_before_any_arrives():
    table = insert_all({}, np.array([0, 0, 1]), np.array([10, 11, 12]), 2, np.zeros(3), "fifo")
    moved = move(table, np.array([0, 1]), np.array([1, 0]), np.array([10, 12]), 2, np.zeros(2), "fifo")
    assert moved == {0: Bucket((11, 12), 2), 1: Bucket((10,), 1)}
    # capacity 1, neurons change places: one by one the second would displace the first
    table = {0: Bucket((10,), 1), 1: Bucket((12,), 1)}
    moved = move(table, np.array([0, 1]), np.array([1, 0]), np.array([10, 12]), 1, np.zeros(2), "fifo")
    assert moved == {0: Bucket((12,), 1), 1: Bucket((10,), 1)}


def test_a_displaced_neuron_comes_back_by_moving():
    table = arrive("fifo", 1, (1, 0.0), (2, 0.0))
    moved = move(table, np.array([5]), np.array([6]), np.array([1]), 1, np.zeros(1), "fifo")
    assert moved == {5: Bucket((2,), 1), 6: Bucket((1,), 1)}


KEYS = np.array([3, 1, 3, 3])


def test_table_built_in_a_given_order():
    build = build_table(KEYS, np.array([0, 1, 2, 3]), 2, np.zeros(4), "fifo")
    assert build == {3: Bucket((2, 3), 3), 1: Bucket((1,), 1)}
    build = build_table(KEYS, np.array([3, 2, 1, 0]), 2, np.zeros(4), "fifo")
    assert build == {3: Bucket((2, 0), 3), 1: Bucket((1,), 1)}


def test_draws_belong_to_neurons_not_to_turns():
    uniforms = np.array([0.9, 0.9, 0.9, 0.4])  # third of three: 0.4 takes slot 1, 0.9 none
    last_in = build_table(KEYS, np.array([0, 1, 2, 3]), 2, uniforms, "reservoir")
    assert last_in[3] == Bucket((0, 3), 3)
    last_in = build_table(KEYS, np.array([3, 1, 2, 0]), 2, uniforms, "reservoir")
    assert last_in[3] == Bucket((3, 2), 3)


def test_queries():
    tables = [{3: Bucket((7, 2), 5)}, {4: Bucket((1,), 1)}]
    np.testing.assert_array_equal(query(tables[0], 3), [7, 2])
    assert query(tables[0], 4).dtype == np.int64
    assert query(tables[0], 4).size == 0
    first, second = query_tables(tables, np.array([3, 4]))
    np.testing.assert_array_equal(first, [7, 2])
    np.testing.assert_array_equal(second, [1])
    with pytest.raises(ValueError, match="zip"):
        query_tables(tables, np.array([3]))
    assert EMPTY_BUCKET == ((), 0)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.data())
def test_built_tables_hold_every_neuron_that_fits_under_its_own_key(keys, data):
    policy = data.draw(st.sampled_from(POLICIES))
    capacity = data.draw(st.integers(1, 5))
    order = np.array(data.draw(st.permutations(range(len(keys)))))
    uniforms = np.array(data.draw(st.lists(st.floats(0, LAST_DRAW), min_size=len(keys), max_size=len(keys))))
    table = build_table(np.array(keys), order, capacity, uniforms, policy)
    population = Counter(keys)
    assert set(table) == set(population)
    for key, bucket in table.items():
        assert bucket.arrivals == population[key]
        assert len(set(bucket.members)) == len(bucket.members)
        assert len(bucket.members) == (population[key] if policy == "unlimited" else min(capacity, population[key]))
        assert all(keys[neuron] == key for neuron in bucket.members)
    if policy == "fifo":
        for key, bucket in table.items():
            assert list(bucket.members) == [neuron for neuron in order if keys[neuron] == key][-capacity:]


class NaiveBucket:
    """Slots that are overwritten in place, and the home of every neuron that came and has not left."""

    def __init__(self, policy, capacity):
        self.policy, self.capacity = policy, capacity
        self.slots, self.inhabitants = [], set()

    def arrive(self, neuron, uniform):
        self.inhabitants.add(neuron)
        nth = len(self.inhabitants)
        if self.policy == "unlimited" or len(self.slots) < self.capacity:
            self.slots.append(neuron)
        elif self.policy == "fifo":
            self.slots.pop(0)
            self.slots.append(neuron)
        elif self.policy == "reservoir":
            if int(uniform * nth) < self.capacity:
                self.slots[int(uniform * nth)] = neuron
        elif 1 <= uniform * nth < 2:
            self.slots[int((uniform * nth - 1) * self.capacity)] = neuron

    def leave(self, neuron):
        self.inhabitants.remove(neuron)
        if neuron in self.slots:
            self.slots.remove(neuron)


keys = st.integers(0, 3)
neuron_ids = st.integers(0, 9)
draws = st.floats(0, LAST_DRAW)


class TablesAgainstTheModel(RuleBasedStateMachine):
    """Any sequence of arrivals, departures and moves."""

    @initialize(policy=st.sampled_from(POLICIES), capacity=st.integers(1, 3))
    def empty(self, policy, capacity):
        self.policy, self.capacity = policy, capacity
        self.table = {}
        self.model = {key: NaiveBucket(policy, capacity) for key in range(4)}
        self.home = {}

    @rule(neuron=neuron_ids, key=keys, uniform=draws)
    def one_arrives(self, neuron, key, uniform):
        if neuron not in self.home:
            self.table = insert(self.table, key, neuron, self.capacity, uniform, self.policy)
            self.model[key].arrive(neuron, uniform)
            self.home[neuron] = key

    @rule(neuron=neuron_ids)
    def one_leaves(self, neuron):
        if neuron in self.home:
            key = self.home.pop(neuron)
            self.table = delete(self.table, key, neuron)
            self.model[key].leave(neuron)

    @rule(moves=st.lists(st.tuples(neuron_ids, keys, draws), max_size=5, unique_by=lambda one: one[0]))
    def some_move(self, moves):
        moves = [one for one in moves if one[0] in self.home]
        neurons = np.array([neuron for neuron, _, _ in moves], dtype=np.int64)
        old = np.array([self.home[neuron] for neuron, _, _ in moves], dtype=np.int64)
        new = np.array([key for _, key, _ in moves], dtype=np.int64)
        uniforms = np.array([uniform for _, _, uniform in moves])
        self.table = move(self.table, old, new, neurons, self.capacity, uniforms, self.policy)
        for neuron, _, _ in moves:
            self.model[self.home[neuron]].leave(neuron)
        for neuron, key, uniform in moves:
            self.model[key].arrive(neuron, uniform)
            self.home[neuron] = key

    @invariant()
    def same_as_the_model(self):
        for key, bucket in getattr(self, "model", {}).items():
            held = self.table.get(key, EMPTY_BUCKET)
            assert list(held.members) == bucket.slots
            assert held.arrivals == len(bucket.inhabitants)
            assert (key in self.table) == bool(bucket.inhabitants)


TestTablesAgainstTheModel = TablesAgainstTheModel.TestCase
TestTablesAgainstTheModel.settings = settings(
    max_examples=max(80, settings().max_examples // 20), stateful_step_count=30
)
