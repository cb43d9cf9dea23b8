"""The data set that comes with the package: functions of the Python standard library, and what they call.

``datasets/build_standard_library.py`` made it and ``datasets/README.md`` describes it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from pyslide.data.dataset import Dataset
from pyslide.data.extreme import read_extreme
from pyslide.errors import ConventionError, FormatError

_FOLDER = files("pyslide") / "shipped"
_DESCRIPTION = "standard_library.json"


def standard_library_description() -> dict[str, Any]:
    """What is recorded about the shipped data set.

    Returns
    -------
    dict
        How it was made, statistics of both halves, and the SHA-256 of every file.
    """
    return cast(dict[str, Any], json.loads((_FOLDER / _DESCRIPTION).read_text("utf-8")))


def load_standard_library(split: Literal["train", "test"]) -> Dataset:
    """Load one half of the shipped data set.

    A row is a function of the Python 3.11 standard library; its features are the words of its name, arguments and
    docstring; its labels are the names of what it calls.

    Parameters
    ----------
    split : "train" or "test"
        Which half.

    Returns
    -------
    Dataset
        With the names of labels and features.

    Raises
    ------
    ConventionError
        When the split is neither of the two.
    FormatError
        When a file is not the one that was shipped (its SHA-256 differs).
    """
    if split not in ("train", "test"):
        raise ConventionError(f"split must be 'train' or 'test', got {split!r}")
    rows = _read_rows(_verified(f"standard_library_{split}.txt.gz"))
    return Dataset(
        rows.features,
        rows.labels,
        label_names=_names("standard_library_labels.txt.gz"),
        feature_names=_names("standard_library_features.txt.gz"),
        name=f"standard-library-{split}",
    )


def _verified(name: str) -> bytes:
    """The bytes of a shipped file, checked against the recorded checksum."""
    content = (_FOLDER / name).read_bytes()
    expected = standard_library_description()["sha256"][name]
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise FormatError(f"expected the shipped file with SHA-256 {expected}, got {got}", name)
    return content


def _names(name: str) -> tuple[str, ...]:
    return tuple(gzip.decompress(_verified(name)).decode("utf-8").splitlines())


def _read_rows(content: bytes) -> Dataset:
    """Read rows from bytes: the reader takes a file, and a package may live in a zip archive."""
    handle, aside = tempfile.mkstemp(suffix=".gz")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        return read_extreme(aside)
    finally:
        Path(aside).unlink(missing_ok=True)
