"""Whole training steps: the engine against the spec, over all conventions, families, strategies and layouts.

In float64 both compute the same sums in another order.  A sum of n products is off by at most n u times the sum of the
absolute products (Higham 2002, section 3.1); with n < 50, values of order 1 to 10, and u = 1.1e-16 a station adds less
than 1e-13.  Adam's first step divides by the root of the second moment, which is |g| at first: an error of 1e-13 in a
gradient of 1e-5 becomes 1e-8 of a step of size 1e-2, so that weights agree within 1e-9 after a few steps.
"""

import hypothesis.strategies as st
import numpy as np
import pytest
from building import SAMPLES, draws, every_convention, name_of, pair, samples_of
from hypothesis import given
from strategies import all_conventions

from pyslide.conventions import PAPER
from pyslide.engine import forward as engine_forward
from pyslide.engine import step as engine_step
from pyslide.engine.network import new_layer
from pyslide.engine.ragged import ActiveSets
from pyslide.engine.sampling import Chosen
from pyslide.engine.threads import Threads
from pyslide.errors import OutOfRangeError, ShapeError
from pyslide.settings import FAMILIES, STRATEGIES
from pyslide.spec import step as spec_step
from pyslide.spec.optimizer import Optimizer

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
ADAM = Optimizer(learning_rate=0.01)


@pytest.fixture(autouse=True, scope="module")
def several_groups():
    """Let six samples be two groups."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_step, "SAMPLE_GROUP", 4)
        yield


def same_networks(plain, fast):
    for one, other in zip(plain.layers, fast.layers, strict=True):
        np.testing.assert_allclose(other.weights, one.weights, **CLOSE)
        np.testing.assert_allclose(other.biases, one.biases, **CLOSE)
        np.testing.assert_allclose(other.weight_first, one.weight_moments.first, **CLOSE)
        np.testing.assert_allclose(other.bias_first, one.bias_moments.first, **CLOSE)
        assert other.touches.tolist() == one.touches.tolist()
        assert other.bias_touches.tolist() == one.bias_touches.tolist()


def same_passes(plain, fast, network):
    for depth, layer in enumerate(network.layers):
        active = fast.layers[depth].active_sets(layer.neurons)
        for sample in range(SAMPLES):
            assert active.of(sample).tolist() == plain[sample].layers[depth].active.tolist()
    np.testing.assert_allclose(fast.losses, [one.loss for one in plain], **CLOSE)
    np.testing.assert_allclose(fast.probabilities, np.concatenate([one.probabilities for one in plain]), **CLOSE)
    np.testing.assert_allclose(fast.wanted, np.concatenate([one.wanted for one in plain]), **CLOSE)


def train_both(problem, conventions, seed, steps=3, optimizer=ADAM, sample_weights=None):
    generator = np.random.default_rng(seed)
    plain, fast = problem.spec, problem.engine
    samples = samples_of(problem.features, problem.labels)
    for _ in range(steps):
        own, batched = draws(generator, fast)
        expected = spec_step.training_step(plain, samples, own, optimizer, conventions, sample_weights)
        got = engine_step.training_step(
            fast, problem.features, problem.labels, batched, optimizer, conventions, sample_weights=sample_weights
        )
        plain = expected.network
        same_passes(expected.passes, got.batch_pass, fast)
        same_networks(plain, fast)
        assert got.loss == pytest.approx(expected.loss, rel=1e-9)


@pytest.mark.parametrize("conventions", every_convention(), ids=name_of)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_convention_and_family(family, conventions):
    for place, strategy in enumerate(STRATEGIES):
        try:
            problem = pair(place, conventions, family, strategy, (place % 2 == 1, True))
            train_both(problem, conventions, place)
        except OutOfRangeError:  # both layers refuse codes that no table can hold; test_engine_hashing compares that
            assert conventions.densification_failure in ("minus_one", "smallest_integer")


@given(
    conventions=all_conventions(densification_failure="code_zero"),
    seed=st.integers(0, 2**32 - 1),
    family=st.sampled_from(FAMILIES),
    strategy=st.sampled_from(STRATEGIES),
    tabled=st.lists(st.booleans(), min_size=1, max_size=3),
    rule=st.sampled_from(["adam", "sgd"]),
)
def test_any_network_trains_alike(conventions, seed, family, strategy, tabled, rule):
    problem = pair(seed, conventions, family, strategy, tuple(tabled))
    train_both(problem, conventions, seed, steps=2, optimizer=Optimizer(rule=rule, learning_rate=0.01, momentum=0.5))


def same_gradients(plain, fast, network):
    for layer, expected, got in zip(network.layers, plain, fast, strict=True):
        rows = np.zeros_like(layer.rows.values)  # by neuron in a layer with tables, by input without
        rows[got.rows] = np.asarray(got.left @ got.right)
        np.testing.assert_allclose(rows if layer.sampled else rows.T, expected.weights, **CLOSE)
        biases = np.zeros_like(layer.biases)
        biases[got.neurons] = got.biases
        np.testing.assert_allclose(biases, expected.biases, **CLOSE)
        assert got.rows.tolist() == np.flatnonzero(expected.neurons if layer.sampled else expected.inputs).tolist()


@given(
    conventions=all_conventions(densification_failure="code_zero"),
    seed=st.integers(0, 2**32 - 1),
    strategy=st.sampled_from(STRATEGIES),
    tabled=st.lists(st.booleans(), min_size=1, max_size=3),
)
def test_any_network_goes_forward_and_back_alike(conventions, seed, strategy, tabled):
    """One after the other, as the simulator of workers asks for them, and as a step does, group by group."""
    problem = pair(seed, conventions, "wta", strategy, tuple(tabled))
    own, batched = draws(np.random.default_rng(seed), problem.engine)
    samples = samples_of(problem.features, problem.labels)
    expected = spec_step.training_step(problem.spec, samples, own, ADAM, conventions)
    fast = (problem.engine, problem.features, problem.labels, batched, conventions)
    got, errors = engine_step.there_and_back(*fast)
    same_passes(expected.passes, got, problem.engine)
    same_gradients(expected.gradients, engine_step.gradients_from(problem.engine, got, errors), problem.engine)
    plain = engine_step.forward(*fast)
    same_passes(expected.passes, plain, problem.engine)
    same_gradients(expected.gradients, engine_step.backward(problem.engine, plain, conventions), problem.engine)


@pytest.mark.parametrize("tabled", [(True,), (False,), (True, True), (False, False), (True, False, True)], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_tables_on_any_layer(family, tabled):
    train_both(pair(7, PAPER, family, "vanilla", tabled), PAPER, 7)


@pytest.mark.parametrize("softmax", ["stable", "maximum_from_zero"])
@pytest.mark.parametrize("tabled", [(False, False), (False, True)], ids=str)
def test_weighted_samples(tabled, softmax):
    conventions = PAPER.replace(softmax=softmax)
    weights = np.array([0.0, 0.5, 1.0, 1.0, 2.0, 30.0])
    train_both(pair(12, conventions, tabled=tabled), conventions, 12, sample_weights=weights)
    for optimizer in (ADAM, Optimizer(rule="sgd", learning_rate=0.01)):
        train_both(pair(13, conventions, tabled=tabled), conventions, 13, 2, optimizer, weights)


def test_one_weight_a_sample():
    problem = pair(14, PAPER)
    own, batched = draws(np.random.default_rng(14), problem.engine)
    samples = samples_of(problem.features, problem.labels)
    for weights in (np.ones(SAMPLES - 1), np.ones((SAMPLES, 1))):
        with pytest.raises(ShapeError, match="sample_weights"):
            spec_step.training_step(problem.spec, samples, own, ADAM, PAPER, weights)
        with pytest.raises(ShapeError, match="sample_weights"):
            engine_step.training_step(
                problem.engine, problem.features, problem.labels, batched, ADAM, PAPER, sample_weights=weights
            )
    assert problem.engine.steps == 0


@pytest.mark.parametrize("rows", ["touched_global_step", "touched_own_step", "every_weight"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd(momentum, rows):
    conventions = PAPER.replace(adam_rows=rows)
    optimizer = Optimizer(rule="sgd", learning_rate=0.05, momentum=momentum)
    train_both(pair(8, conventions), conventions, 8, optimizer=optimizer)


@pytest.mark.parametrize("family", FAMILIES)
def test_float32_against_the_spec_within_its_rounding(family):
    """Codes agree exactly even in float32; sums are off by n u, u = 6e-8, n <= 20: 1e-5 of values up to 10."""
    problem = pair(9, PAPER, family, dtype=np.float32)
    own, batched = draws(np.random.default_rng(9), problem.engine)
    expected = spec_step.forward(problem.spec, samples_of(problem.features, problem.labels), own, PAPER)
    got = engine_step.forward(problem.engine, problem.features, problem.labels, batched, PAPER)
    first = got.layers[0]
    np.testing.assert_allclose(first.sums, [one.layers[0].sums for one in expected], atol=1e-5)
    for array in (first.sums, got.layers[1].sums, got.probabilities, got.wanted, got.losses):
        assert array.dtype == np.float32


UNIT = 2.0**-24
"""u, the unit of rounding of float32."""


def summing(terms):
    """Return gamma_n = n u / (1 - n u): how far n additions and products can be off, relatively (Higham, lemma 3.1)."""
    return terms * UNIT / (1 - terms * UNIT)


def sums_bound(weights, biases, inputs, off):
    """Return how far w . x + b can be off if x is off by so much."""
    terms = summing(inputs.shape[-1] + 1)
    sizes = (np.abs(inputs) + off) @ np.abs(weights).T + np.abs(biases)
    return off @ np.abs(weights).T + terms * sizes


def dense_rows(layer_pass, neurons, values):
    """Return one number for each neuron, 0 for those that are not active."""
    row = np.zeros(neurons)
    row[layer_pass.active] = values
    return row


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tabled", [(True, False), (False, False)], ids=str)
def test_a_whole_float32_step_stays_within_its_derived_bound(seed, tabled):
    """Errors are followed through the step, with the sizes of the float64 spec.

    Sums: gamma_n over the absolute terms, plus what the inputs were off.  Softmax: logits that are off by d change a
    probability by a factor within exp(2 d), and s terms, exp and a quotient add gamma_{s+8}.  Errors and gradients:
    sums of products of two inexact factors.  SGD at rate 1 adds one rounding of the weight.
    """
    problem = pair(seed, PAPER, "wta", tabled=tabled, dtype=np.float32)
    own, batched = draws(np.random.default_rng(seed), problem.engine)
    optimizer = Optimizer(rule="sgd", learning_rate=1.0)
    samples = samples_of(problem.features, problem.labels)
    expected = spec_step.training_step(problem.spec, samples, own, optimizer, PAPER)
    got = engine_step.training_step(problem.engine, problem.features, problem.labels, batched, optimizer, PAPER)
    hidden, output = problem.spec.layers
    neurons, classes = hidden.biases.size, output.biases.size
    bounds = [np.zeros_like(layer.weights) for layer in (hidden, output)]
    for one_pass, sample in zip(expected.passes, samples, strict=True):
        below = one_pass.layers[0]
        features = np.zeros(hidden.weights.shape[1])
        features[sample.features.indices] = sample.features.values
        off = sums_bound(hidden.weights, hidden.biases, features, np.zeros_like(features))
        off_hidden = dense_rows(below, neurons, off[below.active])
        outputs = dense_rows(below, neurons, np.maximum(below.sums, 0))
        off_logits = sums_bound(output.weights, output.biases, outputs, off_hidden).max(initial=0)
        factor = np.expm1(2 * off_logits) + summing(classes + 8)
        error = (one_pass.probabilities * one_pass.wanted.sum() - one_pass.wanted) / SAMPLES
        off_error = (factor * one_pass.probabilities + 4 * UNIT * np.abs(one_pass.probabilities + 1)) / SAMPLES
        bounds[1] += np.outer(off_error, outputs + off_hidden) + np.outer(np.abs(error), off_hidden)
        bounds[1] += summing(SAMPLES + 3) * np.outer(np.abs(error), outputs)
        back, off_back = np.abs(error) @ np.abs(output.weights), off_error @ np.abs(output.weights)
        off_back = off_back + summing(classes + 1) * (back + off_back)
        # where the ReLU's gate could open by rounding the whole error may pass
        doubtful = (np.abs(dense_rows(below, neurons, below.sums)) <= off_hidden) & (off_hidden > 0)
        off_back = np.where(doubtful, back + off_back, off_back)
        bounds[0] += np.outer(off_back + summing(SAMPLES + 3) * back, np.abs(features))
    for layer, after, bound in zip(problem.engine.layers, expected.network.layers, bounds, strict=True):
        allowed = bound + 2 * UNIT * (np.abs(after.weights) + bound)
        assert (np.abs(layer.weights - after.weights) <= allowed).all()
    assert got.loss == pytest.approx(expected.loss, rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("conventions", every_convention(), ids=name_of)
def test_no_station_changes_the_precision(conventions, dtype):
    if conventions.densification_failure != "code_zero":
        pytest.skip("such codes fit no table")
    problem = pair(10, conventions, dtype=dtype)
    generator = np.random.default_rng(10)
    for _ in range(2):
        batched = draws(generator, problem.engine)[1]
        result = engine_step.training_step(
            problem.engine, problem.features, problem.labels, batched, ADAM, conventions
        )
        for gradient in result.gradients:
            assert {gradient.left.dtype, gradient.right.dtype, gradient.biases.dtype} == {np.dtype(dtype)}
    for layer in problem.engine.layers:
        arrays = (layer.weights, layer.biases, layer.weight_first, layer.weight_second, layer.bias_second)
        assert {array.dtype for array in arrays} == {np.dtype(dtype)}


def test_threads_change_no_bit():
    weights = []
    for count in (1, 3):
        problem, generator = pair(11, PAPER, dtype=np.float32), np.random.default_rng(11)
        for _ in range(3):
            batched = draws(generator, problem.engine)[1]
            engine_step.training_step(
                problem.engine, problem.features, problem.labels, batched, ADAM, PAPER, Threads(count)
            )
        weights.append(problem.engine.layers[-1].weights)
    assert np.array_equal(*weights)


@pytest.mark.parametrize("tabled", [(True,), (False, True), (True, True)], ids=str)
def test_groups_change_no_bit(monkeypatch, tabled):
    """Neither by their number nor by what their weights take: kept, kept of some, gathered twice."""
    weights = []
    for largest, kept in ((6, 2**24), (1, 2**24), (4, 2**24), (6, 2000), (6, 0)):
        monkeypatch.setattr(engine_step, "SAMPLE_GROUP", largest)
        for module in (engine_step, engine_forward):
            monkeypatch.setattr(module, "KEPT_BYTES", kept)
        problem, generator = pair(15, PAPER, dtype=np.float32, tabled=tabled), np.random.default_rng(15)
        for _ in range(2):
            batched = draws(generator, problem.engine)[1]
            engine_step.training_step(problem.engine, problem.features, problem.labels, batched, ADAM, PAPER)
        weights.append([layer.weights for layer in problem.engine.layers])
    for others in weights[1:]:
        assert all(np.array_equal(one, other) for one, other in zip(weights[0], others, strict=True))


def test_groups_are_as_large_as_their_weights_can_be_kept():
    offsets = np.array([0, 3, 4, 9, 9, 10, 20, 21])
    chosen = Chosen(ActiveSets(offsets, np.zeros(21, dtype=int)), ActiveSets(offsets, np.zeros(21, dtype=int)))
    layer = new_layer(np.zeros((5, 8), dtype=np.float32), np.zeros(5, dtype=np.float32), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_step, "KEPT_BYTES", 9 * 8 * 4)  # nine rows of eight numbers
        groups = engine_step.sample_groups(7, chosen, layer)
        assert groups == [slice(0, 4), slice(4, 5), slice(5, 6), slice(6, 7)]
        patch.setattr(engine_step, "SAMPLE_GROUP", 3)
        assert engine_step.sample_groups(7, chosen, layer)[0] == slice(0, 3)
    assert engine_step.sample_groups(7, None, layer) == [slice(0, 7)]


def test_order_of_the_samples_does_not_matter_to_their_active_sets():
    problem = pair(12, PAPER)
    batched = draws(np.random.default_rng(12), problem.engine)[1]
    order = np.array([3, 1, 5, 0, 4, 2])
    moved = [engine_step.Draws(one.orders[order], one.candidates[order]) for one in batched]
    before = engine_step.forward(problem.engine, problem.features, problem.labels, batched, PAPER)
    after = engine_step.forward(problem.engine, problem.features[order], problem.labels[order], moved, PAPER)
    for place, sample in enumerate(order):
        assert after.active.of(place).tolist() == before.active.of(sample).tolist()


def test_dense_features_are_rows_whose_every_coordinate_is_an_entry():
    problem = pair(13, PAPER, tabled=(True, True))
    problem = problem._replace(features=problem.features.toarray())
    train_both(problem, PAPER, 13)


def test_an_empty_batch_is_refused():
    problem = pair(14, PAPER)
    nothing = [engine_step.Draws(np.empty((0, 5), int), np.empty((0, 0), int))] * 2
    with pytest.raises(ShapeError, match="at least one"):
        spec_step.training_step(problem.spec, [], [[], []], ADAM, PAPER)
    with pytest.raises(ShapeError, match="at least one"):
        engine_step.training_step(problem.engine, problem.features[:0], problem.labels[:0], nothing, ADAM, PAPER)
