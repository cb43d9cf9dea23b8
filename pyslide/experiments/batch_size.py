"""Figure 8: batch sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyslide.experiments import plotting
from pyslide.experiments.experiment import (
    EVALUATING,
    TABLES,
    TRAINING,
    Choices,
    Data,
    Experiment,
    Finding,
    Row,
    Settings,
    Table,
)
from pyslide.experiments.learning import FULL, SAMPLED, SLIDE, curve_cell, learning_curve, output_of, training_of
from pyslide.experiments.tidy import ends, groups, mean

SIZES = (32, 64, 128, 256, 512)
METHODS = (SLIDE, FULL, SAMPLED)


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return a run of each method with each batch size and seed, over equally many samples."""
    return [
        curve_cell(choices, data, {"method": method, "batch_size": size}, training_of(choices, output, seed, size))
        for method in METHODS
        for output in (output_of(method, choices, data.labels),)
        for size in choices.some(SIZES)
        for seed in range(choices.seeds)
    ]


def per_thousand(rows: Sequence[Row]) -> float:
    """Return the milliseconds that a thousand samples take."""
    return 1e6 * mean(rows, "seconds") / mean(rows, "samples")


def finals(rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """Return the last rows by method and batch size."""
    return groups(ends(rows, "method", "batch_size"), "method", "batch_size")


def table(rows: Sequence[Row]) -> Table:
    """Return where each batch size ends."""
    lines = [
        (method, str(size), f"{mean(group, 'P@1'):.2f}", f"{mean(group, 'step'):.0f}", f"{mean(group, 'seconds'):.2f}",
         f"{per_thousand(group):.0f}")
        for (method, size), group in finals(rows).items()
    ]  # fmt: skip
    return Table(("method", "batch size", "P@1 %", "steps", "seconds", "ms for 1,000 samples"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what the paper compares by batch size."""
    found = finals(rows)
    sizes = sorted({size for _, size in found})

    def times_as_fast(other: str) -> str:
        return "; ".join(
            f"{size}: {per_thousand(found[other, size]) / per_thousand(found[SLIDE, size]):.2f} times" for size in sizes
        )

    return [
        Finding(
            "the time of SLIDE beside that of the full softmax, by batch size",
            f"SLIDE as fast as the full softmax of this engine, by batch size: {times_as_fast(FULL)}",
        ),
        Finding(
            "the time of SLIDE beside that of sampled softmax, by batch size",
            f"SLIDE as fast as sampled softmax with as many candidates: {times_as_fast(SAMPLED)}",
        ),
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw the time of a thousand samples and the final P@1 against the batch size."""
    left, right = figure.subplots(1, 2)
    last = [{**row, "ms": 1e6 * row["seconds"] / row["samples"]} for row in ends(rows, "method", "batch_size")]
    plotting.lines(left, last, "method", "batch_size", "ms")
    plotting.lines(right, last, "method", "batch_size", "P@1")
    sizes = sorted({row["batch_size"] for row in last})
    for axes in (left, right):
        plotting.ticks_at(axes, sizes)
        axes.set(xlabel="batch size")
    left.set(ylabel="ms for 1,000 samples", ylim=(0, None), title="time")
    right.set(ylabel="P@1, %", title="accuracy after the same samples")
    plotting.legend_below(figure, right)


EXPERIMENT = Experiment(
    name="batch-size",
    source="figure 8",
    title="Time and accuracy by batch size, of SLIDE, the full softmax and sampled softmax",
    explanation="Every run sees the same number of samples with the same learning rate, in more or fewer steps.",
    cells=cells,
    measure=learning_curve,
    table=table,
    findings=findings,
    draw=draw,
    choices=(*TRAINING, *EVALUATING, *TABLES),
)
