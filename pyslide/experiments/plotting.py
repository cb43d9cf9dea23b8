"""Pictures by matplotlib (extra ``plot``), without pyplot: nothing global is changed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyslide.arrays import FloatArray
from pyslide.data.writing import written_aside
from pyslide.errors import MissingExtraError
from pyslide.experiments.experiment import Row
from pyslide.experiments.tidy import by, column

SIZE = (9.0, 4.0)
"""Inches, for two pictures side by side."""
DOTS_PER_INCH = 150
STYLE = {"svg.hashsalt": "pyslide", "axes.grid": True, "axes.axisbelow": True, "grid.alpha": 0.3, "font.size": 9}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Told apart by colour-blind people, too (Okabe and Ito)."""
MARKERS = "osD^vPX*"


def import_matplotlib() -> Any:
    """Return matplotlib.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        importlib.import_module("matplotlib.figure")
        return importlib.import_module("matplotlib")
    except ImportError as missing:
        raise MissingExtraError("matplotlib", "plot", "drawing the pictures of an experiment") from missing


def draw(drawn: Callable[[Any, Sequence[Row]], None], rows: Sequence[Row], paths: Sequence[Path]) -> None:
    """Draw rows and write the picture in the formats that the paths' endings name.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    matplotlib = import_matplotlib()
    with matplotlib.rc_context(STYLE):
        figure = matplotlib.figure.Figure(figsize=SIZE, layout="constrained")
        figure.patch.set_facecolor("white")
        drawn(figure, rows)
        for path in paths:
            metadata = {"Date": None} if path.suffix == ".svg" else None  # the same rows give the same file
            with written_aside(path) as stream:
                figure.savefig(stream, format=path.suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)


def colour(number: int) -> str:
    """Return the colour of the so-many-th line."""
    return COLOURS[number % len(COLOURS)]


def marker(number: int) -> str:
    """Return the marker of the so-many-th line."""
    return MARKERS[number % len(MARKERS)]


def curves(axes: Any, rows: Sequence[Row], name: str, x: str, y: str) -> None:
    """Draw a line for every value of a column, averaged over the seeds at equal steps, and their range as a band."""
    for number, (key, group) in enumerate(by(rows, name).items()):
        points = by(group, "step").values()
        across = [float(column(point, x).mean()) for point in points]
        up = [column(point, y) for point in points]
        axes.plot(across, [values.mean() for values in up], color=colour(number), marker=".", label=str(key))
        lowest, highest = [values.min() for values in up], [values.max() for values in up]
        axes.fill_between(across, lowest, highest, color=colour(number), alpha=0.15, linewidth=0)


def time_and_steps(figure: Any, rows: Sequence[Row], name: str, y: str) -> list[Any]:
    """Draw `curves` against seconds and against steps side by side, and return both axes."""
    left, right = figure.subplots(1, 2, sharey=True)
    curves(left, rows, name, "seconds", y)
    curves(right, rows, name, "step", y)
    left.set(xlabel="seconds of training", ylabel=f"{y}, %", title="against time")
    right.set(xlabel="steps", title="against steps")
    return [left, right]


def lines(axes: Any, rows: Sequence[Row], name: str, x: str, y: str, dashed: str = "not ") -> None:
    """Draw a line for every value of a column, averaged over rows with equal x, and their range as bars.

    Lines whose names hold ``dashed`` are dashed, so that two that lie upon each other are both seen.
    """
    for number, (key, group) in enumerate(by(rows, name).items()):
        points = dict(sorted(by(group, x).items()))
        up = [column(point, y) for point in points.values()]
        middle = np.array([values.mean() for values in up])
        below = middle - [values.min() for values in up]
        above = np.array([values.max() for values in up]) - middle
        axes.errorbar(
            list(points),
            middle,
            yerr=[below, above],
            color=colour(number),
            marker=marker(number),
            linestyle="--" if dashed in str(key) else "-",
            markersize=4,
            capsize=2,
            label=str(key),
        )


def bars(figure: Any, rows: Sequence[Row], name: str, y: str, colours: Callable[[str], int]) -> None:
    """Draw a bar for every value of a column, the mean over the seeds, and a dot for each seed; the first on top."""
    found = by(rows, name)
    figure.set_size_inches(SIZE[0], 1.2 + 0.3 * len(found))
    axes = figure.subplots()
    for place, (key, group) in enumerate(found.items()):
        axes.barh(place, column(group, y).mean(), color=colour(colours(key)), alpha=0.6)
        axes.plot(column(group, y), [place] * len(group), ".", color="black", markersize=4)
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set(xlabel=f"{y}, % (bars: mean; dots: seeds)")


def whole_decades(axes: Any, values: FloatArray) -> None:
    """Let a logarithmic y axis reach from a power of ten to another, so that both are written at it."""
    lowest, highest = np.floor(np.log10(values.min())), np.ceil(np.log10(values.max()))
    axes.set(yscale="log", ylim=(10**lowest, 10 ** max(highest, lowest + 1)))


def ticks_at(axes: Any, values: Sequence[float]) -> None:
    """Put ticks of a logarithmic x axis where values were measured, and nowhere else."""
    axes.set(xscale="log")
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def legend_below(figure: Any, axes: Any, columns: int = 4) -> None:
    """Put one legend for the whole figure under it, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)), frameon=False)
