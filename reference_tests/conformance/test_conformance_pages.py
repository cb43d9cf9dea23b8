"""The format pages: every operation on one page, its table and example as they are now."""

import shutil
from pathlib import Path

import pytest

from pyslide.conformance.operations import EVERY_OPERATION
from pyslide.conformance.pages import fill_pages
from pyslide.errors import FormatError

PAGES = Path(__file__).parents[1] / "formats"


def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PAGES, tmp_path / "formats"))


def test_the_committed_pages_are_what_is_made_now(tmp_path):
    assert fill_pages(copied(tmp_path)) == []


def test_a_stale_table_is_made_anew(tmp_path):
    page = copied(tmp_path) / "keys.md"
    right = page.read_text()
    page.write_text(right.replace("most significant", "least significant").replace("| `key` |", "| `kee` |"))
    assert fill_pages(page.parent) == [page]
    assert "| `kee` |" not in page.read_text()


def test_a_page_says_more_than_the_table():
    for page in PAGES.glob("*.md"):
        for section in page.read_text().split("<!-- end -->\n")[1:]:
            assert len(section.split("\n## ")[0].strip()) > 10, page


def test_an_operation_without_a_page_is_refused(tmp_path):
    pages = copied(tmp_path)
    (pages / "trace.md").unlink()
    with pytest.raises(FormatError, match="training_trace"):
        fill_pages(pages)


def test_the_overview_names_every_operation():
    overview = (PAGES / "README.md").read_text()
    assert all(f"`{name}`" in overview for name in EVERY_OPERATION)
