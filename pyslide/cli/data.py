"""``pyslide data``: check, convert and synthesize data files."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

import numpy as np

from pyslide.cli.output import add_json, print_json, table
from pyslide.data import CATALOGUE, check_against, load, planted_dataset, write_extreme, write_libsvm


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "data", help="check, convert or synthesize data files", description="Check, convert or synthesize data files."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    add_check(actions)
    add_convert(actions)
    add_synthesize(actions)


def add_check(actions: Any) -> None:
    """Add ``data check``."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "check",
        help="read a whole file, and hold it against the published figures of a public set",
        epilog="example:\n  pyslide data check amazon_train.txt --as amazon-670k --split train",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--as", dest="name", type=public_set, choices=sorted(CATALOGUE), help="a public set")
    parser.add_argument("--split", choices=("train", "test"), default="train", help="(train)")
    add_json(parser)
    parser.set_defaults(run=check)


def public_set(name: str) -> str:
    """Return a public set's name as the catalogue spells it."""
    return next((known for known in CATALOGUE if known.lower() == name.lower()), name)


def check(options: argparse.Namespace) -> int:
    """Read a file and compare; 1 where something differs."""
    data = load(options.file)
    statistics = dataclasses.asdict(data.statistics())
    findings = check_against(data, options.name, options.split) if options.name else []
    if options.json:
        found = [{**dataclasses.asdict(finding), "ok": finding.ok} for finding in findings]
        print_json({"statistics": statistics, "findings": found})
    else:
        print(table(["what", "value"], [[name, f"{value:g}" if isinstance(value, float) else str(value)]
                                        for name, value in statistics.items()]))
        for finding in findings:
            verdict = "ok" if finding.ok else f"expected {finding.expected}"
            print(f"{options.name} {finding.what}: {finding.got} {verdict}")
    return 0 if all(finding.ok for finding in findings) else 1


def add_convert(actions: Any) -> None:
    """Add ``data convert``."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "convert",
        help="rewrite a file in the other format; .gz by the name's ending",
        epilog="example:\n  pyslide data convert train.svm train.txt.gz --to extreme",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="IN")
    parser.add_argument("target", metavar="OUT")
    parser.add_argument("--to", choices=("extreme", "libsvm"), required=True)
    parser.set_defaults(run=convert)


def convert(options: argparse.Namespace) -> int:
    """Read one format and write the other."""
    data = load(options.source)
    if options.to == "extreme":
        write_extreme(options.target, data.features, data.labels)
    else:
        write_libsvm(options.target, data)
    print(f"wrote {data.rows} rows to {options.target}", file=sys.stderr)
    return 0


def add_synthesize(actions: Any) -> None:
    """Add ``data synthesize``."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "synthesize",
        help="write a set with planted labels",
        epilog="example:\n  pyslide data synthesize wide.txt.gz --rows 5000 --features 20000 --labels 100000",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="OUT")
    parser.add_argument("--rows", type=int, default=10_000, help="(10000)")
    parser.add_argument("--features", type=int, default=10_000, help="(10000)")
    parser.add_argument("--labels", type=int, default=1_000, help="(1000)")
    parser.add_argument("--nonzeros-per-row", type=int, default=50, help="feature draws a row (50)")
    parser.add_argument("--labels-per-row", type=float, default=3.0, help="(3)")
    parser.add_argument("--noise", type=float, default=0.2, help="share of features that tell nothing (0.2)")
    parser.add_argument("--seed", type=int, default=0, help="(0)")
    parser.set_defaults(run=synthesize)


def synthesize(options: argparse.Namespace) -> int:
    """Draw a set and write it."""
    data = planted_dataset(
        options.rows,
        options.features,
        options.labels,
        np.random.default_rng(options.seed),
        nonzeros_per_row=options.nonzeros_per_row,
        labels_per_row=options.labels_per_row,
        noise=options.noise,
    )
    write_extreme(options.target, data.features, data.labels)
    print(f"wrote {data.rows} rows to {options.target}", file=sys.stderr)
    return 0
