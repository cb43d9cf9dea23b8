"""The first way in: a Python class with methods that are named like our operations.

A method takes an operation's inputs as keyword arguments (NumPy arrays, integers, floats, lists of arrays) and returns
its outputs as a mapping, or the primary output alone.  It refuses inputs by raising one of `pyslide.errors`, or any
``ValueError``, ``TypeError`` or ``IndexError``; it raises ``NotImplementedError`` or `Skipped` for what it does not
offer.  Any other exception is an error of the implementation.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from pyslide.conformance.comparing import UNITS
from pyslide.conformance.kinds import decode_fields
from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.plain import plain
from pyslide.conformance.replies import Capabilities, HarnessError, Reply, Skipped
from pyslide.conformance.schema import ERRORS
from pyslide.errors import PyslideError

REFUSALS = (PyslideError, ValueError, TypeError, IndexError, OverflowError)
"""What an implementation raises to refuse its inputs."""


class Implementation(Protocol):
    """A Python implementation: any subset of the operations, here one of them as an example.

    It may have the attributes ``name``, and ``precision`` with "float64" or "float32".
    """

    def wta_codes(self, *, dimension: int, indices: Any, values: Any, bins: Any) -> Mapping[str, Any] | Any:
        """Return ``{"codes": array}``, or the array."""


def class_of_error(refusal: BaseException) -> str | None:
    """Return the class of a refusal, if it is one of ours."""
    return next((base.__name__ for base in type(refusal).__mro__ if base.__name__ in ERRORS), None)


class PythonAdapter:
    """An implementation in this process.

    Parameters
    ----------
    implementation : object
        With methods that are named like our operations.
    """

    def __init__(self, implementation: Any) -> None:
        self.implementation = implementation

    def start(self) -> Capabilities:
        """Return which methods there are."""
        offered = tuple(name for name in EVERY_OPERATION if callable(getattr(self.implementation, name, None)))
        if not offered:
            raise HarnessError(
                f"{type(self.implementation).__name__}: expected methods named like our operations "
                f"({', '.join(list(EVERY_OPERATION)[:4])}, ...), found none"
            )
        name = getattr(self.implementation, "name", type(self.implementation).__name__)
        precision = getattr(self.implementation, "precision", "float64")
        if precision not in UNITS:
            raise HarnessError(f"precision: expected one of {', '.join(UNITS)}; got {precision!r}")
        return Capabilities(str(name), offered, "Python", str(precision))

    def run(self, case_id: str, operation: str, inputs: Mapping[str, Any]) -> Reply:
        """Call a method."""
        try:
            given = decode_fields(EVERY_OPERATION[operation].inputs, inputs, operation)
        except PyslideError as fault:  # rows of different lengths, which no array can have
            return Reply("skipped", message=f"no arrays can hold these inputs: {fault}")
        try:
            answer = getattr(self.implementation, operation)(**given)
        except (Skipped, NotImplementedError) as reason:
            return Reply("skipped", message=str(reason) or "not implemented")
        except REFUSALS as refusal:
            return Reply("refused", error=class_of_error(refusal), message=f"{type(refusal).__name__}: {refusal}")
        except Exception as fault:
            return Reply("errored", message=f"{type(fault).__name__}: {fault}")
        outputs = answer if isinstance(answer, Mapping) else {EVERY_OPERATION[operation].primary: answer}
        try:
            return Reply("outputs", json.loads(json.dumps(plain(dict(outputs)))))
        except (TypeError, ValueError) as fault:
            return Reply("errored", message=f"expected numbers, lists and texts as outputs: {fault}")

    def stop(self) -> None:
        """Nothing is to be done."""


def imported(place: str) -> Any:
    """Return an instance of the class at ``module:Class``, searched in the working directory, too.

    Raises
    ------
    HarnessError
        If there is none, or it cannot be made without arguments.
    """
    module, colon, name = place.partition(":")
    if not colon:
        raise HarnessError(f"expected module:Class, got {place!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)()
    except Exception as fault:
        raise HarnessError(f"{place}: {type(fault).__name__}: {fault}") from fault
