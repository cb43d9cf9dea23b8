"""``pyslide info``: what a model or data file holds."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from pyslide.checkpoint import load_model, settings_to_dict
from pyslide.cli.output import add_json, print_json, table
from pyslide.data import load


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "info",
        help="describe a model or data file",
        description="Describe a saved model (.npz) or a data file.",
        epilog="example:\n  pyslide info model.npz --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Describe the file."""
    described = model_facts(options.file) if Path(options.file).suffix == ".npz" else data_facts(options.file)
    if options.json:
        print_json(described)
    else:
        rows = [[name, short(value)] for name, value in described.items() if name != "settings"]
        print(table(["what", "value"], rows))
    return 0


def short(value: Any) -> str:
    """Return a value as people read it."""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def model_facts(path: str) -> dict[str, Any]:
    """Return what a saved model consists of."""
    model = load_model(path)
    layers = model.network.layers
    tables = [layer.hashing for layer in model.settings.layers]
    return {
        "kind": "model",
        "version": model.description["version"],
        "features": layers[0].weights.shape[1],
        "layers": ", ".join(str(layer.neurons) for layer in layers),
        "tables": ", ".join(
            "none" if one is None else f"{one.family} K={one.codes_per_table} L={one.tables}" for one in tables
        ),
        "candidates": ", ".join(
            f"{one.count} {one.distribution}, {'corrected' if one.correction else 'uncorrected'}"
            for one in (layer.candidates for layer in model.settings.layers)
            if one is not None
        )
        or "none",
        "weights": sum(layer.weights.size + layer.biases.size for layer in layers),
        "dtype": model.settings.dtype,
        "epochs": model.description["epoch"],
        "steps": model.network.steps,
        "label names": "no" if model.label_names is None else "yes",
        "settings": settings_to_dict(model.settings),
    }


def data_facts(path: str) -> dict[str, Any]:
    """Return the statistics of a data file."""
    return {"kind": "data", **dataclasses.asdict(load(path).statistics())}
