"""What an experiment is: cells that are measured one by one, and what is said and drawn of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyslide import defaults
from pyslide.data import Dataset
from pyslide.errors import OutOfRangeError
from pyslide.settings import FAMILIES

Row = Mapping[str, Any]
"""One measurement: plain values by column."""
Settings = Mapping[str, Any]
"""All that determines a cell, with the data: the keyword arguments of `Experiment.measure`; plain values and
dataclasses of them."""

QUICK_STEPS = 200
QUICK_EVALUATIONS = 5
QUICK_ROWS = 400
"""What ``--quick`` stands for: steps of a run, pauses for an evaluation, and held-out rows."""

TRAINING = ("epochs", "steps", "learning_rate", "hidden", "batch_size", "threads")
EVALUATING = ("evaluations", "evaluation_rows")
TABLES = ("family", "codes_per_table", "tables", "active_share")
"""Choices that matter together."""


class Data(NamedTuple):
    """What is trained on and what is held out."""

    training: Dataset
    test: Dataset
    digest: str  # of both, see `pyslide.experiments.sources.digest_of`

    @property
    def labels(self) -> int:
        """Return the number of labels."""
        return self.training.label_count


class Finding(NamedTuple):
    """Something the paper says, and what was measured here."""

    claim: str
    measured: str


class Table(NamedTuple):
    """What a report shows of the rows."""

    header: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What somebody who runs an experiment can choose.

    Attributes
    ----------
    seeds : int
        Every cell is measured with the seeds 0, 1, ... below this.
    epochs : int
    steps : int, optional
        Of each training run, in place of the epochs.
    quick : bool
        Few values of everything that is varied.
    active_share : float
        The share of the output neurons up to which active sets are padded, and which sampled softmax draws.
    family : str
    codes_per_table, tables : int
        K and L.
    learning_rate : float
    hidden : tuple of int
    batch_size : int
    threads : int
        Cores for one batch.
    evaluations : int
        Pauses of a training run in which it is evaluated.
    evaluation_rows : int
        Held-out rows for that, always the same.
    """

    seeds: int = 3
    epochs: int = defaults.EPOCHS
    steps: int | None = None
    quick: bool = False
    active_share: float = 0.05
    family: str = "dwta"
    codes_per_table: int = 4
    tables: int = 50
    learning_rate: float = defaults.LEARNING_RATE
    hidden: tuple[int, ...] = defaults.HIDDEN
    batch_size: int = 128
    threads: int = 1
    evaluations: int = 20
    evaluation_rows: int = 1000

    def __post_init__(self) -> None:
        """Refuse what nothing can be measured with.

        Raises
        ------
        OutOfRangeError
            With the choice and its range.
        """
        counts = ("seeds", "epochs", "codes_per_table", "tables", "batch_size", "threads", "evaluations")
        for name in (*counts, "evaluation_rows"):
            if getattr(self, name) < 1:
                raise OutOfRangeError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if self.steps is not None and self.steps < 1:
            raise OutOfRangeError(f"steps: expected at least 1, got {self.steps}")
        if not self.hidden or min(self.hidden) < 1:
            raise OutOfRangeError(f"hidden: expected widths of at least 1, got {self.hidden}")
        if not 0 < self.active_share <= 1:
            raise OutOfRangeError(f"active_share: expected above 0 and at most 1, got {self.active_share}")
        if not self.learning_rate > 0:
            raise OutOfRangeError(f"learning_rate: expected above 0, got {self.learning_rate}")
        if self.family not in FAMILIES:
            raise OutOfRangeError(f"family: expected one of {', '.join(FAMILIES)}, got {self.family!r}")

    def some(self, values: Sequence[Any]) -> list[Any]:
        """Return the values that are tried: all, or for a quick run the first and the last."""
        return [values[0], values[-1]] if self.quick and len(values) > 2 else list(values)

    def steps_of(self, rows: int, batch_size: int | None = None) -> int:
        """Return the steps of a run on so many rows; with ``steps``, as many samples whatever the batch size."""
        size = self.batch_size if batch_size is None else batch_size
        if self.steps is not None:
            return max(1, self.steps * self.batch_size // size)
        return self.epochs * -(-rows // size)

    def active(self, labels: int, share: float | None = None) -> int:
        """Return how many neurons a share of the output layer is, at least one."""
        return max(1, int((self.active_share if share is None else share) * labels))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure or table.

    Attributes
    ----------
    name : str
        What the command line calls it.
    source : str
        The paper's figure or table; empty where it has none.
    title : str
        What is measured, in a line.
    explanation : str
        How, in a paragraph.
    cells : callable
        From choices and data to the settings of all cells.
    measure : callable
        From data and the settings of a cell, as keyword arguments, to rows.  A function of a module, so that every
        joblib backend can send it.
    table : callable
        What the report shows of all rows.
    findings : callable
        The paper's claims beside what was measured.
    draw : callable
        Draws all rows into an empty figure of matplotlib.
    choices : tuple of str
        The fields of `Choices` that matter, besides ``seeds`` and ``quick``.
    uses_data : bool
        Whether what is measured depends on the data.
    """

    name: str
    source: str
    title: str
    explanation: str
    cells: Callable[[Choices, Data], list[Settings]]
    measure: Callable[..., list[Row]]
    table: Callable[[Sequence[Row]], Table]
    findings: Callable[[Sequence[Row]], list[Finding]]
    draw: Callable[[Any, Sequence[Row]], None]
    choices: tuple[str, ...]
    uses_data: bool = True
