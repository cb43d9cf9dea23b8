"""The JSON lines between us and a harness: one object a line, in UTF-8.

- We write ``{"command": "start", "version": 1}``; it writes ``{"version": 1, "name": ..., "operations": [...]}``, and
  if it likes ``language``, ``precision``, ``arrays``.
- We write ``{"command": "run", "id": ..., "operation": ..., "inputs": {...}}``; it writes
  ``{"id": ..., "outputs": {...}}``, or in place of outputs ``"refused": {"class": ..., "message": ...}``,
  ``"skipped": "why"`` or ``"errored": "what happened"``.
- We write ``{"command": "stop"}``; it writes nothing and ends.

Blank lines are not read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.plain import loads, plain
from pyslide.conformance.replies import Capabilities, HarnessError, Reply
from pyslide.conformance.schema import VERSION
from pyslide.errors import FormatError

PRECISIONS = ("float64", "float32")
"""In which an implementation may compute."""


def line_of(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line."""
    return json.dumps(plain(dict(message)), allow_nan=False).encode() + b"\n"


def start_message() -> dict[str, Any]:
    """Return the first message."""
    return {"command": "start", "version": VERSION}


def run_message(case_id: str, operation: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message that asks for one case."""
    return {"command": "run", "id": case_id, "operation": operation, "inputs": dict(inputs)}


def read_object(line: bytes) -> dict[str, Any]:
    """Return the object of a line.

    Raises
    ------
    FormatError
        If it is none.
    """
    try:
        message = loads(line, "the harness's line")
    except FormatError as fault:
        raise FormatError(f"{fault}; it begins {line[:80]!r}") from fault
    if not isinstance(message, dict):
        raise FormatError(f"expected a JSON object, got {line[:80]!r}")
    return message


def read_capabilities(message: Mapping[str, Any]) -> Capabilities:
    """Return what a harness says of itself.

    Raises
    ------
    HarnessError
        If it speaks another version, or names operations that do not exist.
    """
    if message.get("version") != VERSION:
        raise HarnessError(f"expected a harness of version {VERSION}, got {message.get('version')!r}")
    operations = message.get("operations")
    if not isinstance(operations, list) or not all(isinstance(name, str) for name in operations):
        raise HarnessError(f"operations: expected a list of names, got {operations!r}")
    unknown = [name for name in operations if name not in EVERY_OPERATION]
    if unknown:
        raise HarnessError(f"operations: no such operation: {', '.join(unknown)}")
    precision = message.get("precision", "float64")
    if precision not in PRECISIONS:
        raise HarnessError(f"precision: expected one of {', '.join(PRECISIONS)}; got {precision!r}")
    name, language = str(message.get("name", "nameless")), str(message.get("language", ""))
    return Capabilities(name, tuple(operations), language, precision, message.get("arrays") == "npz")


def read_reply(message: Mapping[str, Any], case_id: str) -> Reply:
    """Return the reply that a message holds.

    Raises
    ------
    FormatError
        If it is a reply to another case, or none.
    """
    if message.get("id") != case_id:
        raise FormatError(f"expected a reply to {case_id}, got one to {message.get('id')!r}")
    present = [name for name in ("outputs", "refused", "skipped", "errored") if name in message]
    if len(present) != 1:
        raise FormatError(f"expected one of outputs, refused, skipped, errored; got {present}")
    content = message[present[0]]
    if present[0] == "outputs":
        if not isinstance(content, dict):
            raise FormatError(f"outputs: expected an object, got {type(content).__name__}")
        return Reply("outputs", content)
    if present[0] == "refused":
        parts = content if isinstance(content, dict) else {"message": content}
        error = parts.get("class")
        return Reply("refused", error=None if error is None else str(error), message=str(parts.get("message", "")))
    return Reply(present[0], message=str(content))


def reply_message(case_id: str, reply: Reply) -> dict[str, Any]:
    """Return the message that holds a reply."""
    contents: dict[str, Any] = {
        "outputs": dict(reply.outputs),
        "refused": {"class": reply.error, "message": reply.message},
        "skipped": reply.message,
        "errored": reply.message,
    }
    return {"id": case_id, reply.status: contents[reply.status]}
