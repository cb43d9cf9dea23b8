"""Measurements as pictures; matplotlib is the extra ``plot``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pyslide.bench.ladder import Rung
from pyslide.bench.run import Measurement
from pyslide.data.writing import written_aside
from pyslide.errors import FormatError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")


def require_plot(path: Path) -> None:
    """Refuse a picture that could not be drawn or written, before any work.

    Raises
    ------
    FormatError
        If its name ends in neither .png nor .svg.
    MissingExtraError
        If matplotlib is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise FormatError("expected a name that ends in .png or .svg", path)
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", "drawing")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty picture."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_comparison(rows: Sequence[Measurement]) -> Figure:
    """Draw contenders side by side, and where the time of our own goes."""
    staged = [row for row in rows if row.stages]
    bars = len(rows) + sum(len(row.stages) for row in staged)
    figure = new_figure(8.0, 2.5 + 0.3 * bars)
    heights = [len(rows), *(len(row.stages) for row in staged)]
    panels = figure.subplots(len(heights), 1, squeeze=False, height_ratios=[1 + height for height in heights])[:, 0]
    contender_bars(panels[0], rows)
    for axes, row in zip(panels[1:], staged, strict=True):
        stage_bars(axes, row)
    return figure


def contender_bars(axes: Axes, rows: Sequence[Measurement]) -> None:
    """Draw a bar a contender: its median step with the quartiles, and its share of the rebuilds."""
    names = [row.name for row in rows]
    steps = [row.step_milliseconds for row in rows]
    below = [row.step_milliseconds - row.quartiles_milliseconds[0] for row in rows]
    above = [row.quartiles_milliseconds[1] - row.step_milliseconds for row in rows]
    axes.barh(names, steps, xerr=[below, above], capsize=3, label="step, median and quartiles")
    shares = [row.amortised_milliseconds - row.step_milliseconds for row in rows]
    axes.barh(names, shares, left=steps, label="share of the rebuilds")
    axes.invert_yaxis()
    axes.set(xlabel="ms a step")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def stage_bars(axes: Axes, row: Measurement) -> None:
    """Draw a bar a stage, in the order in which data flows."""
    axes.barh(list(row.stages), list(row.stages.values()))
    axes.invert_yaxis()
    axes.set(xlabel="ms a step", title=row.name)


def draw_ladder(rungs: Sequence[Rung]) -> Figure:
    """Draw the time of a step by width, without and with its share of the rebuilds."""
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    widths = [rung.outputs for rung in rungs]
    steps = [rung.measurement.step_milliseconds for rung in rungs]
    low, high = zip(*(rung.measurement.quartiles_milliseconds for rung in rungs), strict=True)
    (line,) = axes.plot(widths, steps, "o-", label="step")
    axes.fill_between(widths, low, high, color=line.get_color(), alpha=0.2, label="its quartiles")
    axes.plot(widths, [rung.measurement.amortised_milliseconds for rung in rungs], "s--", label="with rebuilds")
    axes.set(xscale="log", ylim=(0, None), xlabel="output neurons", ylabel="ms a step")
    axes.legend()
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture, whole or not at all."""
    with written_aside(path) as stream:
        figure.savefig(stream, format=path.suffix.removeprefix("."))
