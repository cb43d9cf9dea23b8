"""What ``pyslide bench`` measured: tables for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyslide.bench.ladder import Rung, times_base
from pyslide.bench.roofline import Roofline
from pyslide.bench.run import Measurement
from pyslide.bench.workers import WorkerMeasurement
from pyslide.cli.output import table
from pyslide.data.writing import written_aside


def as_json(row: Measurement) -> dict[str, Any]:
    """Return a measurement as what JSON can hold."""
    return {**row._asdict(), "quartiles_milliseconds": list(row.quartiles_milliseconds), "stages": dict(row.stages)}


def write_csv(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write measurements as a table, what has parts in columns of their own; whole or not there."""
    flat = [flattened(one) for one in records]
    columns = list(dict.fromkeys(key for one in flat for key in one))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    with written_aside(path) as stream:
        stream.write(text.getvalue().encode())


def flattened(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with a column for each quartile and stage."""
    flat = dict(record)
    for stage, spent in flat.pop("stages", {}).items():
        flat[f"stage {stage}"] = spent
    if "quartiles_milliseconds" in flat:
        flat["lower_quartile_milliseconds"], flat["upper_quartile_milliseconds"] = flat.pop("quartiles_milliseconds")
    return flat


def comparison_table(rows: Sequence[Measurement]) -> str:
    """Return the contenders side by side."""
    header = [
        "contender", "ms/step", "spread", "ms/rebuild", "amortised", "samples/s", "active", "touched", "peak MB",
        "times as fast",
    ]  # fmt: skip
    lines = [
        [
            row.name,
            f"{row.step_milliseconds:.1f}",
            f"{row.spread_milliseconds:.1f}",
            f"{row.rebuild_milliseconds:.0f}",
            f"{row.amortised_milliseconds:.1f}",
            f"{row.samples_per_second:.0f}",
            f"{row.active_neurons:.0f}",
            f"{row.touched_rows:.0f}",
            f"{row.peak_megabytes:.0f}",
            f"{row.times_as_fast:.1f}",
        ]
        for row in rows
    ]
    return table(header, lines)


def stage_table(rows: Sequence[Measurement]) -> str:
    """Return where the time of each of our own contenders goes."""
    lines = [
        [f"{row.name}: {stage}", f"{spent:.1f}"]
        for row in rows
        for stage, spent in sorted(row.stages.items(), key=lambda item: -item[1])
    ]
    return table(["stage", "ms/step"], lines)


def ladder_table(rungs: Sequence[Rung]) -> str:
    """Return the widths side by side, each step beside that of 10^4 outputs."""
    lines = [
        [
            f"{rung.outputs:,}",
            f"{rung.measurement.step_milliseconds:.1f}",
            f"{rung.measurement.spread_milliseconds:.1f}",
            f"{times:.2f}",
            f"{rung.measurement.rebuild_milliseconds:.0f}",
            f"{rung.measurement.amortised_milliseconds:.1f}",
            f"{rung.measurement.active_neurons:.0f}",
            f"{rung.measurement.touched_rows:.0f}",
            f"{rung.measurement.peak_megabytes:.0f}",
        ]
        for rung, times in zip(rungs, times_base(rungs), strict=True)
    ]
    header = ["outputs", "ms/step", "spread", "times 10^4's", "ms/rebuild", "amortised", "active", "touched", "peak MB"]
    return table(header, lines)


def worker_table(rows: Sequence[WorkerMeasurement]) -> str:
    """Return the workers side by side."""
    lines = [[str(row.workers), row.kind, f"{row.step_milliseconds:.1f}", f"{row.times_one:.2f}"] for row in rows]
    return table(["workers", "kind", "ms/step", "times one"], lines)


def roofline_text(measured: Roofline) -> str:
    """Return the bandwidths, and every stage beside what its bytes take at one of them."""
    speeds = ", ".join(f"{name} {speed / 1e9:.1f} GB/s" for name, speed in measured.bandwidth._asdict().items())
    counts = measured.counts
    active = counts.active / counts.samples
    lines = [
        [
            row.stage,
            f"{row.milliseconds:.1f}",
            f"{row.megabytes:.1f}",
            row.bandwidth,
            f"{row.roofline_milliseconds:.2f}",
            f"{row.times_roofline:.3g}",
        ]
        for row in measured.stages
    ]
    header = ["stage", "ms", "MB to move", "bandwidth", "ms for these", "times the roofline"]
    about = f"bandwidth: {speeds}\n{active:.0f} active neurons a sample, {counts.touched} touched rows"
    return f"{about}\n\n{table(header, lines)}"
