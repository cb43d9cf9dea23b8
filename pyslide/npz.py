"""Files of arrays, read without pickle."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyslide.errors import FormatError


def read_arrays(path: str | Path, error: type[FormatError]) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays of an ``.npz`` file.

    Parameters
    ----------
    path : str or Path
    error : subclass of FormatError
        What is raised for a file that is no whole ``.npz``.

    Raises
    ------
    FormatError
        If the file is something else, truncated or damaged.
    FileNotFoundError
        If there is no such file.
    """
    with Path(path).open("rb") as stream:  # numpy would leave a file open that turns out to be damaged
        try:
            with np.load(stream, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, AttributeError, TypeError) as fault:
            raise error(f"expected a whole .npz file of arrays, got {fault}", path) from fault
