"""Numbers and arrays as plain JSON, and JSON as text that a person can read.

Decimals are the shortest that read back as the same float64; what JSON cannot say is spelled "NaN", "Infinity" and
"-Infinity"; integers of 64 bits are decimal strings, since many readers keep only 53.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from pyslide.errors import FormatError

WIDTH = 110
"""Columns of a line of text."""
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The numbers that JSON has no word for."""


def plain_number(value: float) -> float | str:
    """Return a float as JSON can hold it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def plain(value: Any) -> Any:
    """Return arrays, tuples and NumPy's scalars as lists and Python's numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return plain_number(value) if isinstance(value, float) else value


def dumps(value: Any) -> str:
    """Return plain JSON as text: one line for what is short, else one line a member, numbers in filled lines."""
    return _text(plain(value), "") + "\n"


def _text(value: Any, indent: str) -> str:
    line = json.dumps(value, allow_nan=False, ensure_ascii=False)
    if len(indent) + len(line) <= WIDTH or not isinstance(value, dict | list):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_text(part, inner)}" for name, part in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + "\n" + indent + "}"
    if any(isinstance(part, dict | list) for part in value):
        return "[\n" + ",\n".join(inner + _text(part, inner) for part in value) + "\n" + indent + "]"
    return "[" + _filled([json.dumps(part, allow_nan=False) for part in value], inner) + "]"


def _filled(parts: list[str], indent: str) -> str:
    lines: list[str] = []
    for part in parts:
        if lines and len(indent) + len(lines[-1]) + len(part) + 3 <= WIDTH:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return (",\n" + indent).join(lines)


def _refuse_constant(name: str) -> float:
    raise FormatError(f'JSON: expected "{name}" in quotes, got it bare')


def loads(text: str | bytes, origin: str) -> Any:
    """Return the JSON of a text.

    Parameters
    ----------
    text : str or bytes
    origin : str
        Where it comes from, for the message.

    Raises
    ------
    FormatError
        If it is no JSON, or not in UTF-8.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as fault:
        raise FormatError(f"expected JSON: {fault}", origin) from fault
