"""The table and the report of an experiment."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyslide.data.writing import written_aside
from pyslide.experiments.experiment import Choices, Data, Experiment, Row
from pyslide.experiments.plotting import import_matplotlib


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with written_aside(path) as stream:
        stream.write(text.encode())


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a table; a row leaves columns that it lacks empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def markdown_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    cells = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def settings_lines(experiment: Experiment, choices: Choices) -> list[tuple[str, str]]:
    """Return the choices that matter, each with its value."""
    matter = {"seeds", "quick", *experiment.choices} - ({"epochs"} if choices.steps is not None else {"steps"})
    values = {name: value for name, value in dataclasses.asdict(choices).items() if name in matter}
    values["seeds"] = ", ".join(str(seed) for seed in range(choices.seeds))
    if "hidden" in values:
        values["hidden"] = ", ".join(str(width) for width in choices.hidden)
    return [(name.replace("_", " "), str(value)) for name, value in values.items()]


def data_line(data: Data) -> str:
    """Return a line about the data."""
    training, test = data.training, data.test
    return (
        f"Data: {training.name or 'training rows'}, {training.rows:,} rows, {training.feature_count:,} features, "
        f"{training.label_count:,} labels; {test.rows:,} rows held out (SHA-256 {data.digest[:16]}...)."
    )


QUICK = "**A quick run**: one seed, few steps, few values. It shows that everything works, and settles nothing."
"""What a report of a quick run says below its title."""


def environments_table(environments: Sequence[dict[str, Any]]) -> str:
    """Return a table with a line for each environment; one that did not record something has a dash there."""
    columns = list(dict.fromkeys(name for one in environments for name in one))
    return markdown_table(columns, [[str(one.get(name, "-")) for name in columns] for one in environments])


def pictures_lines(pictures: Sequence[Path]) -> list[str]:
    """Return with what the pictures were drawn, if there are any."""
    return [f"Pictures by matplotlib {import_matplotlib().__version__}."] if pictures else []


def report(
    experiment: Experiment,
    choices: Choices,
    data: Data,
    rows: Sequence[Row],
    environments: Sequence[dict[str, Any]],
    command: str,
    pictures: Sequence[Path],
) -> str:
    """Return the report in Markdown."""
    source = f" ({experiment.source} of the paper)" if experiment.source else ""
    table = experiment.table(rows)
    parts = [
        f"# {experiment.name}",
        *([QUICK] if choices.quick else []),
        f"{experiment.title}{source}. Made by `{command}`.",
        experiment.explanation,
        "## The paper, and what was measured here",
        markdown_table(("the paper", "measured here"), experiment.findings(rows)),
        "## Measurements",
        markdown_table(table.header, table.lines),
        *(f"![{experiment.title}]({picture.name})" for picture in pictures if picture.suffix == ".png"),
        "## Settings",
        markdown_table(("setting", "value"), settings_lines(experiment, choices)),
        data_line(data) if experiment.uses_data else "Data: none is used.",
        "## Measured with",
        environments_table(environments),
        *pictures_lines(pictures),
    ]
    return "\n\n".join(parts) + "\n"
