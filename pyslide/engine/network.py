"""What a network consists of, and its tables; arrays that training changes in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.engine.hashing import code_range, hash_codes
from pyslide.engine.keys import bucket_keys
from pyslide.engine.optimizer import Weights
from pyslide.engine.tables import Buckets, Tables, build_tables, empty_tables, query_tables
from pyslide.engine.threads import SERIAL, Threads
from pyslide.engine.vectors import Batch, append_coordinate, row_slices
from pyslide.parameters import Family
from pyslide.spec.sampling import Sampling

HASHED_ROWS = 512
"""Neurons whose codes are held at a time while all are hashed."""


@dataclass(eq=False)
class LayerTables:
    """The L tables of a layer, with everything that leads to a bucket."""

    family: Family
    codes_per_table: int  # K
    table_bits: int
    multipliers: IntArray  # (L,)
    capacity: int
    sampling: Sampling
    tables: Tables
    densification_failures: int = 0  # of the last rebuild


@dataclass(frozen=True, eq=False)
class LayerCandidates:
    """How candidate classes are drawn for an output layer that has a sampled softmax in place of tables."""

    distribution: str
    count: int  # S
    correction: bool
    ranks: IntArray  # (n,) each class's place by falling frequency, from 0
    classes: IntArray  # (n,) the class at each place


@dataclass(eq=False)
class Layer:
    """n neurons with d weights each.

    A sampled layer keeps ``weights`` by neuron (C order), another by input coordinate (Fortran order): in both
    the rows that an optimiser step touches are contiguous, and `rows` is a view of them.
    """

    weights: FloatArray  # (n, d)
    biases: FloatArray  # (n,)
    weight_first: FloatArray  # (n, d)
    weight_second: FloatArray  # (n, d)
    bias_first: FloatArray  # (n,)
    bias_second: FloatArray  # (n,)
    touches: IntArray  # (n,) where the layer is sampled, (d,) where not
    bias_touches: IntArray  # (n,)
    tables: LayerTables | None
    candidates: LayerCandidates | None = None

    @property
    def sampled(self) -> bool:
        """Return whether only some neurons are active, found in tables or drawn as candidates."""
        return self.tables is not None or self.candidates is not None

    @property
    def neurons(self) -> int:
        """Return n."""
        return int(self.biases.size)

    @property
    def rows(self) -> Weights:
        """Return the weights with an optimiser's row as first axis."""
        arrays = (self.weights, self.weight_first, self.weight_second)
        if not self.sampled:
            arrays = tuple(array.T for array in arrays)  # type: ignore[assignment]
        return Weights(*arrays, self.touches)

    @property
    def bias_rows(self) -> Weights:
        """Return the biases as the optimiser takes them."""
        return Weights(self.biases, self.bias_first, self.bias_second, self.bias_touches)


@dataclass(eq=False)
class Network:
    """Layers from the input to the output, and how many steps they were trained."""

    layers: list[Layer]
    steps: int = 0


def new_layer(
    weights: FloatArray, biases: FloatArray, tables: LayerTables | None, candidates: LayerCandidates | None = None
) -> Layer:
    """Return a layer that has not been trained: all moments are zero."""
    order, row_axis = ("F", 1) if tables is None and candidates is None else ("C", 0)
    weights = np.asarray(weights, order=order)  # type: ignore[call-overload]
    rows = weights.shape[row_axis]
    return Layer(
        weights,
        biases,
        np.zeros_like(weights),
        np.zeros_like(weights),
        np.zeros_like(biases),
        np.zeros_like(biases),
        np.zeros(rows, dtype=np.int64),
        np.zeros(biases.size, dtype=np.int64),
        tables,
        candidates,
    )


def keys_of(
    batch: Batch, last: FloatArray, tables: LayerTables, conventions: Conventions
) -> tuple[IntArray, int]:
    """Return the keys of a batch of vectors, shape (B, L), and how many bins found no donor.

    ``last`` is the coordinate that a hashed bias adds to each vector (question 19).
    """
    if conventions.bias_hashing == "hashed":
        batch = append_coordinate(batch, last)
    codes, failures = hash_codes(batch, tables.family, conventions)
    base = code_range(tables.family, conventions)
    keys = bucket_keys(
        codes, base, tables.codes_per_table, tables.table_bits, tables.multipliers, conventions.packing
    )
    return keys, int(failures.sum())


HashNeurons = Callable[[Layer, LayerTables, Conventions], tuple[IntArray, int]]
"""Who hashes all neurons of a layer: `neuron_keys`, or several processes that call it for some neurons each."""


def neuron_keys(layer: Layer, tables: LayerTables, conventions: Conventions) -> tuple[IntArray, int]:
    """Return the keys of all neurons by the hash of their weights, shape (N, L), and the densification failures.

    In one thread: chunks that fit the cache make calls so short that two threads would only wait for the interpreter's
    lock.
    """
    keys = np.empty((tables.multipliers.size, layer.neurons), dtype=np.uint32)  # a bucket number has 32 bits at most

    def hash_rows(rows: slice) -> int:
        part, failures = keys_of(layer.weights[rows], layer.biases[rows], tables, conventions)
        keys[:, rows] = part.T
        return failures

    return keys.T, sum(map(hash_rows, row_slices(layer.neurons, HASHED_ROWS)))


def input_keys(inputs: Batch, tables: LayerTables, conventions: Conventions) -> IntArray:
    """Return the keys of a layer's inputs, shape (B, L)."""
    return keys_of(inputs, np.ones(inputs.shape[0]), tables, conventions)[0]


def rebuild(
    layer: Layer,
    order: IntArray,
    uniforms: FloatArray,
    conventions: Conventions,
    family: Family | None = None,
    threads: Threads = SERIAL,
    hash_neurons: HashNeurons | None = None,
) -> None:
    """Hash every neuron of a layer anew and rebuild its tables, in place (section 4.2).

    Parameters
    ----------
    layer : Layer
        Without tables it stays as it is.
    order : ndarray of int, shape (N,)
        The order in which neurons arrive; read only under ``insertion_order="given_order"``.
    uniforms : ndarray of float, shape (L, N)
        Draws for the reservoirs.
    conventions : Conventions
    family : Family, optional
        New hash functions (question 22).
    threads : Threads
    hash_neurons : callable, optional
        Who hashes them; `neuron_keys` unless given.  The tables take the memory of its keys, which is (L, N).
    """
    tables = layer.tables
    if tables is None:
        return
    if family is not None:
        tables.family = family
    tables.tables = empty_tables(tables.table_bits)  # the old members go before the new ones come
    keys, tables.densification_failures = (hash_neurons or neuron_keys)(layer, tables, conventions)
    arrival = order if conventions.insertion_order == "given_order" else np.arange(layer.neurons)
    members = keys.T.view(np.int32)  # in the keys' memory: both at once would be a third of the weights'
    tables.tables = build_tables(
        keys, arrival, tables.capacity, uniforms, conventions.bucket_policy, tables.table_bits, threads, members
    )


def retrieve(inputs: Batch, tables: LayerTables, conventions: Conventions) -> Buckets:
    """Return the buckets of a layer's inputs."""
    return query_tables(tables.tables, input_keys(inputs, tables, conventions))
