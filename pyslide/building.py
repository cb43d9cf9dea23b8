"""From settings and a seed to a network with its tables (Algorithm 1, lines 2 to 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.network import HashNeurons, Layer, LayerCandidates, LayerTables, Network, new_layer, rebuild
from pyslide.engine.tables import empty_tables
from pyslide.engine.threads import SERIAL, Threads
from pyslide.randomness import draw_family, draw_multipliers, draw_permutation, draw_uniforms, draw_weights
from pyslide.settings import CandidateSampling, Hashing, LayerSettings


def build_tables(generator: Generator, hashing: Hashing, dimension: int, conventions: Conventions) -> LayerTables:
    """Draw the hash functions of a layer; nobody is in its tables yet."""
    return LayerTables(
        draw_family(generator, hashing, dimension, conventions),
        hashing.codes_per_table,
        hashing.table_bits,
        draw_multipliers(generator, hashing.tables),
        hashing.capacity,
        hashing.sampling,
        empty_tables(hashing.table_bits),
    )


def classes_by_frequency(frequencies: IntArray) -> IntArray:
    """Return the classes, those that occur most often first, equal ones by smaller id, shape (n,)."""
    return np.argsort(-frequencies, kind="stable")


def layer_candidates(settings: CandidateSampling, classes: IntArray) -> LayerCandidates:
    """Return how candidates are drawn from classes in an order of falling frequency, shape (n,)."""
    ranks = np.empty_like(classes)
    ranks[classes] = np.arange(classes.size)
    return LayerCandidates(settings.distribution, settings.count, settings.correction, ranks, classes)


def draw_layer_weights(
    generator: Generator, settings: LayerSettings, dimension: int, dtype: npt.DTypeLike
) -> FloatArray:
    """Draw a layer's weights, shape (n, d), by input coordinate: the same numbers, however the layer keeps them.

    A sampled layer keeps them by neuron: they are turned here, so that what was drawn goes before moments come.
    """
    drawn = draw_weights(generator, (dimension, settings.neurons), settings.initial_scale, dtype).T
    return np.ascontiguousarray(drawn) if settings.sampled else drawn


def build_network(
    layers: Sequence[LayerSettings],
    dimension: int,
    conventions: Conventions,
    weight_generator: Generator,
    function_generator: Generator,
    dtype: npt.DTypeLike = np.float32,
    frequencies: IntArray | None = None,
) -> Network:
    """Build a network whose tables are still empty.

    Parameters
    ----------
    layers : sequence of LayerSettings
        From the first hidden layer to the output.
    dimension : int
        The number of features.
    conventions : Conventions
    weight_generator, function_generator : Generator
        Streams for the weights and for the hash functions: the same weights start networks with other tables.
    dtype : dtype
    frequencies : ndarray of int, shape (n,), optional
        How often each label of the output layer occurs, for a sampled softmax; otherwise labels are taken to be sorted
        by falling frequency.
    """
    built: list[Layer] = []
    for settings in layers:
        weights = draw_layer_weights(weight_generator, settings, dimension, dtype)
        tables = candidates = None
        if settings.candidates is not None:
            known = np.zeros(settings.neurons, dtype=np.int64) if frequencies is None else frequencies
            candidates = layer_candidates(settings.candidates, classes_by_frequency(known))
        if settings.hashing is not None:
            tables = build_tables(function_generator, settings.hashing, dimension, conventions)
        built.append(new_layer(weights, np.zeros(settings.neurons, dtype=dtype), tables, candidates))
        dimension = settings.neurons
    return Network(built)


def rebuild_layer(
    layer: Layer,
    hashing: Hashing,
    conventions: Conventions,
    generator: Generator,
    threads: Threads = SERIAL,
    *,
    new_functions: bool,
    hash_neurons: HashNeurons | None = None,
) -> None:
    """Rebuild a layer's tables with fresh draws, under new hash functions where asked for."""
    if layer.tables is None:
        return
    family = draw_family(generator, hashing, layer.weights.shape[1], conventions) if new_functions else None
    random_slots = conventions.bucket_policy.startswith("reservoir")
    shape = (hashing.tables, layer.neurons)
    uniforms = draw_uniforms(generator, shape) if random_slots else np.broadcast_to(0.0, shape)
    given = conventions.insertion_order == "given_order"
    order = draw_permutation(generator, layer.neurons) if given else np.arange(layer.neurons)
    rebuild(layer, order, uniforms, conventions, family, threads, hash_neurons)
