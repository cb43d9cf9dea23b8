"""The command line: one module a command.

Results go to stdout, progress and messages to stderr.  Exit codes: 0 all is well, 1 a finding or a failure, 2 a
usage error.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from pyslide import __version__
from pyslide.cli import bench, choose, conformance, conventions, data, evaluate, experiment, info, predict, train
from pyslide.errors import PyslideError

EXAMPLES = """examples:
  pyslide train                              train on the data set that ships
  pyslide train TRAIN.txt.gz TEST.txt.gz --save model.npz
  pyslide evaluate model.npz TEST.txt.gz
  pyslide predict model.npz TEST.txt.gz -k 3
  pyslide data check TRAIN.txt --as amazon-670k
  pyslide choose --neurons 670091 --wanted-cosine 0.8 --active 3000
  pyslide conventions                        on what implementations of SLIDE disagree
  pyslide experiment list                    the paper's figures and tables at small scale
  pyslide verify --adapter ./harness         what is wrong with another implementation, and what it matches
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="pyslide",
        description="A reference implementation of SLIDE, the sub-linear deep learning engine.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pyslide {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (train, evaluate, predict, data, info, conventions, choose, bench, experiment, conformance):
        command.add_to(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line without the program's name; `sys.argv` unless given.
    """
    parser = build_parser()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            options = parser.parse_args(train.with_configuration(arguments, parser))
            return int(options.run(options))
    except SystemExit as exit_:  # argparse ends the program by itself
        return int(exit_.code or 0) if not isinstance(exit_.code, str) else 2
    except KeyboardInterrupt:
        print("pyslide: interrupted", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (PyslideError, OSError) as failure:
        print(f"pyslide: {failure}", file=sys.stderr)
        return 1


def show_warning(message: Warning | str, *place: object, **more: object) -> None:
    """Print a warning as a message, without the line of code that gave it."""
    print(f"pyslide: warning: {message}", file=sys.stderr)
