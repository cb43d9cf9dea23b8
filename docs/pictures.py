"""The pictures of the annotated algorithm, drawn when the site is built."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from pyslide import theory
from pyslide.conventions import PAPER
from pyslide.randomness import draw_projections, generators
from pyslide.spec.network import LayerTables, new_layer, rebuild, retrieve
from pyslide.spec.sampling import Sampling, counts
from pyslide.spec.vectors import from_dense

mpl.use("Agg")
from matplotlib import pyplot

GREY = "#808080"
STYLE = {
    "svg.hashsalt": "pyslide",
    "font.size": 10,
    "savefig.transparent": True,
    "legend.frameon": False,
    **dict.fromkeys(
        ["text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"], GREY
    ),
}
"""No background, and lines and letters that read on light and dark pages alike."""

NEURONS, DIGITS, TABLES = 300, 6, 12
"""Of the picture of active neurons: N, K and L."""


def new_axes(width: float = 6.0, height: float = 3.6) -> tuple[pyplot.Figure, pyplot.Axes]:
    """Return an empty picture."""
    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    return figure, axes


def selection(folder: Path) -> None:
    """Draw how likely a neuron is found, by its angle to the input: K, L and the threshold m, one moved at a time."""
    figure, panels = pyplot.subplots(1, 3, figsize=(9.0, 3.4), sharey=True, layout="constrained")
    angles = np.linspace(0, 120, 121)
    collision = theory.simhash_collision_probability(np.cos(np.radians(angles)))
    for digits in (3, 6, 9):
        panels[0].plot(angles, theory.union_inclusion(collision, digits, 50), label=f"K={digits}")
    for tables in (10, 50, 200):
        panels[1].plot(angles, theory.union_inclusion(collision, 6, tables), label=f"L={tables}")
    for threshold in (1, 2, 5):
        panels[2].plot(angles, theory.hard_threshold_inclusion(collision, 6, 50, threshold), label=f"m={threshold}")
    titles = ("codes a key (L=50, m=1)", "tables (K=6, m=1)", "tables it must be in (K=6, L=50)")
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, fontsize="medium")
        axes.legend()
    panels[0].set(ylabel="probability to be found")
    panels[1].set(xlabel="angle between neuron and input, degrees")
    figure.savefig(folder / "selection.svg")


def lit_up(folder: Path) -> None:
    """Draw neurons of the plane, and in how many of the tables' buckets an input finds each."""
    (generator,) = generators(3, 1)
    weights = generator.standard_normal((NEURONS, 2))
    family = draw_projections(generator, DIGITS * TABLES, 2, "gaussian")
    tables = LayerTables(family, DIGITS, 18, np.ones(TABLES, dtype=np.uint64), NEURONS, Sampling(), ({},) * TABLES)
    layer = rebuild(
        new_layer(weights, np.zeros(NEURONS), tables), np.arange(NEURONS), np.zeros((TABLES, NEURONS)), PAPER
    )
    assert layer.tables is not None
    query = np.array([2.5, 1.2])
    neurons, found = counts(retrieve(from_dense(query), layer.tables, PAPER))
    figure, axes = new_axes(5.0, 4.2)
    axes.scatter(*weights.T, s=10, color=GREY, alpha=0.5, label="not found")
    dots = axes.scatter(*weights[neurons].T, s=18, c=found, cmap="cool", label="found")
    axes.annotate("", xy=tuple(query), xytext=(0, 0), arrowprops={"arrowstyle": "->", "lw": 2, "color": "tab:red"})
    axes.set(title=f"Which of {NEURONS} neurons an input finds (arrow)", aspect="equal")
    figure.colorbar(dots, ax=axes, label=f"in how many of {TABLES} tables", shrink=0.85)
    figure.savefig(folder / "lit_up.svg")
    loads(folder, [len(bucket.members) for bucket in layer.tables.tables[0].values()])


def loads(folder: Path, held: list[int]) -> None:
    """Draw how full the buckets of one table are."""
    figure, axes = new_axes()
    axes.bar(range(len(held)), sorted(held, reverse=True), color="tab:blue")
    axes.set(xlabel="buckets, fullest first", ylabel="neurons", title=f"What a table of {NEURONS} neurons holds")
    figure.savefig(folder / "table.svg")


def draw(folder: Path) -> None:
    """Draw all pictures."""
    with pyplot.rc_context(STYLE):
        selection(folder)
        lit_up(folder)
    pyplot.close("all")
