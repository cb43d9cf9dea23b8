"""Every answer to every question, exercised once with a value worked by hand, and the presets."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from strategies import all_conventions

from pyslide.conventions import ORIGINAL_CPP, PAPER, PRESETS, QUESTIONS, Conventions
from pyslide.errors import ConventionError
from pyslide.parameters import DensifiedWinnerTakeAllParameters, SimHashParameters, WinnerTakeAllParameters
from pyslide.randomness import draw_projections, draw_starts
from pyslide.spec.backward import batch_scale, output_error
from pyslide.spec.forward import softmax
from pyslide.spec.hashing import densify, hash_codes, occupied_codes, sign_bits
from pyslide.spec.keys import PACKINGS
from pyslide.spec.network import LayerTables, Network, input_keys, new_layer, rebuild
from pyslide.spec.optimizer import Optimizer, Update, adam, update_rows
from pyslide.spec.sampling import Sampling, active_set, log_weights
from pyslide.spec.step import Draws, Sample, forward
from pyslide.spec.tables import Bucket, insert_all
from pyslide.spec.vectors import from_dense, sparse_vector


def projection_of(answer):
    drawn = draw_projections(np.random.default_rng(0), 200, 7, answer)
    repeats = any(len(set(row)) < len(row) for row in drawn.coordinates.tolist())
    return drawn.coordinates.shape[1], repeats, set(np.abs(drawn.coefficients).ravel()) == {1.0}


def densified(answers):
    choices = {"donor": "undensified", "borrowed_code": "as_is", "densification_failure": "code_zero"} | answers
    codes, _ = densify(
        np.array([2, 0, 0]), np.array([True, False, False]), np.array([[0, 0], [1, 0], [1, 2]]), 4, **choices
    )
    return codes.tolist()


def members(answer):
    table = insert_all({}, np.zeros(3, dtype=int), np.arange(3), 2, np.array([0.0, 0.0, 0.2]), answer)
    return table[0].members


def first_in(answer):
    tables = LayerTables(SimHashParameters(np.array([[0]]), np.ones((1, 1)), 1), 1, 1, np.array([1]), 1, Sampling(),
                         ({},))  # fmt: skip
    layer = rebuild(
        new_layer(np.ones((3, 1)), np.zeros(3), tables), np.array([2, 1, 0]), np.zeros((1, 3)),
        PAPER.replace(insertion_order=answer),
    )  # fmt: skip
    return layer.tables.tables[0]


def active(**answers):
    buckets = [np.array([5, 1]), np.array([1, 2, 3]), np.array([6, 1])]
    sampling = Sampling(strategy="vanilla", budget=3, minimum_active=4)
    conventions = PAPER.replace(**({"padding": "none", "label_forcing": "never"} | answers))
    return active_set(
        buckets, np.array([0, 1, 2]), np.array([7, 8]), np.array([9, 0, 4]), sampling, conventions
    ).tolist()


def thresholded(answer):
    sampling = Sampling(strategy="hard_threshold", minimum_count=2)
    buckets = [np.array([1, 2]), np.array([1, 2]), np.array([1])]
    conventions = PAPER.replace(threshold=answer)
    nobody = np.array([], dtype=int)
    return active_set(buckets, np.arange(3), nobody, nobody, sampling, conventions).tolist()


def batch_active(answer):
    tables = LayerTables(SimHashParameters(np.array([[0]]), np.ones((1, 1)), 1), 1, 1, np.array([1]), 4, Sampling(),
                         ({0: Bucket((0,), 1), 1: Bucket((2,), 1)},))  # fmt: skip
    layer = new_layer(np.array([[-1.0], [-2.0], [1.0]]), np.zeros(3), tables)
    samples = [Sample(sparse_vector([0], [sign], 1), np.array([], dtype=int)) for sign in (1.0, -1.0)]
    draws = [[Draws(np.array([0]), np.array([], dtype=int))] * 2]
    passes = forward(Network((layer,), 0), samples, draws, PAPER.replace(active_set=answer))
    return [one.layers[0].active.tolist() for one in passes]


def moved_rows(answer):
    ones = np.ones((2, 1))
    before = Update(ones, ones, ones)
    after, _ = update_rows(
        before, ones, np.array([True, False]), 50, np.array([0, 9]), Optimizer(learning_rate=1.0, epsilon=1e-300),
        PAPER.replace(adam_rows=answer),
    )  # fmt: skip
    return [round(1 - float(value), 6) for value in after.values[:, 0]]


def rate(step):
    """The size of a step whose moments are 1."""
    return round((1 - 0.999**step) ** 0.5 / (1 - 0.9**step), 6)


def adam_with_large_epsilon(answer):
    zero = np.zeros(1)
    optimizer = Optimizer(learning_rate=1.0, first_decay=0.5, second_decay=0.75, epsilon=0.5)
    return float(adam(zero, np.array([2.0]), zero, zero, 1, optimizer, answer).values[0])


def key_with_bias(answer):
    dimension = 3 if answer == "hashed" else 2
    family = WinnerTakeAllParameters(np.array([[0, dimension - 1]]), dimension)
    tables = LayerTables(family, 1, 1, np.array([1]), 4, Sampling(), ({},))
    # hashed: 0.5 against the 1 that meets the bias; not hashed: 0.5 against the last input, 0
    return int(input_keys(sparse_vector([0], [0.5], 2), tables, PAPER.replace(bias_hashing=answer))[0])


def after_a_rebuild(answer):
    old, new = (WinnerTakeAllParameters(np.array([places]), 2) for places in ([0, 1], [1, 0]))
    tables = LayerTables(old, 1, 1, np.array([1]), 4, Sampling(), ({},))
    layer = new_layer(np.array([[1.0, 0.0]]), np.zeros(1), tables)
    return rebuild(layer, np.arange(1), np.zeros((1, 1)), PAPER, new if answer == "new_functions" else None)


def at_inference(answer):
    """Inference is a pass without labels; all neurons are computed where the layer keeps no tables."""
    tables = LayerTables(SimHashParameters(np.array([[0]]), np.ones((1, 1)), 1), 1, 1, np.array([1]), 4, Sampling(),
                         ({1: Bucket((2,), 1)},)) if answer == "sampled" else None  # fmt: skip
    layer = new_layer(np.ones((3, 1)), np.zeros(3), tables)
    sample = Sample(sparse_vector([0], [1.0], 1), np.array([], dtype=int))
    (one,) = forward(Network((layer,), 0), [sample], [[Draws(np.array([0]), np.array([], dtype=int))]], PAPER)
    return one.layers[0].active.tolist()


def softmax_and_error(answer):
    outputs = softmax(np.array([-1e4, -1e4]), answer)
    return outputs.tolist(), output_error(np.array([0.5, 0.5]), np.array([0.5, 0.0]), answer).tolist()


def bin_is_empty(answer):
    vector = sparse_vector([0, 1, 4, 5], [0.0, -1.0, 7.0, 1.0], 8)
    return (~occupied_codes(vector, np.array([[0, 1], [2, 3], [4, 5], [7, 5]]), answer)[1]).tolist()


def code_of_weights(answer):
    family = DensifiedWinnerTakeAllParameters(np.array([[0, 1]]), np.array([[0]]), 2)
    return int(hash_codes(from_dense(np.array([0.0, -2.0])), family, PAPER.replace(dense_input=answer)).codes[0])


CASES = {
    "sign_bit": (lambda answer: sign_bits(np.array([-1.0, 0.0, 1.0]), answer).tolist(), {
        "one_at_zero_or_above": [0, 1, 1],
        "zero_at_zero_or_above": [1, 0, 0],
        "one_above_zero": [0, 0, 1],
    }),
    "projection": (projection_of, {  # places, whether some repeat, whether they are signs
        "signs_without_replacement": (3, False, True),
        "signs_with_replacement": (3, True, True),
        "dense_signs": (7, False, True),
        "gaussian": (7, False, False),
    }),
    "packing": (lambda answer: PACKINGS[answer](np.array([4, 1, 3]), 5), {
        "positional": 4 * 25 + 5 + 3,
        "positional_reversed": 3 * 25 + 5 + 4,
        "whole_bits": 4 * 64 + 8 + 3,
        "natural_log_bits": 4 * 4 + 2 + 3,
    }),
    "empty_bin": (bin_is_empty, {
        "no_entry_seen": [False, True, False, False],
        "maximum_is_zero": [True, True, False, False],
        "code_is_zero": [True, True, True, False],
    }),
    "donor": (lambda answer: densified({"donor": answer}), {
        "undensified": [2, 2, 0],
        "densified_so_far": [2, 2, 2],
    }),
    "borrowed_code": (lambda answer: densified({"borrowed_code": answer}), {
        "as_is": [2, 2, 0],
        "shifted_by_attempt": [2, 10, 0],
    }),
    "dense_input": (code_of_weights, {"as_its_nonzeros": 1, "every_coordinate": 0}),
    "densification_failure": (lambda answer: densified({"densification_failure": answer}), {
        "code_zero": [2, 2, 0],
        "minus_one": [2, 2, -1],
        "smallest_integer": [2, 2, -2147483648],
    }),
    "insertion_order": (first_in, {"ascending_id": {1: Bucket((2,), 3)}, "given_order": {1: Bucket((0,), 3)}}),
    "bucket_policy": (members, {  # the third arrival draws 0.2: 0.6 of 3
        "fifo": (1, 2),
        "reservoir": (2, 1),
        "unlimited": (0, 1, 2),
        "reservoir_one_over_n": (0, 1),
    }),
    "vanilla_stop": (lambda answer: active(vanilla_stop=answer), {
        "whole_buckets": [1, 2, 3, 5],
        "cut_at_budget": [1, 2, 5],
        "all_tables": [1, 2, 3, 5, 6],
    }),
    "padding": (lambda answer: active(padding=answer, vanilla_stop="cut_at_budget", query="intersection"), {
        "up_to_minimum": [0, 1, 4, 9],
        "up_to_budget": [0, 1, 9],
        "none": [1],
    }),
    "threshold": (thresholded, {"at_least": [1, 2], "more_than": [1]}),
    "label_forcing": (lambda answer: active(label_forcing=answer), {
        "after_sampling": [1, 2, 3, 5, 7, 8],
        "before_sampling": [1, 5, 7, 8],
        "never": [1, 2, 3, 5],
    }),
    "active_set": (batch_active, {"per_sample": [[2], [0]], "union_of_batch": [[0, 2], [0, 2]]}),
    "adam_rows": (moved_rows, {
        "touched_global_step": [rate(50), 0.0],
        "touched_own_step": [rate(1), 0.0],
        "every_weight": [rate(50), rate(50)],
    }),
    "adam_epsilon": (adam_with_large_epsilon, {
        "corrected": pytest.approx(-2 / 2.5, rel=1e-15),
        "uncorrected": pytest.approx(-2 / 3, rel=1e-15),
    }),
    "batch_reduction": (lambda answer: batch_scale(4, answer), {"mean": 0.25, "sum": 1.0}),
    "bias_hashing": (key_with_bias, {"not_hashed": 0, "hashed": 1}),
    "inference": (at_inference, {"all_neurons": [0, 1, 2], "sampled": [2]}),
    "query": (lambda answer: active(query=answer), {"union": [1, 2, 3, 5], "intersection": [1]}),
    "rebuild": (lambda answer: after_a_rebuild(answer).tables.tables[0], {
        "same_functions": {0: Bucket((0,), 1)},
        "new_functions": {1: Bucket((0,), 1)},
    }),
    "softmax": (softmax_and_error, {
        "stable": ([0.5, 0.5], [-0.25, 0.25]),
        "maximum_from_zero": ([0.0, 0.0], [0.0, 0.5]),
    }),
    "padding_weight": (lambda answer: np.exp(log_weights(np.array([1, 2]), np.array([1]), 5, answer)).tolist(), {
        "one": [1.0, 1.0],
        "inverse_probability": [1.0, pytest.approx(4.0, rel=1e-15)],
    }),
    "padding_draws": (lambda answer: len(set(draw_starts(np.random.default_rng(0), 9, 10**6, answer).tolist())), {
        "per_sample": 9,
        "shared_by_batch": 1,
    }),
}  # fmt: skip
"""For each field a function of the answer, and its value for each answer."""

ANSWERS = [(field, answer) for field, (_, expected) in CASES.items() for answer in expected]


def test_every_answer_has_a_case():
    assert {question.field: set(question.answers) for question in QUESTIONS} == {
        field: set(expected) for field, (_, expected) in CASES.items()
    }


@pytest.mark.parametrize(("field", "answer"), ANSWERS)
def test_each_answer_by_hand(field, answer):
    exercise, expected = CASES[field]
    assert exercise(answer) == expected[answer]


@pytest.mark.parametrize("field", CASES)
def test_no_two_answers_do_the_same(field):
    exercise, expected = CASES[field]
    for one, other in combinations(expected, 2):
        assert exercise(one) != exercise(other)


def test_the_papers_preset():
    assert Conventions() == PAPER
    assert PAPER.as_dict() == {
        "sign_bit": "one_at_zero_or_above",
        "projection": "signs_without_replacement",
        "packing": "positional",
        "empty_bin": "no_entry_seen",
        "donor": "undensified",
        "borrowed_code": "as_is",
        "dense_input": "as_its_nonzeros",
        "densification_failure": "code_zero",
        "insertion_order": "ascending_id",
        "bucket_policy": "fifo",
        "vanilla_stop": "whole_buckets",
        "padding": "up_to_minimum",
        "threshold": "at_least",
        "label_forcing": "after_sampling",
        "active_set": "per_sample",
        "adam_rows": "touched_global_step",
        "adam_epsilon": "corrected",
        "batch_reduction": "mean",
        "bias_hashing": "not_hashed",
        "inference": "all_neurons",
        "query": "union",
        "rebuild": "same_functions",
        "softmax": "stable",
        "padding_weight": "one",
        "padding_draws": "per_sample",
    }


def test_the_original_differs_where_the_program_does():
    paper = PAPER.as_dict()
    assert {field: answer for field, answer in ORIGINAL_CPP.as_dict().items() if answer != paper[field]} == {
        "sign_bit": "zero_at_zero_or_above",
        "packing": "natural_log_bits",
        "dense_input": "every_coordinate",
        "densification_failure": "smallest_integer",
        "insertion_order": "given_order",
        "vanilla_stop": "all_tables",
        "threshold": "more_than",
        "label_forcing": "before_sampling",
        "adam_rows": "every_weight",
        "adam_epsilon": "uncorrected",
        "softmax": "maximum_from_zero",
    }
    assert PRESETS == {"PAPER": PAPER, "ORIGINAL_CPP": ORIGINAL_CPP}


def test_questions_are_numbered_in_order():
    assert [question.number for question in QUESTIONS] == list(range(1, len(QUESTIONS) + 1))
    assert list(PAPER.as_dict()) == [question.field for question in QUESTIONS]
    for question in QUESTIONS:
        assert question.text.endswith("?")
        assert all(meaning for meaning in question.answers.values())
        assert len(question.answers) > 1


@given(all_conventions())
def test_answers_are_read_back(conventions):
    assert Conventions.from_dict(conventions.as_dict()) == conventions
    assert Conventions.from_dict({}) == PAPER
    assert PAPER.replace(**conventions.as_dict()) == conventions


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.field)
@pytest.mark.parametrize("answer", ["perhaps", "", None, 1])
def test_unknown_answers(question, answer):
    with pytest.raises(ConventionError, match=rf"question {question.number} \({question.field}\)"):
        PAPER.replace(**{question.field: answer})
    with pytest.raises(ConventionError):
        Conventions(**{question.field: answer})


def test_answers_that_exclude_each_other():
    with pytest.raises(ConventionError, match="questions 15 and 24"):
        PAPER.replace(active_set="union_of_batch", padding_weight="inverse_probability")


def test_unknown_questions():
    with pytest.raises(ConventionError, match="no such question: colour, weather"):
        PAPER.replace(weather="fine", colour="blue", sign_bit="one_above_zero")
    with pytest.raises(ConventionError, match="colour"):
        Conventions.from_dict({"colour": "blue"})


def test_conventions_are_frozen():
    with pytest.raises(FrozenInstanceError):
        PAPER.sign_bit = "one_above_zero"
