"""A Python implementation behind JSON lines: ``python -m pyslide.conformance.serve module:Class``.

It is the harness of our own layers, and an example for others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

from pyslide.conformance.arrays_as_files import inlined
from pyslide.conformance.messages import line_of, read_object, reply_message
from pyslide.conformance.python_adapter import PythonAdapter, imported
from pyslide.conformance.schema import VERSION


def serve(implementation: Any, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until one says stop, or they end."""
    adapter = PythonAdapter(implementation)
    for line in requests:
        if not line.strip():
            continue
        message = read_object(line)
        if message["command"] == "stop":
            return
        replies.write(line_of(answer(adapter, message)))
        replies.flush()


def answer(adapter: PythonAdapter, message: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a start or run message."""
    if message["command"] == "start":
        capabilities = adapter.start()
        return {
            "version": VERSION,
            "name": capabilities.name,
            "language": capabilities.language,
            "operations": list(capabilities.operations),
            "precision": capabilities.precision,
            "arrays": "npz" if getattr(adapter.implementation, "npz", False) else "inline",
        }
    reply = adapter.run(message["id"], message["operation"], inlined(message["inputs"]))
    return reply_message(message["id"], reply)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the class named on the command line."""
    names = list(sys.argv[1:] if arguments is None else arguments)
    if len(names) != 1:
        print("usage: python -m pyslide.conformance.serve module:Class", file=sys.stderr)
        return 2
    serve(imported(names[0]), sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
