"""Ragged rows: one flat array, cut by offsets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pyslide.arrays import FloatArray, IntArray, index_dtype


class ActiveSets(NamedTuple):
    """The active neurons of each sample: ``neurons[offsets[i]:offsets[i + 1]]``, strictly ascending."""

    offsets: IntArray  # (B+1,)
    neurons: IntArray  # (total,)

    @property
    def sizes(self) -> IntArray:
        """Return the number of active neurons of each sample, shape (B,)."""
        return np.diff(self.offsets)

    @property
    def samples(self) -> IntArray:
        """Return to which sample each entry belongs, shape (total,)."""
        return np.repeat(np.arange(self.offsets.size - 1), self.sizes)

    def of(self, sample: int) -> IntArray:
        """Return the active set of one sample."""
        return self.neurons[self.offsets[sample] : self.offsets[sample + 1]]

    def group(self, samples: slice) -> ActiveSets:
        """Return the active sets of consecutive samples."""
        offsets = self.offsets[samples.start : samples.stop + 1]
        return ActiveSets(offsets - offsets[0], self.neurons[offsets[0] : offsets[-1]])


def offsets_of(lengths: IntArray, dtype: npt.DTypeLike = np.int64) -> IntArray:
    """Return where rows of these lengths begin and end in a flat array, shape (rows+1,)."""
    offsets = np.zeros(lengths.size + 1, dtype=dtype)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def spans(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the places start, start+1, ... of every span, one span after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


def segment_reduce(ufunc: np.ufunc, values: FloatArray, offsets: IntArray, empty: float) -> FloatArray:
    """Reduce each row with a ufunc; a row without elements gives ``empty``."""
    filled = np.diff(offsets) > 0
    result = np.full(offsets.size - 1, empty, dtype=values.dtype)
    if filled.any():
        result[filled] = ufunc.reduceat(values, offsets[:-1][filled])
    return result


def pack(samples: IntArray, neurons: IntArray, population: int) -> IntArray:
    """Return sample * population + neuron: pairs as integers that sort by sample, then by neuron.

    Integers of 32 bits where they hold every pair: they sort twice as fast as those of 64.
    """
    pairs = (int(samples.max(initial=0)) + 1) * population
    packed: IntArray = samples.astype(index_dtype(pairs))
    packed *= packed.dtype.type(population)
    return packed + neurons.astype(packed.dtype, copy=False)


def unpack(packed: IntArray, samples: int, population: int) -> ActiveSets:
    """Return the active sets of sorted, distinct packed pairs."""
    if samples * population >= 2**31:
        packed = packed.astype(np.int64, copy=False)
    first = np.arange(samples, dtype=packed.dtype) * packed.dtype.type(population)  # of each sample
    offsets = np.append(np.searchsorted(packed, first), packed.size)
    return ActiveSets(offsets, packed - np.repeat(first, np.diff(offsets)))


def join_sets(parts: list[ActiveSets]) -> ActiveSets:
    """Return the active sets of all samples from those of consecutive groups."""
    sizes = np.concatenate([part.sizes for part in parts])
    return ActiveSets(offsets_of(sizes), np.concatenate([part.neurons for part in parts]))


def pack_sets(active: ActiveSets, population: int) -> IntArray:
    """Return active sets as sorted packed pairs."""
    return pack(active.samples, active.neurons, population)


def distinct(packed: IntArray) -> IntArray:
    """Return the sorted distinct elements; a sort of plain integers is the fastest way that NumPy has."""
    ordered = np.sort(packed)
    return ordered[group_starts(ordered)]


def group_starts(ordered: IntArray) -> IntArray:
    """Return where runs of equal elements begin in a sorted array."""
    if ordered.size == 0:
        return np.empty(0, dtype=np.int64)
    return np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])


def contains(ordered: IntArray, wanted: IntArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which wanted elements occur in a sorted array."""
    if ordered.size == 0:
        return np.zeros(wanted.shape, dtype=bool)
    places = np.minimum(np.searchsorted(ordered, wanted), ordered.size - 1)
    return ordered[places] == wanted


def ranks_in_groups(starts: IntArray, total: int) -> IntArray:
    """Return each element's place in its group, groups beginning at ``starts``."""
    return np.arange(total) - np.repeat(starts, np.diff(np.append(starts, total)))
