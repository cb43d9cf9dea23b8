"""``pyslide predict``: the best labels of each row, with their scores."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from pyslide.checkpoint import Model, load_model
from pyslide.cli.output import add_json
from pyslide.data import load
from pyslide.inference import Ranking, top_k


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "predict",
        help="print the best labels of each row",
        description="Print the best labels of each row of FILE with their scores (logits), by name where known.",
        epilog="example:\n  pyslide predict model.npz TEST.txt.gz -k 3 --json > predictions.jsonl",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL.npz")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("-k", type=int, default=5, help="labels a row (5)")
    parser.add_argument("--sampled", action="store_true", help="compute only the neurons that the tables give")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Predict and print, a line a row."""
    model = load_model(options.model)
    conventions = model.settings.conventions
    if options.sampled:
        conventions = conventions.replace(inference="sampled")
    ranking = top_k(model.network, load(options.file).features, options.k, conventions)
    for row in range(len(ranking.labels)):
        predicted = predictions(ranking, row, model)
        if options.json:
            print(json.dumps({"row": row, "predictions": predicted}))
        else:
            print("\t".join(f"{one['name']}:{one['score']:.4f}" for one in predicted))
    return 0


def predictions(ranking: Ranking, row: int, model: Model) -> list[dict[str, Any]]:
    """Return one row's predictions, best first; fewer than k where fewer neurons were computed."""
    found = ranking.labels[row] >= 0
    names = model.label_names
    return [
        {"label": int(label), "name": names[label] if names else str(label), "score": float(np.float64(score))}
        for label, score in zip(ranking.labels[row][found], ranking.scores[row][found], strict=True)
    ]
