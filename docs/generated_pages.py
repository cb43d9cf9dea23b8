"""Pages that are made from the package: the questions, the equations with their functions, the API."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pyslide
import pyslide.spec
from pyslide.conventions import ORIGINAL_CPP, PAPER, QUESTIONS

ROOT = Path(__file__).resolve().parent.parent
CITED = re.compile(
    r"(section \d[\d.]*(?: and \d[\d.]*)?|sections \d[\d.]* and \d[\d.]*|Algorithm \d(?:, lines? [\d to,and]*\d)?"
    r"|Appendix [A-Z]|question \d+|[A-Z][\w-]+ (?:and|et al\.) ?[\w-]*,? \d{4}|[A-Z][a-z]+ \d{4})"
)
"""What a docstring cites: a place in the paper, a question, or another paper."""
INTERNAL = ("pyslide.__main__", "pyslide.cli", "pyslide.scikit_learn", "pyslide.shipped")
"""Modules that are no API."""


def questions_page() -> str:
    """Return the page on the questions."""
    lines = [
        "# Paper, original program, pyslide",
        "",
        "Implementations of SLIDE disagree on these questions. `PAPER` is this project's reading of the paper, and",
        "`ORIGINAL_CPP` what the released C++ program (commit c928349) does, faults included. `pyslide conventions`",
        "prints the same.",
        "",
    ]
    for question in QUESTIONS:
        lines += [f"## {question.number}. {question.text}", "", "| answer | meaning | |", "|---|---|---|"]
        for answer, meaning in question.answers.items():
            whose = [name for name, preset in (("PAPER", PAPER), ("ORIGINAL_CPP", ORIGINAL_CPP))
                     if getattr(preset, question.field) == answer]  # fmt: skip
            lines.append(f"| `{question.field}=\"{answer}\"` | {meaning} | {', '.join(whose)} |")
        lines.append("")
    return "\n".join(lines)


def spec_functions() -> Iterator[tuple[str, FunctionType]]:
    """Yield every public function of the spec by its name without the package's."""
    for found in pkgutil.walk_packages(pyslide.spec.__path__, "pyslide.spec."):
        module = importlib.import_module(found.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == found.name and not name.startswith("_"):
                yield f"{found.name.removeprefix('pyslide.')}.{name}", function


def citations(function: FunctionType) -> list[str]:
    """Return what a function's docstring cites, or if it cites nothing what its module's does."""
    own = CITED.findall(inspect.getdoc(function) or "")
    module = importlib.import_module(function.__module__)
    return list(dict.fromkeys(own or CITED.findall(module.__doc__ or "")))


def vectors_of(name: str) -> str:
    """Return the operation of the conformance kit that is named like a function, if there is one."""
    path = ROOT / "reference_tests" / "vectors" / f"{name.rpartition('.')[2]}.json"
    return f"`{path.stem}` ({len(json.loads(path.read_text())['vectors'])})" if path.exists() else ""


def equations_page() -> str:
    """Return the page that leads from the paper to functions, vectors and tests."""
    registry = json.loads((ROOT / "reference_tests" / "evidence" / "registry.json").read_text())
    lines = [
        "# Equation, function, vector, test",
        "",
        "Every function of the spec, what its docstring (or its module's) cites, the operation of the conformance kit",
        "with its number of vectors, and the test that is its witness.",
        "",
        "| function | cites | vectors | witness |",
        "|---|---|---|---|",
    ]
    for name, function in spec_functions():
        witness = registry.get(name, {}).get("witness", "").removeprefix("reference_tests/")
        lines.append(f"| `{name}` | {'; '.join(citations(function))} | {vectors_of(name)} | `{witness}` |")
    return "\n".join(lines) + "\n"


def api_pages() -> dict[str, str]:
    """Return a page for every module of the package, by its name."""
    pages = {}
    for found in pkgutil.walk_packages(pyslide.__path__, "pyslide."):
        if not found.name.startswith(INTERNAL) and importlib.import_module(found.name).__doc__:
            body = f"```{{eval-rst}}\n.. automodule:: {found.name}\n   :members:\n```\n"
            pages[f"api-{found.name}"] = f"# {found.name}\n\n{body}"
    listed = "\n".join(pages)
    pages["api"] = f"# API reference\n\nEvery module of the package.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    return pages


def write_pages(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(exist_ok=True)
    pages = {"questions": questions_page(), "equations": equations_page(), **api_pages()}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # unchanged pages are not built again
            path.write_text(text, encoding="utf-8")
