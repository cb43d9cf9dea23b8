"""The only place that draws random numbers.

Every function takes a `numpy.random.Generator`.  What is drawn here is an argument everywhere else.
"""

from __future__ import annotations

from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator, SeedSequence

from pyslide.arrays import FloatArray, IntArray
from pyslide.conventions import Conventions
from pyslide.errors import OutOfRangeError
from pyslide.parameters import (
    DensifiedWinnerTakeAllParameters,
    Family,
    MinHashParameters,
    SimHashParameters,
    WinnerTakeAllParameters,
)
from pyslide.settings import Hashing
from pyslide.spec.hashing import probe_table

SPARSITY = 3
"""A sparse projection has d/3 non-zeros (section 3.2)."""


def generators(seed: int, count: int) -> list[Generator]:
    """Return independent generators from one seed (`numpy.random.SeedSequence.spawn`)."""
    return [np.random.default_rng(child) for child in SeedSequence(seed).spawn(count)]


def seed_from(random_state: Any) -> int:
    """Return the seed of a run from what scikit-learn's estimators take as ``random_state``.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        An integer is the seed; a generator is asked for one, and gives another the next time; None is another every
        time.

    Raises
    ------
    OutOfRangeError
        If it is none of these, or negative.
    """
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    raise OutOfRangeError(f"random_state: expected a seed of at least 0, a generator or None, got {random_state!r}")


def draw_signs(generator: Generator, shape: tuple[int, ...]) -> FloatArray:
    """Return independent fair signs, +1.0 or -1.0."""
    return generator.integers(0, 2, size=shape).astype(np.float64) * 2 - 1


def draw_projections(generator: Generator, count: int, dimension: int, projection: str) -> SimHashParameters:
    """Draw the projections of SimHash (question 2; section 3.2).

    Parameters
    ----------
    generator : Generator
    count : int
        C = K*L.
    dimension : int
        d.
    projection : str
        The answer to question 2.
    """
    sparse = ceil(dimension / SPARSITY)
    everything = np.tile(np.arange(dimension), (count, 1))
    if projection == "gaussian":
        return SimHashParameters(everything, generator.standard_normal((count, dimension)), dimension)
    if projection == "dense_signs":
        return SimHashParameters(everything, draw_signs(generator, everything.shape), dimension)
    if projection == "signs_with_replacement":
        coordinates = generator.integers(0, dimension, size=(count, sparse))
    else:
        coordinates = np.array([draw_distinct(generator, dimension, sparse) for _ in range(count)])
    return SimHashParameters(np.sort(coordinates, axis=1), draw_signs(generator, coordinates.shape), dimension)


def draw_distinct(generator: Generator, population: int, count: int) -> IntArray:
    """Return distinct numbers of 0..population-1 in a random order."""
    return generator.permutation(population)[:count] if count * 4 > population else generator.choice(
        population, size=count, replace=False
    )


def draw_bins(generator: Generator, count: int, bin_size: int, dimension: int) -> IntArray:
    """Draw permutations of the d coordinates and cut each into floor(d/m) bins of m places (section 3.2).

    Places that are left over when m does not divide d are not used.

    Returns
    -------
    ndarray of int64, shape (C, m)

    Raises
    ------
    OutOfRangeError
        If a bin has more places than there are coordinates.
    """
    if bin_size > dimension:
        raise OutOfRangeError(f"bin_size: expected at most the {dimension} coordinates, got {bin_size}")
    a_permutation = dimension // bin_size
    cut = [
        generator.permutation(dimension)[: a_permutation * bin_size].reshape(a_permutation, bin_size)
        for _ in range(ceil(count / a_permutation))
    ]
    return np.concatenate(cut)[:count].astype(np.int64)


def draw_probes(generator: Generator, bins: int, attempts: int) -> IntArray:
    """Draw the hash by which empty bins choose donors, as the table (bins, attempts) of its values."""
    multiplier, addend = generator.integers(0, 2**64, size=2, dtype=np.uint64)
    return probe_table(bins, attempts, int(multiplier), int(addend))


def draw_family(generator: Generator, hashing: Hashing, dimension: int, conventions: Conventions) -> Family:
    """Draw the C = K*L hash functions of a layer whose inputs have ``dimension`` coordinates."""
    if conventions.bias_hashing == "hashed":
        dimension += 1
    count = hashing.codes_per_table * hashing.tables
    if hashing.family == "simhash":
        return draw_projections(generator, count, dimension, conventions.projection)
    bins = draw_bins(generator, count, hashing.bin_size, dimension)
    if hashing.family == "wta":
        return WinnerTakeAllParameters(bins, dimension)
    probes = draw_probes(generator, count, hashing.attempts)
    if hashing.family == "dwta":
        return DensifiedWinnerTakeAllParameters(bins, probes, dimension)
    return MinHashParameters(bins, probes, min(hashing.kept, dimension), dimension)


def draw_multipliers(generator: Generator, tables: int) -> IntArray:
    """Draw an odd 64-bit multiplier for each table, for keys that are wider than the table."""
    return generator.integers(0, 2**63, size=tables, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def draw_uniforms(generator: Generator, shape: tuple[int, ...]) -> FloatArray:
    """Draw numbers of [0, 1) for the reservoirs."""
    return generator.random(shape)


def draw_table_orders(generator: Generator, samples: int, tables: int) -> IntArray:
    """Draw the order in which each sample reads the tables, shape (B, L)."""
    return generator.permuted(np.tile(np.arange(tables), (samples, 1)), axis=1)


def draw_permutation(generator: Generator, count: int) -> IntArray:
    """Draw an order of 0..count-1: of the rows of an epoch, or of the neurons that paddings are cut from."""
    return generator.permutation(count)


def draw_starts(generator: Generator, samples: int, neurons: int, padding_draws: str = "per_sample") -> IntArray:
    """Draw where the padding of each sample starts in the permuted neurons, shape (B,) (question 25)."""
    if padding_draws == "shared_by_batch":
        return np.repeat(generator.integers(0, neurons, size=1), samples)
    return generator.integers(0, neurons, size=samples)


def draw_candidates(
    generator: Generator, distribution: str, count: int, classes: IntArray
) -> tuple[IntArray, int]:
    """Draw distinct candidate classes for a sampled softmax.

    Parameters
    ----------
    generator : Generator
    distribution : {"uniform", "log_uniform"}
    count : int
        S.
    classes : ndarray of int, shape (n,)
        All classes by falling frequency.

    Returns
    -------
    candidates : ndarray of int, shape (S,)
    tries : int
        How many draws it took, those of classes that came before included.

    Raises
    ------
    OutOfRangeError
        If there are fewer classes: the draws would never end.
    """
    if count > classes.size:
        raise OutOfRangeError(f"count of candidates: expected at most the {classes.size} classes, got {count}")
    if distribution == "uniform":
        return draw_distinct(generator, classes.size, count), count
    ranks, tries = draw_log_uniform(generator, classes.size, count)
    return classes[ranks], tries


def draw_log_uniform(generator: Generator, population: int, count: int) -> tuple[IntArray, int]:
    """Draw numbers below ``population``, r with probability log((r + 2) / (r + 1)) / log(population + 1).

    It ends when so many distinct ones have come.  These are returned in that order, with how many draws were made.

    A number u of [0, 1) gives floor((population + 1)^u) - 1.  Draws are made by the block, and those after the last
    that was needed are forgotten.
    """
    drawn = np.empty(0, dtype=np.int64)
    firsts = drawn  # where each distinct number came first
    while firsts.size < count:
        uniforms = generator.random(max(2 * count, drawn.size))
        fresh = np.exp(uniforms * np.log(population + 1.0)).astype(np.int64) - 1
        drawn = np.concatenate([drawn, np.minimum(fresh, population - 1)])  # rounding may reach the end
        firsts = np.unique(drawn, return_index=True)[1]
    places = np.sort(firsts)[:count]
    return drawn[places], int(places[-1]) + 1


def draw_weights(
    generator: Generator, shape: tuple[int, ...], scale: float, dtype: npt.DTypeLike = np.float32
) -> FloatArray:
    """Draw initial weights from the normal distribution with standard deviation ``scale``."""
    weights: FloatArray = np.empty(shape, dtype=dtype)
    generator.standard_normal(out=weights, dtype=weights.dtype)
    weights *= weights.dtype.type(scale)
    return weights


def draw_turns(generator: Generator, shares: IntArray) -> IntArray:
    """Draw which worker moves at each moment, worker w so often as its share says, every order equally likely.

    Parameters
    ----------
    generator : Generator
    shares : ndarray of int, shape (workers,)

    Returns
    -------
    ndarray of int, shape (shares.sum(),)
    """
    return generator.permutation(np.repeat(np.arange(shares.size), shares))
