"""Winner-take-all hashing for a batch."""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray, IntArray
from pyslide.engine.vectors import Batch, entries
from pyslide.parameters import WinnerTakeAllParameters


def first_maxima(columns: FloatArray, bins: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the place of the first maximum in each bin, and that maximum.

    Vectors stand in columns, so that each place of all bins is one gather of contiguous rows, and the running maximum
    one pass of comparisons over them; an argmax over m neighbours would be ten times slower.

    Parameters
    ----------
    columns : ndarray, shape (d, B)
    bins : ndarray of int, shape (C, m)

    Returns
    -------
    codes : ndarray of unsigned int, shape (C, B)
    maxima : ndarray, shape (C, B)
    """
    places = bins.shape[1]
    maxima = columns.take(bins[:, 0], axis=0)
    codes = np.zeros(maxima.shape, dtype=np.min_scalar_type(places))
    values, larger, place_if_larger = np.empty_like(maxima), np.empty(maxima.shape, dtype=bool), np.empty_like(codes)
    for place in range(1, places):
        columns.take(bins[:, place], axis=0, out=values, mode="clip")
        np.greater(values, maxima, out=larger)
        np.maximum(maxima, values, out=maxima)
        np.multiply(larger, codes.dtype.type(place), out=place_if_larger)
        np.maximum(codes, place_if_larger, out=codes)  # places rise, so the latest is the largest
    return codes, maxima


def winner_take_all_codes(batch: Batch, parameters: WinnerTakeAllParameters) -> IntArray:
    """Return the codes of a batch, shape (B, C); coordinates without an entry compete with the value 0."""
    columns = np.ascontiguousarray(entries(batch, 0.0, zeros_are_entries=True).T)  # (d, B)
    return first_maxima(columns, parameters.bins)[0].T
