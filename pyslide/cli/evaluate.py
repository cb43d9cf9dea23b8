"""``pyslide evaluate``: what a saved network is worth on held-out rows."""

from __future__ import annotations

import argparse
from typing import Any

from pyslide.checkpoint import load_model
from pyslide.cli.output import add_json, percent, print_json, table
from pyslide.data import load, load_standard_library
from pyslide.errors import ShapeError
from pyslide.evaluation import evaluate, recall_of_exact
from pyslide.metrics import propensities


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "evaluate",
        help="evaluate a saved network",
        description="Evaluate a saved network on held-out rows; without a file, on those of the data set that ships.",
        epilog="example:\n  pyslide evaluate model.npz TEST.txt.gz --train TRAIN.txt.gz",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL.npz")
    parser.add_argument("test", nargs="?", metavar="TEST")
    parser.add_argument(
        "--sampled", action="store_true",
        help="compute only the neurons that the tables give, and say what they find of the exact best",
    )  # fmt: skip
    parser.add_argument("--train", metavar="TRAIN", help="training rows, for propensity-scored precision")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate and print."""
    model = load_model(options.model)
    test = load(options.test) if options.test else load_standard_library("test")
    neurons = model.network.layers[-1].neurons
    if test.label_count != neurons:
        raise ShapeError(f"{options.test or 'the data set that ships'}: expected {neurons} labels as in "
                         f"{options.model}, got {test.label_count}")
    conventions = model.settings.conventions
    if options.sampled:
        conventions = conventions.replace(inference="sampled")
    weights = propensities(load(options.train).labels) if options.train else None
    metrics = evaluate(model.network, test.features, test.labels, conventions, propensities=weights)
    if options.sampled:
        metrics |= recall_of_exact(model.network, test.features, conventions)
    if options.json:
        print_json(metrics)
    else:
        print(table(["metric", "%"], [[name, percent(value)] for name, value in metrics.items()]))
    return 0
