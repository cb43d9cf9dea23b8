"""The third way in: files only.  Inputs are exported, computed elsewhere, and the answers checked.

``inputs.jsonl`` holds one ``run`` message a line, and ``answers.jsonl`` one reply a line, as `messages` has them: a
program that speaks JSON lines can be fed the file as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyslide.conformance.arrays_as_files import inlined
from pyslide.conformance.messages import line_of, read_object, read_reply, run_message
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.replies import Capabilities, HarnessError, Reply
from pyslide.conformance.vectors import Case
from pyslide.data.writing import written_aside
from pyslide.errors import FormatError

INPUTS, ANSWERS = "inputs.jsonl", "answers.jsonl"
"""The names of the two files."""


def export(cases: Iterable[Case], directory: Path) -> Path:
    """Write the inputs of cases, and nothing of what is expected; return the file's path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / INPUTS
    with written_aside(path) as stream:
        for case in cases:
            stream.write(line_of(run_message(case.id, case.operation, case.inputs)))
    return path


class FilesAdapter:
    """The answers in a directory.

    Parameters
    ----------
    directory : Path
    precision : str
        In which they were computed.
    """

    def __init__(self, directory: Path, precision: str = "float64") -> None:
        self.path = directory / ANSWERS
        self.precision = precision
        self.lines: dict[str, bytes] = {}

    def start(self) -> Capabilities:
        """Read the answers."""
        try:
            lines = self.path.read_bytes().splitlines()
        except OSError as fault:
            raise HarnessError(f"{self.path}: expected the answers, one JSON object a line: {fault}") from fault
        for number, line in enumerate(lines, start=1):
            if line.strip():
                self._keep(line, number)
        return Capabilities(str(self.path), tuple(OPERATIONS), precision=self.precision)

    def _keep(self, line: bytes, number: int) -> None:
        try:
            name = str(read_object(line).get("id"))
        except FormatError as fault:
            raise HarnessError(f"{self.path}:{number}: {fault}") from fault
        if name in self.lines:
            raise HarnessError(f"{self.path}:{number}: a second answer to {name}")
        self.lines[name] = line

    def run(self, case_id: str, operation: str, inputs: Mapping[str, Any]) -> Reply:
        """Return the answer to one case; one that is missing counts as skipped."""
        line = self.lines.get(case_id)
        if line is None:
            return Reply("skipped", message="no answer")
        try:
            reply = read_reply(read_object(line), case_id)
            return Reply(reply.status, inlined(reply.outputs), reply.error, reply.message)
        except FormatError as fault:
            return Reply("errored", message=str(fault))

    def stop(self) -> None:
        """Nothing is to be done."""
