"""A function with a wrong result, wherever it has been imported to.

The code object of the function is replaced, so that every name bound to it calls the wrong variant.  What is wrong
depends on the result.  Of an array the last member is: numbers by a thousandth, integers by one, truth values turned.
Of a record or sequence the first member that can be wrong is, numbers before integers; a list without any is
shortened.  A function without a result (it refuses arguments, or changes them) does nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np
import scipy.sparse

RELATIVE = 1e-3
"""By how much numbers are off: more than any tolerance for rounding, less than any slip that people make."""
UNCHANGED = object()
"""For a result that cannot be wrong in itself, such as an empty array."""


def wrong_array(array: np.ndarray) -> Any:
    """Return an array of the same type in which the last member is another; one of no members gets one."""
    if array.size == 0:
        return np.zeros(1, dtype=array.dtype) if array.ndim == 1 else UNCHANGED
    if array.dtype.kind not in "biuf":
        return UNCHANGED
    other = array.copy()
    finite = np.flatnonzero(np.isfinite(other))
    if finite.size == 0:
        return UNCHANGED
    place = np.unravel_index(finite[-1], other.shape)
    other[place] = wrong_number(other[place])
    return other


def wrong_number(number: float | np.generic) -> Any:
    """Return another number of the same type."""
    if isinstance(number, bool | np.bool_):
        return not number
    if isinstance(number, int | np.integer):
        return number + type(number)(1)
    return number + type(number)(RELATIVE * max(1.0, abs(float(number))))


def first_wrong(parts: dict[Any, Any]) -> tuple[Any, Any] | None:
    """Return the name of the first part that can be wrong, numbers before integers, and its wrong value."""
    found = [(name, other) for name, part in parts.items() if (other := wrong(part)) is not UNCHANGED]
    found.sort(key=lambda pair: not holds_numbers(parts[pair[0]]))
    return found[0] if found else None


def holds_numbers(value: Any) -> bool:
    """Return whether a value is a float or an array of floats."""
    return isinstance(value, float | np.floating) or (
        isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.floating)
    )


def wrong_sequence(value: Any) -> Any:
    """Return a list or tuple in which the first member that can be wrong is, or that has a member less."""
    change = first_wrong(dict(enumerate(value)))
    if change is None:
        return type(value)(value[:-1]) if value and not hasattr(value, "_fields") else UNCHANGED
    parts = [change[1] if place == change[0] else part for place, part in enumerate(value)]
    return value._make(parts) if hasattr(value, "_make") else type(value)(parts)


def wrong_record(value: Any) -> Any:
    """Return a dataclass with one member wrong."""
    change = first_wrong({field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init})
    return UNCHANGED if change is None else dataclasses.replace(value, **{change[0]: change[1]})


def wrong_mapping(value: Mapping[Any, Any]) -> Any:
    """Return a mapping without its last member."""
    return dict(list(value.items())[:-1]) if value else UNCHANGED


def wrong(value: Any) -> Any:
    """Return a wrong variant of a result, or `UNCHANGED`."""
    if isinstance(value, np.ndarray):
        return wrong_array(value)
    if isinstance(value, bool | int | float | np.generic):
        return wrong_number(value)
    if scipy.sparse.issparse(value):
        other = value.copy()
        changed = wrong_array(other.data)
        if changed is UNCHANGED:
            return UNCHANGED
        other.data = changed
        return other
    if isinstance(value, GeneratorType):
        return iter(list(value)[:-1])
    if isinstance(value, list | tuple):
        return wrong_sequence(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return wrong_record(value)
    return wrong_mapping(value) if isinstance(value, Mapping) else UNCHANGED


@contextmanager
def replaced(function: FunctionType, behaviour: Callable[..., Any]) -> Iterator[None]:
    """Let every call of a function be ``behaviour(original, *arguments)`` for a while."""
    original = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__, original.__annotations__ = function.__kwdefaults__, function.__annotations__
    name = f"_evidence_{function.__name__}"
    function.__globals__[name] = (behaviour, original)
    scope: dict[str, Any] = {}
    # Its code must not have free variables, so that it finds what it needs among the function's globals.
    exec(f"def other(*a, **k):\n    behaviour, original = {name}\n    return behaviour(original, *a, **k)\n", scope)
    function.__code__ = scope["other"].__code__
    try:
        yield
    finally:
        function.__code__ = original.__code__
        del function.__globals__[name]


def with_wrong_result(original: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function and return something else; do not call it at all if it gives nothing."""
    if original.__annotations__.get("return") == "None":
        return None
    result = original(*arguments, **named)
    other = wrong(result)
    return result if other is UNCHANGED else other
