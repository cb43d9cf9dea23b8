"""What happened during a training run, row by row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyslide.data.writing import written_aside
from pyslide.errors import FormatError

Row = Mapping[str, Any]
"""One step (``kind`` "step") or one evaluation (``kind`` "evaluation")."""


def write_history(path: str | Path, rows: Sequence[Row]) -> None:
    """Write a history as CSV or as JSON lines, by the file's ending; written aside and renamed.

    Parameters
    ----------
    path : str or Path
        Ends in ``.csv`` or ``.jsonl``.
    rows : sequence of mappings
        Rows of several kinds may have different columns; a CSV leaves what a row lacks empty.

    Raises
    ------
    FormatError
        If the file has another ending.
    """
    path = Path(path)
    if path.suffix not in (".csv", ".jsonl"):
        raise FormatError(f"history: expected a name that ends in .csv or .jsonl, got {path.suffix!r}", path)
    with written_aside(path) as raw:
        stream = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        if path.suffix == ".jsonl":
            stream.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            columns = list(dict.fromkeys(column for row in rows for column in row))
            writer = csv.DictWriter(stream, columns)
            writer.writeheader()
            writer.writerows(rows)
        stream.detach()
