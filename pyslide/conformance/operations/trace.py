"""The operation of all operations: several training steps, with every intermediate stage (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pyslide.arrays import require_shape
from pyslide.conformance.kinds import INTEGER, INTEGERS, NUMBER_ROWS, NUMBERS, Field, list_of, nullable, record_of
from pyslide.conformance.operation import TRACE_ROUNDINGS, Answer, Given, Operation
from pyslide.conformance.operations.layers import LAYER, read_layer
from pyslide.conformance.operations.optimizing import SETTINGS, read_optimizer
from pyslide.conventions import PAPER, Conventions
from pyslide.errors import ShapeError
from pyslide.spec.network import Layer, Network, input_keys, neuron_keys, rebuild, retrieve
from pyslide.spec.step import Draws, LayerPass, Sample, StepResult, training_step
from pyslide.spec.tables import Table
from pyslide.spec.vectors import sparse_vector

ARRIVAL = record_of(
    (
        Field("order", INTEGERS, "(N,) an order in which threads might have inserted; not read under PAPER"),
        Field("uniforms", NUMBER_ROWS, "(L, N) draws of [0, 1) for reservoirs"),
    ),
    "the random choices of one building of a layer's tables",
)
BUILD = record_of(
    (
        Field("after_step", INTEGER, "0 for the first building"),
        Field("layers", list_of(nullable(ARRIVAL), ""), "one for each layer, null without tables"),
    ),
    "one building of all tables",
)
SAMPLE = record_of(
    (
        Field("indices", INTEGERS, "strictly rising"),
        Field("values", NUMBERS, ""),
        Field("labels", INTEGERS, "strictly rising"),
    ),
    "a row of training data",
)
DRAWS = record_of(
    (Field("order", INTEGERS, "(L,)"), Field("candidates", INTEGERS, "distinct neurons for the padding")),
    "the random choices of one layer for one sample",
)
STEP = record_of(
    (
        Field("samples", list_of(SAMPLE, ""), "the batch"),
        Field("draws", list_of(nullable(list_of(DRAWS, "")), ""), "for each layer, null without tables, each sample's"),
    ),
    "one training step",
)
NO_DRAWS = Draws(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
"""For a layer without tables."""
Stages = Iterator[tuple[str, Any]]
"""Named stages in the order in which they arise."""


def with_policy(given: Given, conventions: Conventions) -> Conventions:
    """Return the conventions with the policy that the tables ask for, unless they have another than the paper's two."""
    policies = [layer["tables"]["policy"] for layer in given["layers"] if layer["tables"] is not None]
    if not policies or conventions.bucket_policy != PAPER.bucket_policy:
        return conventions
    return conventions.replace(bucket_policy=policies[0])


def read_network(given: Given) -> Network:
    """Return the network before its tables are built."""
    layers = tuple(read_layer(layer) for layer in given["layers"])
    for depth in range(1, len(layers)):
        if layers[depth].weights.shape[1] != layers[depth - 1].biases.size:
            raise ShapeError(f"layer {depth}: expected {layers[depth - 1].biases.size} weights a neuron")
    return Network(layers, 0)


def read_samples(step: Given, dimension: int) -> list[Sample]:
    """Return the batch of a step."""
    return [
        Sample(sparse_vector(one["indices"], one["values"], dimension), one["labels"]) for one in step["samples"]
    ]


def read_draws(step: Given) -> list[list[Draws]]:
    """Return the random choices of a step, by layer and sample."""
    batch = len(step["samples"])
    return [
        [NO_DRAWS] * batch if layer is None else [Draws(one["order"], one["candidates"]) for one in layer]
        for layer in step["draws"]
    ]


def build(network: Network, build_given: Given, conventions: Conventions) -> Network:
    """Return the network with its tables built anew."""
    layers = tuple(
        layer if draws is None else rebuild(layer, draws["order"], draws["uniforms"], conventions)
        for layer, draws in zip(network.layers, build_given["layers"], strict=True)
    )
    return replace(network, layers=layers)


def plain_buckets(table: Table) -> list[Any]:
    """Return a table as pairs of key and members, by key."""
    return [[key, list(table[key].members)] for key in sorted(table)]


def build_stages(network: Network, name: str, conventions: Conventions) -> Stages:
    """Yield keys and buckets of every layer with tables."""
    for depth, layer in enumerate(network.layers):
        if layer.tables is not None:
            yield f"{name}.layer{depth}.keys", neuron_keys(layer, layer.tables, conventions)
            yield f"{name}.layer{depth}.buckets", [plain_buckets(table) for table in layer.tables.tables]


def pass_stages(layer: Layer, layer_pass: LayerPass, name: str, conventions: Conventions) -> Stages:
    """Yield what one layer did for one sample."""
    if layer.tables is not None:
        yield f"{name}.keys", input_keys(layer_pass.inputs, layer.tables, conventions)
        yield f"{name}.buckets", [bucket.tolist() for bucket in retrieve(layer_pass.inputs, layer.tables, conventions)]
        yield f"{name}.active", layer_pass.active
    yield f"{name}.sums", layer_pass.sums


def step_stages(before: Network, result: StepResult, name: str, conventions: Conventions) -> Stages:
    """Yield what a step did, in the order of Algorithm 1."""
    for number, one_pass in enumerate(result.passes):
        for depth, (layer, layer_pass) in enumerate(zip(before.layers, one_pass.layers, strict=True)):
            yield from pass_stages(layer, layer_pass, f"{name}.sample{number}.layer{depth}", conventions)
        yield f"{name}.sample{number}.probabilities", one_pass.probabilities
        yield f"{name}.sample{number}.loss", one_pass.loss
    for depth, gradient in reversed(list(enumerate(result.gradients))):
        yield f"{name}.layer{depth}.weight_gradient", gradient.weights
        yield f"{name}.layer{depth}.bias_gradient", gradient.biases
    for depth, layer in enumerate(result.network.layers):
        yield f"{name}.layer{depth}.weights", layer.weights
        yield f"{name}.layer{depth}.biases", layer.biases
        yield f"{name}.layer{depth}.weight_first", layer.weight_moments.first
        yield f"{name}.layer{depth}.weight_second", layer.weight_moments.second
        yield f"{name}.layer{depth}.bias_first", layer.bias_moments.first
        yield f"{name}.layer{depth}.bias_second", layer.bias_moments.second


def stages(given: Given, conventions: Conventions) -> Stages:
    """Yield every stage of a training run."""
    conventions = with_policy(given, conventions)
    network = read_network(given)
    optimizer = read_optimizer(given["optimizer"], given["optimizer"]["rule"])
    builds = {one["after_step"]: one for one in given["builds"]}
    for number in range(len(given["steps"]) + 1):
        if number > 0:
            step = given["steps"][number - 1]
            samples = read_samples(step, network.layers[0].weights.shape[1])
            result = training_step(network, samples, read_draws(step), optimizer, conventions)
            yield from step_stages(network, result, f"step{number}", conventions)
            network = result.network
        if number in builds:
            network = build(network, builds[number], conventions)
            yield from build_stages(network, f"build{number}", conventions)


def compute_trace(given: Given, conventions: Conventions) -> Answer:
    """Return all stages by name."""
    for place, layer in enumerate(given["layers"]):
        require_shape(layer["biases"], (len(layer["weights"]),), f"layers[{place}].biases")
    return dict(stages(given, conventions))


TRACE = (
    Operation(
        "training_trace",
        "3.1",
        "Several steps of training from given weights: tables are built, batches trained on, tables rebuilt",
        (
            Field("layers", list_of(LAYER, "layers from the input to the output"), "the network before training"),
            Field("optimizer", record_of(SETTINGS, "an optimiser's settings"), "its settings"),
            Field("builds", list_of(BUILD, "buildings of tables"), "when, and with which draws"),
            Field("steps", list_of(STEP, "training steps"), "the batches, and the draws for each"),
        ),
        (),
        (
            "sign_bit", "packing", "empty_bin", "donor", "borrowed_code", "dense_input", "densification_failure",
            "insertion_order", "bucket_policy", "vanilla_stop", "padding", "threshold", "label_forcing", "active_set",
            "adam_rows", "adam_epsilon", "batch_reduction", "query", "softmax", "padding_weight",
        ),
        compute_trace,
        "",
        TRACE_ROUNDINGS,
    ),
)  # fmt: skip
"""The operation."""
