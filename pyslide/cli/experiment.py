"""``pyslide experiment``: the paper's figures and tables at small scale."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import joblib

from pyslide.cli.output import add_json, print_json, say, table
from pyslide.cli.settings import widths
from pyslide.errors import FormatError, OutOfRangeError
from pyslide.experiments.catalogue import EXPERIMENTS
from pyslide.experiments.experiment import (
    QUICK_EVALUATIONS,
    QUICK_ROWS,
    QUICK_STEPS,
    Choices,
    Data,
    Experiment,
)
from pyslide.experiments.running import run_experiment
from pyslide.experiments.sources import from_files, shipped, synthetic
from pyslide.settings import FAMILIES

EXAMPLES = """examples:
  pyslide experiment list
  pyslide experiment time-to-accuracy --quick
  pyslide experiment sampled-softmax --train TRAIN.txt.gz --test TEST.txt.gz --seeds 5 --out results
  pyslide experiment sampling-strategies --help      the options of one experiment
An experiment that was stopped goes on where it was when the same command is given again.
"""
OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "epochs": (("--epochs",), {"type": int, "help": "of each training run"}),
    "steps": (("--steps",), {"type": int, "help": "of each training run, in place of --epochs"}),
    "learning_rate": (("--learning-rate",), {"type": float, "help": "of Adam"}),
    "hidden": (("--hidden",), {"type": widths, "metavar": "N,N", "help": "hidden layers"}),
    "batch_size": (("--batch-size",), {"type": int, "help": "samples of a step"}),
    "threads": (("--threads",), {"type": int, "help": "cores for one batch (all, shared by the jobs)"}),
    "evaluations": (("--evaluations",), {"type": int, "help": "pauses of a run at which it is evaluated"}),
    "evaluation_rows": (("--evaluation-rows",), {"type": int, "help": "held-out rows for that"}),
    "family": (("--family",), {"choices": FAMILIES, "help": "hash family"}),
    "codes_per_table": (("-K", "--codes-per-table"), {"type": int, "metavar": "K", "help": "codes a key"}),
    "tables": (("-L", "--tables"), {"type": int, "metavar": "L", "help": "tables"}),
    "active_share": (("--active-share",), {"type": float, "help": "of output neurons, reached with random ones"}),
}  # fmt: skip
"""The options by the field of `Choices` that they set."""


def add_to(commands: Any) -> None:
    """Add the command, with a command of its own for each experiment."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "experiment",
        help="the paper's figures and tables at small scale",
        description="Measure one of the paper's figures or tables, or something beyond them, and write a CSV, a report "
        "and pictures (extra plot).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = parser.add_subparsers(title="experiments", metavar="NAME", required=True)
    listing = names.add_parser("list", help="what each experiment does, and which figure or table it is")
    add_json(listing)
    listing.set_defaults(run=run_list)
    for experiment in EXPERIMENTS.values():
        add_experiment(names, experiment)


def add_experiment(names: Any, experiment: Experiment) -> None:
    """Add the command of one experiment, with the options that matter for it."""
    source = f" ({experiment.source})" if experiment.source else ""
    parser: argparse.ArgumentParser = names.add_parser(
        experiment.name,
        help=f"{experiment.title}{source}".replace("%", "%%"),
        description=f"{experiment.title}{source}. {experiment.explanation}".replace("%", "%%"),
    )
    where = parser.add_argument_group("data, the set that ships unless told otherwise")
    where.add_argument("--train", metavar="FILE", help="Extreme Classification or LibSVM file, plain or .gz")
    where.add_argument("--test", metavar="FILE", help="held-out rows")
    where.add_argument("--synthetic", type=int, metavar="LABELS", help="planted data with so many labels")
    running = parser.add_argument_group("running")
    running.add_argument("--out", type=Path, default=Path("experiments"), metavar="DIR", help="(experiments)")
    running.add_argument("--seeds", type=int, metavar="N", help="seeds 0 to N-1 for everything (3; quick: 1)")
    running.add_argument("--jobs", type=int, metavar="N", help="cells at a time; times are cleanest with one (1)")
    running.add_argument("--quick", action="store_true", help="about a minute: one seed, few steps, few values")
    running.add_argument("--quiet", action="store_true", help="no progress")
    if experiment.choices:
        chosen = parser.add_argument_group("settings")
        defaults = {field.name: field.default for field in dataclasses.fields(Choices)}
        for name in experiment.choices:
            flags, more = OPTIONS[name]
            default = "" if name in ("steps", "threads") else f" ({shown(defaults[name])})"
            chosen.add_argument(*flags, dest=name, **{**more, "help": more["help"] + default})
    parser.set_defaults(run=run, experiment=experiment)


def shown(value: Any) -> str:
    """Return a default as one would type it."""
    return ",".join(str(part) for part in value) if isinstance(value, tuple) else str(value)


def run_list(options: argparse.Namespace) -> int:
    """Print what there is."""
    lines = [[one.name, one.source or "-", one.title] for one in EXPERIMENTS.values()]
    if options.json:
        print_json([dict(zip(("name", "source", "title"), line, strict=True)) for line in lines])
        return 0
    widest = max(len(line[0]) for line in lines), max(len(line[1]) for line in lines)
    for name, source, title in lines:
        print(f"{name:{widest[0]}}  {source:{widest[1]}}  {title}")
    return 0


def choices_of(options: argparse.Namespace) -> Choices:
    """Return what the options choose; what they leave open is the default, or for a quick run the quick one.

    Raises
    ------
    OutOfRangeError
        If nothing can be measured with it.
    """
    asked: dict[str, Any] = {"threads": max(1, (os.cpu_count() or 1) // joblib.effective_n_jobs(options.jobs or 1))}
    if options.quick:
        asked |= {
            "seeds": 1,
            "steps": QUICK_STEPS,
            "evaluations": QUICK_EVALUATIONS,
            "evaluation_rows": QUICK_ROWS,
            "quick": True,
        }
        if getattr(options, "epochs", None) is not None:
            asked["steps"] = None
    names = {field.name for field in dataclasses.fields(Choices)}
    given = {name: value for name, value in vars(options).items() if name in names and name != "quick"}
    return Choices(**{**asked, **{name: value for name, value in given.items() if value is not None}})


def data_of(options: argparse.Namespace) -> Data:
    """Return the data that the options ask for.

    Raises
    ------
    FormatError, ShapeError, OutOfRangeError
        If they contradict each other, or the files cannot be used.
    """
    if (options.train is None) != (options.test is None):
        raise FormatError("expected both --train and --test, or neither")
    if options.synthetic is not None:
        if options.train is not None:
            raise FormatError("expected files or --synthetic, got both")
        return synthetic(options.synthetic)
    return shipped() if options.train is None else from_files(options.train, options.test)


def run(options: argparse.Namespace) -> int:
    """Run an experiment, and say what was written."""
    if options.jobs == 0:
        raise OutOfRangeError("jobs: expected a number of processes, or -1 for all processors; got 0")
    choices, experiment = choices_of(options), options.experiment
    if options.out.exists() and not options.out.is_dir():
        raise FormatError("expected a folder, got a file", options.out)
    data = data_of(options)

    def tell(message: str) -> None:
        say(message, options)

    try:
        done = run_experiment(experiment, choices, data, options.out, command_of(options), options.jobs or 1, tell)
    except KeyboardInterrupt:
        kept = options.out / "cells"
        print(f"interrupted; what is finished is kept in {kept}: the same command goes on", file=sys.stderr)
        return 1
    shown_table = experiment.table(done.rows)
    print(table(shown_table.header, shown_table.lines))
    if choices.quick:
        say("a quick run: few steps and values, one seed; it shows that everything works, and settles nothing", options)
    say("wrote " + ", ".join(str(path) for path in done.files), options)
    return 0


def command_of(options: argparse.Namespace) -> str:
    """Return the command line that asks for the same."""
    words = ["pyslide", "experiment", options.experiment.name]
    for name in ("train", "test", "synthetic", "seeds", "jobs", *options.experiment.choices):
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", shown(value)]
    return shlex.join([*words, *(["--quick"] if options.quick else [])])
