"""``pyslide choose``: which K, L and bucket size find the neurons one wants."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyslide.agreement import Agreement, measure
from pyslide.checkpoint import Model, load_model
from pyslide.choosing import Candidate, Collisions, Wish, candidates, nearest_misses
from pyslide.cli.output import add_json, percent, print_json, table
from pyslide.data import load, load_standard_library
from pyslide.errors import OutOfRangeError
from pyslide.randomness import generators
from pyslide.settings import FAMILIES, Hashing
from pyslide.theory import correlated_winner_collision_probability, simhash_collision_probability

EXAMPLES = """examples:
  pyslide choose --neurons 670091 --wanted-cosine 0.8 --active 3000
  pyslide choose --neurons 670091 --family simhash --wanted 0.9 --other 0.55 --active 3000
  pyslide choose --model model.npz --test TEST.txt.gz --active 500
"""
HEADER = ("K", "L", "bucket", "recall", "active", "load", "overflow %", "MB", "reads/sample", "Mreads/rebuild")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
GIVEN_UP = {
    "active": "more active neurons",
    "tables": "more tables",
    "recall": "a lower recall",
}
"""What helps, by the limit that is given up."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "choose",
        help="list K, L and bucket sizes that find the neurons one wants",
        description="List K, L and bucket sizes that find the neurons one wants within a budget of active neurons, by "
        "the exact laws for independent codes; how alike they are is given, or measured on a saved network.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_layer(parser)
    add_similarity(parser)
    limits = parser.add_argument_group("limits")
    limits.add_argument("--recall", type=float, default=0.9, help="probability that a wanted neuron is found (0.9)")
    limits.add_argument("--active", type=float, default=1000, help="expected active neurons a sample, at most (1000)")
    limits.add_argument("--most-tables", type=int, default=200, metavar="L", help="(200)")
    parser.add_argument("--rows", type=int, default=10, help="how many to print (10)")
    add_json(parser)
    parser.set_defaults(run=run)


def add_layer(parser: argparse.ArgumentParser) -> None:
    """Add the options of the layer and its hash functions."""
    group = parser.add_argument_group("layer")
    group.add_argument("--neurons", type=int, metavar="N", help="neurons of the layer")
    group.add_argument("--inputs", type=int, default=128, metavar="d", help="inputs of a neuron (128)")
    group.add_argument("--family", choices=FAMILIES, help="hash family (dwta, or the model's)")
    group.add_argument("--bin-size", type=int, metavar="m", help="places of a bin, all but SimHash (8, or the model's)")
    group.add_argument("--kept", type=int, help="largest coordinates that MinHash keeps (32, or the model's)")
    group.add_argument("--table-bits", type=int, help="a table has 2^BITS buckets (18, or the model's)")


def add_similarity(parser: argparse.ArgumentParser) -> None:
    """Add the options of how alike neurons and inputs are."""
    group = parser.add_argument_group("similarity: given")
    for name, help_ in (("wanted", "of a neuron that is to be found"), ("other", "of a typical other one (by chance)")):
        either = group.add_mutually_exclusive_group()
        either.add_argument(f"--{name}", type=float, metavar="P", help=f"one-code collision probability {help_}")
        either.add_argument(f"--{name}-cosine", type=float, metavar="C", help="or its cosine to the input")
    measured = parser.add_argument_group("similarity: measured")
    measured.add_argument("--model", metavar="MODEL.npz", help="a saved network")
    measured.add_argument("--test", metavar="FILE", help="rows to look at (those of the data set that ships)")
    measured.add_argument("--find", choices=("labels", "top"), default="labels", help="neurons to find: the rows' "
                          "labels, or the 100 with the largest activations (labels)")  # fmt: skip
    measured.add_argument("--seed", type=int, default=0, help="(0)")


def run(options: argparse.Namespace) -> int:
    """Look, and print what was found; 1 if nothing is feasible."""
    if options.model is None:
        agreement = None
        wish = wish_of(options, Hashing(), required(options, "neurons"), options.inputs)
        collisions = given(options, wish.hashing)
    else:
        model = load_model(options.model)
        output = model.network.layers[-1]
        start = model.settings.layers[-1].hashing or Hashing()
        wish = wish_of(options, start, output.neurons, output.weights.shape[1])
        agreement = measured(options, model, wish.hashing)
        collisions = agreement.wanting(options.find)
    found = candidates(wish, collisions)
    misses = {} if found else nearest_misses(wish, collisions)
    if options.json:
        print_json(as_json(agreement, found, misses))
    else:
        print("\n\n".join(as_text(agreement, found[: options.rows], misses, wish)))
    return 0 if found else 1


def required(options: argparse.Namespace, name: str) -> Any:
    """Return an option's value.

    Raises
    ------
    OutOfRangeError
        If it was not given.
    """
    value = getattr(options, name)
    if value is None:
        raise OutOfRangeError(f"--{name}: expected a number, or --model with a saved network; got neither")
    return value


def wish_of(options: argparse.Namespace, start: Hashing, neurons: int, inputs: int) -> Wish:
    """Return what is wished; what is not said of the hash functions is as in ``start``."""
    named = {name: getattr(options, name) for name in ("family", "bin_size", "kept", "table_bits")}
    hashing = replace(start, **{name: value for name, value in named.items() if value is not None})
    return Wish(
        neurons=neurons,
        hashing=hashing,
        inputs=inputs,
        recall=options.recall,
        active=options.active,
        tables=options.most_tables,
    )


def given(options: argparse.Namespace, hashing: Hashing) -> Collisions:
    """Return the collision probabilities on the command line."""
    if options.wanted is None and options.wanted_cosine is None:
        required(options, "wanted")
    wanted = options.wanted if options.wanted_cosine is None else of_cosine(options.wanted_cosine, hashing)
    if options.other is None:
        return Collisions.of(wanted, of_cosine(options.other_cosine or 0.0, hashing))
    return Collisions.of(wanted, options.other)


def of_cosine(cosine: float, hashing: Hashing) -> float:
    """Return the one-code collision probability of vectors with a cosine.

    Raises
    ------
    OutOfRangeError
        For MinHash, which knows no cosine.
    """
    if hashing.family == "minhash":
        raise OutOfRangeError(
            "--family minhash: expected --wanted and --other, Jaccard similarities of largest coordinates; got a cosine"
        )
    if hashing.family == "simhash":
        return float(simhash_collision_probability(cosine))
    return float(correlated_winner_collision_probability(cosine, hashing.bin_size))


def measured(options: argparse.Namespace, model: Model, hashing: Hashing) -> Agreement:
    """Measure a saved network on some rows."""
    test = load(options.test) if options.test else load_standard_library("test")
    (generator,) = generators(options.seed, 1)
    return measure(model.network, test.features, test.labels, hashing, model.settings.conventions, generator)


def quantiles(agreement: Agreement) -> dict[str, list[float]]:
    """Return quantiles of the share of equal codes, by group of neurons."""
    groups = {"labels": agreement.labels, "top": agreement.top, "random": agreement.random}
    return {name: np.quantile(values, QUANTILES).tolist() for name, values in groups.items()}


def as_json(agreement: Agreement | None, found: Sequence[Candidate], misses: Mapping[str, Candidate]) -> dict[str, Any]:
    """Return everything as what JSON can hold."""
    return {
        "agreement": None if agreement is None else {"quantiles": list(QUANTILES), **quantiles(agreement)},
        "feasible": [one._asdict() for one in found],
        "nearest": {limit: one._asdict() for limit, one in misses.items()},
    }


def as_text(
    agreement: Agreement | None, found: Sequence[Candidate], misses: Mapping[str, Candidate], wish: Wish
) -> list[str]:
    """Return paragraphs for people."""
    paragraphs = []
    if agreement is not None:
        header = ["share of equal codes", *(f"{share:.0%}" for share in QUANTILES)]
        rows = [[name, *(f"{one:.3f}" for one in values)] for name, values in quantiles(agreement).items()]
        paragraphs.append(table(header, rows))
    if found:
        return [*paragraphs, table(HEADER, [line(one) for one in found])]
    limits = f"{wish.recall:g} of the wanted neurons, {wish.active:g} active ones and {wish.tables} tables"
    if not misses:
        return [*paragraphs, f"nothing finds {limits}: wanted neurons are hardly more alike to the input than others"]
    rows = [[GIVEN_UP[limit], *line(one)] for limit, one in misses.items()]
    return [*paragraphs, f"nothing fulfils all three: {limits}", table(["it could be had with", *HEADER], rows)]


def line(one: Candidate) -> list[str]:
    """Return one candidate as a line of a table."""
    return [
        str(one.codes_per_table),
        str(one.tables),
        "any" if one.capacity is None else str(one.capacity),
        f"{one.recall:.3f}",
        f"{one.active:,.0f}",
        f"{one.load:,.2f}",
        percent(one.overflow),
        f"{one.megabytes:,.1f}",
        f"{one.sample_reads:,}",
        f"{one.rebuild_reads / 1e6:,.0f}",
    ]
