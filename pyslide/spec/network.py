"""What a network consists of: layers of neurons, some of them kept in tables (Algorithm 1, lines 2 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.parameters import Family
from pyslide.spec.hashing import code_range, hash_codes
from pyslide.spec.keys import bucket_keys
from pyslide.spec.sampling import Sampling
from pyslide.spec.tables import Table, build_table, query_tables
from pyslide.spec.vectors import SparseVector, append_coordinate, from_dense


@dataclass(frozen=True, eq=False)
class Moments:
    """What the optimiser remembers of an array of weights (zeros at first).

    For SGD ``first`` is the velocity and ``second`` stays zero.
    """

    first: FloatArray
    second: FloatArray


@dataclass(frozen=True, eq=False)
class LayerTables:
    """The L tables of a layer, with everything that leads to a bucket."""

    family: Family
    codes_per_table: int  # K
    table_bits: int
    multipliers: IntArray  # (L,) odd, for keys wider than the tables
    capacity: int
    sampling: Sampling
    tables: tuple[Table, ...]  # L


@dataclass(frozen=True, eq=False)
class LayerCandidates:
    """How candidate classes are drawn for an output layer that has a sampled softmax in place of tables."""

    distribution: str
    correction: bool  # whether the logits are corrected by the candidates' probabilities
    ranks: IntArray  # (n,) each class's place by falling frequency, from 0


@dataclass(frozen=True, eq=False)
class Layer:
    """n neurons with d weights each; without tables and candidates all of them are active for every sample."""

    weights: FloatArray  # (n, d)
    biases: FloatArray  # (n,)
    weight_moments: Moments  # (n, d)
    bias_moments: Moments  # (n,)
    touches: IntArray  # how often each row (in a sampled layer) or each column (in another) was updated
    bias_touches: IntArray  # (n,)
    tables: LayerTables | None
    candidates: LayerCandidates | None = None

    @property
    def sampled(self) -> bool:
        """Return whether only some neurons are active, found in tables or drawn as candidates."""
        return self.tables is not None or self.candidates is not None


@dataclass(frozen=True, eq=False)
class Network:
    """Layers from the input to the output, and how many steps they were trained."""

    layers: tuple[Layer, ...]
    steps: int


def new_layer(
    weights: FloatArray, biases: FloatArray, tables: LayerTables | None, candidates: LayerCandidates | None = None
) -> Layer:
    """Return a layer that has not been trained: all moments are zero."""
    rows = weights.shape[1] if tables is None and candidates is None else weights.shape[0]
    return Layer(
        weights,
        biases,
        Moments(np.zeros_like(weights), np.zeros_like(weights)),
        Moments(np.zeros_like(biases), np.zeros_like(biases)),
        np.zeros(rows, dtype=np.int64),
        np.zeros(biases.size, dtype=np.int64),
        tables,
        candidates,
    )


def keys_of(vector: SparseVector, last: float, tables: LayerTables, conventions: Conventions) -> IntArray:
    """Return the L keys of a vector; ``last`` is the coordinate that a hashed bias adds (question 19)."""
    if conventions.bias_hashing == "hashed":
        vector = append_coordinate(vector, last)
    codes = hash_codes(vector, tables.family, conventions).codes
    base = code_range(tables.family, conventions)
    return bucket_keys(
        codes, base, tables.codes_per_table, tables.table_bits, tables.multipliers, conventions.packing
    )


def neuron_keys(layer: Layer, tables: LayerTables, conventions: Conventions) -> IntArray:
    """Return the keys of all neurons by the hash of their weights, shape (N, L) (Algorithm 1, line 6)."""
    return np.array(
        [
            keys_of(from_dense(weights), float(bias), tables, conventions)
            for weights, bias in zip(layer.weights, layer.biases, strict=True)
        ]
    )


def input_keys(inputs: SparseVector, tables: LayerTables, conventions: Conventions) -> IntArray:
    """Return the L keys of a layer's input (Algorithm 2, line 1)."""
    return keys_of(inputs, 1.0, tables, conventions)


def rebuild(
    layer: Layer, order: IntArray, uniforms: FloatArray, conventions: Conventions, family: Family | None = None
) -> Layer:
    """Hash every neuron of a layer anew and rebuild its tables (section 4.2).

    Parameters
    ----------
    layer : Layer
        With tables; what they hold is forgotten.
    order : ndarray of int, shape (N,)
        The order in which neurons arrive; read only under ``insertion_order="given_order"``.
    uniforms : ndarray of float, shape (L, N)
        Draws for the reservoirs.
    conventions : Conventions
    family : Family, optional
        New hash functions (question 22).
    """
    if layer.tables is None:
        return layer
    kept = replace(layer.tables, family=family or layer.tables.family)
    keys = neuron_keys(layer, kept, conventions)  # (N, L)
    arrival = order if conventions.insertion_order == "given_order" else np.arange(len(layer.biases))
    tables = tuple(
        build_table(keys[:, table], arrival, kept.capacity, uniforms[table], conventions.bucket_policy)
        for table in range(keys.shape[1])
    )
    return replace(layer, tables=replace(kept, tables=tables))


def retrieve(inputs: SparseVector, tables: LayerTables, conventions: Conventions) -> Sequence[IntArray]:
    """Return the L buckets of a layer's input."""
    return query_tables(tables.tables, input_keys(inputs, tables, conventions))


