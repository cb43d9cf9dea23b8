"""Sampling: every strategy and every answer to questions 11 to 14 and 21, worked by hand and against sets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from strategies import all_conventions, bucket_lists, samplings

from pyslide.conventions import PAPER
from pyslide.spec.sampling import (
    NOBODY,
    Sampling,
    active_set,
    counts,
    force_labels,
    hard_threshold,
    intersection,
    log_weights,
    pad,
    padding_target,
    sample,
    selected_set,
    top_k,
    union,
    vanilla,
)


def ids(*neurons):
    return np.array(neurons, dtype=np.int64)


BUCKETS = [ids(4, 1), ids(1, 7), ids(2), ids(7, 1, 3)]
ORDER = ids(2, 0, 3, 1)


def same(active, expected):
    assert active.dtype == np.int64
    np.testing.assert_array_equal(active, expected)


def test_union_and_the_printed_intersection():
    same(union(BUCKETS), [1, 2, 3, 4, 7])
    same(intersection(BUCKETS), [])
    same(intersection([BUCKETS[0], BUCKETS[1], BUCKETS[3]]), [1])
    same(union([]), [])
    same(intersection([]), [])
    same(union([NOBODY, NOBODY]), [])


def test_intersection_of_one_table_is_an_active_set_too():
    same(intersection([ids(7, 1, 3)]), [1, 3, 7])


@pytest.mark.parametrize(
    ("budget", "whole", "cut"),
    [
        (1, [2], [2]),
        (2, [1, 2, 4], [2, 4]),  # the bucket (4, 1) overshoots; cut, its first member is enough
        (3, [1, 2, 4], [1, 2, 4]),
        (4, [1, 2, 3, 4, 7], [1, 2, 4, 7]),  # from (7, 1, 3) only 7 is new before the budget
        (5, [1, 2, 3, 4, 7], [1, 2, 3, 4, 7]),
        (99, [1, 2, 3, 4, 7], [1, 2, 3, 4, 7]),
    ],
)
def test_vanilla_by_hand(budget, whole, cut):
    same(vanilla(BUCKETS, ORDER, budget, "whole_buckets"), whole)
    same(vanilla(BUCKETS, ORDER, budget, "cut_at_budget"), cut)
    same(vanilla(BUCKETS, ORDER, budget, "all_tables"), [1, 2, 3, 4, 7])


def test_vanilla_counts_distinct_neurons():
    # 1 comes three times: the budget of 3 is not reached before the last bucket
    buckets = [ids(1, 2), ids(1), ids(2, 1), ids(5), ids(6)]
    same(vanilla(buckets, np.arange(5), 3, "whole_buckets"), [1, 2, 5])
    same(vanilla(buckets, np.arange(5), 3, "cut_at_budget"), [1, 2, 5])


def test_vanilla_cuts_new_neurons_not_places():
    buckets = [ids(1, 2), ids(2, 1, 9, 8)]
    same(vanilla(buckets, ids(0, 1), 3, "cut_at_budget"), [1, 2, 9])


def test_neurons_that_are_already_in_count():
    same(vanilla(BUCKETS, ORDER, 1, "whole_buckets", ids(9)), [9])
    same(vanilla(BUCKETS, ORDER, 2, "whole_buckets", ids(9)), [2, 9])
    same(vanilla(BUCKETS, ORDER, 2, "whole_buckets", ids(2)), [1, 2, 4])
    same(vanilla(BUCKETS, ORDER, 3, "cut_at_budget", ids(9)), [2, 4, 9])
    same(vanilla(BUCKETS, ORDER, 1, "all_tables", ids(9)), [1, 2, 3, 4, 7, 9])


def test_counts():
    neurons, occurrences = counts(BUCKETS)
    same(neurons, [1, 2, 3, 4, 7])
    same(occurrences, [3, 1, 1, 1, 2])
    assert counts([])[0].size == 0


@pytest.mark.parametrize(
    ("budget", "active"), [(1, [1]), (2, [1, 7]), (3, [1, 2, 7]), (4, [1, 2, 3, 7]), (9, [1, 2, 3, 4, 7])]
)
def test_top_k_by_hand(budget, active):
    same(top_k(BUCKETS, budget), active)


@pytest.mark.parametrize(
    ("minimum", "at_least", "more_than"),
    [
        (0, [1, 2, 3, 4, 7], [1, 2, 3, 4, 7]),
        (1, [1, 2, 3, 4, 7], [1, 7]),
        (2, [1, 7], [1]),
        (3, [1], []),
        (4, [], []),
    ],
)
def test_hard_threshold_by_hand(minimum, at_least, more_than):
    same(hard_threshold(BUCKETS, minimum, "at_least"), at_least)
    same(hard_threshold(BUCKETS, minimum, "more_than"), more_than)


def test_labels_are_forced_in_once():
    same(force_labels(ids(1, 4), ids(4, 2)), [1, 2, 4])
    same(force_labels(NOBODY, NOBODY), [])


def test_padding_takes_the_first_candidates_that_are_new():
    same(pad(ids(2, 5), ids(5, 8, 2, 0, 1), 4), [0, 2, 5, 8])
    same(pad(ids(2, 5), ids(8, 0), 2), [2, 5])
    same(pad(ids(2, 5), ids(8, 0), 1), [2, 5])  # never shrinks
    same(pad(ids(2, 5), ids(8), 9), [2, 5, 8])
    same(pad(NOBODY, ids(3, 1), 1), [3])


@given(st.sets(st.integers(0, 7)), st.permutations(range(8)), st.integers(0, 10))
def test_as_many_candidates_as_the_minimum_are_enough(active, candidates, minimum):
    active = np.array(sorted(active), dtype=np.int64)
    padded = pad(active, np.array(candidates)[: min(minimum, 8)], minimum)
    assert padded.size == max(active.size, min(minimum, 8))


@pytest.mark.parametrize(("padding", "target"), [("up_to_minimum", 6), ("up_to_budget", 4), ("none", 0)])
def test_padding_target(padding, target):
    sampling = Sampling(strategy="vanilla", budget=4, minimum_active=6)
    assert padding_target(sampling, PAPER.replace(padding=padding)) == target


CANDIDATES = ids(0, 7, 6, 5, 9, 8, 1, 2, 3, 4)
VANILLA = Sampling(strategy="vanilla", budget=2, minimum_active=5)


@pytest.mark.parametrize(
    ("answers", "active"),
    [
        # the paper: (2) and (4, 1) are read, label 8 after that, then 0 pads up to five
        ({}, [0, 1, 2, 4, 8]),
        ({"padding": "none"}, [1, 2, 4, 8]),
        ({"padding": "up_to_budget"}, [1, 2, 4, 8]),
        # label 8 counts: (2) is enough for a budget of 2
        ({"label_forcing": "before_sampling", "padding": "none"}, [2, 8]),
        ({"label_forcing": "before_sampling"}, [0, 2, 6, 7, 8]),
        ({"label_forcing": "never", "padding": "none"}, [1, 2, 4]),
        ({"label_forcing": "never"}, [0, 1, 2, 4, 7]),
        ({"vanilla_stop": "cut_at_budget", "padding": "none"}, [2, 4, 8]),
        ({"vanilla_stop": "cut_at_budget", "label_forcing": "before_sampling", "padding": "none"}, [2, 8]),
        ({"vanilla_stop": "all_tables", "padding": "none"}, [1, 2, 3, 4, 7, 8]),
        ({"query": "intersection", "padding": "none"}, [8]),
        ({"query": "intersection", "padding": "up_to_budget"}, [0, 8]),
        ({"query": "intersection", "label_forcing": "never", "padding": "up_to_budget"}, [0, 7]),
    ],
)
def test_active_set_of_vanilla_by_hand(answers, active):
    same(active_set(BUCKETS, ORDER, ids(8), CANDIDATES, VANILLA, PAPER.replace(**answers)), active)


@pytest.mark.parametrize(
    ("sampling", "answers", "active"),
    [
        (Sampling(strategy="union"), {}, [1, 2, 3, 4, 7, 8]),
        (Sampling(strategy="top_k", budget=2), {}, [1, 7, 8]),
        (Sampling(strategy="top_k", budget=2), {"label_forcing": "never"}, [1, 7]),
        (Sampling(strategy="top_k", budget=5), {"padding": "up_to_budget", "label_forcing": "never"}, [1, 2, 3, 4, 7]),
        (Sampling(strategy="top_k", budget=6), {"padding": "up_to_budget"}, [1, 2, 3, 4, 7, 8]),
        (Sampling(strategy="top_k", budget=7), {"padding": "up_to_budget"}, [0, 1, 2, 3, 4, 7, 8]),
        (Sampling(strategy="hard_threshold", minimum_count=2), {}, [1, 7, 8]),
        (Sampling(strategy="hard_threshold", minimum_count=2), {"threshold": "more_than"}, [1, 8]),
        (Sampling(strategy="hard_threshold", minimum_count=2, minimum_active=4), {}, [0, 1, 7, 8]),
        (Sampling(strategy="hard_threshold", minimum_count=9, minimum_active=1), {}, [8]),  # the label is enough
    ],
)
def test_active_set_of_the_other_strategies_by_hand(sampling, answers, active):
    same(active_set(BUCKETS, ORDER, ids(8), CANDIDATES, sampling, PAPER.replace(**answers)), active)


def test_nothing_retrieved_and_nothing_asked_for():
    same(active_set([NOBODY, NOBODY], ids(1, 0), NOBODY, CANDIDATES, Sampling(), PAPER), [])


def test_the_printed_intersection_knows_no_strategy():
    printed = PAPER.replace(query="intersection")
    for strategy in ("union", "vanilla", "top_k", "hard_threshold"):
        same(sample(BUCKETS[:2], ids(0, 1), NOBODY, Sampling(strategy=strategy, budget=1), printed), [1])


def naive_selection(buckets, order, already, sampling, conventions):
    """Sets and loops only."""
    sets = [[int(neuron) for neuron in bucket] for bucket in buckets]
    tally = Counter(neuron for bucket in sets for neuron in bucket)
    if conventions.query == "intersection":
        return {neuron for neuron, count in tally.items() if count == len(sets)}
    if sampling.strategy == "union":
        return set(tally)
    if sampling.strategy == "top_k":
        return set(sorted(tally, key=lambda neuron: (-tally[neuron], neuron))[: sampling.budget])
    if sampling.strategy == "hard_threshold":
        least = sampling.minimum_count + (conventions.threshold == "more_than")
        return {neuron for neuron, count in tally.items() if count >= least}
    chosen = set(already)
    for table in order:
        if conventions.vanilla_stop != "all_tables" and len(chosen) >= sampling.budget:
            break
        for neuron in sets[table]:
            if conventions.vanilla_stop != "cut_at_budget" or len(chosen) < sampling.budget:
                chosen.add(neuron)
    return chosen


@given(st.data())
def test_active_set_against_sets(data):
    conventions, sampling = data.draw(all_conventions()), data.draw(samplings)
    buckets = data.draw(bucket_lists())
    order = np.array(data.draw(st.permutations(range(len(buckets)))))
    candidates = data.draw(st.permutations(range(8)))
    labels = data.draw(st.lists(st.integers(0, 7), unique=True, max_size=3))
    forced = set() if conventions.label_forcing == "never" else set(labels)
    already = forced if conventions.label_forcing == "before_sampling" else set()
    expected = naive_selection(buckets, order, already, sampling, conventions) | forced
    target = {"none": 0, "up_to_minimum": sampling.minimum_active, "up_to_budget": sampling.budget}
    for candidate in candidates:
        if len(expected) < target[conventions.padding]:
            expected.add(candidate)
    active = active_set(
        buckets, order, np.array(labels, dtype=np.int64), np.array(candidates), sampling, conventions
    )
    same(active, sorted(expected))
    assert forced <= set(active.tolist())


@given(bucket_lists(), st.data(), st.integers(1, 6))
def test_answers_to_question_11_contain_each_other(buckets, data, budget):
    order = np.array(data.draw(st.permutations(range(len(buckets)))))
    cut, whole, everything = (
        set(vanilla(buckets, order, budget, answer).tolist())
        for answer in ("cut_at_budget", "whole_buckets", "all_tables")
    )
    assert cut <= whole <= everything
    assert len(cut) == min(budget, len(everything))
    if len(everything) >= budget:
        assert budget <= len(whole) < budget + 5  # a bucket holds five at most


@given(bucket_lists(), st.data())
def test_order_of_tables_and_slots_matters_to_no_counting_strategy(buckets, data):
    shuffled = [buckets[table][::-1] for table in data.draw(st.permutations(range(len(buckets))))]
    same(union(shuffled), union(buckets))
    same(intersection(shuffled), intersection(buckets))
    same(top_k(shuffled, 3), top_k(buckets, 3))
    same(hard_threshold(shuffled, 2, "at_least"), hard_threshold(buckets, 2, "at_least"))
    same(hard_threshold(buckets, 1, "at_least"), union(buckets))
    same(hard_threshold(buckets, len(buckets), "at_least"), intersection(buckets))


def test_weights_of_padding_by_hand():
    active, selected = ids(1, 4, 7, 8), ids(1, 4)
    # 7 and 8 are two of the eight that were not selected: each stands for four
    np.testing.assert_allclose(
        np.exp(log_weights(active, selected, 10, "inverse_probability")), [1, 1, 4, 4], rtol=1e-15
    )
    same(log_weights(active, selected, 10, "one").astype(int), [0, 0, 0, 0])
    same(log_weights(selected, selected, 10, "inverse_probability").astype(int), [0, 0])
    same(log_weights(np.arange(10), selected, 10, "inverse_probability").astype(int), [0] * 10)  # everybody is drawn
    assert log_weights(NOBODY, NOBODY, 10, "inverse_probability").shape == (0,)


@pytest.mark.parametrize("drawn", [1, 2, 5])
def test_weighted_sums_over_all_draws_average_to_the_full_sum(drawn):
    worth, selected = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]), ids(2, 5)
    others = [neuron for neuron in range(7) if neuron not in selected]
    sums = []
    for padding in combinations(others, drawn):
        active = force_labels(selected, ids(*padding))
        sums.append((worth[active] * np.exp(log_weights(active, selected, 7, "inverse_probability"))).sum())
    assert np.mean(sums) == pytest.approx(worth.sum(), rel=1e-14)


@given(st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)), st.integers(12, 40))
def test_padding_stands_for_all_that_were_not_selected(selected, drawn, population):
    drawn = drawn - selected
    active = ids(*sorted(selected | drawn))
    weights = np.exp(log_weights(active, ids(*sorted(selected)), population, "inverse_probability"))
    share = (population - len(selected)) / max(1, len(drawn))
    expected = [1 if neuron in selected else share for neuron in active.tolist()]
    np.testing.assert_allclose(weights, expected, rtol=1e-14)


def test_selected_are_those_before_padding():
    for answers, selected in (
        ({}, [1, 2, 4, 8]),
        ({"label_forcing": "before_sampling"}, [2, 8]),
        ({"label_forcing": "never"}, [1, 2, 4]),
        ({"query": "intersection"}, [8]),
    ):
        same(selected_set(BUCKETS, ORDER, ids(8), VANILLA, PAPER.replace(**answers)), selected)


def test_arguments_are_left_alone():
    buckets = [bucket.copy() for bucket in BUCKETS]
    active_set(buckets, ORDER, ids(8), CANDIDATES, VANILLA, PAPER)
    for before, after in zip(BUCKETS, buckets, strict=True):
        same(after, before)
    assert not NOBODY.flags.writeable
