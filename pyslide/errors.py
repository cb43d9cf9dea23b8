"""One exception class for each kind of failure.

Every message says what was expected, what came and where.  The classes derive from the built-in exception
that a caller would expect (``ValueError``, ``TypeError``, ``ImportError``), so that code which knows nothing of
pyslide still catches them.
"""

from __future__ import annotations

from pathlib import Path


class PyslideError(Exception):
    """The base of every error that pyslide raises on purpose."""


class ShapeError(PyslideError, ValueError):
    """An array has the wrong number of dimensions or the wrong length."""


class DtypeError(PyslideError, TypeError):
    """An array holds the wrong type of number."""


class NonFiniteError(PyslideError, ValueError):
    """A value is NaN or infinite where only finite numbers make sense."""


class OutOfRangeError(PyslideError, ValueError):
    """An id, a size or a setting lies outside its range."""


class OrderError(PyslideError, ValueError):
    """Indices that must rise strictly do not (unsorted or repeated)."""


class ConventionError(PyslideError, ValueError):
    """A convention is not one of the known choices, or two choices exclude each other."""


class FormatError(PyslideError, ValueError):
    """A file does not have the promised format.

    Parameters
    ----------
    message : str
        What was expected and what came.
    path : str or Path, optional
        The file.
    line : int, optional
        The line, counted from 1.
    """

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None) -> None:
        self.path = None if path is None else str(path)
        self.line = line
        place = "" if path is None else f"{path}:" if line is None else f"{path}:{line}:"
        super().__init__(f"{place} {message}".strip())


class TruncatedFileError(FormatError):
    """A file ends before what its header promises."""


class CheckpointError(FormatError):
    """A checkpoint cannot be read: foreign file, other schema version, or a missing part."""


class MissingExtraError(PyslideError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed; "
            f"install the extra: python -m pip install 'pyslide-reference[{extra}]'"
        )
