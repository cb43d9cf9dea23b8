"""Sparse rows to text, and files that are either whole or not there."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pyslide.data.dataset import Dataset

_ROWS_AT_ONCE = 4096


@contextmanager
def written_aside(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when the block ends well.

    Parameters
    ----------
    path : Path
        Where the file shall be.  A name that ends in ``.gz`` is compressed, with no time and no name inside, so that
        the same content gives the same bytes.

    Yields
    ------
    binary stream
    """
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
        os.chmod(aside, _usual_mode())
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def _usual_mode() -> int:
    """The permissions that a plain ``open`` would give; a temporary file is private at first."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def text_rows(data: Dataset, first_feature: int = 0) -> Iterator[bytes]:
    """Write rows as ``label,label feature:value ...``, a few thousand lines at a time.

    Parameters
    ----------
    data : Dataset
        What to write.
    first_feature : int
        Added to every feature id.

    Yields
    ------
    bytes
        Whole lines.  Values are the shortest decimals that read back as the same float32.
    """
    for start in range(0, data.rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, data.rows)
        labels = _cells(data.labels, start, stop, 0, None)
        values = _decimals(_slice(data.features, start, stop)[1])
        features = _cells(data.features, start, stop, first_feature, values)
        lines = [f"{','.join(label)} {' '.join(feature)}" for label, feature in zip(labels, features, strict=True)]
        # A row with neither is a blank line; a row without labels begins with the blank.
        yield "".join(line.rstrip(" ") + "\n" for line in lines).encode("ascii")


def _slice(matrix: csr_array, start: int, stop: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    inside = slice(matrix.indptr[start], matrix.indptr[stop])
    return matrix.indices[inside], matrix.data[inside]


def _cells(matrix: csr_array, start: int, stop: int, first: int, values: list[str] | None) -> list[list[str]]:
    """The texts of the cells of each row."""
    indices, _ = _slice(matrix, start, stop)
    cells = [str(index) for index in (indices.astype(np.int64) + first).tolist()]
    if values is not None:
        cells = [f"{index}:{value}" for index, value in zip(cells, values, strict=True)]
    ends = (matrix.indptr[start : stop + 1] - matrix.indptr[start]).tolist()
    return [cells[begin:end] for begin, end in pairwise(ends)]


def _decimals(values: npt.NDArray[np.float32]) -> list[str]:
    """The shortest decimal of each value; each distinct value is spelled once (bit patterns keep -0.0 apart)."""
    patterns, inverse = np.unique(values.view(np.uint32), return_inverse=True)
    texts = [_decimal(value) for value in patterns.view(np.float32)]
    return [texts[index] for index in inverse.tolist()]


def _decimal(value: np.float32) -> str:
    text = str(value)
    # The reader rounds to float64 and then to float32.  Should the two roundings ever miss, 17 digits cannot.
    return text if np.float32(float(text)) == value else repr(float(value))
