"""``pyslide bench``: speed, as ratios measured side by side in one run."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyslide.bench import SHAPES, Measurement, Shape, measure
from pyslide.bench.contenders import CONTENDERS
from pyslide.bench.ladder import Rung, climb
from pyslide.bench.memory import peak_copies
from pyslide.bench.shapes import synthetic
from pyslide.bench.workers import WorkerMeasurement, measure_workers
from pyslide.cli.output import add_json, print_json, table
from pyslide.data import Dataset, load
from pyslide.data.writing import written_aside
from pyslide.settings import Hashing
from pyslide.spec.sampling import Sampling

QUICK = "width-10000"
"""A shape that fits a minute."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "bench",
        help="measure speed, contenders side by side",
        description="Train contenders in turn on the same synthetic batches and print milliseconds a step, rebuilds "
        "included, and how many times as fast each is as the slowest.",
        epilog="examples:\n  pyslide bench --quick\n  pyslide bench --workers 2 --steps 40\n"
        "  pyslide bench --shape amazon-670k --peers 'torch full softmax'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--shape", choices=list(SHAPES), default="amazon-670k", help="(amazon-670k)")
    parser.add_argument("--outputs", type=int, help="another number of output neurons")
    parser.add_argument("--active", type=int, default=1000, help="pad active sets up to this (1000)")
    parser.add_argument("-K", "--codes-per-table", type=int, default=4, metavar="K", help="(4)")
    parser.add_argument("-L", "--tables", type=int, default=50, metavar="L", help="(50)")
    parser.add_argument("--steps", type=int, default=10, help="timed steps of each contender (10)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="cores (all)")
    parser.add_argument(
        "--peers", action="append", choices=[name for name in CONTENDERS if name != "slide"], help="beside SLIDE"
    )
    parser.add_argument("--data", metavar="FILE", help="rows of a file in place of synthetic ones")
    parser.add_argument("--ladder", action="store_true", help="SLIDE at 10^3 to 10^6 outputs, in place of peers")
    parser.add_argument("--memory", action="store_true", help="peak memory, in copies of the output weights")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the measurements there, too")
    parser.add_argument("--workers", type=int, metavar="N", help="asynchronous workers beside one, in place of peers")
    parser.add_argument("--quick", action="store_true", help=f"the shape {QUICK} beside our full softmax, 5 steps")
    parser.add_argument("--stages", action="store_true", help="where the time goes")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    name, steps, peers = options.shape, options.steps, options.peers or []
    if options.quick:
        name, steps, peers = QUICK, min(steps, 5), peers or ["full softmax"]
    hashing = Hashing(
        codes_per_table=options.codes_per_table,
        tables=options.tables,
        sampling=Sampling(minimum_active=options.active),
    )
    if options.ladder:
        return run_ladder(options, hashing, steps)
    shape, data = shape_and_data(options, name, steps)
    print(f"{name}: {shape.features} features, {shape.labels} outputs, batch {shape.batch}", file=sys.stderr)
    if options.workers is not None:
        measured = measure_workers(data, shape, hashing, [options.workers])
        print(json.dumps([row._asdict() for row in measured]) if options.json else worker_table(measured))
        return 0
    rows = measure(data, shape, hashing, ["slide", *dict.fromkeys(peers)], steps, options.threads)
    copies = peak_copies(data, shape, hashing, options.threads) if options.memory else None
    if options.csv is not None:
        write_csv(options.csv, [as_json(row) for row in rows])
    if options.json:
        print_json({"shape": name, **shape._asdict(), "peak_copies": copies, "results": [as_json(row) for row in rows]})
        return 0
    print(as_table(rows))
    if copies is not None:
        print(f"peak memory: {copies:.2f} copies of the output weights")
    if options.stages:
        print(stage_table(rows))
    return 0


def shape_and_data(options: argparse.Namespace, name: str, steps: int) -> tuple[Shape, Dataset]:
    """Return what is trained on: a file, or synthetic rows of a shape.

    Raises
    ------
    FormatError
        If the file is none that `pyslide.data.load` reads.
    """
    if options.data is not None:
        data = load(options.data)
        nonzeros, labels = (data.features.nnz / data.rows, data.labels.nnz / data.rows)
        return Shape(data.feature_count, data.label_count, round(nonzeros), labels), data
    shape = SHAPES[name]
    if options.outputs is not None:
        shape = shape._replace(labels=options.outputs)
    return shape, synthetic(shape, shape.batch * (steps + 8), np.random.default_rng(0))


def run_ladder(options: argparse.Namespace, hashing: Hashing, steps: int) -> int:
    """Measure SLIDE at every width and print."""

    def data_of(shape: Shape) -> Dataset:
        print(f"{shape.labels} outputs", file=sys.stderr)
        return synthetic(shape, shape.batch * (steps + 8), np.random.default_rng(0))

    rungs = climb(data_of, hashing, steps, options.threads)
    records = [{"outputs": rung.outputs, **as_json(rung.measurement)} for rung in rungs]
    if options.csv is not None:
        write_csv(options.csv, records)
    print(json.dumps(records) if options.json else ladder_table(rungs))
    return 0


def write_csv(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write measurements as a table, stages in columns of their own; whole or not there."""
    flat = [
        {**{key: value for key, value in one.items() if key != "stages"},
         **{f"stage {stage}": spent for stage, spent in one["stages"].items()}}
        for one in records
    ]  # fmt: skip
    columns = list(dict.fromkeys(key for one in flat for key in one))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    with written_aside(path) as stream:
        stream.write(text.getvalue().encode())


def ladder_table(rungs: Sequence[Rung]) -> str:
    """Return the widths side by side, each step beside that of 10^4 outputs."""
    base = next(rung.measurement.step_milliseconds for rung in rungs if rung.outputs == 10_000)
    lines = [
        [f"{rung.outputs:,}", f"{one.step_milliseconds:.1f}", f"{one.step_milliseconds / base:.2f}",
         f"{one.rebuild_milliseconds:.0f}", f"{one.amortised_milliseconds:.1f}", f"{one.active_neurons:.0f}"]
        for rung in rungs
        for one in (rung.measurement,)
    ]  # fmt: skip
    return table(["outputs", "ms/step", "times 10^4's", "ms/rebuild", "amortised", "active"], lines)


def as_json(row: Measurement) -> dict[str, Any]:
    """Return a measurement as what JSON can hold."""
    values = {**row._asdict(), "stages": dict(row.stages)}
    return {key: None if isinstance(value, float) and np.isnan(value) else value for key, value in values.items()}


def as_table(rows: Sequence[Measurement]) -> str:
    """Return the contenders side by side."""
    header = ["contender", "ms/step", "spread", "ms/rebuild", "amortised", "samples/s", "active", "times as fast"]
    return table(
        header,
        [
            [
                row.name,
                f"{row.step_milliseconds:.1f}",
                f"{row.spread_milliseconds:.1f}",
                f"{row.rebuild_milliseconds:.0f}",
                f"{row.amortised_milliseconds:.1f}",
                f"{row.samples_per_second:.0f}",
                "all" if np.isnan(row.active_neurons) else f"{row.active_neurons:.0f}",
                f"{row.times_as_fast:.1f}",
            ]
            for row in rows
        ],
    )


def worker_table(rows: Sequence[WorkerMeasurement]) -> str:
    """Return the workers side by side."""
    lines = [[str(row.workers), row.kind, f"{row.step_milliseconds:.1f}", f"{row.times_one:.2f}"] for row in rows]
    return table(["workers", "kind", "ms/step", "times one"], lines)


def stage_table(rows: Sequence[Measurement]) -> str:
    """Return where the time of each of our own contenders goes."""
    lines = [
        [f"{row.name}: {stage}", f"{spent:.1f}"]
        for row in rows
        for stage, spent in sorted(row.stages.items(), key=lambda item: -item[1])
    ]
    return table(["stage", "ms/step"], lines)
