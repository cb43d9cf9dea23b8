"""Peak memory of SLIDE, in copies of the output weights."""

from __future__ import annotations

import tracemalloc

from pyslide.bench.contenders import EngineContender
from pyslide.bench.shapes import Shape
from pyslide.data import Dataset
from pyslide.settings import Hashing


def peak_copies(data: Dataset, shape: Shape, hashing: Hashing, threads: int) -> float:
    """Return the largest memory of building, three steps and a rebuild, over that of the output weights.

    NumPy reports its arrays to `tracemalloc`; the data are not counted.
    """
    tracemalloc.start()
    try:
        contender = EngineContender(data, shape, hashing, threads)
        for _ in range(3):
            contender.step()
        contender.rebuild()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak / contender.trainer.network.layers[-1].weights.nbytes
