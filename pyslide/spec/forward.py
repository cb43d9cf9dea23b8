"""Activations of the active set, and of nobody else (section 3.1; Algorithm 1, lines 10 to 13)."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.spec.vectors import SparseVector


def preactivations(weights: FloatArray, biases: FloatArray, active: IntArray, inputs: SparseVector) -> FloatArray:
    """Return w_a . x + b_a for the active neurons; only the entries of the input are multiplied.

    Parameters
    ----------
    weights : ndarray, shape (n, d)
    biases : ndarray, shape (n,)
    active : ndarray of int, shape (s,)
    inputs : SparseVector
        Of dimension d.

    Returns
    -------
    ndarray of float64, shape (s,)
    """
    return weights[np.ix_(active, inputs.indices)] @ inputs.values + biases[active]  # (s, entries) @ (entries,)


def relu(sums: FloatArray) -> FloatArray:
    """Return max(0, z), the activation of the hidden layers."""
    return np.maximum(sums, 0.0)


def hidden_output(sums: FloatArray, active: IntArray, neurons: int) -> SparseVector:
    """Return a hidden layer's output: an entry for each active neuron, silenced ones included."""
    return SparseVector(active, relu(sums), neurons)


def stable_softmax(logits: FloatArray) -> FloatArray:
    """Return exp(z) / sum exp(z) over the active set only; the largest logit is subtracted first."""
    if logits.size == 0:
        return logits
    exponentials = np.exp(logits - logits.max())
    return exponentials / exponentials.sum()


def softmax_from_zero(logits: FloatArray) -> FloatArray:
    """Return what the original program computes: the maximum search starts at 0, and 1e-7 is added to the sum.

    When all logits are far below 0 every output underflows to 0.
    """
    exponentials = np.exp(logits - max(0.0, float(logits.max(initial=0.0))))
    return exponentials / (exponentials.sum() + 1e-7)


SOFTMAXES = {"stable": stable_softmax, "maximum_from_zero": softmax_from_zero}
"""The softmax functions, by the answer to question 23."""


def softmax(logits: FloatArray, convention: str) -> FloatArray:
    """Return the outputs of the active set of the last layer, shape (s,)."""
    return SOFTMAXES[convention](logits)
