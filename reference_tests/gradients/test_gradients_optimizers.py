"""The optimisers against PyTorch's over many steps, rows touched and not, and against one row at a time."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from pyslide.conventions import PAPER
from pyslide.parameters import SimHashParameters
from pyslide.spec.network import LayerTables, Network, new_layer, rebuild
from pyslide.spec.optimizer import Optimizer, adam
from pyslide.spec.sampling import Sampling
from pyslide.spec.step import Draws, Gradient, Sample, training_step, update_layer
from pyslide.spec.vectors import sparse_vector, to_dense

NEURONS, INPUTS, STEPS = 7, 5, 25
ADAM = Optimizer(rule="adam", learning_rate=0.03, first_decay=0.8, second_decay=0.95, epsilon=1e-3)
TABLES = LayerTables(
    SimHashParameters(np.array([[0]]), np.array([[1.0]]), INPUTS), 1, 1, np.array([1]), 4, Sampling(), ({},)
)
WITH_AND_WITHOUT = pytest.mark.parametrize("tables", [TABLES, None], ids=["rows_are_neurons", "rows_are_inputs"])


def torch_or_skip():
    return pytest.importorskip("torch", reason="torch is the witness for optimisers")


def start(tables, seed=0):
    random = np.random.default_rng(seed)
    return new_layer(random.normal(size=(NEURONS, INPUTS)), random.normal(size=NEURONS), tables)


def gradients(tables, seed=1):
    """Return gradients of changing rows, one row never touched, some touched with a gradient of zero."""
    random = np.random.default_rng(seed)
    for step in range(STEPS):
        neurons, inputs = random.random(NEURONS) < 0.4, random.random(INPUTS) < 0.5
        neurons[3] = inputs[1] = False
        if step == 10:
            neurons[:], inputs[:] = False, False  # a batch that retrieves nobody
        if tables is None:
            neurons[:] = True
        weights = random.normal(size=(NEURONS, INPUTS)) * neurons[:, None] * inputs
        biases = random.normal(size=NEURONS) * neurons
        if step % 5 == 4:
            weights[:], biases[:] = 0.0, 0.0
        yield Gradient(weights, biases, neurons, inputs)


def as_rows(weights, tables):
    """Return the weights with one row for what the optimiser touches as a whole."""
    return weights if tables is not None else weights.T


def run(tables, optimizer, conventions):
    layer, history = start(tables), []
    for step, gradient in enumerate(gradients(tables), 1):
        layer = update_layer(layer, gradient, step, optimizer, conventions)
        history.append((as_rows(layer.weights, tables).copy(), layer.biases.copy()))
    return layer, history


def torch_history(torch, tables, make, sparse):
    """Return the same steps by an optimiser of PyTorch."""
    layer = start(tables)
    parameters = [torch.nn.Parameter(torch.tensor(np.ascontiguousarray(array)))
                  for array in (as_rows(layer.weights, tables), layer.biases)]  # fmt: skip
    optimizer, history = make(parameters), []
    for gradient in gradients(tables):
        touched = gradient.neurons if tables is not None else gradient.inputs
        for parameter, change, rows in zip(
            parameters,
            (np.ascontiguousarray(as_rows(gradient.weights, tables)), gradient.biases),
            (touched, gradient.neurons),
            strict=True,
        ):
            parameter.grad = torch.tensor(change)
            if sparse:
                places = torch.tensor(np.flatnonzero(rows)[None])
                parameter.grad = torch.sparse_coo_tensor(
                    places, parameter.grad[places[0]], parameter.shape, check_invariants=True
                )
        optimizer.step()
        history.append(tuple(parameter.detach().numpy().copy() for parameter in parameters))
    return history


def assert_same_history(history, expected):
    for step, (ours, theirs) in enumerate(zip(history, expected, strict=True), 1):
        for name, here, there in zip(("weights", "biases"), ours, theirs, strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-12, atol=1e-14, err_msg=f"{name} after step {step}")


@pytest.mark.peers
@WITH_AND_WITHOUT
def test_touched_rows_are_sparse_adam(tables):
    torch = torch_or_skip()
    conventions = PAPER.replace(adam_epsilon="uncorrected")  # where SparseAdam puts it
    layer, history = run(tables, ADAM, conventions)
    expected = torch_history(
        torch, tables, lambda p: torch.optim.SparseAdam(p, lr=0.03, betas=(0.8, 0.95), eps=1e-3), sparse=True
    )
    assert_same_history(history, expected)
    never = 3 if tables is not None else 1
    before, after = (as_rows(one.weights, tables)[never] for one in (start(tables), layer))
    np.testing.assert_array_equal(after, before)


@pytest.mark.peers
@WITH_AND_WITHOUT
def test_every_weight_is_adam(tables):
    torch = torch_or_skip()
    _, history = run(tables, ADAM, PAPER.replace(adam_rows="every_weight"))
    expected = torch_history(
        torch, tables, lambda p: torch.optim.Adam(p, lr=0.03, betas=(0.8, 0.95), eps=1e-3), sparse=False
    )
    assert_same_history(history, expected)


@pytest.mark.peers
@WITH_AND_WITHOUT
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_every_weight_by_momentum_is_sgd(tables, momentum):
    torch = torch_or_skip()
    optimizer = Optimizer(rule="sgd", learning_rate=0.1, momentum=momentum)
    _, history = run(tables, optimizer, PAPER.replace(adam_rows="every_weight"))
    expected = torch_history(torch, tables, lambda p: torch.optim.SGD(p, lr=0.1, momentum=momentum), sparse=False)
    assert_same_history(history, expected)
    if not momentum:  # then an untouched row would not have moved either
        assert_same_history(run(tables, optimizer, PAPER)[1], expected)


@pytest.mark.peers
def test_own_steps_are_one_adam_for_each_row():
    torch = torch_or_skip()
    layer, history = run(TABLES, ADAM, PAPER.replace(adam_rows="touched_own_step"))
    rows = [torch.nn.Parameter(torch.tensor(row)) for row in start(TABLES).weights]
    optimizers = [torch.optim.Adam([row], lr=0.03, betas=(0.8, 0.95), eps=1e-3) for row in rows]
    touches = np.zeros(NEURONS, dtype=int)
    for gradient, (weights, _) in zip(gradients(TABLES), history, strict=True):
        for neuron in np.flatnonzero(gradient.neurons):
            rows[neuron].grad = torch.tensor(gradient.weights[neuron])
            optimizers[neuron].step()
            touches[neuron] += 1
        np.testing.assert_allclose(weights, [row.detach().numpy() for row in rows], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(layer.touches, touches)
    np.testing.assert_array_equal(layer.bias_touches, touches)
    assert touches[3] == 0


# One number at a time, without PyTorch


def one_adam(value, first, second, change, step, epsilon_inside):
    """Kingma and Ba 2015, algorithm 1, for one number."""
    first = ADAM.first_decay * first + (1 - ADAM.first_decay) * change
    second = ADAM.second_decay * second + (1 - ADAM.second_decay) * change * change
    one, other = 1 - ADAM.first_decay**step, 1 - ADAM.second_decay**step
    if epsilon_inside:
        value -= ADAM.learning_rate * sqrt(other) / one * first / (sqrt(second) + ADAM.epsilon)
    else:
        value -= ADAM.learning_rate * (first / one) / (sqrt(second / other) + ADAM.epsilon)
    return value, first, second


@WITH_AND_WITHOUT
@pytest.mark.parametrize("rows", ["touched_global_step", "touched_own_step", "every_weight"])
@pytest.mark.parametrize("epsilon", ["corrected", "uncorrected"])
def test_adam_one_number_at_a_time(tables, rows, epsilon):
    layer, history = run(tables, ADAM, PAPER.replace(adam_rows=rows, adam_epsilon=epsilon))
    initial = start(tables)
    for bias in (False, True):
        values = initial.biases[:, None] if bias else as_rows(initial.weights, tables)
        state = [[(float(value), 0.0, 0.0) for value in row] for row in values]
        touches = [0] * len(state)
        for step, gradient in enumerate(gradients(tables), 1):
            touched = gradient.neurons if bias or tables is not None else gradient.inputs
            change = gradient.biases[:, None] if bias else as_rows(gradient.weights, tables)
            for row in range(len(state)):
                if touched[row] or rows == "every_weight":
                    touches[row] += 1
                    t = touches[row] if rows == "touched_own_step" else step
                    state[row] = [
                        one_adam(*numbers, float(change[row, place]), t, epsilon == "uncorrected")
                        for place, numbers in enumerate(state[row])
                    ]
            expected = [[numbers[0] for numbers in row] for row in state]
            here = history[step - 1][bias]
            np.testing.assert_allclose(here.reshape(len(state), -1), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(layer.bias_touches if bias else layer.touches, touches)
        moments = layer.bias_moments if bias else layer.weight_moments
        for array, which in ((moments.first, 1), (moments.second, 2)):
            remembered = array[:, None] if bias else as_rows(array, tables)
            np.testing.assert_allclose(
                remembered, [[numbers[which] for numbers in row] for row in state], rtol=1e-12, atol=1e-300
            )


@WITH_AND_WITHOUT
def test_velocity_of_an_untouched_row_waits(tables):
    optimizer = Optimizer(rule="sgd", learning_rate=0.1, momentum=0.5)
    layer, history = run(tables, optimizer, PAPER)
    values = as_rows(start(tables).weights, tables).copy()
    velocity = np.zeros_like(values)
    for gradient, (weights, _) in zip(gradients(tables), history, strict=True):
        touched = gradient.neurons if tables is not None else gradient.inputs
        for row in np.flatnonzero(touched):
            velocity[row] = 0.5 * velocity[row] + as_rows(gradient.weights, tables)[row]
            values[row] = values[row] - 0.1 * velocity[row]
        np.testing.assert_allclose(weights, values, rtol=1e-13)
    np.testing.assert_allclose(as_rows(layer.weight_moments.first, tables), velocity, rtol=1e-13)
    assert (layer.weight_moments.second == 0).all()


@pytest.mark.parametrize(
    ("epsilon", "step", "expected"),
    [
        # after a first gradient of 2 the corrected moments are 2 and 4: 2 / (2 + 1/2)
        ("corrected", 1, 2 / 2.5),
        # before correction the root is 2 * sqrt(1/4) = 1: 2 * sqrt(1/4) / (1 + 1/2)
        ("uncorrected", 1, 2 / 3),
    ],
)
def test_where_epsilon_stands(epsilon, step, expected):
    optimizer = Optimizer(learning_rate=1.0, first_decay=0.5, second_decay=0.75, epsilon=0.5)
    zero = np.zeros(1)
    update = adam(zero, np.array([2.0]), zero, zero, step, optimizer, epsilon)
    np.testing.assert_allclose(update.values, [-expected], rtol=1e-15)
    np.testing.assert_array_equal(update.first, [1.0])
    np.testing.assert_array_equal(update.second, [1.0])


# A whole network


def test_training_steps_do_what_their_parts_do():
    random = np.random.default_rng(2)
    network, samples, draws = training_problem(random)
    result = training_step(network, samples, draws, ADAM, PAPER)
    assert result.network.steps == 1
    assert network.steps == 0
    for before, gradient, after in zip(network.layers, result.gradients, result.network.layers, strict=True):
        expected = update_layer(before, gradient, 1, ADAM, PAPER)
        np.testing.assert_array_equal(after.weights, expected.weights)
        np.testing.assert_array_equal(after.biases, expected.biases)
        assert after.tables is before.tables
    np.testing.assert_allclose(result.loss, sum(one.loss for one in result.passes) / len(samples), rtol=1e-15)


def training_problem(random, rows=4, sizes=(8, 6, 20)):
    hidden = new_layer(random.normal(size=sizes[1::-1]), random.normal(size=sizes[1]), None)
    family = SimHashParameters(
        np.array([random.permutation(sizes[1])[:3] for _ in range(6)]), random.choice([-1.0, 1.0], (6, 3)), sizes[1]
    )
    tables = LayerTables(family, 3, 3, np.array([1, 1]), 4, Sampling(minimum_active=3), ({}, {}))
    output = new_layer(random.normal(size=sizes[:0:-1]), random.normal(size=sizes[2]), tables)
    output = rebuild(output, np.arange(sizes[2]), np.zeros((2, sizes[2])), PAPER)
    samples = [
        Sample(
            sparse_vector(np.sort(random.permutation(sizes[0])[:3]), random.normal(size=3), sizes[0]),
            np.sort(random.permutation(sizes[2])[:2]),
        )
        for _ in range(rows)
    ]
    nothing = np.empty(0, dtype=np.int64)
    draws = [
        [Draws(nothing, nothing)] * rows,
        [Draws(random.permutation(2), random.permutation(sizes[2])) for _ in range(rows)],
    ]
    return Network((hidden, output), 0), samples, draws


@pytest.mark.peers
def test_a_network_trained_for_many_steps_is_a_masked_network_under_sparse_adam():
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    conventions = PAPER.replace(adam_epsilon="uncorrected")
    network, _, _ = training_problem(random)
    arrays = [network.layers[0].weights.T.copy(), network.layers[0].biases,
              network.layers[1].weights, network.layers[1].biases]  # fmt: skip
    parameters = [torch.nn.Parameter(torch.tensor(array)) for array in arrays]
    optimizer = torch.optim.SparseAdam(parameters, lr=0.03, betas=(0.8, 0.95), eps=1e-3)
    ever = set()
    for _ in range(12):
        _, samples, draws = training_problem(random)
        result = training_step(network, samples, draws, ADAM, conventions)
        losses, entries, actives = [], set(), set()
        for sample, one in zip(samples, result.passes, strict=True):
            active = torch.tensor(one.layers[1].active)
            hidden = torch.relu(torch.tensor(to_dense(sample.features)) @ parameters[0] + parameters[1])
            logits = parameters[2][active] @ hidden + parameters[3][active]
            wanted = torch.tensor(np.isin(one.layers[1].active, sample.labels) / 2)
            losses.append(-(wanted * torch.log_softmax(logits, 0)).sum())
            entries |= set(sample.features.indices.tolist())
            actives |= set(one.layers[1].active.tolist())
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        derivatives = torch.autograd.grad(loss, parameters)
        for parameter, derivative, rows in zip(
            parameters, derivatives, (entries, range(6), actives, actives), strict=True
        ):
            places = torch.tensor(sorted(rows))
            parameter.grad = torch.sparse_coo_tensor(
                places[None], derivative[places], parameter.shape, check_invariants=True
            )
        optimizer.step()
        network = result.network
        np.testing.assert_allclose(result.loss, loss.item(), rtol=1e-11)
        ours = [network.layers[0].weights.T, network.layers[0].biases,
                network.layers[1].weights, network.layers[1].biases]  # fmt: skip
        for here, there in zip(ours, parameters, strict=True):
            np.testing.assert_allclose(here, there.detach().numpy(), rtol=1e-10, atol=1e-12)
        assert len(actives) < 20
        ever.add(tuple(sorted(actives)))
    assert len(ever) > 6  # the active sets do change
    assert network.steps == 12
