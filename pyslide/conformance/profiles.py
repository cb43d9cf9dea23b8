"""Whose answers are right, as the command line names them, and the exit codes of the kit."""

from __future__ import annotations

import json
from pathlib import Path

from pyslide.conventions import PRESETS, Conventions
from pyslide.errors import FormatError

CONFORMS, DOES_NOT, USAGE, BROKEN = 0, 1, 2, 3
"""Exit codes."""


def profile_of(name: str) -> Conventions:
    """Return a preset, or the conventions of a file.

    Raises
    ------
    FormatError, ConventionError
    """
    if name in PRESETS:
        return PRESETS[name]
    try:
        answers = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise FormatError(f"expected {', '.join(PRESETS)} or a JSON file of answers: {fault}", name) from fault
    if not isinstance(answers, dict):
        raise FormatError("expected an object of answers by question", name)
    return Conventions.from_dict(answers)
