"""The weights move: SGD with momentum, and Adam (Kingma and Ba 2015; section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pyslide.arrays import BoolArray, FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.errors import OutOfRangeError


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """The optimiser and its settings.

    Attributes
    ----------
    rule : {"adam", "sgd"}
    learning_rate : float
    momentum : float
        Of SGD; 0 for none.
    first_decay, second_decay : float
        beta1 and beta2 of Adam.
    epsilon : float
        Of Adam.

    Raises
    ------
    OutOfRangeError
        If a setting lies outside its range.
    """

    rule: str = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.0
    first_decay: float = 0.9
    second_decay: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        """Refuse settings with which no step makes sense."""
        if self.rule not in ("adam", "sgd"):
            raise OutOfRangeError(f"rule: expected 'adam' or 'sgd', got {self.rule!r}")
        if not (np.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise OutOfRangeError(f"learning_rate: expected a positive number, got {self.learning_rate}")
        for name in ("momentum", "first_decay", "second_decay"):
            if not 0 <= getattr(self, name) < 1:
                raise OutOfRangeError(f"{name}: expected 0 <= {name} < 1, got {getattr(self, name)}")
        if not self.epsilon > 0:
            raise OutOfRangeError(f"epsilon: expected a positive number, got {self.epsilon}")


class Update(NamedTuple):
    """An array of weights after an update, and what the optimiser remembers."""

    values: FloatArray
    first: FloatArray
    second: FloatArray


def sgd(values: FloatArray, gradient: FloatArray, velocity: FloatArray, optimizer: Optimizer) -> Update:
    """Return the weights after one step of SGD: v = momentum * v + g; w = w - rate * v."""
    velocity = optimizer.momentum * velocity + gradient
    return Update(values - optimizer.learning_rate * velocity, velocity, np.zeros_like(velocity))


def adam(
    values: FloatArray,
    gradient: FloatArray,
    first: FloatArray,
    second: FloatArray,
    step: FloatArray | IntArray | int,
    optimizer: Optimizer,
    adam_epsilon: str,
) -> Update:
    """Return the weights after one step of Adam (Kingma and Ba 2015, algorithm 1).

    Parameters
    ----------
    values, gradient, first, second : ndarray, all of one shape
    step : int or ndarray that broadcasts
        t, counted from 1.
    optimizer : Optimizer
    adam_epsilon : str
        The answer to question 17.
    """
    first = optimizer.first_decay * first + (1 - optimizer.first_decay) * gradient
    second = optimizer.second_decay * second + (1 - optimizer.second_decay) * gradient**2
    first_correction = 1 - np.power(optimizer.first_decay, step)
    second_correction = 1 - np.power(optimizer.second_decay, step)
    if adam_epsilon == "corrected":
        denominator = np.sqrt(second / second_correction) + optimizer.epsilon
    else:
        denominator = (np.sqrt(second) + optimizer.epsilon) / np.sqrt(second_correction)
    return Update(values - optimizer.learning_rate * (first / first_correction) / denominator, first, second)


def update_rows(
    before: Update,
    gradient: FloatArray,
    touched: BoolArray,
    steps: int,
    touches: IntArray,
    optimizer: Optimizer,
    conventions: Conventions,
) -> tuple[Update, IntArray]:
    """Return the weights after one step that moves the touched rows, or all of them (question 16).

    Parameters
    ----------
    before : Update
        Weights and moments, shape (rows, ...).
    gradient : ndarray, same shape
    touched : ndarray of bool, shape (rows,)
    steps : int
        The global step number, counted from 1.
    touches : ndarray of int, shape (rows,)
        How often each row was updated before.
    optimizer : Optimizer
    conventions : Conventions

    Returns
    -------
    after : Update
    touches : ndarray of int, shape (rows,)
    """
    moved = np.ones_like(touched) if conventions.adam_rows == "every_weight" else touched
    touches = touches + moved
    column = (-1,) + (1,) * (gradient.ndim - 1)
    step = touches[moved].reshape(column) if conventions.adam_rows == "touched_own_step" else steps
    rows = Update(*(array[moved] for array in before))
    if optimizer.rule == "sgd":
        new = sgd(rows.values, gradient[moved], rows.first, optimizer)
    else:
        new = adam(rows.values, gradient[moved], rows.first, rows.second, step, optimizer, conventions.adam_epsilon)
    after = Update(*(array.copy() for array in before))
    for target, source in zip(after, new, strict=True):
        target[moved] = source
    return after, touches
