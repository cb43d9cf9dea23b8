"""Long arrays by the path of an .npz file, in place of inline numbers."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pyslide.conformance.plain import SPECIAL, plain
from pyslide.errors import FormatError

LONG = 64
"""Arrays of at least so many numbers go to a file."""


def as_array(value: Any) -> np.ndarray | None:
    """Return a little-endian array of integers or floats, or None for anything else."""
    try:
        array = np.array(numbers_of(value))
    except (ValueError, OverflowError):  # rows of different lengths
        return None
    kinds = {"i": "<i8", "f": "<f8", "b": "|b1"}
    return array.astype(kinds[array.dtype.kind]) if array.dtype.kind in kinds and array.size >= LONG else None


def numbers_of(value: Any) -> Any:
    """Return nested lists with "NaN" and its like as numbers."""
    if isinstance(value, list):
        return [numbers_of(part) for part in value]
    return SPECIAL.get(value, value) if isinstance(value, str) else value


def outsourced(inputs: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return inputs whose long arrays stand in a file, as ``{"npz": path, "array": name}``."""
    arrays = {name: as_array(value) for name, value in inputs.items() if isinstance(value, list)}
    long = {name: array for name, array in arrays.items() if array is not None}
    if not long:
        return dict(inputs)
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **long)
    return {name: {"npz": str(path), "array": name} if name in long else value for name, value in inputs.items()}


def inlined(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return outputs with every array inline.

    Raises
    ------
    FormatError
        If a file cannot be read, or lacks the array.
    """
    return {name: read(value) if is_reference(value) else value for name, value in outputs.items()}


def is_reference(value: Any) -> bool:
    """Return whether a value points to a file."""
    return isinstance(value, dict) and set(value) == {"npz", "array"}


def read(reference: Mapping[str, str]) -> Any:
    """Return the array that a reference points to, as nested lists."""
    path, name = str(reference["npz"]), str(reference["array"])
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return plain(arrays[name])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as fault:
        raise FormatError(f"array {name}: cannot be read: {fault}", path) from fault
