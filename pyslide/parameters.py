"""The random parameters of the hash families: drawn in `pyslide.randomness`, consumed by ``spec`` and ``engine``.

A family of C = K*L hash functions on R^d is one of these tuples of arrays, or an object of the user's own that
fulfils `HashFamily`.  Nothing here is random: an implementation that is to be verified is handed these arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from pyslide.arrays import FloatArray, IntArray, require_finite, require_ids, require_shape
from pyslide.errors import OutOfRangeError


@dataclass(frozen=True, eq=False)
class SimHashParameters:
    """Signed random projections (section 3.2): C sparse vectors, each given by its coordinates and coefficients.

    A coordinate that occurs twice in a row (drawn with replacement) counts twice.
    """

    coordinates: IntArray  # (C, s)
    coefficients: FloatArray  # (C, s): signs +-1, or normal numbers
    dimension: int

    def __post_init__(self) -> None:
        """Refuse arrays that do not describe C projections of R^d."""
        require_shape(self.coordinates, (None, None), "coordinates")
        require_shape(self.coefficients, self.coordinates.shape, "coefficients")
        require_ids(self.coordinates, self.dimension, "coordinates")
        require_finite(self.coefficients, "coefficients")

    @property
    def code_count(self) -> int:
        """Return C = K*L."""
        return int(self.coordinates.shape[0])

    @property
    def code_range(self) -> int:
        """Return the number of values of a code: a bit has two."""
        return 2


def _require_bins(bins: IntArray, dimension: int) -> None:
    require_shape(bins, (None, None), "bins")
    require_ids(bins, dimension, "bins")
    ordered = np.sort(bins, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        row = int(np.argmax((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)))
        raise OutOfRangeError(f"bins: expected distinct coordinates in each bin, bin {row} repeats one")


def _require_probes(probes: IntArray, bins: IntArray) -> None:
    require_shape(probes, (bins.shape[0], None), "probes")
    require_ids(probes, bins.shape[0], "probes")


@dataclass(frozen=True, eq=False)
class WinnerTakeAllParameters:
    """Winner-take-all (Yagnik et al. 2011): C bins of m places; place q of bin c holds coordinate ``bins[c, q]``."""

    bins: IntArray  # (C, m)
    dimension: int

    def __post_init__(self) -> None:
        """Refuse bins that do not hold distinct coordinates of R^d."""
        _require_bins(self.bins, self.dimension)

    @property
    def code_count(self) -> int:
        """Return C = K*L."""
        return int(self.bins.shape[0])

    @property
    def code_range(self) -> int:
        """Return m, the places of a bin."""
        return int(self.bins.shape[1])


@dataclass(frozen=True, eq=False)
class DensifiedWinnerTakeAllParameters:
    """DWTA (Chen and Shrivastava 2018): the bins of WTA, and the donors that an empty bin asks in turn."""

    bins: IntArray  # (C, m)
    probes: IntArray  # (C, attempts): bin c asks bin probes[c, 0] first
    dimension: int

    def __post_init__(self) -> None:
        """Refuse bins without distinct coordinates and probes that are not bins."""
        _require_bins(self.bins, self.dimension)
        _require_probes(self.probes, self.bins)

    @property
    def code_count(self) -> int:
        """Return C = K*L."""
        return int(self.bins.shape[0])

    @property
    def code_range(self) -> int:
        """Return m, the places of a bin."""
        return int(self.bins.shape[1])


@dataclass(frozen=True, eq=False)
class MinHashParameters:
    """DOPH over the largest coordinates (Shrivastava and Li 2014): bins, donors, and how many coordinates are kept.

    A bin of m = d places is a whole permutation, and its code a classical MinHash.
    """

    bins: IntArray  # (C, m)
    probes: IntArray  # (C, attempts)
    kept: int  # k of the top-k binarisation
    dimension: int

    def __post_init__(self) -> None:
        """Refuse bins without distinct coordinates, probes that are not bins, and an empty top-k."""
        _require_bins(self.bins, self.dimension)
        _require_probes(self.probes, self.bins)
        if self.kept < 1:
            raise OutOfRangeError(f"kept: expected at least 1 coordinate, got {self.kept}")

    @property
    def code_count(self) -> int:
        """Return C = K*L."""
        return int(self.bins.shape[0])

    @property
    def code_range(self) -> int:
        """Return m, the places of a bin."""
        return int(self.bins.shape[1])


@runtime_checkable
class HashFamily(Protocol):
    """What a user's own family of C = K*L hash functions on R^d has to offer.

    It hashes one sparse vector at a time; a family that also has ``batch_codes(matrix)``, from a CSR matrix (n, d)
    to codes (n, C), is asked through that by the engine.
    """

    dimension: int

    @property
    def code_count(self) -> int:
        """Return C = K*L."""

    @property
    def code_range(self) -> int:
        """Return m: every code lies in 0..m-1."""

    def codes(self, indices: IntArray, values: FloatArray) -> IntArray:
        """Return the C codes of the sparse vector with these entries."""


Family = (
    SimHashParameters | WinnerTakeAllParameters | DensifiedWinnerTakeAllParameters | MinHashParameters | HashFamily
)
"""Any hash family."""
