"""Hypothesis strategies for small instances of all that flows through SLIDE.

Numbers come from a lattice of quarters unless a test asks for others: sums and products of them are exact, and ties,
zeros and equal neurons are frequent.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import PAPER, QUESTIONS, Conventions
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    Family,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.spec.hashing import probe_table
from pyslide.spec.network import Layer, LayerTables, Network, new_layer, rebuild
from pyslide.spec.sampling import Sampling
from pyslide.spec.step import Draws, Sample
from pyslide.spec.vectors import SparseVector, sparse_vector

dimensions = st.integers(1, 10)
seeds = st.integers(0, 2**32 - 1)
words = st.integers(0, 2**64 - 1)
lattice = st.integers(-8, 8).map(lambda quarters: quarters / 4)
nonzero_lattice = lattice.filter(bool)
paper = st.just(PAPER)
ordinary = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False)
extreme = st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-310, -1e-310, 2.0**-1022, 1e300, -1e300, 1e-300, -1e-300]
)
"""Zeros of both signs, denormal and huge numbers."""


@st.composite
def sparse_vectors(
    draw: st.DrawFn, dimension: int | None = None, values: st.SearchStrategy[float] = lattice
) -> SparseVector:
    """Draw a vector with 0 to d entries, some of them zero."""
    dimension = draw(dimensions) if dimension is None else dimension
    indices = sorted(draw(st.sets(st.integers(0, dimension - 1))))
    entries = draw(st.lists(values, min_size=len(indices), max_size=len(indices)))
    return sparse_vector(np.array(indices, dtype=np.int64), np.array(entries), dimension)


@st.composite
def full_vectors(
    draw: st.DrawFn, dimension: int, values: st.SearchStrategy[float] = nonzero_lattice
) -> SparseVector:
    """Draw a vector all of whose coordinates are entries, none of them zero by default."""
    entries = draw(st.lists(values, min_size=dimension, max_size=dimension))
    return sparse_vector(np.arange(dimension), np.array(entries), dimension)


@st.composite
def bin_arrays(draw: st.DrawFn, dimension: int, count: int) -> IntArray:
    """Draw C bins of 1 to d places with distinct coordinates."""
    places = draw(st.integers(1, dimension))
    return np.array([draw(st.permutations(range(dimension)))[:places] for _ in range(count)], dtype=np.int64)


@st.composite
def probe_arrays(draw: st.DrawFn, count: int) -> IntArray:
    """Draw the donors that C empty bins ask, 1 to 4 each."""
    return probe_table(count, draw(st.integers(1, 4)), draw(words), draw(words))


@st.composite
def simhash_parameters(draw: st.DrawFn, dimension: int, count: int) -> SimHashParameters:
    """Draw signed projections, coordinates possibly repeated."""
    width = draw(st.integers(1, dimension))
    random = np.random.default_rng(draw(seeds))
    coordinates = np.sort(random.integers(0, dimension, (count, width)), axis=1)
    return SimHashParameters(coordinates, random.choice([-1.0, 1.0], (count, width)), dimension)


@st.composite
def winner_take_all_parameters(draw: st.DrawFn, dimension: int, count: int) -> WinnerTakeAllParameters:
    """Draw the bins of WTA."""
    return WinnerTakeAllParameters(draw(bin_arrays(dimension, count)), dimension)


@st.composite
def densified_parameters(draw: st.DrawFn, dimension: int, count: int) -> DensifiedWinnerTakeAllParameters:
    """Draw the bins and donors of DWTA."""
    return DensifiedWinnerTakeAllParameters(
        draw(bin_arrays(dimension, count)), draw(probe_arrays(count)), dimension
    )


@st.composite
def minhash_parameters(draw: st.DrawFn, dimension: int, count: int) -> MinHashParameters:
    """Draw the bins and donors of MinHash, and how many coordinates are kept."""
    bins, probes = draw(bin_arrays(dimension, count)), draw(probe_arrays(count))
    return MinHashParameters(bins, probes, draw(st.integers(1, dimension)), dimension)


def families(dimension: int, count: int) -> st.SearchStrategy[Family]:
    """Draw a family of C hash functions on R^d."""
    return st.one_of(
        simhash_parameters(dimension, count),
        winner_take_all_parameters(dimension, count),
        densified_parameters(dimension, count),
        minhash_parameters(dimension, count),
    )


def all_conventions(**fixed: str) -> st.SearchStrategy[Conventions]:
    """Draw an answer to every question, apart from those that are given."""
    answers = {question.field: st.sampled_from(list(question.answers)) for question in QUESTIONS}
    answers |= {field: st.just(answer) for field, answer in fixed.items()}
    return st.fixed_dictionaries(answers).filter(go_together).map(Conventions.from_dict)


def go_together(answers: dict[str, str]) -> bool:
    """Say whether no two answers exclude each other."""
    return (answers["active_set"], answers["padding_weight"]) != ("union_of_batch", "inverse_probability")


samplings = st.builds(
    Sampling,
    strategy=st.sampled_from(["union", "vanilla", "top_k", "hard_threshold"]),
    budget=st.integers(1, 4),
    minimum_count=st.integers(1, 3),
    minimum_active=st.integers(0, 4),
)


@st.composite
def bucket_lists(draw: st.DrawFn, neurons: int = 8, tables: int | None = None) -> list[IntArray]:
    """Draw one bucket of each table: distinct neurons in any order."""
    tables = draw(st.integers(1, 5)) if tables is None else tables
    buckets = [draw(st.lists(st.integers(0, neurons - 1), unique=True, max_size=5)) for _ in range(tables)]
    return [np.array(bucket, dtype=np.int64) for bucket in buckets]


class Problem(NamedTuple):
    """A network, a batch and the draws of one step."""

    network: Network
    samples: list[Sample]
    draws: list[list[Draws]]
    conventions: Conventions


def on_lattice(random: np.random.Generator, *shape: int) -> FloatArray:
    """Return multiples of a quarter in -2..2."""
    return random.integers(-8, 9, shape) / 4


@st.composite
def layers(draw: st.DrawFn, inputs: int, neurons: int, conventions: Conventions, with_tables: bool) -> Layer:
    """Draw a layer, its tables built."""
    random = np.random.default_rng(draw(seeds))
    weights, biases = on_lattice(random, neurons, inputs), on_lattice(random, neurons)
    if not with_tables:
        return new_layer(weights, biases, None)
    codes, tables = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    family = draw(families(inputs + (conventions.bias_hashing == "hashed"), codes * tables))
    natural = conventions.packing == "natural_log_bits"
    held = LayerTables(
        family=family,
        codes_per_table=codes,
        table_bits=20 if natural else draw(st.sampled_from([1, 3, 20])),
        multipliers=random.integers(0, 2**63, tables, dtype=np.uint64) * np.uint64(2) + np.uint64(1),
        capacity=draw(st.integers(1, 4)),
        sampling=draw(samplings),
        tables=({},) * tables,
    )
    layer = new_layer(weights, biases, held)
    return rebuild(layer, random.permutation(neurons), random.random((tables, neurons)), conventions)


@st.composite
def batches(draw: st.DrawFn, inputs: int, outputs: int, samples: int) -> list[Sample]:
    """Draw the rows of a batch, some without features or labels."""
    return [
        Sample(
            draw(sparse_vectors(inputs)),
            np.array(sorted(draw(st.sets(st.integers(0, outputs - 1), max_size=3))), dtype=np.int64),
        )
        for _ in range(samples)
    ]


def layer_draws(random: np.random.Generator, layer: Layer, samples: int) -> list[Draws]:
    """Return the draws of one layer: orders of the tables and candidates for the padding."""
    tables = 0 if layer.tables is None else len(layer.tables.tables)
    return [Draws(random.permutation(tables), random.permutation(layer.biases.size)) for _ in range(samples)]


@st.composite
def problems(draw: st.DrawFn, conventions: st.SearchStrategy[Conventions] = paper) -> Problem:
    """Draw a network of 1 to 3 layers with tables on any of them, and a batch of 1 to 3 rows."""
    chosen = draw(conventions)
    sizes = draw(st.lists(st.integers(1, 6), min_size=2, max_size=4))
    stack = [
        draw(layers(inputs, neurons, chosen, draw(st.booleans())))
        for inputs, neurons in pairwise(sizes)
    ]
    samples = draw(batches(sizes[0], sizes[-1], draw(st.integers(1, 3))))
    random = np.random.default_rng(draw(seeds))
    draws = [layer_draws(random, layer, len(samples)) for layer in stack]
    return Problem(Network(tuple(stack), 0), samples, draws, chosen)
