"""``pyslide train``: train, evaluate, compare, save."""

from __future__ import annotations

import argparse
import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyslide import checkpoint
from pyslide.arrays import FloatArray
from pyslide.cli.output import add_json, percent, print_json, say, table
from pyslide.cli.settings import add_network, add_training, require_sampled_softmax, settings_of
from pyslide.data import Dataset, load, load_standard_library
from pyslide.errors import FormatError, ShapeError
from pyslide.evaluation import RANKS, evaluate, most_frequent_labels
from pyslide.history import Row, write_history
from pyslide.metrics import propensities
from pyslide.parallel import KINDS, Workers, run_asynchronously
from pyslide.progress import progress
from pyslide.training import StepRecord, Trainer, TrainingSettings

EXAMPLES = """examples:
  pyslide train                                      the data set that ships
  pyslide train --compare full                       beside the full softmax of the same network
  pyslide train --sampled-softmax log_uniform --candidates 500 --compare full
  pyslide train TRAIN.txt.gz TEST.txt.gz --epochs 20 --save model.npz --history run.csv
  pyslide train TRAIN.txt.gz --resume model.npz --epochs 30 --save model.npz
  pyslide train --config run.toml --family simhash -K 9
a configuration file holds options by their long names: epochs = 20, hidden = "128,64", compare = "full", ...
"""


class Outcome(NamedTuple):
    """One trained network and what it is worth."""

    method: str
    trainer: Trainer
    finished: bool
    seconds: float
    metrics: dict[str, float]


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "train",
        help="train a network and evaluate it",
        description="Train a network on TRAIN and evaluate it on TEST; without files, on the data set that ships.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("train", nargs="?", metavar="TRAIN", help="Extreme Classification or LibSVM file, plain or .gz")
    parser.add_argument("test", nargs="?", metavar="TEST", help="held-out rows")
    parser.add_argument("--config", metavar="FILE.toml", help="options from a file; the command line wins")
    add_network(parser)
    add_training(parser)
    add_running(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add the options of what happens around the training."""
    group = parser.add_argument_group("running")
    group.add_argument("--compare", choices=("full",), help="train the full softmax of the same network too")
    group.add_argument("--evaluate-every", type=int, metavar="STEPS", help="evaluate on held-out rows on the way")
    group.add_argument("--evaluate-rows", type=int, default=2000, help="held-out rows for that (2000)")
    group.add_argument("--history", metavar="FILE", help="write steps and evaluations to a .csv or .jsonl file")
    group.add_argument("--save", metavar="MODEL.npz", help="save the network and all that resuming needs")
    group.add_argument("--checkpoint-every", type=int, metavar="STEPS", help="save on the way, too")
    group.add_argument("--resume", metavar="MODEL.npz", help="go on with a saved run; its settings hold")
    group.add_argument("--workers", type=int, metavar="N", help="asynchronous workers without locks (none)")
    group.add_argument("--worker-kind", choices=list(KINDS), default="processes", help="(processes)")
    group.add_argument("--all-metrics", action="store_true", help="nDCG, recall and propensity-scored precision too")
    group.add_argument("--quiet", action="store_true", help="no progress and no messages")


def with_configuration(arguments: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return a command line with the options of its ``--config`` file before its own, which so win.

    Raises
    ------
    FormatError
        If the file is no TOML or holds a value that is no option.
    """
    arguments = list(arguments)
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    finder.add_argument("--config")
    path = finder.parse_known_args(arguments)[0].config
    if path is None or not arguments or arguments[0] != "train":
        return arguments
    return ["train", *configured(path), *arguments[1:]]


def configured(path: str) -> list[str]:
    """Return the options of a configuration file as they would stand on a command line."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise FormatError(f"expected TOML, got {fault}", path) from fault
    words: list[str] = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            raise FormatError(f"{name}: expected a plain value, got a table", path)
        if value is True:
            words.append(option)
        elif value is not False:
            parts = value if isinstance(value, list) else [value]
            words += [f"{option}={part}" for part in parts]
    return words


def data_of(options: argparse.Namespace) -> tuple[Dataset, Dataset | None]:
    """Return training data and held-out data.

    Raises
    ------
    ShapeError
        If the two have other features or labels.
    """
    if options.train is None:
        return load_standard_library("train"), load_standard_library("test")
    training = load(options.train)
    if options.test is None:
        return training, None
    test = load(options.test)
    for what in ("feature_count", "label_count"):
        if getattr(test, what) != getattr(training, what):
            raise ShapeError(
                f"{options.test}: expected {what} {getattr(training, what)} as in {options.train}, "
                f"got {getattr(test, what)}"
            )
    return training, test


class Evaluations:
    """A callback that evaluates on held-out rows every so many steps."""

    def __init__(self, test: Dataset, every: int, rows: int, options: argparse.Namespace) -> None:
        self.test, self.every, self.rows, self.options = test, every, slice(rows), options

    def __call__(self, trainer: Trainer, record: StepRecord) -> Row | None:
        """Evaluate if it is time, and return a row for the history."""
        if record.step % self.every:
            return None
        features, labels = self.test.features[self.rows], self.test.labels[self.rows]
        metrics = evaluate(trainer.network, features, labels, trainer.settings.conventions)
        say(f"step {record.step}: held out P@1 {percent(metrics['P@1'])}", self.options)
        return {"kind": "evaluation", "step": record.step, **metrics}


class Saves:
    """A callback that saves the run every so many steps."""

    def __init__(self, path: str, every: int, training: Dataset) -> None:
        self.path, self.every, self.training = path, every, training

    def __call__(self, trainer: Trainer, record: StepRecord) -> None:
        """Save if it is time."""
        if record.step % self.every == 0:
            save(self.path, trainer, self.training)


def save(path: str, trainer: Trainer, training: Dataset) -> None:
    """Save a run with the names of its data."""
    checkpoint.save(path, trainer, training.label_names, training.feature_names)


def check_before_work(options: argparse.Namespace) -> None:
    """Refuse options that would fail only after the training.

    Raises
    ------
    FormatError
        If a file could not be written.
    """
    workers_of(options)
    require_sampled_softmax(options)
    for path in (options.save, options.history):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise FormatError("expected a name in a folder that exists", path)
    if options.history is not None and Path(options.history).suffix not in (".csv", ".jsonl"):
        raise FormatError("expected a name that ends in .csv or .jsonl", options.history)
    if options.checkpoint_every is not None and options.save is None:
        raise FormatError("--checkpoint-every: expected --save to say where")


def new_trainer(options: argparse.Namespace, settings: TrainingSettings | None, training: Dataset) -> Trainer:
    """Return a run to start, or the one to resume."""
    if settings is None:
        return checkpoint.resume(options.resume, training.features, training.labels)
    return Trainer(settings, training.features, training.labels)


def workers_of(options: argparse.Namespace) -> Workers | None:
    """Return the workers that the options ask for, None for none.

    Raises
    ------
    OutOfRangeError
        If there cannot be so many.
    """
    return None if options.workers is None else Workers(count=options.workers, kind=options.worker_kind)


def train(
    options: argparse.Namespace, method: str, trainer: Trainer, training: Dataset, test: Dataset | None
) -> Outcome:
    """Run a training to its end or to Ctrl-C, and evaluate."""
    a_epoch = -(-training.rows // trainer.settings.batch_size)
    total = min(a_epoch * options.epochs, options.steps or np.inf)
    say(f"{method}: {training.rows} rows, {training.label_count} labels", options)
    callbacks: list[Any] = []
    shown = None if options.quiet else progress(int(total), trainer.network.steps)
    if shown is not None:
        callbacks.append(shown)
    if options.evaluate_every and test is not None:
        callbacks.append(Evaluations(test, options.evaluate_every, options.evaluate_rows, options))
    if options.checkpoint_every and method != FULL:
        callbacks.append(Saves(options.save, options.checkpoint_every, training))
    started = time.perf_counter()
    workers = workers_of(options)
    if workers is None:
        finished = trainer.run(options.epochs, callbacks, options.steps)
    else:
        finished = run_asynchronously(trainer, options.epochs, workers, callbacks, options.steps)
    seconds = time.perf_counter() - started
    if shown is not None:
        shown.close()
    metrics = {}
    if finished and test is not None:
        metrics = held_out(trainer, test, training, options)
    return Outcome(method, trainer, finished, seconds, metrics)


def held_out(trainer: Trainer, test: Dataset, training: Dataset, options: argparse.Namespace) -> dict[str, float]:
    """Return the metrics on all held-out rows."""
    weights: FloatArray | None = propensities(training.labels) if options.all_metrics else None
    metrics = evaluate(
        trainer.network, test.features, test.labels, trainer.settings.conventions, propensities=weights
    )
    wanted = ("P", "nDCG", "R", "PSP") if options.all_metrics else ("P",)
    return {name: value for name, value in metrics.items() if name.split("@")[0] in wanted}


FULL = "full softmax"
SAMPLED = "sampled softmax"
SLIDE = "SLIDE"
BASELINE = "most frequent labels"


def run(options: argparse.Namespace) -> int:
    """Train, and print what came of it."""
    check_before_work(options)
    training, test = data_of(options)
    settings = None if options.resume else settings_of(options, training.label_count)
    trainer = new_trainer(options, settings, training)
    method = method_of(trainer.settings)
    outcomes = [train(options, method, trainer, training, test)]
    if options.save is not None:
        save(options.save, trainer, training)
        say(f"saved {options.save}", options)
    if options.history is not None:
        write_history(options.history, trainer.history)
    if not outcomes[0].finished:
        saved = f"to go on: --resume {options.save} --save {options.save}"
        where = saved if options.save else "nothing was saved, for want of --save"
        say(f"interrupted after step {trainer.network.steps}; {where}", options)
        return 1
    if options.compare == "full" and method != FULL:
        other = Trainer(with_everyone(trainer.settings), training.features, training.labels)
        outcomes.append(train(options, FULL, other, training, test))
    report(outcomes, training, test, options)
    return 0 if all(outcome.finished for outcome in outcomes) else 1


def method_of(settings: TrainingSettings) -> str:
    """Return how the active neurons of the output layer are chosen."""
    output = settings.layers[-1]
    if output.candidates is not None:
        return SAMPLED
    return FULL if output.hashing is None else SLIDE


def with_everyone(settings: TrainingSettings) -> TrainingSettings:
    """Return the settings of the full softmax of the same network."""
    layers = tuple(replace(layer, hashing=None, candidates=None) for layer in settings.layers)
    return replace(settings, layers=layers)


def figures(outcome: Outcome) -> dict[str, Any]:
    """Return one outcome as what JSON can hold."""
    steps = [row for row in outcome.trainer.history if row["kind"] == "step"]
    return {
        "method": outcome.method,
        **{name: float(value) for name, value in outcome.metrics.items()},
        "active_share": float(np.mean([row["active_share"] for row in steps])) if steps else None,
        "loss": float(np.mean([row["loss"] for row in steps[-50:]])) if steps else None,
        "steps": outcome.trainer.network.steps,
        "seconds": round(outcome.seconds, 2),
    }


def report(
    outcomes: Sequence[Outcome], training: Dataset, test: Dataset | None, options: argparse.Namespace
) -> None:
    """Print the methods side by side."""
    rows = [figures(outcome) for outcome in outcomes]
    if test is not None:
        baseline = most_frequent_labels(training.labels, test.labels)
        rows.append({"method": BASELINE, **{name: baseline[name] for name in baseline if name.startswith("P@")}})
    if options.json:
        print_json({"data": training.name, "results": rows})
        return
    names = [name for name in rows[0] if "@" in name] or [f"P@{k}" for k in RANKS if test is not None]
    header = ["method", *(f"{name} %" for name in names), "active %", "steps", "seconds"]
    print(table(header, [line(row, names) for row in rows]))


def line(row: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return one line of the table, with dashes for what a method does not have."""
    share, seconds = row.get("active_share"), row.get("seconds")
    return [
        row["method"],
        *(percent(row[name]) if name in row else "-" for name in names),
        "-" if share is None else f"{100 * share:.1f}",
        str(row.get("steps", "-")),
        "-" if seconds is None else f"{seconds:.1f}",
    ]


