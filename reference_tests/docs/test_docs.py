"""The pages: every block of Python runs, every function of the spec cites, every link leads somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md")])
ELSEWHERE = {"test-your-implementation.md"}  # its program is put to the kit by a test of its own
sys.path.insert(0, str(DOCS))

import generated_pages  # noqa: E402


def blocks(page: Path) -> str:
    """Return the Python of a page, all of it, since later blocks use names of earlier ones."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page) and page.name not in ELSEWHERE], ids=lambda page: page.name
)
def test_every_block_of_python_runs(page):
    exec(compile(blocks(page), str(page), "exec"), {"__name__": "page"})


def test_some_pages_have_blocks():
    assert {page.name for page in PAGES if blocks(page)} >= {"README.md", "start.md", "annotated.md", "choosing.md"}


def test_every_function_of_the_spec_cites_something():
    silent = [name for name, function in generated_pages.spec_functions() if not generated_pages.citations(function)]
    assert silent == []


def test_the_questions_are_all_there():
    page = generated_pages.questions_page()
    for question in generated_pages.QUESTIONS:
        assert f"## {question.number}. {question.text}" in page
        for answer in question.answers:
            assert f'{question.field}="{answer}"' in page
    assert page.count("PAPER |") + page.count("PAPER, ORIGINAL_CPP") >= len(generated_pages.QUESTIONS)


def test_the_equations_lead_to_witnesses():
    rows = generated_pages.equations_page().splitlines()[7:]
    assert len(rows) == len(list(generated_pages.spec_functions()))
    assert all(re.search(r"`\S+::\w+", row) for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)\)", text):
        made = target.startswith(("http", "generated/"))
        assert made or (page.parent / target).exists(), f"{page.name}: {target}"


def test_included_functions_exist():
    for page in PAGES:
        included = re.findall(r"literalinclude\} (\S+)\n:pyobject: (\w+)", page.read_text(encoding="utf-8"))
        for file, name in included:
            assert f"def {name}(" in (DOCS / file).read_text(encoding="utf-8"), f"{page.name}: {name}"
