"""One function for both formats."""

from __future__ import annotations

from pathlib import Path

from pyslide.data.blocks import line_blocks
from pyslide.data.dataset import Dataset
from pyslide.data.extreme import parse_header, read_extreme
from pyslide.data.libsvm import read_libsvm
from pyslide.errors import FormatError

_HEADER_BYTES = 4096


def load(path: str | Path) -> Dataset:
    """Read a data file, in whichever of the two formats it is.

    Parameters
    ----------
    path : str or Path
        A plain or gzipped file.  A first line of three whole numbers is the header of the Extreme Classification
        Repository's format (no LibSVM line looks like it); anything else is read as multi-label LibSVM.

    Returns
    -------
    Dataset

    Raises
    ------
    FormatError, TruncatedFileError
        As :func:`pyslide.data.read_extreme` and :func:`pyslide.data.read_libsvm` do.
    """
    if next(iter(line_blocks(Path(path), _HEADER_BYTES)), None) is None:
        raise FormatError("expected rows, got an empty file", path)
    return read_libsvm(path) if file_sizes(path) is None else read_extreme(path)


def file_sizes(path: str | Path) -> tuple[int, int, int] | None:
    """What the header of a file promises, without reading the rest.

    Parameters
    ----------
    path : str or Path
        A plain or gzipped file.

    Returns
    -------
    (rows, features, labels) or None
        None when the first line is no header.
    """
    for _, block in line_blocks(Path(path), _HEADER_BYTES):
        return parse_header(block.partition(b"\n")[0])
    return None
