"""An operation: one step of SLIDE with named inputs and outputs, which any implementation may offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyslide.conformance.kinds import Field, decode_fields
from pyslide.conformance.plain import plain
from pyslide.conventions import PAPER, Conventions

Given = Mapping[str, Any]
"""Inputs by name, as the spec takes them."""
Answer = Mapping[str, Any]
"""Outputs by name."""

FEW_ROUNDINGS = 64
"""Most operations: sums of inputs of few bits are exact in any order, and exp, log, root and quotient are a few
roundings, the normaliser of a softmax over n neurons n more; no vector has more than 50."""
CANCELLING_ROUNDINGS = 2**13
"""Where Adam takes part: 1 - 0.999 multiplies a rounding of 0.999 by 1000, twice (moment and correction), times a few
roundings."""
TRACE_ROUNDINGS = 2**16
"""Whole traces: each of at most four steps can add `CANCELLING_ROUNDINGS`, and the next step's sums over two layers
can double what came before."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation.

    Attributes
    ----------
    name : str
    section : str
        Where the paper has it.
    summary : str
    inputs, outputs : tuple of Field
        Outputs in the order in which they arise: the first that differs is where an implementation departs.  An
        operation without a fixed list of outputs (a trace) names its stages itself.
    questions : tuple of str
        The questions of `pyslide.conventions` whose answers change the outputs.
    compute : callable
        What ``pyslide.spec`` gives, from decoded inputs under given conventions.
    primary : str
        The output that an implementation has to give; others are intermediate and may be left out.
    roundings : int
        By how many units of rounding, relative to the largest number of an output, a right answer may be off.
    """

    name: str
    section: str
    summary: str
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    questions: tuple[str, ...]
    compute: Callable[[Given, Conventions], Answer]
    primary: str
    roundings: int = FEW_ROUNDINGS

    def run(self, inputs: Mapping[str, Any], conventions: Conventions = PAPER) -> dict[str, Any]:
        """Return the outputs for inputs in plain JSON, as plain JSON.

        Raises
        ------
        PyslideError
            If the inputs are refused.
        """
        given = decode_fields(self.inputs, inputs, self.name)
        answer: dict[str, Any] = plain(dict(self.compute(given, conventions)))
        return answer
