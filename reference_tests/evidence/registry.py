"""The registry of evidence, and the page that shows it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from reference_tests.evidence.functions import public_functions
from reference_tests.evidence.witnesses import witness_of
from reference_tests.mutants.catalogue import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = Path(__file__).with_name("registry.json")
PAGE = ROOT / "docs" / "evidence.md"
HEAD = """# The evidence for each function

Made by `python -m reference_tests.evidence fill`; do not edit. For every public function of the spec and the engine:

- a **property** test, which draws its cases, and a **witness**, a test whose expectation comes from something
  that does not know the function (for the engine: the spec, which is itself held to witnesses). Both were seen to fail
  when the function gives a wrong result: the last number off by a thousandth, the last integer by one, a truth
  value turned, a function without a result not called. `python -m reference_tests.evidence` shows it again; the
  project's checks run it.
- its **mutants** by hand: faults inside it, among them those of public implementations, from
  `reference_tests/mutants/catalogue.py`; `python -m reference_tests.mutants` shows which test catches each. Where the
  column is empty, the wrong result above is the only mutant.

"""


def read_registry() -> dict[str, dict[str, str]]:
    """Return tests by function and kind."""
    return dict(json.loads(REGISTRY.read_text(encoding="utf-8"))) if REGISTRY.exists() else {}


def write_registry(found: dict[str, dict[str, str]]) -> None:
    """Write tests by function and kind."""
    REGISTRY.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def source_lines(name: str) -> tuple[Path, range]:
    """Return the file of a function and the lines that it takes."""
    code = public_functions()[name].__code__
    last = max(line for *_, line in code.co_lines() if line is not None)
    return Path(code.co_filename).relative_to(ROOT), range(code.co_firstlineno, last + 1)


def line_of(mutant: Mutant) -> int:
    """Return the line at which a mutant changes its file."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    return text.count("\n", 0, text.index(mutant.old)) + 1


def mutants_of(name: str, mutants: Iterable[Mutant] = MUTANTS) -> list[str]:
    """Return the mutants that change a function."""
    path, lines = source_lines(name)
    return [mutant.name for mutant in mutants if Path(mutant.file) == path and line_of(mutant) in lines]


def short(test: str) -> str:
    """Return a test's id without the folder that all share."""
    return f"`{test.removeprefix('reference_tests/')}`"


def page(found: dict[str, dict[str, str]]) -> str:
    """Return the page as Markdown."""
    lines = ["| function | property | witness | by | mutants |", "|---|---|---|---|---|"]
    for name, tests in found.items():
        shown = [short(tests[kind]) if kind in tests else "**none**" for kind in ("property", "witness")]
        witness = witness_of(tests.get("witness", ""))
        lines.append(f"| `{name}` | {shown[0]} | {shown[1]} | {witness} | {', '.join(mutants_of(name))} |")
    return HEAD + "\n".join(lines) + "\n"
