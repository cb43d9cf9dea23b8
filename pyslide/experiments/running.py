"""A grid of cells through joblib, and what is written of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from joblib.parallel import get_active_backend

from pyslide.errors import FormatError, MissingExtraError
from pyslide.experiments.cells import code_digest, finish_cell, identity_of, path_of, read_cell
from pyslide.experiments.experiment import Choices, Data, Experiment, Row, Settings
from pyslide.experiments.plotting import draw
from pyslide.experiments.reporting import report, write_csv, write_text

Tell = Callable[[str], None]
"""What messages go to."""


class Outcome(NamedTuple):
    """All rows of a grid, in the order of its cells, and with what they were measured."""

    rows: list[Row]
    environments: list[dict[str, Any]]  # distinct


class Done(NamedTuple):
    """What came of an experiment."""

    rows: list[Row]
    files: list[Path]


def run_grid(
    experiment: Experiment, cells: Sequence[Settings], data: Data, folder: Path, jobs: int | None, tell: Tell
) -> Outcome:
    """Measure all cells that are not finished yet.

    Parameters
    ----------
    experiment : Experiment
    cells : sequence of Settings
    data : Data
    folder : Path
        Where finished cells are; it exists.
    jobs : int, optional
        For joblib; None leaves it to `joblib.parallel_config`, as the backend is.
    tell : callable
        Told of every finished cell.
    """
    code = code_digest()  # of every source file: read once, not for every cell
    identities = [identity_of(experiment, settings, data.digest, code) for settings in cells]
    paths = [path_of(folder, identity) for identity in identities]
    done = [read_cell(path, identity) for path, identity in zip(paths, identities, strict=True)]
    missing = [number for number, cell in enumerate(done) if cell is None]
    tell(f"{experiment.name}: {len(cells)} cells, {len(cells) - len(missing)} of them finished before")
    tasks = (
        joblib.delayed(finish_cell)(experiment.measure, data, cells[number], identities[number], paths[number])
        for number in missing
    )
    for count, (number, cell) in enumerate(zip(missing, in_parallel(tasks, jobs), strict=True), start=1):
        done[number] = cell
        tell(f"{experiment.name}: cell {len(cells) - len(missing) + count} of {len(cells)}")
    finished = [cell for cell in done if cell is not None]
    rows = [row for cell in finished for row in cell["rows"]]
    environments: list[dict[str, Any]] = []
    for cell in finished:
        if cell["environment"] not in environments:
            environments.append(cell["environment"])
    return Outcome(rows, environments)


def in_parallel(tasks: Iterable[Any], jobs: int | None) -> Iterable[dict[str, Any]]:
    """Yield the results of tasks in their order, as they come where the backend can give them so, else in the end."""
    backend = get_active_backend()[0]
    as_they_come = getattr(backend, "supports_return_generator", False)
    results: Iterable[dict[str, Any]] = joblib.Parallel(n_jobs=jobs, return_as="generator" if as_they_come else "list")(
        tasks
    )
    return results


def run_experiment(
    experiment: Experiment,
    choices: Choices,
    data: Data,
    out: Path,
    command: str,
    jobs: int | None = None,
    tell: Tell = lambda message: None,
) -> Done:
    """Run an experiment and write its table, report and pictures.

    Parameters
    ----------
    experiment : Experiment
    choices : Choices
    data : Data
    out : Path
        A folder, made if it is not there: ``NAME.csv``, ``NAME.md``, ``NAME.png``, ``NAME.svg`` and ``cells/``.
    command : str
        What the report says that it was made by.
    jobs : int, optional
        For joblib; None leaves it to `joblib.parallel_config`.
    tell : callable
        Told of progress.

    Returns
    -------
    Done
        Without matplotlib there are no pictures, and a message names the extra.

    Raises
    ------
    FormatError
        If ``out`` cannot be a folder.
    """
    cells = experiment.cells(choices, data)  # refuses what cannot be measured before anything is written
    try:
        (out / "cells").mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as fault:
        raise FormatError("expected a folder, got a file", out) from fault
    outcome = run_grid(experiment, cells, data, out / "cells", jobs, tell)
    written = [out / f"{experiment.name}.csv"]
    write_csv(written[0], outcome.rows)
    pictures = [out / f"{experiment.name}.{ending}" for ending in ("png", "svg")]
    try:
        draw(experiment.draw, outcome.rows, pictures)
    except MissingExtraError as missing:
        tell(str(missing))
        pictures = []
    page = report(experiment, choices, data, outcome.rows, outcome.environments, command, pictures)
    written.append(out / f"{experiment.name}.md")
    write_text(written[-1], page)
    return Done(outcome.rows, written + pictures)
