"""Cells on disk: a finished one is a small file, named by a digest of all that determines it.

A file is written aside and renamed, so that it is whole or not there, and it holds what its digest was made of, so that
it is never taken for another's.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy

import pyslide
from pyslide import __version__
from pyslide.data.writing import written_aside
from pyslide.experiments.experiment import Data, Experiment, Row, Settings
from pyslide.experiments.machine import machine

Identity = dict[str, Any]
"""What determines a cell, as plain values."""


def plain(value: Any) -> Any:
    """Return a dataclass or a number of NumPy as what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"expected plain values and dataclasses of them, got {type(value).__name__}")


def text_of(value: Any) -> str:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=plain)


def code_digest() -> str:
    """Return a digest of the package's source: what another engine measured is not measured now."""
    root = Path(pyslide.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def identity_of(experiment: Experiment, settings: Settings, data_digest: str, code: str) -> Identity:
    """Return what determines a cell: its settings, the data, what measures it, and the code of this package.

    ``code`` is what `code_digest` gives.
    """
    measure = experiment.measure
    determined = {
        "experiment": experiment.name,
        "measure": f"{measure.__module__}.{measure.__qualname__}",
        "settings": settings,
        "data": data_digest if experiment.uses_data else "",
        "pyslide": __version__,
        "code": code,
    }
    return dict(json.loads(text_of(determined)))


def path_of(folder: Path, identity: Identity) -> Path:
    """Return the file of a cell."""
    digest = hashlib.sha256(text_of(identity).encode()).hexdigest()
    return folder / f"{identity['experiment']}-{digest[:24]}.json"


def environment() -> dict[str, Any]:
    """Return with what is measured: versions, the number of processors, which ones, and the BLAS with its threads."""
    return {
        "pyslide": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "joblib": joblib.__version__,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        **machine(),
    }


def read_cell(path: Path, identity: Identity) -> dict[str, Any] | None:
    """Return a finished cell; None if it is not there, or cannot be used, of which a warning tells."""
    if not path.exists():
        return None
    try:
        cell = json.loads(path.read_text(encoding="utf-8"))
        if cell["identity"] != identity:
            raise ValueError("it is of other settings")
        if not (isinstance(cell["rows"], list) and all(isinstance(row, dict) for row in cell["rows"])):
            raise ValueError("expected rows")
        return {"rows": cell["rows"], "environment": dict(cell["environment"])}
    except (ValueError, KeyError, TypeError) as fault:  # of which a file that is no JSON and no UTF-8 is one
        warnings.warn(f"{path}: expected a finished cell, got {fault!r}; it is measured again", stacklevel=2)
        return None


def finish_cell(
    measure: Callable[..., list[Row]], data: Data, settings: Settings, identity: Identity, path: Path
) -> dict[str, Any]:
    """Measure a cell, write it down, and return it as it would be read."""
    started = time.perf_counter()
    rows = measure(data, **settings)
    seconds = time.perf_counter() - started
    cell = {"identity": identity, "environment": environment(), "seconds": seconds, "rows": rows}
    text = json.dumps(cell, indent=1, default=plain)
    with written_aside(path) as stream:
        stream.write(text.encode())
    finished = json.loads(text)
    return {"rows": finished["rows"], "environment": finished["environment"]}
