"""What an implementation under test is asked, and what it may reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyslide.errors import PyslideError


class HarnessError(PyslideError):
    """The implementation cannot be reached: its harness does not start, or broke again and again."""


class Skipped(Exception):
    """Raised by a Python implementation that does not offer what a case asks for."""


@dataclass(frozen=True)
class Capabilities:
    """What an implementation says of itself.

    Attributes
    ----------
    name, language : str
    operations : tuple of str
        Which it offers; others are not asked.
    precision : {"float64", "float32"}
        In which it computes.
    npz : bool
        Whether it wants long arrays as files.
    """

    name: str
    operations: tuple[str, ...]
    language: str = ""
    precision: str = "float64"
    npz: bool = False


@dataclass(frozen=True, eq=False)
class Reply:
    """The reply to one case.

    Attributes
    ----------
    status : {"outputs", "refused", "skipped", "errored"}
    outputs : mapping
        Plain JSON by name.
    error : str, optional
        The class of a refusal, if the implementation has classes.
    message : str
    """

    status: str
    outputs: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    message: str = ""


class Adapter(Protocol):
    """A way to an implementation."""

    def start(self) -> Capabilities:
        """Reach the implementation.

        Raises
        ------
        HarnessError
        """

    def run(self, case_id: str, operation: str, inputs: Mapping[str, Any]) -> Reply:
        """Return its reply to one case.

        Raises
        ------
        HarnessError
            If it cannot be reached any more.
        """

    def stop(self) -> None:
        """Let it go; never fails."""
