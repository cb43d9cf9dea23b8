"""Widths from 10^3 to 10^6 outputs at one load of features, SLIDE alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyslide.bench.run import Measurement, measure
from pyslide.bench.shapes import SHAPES, Shape
from pyslide.data import Dataset
from pyslide.settings import Hashing

RUNGS = tuple(name for name in SHAPES if name.startswith("width-"))
"""The shapes of the ladder, by rising width."""


class Rung(NamedTuple):
    """One width."""

    outputs: int
    measurement: Measurement


def climb(data_of: Callable[[Shape], Dataset], hashing: Hashing, steps: int, threads: int) -> list[Rung]:
    """Measure SLIDE at every width.

    Parameters
    ----------
    data_of : callable
        From a shape to its data.
    hashing : Hashing
        Its padding keeps the active neurons equal where the tables give less.
    steps : int
    threads : int
    """
    return [
        Rung(SHAPES[name].labels, measure(data_of(SHAPES[name]), SHAPES[name], hashing, ["slide"], steps, threads)[0])
        for name in RUNGS
    ]
