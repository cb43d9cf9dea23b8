"""The kinds of values that operations take and give: how each stands in JSON, and how it is read.

A kind knows three things: its JSON Schema, a line of description, and how to turn JSON into what `pyslide.spec`
takes.  Records and lists of kinds are kinds, so that a whole network is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyslide.conformance.plain import SPECIAL
from pyslide.errors import DtypeError, FormatError, OutOfRangeError, ShapeError

Schema = dict[str, Any]
"""A JSON Schema."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of value.

    Attributes
    ----------
    text : str
        What it is, in a few words.
    schema : dict
        Its JSON Schema.
    decode : callable
        From JSON and the value's name (for messages) to what the spec takes.
    """

    text: str
    schema: Schema
    decode: Callable[[Any, str], Any]


@dataclass(frozen=True, eq=False)
class Field:
    """A named value of an operation.

    Attributes
    ----------
    name : str
    kind : Kind
    meaning : str
        Shape and sense, for the format pages.
    """

    name: str
    kind: Kind
    meaning: str


def read_integer(value: Any, name: str) -> int:
    """Return an integer; 3.0 is not one.

    Raises
    ------
    DtypeError
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise DtypeError(f"{name}: expected an integer, got {value!r}")
    return value


def read_number(value: Any, name: str) -> float:
    """Return a float, "NaN" and "Infinity" included.

    Raises
    ------
    DtypeError
    """
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DtypeError(f"{name}: expected a number, got {value!r}")
    return float(value)


def read_truth(value: Any, name: str) -> bool:
    """Return a truth value.

    Raises
    ------
    DtypeError
    """
    if not isinstance(value, bool):
        raise DtypeError(f"{name}: expected true or false, got {value!r}")
    return value


def read_text(value: Any, name: str) -> str:
    """Return a text.

    Raises
    ------
    DtypeError
    """
    if not isinstance(value, str):
        raise DtypeError(f"{name}: expected a text, got {value!r}")
    return value


def read_word(value: Any, name: str) -> int:
    """Return an integer of 0..2^64-1 from its decimal string.

    Raises
    ------
    DtypeError, OutOfRangeError
    """
    if not (isinstance(value, str) and value.isascii() and value.isdigit()):
        raise DtypeError(f"{name}: expected an integer as a decimal string, got {value!r}")
    if int(value) >= 2**64:
        raise OutOfRangeError(f"{name}: expected below 2^64, got {value}")
    return int(value)


def read_list(value: Any, name: str) -> list[Any]:
    """Return a list.

    Raises
    ------
    DtypeError
    """
    if not isinstance(value, list):
        raise DtypeError(f"{name}: expected a list, got {type(value).__name__}")
    return value


def list_of(kind: Kind, text: str) -> Kind:
    """Return the kind of a list whose members are of one kind."""

    def decode(value: Any, name: str) -> list[Any]:
        return [kind.decode(part, f"{name}[{place}]") for place, part in enumerate(read_list(value, name))]

    return Kind(text, {"type": "array", "items": kind.schema}, decode)


def array_of(kind: Kind, dtype: type, text: str) -> Kind:
    """Return the kind of a one-dimensional array."""
    members = list_of(kind, text)

    def decode(value: Any, name: str) -> Any:
        return np.array(members.decode(value, name), dtype=dtype)

    return Kind(text, members.schema, decode)


def matrix_of(row: Kind, dtype: type, text: str) -> Kind:
    """Return the kind of a two-dimensional array, a list of its rows."""
    rows = list_of(row, text)

    def decode(value: Any, name: str) -> Any:
        decoded = rows.decode(value, name)
        width = len(decoded[0]) if decoded else 0
        for place, one in enumerate(decoded):
            if len(one) != width:
                raise ShapeError(f"{name}: expected rows of {width}, got {len(one)} in row {place}")
        return np.array(decoded, dtype=dtype).reshape(len(decoded), width)

    return Kind(text, rows.schema, decode)


def nullable(kind: Kind) -> Kind:
    """Return the kind of a value that may be null."""
    return Kind(
        f"{kind.text}, or null",
        {"anyOf": [kind.schema, {"type": "null"}]},
        lambda value, name: None if value is None else kind.decode(value, name),
    )


def record_of(fields: tuple[Field, ...], text: str) -> Kind:
    """Return the kind of a closed object with these members."""

    def decode(value: Any, name: str) -> dict[str, Any]:
        return decode_fields(fields, value, name)

    return Kind(text, record_schema(fields), decode)


def record_schema(fields: tuple[Field, ...]) -> Schema:
    """Return the closed schema of an object with all of these members."""
    return {
        "type": "object",
        "properties": {field.name: field.kind.schema for field in fields},
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def decode_fields(fields: tuple[Field, ...], values: Any, name: str) -> dict[str, Any]:
    """Return the members of an object as the spec takes them.

    Raises
    ------
    FormatError
        If a member is missing or unknown.
    DtypeError, ShapeError, OutOfRangeError
        If one is of another kind.
    """
    if not isinstance(values, Mapping):
        raise DtypeError(f"{name}: expected an object, got {type(values).__name__}")
    wanted = {field.name for field in fields}
    if wanted != set(values):
        missing, unknown = sorted(wanted - set(values)), sorted(set(values) - wanted)
        raise FormatError(f"{name}: missing members {missing}, unknown members {unknown}")
    return {field.name: field.kind.decode(values[field.name], f"{name}.{field.name}") for field in fields}


INTEGER = Kind("an integer", {"type": "integer"}, read_integer)
"""A small integer: an id, a count, a key of a table."""
NUMBER = Kind(
    'a float64; "NaN", "Infinity" or "-Infinity" where JSON has no number',
    {"anyOf": [{"type": "number"}, {"enum": list(SPECIAL)}]},
    read_number,
)
"""A real number."""
TRUTH = Kind("true or false", {"type": "boolean"}, read_truth)
"""A truth value."""
TEXT = Kind("a text", {"type": "string"}, read_text)
"""A name."""
WORD = Kind("an integer of 0..2^64-1 as a decimal string", {"type": "string", "pattern": "^[0-9]{1,20}$"}, read_word)
"""An unsigned integer of 64 bits."""
INTEGERS = array_of(INTEGER, np.int64, "integers")
"""A list of integers."""
NUMBERS = array_of(NUMBER, np.float64, "float64 numbers")
"""A list of real numbers."""
TRUTHS = array_of(TRUTH, np.bool_, "truth values")
"""A list of truth values."""
WORDS = array_of(WORD, np.uint64, "integers of 0..2^64-1 as decimal strings")
"""A list of unsigned integers of 64 bits."""
INTEGER_ROWS = matrix_of(INTEGERS, np.int64, "a matrix of integers, a list of its rows")
"""A matrix of integers."""
NUMBER_ROWS = matrix_of(NUMBERS, np.float64, "a matrix of float64 numbers, a list of its rows")
"""A matrix of real numbers."""
BUCKETS = list_of(INTEGERS, "lists of neuron ids")
"""Rows of different lengths."""


def choice_of(*names: str) -> Kind:
    """Return the kind of one of several names."""

    def decode(value: Any, name: str) -> str:
        if value not in names:
            raise OutOfRangeError(f"{name}: expected one of {', '.join(names)}; got {value!r}")
        return str(value)

    return Kind(" or ".join(f'"{name}"' for name in names), {"enum": list(names)}, decode)
