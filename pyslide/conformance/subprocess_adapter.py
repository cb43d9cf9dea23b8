"""The second way in: a program in any language that speaks JSON lines on stdin and stdout."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyslide.conformance.arrays_as_files import inlined, outsourced
from pyslide.conformance.messages import (
    line_of,
    read_capabilities,
    read_object,
    read_reply,
    run_message,
    start_message,
)
from pyslide.conformance.process import EndedError, LineProcess, LineTimeoutError
from pyslide.conformance.replies import Capabilities, HarnessError, Reply
from pyslide.errors import FormatError

STARTING_SECONDS = 60.0
"""A harness may have to compile or to import something."""


class SubprocessAdapter:
    """An implementation behind a program.

    Parameters
    ----------
    command : sequence of str
    time_limit : float
        Seconds for one case; a program that takes longer is ended and started again.
    restarts : int
        How often it is started again before it counts as broken.
    """

    def __init__(self, command: Sequence[str], time_limit: float = 10.0, restarts: int = 25) -> None:
        self.command = list(command)
        self.time_limit = time_limit
        self.restarts = restarts
        self.process: LineProcess | None = None
        self.capabilities: Capabilities | None = None
        self.folder = tempfile.TemporaryDirectory(prefix="pyslide-verify-")

    def start(self) -> Capabilities:
        """Start the program and ask what it offers."""
        self.process = LineProcess(self.command)
        try:
            line = self.process.ask(line_of(start_message()), STARTING_SECONDS)
            self.capabilities = read_capabilities(read_object(line))
        except (LineTimeoutError, EndedError, FormatError) as fault:
            raise HarnessError(f"{self.command[0]}: did not start: {fault}") from fault
        return self.capabilities

    def run(self, case_id: str, operation: str, inputs: Mapping[str, Any]) -> Reply:
        """Ask for one case; a program that crashed, hung or talked nonsense is replaced by a new one."""
        if self.process is None:
            self._start_again()
        assert self.process is not None
        assert self.capabilities is not None
        if self.capabilities.npz:
            inputs = outsourced(inputs, Path(self.folder.name) / f"{case_id}.npz")
        try:
            line = self.process.ask(line_of(run_message(case_id, operation, inputs)), self.time_limit)
            reply = read_reply(read_object(line), case_id)
            return replace(reply, outputs=inlined(reply.outputs))
        except (LineTimeoutError, EndedError, FormatError) as fault:
            # A late or broken line would be taken for the reply to the next case.
            self._end()
            return Reply("errored", message=str(fault))

    def _start_again(self) -> None:
        if self.restarts == 0:
            raise HarnessError(f"{self.command[0]}: broke again and again")
        self.restarts -= 1
        self.start()

    def _end(self, seconds: float = 0.0) -> None:
        if self.process is not None:
            self.process.end(seconds)
            self.process = None

    def stop(self) -> None:
        """Ask the program to end, and end it."""
        if self.process is not None:
            self.process.say(line_of({"command": "stop"}))
        self._end(seconds=2.0)
        self.folder.cleanup()
