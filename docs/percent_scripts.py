"""Examples in the percent format: a Python program whose cells begin with ``# %%``, shown with what they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple


class Cell(NamedTuple):
    """A piece of a program."""

    markdown: bool
    body: str


def cells(text: str) -> list[Cell]:
    """Return the cells of a program; text cells without their comment signs."""
    parts = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)[1:]
    found = []
    for kind, body in zip(parts[::2], parts[1::2], strict=True):
        markdown = kind.strip() == "[markdown]"
        found.append(Cell(markdown, re.sub(r"^# ?", "", body, flags=re.MULTILINE) if markdown else body))
    return found


def page(path: Path) -> str:
    """Run a program and return it as a page, each cell with its output."""
    names = {"__name__": "example"}
    parts = []
    for cell in cells(path.read_text(encoding="utf-8")):
        if cell.markdown:
            parts.append(cell.body.strip())
            continue
        parts.append(f"```python\n{cell.body.strip()}\n```")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.body, str(path), "exec"), names)
        if printed.getvalue():
            parts.append(f"```text\n{printed.getvalue().rstrip()}\n```")
    parts.append(f"The program: {{download}}`{path.name} <../examples/{path.name}>`")
    return "\n\n".join(parts) + "\n"
