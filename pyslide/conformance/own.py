"""Our own two layers as implementations under test: the kit has to pass both, and both have to pass the kit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conventions import PAPER, Conventions


class Specification:
    """``pyslide.spec`` as an implementation: every operation, under given conventions."""

    def __init__(self, conventions: Conventions = PAPER) -> None:
        self.name = "pyslide.spec"
        self.conventions = conventions

    def __getattr__(self, name: str) -> Callable[..., Mapping[str, Any]]:
        """Return the operation of a name."""
        if name not in EVERY_OPERATION:
            raise AttributeError(name)
        return partial(self._run, name)

    def _run(self, operation: str, **given: Any) -> Mapping[str, Any]:
        return EVERY_OPERATION[operation].compute(given, self.conventions)
