"""Figure 9: asynchronous workers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from pyslide.bench.workers import IntervalEnds
from pyslide.evaluation import evaluate
from pyslide.experiments import plotting
from pyslide.experiments.experiment import (
    TABLES,
    Choices,
    Data,
    Experiment,
    Finding,
    Row,
    Settings,
    Table,
)
from pyslide.experiments.learning import SLIDE, fixed_rows, output_of, training_of
from pyslide.experiments.tidy import groups, mean
from pyslide.parallel import KINDS, Workers, run_asynchronously
from pyslide.training import Trainer, TrainingSettings


def counts() -> list[int]:
    """Return 1, 2, 4, ... and the number of processors."""
    most = max(2, os.cpu_count() or 1)
    return sorted({1, most} | {2**power for power in range(1, most.bit_length()) if 2**power <= most})


def cells(choices: Choices, data: Data) -> list[Settings]:
    """Return one worker, and every number of processes and threads, with each seed."""
    output = output_of(SLIDE, choices, data.labels)
    crews = [Workers(count=count, kind=kind) for kind in KINDS for count in choices.some(counts())]
    return [
        {
            "workers": workers,
            "training": training_of(choices, output, seed),
            "steps": choices.steps_of(data.training.rows),
            "evaluation_rows": choices.evaluation_rows,
        }
        for workers in crews
        for seed in range(choices.seeds)
    ]


def measure(data: Data, workers: Workers, training: TrainingSettings, steps: int, evaluation_rows: int) -> list[Row]:
    """Train with some workers."""
    trainer = Trainer(training, data.training.features, data.training.labels)
    clock = IntervalEnds()
    started = time.perf_counter()
    if not run_asynchronously(trainer, sys.maxsize, workers, [clock], steps):
        raise KeyboardInterrupt
    seconds = time.perf_counter() - started
    running = clock.later_steps / clock.later_seconds if clock.later_steps else steps / seconds
    rows = fixed_rows(data.test, evaluation_rows)
    metrics = evaluate(trainer.network, data.test.features[rows], data.test.labels[rows], training.conventions)
    return [
        {
            "workers": workers.count,
            "kind": workers.kind,
            "seed": training.seed,
            "step": trainer.network.steps,
            "seconds": seconds,
            "steps_per_second": running,
            "P@1": 100 * metrics["P@1"],
        }
    ]


def speed_up(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with how many times as fast as one worker of the kind each is."""
    alone = {kind: mean(group, "steps_per_second") for (kind, count), group in crews(rows).items() if count == 1}
    return [{**row, "speed-up": row["steps_per_second"] / alone[row["kind"]]} for row in rows]


def crews(rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by kind and number of workers."""
    return groups(rows, "kind", "workers")


def table(rows: Sequence[Row]) -> Table:
    """Return throughput and accuracy."""
    lines = [
        (kind, str(count), f"{mean(group, 'steps_per_second'):.1f}", f"{mean(group, 'speed-up'):.2f}",
         f"{mean(group, 'seconds'):.2f}", f"{mean(group, 'P@1'):.2f}")
        for (kind, count), group in crews(speed_up(rows)).items()
    ]  # fmt: skip
    return Table(("workers are", "workers", "steps a second", "times one", "seconds, start included", "P@1 %"), lines)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return what the paper says of parallel training."""
    found = crews(speed_up(rows))
    most = max(count for _, count in found)
    times = ", ".join(
        f"{most} {kind} are {mean(group, 'speed-up'):.2f} times as fast as one"
        for (kind, count), group in found.items()
        if count == most
    )
    precision = ", ".join(f"{count} {kind} {mean(group, 'P@1'):.2f} %" for (kind, count), group in found.items())
    return [
        Finding(
            "samples of a batch run in parallel threads that push gradients without locks (HOGWILD), on 44 cores",
            f"whole batches are dealt out to workers here: {times}",
        ),
        Finding("accuracy per iteration is that of the full softmax all the same", f"P@1 in the end: {precision}"),
    ]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """Draw speed-up and final P@1 against the number of workers."""
    left, right = figure.subplots(1, 2)
    found = speed_up(rows)
    plotting.lines(left, found, "kind", "workers", "speed-up")
    plotting.lines(right, found, "kind", "workers", "P@1")
    numbers = sorted({row["workers"] for row in found})
    left.plot(numbers, numbers, color="gray", linestyle=":", label="as many times as workers")
    for axes in (left, right):
        axes.set(xlabel="workers")
        axes.set_xticks(numbers)
    left.set(ylabel="steps a second, times one worker's", ylim=(0, None), title="throughput")
    right.set(ylabel="P@1, %", title="accuracy after the same steps")
    plotting.legend_below(figure, left)


EXPERIMENT = Experiment(
    name="workers",
    source="figure 9",
    title="Throughput and accuracy of asynchronous workers without locks",
    explanation="Workers share the weights and write to them without locks (`pyslide.parallel`); tables are rebuilt "
    "while they wait. Steps a second are those after the first interval, in which workers start; seconds are of the "
    "whole run.",
    cells=cells,
    measure=measure,
    table=table,
    findings=findings,
    draw=draw,
    choices=("epochs", "steps", "learning_rate", "hidden", "batch_size", "evaluation_rows", *TABLES),
)
