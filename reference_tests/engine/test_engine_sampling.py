"""Active sets of a batch are the spec's active sets of each sample, exactly."""

import numpy as np
import pytest
from building import every_convention, name_of
from hypothesis import given
from hypothesis import strategies as st

from pyslide.conventions import PAPER
from pyslide.engine import ragged, sampling, tables
from pyslide.settings import STRATEGIES
from pyslide.spec import sampling as spec_sampling

NEURONS = 12
TABLES = 3
BUCKETS = st.lists(st.lists(st.integers(0, NEURONS - 1), unique=True, max_size=5), min_size=TABLES, max_size=TABLES)
LABELS = st.sets(st.integers(0, NEURONS - 1), max_size=3)
STOPS = ["whole_buckets", "cut_at_budget", "all_tables"]
SAMPLES = st.lists(st.tuples(BUCKETS, LABELS, st.permutations(range(TABLES)), st.permutations(range(NEURONS))),
                   min_size=1, max_size=4)  # fmt: skip


def flattened(samples):
    lengths = np.array([[len(bucket) for bucket in one[0]] for one in samples])
    members = [neuron for one in samples for bucket in one[0] for neuron in bucket]
    return tables.Buckets(lengths, np.array(members, dtype=np.int64))


def sets_of(parts):
    offsets = ragged.offsets_of(np.array([len(part) for part in parts]))
    return ragged.ActiveSets(offsets, np.array([neuron for part in parts for neuron in sorted(part)], dtype=np.int64))


def lists(active):
    return [active.of(sample).tolist() for sample in range(active.offsets.size - 1)]


def arrays(buckets):
    return [np.array(bucket, dtype=np.int64) for bucket in buckets]


@pytest.mark.parametrize("conventions", every_convention(), ids=name_of)
@given(samples=SAMPLES, strategy=st.sampled_from(STRATEGIES), budget=st.integers(1, 9), least=st.integers(0, 9))
def test_active_sets(conventions, samples, strategy, budget, least):
    settings = spec_sampling.Sampling(strategy=strategy, budget=budget, minimum_count=2, minimum_active=least)
    orders = np.array([one[2] for one in samples])
    candidates = np.array([one[3] for one in samples])[:, :9]
    labels = sets_of([one[1] for one in samples])
    got = sampling.active_sets(flattened(samples), orders, labels, candidates, settings, conventions, NEURONS)
    expected, selected = [], []
    for place, (buckets, wanted, order, _) in enumerate(samples):
        own = np.array(sorted(wanted), dtype=np.int64)
        parts = (arrays(buckets), np.array(order), own)
        expected.append(spec_sampling.active_set(*parts, candidates[place], settings, conventions))
        selected.append(spec_sampling.selected_set(*parts, settings, conventions))
    if conventions.active_set == "union_of_batch":
        expected = [spec_sampling.union(expected)] * len(expected)
    assert lists(got.active) == [one.tolist() for one in expected]
    assert lists(got.selected) == [one.tolist() for one in selected]
    weights = sampling.log_weights(*got, NEURONS, conventions.padding_weight, np.float64)
    flat = [
        spec_sampling.log_weights(one, other, NEURONS, conventions.padding_weight)
        for one, other in zip(expected, selected, strict=True)
    ]
    np.testing.assert_allclose(weights, np.concatenate(flat), rtol=1e-15)


def test_nothing_is_weighed_in_a_sample_that_retrieved_everyone():
    """Beside one that was padded: there is nobody left, and log 0 must not reach the logits."""
    selected = sets_of([range(NEURONS), [2, 3]])
    active = sets_of([range(NEURONS), [1, 2, 3]])
    weights = sampling.log_weights(active, selected, NEURONS, "inverse_probability", np.float64)
    np.testing.assert_allclose(weights, [0.0] * NEURONS + [np.log(10), 0, 0])


@given(samples=SAMPLES, budget=st.integers(1, 9), stop=st.sampled_from(STOPS))
def test_vanilla(samples, budget, stop):
    orders = np.array([one[2] for one in samples])
    already = sets_of([one[1] for one in samples])
    got = sampling.vanilla(flattened(samples), orders, budget, stop, already, NEURONS)
    expected = [
        spec_sampling.vanilla(arrays(one[0]), np.array(one[2]), budget, stop, already.of(place)).tolist()
        for place, one in enumerate(samples)
    ]
    assert lists(got) == expected


@given(samples=SAMPLES, budget=st.integers(1, 9), minimum=st.integers(0, 4))
def test_each_strategy(samples, budget, minimum):
    buckets = flattened(samples)
    each = [arrays(one[0]) for one in samples]
    assert lists(sampling.union(buckets, NEURONS)) == [spec_sampling.union(one).tolist() for one in each]
    assert lists(sampling.intersection(buckets, NEURONS)) == [spec_sampling.intersection(one).tolist() for one in each]
    most = lists(sampling.top_k(buckets, budget, NEURONS))
    assert most == [spec_sampling.top_k(one, budget).tolist() for one in each]
    for threshold in ("at_least", "more_than"):
        got = lists(sampling.hard_threshold(buckets, minimum, threshold, NEURONS))
        assert got == [spec_sampling.hard_threshold(one, minimum, threshold).tolist() for one in each]
    found, occurrences = sampling.counts(buckets, NEURONS)
    for place, one in enumerate(each):
        neurons, times = spec_sampling.counts(one)
        assert found.of(place).tolist() == neurons.tolist()
        assert occurrences[slice(*found.offsets[place : place + 2])].tolist() == times.tolist()


@given(samples=SAMPLES, least=st.integers(0, 9))
def test_padding_and_labels(samples, least):
    active = sets_of([one[1] for one in samples])
    labels = sets_of([set(one[3][:2]) for one in samples])
    candidates = np.array([one[3] for one in samples])
    padded = lists(sampling.pad(active, candidates, least, NEURONS))
    assert padded == [
        spec_sampling.pad(active.of(place), row, least).tolist() for place, row in enumerate(candidates)
    ]
    forced = lists(sampling.force_labels(active, labels, NEURONS))
    assert forced == [
        spec_sampling.force_labels(active.of(place), labels.of(place)).tolist() for place in range(len(samples))
    ]
    everyone = sorted({neuron for one in lists(active) for neuron in one})
    assert lists(sampling.share(active)) == [everyone] * len(samples)
    assert lists(sampling.nobody(len(samples))) == [[]] * len(samples)


def test_select_keeps_whole_rows_apart():
    active = sets_of([{1, 2}, set(), {0, 3}])
    kept = sampling.select(active, np.array([False, True, True, False]))
    assert lists(kept) == [[2], [], [0]]
    assert PAPER.active_set == "per_sample"


@given(st.integers(0, 9))
def test_nobody_is_in_empty_sets(samples):
    assert lists(sampling.nobody(samples)) == [[]] * samples
    assert sampling.nobody(samples).offsets.tolist() == [0] * (samples + 1)
