"""The vectors as files: one JSON file an operation, beside the schema and the dictionary of flags.

Filling the files again gives the same bytes.  The last digit of exp, log and power differs between processors, so a
number that a file already has stays as long as the new one agrees with it to `AGREEMENT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyslide.conformance.cases import all_cases
from pyslide.conformance.flags import FLAGS
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.plain import dumps, loads
from pyslide.conformance.schema import VERSION, schema
from pyslide.conformance.vectors import Case, Otherwise, Outcome, Vector, fill
from pyslide.data.writing import written_aside
from pyslide.errors import FormatError, PyslideError

AGREEMENT = 1e-11
"""Relative to a number: what a trace's few hundred operations in float64 can differ by between processors."""


def as_dict(vector: Vector) -> dict[str, Any]:
    """Return a vector as its file has it."""
    case = vector.case
    written: dict[str, Any] = {
        "id": case.id,
        "summary": case.summary,
        "kind": case.kind,
        "flags": list(case.flags),
        "inputs": dict(case.inputs),
        **vector.paper.as_dict(),
    }
    if vector.otherwise:
        written["otherwise"] = [
            {"answers": list(other.answers), **other.outcome.as_dict()} for other in vector.otherwise
        ]
    return written


def read_outcome(written: Mapping[str, Any]) -> Outcome:
    """Return the outcome that a file has."""
    return Outcome(written.get("outputs"), written.get("error"))


def from_dict(written: Mapping[str, Any], operation: str) -> Vector:
    """Return the vector that `as_dict` wrote."""
    case = Case(written["id"], operation, written["summary"], tuple(written["flags"]), written["inputs"])
    otherwise = tuple(
        Otherwise(tuple(other["answers"]), read_outcome(other)) for other in written.get("otherwise", ())
    )
    return Vector(case, read_outcome(written), otherwise)


def settled(new: Any, old: Any) -> Any:
    """Return new plain JSON with the old numbers where the two agree."""
    if isinstance(new, dict) and isinstance(old, dict):
        return {name: settled(part, old.get(name)) for name, part in new.items()}
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return [settled(part, before) for part, before in zip(new, old, strict=True)]
    if isinstance(new, float) and isinstance(old, float) and abs(new - old) <= AGREEMENT * abs(old):
        return old
    return new


def computed(cases: Iterable[Case] | None = None) -> list[Vector]:
    """Return the vectors of cases, all unless given, as they are computed here and now."""
    return [fill(case) for case in (all_cases() if cases is None else cases)]


def files(vectors: Iterable[Vector]) -> Iterator[tuple[str, Any]]:
    """Yield every file's name and content."""
    yield "schema.json", schema()
    yield "flags.json", {name: flag._asdict() for name, flag in FLAGS.items()}
    vectors = list(vectors)
    for operation in OPERATIONS.values():
        members = [as_dict(vector) for vector in vectors if vector.case.operation == operation.name]
        yield f"{operation.name}.json", {
            "version": VERSION,
            "operation": operation.name,
            "section": operation.section,
            "summary": operation.summary,
            "vectors": members,
        }


def by_id(content: Any) -> Any:
    """Return a file's content with its vectors by id, so that a new one does not shift the others."""
    if isinstance(content, dict) and "vectors" in content:
        return {**content, "vectors": {vector["id"]: vector for vector in content["vectors"]}}
    return content


def settled_file(new: Any, path: Path) -> Any:
    """Return a file's new content with the old numbers where they agree."""
    if not path.exists():
        return new
    content = settled(by_id(new), by_id(loads(path.read_bytes(), str(path))))
    if "vectors" in new:
        content["vectors"] = list(content["vectors"].values())
    return content


def fill_files(directory: Path) -> list[Path]:
    """Write all vectors, and return the files that changed.

    Parameters
    ----------
    directory : Path
        Made if it does not exist.
    """
    directory.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, content in files(computed()):
        path = directory / name
        text = dumps(settled_file(content, path)).encode()
        if not path.exists() or path.read_bytes() != text:
            with written_aside(path) as stream:
                stream.write(text)
            changed.append(path)
    return changed


def read_file(path: Path) -> list[Vector]:
    """Return the vectors of one file.

    Raises
    ------
    FormatError
        If it is no such file, or of another version.
    """
    content = loads(path.read_bytes(), str(path))
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise FormatError(f"expected vectors of version {VERSION}", path)
    operation = content.get("operation")
    if not isinstance(operation, str) or operation not in OPERATIONS:
        raise FormatError(f"expected one of our operations, got {operation!r}", path)
    try:
        return [from_dict(written, operation) for written in content["vectors"]]
    except (KeyError, TypeError, AttributeError) as fault:
        raise FormatError(f"expected vectors, got one without {fault}", path) from fault


def read_files(directory: Path) -> list[Vector]:
    """Return the vectors of a directory, in the order in which data flows.

    Raises
    ------
    FormatError
        If it has none, or one cannot be read.
    """
    paths = [directory / f"{name}.json" for name in OPERATIONS]
    vectors = [vector for path in paths if path.exists() for vector in read_file(path)]
    if not vectors:
        raise FormatError("expected files of vectors, found none", directory)
    return vectors


def named(case_id: str) -> Case:
    """Return one case.

    Raises
    ------
    PyslideError
        If there is none of this id.
    """
    for case in all_cases():
        if case.id == case_id:
            return case
    raise PyslideError(f"no vector has the id {case_id!r}")
