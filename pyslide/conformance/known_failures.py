"""Failures that are known: a list of ids, each with a reason and perhaps a link.

The file is JSON: ``[{"id": "wta-codes-*", "reason": "...", "link": "https://..."}]``; an id may hold ``*``.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pyslide.conformance.plain import loads
from pyslide.errors import FormatError


class KnownFailure(NamedTuple):
    """Cases that are known to fail, and why."""

    id: str
    reason: str
    link: str = ""


def read_known_failures(path: Path) -> list[KnownFailure]:
    """Return the entries of a file.

    Raises
    ------
    FormatError
        If it is no list of entries, or an entry has no id or no reason.
    """
    entries = loads(path.read_bytes(), str(path))
    if not isinstance(entries, list):
        raise FormatError("expected a list of known failures", path)
    return [read_entry(entry, place, path) for place, entry in enumerate(entries)]


def read_entry(entry: object, place: int, path: Path) -> KnownFailure:
    """Return one entry."""
    if not isinstance(entry, dict) or not set(entry) <= set(KnownFailure._fields):
        raise FormatError(f"entry {place}: expected id, reason and perhaps link, got {entry!r}", path)
    texts = {name: value for name, value in entry.items() if isinstance(value, str) and value.strip()}
    if not {"id", "reason"} <= set(texts):
        raise FormatError(f"entry {place}: expected an id and a reason, got {entry!r}", path)
    return KnownFailure(**texts)


def find(known: Iterable[KnownFailure], case_id: str) -> KnownFailure | None:
    """Return the first entry that names a case."""
    return next((entry for entry in known if fnmatchcase(case_id, entry.id)), None)


def without_match(known: Iterable[KnownFailure], case_ids: Iterable[str]) -> list[KnownFailure]:
    """Return the entries that name no case at all: a vector's id that was mistyped."""
    ids = list(case_ids)
    return [entry for entry in known if not any(fnmatchcase(case_id, entry.id) for case_id in ids)]
