"""The closed JSON Schema of the vectors' files, made from the operations."""

from __future__ import annotations

from typing import Any

from pyslide import errors
from pyslide.conformance.flags import FLAGS
from pyslide.conformance.kinds import NUMBER, Schema, record_schema
from pyslide.conformance.operation import Operation
from pyslide.conformance.operations import OPERATIONS
from pyslide.conventions import PRESETS, QUESTIONS

VERSION = 1
"""The version of the format.  A member that is added, dropped or read otherwise makes a new one."""
ERRORS = sorted(
    name
    for name, member in vars(errors).items()
    if isinstance(member, type) and issubclass(member, errors.PyslideError)
)
"""The classes of refusals."""
STAGES: Schema = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {
        r"^(build|step)[0-9]+(\.[a-z][a-z0-9_]*)+$": {"anyOf": [{"type": "array"}, NUMBER.schema]}
    },
    "additionalProperties": False,
}
"""The outputs of a trace: stages by name."""


def closed(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these members and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def outcome_schemas(operation: Operation) -> list[Schema]:
    """Return what an outcome may be: outputs, or the class of an error."""
    outputs = record_schema(operation.outputs) if operation.outputs else STAGES
    return [{"outputs": outputs}, {"error": {"enum": ERRORS}}]


def answers_schema() -> Schema:
    """Return the schema of answers to questions."""
    answers: dict[str, Schema] = {question.field: {"enum": list(question.answers)} for question in QUESTIONS}
    return closed({**answers, "preset": {"enum": list(PRESETS)}}, optional=(*answers, "preset"))


def vector_schema(operation: Operation) -> Schema:
    """Return the schema of one vector."""
    common: dict[str, Schema] = {
        "id": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        "summary": {"type": "string"},
        "kind": {"enum": ["plain", "edge", "invalid"]},
        "flags": {"type": "array", "items": {"enum": list(FLAGS)}, "minItems": 1, "uniqueItems": True},
        "inputs": record_schema(operation.inputs),
    }
    outcomes = outcome_schemas(operation)
    answers: dict[str, Schema] = {"answers": {"type": "array", "items": {"$ref": "#/$defs/answers"}, "minItems": 1}}
    otherwise: Schema = {"type": "array", "items": {"anyOf": [closed({**answers, **each}) for each in outcomes]}}
    return {"anyOf": [closed({**common, **each, "otherwise": otherwise}, ("otherwise",)) for each in outcomes]}


def file_schema(operation: Operation) -> Schema:
    """Return the schema of one operation's file."""
    return closed(
        {
            "version": {"const": VERSION},
            "operation": {"const": operation.name},
            "section": {"type": "string"},
            "summary": {"type": "string"},
            "vectors": {"type": "array", "items": vector_schema(operation)},
        }
    )


def schema() -> dict[str, Any]:
    """Return the schema of every file of vectors; each operation's file is one of its definitions."""
    definitions = {operation.name: file_schema(operation) for operation in OPERATIONS.values()}
    conditions = [
        {
            "if": {"properties": {"operation": {"const": name}}},
            "then": {"$ref": f"#/$defs/{name}"},
        }
        for name in definitions
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Vectors of pyslide, version {VERSION}",
        "type": "object",
        "properties": {"operation": {"enum": list(OPERATIONS)}},
        "required": ["operation"],
        "allOf": conditions,
        "$defs": {"answers": answers_schema(), **definitions},
    }
