"""Tables in one sorted array hold what the spec's tables of buckets hold, after any sequence of changes."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyslide.conventions import QUESTIONS
from pyslide.engine import ragged, tables
from pyslide.engine.threads import Threads
from pyslide.spec import tables as spec_tables

POLICIES = list(next(question.answers for question in QUESTIONS if question.number == 10))
BITS = 2
KEYS = st.integers(0, 2**BITS - 1)
UNIFORMS = st.floats(0, 1, exclude_max=True)


def as_dict(engine, table):
    """Return one table of the engine as the spec's mapping."""
    buckets = {}
    for place, address in enumerate(engine.addresses):
        if address >> engine.table_bits == table:
            members = engine.members[slice(*engine.offsets[place : place + 2])]
            key = int(address) & ((1 << engine.table_bits) - 1)
            buckets[key] = spec_tables.Bucket(tuple(members.tolist()), int(engine.arrivals[place]))
    return buckets


class Changes(RuleBasedStateMachine):
    """One table, changed in any way; neurons are where they last arrived."""

    @initialize(policy=st.sampled_from(POLICIES), capacity=st.integers(1, 3))
    def begin(self, policy, capacity):
        self.policy, self.capacity = policy, capacity
        self.plain, self.fast, self.places = {}, tables.empty_tables(BITS), {}

    @rule(neurons=st.lists(st.integers(0, 9), unique=True, max_size=6), data=st.data())
    def arrive_or_move(self, neurons, data):
        fresh = [neuron for neuron in neurons if neuron not in self.places]
        known = [neuron for neuron in neurons if neuron in self.places]
        for group, action in ((fresh, self.insert), (known, self.move)):
            keys = np.array([data.draw(KEYS) for _ in group], dtype=np.int64)
            uniforms = np.array([data.draw(UNIFORMS) for _ in group])
            action(np.array(group, dtype=np.int64), keys, uniforms)

    def insert(self, neurons, keys, uniforms):
        self.plain = spec_tables.insert_all(self.plain, keys, neurons, self.capacity, uniforms, self.policy)
        self.fast = tables.insert_all(self.fast, keys, neurons, self.capacity, uniforms, self.policy)
        self.places.update(zip(neurons.tolist(), keys.tolist(), strict=True))

    def move(self, neurons, keys, uniforms):
        old = np.array([self.places[neuron] for neuron in neurons.tolist()], dtype=np.int64)
        rest = (neurons, self.capacity, uniforms, self.policy)
        self.plain = spec_tables.move(self.plain, old, keys, *rest)
        self.fast = tables.move(self.fast, old, keys, *rest)
        self.places.update(zip(neurons.tolist(), keys.tolist(), strict=True))

    @rule(neurons=st.lists(st.integers(0, 9), unique=True, max_size=4))
    def leave(self, neurons):
        leaving = np.array([neuron for neuron in neurons if neuron in self.places], dtype=np.int64)
        old = np.array([self.places.pop(neuron) for neuron in leaving.tolist()], dtype=np.int64)
        for key, neuron in zip(old, leaving, strict=True):
            self.plain = spec_tables.delete(self.plain, int(key), int(neuron))
        self.fast = tables.delete(self.fast, old, leaving)

    @invariant()
    def both_hold_the_same(self):
        if hasattr(self, "plain"):
            assert as_dict(self.fast, 0) == dict(self.plain)


TestChanges = Changes.TestCase


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("threads", [1, 2])
def test_build_and_query(policy, threads):
    generator = np.random.default_rng(0)
    neurons, count = 40, 3
    keys = generator.integers(0, 8, (neurons, count))
    uniforms, order = generator.random((count, neurons)), generator.permutation(neurons)
    built = tables.build_tables(keys, order, 4, uniforms, policy, 3, Threads(threads))
    plain = [spec_tables.build_table(keys[:, t], order, 4, uniforms[t], policy) for t in range(count)]
    for table in range(count):
        assert as_dict(built, table) == dict(plain[table])
    overwritten = np.ascontiguousarray(keys.T.astype(np.uint32))
    again = tables.build_tables(
        overwritten.T, order, 4, uniforms, policy, 3, Threads(threads), overwritten.view(np.int32)
    )
    for table in range(count):
        assert as_dict(again, table) == dict(plain[table])
    wanted = generator.integers(0, 8, (6, count))
    buckets = tables.query_tables(built, wanted)
    expected = [spec_tables.query_tables(plain, row) for row in wanted]
    assert buckets.lengths.tolist() == [[bucket.size for bucket in row] for row in expected]
    assert buckets.members.tolist() == np.concatenate([np.concatenate(row) for row in expected]).tolist()
    assert buckets.samples.tolist() == np.repeat(np.arange(6), buckets.lengths.sum(axis=1)).tolist()
    assert buckets.tables.tolist() == [t for row in buckets.lengths for t, size in enumerate(row) for _ in range(size)]


def test_queries_of_unknown_keys_and_of_empty_tables_find_nobody():
    keys = np.array([[1, 7]])
    assert tables.query_tables(tables.empty_tables(3), keys).lengths.tolist() == [[0, 0]]
    built = tables.build_tables(np.array([[1, 1]]), np.array([0]), 4, np.zeros((2, 1)), "fifo", 3)
    assert tables.query_tables(built, keys).lengths.tolist() == [[1, 0]]
    assert tables.query_tables(built, np.array([[7, 7]])).lengths.tolist() == [[0, 0]]


def test_members_that_left_full_buckets_take_no_memory():
    built = tables.build_tables(np.zeros((30, 2), int), np.arange(30), 4, np.zeros((2, 30)), "fifo", 3)
    assert built.members.tolist() == [26, 27, 28, 29] * 2
    assert built.members.base is None


def test_the_same_key_in_two_tables_is_two_buckets():
    built = tables.build_tables(np.array([[1, 2], [2, 1]]), np.arange(2), 4, np.zeros((2, 2)), "fifo", 2)
    assert as_dict(built, 0) == {1: ((0,), 1), 2: ((1,), 1)}
    assert as_dict(built, 1) == {1: ((1,), 1), 2: ((0,), 1)}


@given(st.lists(st.integers(0, 2**62), max_size=20))
def test_order_of_arrival_is_stable_for_wide_addresses_too(addresses):
    given_ = np.array(addresses, dtype=np.int64)
    order, ordered = tables.in_order_of_arrival(given_)
    assert order.tolist() == np.argsort(given_, kind="stable").tolist()
    assert ordered.tolist() == sorted(addresses)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4))))
def test_spans(parts):
    starts = np.array([start for start, _ in parts], dtype=np.int64)
    lengths = np.array([length for _, length in parts], dtype=np.int64)
    expected = [start + place for start, length in parts for place in range(length)]
    assert ragged.spans(starts, lengths).tolist() == expected


@given(st.lists(st.lists(st.floats(-5, 5), max_size=4), max_size=6))
def test_segments(rows):
    values = np.array([value for row in rows for value in row])
    offsets = ragged.offsets_of(np.array([len(row) for row in rows], dtype=np.int64))
    largest = ragged.segment_reduce(np.maximum, values, offsets, -7.0)
    assert largest.tolist() == [max(row, default=-7.0) for row in rows]


@given(
    st.lists(st.sets(st.integers(0, 2**63 // 2**58 - 1)), min_size=1, max_size=5),
    st.sampled_from([40, 2**29, 2**31, 2**58]),
)
@example([{0, 3}, set(), set(), set(), set()], 2**29)  # 32 bits hold all pairs, but not where the last sample begins
def test_pairs_of_wide_layers(sets, population):
    """In 32 bits or 64, whichever sample is the last one with neurons."""
    sizes = np.array([len(one) for one in sets])
    numbers = [population - 1 - neuron for one in sets for neuron in sorted(one, reverse=True)]
    neurons = np.array(numbers, dtype=np.int64)
    active = ragged.ActiveSets(ragged.offsets_of(sizes), neurons)
    packed = ragged.pack_sets(active, population)
    samples = np.repeat(np.arange(len(sets)), sizes)
    assert packed.tolist() == [int(sample) * population + one for sample, one in zip(samples, numbers, strict=True)]
    again = ragged.unpack(packed, len(sets), population)
    assert again.neurons.tolist() == neurons.tolist()
    assert again.offsets.tolist() == active.offsets.tolist()


@given(st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=9), st.integers(1, 4))
def test_groups_of_active_sets_join_again(sets, size):
    lengths = np.array([len(one) for one in sets])
    neurons = np.array([neuron for one in sets for neuron in sorted(one)], dtype=np.int64)
    active = ragged.ActiveSets(ragged.offsets_of(lengths), neurons)
    groups = [slice(start, min(start + size, len(sets))) for start in range(0, len(sets), size)]
    parts = [active.group(samples) for samples in groups]
    for samples, part in zip(groups, parts, strict=True):
        assert [part.of(place).tolist() for place in range(samples.stop - samples.start)] == [
            sorted(one) for one in sets[samples]
        ]
    joined = ragged.join_sets(parts)
    assert joined.offsets.tolist() == active.offsets.tolist()
    assert joined.neurons.tolist() == neurons.tolist()


@given(st.lists(st.integers(0, 400), min_size=1, unique=True), st.lists(st.integers(0, 400), min_size=1))
def test_buckets_are_found_in_two_steps(addresses, wanted):
    held = np.array(sorted(addresses), dtype=np.int32)
    built = tables.Tables(held, np.arange(held.size + 1), np.zeros(held.size, np.int32), np.ones(held.size), 9)
    found = tables.find_buckets(built, np.array(wanted))
    expected = np.minimum(np.searchsorted(held, wanted), held.size - 1)
    assert held[found].tolist() == held[expected].tolist()


@pytest.mark.parametrize("keys", [6, 10**6])
def test_sorting_by_counting_and_by_comparison(keys):
    generator = np.random.default_rng(1)
    given_, neurons = generator.integers(0, keys, 300).astype(np.uint32), generator.permutation(300).astype(np.int32)
    found, offsets, members = tables.in_buckets(given_, neurons)
    order = np.argsort(given_, kind="stable")
    assert found.tolist() == np.unique(given_).tolist()
    assert np.diff(offsets).tolist() == np.unique(given_, return_counts=True)[1].tolist()
    assert members.tolist() == neurons[order].tolist()


@given(st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=5))
def test_packing_pairs(sets):
    pairs = [sample * 7 + neuron for sample, one in enumerate(sets) for neuron in sorted(one)]
    packed = np.array(pairs, dtype=np.int64)
    active = ragged.unpack(packed, len(sets), 7)
    assert [active.of(sample).tolist() for sample in range(len(sets))] == [sorted(one) for one in sets]
    assert ragged.pack_sets(active, 7).tolist() == packed.tolist()
    assert ragged.distinct(np.concatenate([packed, packed[::-1]])).tolist() == packed.tolist()
    wanted = np.arange(7 * len(sets))
    assert ragged.contains(packed, wanted).tolist() == [place in packed for place in wanted]
    starts = ragged.group_starts(active.samples)
    assert ragged.ranks_in_groups(starts, packed.size).tolist() == [r for one in sets for r in range(len(one))]
