"""Without tables the loop is ordinary training: several epochs equal a network written here in plain NumPy."""

import numpy as np
import pytest

from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.settings import LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.training import Trainer, TrainingSettings

DATA = planted_dataset(100, 40, 15, np.random.default_rng(2), nonzeros_per_row=8, labels_per_row=2)
SIZES = (12, 9, 15)


class Plain:
    """A multi-layer perceptron with softmax, cross-entropy against uniform labels, SGD with momentum or Adam."""

    def __init__(self, network, optimizer):
        self.parameters = [np.array(part) for layer in network.layers for part in (layer.weights, layer.biases)]
        self.first = [np.zeros_like(part) for part in self.parameters]
        self.second = [np.zeros_like(part) for part in self.parameters]
        self.optimizer, self.steps = optimizer, 0

    def gradients(self, features, targets):
        inputs, sums = [features], []
        for weights, biases in zip(self.parameters[::2], self.parameters[1::2], strict=True):
            sums.append(inputs[-1] @ weights.T + biases)
            inputs.append(np.maximum(0, sums[-1]))
        shifted = sums[-1] - sums[-1].max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        loss = -(targets * logs).sum(axis=1).mean()
        errors = (np.exp(logs) * targets.sum(axis=1, keepdims=True) - targets) / len(features)
        found = []
        for depth in reversed(range(len(sums))):
            found = [errors.T @ inputs[depth], errors.sum(axis=0), *found]
            if depth:
                errors = errors @ self.parameters[2 * depth] * (sums[depth - 1] > 0)
        return loss, found

    def step(self, features, targets):
        self.steps += 1
        loss, gradients = self.gradients(features, targets)
        for place, gradient in enumerate(gradients):
            self.parameters[place] -= self.change(place, gradient)
        return loss

    def change(self, place, gradient):
        rule = self.optimizer
        if rule.rule == "sgd":
            self.first[place] = rule.momentum * self.first[place] + gradient
            return rule.learning_rate * self.first[place]
        self.first[place] = rule.first_decay * self.first[place] + (1 - rule.first_decay) * gradient
        self.second[place] = rule.second_decay * self.second[place] + (1 - rule.second_decay) * gradient**2
        corrected = self.first[place] / (1 - rule.first_decay**self.steps)
        root = np.sqrt(self.second[place] / (1 - rule.second_decay**self.steps))
        return rule.learning_rate * corrected / (root + rule.epsilon)


RULES = [
    Optimizer(rule="sgd", learning_rate=0.5),
    Optimizer(rule="sgd", learning_rate=0.2, momentum=0.9),
    Optimizer(rule="adam", learning_rate=0.01),
]


@pytest.mark.parametrize("optimizer", RULES, ids=["sgd", "momentum", "adam"])
@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
def test_three_epochs_of_a_perceptron(optimizer, dense):
    """Batches of 32, 32, 32 and 4: a wrong divisor or order would show in the first epoch."""
    settings = TrainingSettings(
        layers=tuple(LayerSettings(neurons=neurons, initial_scale=0.3) for neurons in SIZES),
        batch_size=32, dtype="float64", optimizer=optimizer, conventions=PAPER.replace(adam_rows="every_weight"),
    )  # fmt: skip
    one = Trainer(settings, DATA.features.toarray() if dense else DATA.features, DATA.labels)
    plain = Plain(one.network, optimizer)
    features, labels = DATA.features.toarray().astype(float), DATA.labels.toarray() != 0
    targets = labels / np.maximum(1, labels.sum(axis=1, keepdims=True))
    while one.epoch < 3:
        rows = one.row_order[one.position : one.position + 32]
        expected = plain.step(features[rows], targets[rows])
        assert one.step().loss == pytest.approx(expected, rel=1e-10)
    assert plain.steps == 12
    for layer, weights, biases in zip(
        one.network.layers, plain.parameters[::2], plain.parameters[1::2], strict=True
    ):
        np.testing.assert_allclose(layer.weights, weights, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(layer.biases, biases, rtol=1e-7, atol=1e-9)


def test_tables_that_find_everybody_are_dense_training():
    """Padding fills every active set up to all neurons, so that sampling changes nothing but the path taken."""
    from pyslide.settings import Hashing
    from pyslide.spec.sampling import Sampling

    weights = []
    for hashing in (None, Hashing(codes_per_table=1, tables=2, bin_size=4, sampling=Sampling(minimum_active=15))):
        layers = (LayerSettings(neurons=12), LayerSettings(neurons=15, hashing=hashing))
        one = Trainer(
            TrainingSettings(
                layers=layers, batch_size=32, dtype="float64", conventions=PAPER.replace(adam_rows="every_weight")
            ),
            DATA.features,
            DATA.labels,
        )
        one.run(3)
        weights.append([layer.weights for layer in one.network.layers])
    for plain, sampled in zip(*weights, strict=True):
        np.testing.assert_allclose(sampled, plain, rtol=1e-7, atol=1e-9)
