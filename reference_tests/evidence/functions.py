"""The functions that need evidence: all public ones of the spec and the engine."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType

import pyslide.engine
import pyslide.spec


def modules() -> Iterator[str]:
    """Yield the modules of both layers, in the order of their names."""
    for package in (pyslide.spec, pyslide.engine):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not found.ispkg:
                yield found.name


def public_functions() -> dict[str, FunctionType]:
    """Return every public function by its name without the package's, such as ``spec.keys.fold_key``."""
    return {
        f"{module.removeprefix('pyslide.')}.{name}": value
        for module in modules()
        for name, value in inspect.getmembers(importlib.import_module(module), inspect.isfunction)
        if value.__module__ == module and not name.startswith("_")
    }
