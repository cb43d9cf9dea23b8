"""K and L: what is found, what it costs, and what is learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyslide.experiments.experiment import (
    TRAINING,
    Choices,
    Data,
    Experiment,
    Finding,
    Row,
    Settings,
    Table,
)
from pyslide.experiments.learning import curve_cell, hashing_of, training_of
from pyslide.experiments.retrieval_quality import measure
from pyslide.experiments.tidy import ends, groups, mean
from pyslide.settings import LayerSettings

CODES = (2, 3, 4, 6)
TABLES = (10, 25, 50, 100)
PANELS = {"P@1": "P@1, %", "labels_found": "labels found, %", "retrieved": "neurons retrieved, %", "ms": "ms a step"}


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return a run with every K, every L and every seed; only its end is evaluated."""
    base = hashing_of(choices, data.labels)
    return [
        {**curve_cell(choices, data, {"K": codes, "L": tables}, training_of(choices, output, seed)), "evaluations": 1}
        for codes in choices.some(CODES)
        for tables in choices.some(TABLES)
        for output in (LayerSettings(neurons=data.labels, hashing=replace(base, codes_per_table=codes, tables=tables)),)
        for seed in range(choices.seeds)
    ]


def finals(rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """Return the last rows by K and L, with the milliseconds of a step."""
    timed = [{**row, "ms": 1e3 * row["seconds"] / row["step"]} for row in ends(rows, "K", "L")]
    return groups(timed, "K", "L")


def table(rows: Sequence[Row]) -> Table:
    """Return all figures by K and L."""
    lines = [
        (str(codes), str(tables), *(f"{mean(group, name):.2f}" for name in PANELS))
        for (codes, tables), group in finals(rows).items()
    ]
    return Table(("K", "L", *PANELS.values()), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what the paper chose."""
    found = finals(rows)
    best = max(found, key=lambda key: mean(found[key], "P@1"))
    worst = min(found, key=lambda key: mean(found[key], "P@1"))
    codes = sorted({key[0] for key in found})
    most = max(key[1] for key in found)
    shares = ", ".join(f"K={one}: {mean(found[one, most], 'retrieved'):.2f} %" for one in codes)

    def reached(key: tuple[Any, ...]) -> str:
        return f"{mean(found[key], 'P@1'):.2f} % (K={key[0]}, L={key[1]})"

    return [
        Finding(
            "K=9 and L=50 with SimHash (Delicious-200K), K=8 and L=50 with DWTA (Amazon-670K)",
            f"P@1 from {reached(worst)} to {reached(best)}, random neurons filling active sets up",
        ),
        Finding(
            "a neuron is found with probability 1 - (1 - p^K)^L: a larger K finds fewer, a larger L more",
            f"neurons retrieved with L={most}: {shares}",
        ),
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw a map of each figure over K and L."""
    found = finals(rows)
    codes, tables = sorted({key[0] for key in found}), sorted({key[1] for key in found})
    for axes, (name, title) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        values = np.array([[mean(found[one, other], name) for other in tables] for one in codes])
        axes.imshow(values, cmap="Blues", aspect="auto", origin="lower")
        middle = (values.min() + values.max()) / 2
        for row, column in np.ndindex(values.shape):
            dark = values[row, column] > middle
            axes.text(column, row, f"{values[row, column]:.1f}", ha="center", va="center", color="w" if dark else "k")
        axes.set_xticks(range(len(tables)), [str(one) for one in tables])
        axes.set_yticks(range(len(codes)), [str(one) for one in codes])
        axes.set(xlabel="L", ylabel="K", title=title)
        axes.grid(visible=False)


EXPERIMENT = Experiment(
    name="k-l-sweep",
    source="",
    title="K and L: accuracy, what the tables find, and time",
    explanation="Every run trains with its own K and L, active sets filled up with random neurons to the same share, "
    "so that what differs is whom the tables find. Looked at when training ends, on held-out rows.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=(*TRAINING, "evaluation_rows", "family", "active_share"),
)
