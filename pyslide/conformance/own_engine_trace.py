"""A training run of ``pyslide.engine`` with the stages that it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import FloatArray
from pyslide.conformance.operation import Given
from pyslide.conformance.operations.layers import read_layer
from pyslide.conformance.operations.optimizing import read_optimizer
from pyslide.conformance.operations.trace import with_policy
from pyslide.conventions import Conventions
from pyslide.engine import network, step
from pyslide.engine.tables import Tables, empty_tables
from pyslide.engine.vectors import Batch
from pyslide.parameters import Family
from pyslide.spec import network as spec_network

Stages = Iterator[tuple[str, Any]]
"""Named stages in the order in which they arise."""


def batch_of(given: Given, dtype: npt.DTypeLike) -> Batch:
    """Return a vector as a batch of one: CSR, or dense where it has no indices."""
    values = given["values"].astype(dtype)
    if given["indices"] is None:
        return values[None, :]
    return rows_of([{"indices": given["indices"], "values": values}], given["dimension"], dtype)


def rows_of(samples: list[Any], dimension: int, dtype: npt.DTypeLike) -> sparse.csr_array:
    """Return sparse vectors as a batch, explicit zeros kept."""
    ends = np.cumsum([0, *(one["indices"].size for one in samples)])
    values = np.concatenate([one["values"] for one in samples]).astype(dtype)
    indices = np.concatenate([one["indices"] for one in samples])
    return sparse.csr_array((values, indices, ends), shape=(len(samples), dimension))


def labels_of(samples: list[Any], neurons: int) -> sparse.csr_array:
    """Return the labels of a batch."""
    ones = [{"indices": one["labels"], "values": np.ones(one["labels"].size)} for one in samples]
    return rows_of(ones, neurons, np.float32)


def buckets_by_key(table: Tables) -> list[tuple[int, list[int]]]:
    """Return the members of each bucket of a structure by its address."""
    parts = np.split(table.members, table.offsets[1:-1]) if table.addresses.size else []
    return [(int(address), part.tolist()) for address, part in zip(table.addresses, parts, strict=True)]


def computed_layer(
    weights: FloatArray,
    biases: FloatArray,
    tables: spec_network.LayerTables | None,
    family: Family | None,
    dtype: npt.DTypeLike,
) -> network.Layer:
    """Return a layer of the engine from the parts of one of the spec."""
    own = None
    if tables is not None and family is not None:
        fixed = (family, tables.codes_per_table, tables.table_bits, tables.multipliers, tables.capacity)
        own = network.LayerTables(*fixed, tables.sampling, empty_tables(tables.table_bits))
    return network.new_layer(weights.astype(dtype), biases.astype(dtype), own)


def read_network(given: Given, dtype: npt.DTypeLike) -> network.Network:
    """Return the network before its tables are built."""
    layers = []
    for one in given["layers"]:
        plain = read_layer(one)
        family = None if plain.tables is None else plain.tables.family
        layers.append(computed_layer(plain.weights, plain.biases, plain.tables, family, dtype))
    return network.Network(layers)


def draws_of(one_step: Given) -> list[step.Draws]:
    """Return the random choices of a step, by layer."""
    nothing = np.empty((len(one_step["samples"]), 0), dtype=np.int64)
    return [
        step.Draws(nothing, nothing)
        if layer is None
        else step.Draws(np.stack([one["order"] for one in layer]), candidates_of(layer))
        for layer in one_step["draws"]
    ]


def candidates_of(layer: list[Any]) -> np.ndarray:
    """Return the candidates of a layer, the shorter ones filled up with their first."""
    longest = max(one["candidates"].size for one in layer)
    return np.stack([np.resize(one["candidates"], longest) for one in layer])


def build_stages(
    built: network.Network, build: Given, name: str, conventions: Conventions, dtype: npt.DTypeLike
) -> Stages:
    """Build the tables of every layer and yield the buckets."""
    for depth, (layer, arrival) in enumerate(zip(built.layers, build["layers"], strict=True)):
        if layer.tables is not None and arrival is not None:
            network.rebuild(layer, arrival["order"], arrival["uniforms"], conventions)
            yield f"{name}.layer{depth}.keys", network.neuron_keys(layer, layer.tables, conventions)[0]
            yield f"{name}.layer{depth}.buckets", buckets_by_table(layer.tables)


def buckets_by_table(tables: network.LayerTables) -> list[list[Any]]:
    """Return for each table its pairs of key and members."""
    found: list[list[Any]] = [[] for _ in tables.multipliers]
    for address, members in buckets_by_key(tables.tables):
        found[address >> tables.table_bits].append([address % 2**tables.table_bits, members])
    return found


def pass_stages(trained: network.Network, done: step.BatchPass, name: str) -> Stages:
    """Yield active sets, sums and outputs of every sample."""
    for sample in range(done.losses.size):
        for depth, (layer, one) in enumerate(zip(trained.layers, done.layers, strict=True)):
            span = slice(*one.active_sets(layer.neurons).offsets[sample : sample + 2])
            if one.active is not None:
                yield f"{name}.sample{sample}.layer{depth}.active", one.active.of(sample)
            yield f"{name}.sample{sample}.layer{depth}.sums", one.sums.ravel()[span]
        yield f"{name}.sample{sample}.probabilities", done.probabilities[slice(*done.active.offsets[sample:sample + 2])]
        yield f"{name}.sample{sample}.loss", float(done.losses[sample])


def step_stages(trained: network.Network, result: step.StepResult, name: str) -> Stages:
    """Yield what a step did, in the order of Algorithm 1."""
    yield from pass_stages(trained, result.batch_pass, name)
    for depth, layer in enumerate(trained.layers):
        for kind in ("weights", "biases", "weight_first", "weight_second", "bias_first", "bias_second"):
            yield f"{name}.layer{depth}.{kind}", getattr(layer, kind)


def all_stages(given: Given, conventions: Conventions, dtype: npt.DTypeLike) -> Stages:
    """Yield the stages of a training run."""
    conventions = with_policy(given, conventions)
    trained = read_network(given, dtype)
    optimizer = read_optimizer(given["optimizer"], given["optimizer"]["rule"])
    builds = {one["after_step"]: one for one in given["builds"]}
    for number in range(len(given["steps"]) + 1):
        if number > 0:
            one = given["steps"][number - 1]
            inputs, outputs = trained.layers[0].weights.shape[1], trained.layers[-1].neurons
            features, labels = rows_of(one["samples"], inputs, dtype), labels_of(one["samples"], outputs)
            result = step.training_step(trained, features, labels, draws_of(one), optimizer, conventions)
            # the weights change in place at the next step
            yield from ((stage, np.array(value)) for stage, value in step_stages(trained, result, f"step{number}"))
        if number in builds:
            yield from build_stages(trained, builds[number], f"build{number}", conventions, dtype)


def trace_stages(given: Given, conventions: Conventions, dtype: npt.DTypeLike) -> dict[str, Any]:
    """Return the stages of a training run by name."""
    return dict(all_stages(given, conventions, dtype))
