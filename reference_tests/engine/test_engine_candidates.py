"""A sampled softmax for a batch is the spec's for each sample: sets exactly, corrections to their rounding."""

import numpy as np
import pytest
from building import SAMPLES, pair, samples_of
from hypothesis import given
from hypothesis import strategies as st
from test_engine_sampling import lists, sets_of
from test_engine_steps import ADAM, same_networks, same_passes

from pyslide.building import layer_candidates
from pyslide.conventions import ORIGINAL_CPP, PAPER
from pyslide.engine import candidates, network, step
from pyslide.engine.network import Network
from pyslide.engine.sampling import Chosen
from pyslide.randomness import draw_candidates
from pyslide.settings import CandidateSampling
from pyslide.spec import candidates as spec_candidates
from pyslide.spec import network as spec_network
from pyslide.spec import step as spec_step
from pyslide.spec.optimizer import Optimizer

NEURONS = 12
NOTHING = np.empty((SAMPLES, 0), dtype=np.int64)
DISTRIBUTIONS = st.sampled_from(["uniform", "log_uniform"])
LABELS = st.lists(st.sets(st.integers(0, NEURONS - 1), max_size=4), min_size=1, max_size=5)
ORDERS = st.permutations(range(NEURONS)).map(np.array)
DRAWN = st.lists(st.integers(0, NEURONS - 1), unique=True, max_size=NEURONS).map(lambda ids: np.array(ids, dtype=int))


@given(drawn=DRAWN, labels=LABELS)
def test_candidate_sets(drawn, labels):
    labels = sets_of(labels)
    got = candidates.candidate_sets(drawn, labels)
    expected = [spec_candidates.candidate_set(drawn, labels.of(row)).tolist() for row in range(labels.sizes.size)]
    assert lists(got) == expected
    assert got.neurons.dtype == np.int64


@given(drawn=DRAWN, labels=LABELS, ranks=ORDERS, distribution=DISTRIBUTIONS, more=st.integers(0, 30))
def test_corrections(drawn, labels, ranks, distribution, more):
    sizes = max(1, drawn.size), max(1, drawn.size) + more
    active = candidates.candidate_sets(drawn, sets_of(labels))
    got = candidates.candidate_log_weights(active, ranks, distribution, *sizes, np.float64)
    expected = spec_candidates.candidate_log_weights(ranks[active.neurons], distribution, *sizes, NEURONS)
    np.testing.assert_array_equal(got, expected)  # number by number the same operations
    single = candidates.candidate_log_weights(active, ranks, distribution, *sizes, np.float32)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, expected.astype(np.float32))


@given(ranks=ORDERS, drawn=DRAWN, distribution=DISTRIBUTIONS, correction=st.booleans())
def test_a_layers_corrections(ranks, drawn, distribution, correction):
    plain = spec_network.new_layer(
        np.zeros((NEURONS, 1)), np.zeros(NEURONS), None, spec_network.LayerCandidates(distribution, correction, ranks)
    )
    settings = CandidateSampling(distribution=distribution, count=3, correction=correction)
    drawn_from = layer_candidates(settings, ranks.argsort())
    fast = network.new_layer(np.zeros((NEURONS, 1)), np.zeros(NEURONS), None, drawn_from)
    active = candidates.candidate_sets(drawn, sets_of([{0}, {1, 2}]))
    draws = spec_step.Draws(NOTHING[0], np.arange(3), 7)
    got = step.choice_log_weights(fast, Chosen(active, active), step.Draws(NOTHING, np.arange(3), 7), PAPER)
    for row in range(2):
        one = active.of(row)
        expected = spec_step.choice_log_weights(plain, spec_step.Choice(one, one), draws, PAPER)
        part = np.zeros(one.size) if got is None else got[slice(*active.offsets[row : row + 2])]
        np.testing.assert_array_equal(part, expected)
    assert (got is None) is not correction


def sampled_pair(seed, settings, conventions, dtype=np.float64, tabled=(False,)):
    """Return a random problem whose output layer has a sampled softmax in both layers."""
    problem = pair(seed, conventions, tabled=(*tabled, False), dtype=dtype)
    drawn = layer_candidates(settings, np.random.default_rng(seed).permutation(problem.labels.shape[1]))
    held = spec_network.LayerCandidates(settings.distribution, settings.correction, drawn.ranks)
    *below, last = problem.spec.layers
    plain = spec_network.Network((*below, spec_network.new_layer(last.weights, last.biases, None, held)), 0)
    *under, top = problem.engine.layers
    fast = Network([*under, network.new_layer(top.weights, top.biases, None, drawn)])
    return problem._replace(spec=plain, engine=fast)


def sampled_draws(generator, fast):
    """Return the same draws for the spec and for the engine; layers below have as many tables as `building` gives."""
    drawn = fast.layers[-1].candidates
    chosen, tries = draw_candidates(generator, drawn.distribution, drawn.count, drawn.classes)
    orders = np.array([generator.permutation(5) for _ in range(SAMPLES)])
    padding = np.array([generator.permutation(fast.layers[0].neurons)[:12] for _ in range(SAMPLES)])
    below = len(fast.layers) - 1
    batched = [*[step.Draws(orders, padding)] * below, step.Draws(NOTHING, chosen, tries)]
    plain = [[spec_step.Draws(orders[row], padding[row]) for row in range(SAMPLES)] for _ in range(below)]
    return [*plain, [spec_step.Draws(NOTHING[0], chosen, tries)] * SAMPLES], batched


def train_sampled_pair(problem, conventions, seed, optimizer=ADAM):
    generator = np.random.default_rng(seed)
    plain, fast, samples = problem.spec, problem.engine, samples_of(problem.features, problem.labels)
    for _ in range(3):
        own, batched = sampled_draws(generator, fast)
        expected = spec_step.training_step(plain, samples, own, optimizer, conventions)
        got = step.training_step(fast, problem.features, problem.labels, batched, optimizer, conventions)
        plain = expected.network
        same_passes(expected.passes, got.batch_pass, fast)
        same_networks(plain, fast)
        assert got.loss == pytest.approx(expected.loss, rel=1e-9)


@pytest.mark.parametrize("conventions", [PAPER, ORIGINAL_CPP, PAPER.replace(active_set="union_of_batch"),
                                         PAPER.replace(padding_weight="inverse_probability"),
                                         PAPER.replace(adam_rows="every_weight")], ids=range(5))  # fmt: skip
@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("distribution", ["uniform", "log_uniform"])
def test_steps(distribution, correction, conventions):
    settings = CandidateSampling(distribution=distribution, count=7, correction=correction)
    train_sampled_pair(sampled_pair(3, settings, conventions), conventions, 3)


@given(
    seed=st.integers(0, 2**32 - 1),
    distribution=DISTRIBUTIONS,
    count=st.integers(1, 30),
    correction=st.booleans(),
    tabled=st.booleans(),
    rule=st.sampled_from(["adam", "sgd"]),
)
def test_any_sampled_softmax_trains_alike(seed, distribution, count, correction, tabled, rule):
    settings = CandidateSampling(distribution=distribution, count=count, correction=correction)
    problem = sampled_pair(seed, settings, PAPER, tabled=(tabled,))
    train_sampled_pair(problem, PAPER, seed, Optimizer(rule=rule, learning_rate=0.01, momentum=0.5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_stays(dtype):
    settings = CandidateSampling(distribution="log_uniform", count=7)
    problem = sampled_pair(5, settings, PAPER, dtype)
    batched = sampled_draws(np.random.default_rng(5), problem.engine)[1]
    result = step.training_step(problem.engine, problem.features, problem.labels, batched, ADAM, PAPER)
    assert result.batch_pass.layers[-1].log_weights.dtype == dtype
    assert {result.batch_pass.probabilities.dtype, result.gradients[-1].left.dtype} == {np.dtype(dtype)}
    assert problem.engine.layers[-1].weights.dtype == dtype
