"""Pages that are made from the package: questions and errata, equations with their functions, examples, the API."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import errata
import percent_scripts

import pyslide
import pyslide.spec
from pyslide.conformance.cases import all_cases
from pyslide.conformance.vectors import outcome, single_answers
from pyslide.conventions import ORIGINAL_CPP, PAPER, QUESTIONS, Question
from pyslide.defaults import CONVENTIONS

ROOT = Path(__file__).resolve().parent.parent
CITED = re.compile(
    r"(sections? \d+(?:\.\d+)*(?: and \d+(?:\.\d+)*)?|Algorithm \d(?:, lines? [\d to,and]*\d)?"
    r"|Appendix [A-Z]|question \d+|[A-Z][\w-]+ (?:and|et al\.) ?[\w-]*,? \d{4}|(?<!ar)[A-Z][a-z]+ \d{4})"
)
"""What a docstring cites: a place in the paper, a question, or another paper."""
INTERNAL = ("pyslide.__main__", "pyslide.cli", "pyslide.scikit_learn", "pyslide.shipped")
"""Modules that are no API."""


NO_VECTOR = {
    "spec.candidates.candidate_log_weights": "sampled softmax is no operation of the kit",
    "spec.candidates.candidate_set": "sampled softmax is no operation of the kit",
    "spec.candidates.expected_counts": "sampled softmax is no operation of the kit",
    "spec.candidates.log_uniform_probabilities": "sampled softmax is no operation of the kit",
    "spec.inference.neurons_at_inference": "inference is no operation of the kit",
    "spec.inference.scores": "inference is no operation of the kit",
    "spec.inference.top_k": "inference is no operation of the kit",
    "spec.vectors.append_coordinate": "no vector hashes biases (question 19)",
}
"""Functions of the spec that no vector runs, and why."""
NO_TELLING_VECTOR = {
    ("projection", "signs_with_replacement"): "projections are inputs; told by counting, `random_codes`",
    ("projection", "dense_signs"): "projections are inputs; told by counting, `random_codes`",
    ("projection", "gaussian"): "projections are inputs; told by counting, `random_codes`",
    ("empty_bin", "maximum_is_zero"): "none: the paper's answer to question 7 leaves no zeros to be the largest",
    ("bias_hashing", "hashed"): "none: no vector hashes biases",
    ("inference", "sampled"): "none: inference is no operation of the kit",
    ("rebuild", "new_functions"): "none: functions are inputs, whoever drew them",
    ("padding_draws", "shared_by_batch"): "none: draws are inputs, sample by sample",
}
"""Answers other than the paper's that no vector tells from it, and why."""
BY_HAND = "spec/test_spec_conventions.py::test_each_answer_by_hand"
"""The test that has a case worked by hand for every answer to every question."""


def all_vectors() -> list[dict[str, Any]]:
    """Return every vector of the conformance kit as its file has it."""
    files = sorted((ROOT / "reference_tests" / "vectors").glob("*.json"))
    return [vector for file in files for vector in json.loads(file.read_text(encoding="utf-8")).get("vectors", ())]


def telling_vectors() -> dict[tuple[str, str], list[str]]:
    """Return the vectors to which an answer gives another output than the paper's, by question and answer."""
    found: dict[tuple[str, str], list[str]] = {}
    for vector in all_vectors():
        for other in vector.get("otherwise", ()):
            for answers in other["answers"]:
                for field, answer in answers.items():
                    found.setdefault((field, answer), []).append(vector["id"])
    return found


def answer_line(question: Question, answer: str, vectors: Sequence[str]) -> str:
    """Return an answer's line of the table."""
    presets = (("PAPER", PAPER), ("ORIGINAL_CPP", ORIGINAL_CPP), ("pyslide's defaults", CONVENTIONS))
    whose = ", ".join(name for name, preset in presets if getattr(preset, question.field) == answer) or "-"
    told = "the answer that vectors expect"
    if getattr(PAPER, question.field) != answer:
        reason = NO_TELLING_VECTOR.get((question.field, answer), "")
        told = f"{len(vectors)}, such as `{vectors[0]}`" if vectors else reason
    return f"| `{question.field}=\"{answer}\"` | {question.answers[answer]} | {whose} | {told} |"


QUESTIONS_HEAD = """# Paper, original program, pyslide

What the paper says wrongly or not at all, where implementations of SLIDE differ, and what shows it. `PAPER` is this
project's reading of the paper, and `ORIGINAL_CPP` what the released C++ program (commit c928349) does, faults included.
`pyslide explain NAME` shows a vector; wrong variants stand in `reference_tests/mutants/catalogue.py`.
"""
QUESTIONS_MIDDLE = f"""## Questions

`pyslide conventions` prints them too. 1 to 22 are those on which implementations disagree; 23 is a fault of the
original program, 24 a correction that sampled softmax methods make and the paper does not, and 25 what those methods
usually do. *Chosen by* names the presets that have an answer, and what `pyslide train` does unless told otherwise.

Every answer has a case worked by hand (`{BY_HAND}[FIELD-ANSWER]`).
*Vectors* counts those of the conformance kit at which the answer gives something else than the paper's.
"""
ANSWERS_HEAD = ["| answer | meaning | chosen by | vectors |", "|---|---|---|---|"]


def questions_page() -> str:
    """Return the page on the questions, with the errata."""
    lines = [QUESTIONS_HEAD, *errata.lines(), QUESTIONS_MIDDLE]
    telling = telling_vectors()
    for question in QUESTIONS:
        lines += [f"### {question.number}. {question.text}", "", *ANSWERS_HEAD]
        for answer in question.answers:
            lines.append(answer_line(question, answer, telling.get((question.field, answer), ())))
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


def runs_by_function() -> dict[str, Counter[str]]:
    """Return how many vectors of each operation run each function of the spec, with the paper's answers."""
    named = {function.__code__: name for name, function in spec_functions()}
    found: dict[str, Counter[str]] = {name: Counter() for name in named.values()}
    for case in all_cases():
        with recorded(set(named)) as seen:
            outcome(case)
        for code in seen:
            found[named[code]][case.operation] += 1
    return found


def operations_of_other_answers(names: Sequence[str]) -> dict[str, str]:
    """Return an operation whose vectors run each of some functions with an answer that is not the paper's."""
    missing = {function.__code__: name for name, function in spec_functions() if name in names}
    found: dict[str, str] = {}
    for case in all_cases():
        for _, conventions in single_answers(case.operation):
            if not missing:
                return found
            with recorded(set(missing)) as seen:
                outcome(case, conventions)
            found |= {missing.pop(code): case.operation for code in seen}
    return found


@contextmanager
def recorded(wanted: set[CodeType]) -> Iterator[set[CodeType]]:
    """Collect which of some functions are called; tracing before and after stays as it was."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in wanted:
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def closest(name: str, counted: Counter[str]) -> list[tuple[str, int]]:
    """Return operations with their numbers: that of the function's name first, then the most frequent, traces last."""
    own = name.rpartition(".")[2]
    return sorted(counted.items(), key=lambda pair: (pair[0] != own, pair[0] == "training_trace", -pair[1]))


def vectors_cells() -> dict[str, str]:
    """Return for each function the operations whose vectors run it: of its own name, else the most frequent ones."""
    cells = dict(NO_VECTOR)
    runs = runs_by_function()
    for name, counted in runs.items():
        if counted:
            cells[name] = ", ".join(f"`{operation}` ({number})" for operation, number in closest(name, counted)[:2])
    others = operations_of_other_answers([name for name in runs if name not in cells])
    return cells | {name: f"`{operation}`, with another answer" for name, operation in others.items()}


EQUATIONS_HEAD = """# Equation, function, vector, test

Every function of the spec with its place in the [annotated algorithm](../annotated.md), what its docstring (or its
module's) cites, the operations of the conformance kit whose vectors run it, with their numbers, and the test that is
its witness. A test fails if a place is empty.
"""
INCLUDED = re.compile(
    r"^(?P<level>#+) (?P<heading>.+)$"
    r"|^```\{literalinclude\} \.\./pyslide/(?P<file>\S+)\.py\n:pyobject: (?P<object>\w+)",
    re.MULTILINE,
)
"""A heading of the annotated algorithm, or a function that it shows."""


def annotated_sections() -> dict[str, str]:
    """Return the headings of the annotated algorithm under which functions stand, and rooms by where they begin."""
    found: dict[str, str] = {}
    chapter = section = ""
    for match in INCLUDED.finditer((ROOT / "docs" / "annotated.md").read_text(encoding="utf-8")):
        if match["heading"]:
            section = match["heading"]
            chapter = section if len(match["level"]) <= 2 else chapter
        else:
            module = match["file"].replace("/", ".")
            found[f"{module}.{match['object']}"] = section
            found.setdefault(".".join(module.split(".")[:2]), chapter)
    return found


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as MyST makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def annotated_link(name: str, sections: dict[str, str]) -> str:
    """Return a link to where a function is shown, or to where its room begins."""
    heading = sections[name] if name in sections else sections[".".join(name.split(".")[:2])]
    return f"[{heading}](../annotated.md#{anchor(heading)})"


def station(name: str) -> int:
    """Return the place of a function's room in the flow of data; the network stands with the tables."""
    rooms = re.findall(r"`~pyslide\.spec\.(\w+)`", pyslide.spec.__doc__ or "")
    room = name.split(".")[1]
    return rooms.index("tables" if room == "network" else room)


def equations_page() -> str:
    """Return the page that leads from the paper to functions, vectors and tests."""
    registry = json.loads((ROOT / "reference_tests" / "evidence" / "registry.json").read_text(encoding="utf-8"))
    vectors, sections = vectors_cells(), annotated_sections()
    lines = [EQUATIONS_HEAD, "| function | annotated | cites | vectors | witness |", "|---|---|---|---|---|"]
    for name, function in sorted(spec_functions(), key=lambda pair: station(pair[0])):
        witness = registry.get(name, {}).get("witness", "").removeprefix("reference_tests/")
        cited = "; ".join(citations(function))
        linked = f"{{py:obj}}`{name} <pyslide.{name}>` | {annotated_link(name, sections)}"
        lines.append(f"| {linked} | {cited} | {vectors.get(name, '')} | `{witness}` |")
    return "\n".join(lines) + "\n"


def examples() -> list[Path]:
    """Return the example programs."""
    return sorted((ROOT / "docs" / "examples").glob("*.py"))


def examples_page() -> str:
    """Return the page that lists them."""
    listed = "\n".join(f"example-{path.stem}" for path in examples())
    text = "Programs that run as they are, shown with what they print."
    return f"# Examples\n\n{text}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"


def api_modules() -> list[str]:
    """Return the modules that are documented."""
    names = [found.name for found in pkgutil.walk_packages(pyslide.__path__, "pyslide.")]
    return [name for name in names if not name.startswith(INTERNAL) and importlib.import_module(name).__doc__]


def listing(parent: str, names: Sequence[str]) -> str:
    """Return a table of a package's modules with the first sentence of each, and their place in the navigation."""
    children = [name for name in names if name.rpartition(".")[0] == parent]
    if not children:
        return ""
    summaries = [(importlib.import_module(name).__doc__ or "").partition("\n")[0] for name in children]
    rows = [f"| [{name}](api-{name}.md) | {text} |" for name, text in zip(children, summaries, strict=True)]
    table = "\n".join(["| module | |", "|---|---|", *rows])
    tree = "\n".join(f"api-{name}" for name in children)
    return f"\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"


API_HEAD = """# API reference

## pyslide

What `import pyslide` gives, in the order in which data flows:
"""


LONGEST_VALUE = 80
"""Characters of a constant's value up to which it is shown."""


def constants(module: str) -> dict[str, str]:
    """Return the documented constants of a module in its order, with what they are; names of types are left out."""
    from sphinx.pycode import ModuleAnalyzer  # there when the site is built; the other pages do without it

    values = vars(importlib.import_module(module))
    documented = ModuleAnalyzer.for_module(module).find_attr_docs()
    named = {name: lines[0] for (owner, name), lines in documented.items() if not owner and name[0] != "_"}
    return {name: line for name, line in named.items() if not hasattr(values[name], "__origin__")}


def public_names() -> list[str]:
    """Return the public names of the package itself, in the order in which its docstring has them."""
    return [name for name in re.findall(r"`(\w+)`", pyslide.__doc__ or "") if name in pyslide.__all__]


def public_row(name: str) -> str:
    """Return the line of the table for a public name of the package, with a link to where it is defined."""
    value = getattr(pyslide, name)
    if hasattr(value, "__qualname__"):
        module, line = value.__module__, (inspect.getdoc(value) or "").partition("\n")[0]
    else:  # the constants are those of the conventions
        module, line = Question.__module__, constants(Question.__module__)[name]
    return f"| {{py:obj}}`{name} <{module}.{name}>` | {line} |"


def api_page(names: Sequence[str]) -> str:
    """Return the page that leads to all others: the package's own names, then its modules."""
    table = "\n".join(["| name | |", "|---|---|", *(public_row(name) for name in public_names())])
    return f"{API_HEAD}\n{table}\n\n## Modules\n{listing('pyslide', names)}"


def module_page(name: str, names: Sequence[str]) -> str:
    """Return the page of a module: its classes and functions, then its constants; each stands where it is defined."""
    found = constants(name)
    lines = [f".. automodule:: {name}", "   :members:", "   :ignore-module-all:"]
    lines += [f"   :exclude-members: {', '.join(found)}"] if found else []
    for word in found:
        lines.append(f"\n.. autodata:: {name}.{word}")
        if len(repr(getattr(importlib.import_module(name), word))) > LONGEST_VALUE:
            lines.append("   :no-value:")
    body = "\n".join(lines)
    return f"# {name}\n\n```{{eval-rst}}\n{body}\n```\n{listing(name, names)}"


def api_pages() -> dict[str, str]:
    """Return a page for every module of the package, by its name, and the one that leads to them."""
    names = api_modules()
    return {"api": api_page(names)} | {f"api-{name}": module_page(name, names) for name in names}


def write_pages(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(exist_ok=True)
    pages = {"questions": questions_page(), "equations": equations_page(), "examples": examples_page(), **api_pages()}
    pages |= {f"example-{path.stem}": percent_scripts.page(path) for path in examples()}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # unchanged pages are not built again
            path.write_text(text, encoding="utf-8")
