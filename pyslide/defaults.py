"""The settings that a run has when nobody chooses: all in one place, and how they were found.

``pyslide experiment settings`` prints the measurements behind them.  Two things matter most: that
retrieved neurons are joined by random ones, which stand for all that was not retrieved (question 24), and a learning
rate at which neurons that are touched rarely still move.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyslide.conventions import PAPER
from pyslide.settings import Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import TrainingSettings

EPOCHS = 10
"""On the shipped set the full softmax is past most of its gain then."""
LEAST_STEPS = 500
"""Few rows make few steps an epoch; the classifier then adds epochs up to this."""
HASH_FROM = 1000
"""With fewer labels to compute all of them is cheaper than to look for the few that matter."""
HIDDEN = (128,)
"""One hidden layer of 128, as in section 5."""
LEARNING_RATE = 2e-3
INITIAL_SCALE = 0.1
CONVENTIONS = PAPER.replace(padding_weight="inverse_probability")
"""The paper's reading, with random neurons weighted by the inverse of their probability."""
LARGEST_PADDING = 1000
"""The original program pads to this many."""


def default_padding(labels: int) -> int:
    """Return up to how many neurons active sets are padded: just under a fifth of them, 1,000 at most."""
    return min(LARGEST_PADDING, labels // 5 - labels // 200)


def default_candidates(labels: int) -> int:
    """Return how many candidates a sampled softmax draws: a fifth of the labels, decent by section 5."""
    return max(1, labels // 5)


def default_hashing(labels: int) -> Hashing:
    """Return the tables of an output layer of so many neurons: DWTA, K=4, L=50."""
    return Hashing(codes_per_table=4, tables=50, sampling=Sampling(minimum_active=default_padding(labels)))


def default_layers(labels: int, hidden: Sequence[int] = HIDDEN) -> tuple[LayerSettings, ...]:
    """Return hidden layers without tables and an output layer with the default ones."""
    layers = [LayerSettings(neurons=neurons, initial_scale=INITIAL_SCALE) for neurons in hidden]
    output = LayerSettings(neurons=labels, initial_scale=INITIAL_SCALE, hashing=default_hashing(labels))
    return (*layers, output)


def default_training(labels: int) -> TrainingSettings:
    """Return what ``pyslide train`` trains with when no option is given, on one core.

    `pyslide.TrainingSettings` by itself is the paper's: its conventions, and Adam's usual learning rate, 1e-3.
    """
    optimizer = Optimizer(learning_rate=LEARNING_RATE)
    return TrainingSettings(layers=default_layers(labels), optimizer=optimizer, conventions=CONVENTIONS)
