"""``pyslide bench``: speed, as ratios measured side by side in one run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyslide.bench import SHAPES, Case, measure, plots
from pyslide.bench.cases import rows_needed, shape_of, some_rows, synthetic_rows
from pyslide.bench.contenders import peers_named, require_installed
from pyslide.bench.ladder import RUNGS, climb, fitting_codes
from pyslide.bench.memory import peak_copies
from pyslide.bench.roofline import measure_roofline
from pyslide.bench.workers import measure_workers
from pyslide.cli import bench_reports as reports
from pyslide.cli.output import add_json, print_json
from pyslide.cli.settings import add_conventions, add_tables, conventions_of, hashing_of
from pyslide.data import load
from pyslide.errors import FormatError, OutOfRangeError
from pyslide.settings import Hashing

QUICK, QUICK_RUNGS, QUICK_STEPS = "width-10000", RUNGS[:-1], 5
"""What fits a minute."""
DEFAULT_CODES = 4
"""K, unless it is given."""
EXAMPLES = """examples:
  pyslide bench --quick
  pyslide bench --shape amazon-670k --peers all --plot bench.svg
  pyslide bench --shape amazon-670k --peers torch -K 6 --convention packing=natural_log_bits
  pyslide bench --ladder --convention padding_draws=shared_by_batch
  pyslide bench --roofline --shape width-100000
  pyslide bench --workers 2 --steps 40
"""


def peers(word: str) -> tuple[str, ...]:
    """Return the contenders that a word of the command line means."""
    try:
        return peers_named(word)
    except OutOfRangeError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault


def add_to(commands: Any) -> None:
    """Add the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "bench",
        help="measure speed, contenders side by side",
        description="Train contenders in turn on the same batches, each in a process of its own, and print "
        "milliseconds a step, rebuilds included, and how many times as fast each is as the slowest.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_subject(parser)
    add_tables(parser)
    add_conventions(parser.add_argument_group("conventions"))
    parser.set_defaults(full=False, sampled_softmax=None, minimum_active=1000, codes_per_table=None)
    output = parser.add_argument_group("output")
    output.add_argument("--stages", action="store_true", help="where the time goes")
    output.add_argument("--memory", action="store_true", help="peak memory of arrays, in copies of the output weights")
    output.add_argument("--csv", type=Path, metavar="FILE", help="write the measurements there, too")
    output.add_argument("--plot", type=Path, metavar="FILE", help="draw them to a .png or .svg file")
    add_json(parser)
    parser.set_defaults(run=run)


def add_subject(parser: argparse.ArgumentParser) -> None:
    """Add the options of what is measured."""
    parser.add_argument("--shape", choices=list(SHAPES), default="amazon-670k", help="(amazon-670k)")
    parser.add_argument("--data", metavar="FILE", help="rows of a file in place of synthetic ones")
    parser.add_argument("--outputs", type=int, help="another number of output neurons")
    parser.add_argument(
        "--active", dest="minimum_active", type=int, metavar="N", help="the same as --minimum-active, here 1000"
    )
    parser.add_argument("--steps", type=int, default=10, help="timed turns of each (10): a step, or 50 of workers")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="cores (all)")
    parser.add_argument(
        "--peers", nargs="+", action="extend", type=peers, metavar="NAME",
        help=f"beside SLIDE: all, torch (all of PyTorch's), or one of: {', '.join(peers_named('all'))}",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK} beside our full softmax, {QUICK_STEPS} steps; fits a minute"
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--ladder", action="store_true", help="SLIDE at 10^3 to 10^6 outputs, in place of peers")
    instead.add_argument("--workers", type=int, metavar="N", help="so many workers beside one, in place of peers")
    instead.add_argument(
        "--roofline", action="store_true", help="SLIDE's stages beside the memory bandwidth, in place of peers"
    )


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    if options.quick:
        options.shape, options.steps = QUICK, min(options.steps, QUICK_STEPS)
        options.peers = options.peers or [("full softmax",)]
    check_before_work(options)
    if options.ladder:
        return run_ladder(options)
    case = case_of(options)
    shape = case.shape
    print(f"{shape.features} features, {shape.labels} outputs, batch {shape.batch}", file=sys.stderr)
    if options.workers is not None:
        workers = measure_workers(case, [options.workers])
        return report(options, [row._asdict() for row in workers], reports.worker_table(workers))
    if options.roofline:
        return run_roofline(options, case)
    return run_comparison(options, case)


def contenders_of(options: argparse.Namespace) -> list[str]:
    """Return SLIDE and the peers that were asked for, each once."""
    return list(dict.fromkeys(["slide", *(name for names in options.peers or [] for name in names)]))


def check_before_work(options: argparse.Namespace) -> None:
    """Refuse what would fail only after the measuring.

    Raises
    ------
    MissingExtraError
        If a library is missing.
    FormatError, OutOfRangeError
        If a file could not be written, or there is nothing to measure or to draw.
    """
    for name in ("steps", "threads"):
        if getattr(options, name) < 1:
            raise OutOfRangeError(f"--{name}: expected at least 1, got {getattr(options, name)}")
    for path in (options.csv, options.plot):
        if path is not None and not path.absolute().parent.is_dir():
            raise FormatError("expected a name in a folder that exists", path)
    if options.plot is not None:
        if options.roofline or options.workers is not None:
            raise OutOfRangeError("--plot: expected a comparison or a ladder to draw")
        plots.require_plot(options.plot)
    if not (options.ladder or options.roofline or options.workers is not None):
        require_installed(contenders_of(options))


def case_of(options: argparse.Namespace) -> Case:
    """Return what is trained on: some rows of a file, or synthetic rows of a shape.

    Raises
    ------
    FormatError
        If the file is none that `pyslide.data.load` reads.
    ConventionError
        If a question or an answer is unknown.
    """
    conventions = conventions_of(options)
    if options.data is not None:
        data = load(options.data)
        shape = shape_of(data)
        data = some_rows(data, rows_needed(shape, options.steps))
    else:
        shape = SHAPES[options.shape]
        if options.outputs is not None:
            shape = shape._replace(labels=options.outputs)
        data = synthetic_rows(shape, options.steps)
    return Case(data, shape, tables_of(options), conventions, options.threads)


def tables_of(options: argparse.Namespace) -> Hashing:
    """Return the tables that the options ask for; K is 4 unless given."""
    codes = DEFAULT_CODES if options.codes_per_table is None else options.codes_per_table
    hashing = hashing_of(argparse.Namespace(**{**vars(options), "codes_per_table": codes}), 0)
    assert hashing is not None  # --full is no option here
    return hashing


def run_comparison(options: argparse.Namespace, case: Case) -> int:
    """Measure contenders side by side and print."""
    rows = measure(case, contenders_of(options), options.steps)
    copies = peak_copies(case) if options.memory else None
    if options.plot is not None:
        plots.save(plots.draw_comparison(rows), options.plot)
    records = [reports.as_json(row) for row in rows]
    texts = [reports.comparison_table(rows)]
    if copies is not None:
        texts.append(f"peak memory of arrays: {copies:.2f} copies of the output weights")
    if options.stages:
        texts.append(reports.stage_table(rows))
    about = {"shape": options.data or options.shape, **case.shape._asdict(), "peak_copies": copies}
    return report(options, records, "\n\n".join(texts), {**about, "results": records})


def run_ladder(options: argparse.Namespace) -> int:
    """Measure SLIDE at every width and print; unless K is given it grows with the width."""
    conventions, hashing = conventions_of(options), tables_of(options)
    names = QUICK_RUNGS if options.quick else RUNGS
    own = options.codes_per_table is None
    hashings = {name: fitting_codes(hashing, SHAPES[name].labels) if own else hashing for name in names}
    rungs = climb(hashings, conventions, options.steps, options.threads)
    if options.plot is not None:
        plots.save(plots.draw_ladder(rungs), options.plot)
    records = [{"outputs": rung.outputs, **reports.as_json(rung.measurement)} for rung in rungs]
    return report(options, records, reports.ladder_table(rungs))


def run_roofline(options: argparse.Namespace, case: Case) -> int:
    """Measure SLIDE's stages beside the memory bandwidth and print."""
    measured = measure_roofline(case, options.steps)
    records = [stage._asdict() for stage in measured.stages]
    about = {"bandwidth": measured.bandwidth._asdict(), "counts": measured.counts._asdict()}
    return report(options, records, reports.roofline_text(measured), {**about, "stages": records})


def report(
    options: argparse.Namespace, records: Sequence[dict[str, Any]], text: str, document: Any = None
) -> int:
    """Write measurements to a file where asked for, and print them as JSON or for people."""
    if options.csv is not None:
        reports.write_csv(options.csv, records)
    if options.json:
        print_json(records if document is None else document)
    else:
        print(text)
    return 0
