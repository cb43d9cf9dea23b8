"""Operations of section 3.1: activations, loss and gradients of the active set."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray, IntArray, require_finite, require_ids, require_rising, require_shape
from pyslide.conformance.kinds import INTEGER, INTEGERS, NUMBER, NUMBER_ROWS, NUMBERS, Field
from pyslide.conformance.operation import Answer, Given, Operation
from pyslide.conformance.operations.keys import require_at_least
from pyslide.conformance.operations.sampling import ACTIVE, LABELS
from pyslide.conventions import Conventions
from pyslide.spec.backward import batch_scale, input_error, output_error, through_relu, weight_gradient
from pyslide.spec.forward import preactivations, relu, softmax
from pyslide.spec.loss import cross_entropy, targets
from pyslide.spec.vectors import SparseVector, sparse_vector

WEIGHTS = Field("weights", NUMBER_ROWS, "(n, d) one row a neuron")
INDICES = Field("indices", INTEGERS, "(entries,) the coordinates of the input's entries, strictly rising")
VALUES = Field("values", NUMBERS, "(entries,) their values")
LOGITS = Field("logits", NUMBERS, "(s,) of the active output neurons")
PROBABILITIES = Field("probabilities", NUMBERS, "(s,)")
WANTED = Field("wanted", NUMBERS, "(s,) 1/|labels| for an active label, else 0")


def require_active(active: IntArray, neurons: int) -> None:
    """Refuse what is no active set.

    Raises
    ------
    OutOfRangeError, OrderError
    """
    if active.size:
        require_ids(active, neurons, "active")
    require_rising(active, "active")


def read_layer(given: Given) -> tuple[FloatArray, IntArray, SparseVector]:
    """Return weights, active neurons and the input."""
    weights = given["weights"]
    require_finite(weights, "weights")
    require_active(given["active"], weights.shape[0])
    return weights, given["active"], sparse_vector(given["indices"], given["values"], weights.shape[1])


def compute_preactivations(given: Given, conventions: Conventions) -> Answer:
    """Return the sums of the active neurons."""
    weights, active, inputs = read_layer(given)
    require_shape(given["biases"], (weights.shape[0],), "biases")
    return {"sums": preactivations(weights, given["biases"], active, inputs)}


def compute_relu(given: Given, conventions: Conventions) -> Answer:
    """Return the activations of a hidden layer."""
    require_finite(given["sums"], "sums")
    return {"outputs": relu(given["sums"])}


def compute_softmax(given: Given, conventions: Conventions) -> Answer:
    """Return the outputs of the last layer."""
    require_finite(given["logits"], "logits")
    return {"probabilities": softmax(given["logits"], conventions.softmax)}


def compute_targets(given: Given, conventions: Conventions) -> Answer:
    """Return the wanted outputs."""
    require_rising(given["active"], "active")
    require_rising(given["labels"], "labels")
    return {"wanted": targets(given["active"], given["labels"])}


def compute_cross_entropy(given: Given, conventions: Conventions) -> Answer:
    """Return the loss of one sample."""
    require_finite(given["logits"], "logits")
    require_shape(given["wanted"], given["logits"].shape, "wanted")
    return {"loss": cross_entropy(given["logits"], given["wanted"])}


def compute_output_error(given: Given, conventions: Conventions) -> Answer:
    """Return the derivatives by the logits, scaled for the batch."""
    require_shape(given["wanted"], given["probabilities"].shape, "wanted")
    require_at_least(given["samples"], 1, "samples")
    error = output_error(given["probabilities"], given["wanted"], conventions.softmax)
    return {"error": batch_scale(given["samples"], conventions.batch_reduction) * error}


def compute_backward(given: Given, conventions: Conventions) -> Answer:
    """Return the gradients of one layer for one sample, and the error of the layer below."""
    weights, active, inputs = read_layer(given)
    require_shape(given["error"], active.shape, "error")
    below = input_error(given["error"], weights, active, inputs)
    return {
        "weight_gradient": np.asarray(weight_gradient(given["error"], inputs)),
        "input_error": below,
        "error_below": through_relu(below, inputs.values),
    }


NETWORK = (
    Operation(
        "preactivations",
        "3.1",
        "w . x + b of the active neurons, over the entries of the input",
        (WEIGHTS, Field("biases", NUMBERS, "(n,)"), ACTIVE, INDICES, VALUES),
        (Field("sums", NUMBERS, "(s,) one for each active neuron"),),
        (),
        compute_preactivations,
        "sums",
    ),
    Operation(
        "relu",
        "3.1",
        "max(0, z), the activation of hidden layers",
        (Field("sums", NUMBERS, "(s,)"),),
        (Field("outputs", NUMBERS, "(s,) an entry for each active neuron, zeros included"),),
        (),
        compute_relu,
        "outputs",
    ),
    Operation(
        "softmax",
        "3.1",
        "exp(z) / sum exp(z) over the active set, whatever the size of the logits",
        (LOGITS,),
        (PROBABILITIES,),
        ("softmax",),
        compute_softmax,
        "probabilities",
    ),
    Operation(
        "targets",
        "3.1",
        "1/|labels| for each label that is active; labels that are not are lost",
        (ACTIVE, LABELS),
        (WANTED,),
        (),
        compute_targets,
        "wanted",
    ),
    Operation(
        "cross_entropy",
        "3.1",
        "-sum t log p over the active set, from the logits, without underflow",
        (LOGITS, WANTED),
        (Field("loss", NUMBER, "0 where nothing is wanted"),),
        (),
        compute_cross_entropy,
        "loss",
    ),
    Operation(
        "output_error",
        "3.1",
        "The derivative of the batch's mean loss by one sample's logits: (p * sum(t) - t) / B",
        (PROBABILITIES, WANTED, Field("samples", INTEGER, "B, the samples of the batch")),
        (Field("error", NUMBERS, "(s,) the gradient itself, which a step subtracts"),),
        ("batch_reduction", "softmax"),
        compute_output_error,
        "error",
    ),
    Operation(
        "backward",
        "3.1",
        "One layer's gradients for one sample, and the error of the layer below its ReLU",
        (WEIGHTS, ACTIVE, INDICES, VALUES, Field("error", NUMBERS, "(s,) derivatives by the sums")),
        (
            Field("weight_gradient", NUMBER_ROWS, "(s, entries)"),
            Field("input_error", NUMBERS, "(entries,) derivatives by the inputs"),
            Field("error_below", NUMBERS, "(entries,) the same where the input is positive, else 0"),
        ),
        (),
        compute_backward,
        "weight_gradient",
    ),
)
"""The operations, in the order in which data flows."""
