"""Options that describe a network and its training, and what becomes of them."""

from __future__ import annotations

import argparse
import os

from pyslide import defaults
from pyslide.conventions import PRESETS, QUESTIONS, Conventions
from pyslide.errors import ConventionError, FormatError
from pyslide.settings import DISTRIBUTIONS, FAMILIES, STRATEGIES, CandidateSampling, Hashing, LayerSettings
from pyslide.spec.optimizer import Optimizer
from pyslide.spec.sampling import Sampling
from pyslide.training import Schedule, TrainingSettings


def widths(text: str) -> tuple[int, ...]:
    """Return the widths in a text such as ``128,64``."""
    return tuple(int(part) for part in text.split(","))


def add_network(parser: argparse.ArgumentParser) -> None:
    """Add the options of the network and its tables."""
    group = parser.add_argument_group("network")
    group.add_argument("--hidden", type=widths, default=defaults.HIDDEN, metavar="N,N", help="hidden layers (128)")
    group.add_argument("--initial-scale", type=float, default=defaults.INITIAL_SCALE, help="of hidden weights (0.1)")
    group.add_argument("--output-scale", type=float, help="of the output's weights (as the hidden ones)")
    baseline = group.add_mutually_exclusive_group()
    baseline.add_argument("--full", action="store_true", help="no tables: the full softmax")
    baseline.add_argument("--sampled-softmax", choices=DISTRIBUTIONS, help="no tables: random candidates and labels")
    group.add_argument("--candidates", type=int, metavar="N", help="of the sampled softmax (a fifth of the labels)")
    group.add_argument("--no-correction", action="store_true", help="of its logits by the candidates' probabilities")
    add_tables(parser)


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add the options of the output layer's tables."""
    tables = parser.add_argument_group("tables of the output layer")
    tables.add_argument("--family", choices=FAMILIES, default="dwta", help="hash family (dwta)")
    tables.add_argument("-K", "--codes-per-table", type=int, default=4, metavar="K", help="codes a key (4)")
    tables.add_argument("-L", "--tables", type=int, default=50, metavar="L", help="tables (50)")
    tables.add_argument("--bin-size", type=int, default=8, help="places of a bin, all but SimHash (8)")
    tables.add_argument("--kept", type=int, default=32, help="largest coordinates that MinHash keeps (32)")
    tables.add_argument("--table-bits", type=int, default=18, help="a table has 2^BITS buckets (18)")
    tables.add_argument("--capacity", type=int, default=128, help="slots of a bucket (128)")
    tables.add_argument("--strategy", choices=STRATEGIES, default="union", help="sampling strategy (union)")
    tables.add_argument("--budget", type=int, default=0, help="beta of vanilla and top_k")
    tables.add_argument("--minimum-count", type=int, default=1, help="m of hard_threshold (1)")
    tables.add_argument("--minimum-active", type=int, help="pad active sets up to this (a fifth of the labels or 1000)")


def add_training(parser: argparse.ArgumentParser) -> None:
    """Add the options of the training."""
    group = parser.add_argument_group("training")
    group.add_argument("--epochs", type=int, default=defaults.EPOCHS, help=f"({defaults.EPOCHS})")
    group.add_argument("--steps", type=int, help="stop after so many steps in all")
    group.add_argument("--batch-size", type=int, default=128, help="(128)")
    group.add_argument("--optimizer", choices=("adam", "sgd"), default="adam", help="(adam)")
    group.add_argument("--learning-rate", type=float, default=defaults.LEARNING_RATE, help="(2e-3)")
    group.add_argument("--momentum", type=float, default=0.0, help="of SGD (0)")
    group.add_argument("--first-interval", type=float, default=50.0, help="steps before the first rebuild (50)")
    group.add_argument("--growth", type=float, default=0.0, help="lambda of the rebuild schedule (0)")
    group.add_argument("--redraw-every", type=int, default=0, help="new hash functions every so many rebuilds (never)")
    group.add_argument("--seed", type=int, default=0, help="(0)")
    group.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="(float32)")
    group.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="cores for one batch (all)")
    add_conventions(group)


def add_conventions(group: argparse._ActionsContainer) -> None:
    """Add the options of the conventions."""
    group.add_argument("--preset", choices=list(PRESETS), help="conventions to start from (PAPER, padding weighted)")
    group.add_argument("--convention", action="append", default=[], metavar="FIELD=ANSWER", help="see conventions")


def conventions_of(options: argparse.Namespace) -> Conventions:
    """Return the conventions that the options ask for.

    Raises
    ------
    ConventionError
        If a question or an answer is unknown.
    """
    answers = {}
    for text in options.convention:
        field, separator, answer = text.partition("=")
        if not separator:
            known = ", ".join(question.field for question in QUESTIONS)
            raise ConventionError(f"--convention: expected FIELD=ANSWER with a field of {known}; got {text!r}")
        answers[field] = answer
    start = PRESETS[options.preset] if options.preset else defaults.CONVENTIONS
    return start.replace(**answers)


def require_sampled_softmax(options: argparse.Namespace) -> None:
    """Refuse options of a sampled softmax without one.

    Raises
    ------
    FormatError
        With the option.
    """
    given = {"--candidates": options.candidates is not None, "--no-correction": options.no_correction}
    for name in (name for name, is_given in given.items() if is_given and options.sampled_softmax is None):
        raise FormatError(f"{name}: expected --sampled-softmax, too")


def candidates_of(options: argparse.Namespace, labels: int) -> CandidateSampling | None:
    """Return the sampled softmax that the options ask for, None for none."""
    if options.sampled_softmax is None:
        return None
    return CandidateSampling(
        distribution=options.sampled_softmax,
        count=defaults.default_candidates(labels) if options.candidates is None else options.candidates,
        correction=not options.no_correction,
    )


def hashing_of(options: argparse.Namespace, labels: int) -> Hashing | None:
    """Return the tables that the options ask for, None for the full softmax."""
    if options.full:
        return None
    padding = options.minimum_active
    sampling = Sampling(
        strategy=options.strategy,
        budget=options.budget,
        minimum_count=options.minimum_count,
        minimum_active=defaults.default_padding(labels) if padding is None else padding,
    )
    return Hashing(
        family=options.family,
        codes_per_table=options.codes_per_table,
        tables=options.tables,
        bin_size=options.bin_size,
        kept=options.kept,
        table_bits=options.table_bits,
        capacity=options.capacity,
        sampling=sampling,
    )


def settings_of(options: argparse.Namespace, labels: int) -> TrainingSettings:
    """Return the settings that the options ask for, for an output layer of so many neurons."""
    scale = options.initial_scale if options.output_scale is None else options.output_scale
    hidden = [LayerSettings(neurons=neurons, initial_scale=options.initial_scale) for neurons in options.hidden]
    candidates = candidates_of(options, labels)
    hashing = hashing_of(options, labels) if candidates is None else None
    output = LayerSettings(neurons=labels, initial_scale=scale, hashing=hashing, candidates=candidates)
    return TrainingSettings(
        layers=(*hidden, output),
        batch_size=options.batch_size,
        seed=options.seed,
        dtype=options.dtype,
        threads=options.threads,
        optimizer=Optimizer(
            rule=options.optimizer, learning_rate=options.learning_rate, momentum=options.momentum
        ),
        schedule=Schedule(
            first_interval=options.first_interval, growth=options.growth, redraw_every=options.redraw_every
        ),
        conventions=conventions_of(options),
    )
