"""The pages: every block runs and prints what it says, every function of the spec cites, every link leads somewhere."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import pyslide
from pyslide.cli import build_parser, main
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset, write_extreme

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "datasets/README.md")), *DOCS.glob("*.md")])
"""All that is prose and has blocks."""
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))
sys.path.insert(0, str(DOCS))

import errata  # noqa: E402
import generated_pages  # noqa: E402
import percent_scripts  # noqa: E402

from reference_tests.mutants.catalogue import MUTANTS  # noqa: E402

ELSEWHERE = {
    "python3 -m venv": "README's two commands, word for word; the project's checks run them",
    ". .venv/bin/activate": "for the reader's own shell",
    "pyslide verify --python my_slide:Mine": "run by test_conformance_tutorial.py",
    "pytest -p pyslide.conformance.pytest_plugin": "run by test_conformance_plugin.py",
    "python -m pytest": "the tests themselves",
    "ruff check": "the project's checks run it",
    "sphinx-build": "the project's checks build the site",
    "python -m reference_tests.": "the project's checks run them; minutes to hours",
    "pyslide experiment time-to-accuracy --quick": "about a minute; experiments are run by reference_tests/experiments",
    "pyslide experiment sampled-softmax --train": "for files of the reader's own",
    "pyslide experiment insertion-policies --synthetic": "experiments are run by reference_tests/experiments",
    ".ci/run": "the project's checks themselves",
    "python -m pip install --quiet '.[docs]'": "the project's checks build the site",
}
"""Commands that are not run here, by how they begin, and where they are or why they are not."""
OTHER_LANGUAGES = {"text", "json"}
"""Blocks that are no commands: outputs that are compared (``text``), and files."""
TIMED = {
    "method                P@1 %  P@3 %  P@5 %  active %  steps  seconds": ("README.md", "train --compare full"),
}
"""Outputs with seconds, which nobody prints twice, by their first line: the page, and the command."""
TUTORIAL = "test-your-implementation.md"
"""Its program is put to the kit, and its verdicts are compared, by test_conformance_tutorial.py."""
PICTURES = ("selection", "lit_up", "table")
"""Drawn when the site is built."""


STATIONS = ["vectors", "hashing", "keys", "tables", "network", "sampling", "candidates", "forward", "loss", "backward",
            "optimizer", "schedule", "step", "inference"]  # fmt: skip
"""The rooms of the spec as data flows through them."""


def name_of(page):
    """Return a page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


class Block(NamedTuple):
    """A fenced block, and the text block that follows it at once: what it prints."""

    language: str
    body: str
    printed: str | None


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page that are no directives."""
    text = page.read_text(encoding="utf-8")
    found = list(re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    result = []
    for one, following in zip_longest(found, found[1:]):
        printed = None
        if following is not None and following[1] == "text" and not text[one.end() : following.start()].strip():
            printed = following[2]
        result.append(Block(one[1], one[2], printed))
    return [block for block in result if not block.language.startswith("{")]


def commands(page: Path) -> list[str]:
    """Return the lines of a page's shell blocks, without comments."""
    lines = [line for block in blocks(page) if block.language == "sh" for line in block.body.splitlines()]
    return [line.partition(" #")[0].strip() for line in lines]


def prints(call):
    """Return what a call prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        call()
    return printed.getvalue()


WITH_PYTHON = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


@pytest.mark.parametrize("page", [page for page in WITH_PYTHON if page.name != TUTORIAL], ids=name_of)
def test_every_block_of_python_runs_and_prints_what_follows(page, tmp_path, monkeypatch):
    """Later blocks use names of earlier ones; ``train.txt`` is a file of the reader's own."""
    monkeypatch.chdir(tmp_path)
    data = planted_dataset(5, 6, 4, np.random.default_rng(0), nonzeros_per_row=2, labels_per_row=1)
    write_extreme("train.txt", data.features, data.labels)
    names = {"__name__": "page"}
    for block in blocks(page):
        if block.language == "python":
            printed = prints(lambda body=block.body: exec(compile(body, str(page), "exec"), names))
            if block.printed is not None:
                assert printed == block.printed


def test_the_pages_with_python():
    named = {"README.md", "datasets/README.md", "docs/start.md", "docs/annotated.md", "docs/choosing.md"}
    assert {name_of(page) for page in WITH_PYTHON} >= named | {f"docs/{TUTORIAL}"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_has_a_known_language(page):
    assert {block.language for block in blocks(page)} <= {"python", "sh"} | OTHER_LANGUAGES


def is_elsewhere(line):
    return any(line.startswith(start) for start in ELSEWHERE)


@cache
def described():
    """Return what the script that made the shipped data set prints of it."""
    script = [sys.executable, str(ROOT / "datasets" / "build_standard_library.py"), "--describe"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(script, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_figures_of_the_shipped_data_set_are_printed():
    page = (ROOT / "datasets" / "README.md").read_text(encoding="utf-8")
    lines = [line for line in described().splitlines() if line]
    assert len(lines) == 7
    assert all(line in page for line in lines)


def is_run(block):
    """Return whether what a block prints is compared with what the page shows."""
    if block.language == "sh":
        return not all(is_elsewhere(line) for line in block.body.splitlines())
    return block.language == "python"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != TUTORIAL], ids=name_of)
def test_every_output_is_compared(page):
    """With the block before it, or because it stands in the tutorial, whose outputs are, or but for its numbers."""
    found = blocks(page)
    tutorial = (DOCS / TUTORIAL).read_text(encoding="utf-8")
    compared = [block.printed for block in found if block.printed is not None and is_run(block)]
    for block in found:
        if block.language == "text" and block.body.partition("\n")[0] not in TIMED and block.body not in described():
            assert block.body in compared or block.body in tutorial, block.body


def without_numbers(text):
    return [re.sub(r"\d[\d.]*", "0", line).split() for line in text.splitlines()]


@pytest.mark.parametrize("first_line", TIMED)
def test_outputs_with_seconds_look_like_what_is_printed(first_line):
    """After one step: the same lines with other numbers."""
    name, command = TIMED[first_line]
    (page,) = (page for page in PAGES if name_of(page) == name)
    (shown,) = (block.body for block in blocks(page) if block.body.startswith(first_line))
    assert command in page.read_text(encoding="utf-8")
    assert without_numbers(run(f"pyslide {command} --steps 1 --quiet")) == without_numbers(shown)


def run(line):
    """Run one of our commands and return what it prints; that nothing is feasible is a finding, exit code 1."""
    program, *words = shlex.split(line, comments=True)
    assert program == "pyslide", line
    codes: list[int] = []
    printed = prints(lambda: codes.append(main(words)))
    assert codes == [1 if "nothing fulfils" in printed else 0], line
    return printed


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_runs(page, tmp_path, monkeypatch):
    """All of ours; what they print is compared where the page shows it."""
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        printed = ""
        for line in block.body.splitlines() if block.language == "sh" else ():
            if not is_elsewhere(line):
                printed += run(line)
        if printed and block.printed is not None:
            assert printed == block.printed


def test_five_minutes_names_every_command():
    (commands,) = (action for action in build_parser()._actions if action.dest != "help" and action.choices)
    page = (DOCS / "start.md").read_text(encoding="utf-8")
    named = [word for row in re.findall(r"^\| (`.*`) \|", page, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(commands.choices)


def test_every_exemption_is_of_a_command_that_is_there():
    told = [line for page in PAGES for line in commands(page)]
    prose = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for start in ELSEWHERE:
        assert any(line.startswith(start) for line in told) or start in prose, start


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs(path):
    """The page is what a reader sees: every cell of code, and what it printed."""
    page = percent_scripts.page(path)
    code = [cell.body.strip() for cell in percent_scripts.cells(path.read_text(encoding="utf-8")) if not cell.markdown]
    assert page.startswith("# ")
    assert all(f"```python\n{body}\n```" in page for body in code)
    assert "```text" in page
    assert any("assert " in body for body in code), "an example has to check what it says"


def test_examples_are_programs_too():
    """Without the pages' machinery, in a process of its own: the shortest of them."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(DOCS / "examples" / "hogwild.py")], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_cells():
    text = "# %% [markdown]\n# # Title\n#\n# text\n\n# %%\nx = 1  # %% no cell\n# %%\nprint(x)\n"
    assert [tuple(cell) for cell in percent_scripts.cells(text)] == [
        (True, "# Title\n\ntext\n\n"),
        (False, "x = 1  # %% no cell\n"),
        (False, "print(x)\n"),
    ]


def test_every_function_of_the_spec_cites_something():
    silent = [name for name, function in generated_pages.spec_functions() if not generated_pages.citations(function)]
    assert silent == []


def test_the_questions_are_all_there():
    page = generated_pages.questions_page()
    for question in generated_pages.QUESTIONS:
        assert f"### {question.number}. {question.text}" in page
        for answer in question.answers:
            assert f'{question.field}="{answer}"' in page
    assert page.count("| PAPER") == len(generated_pages.QUESTIONS)
    assert f"{len(generated_pages.QUESTIONS)} what" in generated_pages.QUESTIONS_MIDDLE, "the last one is explained"


def test_the_packages_docstring_has_all_public_names():
    """Each once: the API reference starts with them."""
    assert sorted(generated_pages.public_names()) == sorted(pyslide.__all__)


def test_answers_have_vectors_or_a_reason():
    other = {
        (question.field, answer)
        for question in generated_pages.QUESTIONS
        for answer in question.answers
        if answer != getattr(PAPER, question.field)
    }
    assert other - set(generated_pages.telling_vectors()) == set(generated_pages.NO_TELLING_VECTOR)


def test_the_defaults_are_marked_where_they_differ_from_the_paper():
    (line,) = (line for line in generated_pages.questions_page().splitlines() if '"inverse_probability"' in line)
    assert "| pyslide's defaults |" in line


def test_the_equations_lead_to_vectors_and_witnesses():
    rows = [row.split(" | ") for row in generated_pages.equations_page().splitlines() if row.startswith("| {py:obj}`")]
    assert len(rows) == len(list(generated_pages.spec_functions()))
    places = anchors(DOCS / "annotated.md")
    for function, annotated, cited, vectors, witness in rows:
        assert re.fullmatch(r"\[[^\]]+\]\(\.\./annotated\.md#(.+)\)", annotated)[1] in places, function
        assert cited.strip(), function
        assert vectors.strip(), f"{function}: no vector runs it, and NO_VECTOR does not say why"
        assert is_a_test(witness.strip(" |`")), witness


def test_functions_without_vectors_have_none():
    runs = generated_pages.runs_by_function()
    assert all(not runs[name] for name in generated_pages.NO_VECTOR)
    assert generated_pages.operations_of_other_answers(list(generated_pages.NO_VECTOR)) == {}


def is_a_test(name):
    """Return whether a file below reference_tests has a test of this name."""
    file, _, test = name.partition("::")
    function = test.rpartition("::")[2].partition("[")[0]
    path = ROOT / "reference_tests" / file
    if not path.exists():
        return False
    text = path.read_text(encoding="utf-8")
    return f"def {function}(" in text or (function == "runTest" and f"{test.split('::')[0]} =" in text)


@pytest.mark.parametrize("erratum", [*errata.PAPER_ERRATA, *errata.FAULTS], ids=lambda one: one.title)
def test_the_evidence_for_each_erratum_is_there(erratum):
    assert erratum.tests
    for name in erratum.tests:
        assert is_a_test(name), name
    assert set(erratum.vectors) <= {vector["id"] for vector in generated_pages.all_vectors()}
    assert set(erratum.mutants) <= {mutant.name for mutant in MUTANTS}


def test_every_fault_is_kept_as_a_wrong_variant():
    assert all(fault.mutants for fault in errata.FAULTS)


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_files_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    formats = [f"format-{path.stem.lower()}" for path in (ROOT / "reference_tests" / "formats").glob("*.md")]
    examples = [f"example-{path.stem}" for path in EXAMPLES]
    modules = [f"api-{name}" for name in generated_pages.api_modules()]
    pages = [*formats, *examples, *modules, "questions", "equations", "examples", "api"]
    made = {f"generated/{name}.md" for name in pages} | {f"generated/{name}.svg" for name in PICTURES}
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if target.startswith("http") or target in made:
            continue
        path = page.parent / target if target else page
        assert path.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(path), f"{page.name}: {target}#{anchor}"


def test_included_functions_exist():
    for page in PAGES:
        included = re.findall(r"literalinclude\} (\S+)\n:pyobject: (\w+)", page.read_text(encoding="utf-8"))
        for file, name in included:
            assert f"def {name}(" in (DOCS / file).read_text(encoding="utf-8"), f"{page.name}: {name}"


def test_the_annotated_algorithm_has_every_station():
    """In the order of the data flow, which is that of the package."""
    text = (DOCS / "annotated.md").read_text(encoding="utf-8")
    files = re.findall(r"literalinclude\} \.\./pyslide/spec/(\w+)", text)
    assert list(dict.fromkeys(files)) == STATIONS
