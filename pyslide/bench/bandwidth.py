"""How fast this machine moves memory, with as many threads as a step has."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from pyslide.arrays import FloatArray
from pyslide.engine.threads import Threads
from pyslide.engine.vectors import row_slices
from pyslide.randomness import draw_permutation, generators

ROWS = 2**19
"""Of an array that is far larger than any cache."""
WIDTH = 128
"""Numbers of a row: 512 bytes."""
CHUNK = 2**11
"""Rows that a thread takes at a time: 1 MiB, so that threads seldom wait for the interpreter's lock."""
REPETITIONS = 5


class Bandwidth(NamedTuple):
    """Bytes a second."""

    copy: float  # bytes read and bytes written by a large copy
    gather: float  # bytes of 512-byte rows read from scattered places, into memory that stays in the cache
    update: float  # bytes read and bytes written by w = w * c + g in place, chunk by chunk


def median_time(action: Callable[[], object]) -> float:
    """Return the median seconds of an action, after once that is not timed."""
    action()
    return float(np.median(timeit.repeat(action, timer=time.perf_counter, repeat=REPETITIONS, number=1)))


def measure_bandwidth(threads: int, rows: int = ROWS) -> Bandwidth:
    """Measure copying, gathering and updating in place.

    Parameters
    ----------
    threads : int
    rows : int
        Of 512 bytes; the default is 256 MiB an array.
    """
    source, target = np.ones((rows, WIDTH), dtype=np.float32), np.zeros((rows, WIDTH), dtype=np.float32)
    pieces = list(row_slices(rows, CHUNK))
    places = draw_permutation(generators(0, 1)[0], rows)
    for piece in pieces:
        places[piece].sort()  # as active sets are
    pool = Threads(threads)

    def copy(piece: slice) -> None:
        np.copyto(target[piece], source[piece])

    def gather(piece: slice) -> None:
        scratch: FloatArray = np.empty((CHUNK // 4, WIDTH), dtype=np.float32)
        own = places[piece]
        for part in row_slices(own.size, scratch.shape[0]):
            source.take(own[part], axis=0, out=scratch[: part.stop - part.start], mode="clip")

    def update(piece: slice) -> None:
        weights = target[piece]
        weights *= np.float32(0.999)
        weights += source[piece]

    try:
        spent = [median_time(partial(pool.map, action, pieces)) for action in (copy, gather, update)]
    finally:
        pool.close()
    size = source.nbytes
    return Bandwidth(2 * size / spent[0], size / spent[1], 3 * size / spent[2])
