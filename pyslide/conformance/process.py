"""A program that we exchange lines with, and that we end whatever it does."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress

from pyslide.conformance.replies import HarnessError

LONGEST_LINE = 2**26
"""Bytes of a line; a program that writes more without an end of line is ended."""
PIECE = 2**16
"""Bytes read or written at a time."""


class LineTimeoutError(Exception):
    """No line came in time."""


class EndedError(Exception):
    """The program ended, or closed its output."""


class LineProcess:
    """A running program, in a process group of its own so that its children end with it.

    Parameters
    ----------
    command : sequence of str

    Raises
    ------
    HarnessError
        If it cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        try:
            self.process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as fault:
            self.errors.close()
            raise HarnessError(f"{command[0]}: cannot be started: {fault}") from fault
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        os.set_blocking(self.stdin.fileno(), False)
        self.pending = b""

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Write a line and return the next one that is not blank.

        Raises
        ------
        LineTimeoutError
        EndedError
        """
        deadline = time.monotonic() + seconds
        unwritten = memoryview(line)
        while True:
            answer = self._complete_line()
            if answer is not None:
                return answer
            writing = [self.stdin] if unwritten else []
            left = deadline - time.monotonic()
            readable, writable, _ = select.select([self.stdout], writing, [], max(0.0, left))
            if not readable and not writable:
                raise LineTimeoutError(f"no reply within {seconds:g} s")
            if writable:
                unwritten = unwritten[self._write(unwritten[:PIECE]) :]
            if readable:
                self._read()

    def _complete_line(self) -> bytes | None:
        while b"\n" in self.pending:
            line, self.pending = self.pending.split(b"\n", 1)
            if line.strip():
                return line
        if len(self.pending) > LONGEST_LINE:
            raise EndedError(f"a line of more than {LONGEST_LINE} bytes")
        return None

    def _write(self, piece: memoryview) -> int:
        try:
            return os.write(self.stdin.fileno(), piece)
        except BlockingIOError:
            return 0
        except BrokenPipeError as fault:
            raise EndedError(self.how_it_ended()) from fault

    def _read(self) -> None:
        piece = os.read(self.stdout.fileno(), PIECE)
        if not piece:
            raise EndedError(self.how_it_ended())
        self.pending += piece

    def how_it_ended(self) -> str:
        """Return the exit code or signal, and the end of what it wrote to stderr."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        code = self.process.returncode
        if code is None:
            how = "it closed its output"
        else:
            how = f"it ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        return f"{how}{self.last_words()}"

    def last_words(self) -> str:
        """Return the end of stderr, for a message."""
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - 500))
        words = self.errors.read().decode(errors="replace").strip()
        return f"; stderr: {words}" if words else ""

    def say(self, line: bytes) -> None:
        """Write a line to which no reply is expected, if the program still listens."""
        with suppress(OSError):
            os.write(self.stdin.fileno(), line)

    def end(self, seconds: float = 0.0) -> None:
        """End the program and its children; it has so many seconds to end by itself."""
        with suppress(OSError):
            self.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=seconds)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # its number is its group's, too
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)
        self.stdout.close()
        self.errors.close()
