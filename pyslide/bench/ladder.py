"""Widths from 10^3 to 10^6 outputs at one load of features: SLIDE at each width, in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pyslide.bench.cases import Case, synthetic_rows
from pyslide.bench.run import Measurement, measure_all
from pyslide.bench.shapes import SHAPES
from pyslide.conventions import Conventions
from pyslide.settings import Hashing

RUNGS = tuple(name for name in SHAPES if name.startswith("width-"))
"""The shapes of the ladder, by rising width."""
BASE = 10_000
"""The width that the others are compared with."""


class Rung(NamedTuple):
    """One width."""

    outputs: int
    measurement: Measurement


def fitting_codes(hashing: Hashing, neurons: int) -> Hashing:
    """Return tables with the largest K at which one has at most as many keys as there are neurons.

    Then the tables give each sample about as many neurons at any width, as constant work a sample asks for.
    """
    base = 2 if hashing.family == "simhash" else hashing.bin_size
    codes = 1
    while base ** (codes + 1) <= neurons:
        codes += 1
    return replace(hashing, codes_per_table=codes)


def climb(
    hashings: Mapping[str, Hashing], conventions: Conventions, steps: int, threads: int
) -> list[Rung]:
    """Measure SLIDE at several widths, which take turns.

    Parameters
    ----------
    hashings : mapping of str to Hashing
        By keys of `SHAPES`.  Padding keeps the active neurons equal where the tables give less.
    conventions : Conventions
    steps, threads : int
    """
    entries = {
        name: ("slide", Case(synthetic_rows(SHAPES[name], steps), SHAPES[name], hashing, conventions, threads))
        for name, hashing in hashings.items()
    }
    measured = measure_all(entries, steps, threads)
    return [Rung(SHAPES[one.name].labels, one) for one in measured]


def times_base(rungs: Sequence[Rung]) -> list[float]:
    """Return each width's step beside that of 10^4 outputs, or of the narrowest where that is missing."""
    base = next((rung for rung in rungs if rung.outputs == BASE), rungs[0])
    return [rung.measurement.step_milliseconds / base.measurement.step_milliseconds for rung in rungs]
