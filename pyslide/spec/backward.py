"""Gradients flow from active neuron to active neuron (section 3.1; Algorithm 1, lines 14 to 17).

Everything here is the gradient of the loss: a step subtracts it.  (The original program stores its negative.)
"""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.spec.vectors import SparseVector


def output_error(probabilities: FloatArray, wanted: FloatArray, convention: str) -> FloatArray:
    """Return the derivative of a sample's loss by the logits of its active output neurons.

    For the cross-entropy with targets t it is p * sum(t) - t, which is p - t where all labels are active.  The original
    program always takes p - t (question 23).

    Returns
    -------
    ndarray of float64, shape (s,)
    """
    mass = 1.0 if convention == "maximum_from_zero" else wanted.sum()
    return probabilities * mass - wanted


def batch_scale(samples: int, batch_reduction: str) -> float:
    """Return by what a sample's error is multiplied: 1/B for the mean over the batch (question 18)."""
    return 1.0 / samples if batch_reduction == "mean" else 1.0


def weight_gradient(error: FloatArray, inputs: SparseVector) -> FloatArray:
    """Return the derivatives by the weights between active neurons and input entries, shape (s, entries)."""
    return np.outer(error, inputs.values)


def input_error(error: FloatArray, weights: FloatArray, active: IntArray, inputs: SparseVector) -> FloatArray:
    """Return the derivatives by the layer's inputs, for their entries only, shape (entries,)."""
    return error @ weights[np.ix_(active, inputs.indices)]  # (s,) @ (s, entries)


def through_relu(error: FloatArray, outputs: FloatArray) -> FloatArray:
    """Return the error below a ReLU: it passes where the output is positive, and nowhere else."""
    return error * (outputs > 0)
