"""Rows by column and by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyslide.arrays import FloatArray
from pyslide.experiments.experiment import Row


def column(rows: Sequence[Row], name: str) -> FloatArray:
    """Return a column of numbers."""
    return np.array([row[name] for row in rows], dtype=np.float64)


def mean(rows: Sequence[Row], name: str) -> float:
    """Return the mean of a column."""
    return float(column(rows, name).mean())


def groups(rows: Sequence[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by their values in some columns, groups in the order of their first rows."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def by(rows: Sequence[Row], name: str) -> dict[Any, list[Row]]:
    """Return the rows by their value in one column."""
    return {key[0]: group for key, group in groups(rows, name).items()}


def where(rows: Sequence[Row], **values: Any) -> list[Row]:
    """Return the rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def ends(rows: Sequence[Row], *names: str) -> list[Row]:
    """Return the last row of every run: those that agree in the named columns and the seed."""
    return [max(run, key=lambda row: row["step"]) for run in groups(rows, *names, "seed").values()]
