"""Forward, loss, backward and optimiser of a batch against the spec's of each sample.

float64 on both sides: a sum of n <= 40 products of order 1 is off by at most n u < 1e-14 (Higham 2002, section 3.1),
and each function adds a few roundings: 1e-12 is a hundredfold of that.  float32: u = 6e-8, hence 1e-5.
"""

import copy
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sparse
from building import vector_of, without_nan
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyslide.conventions import PAPER
from pyslide.engine import backward, forward, loss, optimizer, ragged, schedule, threads, vectors
from pyslide.errors import NonFiniteError, ShapeError
from pyslide.spec import backward as spec_backward
from pyslide.spec import forward as spec_forward
from pyslide.spec import loss as spec_loss
from pyslide.spec import optimizer as spec_optimizer
from pyslide.spec import schedule as spec_schedule
from pyslide.spec import vectors as spec_vectors

SAMPLES, NEURONS, INPUTS = 20, 15, 40
TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}


class Case:
    """A layer, a batch, active sets with an empty one, and errors."""

    def __init__(self, seed, dtype, sparse_inputs):
        generator = np.random.default_rng(seed)
        self.weights = generator.standard_normal((NEURONS, INPUTS)).astype(dtype)
        self.biases = generator.standard_normal(NEURONS).astype(dtype)
        self.inputs = generator.standard_normal((SAMPLES, INPUTS)).astype(dtype)
        if sparse_inputs:
            self.inputs[generator.random(self.inputs.shape) < 0.7] = np.nan
            self.inputs[5] = np.nan
            self.inputs = without_nan(sparse.csr_array(self.inputs))
        sets = [np.flatnonzero(generator.random(NEURONS) < 0.4) for _ in range(SAMPLES)]
        sets[3] = sets[3][:0]
        self.active = ragged.ActiveSets(ragged.offsets_of(np.array([len(one) for one in sets])), np.concatenate(sets))
        self.flat = generator.standard_normal(self.active.neurons.size).astype(dtype)
        self.full = generator.standard_normal((SAMPLES, NEURONS)).astype(dtype)
        self.close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}

    def part(self, flat, sample):
        return flat[slice(*self.active.offsets[sample : sample + 2])].astype(np.float64)

    def vector(self, sample):
        return vector_of(self.inputs, sample)

    def double(self):
        return self.weights.astype(np.float64), self.biases.astype(np.float64)


@pytest.fixture(params=[(dtype, kind) for dtype in TOLERANCE for kind in (False, True)], ids=str)
def case(request):
    return Case(1, *request.param)


def test_preactivations(case):
    got, kept = forward.preactivations(case.weights, case.biases, case.active, case.inputs)
    assert (kept is None) == sparse.issparse(case.inputs)
    assert kept is None or np.array_equal(kept, case.weights[case.active.neurons])
    everyone = forward.all_preactivations(case.weights, case.biases, case.inputs)
    assert got.dtype == everyone.dtype == case.weights.dtype
    for sample in range(SAMPLES):
        own = case.active.of(sample)
        expected = spec_forward.preactivations(*case.double(), own, case.vector(sample))
        np.testing.assert_allclose(case.part(got, sample), expected, **case.close)
        all_of_them = spec_forward.preactivations(*case.double(), np.arange(NEURONS), case.vector(sample))
        np.testing.assert_allclose(everyone[sample], all_of_them, **case.close)


def test_hidden_output(case):
    output = forward.hidden_output(case.flat, case.active, NEURONS)
    for sample in range(SAMPLES):
        own = case.active.of(sample)
        expected = spec_forward.hidden_output(case.part(case.flat, sample), own, NEURONS)
        got = vector_of(output, sample)
        assert got.indices.tolist() == expected.indices.tolist()
        assert got.values.tolist() == expected.values.tolist()
    assert forward.hidden_output(case.full, None, NEURONS).tolist() == spec_forward.relu(case.full).tolist()


@pytest.mark.parametrize("convention", ["stable", "maximum_from_zero"])
@pytest.mark.parametrize("shift", [0, -200, 80])
def test_softmax_and_loss(case, convention, shift):
    logits = case.flat + case.flat.dtype.type(shift)
    got = forward.softmax(logits, case.active.offsets, convention)
    labels = ragged.ActiveSets(np.arange(SAMPLES + 1), np.arange(SAMPLES) % NEURONS)
    wanted = loss.targets(case.active, labels, NEURONS, logits.dtype)
    losses = loss.cross_entropy(logits, wanted, case.active.offsets)
    errors = backward.output_error(got, wanted, case.active.offsets, convention)
    assert {got.dtype, wanted.dtype, losses.dtype, errors.dtype} == {logits.dtype}
    for sample in range(SAMPLES):
        own = case.part(logits, sample)
        outputs = spec_forward.softmax(own, convention)
        np.testing.assert_allclose(case.part(got, sample), outputs, **case.close)
        targets = spec_loss.targets(case.active.of(sample), labels.of(sample))
        assert case.part(wanted, sample).tolist() == targets.tolist()
        bound = max(1e-4, 1.0) * case.close["rtol"] * (1 + abs(shift))  # logits near the shift have its rounding
        assert losses[sample] == pytest.approx(spec_loss.cross_entropy(own, targets), rel=bound, abs=bound)
        expected = spec_backward.output_error(outputs, targets, convention)
        np.testing.assert_allclose(case.part(errors, sample), expected, **case.close)


def test_log_softmax(case):
    got = loss.log_softmax(case.flat, case.active.offsets)
    for sample in range(SAMPLES):
        expected = spec_loss.log_softmax(case.part(case.flat, sample))
        np.testing.assert_allclose(case.part(got, sample), expected, **case.close)


def gradient_by_spec(case, actives, errors):
    """Return the sum over the batch of the spec's gradients, and what was touched."""
    total, touched = np.zeros((NEURONS, INPUTS)), np.zeros((2, max(NEURONS, INPUTS)), dtype=bool)
    biases = np.zeros(NEURONS)
    for sample, (own, error) in enumerate(zip(actives, errors, strict=True)):
        vector = case.vector(sample)
        total[np.ix_(own, vector.indices)] += spec_backward.weight_gradient(error, vector)
        biases[own] += error
        touched[0, own] = True
        touched[1, vector.indices] = True
    return total, biases, np.flatnonzero(touched[0]), np.flatnonzero(touched[1])


def test_sampled_gradient(case):
    got = backward.sampled_gradient(case.flat, case.active, case.inputs, NEURONS)
    actives = [case.active.of(sample) for sample in range(SAMPLES)]
    errors = [case.part(case.flat, sample) for sample in range(SAMPLES)]
    total, biases, neurons, _ = gradient_by_spec(case, actives, errors)
    assert got.rows.tolist() == got.neurons.tolist() == neurons.tolist()
    np.testing.assert_allclose(got.left @ got.right, total[neurons], **case.close)
    np.testing.assert_allclose(got.biases, biases[neurons], **case.close)
    part = optimizer.gradient_rows(got.left, got.right, slice(2, 5))
    np.testing.assert_allclose(part, total[neurons][2:5], **case.close)
    spread = optimizer.spread(got.left, got.rows, NEURONS)
    np.testing.assert_allclose(spread @ got.right, total, **case.close)


def test_full_gradient(case):
    got = backward.full_gradient(case.full, case.inputs)
    actives = [np.arange(NEURONS)] * SAMPLES
    total, biases, _, inputs = gradient_by_spec(case, actives, case.full.astype(np.float64))
    assert got.rows.tolist() == inputs.tolist()
    np.testing.assert_allclose(np.asarray(got.left @ got.right), total.T[inputs], **case.close)
    np.testing.assert_allclose(got.biases, biases, **case.close)


def test_input_errors(case):
    sampled = backward.sampled_input_error(case.flat, case.weights, case.active, case.inputs)
    if not sparse.issparse(case.inputs):
        kept = case.weights[case.active.neurons]
        again = backward.sampled_input_error(case.flat, np.empty((0, INPUTS)), case.active, case.inputs, kept)
        assert np.array_equal(again, sampled)
    full = backward.full_input_error(case.full, case.weights, case.inputs)
    through = [backward.through_relu(one, case.inputs) for one in (sampled, full)]
    weights = case.double()[0]
    start = 0
    for sample in range(SAMPLES):
        vector = case.vector(sample)
        for below, gated, own, error in (
            (sampled, through[0], case.active.of(sample), case.part(case.flat, sample)),
            (full, through[1], np.arange(NEURONS), case.full[sample].astype(np.float64)),
        ):
            expected = spec_backward.input_error(error, weights, own, vector)
            np.testing.assert_allclose(vector_of(below, sample).values, expected, **case.close)
            gate = gated[start : start + vector.indices.size] if sparse.issparse(case.inputs) else gated[sample]
            np.testing.assert_allclose(gate, spec_backward.through_relu(expected, vector.values), **case.close)
        start += vector.indices.size


@pytest.mark.parametrize("rule", ["adam", "sgd"])
@pytest.mark.parametrize("rows", ["touched_global_step", "touched_own_step", "every_weight"])
@pytest.mark.parametrize("epsilon", ["corrected", "uncorrected"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_updates(dtype, epsilon, rows, rule, monkeypatch):
    monkeypatch.setattr(optimizer, "CHUNK_NUMBERS", 7 * INPUTS)  # several chunks
    conventions = PAPER.replace(adam_rows=rows, adam_epsilon=epsilon)
    settings = spec_optimizer.Optimizer(rule=rule, learning_rate=0.1, momentum=0.5, epsilon=1e-3)
    generator = np.random.default_rng(2)
    values = generator.standard_normal((30, INPUTS)).astype(dtype)
    fast = optimizer.Weights(values, np.zeros_like(values), np.zeros_like(values), np.zeros(30, dtype=np.int64))
    plain = spec_optimizer.Update(*(np.array(array, dtype=np.float64) for array in fast[:3]))
    touches = np.zeros(30, dtype=np.int64)
    for step in range(1, 6):
        touched = np.flatnonzero(generator.random(30) < 0.5)
        left = sparse.random_array((touched.size, SAMPLES), density=0.3, rng=generator, format="csr").astype(dtype)
        right = generator.standard_normal((SAMPLES, INPUTS)).astype(dtype)
        change = np.zeros((30, INPUTS))
        change[touched] = left.astype(np.float64) @ right.astype(np.float64)
        mask = np.isin(np.arange(30), touched)
        plain, touches = spec_optimizer.update_rows(plain, change, mask, step, touches, settings, conventions)
        optimizer.update_rows(fast, touched, left, right, step, settings, conventions, threads.Threads(2))
        assert fast.touches.tolist() == touches.tolist()
        # Adam's step is at most the rate / epsilon-damped root: with epsilon 1e-3 errors grow by 1/1e-3 at most.
        bound = 1e3 * TOLERANCE[dtype] * step
        np.testing.assert_allclose(fast.values, plain.values, rtol=bound, atol=bound)
        np.testing.assert_allclose(fast.first, plain.first, rtol=bound, atol=bound)
        assert fast.values.dtype == dtype


@pytest.mark.parametrize("rows", ["touched_global_step", "touched_own_step", "every_weight"])
def test_bias_updates(rows):
    conventions, settings = PAPER.replace(adam_rows=rows), spec_optimizer.Optimizer(learning_rate=0.1)
    generator = np.random.default_rng(3)
    fast = optimizer.Weights(generator.standard_normal(9), np.zeros(9), np.zeros(9), np.zeros(9, dtype=np.int64))
    plain, touches = spec_optimizer.Update(*(array.copy() for array in fast[:3])), np.zeros(9, dtype=np.int64)
    for step in range(1, 5):
        neurons = np.flatnonzero(generator.random(9) < 0.6)
        gradient, change = generator.standard_normal(neurons.size), np.zeros(9)
        change[neurons] = gradient
        mask = np.isin(np.arange(9), neurons)
        plain, touches = spec_optimizer.update_rows(plain, change, mask, step, touches, settings, conventions)
        before = gradient.copy()
        optimizer.update_biases(fast, neurons, gradient, step, settings, conventions)
        assert gradient.tolist() == before.tolist()
        np.testing.assert_allclose(fast.values, plain.values, rtol=1e-10, atol=1e-10)


@given(first=st.floats(0.5, 90), growth=st.floats(0, 0.3))
def test_schedule(first, growth):
    times = schedule.rebuild_times(12, first, growth)
    np.testing.assert_allclose(
        times, [spec_schedule.rebuild_time(count, first, growth) for count in range(1, 13)], rtol=1e-13
    )
    assert schedule.rebuild_steps(5, 50, 0).tolist() == [spec_schedule.rebuild_step(t, 50, 0) for t in range(1, 6)]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_batches(kind):
    dense = np.array([[0.0, 1.0, -2.0], [3.0, 0.0, 0.0]])
    batch = dense if kind == "dense" else sparse.csr_array(dense)
    appended = vectors.append_coordinate(batch, np.array([5.0, 6.0]))
    for row, value in enumerate([5.0, 6.0]):
        expected = spec_vectors.append_coordinate(vector_of(batch, row), value)
        got = vector_of(appended, row)
        assert (got.indices.tolist(), got.values.tolist()) == (expected.indices.tolist(), expected.values.tolist())
    filled = vectors.entries(batch, -np.inf, zeros_are_entries=False)
    assert filled.tolist() == np.where(dense == 0, -np.inf, dense).tolist()
    assert vectors.entries(batch, 0.0, zeros_are_entries=True).tolist() == dense.tolist()
    assert np.array_equal(vectors.checked_batch(batch, np.float32, "x").astype(float) @ np.eye(3), dense)
    assert vectors.is_sparse(batch) == (kind == "sparse")


@given(
    dense=arrays(np.float64, st.tuples(*[st.integers(1, 4)] * 2), elements=st.sampled_from([0.0, 1e-310, -2.0])),
    value=st.sampled_from([0.0, 3.0]),
    kept_sparse=st.booleans(),
)
def test_any_batch(dense, value, kept_sparse):
    batch = vectors.checked_batch(sparse.csr_array(dense) if kept_sparse else dense, np.float64, "x")
    appended = vectors.append_coordinate(batch, np.full(len(dense), value))
    for row, numbers in enumerate(dense):
        entries_ = np.flatnonzero(numbers) if kept_sparse else np.arange(numbers.size)
        plain = spec_vectors.sparse_vector(entries_, numbers[entries_], numbers.size)
        for got, expected in ((batch, plain), (appended, spec_vectors.append_coordinate(plain, value))):
            vector = vector_of(got, row)
            assert vector.indices.tolist() == expected.indices.tolist()
            assert vector.values.tolist() == expected.values.tolist()


def test_stored_zeros_are_entries_only_where_asked():
    batch = sparse.csr_array((np.array([0.0, 2.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    assert vectors.entries(batch, -np.inf, zeros_are_entries=True).tolist() == [[0.0, -np.inf, 2.0]]
    assert vectors.entries(batch, -np.inf, zeros_are_entries=False).tolist() == [[-np.inf, -np.inf, 2.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_callers_matrix_stays_as_it_is(dtype):
    parts = np.array([2.0, 1.0, 3.0, 4.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])  # unsorted, and repeated
    given_ = sparse.csr_array(parts, shape=(2, 3))
    batch = vectors.checked_batch(given_, dtype, "features")
    assert batch.toarray().tolist() == [[1.0, 0.0, 2.0], [0.0, 7.0, 0.0]]
    assert batch.nnz == 3
    assert (given_.data.tolist(), given_.indices.tolist()) == ([2.0, 1.0, 3.0, 4.0], [2, 0, 1, 1])


def test_bad_batches():
    with pytest.raises(ShapeError, match="two dimensions, got 1"):
        vectors.checked_batch(np.ones(3), np.float32, "features")
    for batch in (np.array([[np.nan]]), sparse.csr_array(np.array([[np.inf]]))):
        with pytest.raises(NonFiniteError, match="features"):
            vectors.checked_batch(batch, np.float64, "features")


def test_threads_keep_order_raise_errors_and_end():
    several = threads.Threads(3)
    assert several.map(lambda part: part * part, range(20)) == [part * part for part in range(20)]
    with pytest.raises(ZeroDivisionError):
        several.map(lambda part: 1 // part, [1, 0])
    assert several.map(lambda part: threading.current_thread(), [1]) == [threading.current_thread()]
    twin = copy.deepcopy(several)
    assert twin.map(abs, [-1, -2]) == [1, 2]
    for one in (several, twin, threads.SERIAL):
        one.close()
    assert threads.SERIAL.map(abs, [-1]) == [1]


def test_nobody_works_on_when_an_error_is_raised():
    working, seen, several = threading.Event(), [], threads.Threads(2)

    def part(number):
        if number == 0:
            working.wait(10)
            raise ZeroDivisionError
        working.set()
        time.sleep(0.2)
        seen.append(number)

    with pytest.raises(ZeroDivisionError):
        several.map(part, [0, 1, 2, 3, 4, 5])
    before = list(seen)
    time.sleep(0.5)
    assert seen == before
    assert len(seen) < 5  # parts that had not begun never do
    several.close()
