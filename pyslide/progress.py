"""A training run seen from outside: loss, P@1, active share and samples/s, on stderr."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any, TextIO

from pyslide.training import StepRecord, Trainer

SMOOTHING = 0.05
"""Weight of the newest step in the figures that are shown."""
SECONDS_BETWEEN_LINES = 2.0
"""How often a line is printed where there is no bar."""


class Running:
    """Exponentially smoothed figures of the last steps."""

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}

    def add(self, record: StepRecord) -> dict[str, str]:
        """Take in a step and return what is shown."""
        newest = {
            "loss": record.loss,
            "P@1": 100 * record.precision_at_1,
            "active": 100 * record.active_share,
            "samples/s": record.samples / record.seconds,
        }
        for name, figure in newest.items():
            before = self.figures.get(name, figure)
            self.figures[name] = before + SMOOTHING * (figure - before)
        shown = self.figures
        return {
            "loss": f"{shown['loss']:.3f}",
            "P@1": f"{shown['P@1']:.1f}%",
            "active": f"{shown['active']:.2f}%",
            "samples/s": f"{shown['samples/s']:,.0f}",
        }


class Lines:
    """A line every few seconds."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self.total, self.stream, self.running = total, stream, Running()
        self.printed = time.monotonic()

    def __call__(self, trainer: Trainer, record: StepRecord) -> None:
        """Show a step, if it is time."""
        shown = self.running.add(record)
        if time.monotonic() - self.printed >= SECONDS_BETWEEN_LINES or record.step == self.total:
            self.printed = time.monotonic()
            figures = ", ".join(f"{name} {figure}" for name, figure in shown.items())
            print(f"step {record.step}/{self.total}, epoch {record.epoch + 1}: {figures}", file=self.stream)

    def close(self) -> None:
        """Nothing is left open."""


class Bar:
    """A live bar by tqdm (extra ``progress``)."""

    def __init__(self, total: int, stream: TextIO, tqdm: Any, initial: int) -> None:
        self.bar = tqdm.tqdm(total=total, file=stream, unit="step", initial=initial, dynamic_ncols=True)
        self.running = Running()

    def __call__(self, trainer: Trainer, record: StepRecord) -> None:
        """Show a step."""
        self.bar.set_postfix(self.running.add(record), refresh=False)
        self.bar.update()

    def close(self) -> None:
        """Leave the last state of the bar standing."""
        self.bar.close()


def progress(total: int, initial: int = 0, stream: TextIO | None = None) -> Bar | Lines:
    """Return a callback that shows progress: a live bar on a terminal where tqdm is installed, else lines.

    Parameters
    ----------
    total, initial : int
        Steps of the whole run, and those made before.
    stream : text stream, optional
        stderr unless given.
    """
    stream = stream or sys.stderr
    if stream.isatty():
        try:
            return Bar(total, stream, importlib.import_module("tqdm"), initial)
        except ImportError:
            pass
    return Lines(total, stream)
