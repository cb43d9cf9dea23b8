"""The site's links, where it has been built, and that a broken one would be found."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_tests.docs.site_links import broken

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"


@pytest.mark.skipif(not SITE.exists(), reason="docs/_build/html: the site is not built; the project's checks build it")
def test_no_link_of_the_built_site_is_broken():
    assert broken(SITE) == []


@pytest.fixture
def site(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.html").write_text('<p id="here">text</p> <a href="../index.html">back</a>')
    return tmp_path


GOOD = ["sub/other.html", "sub/other.html#here", "#top", "https://example.org/nowhere", "sub/../index.html",
        "a%20b.png"]  # fmt: skip
BAD = ["sub/none.html", "sub/other.html#there", "#nowhere", "none.png", "sub"]


def test_good_links(site):
    (site / "a b.png").write_bytes(b"")
    (site / "index.html").write_text('<h1 id="top">t</h1>' + "".join(f'<a href="{link}">x</a>' for link in GOOD))
    assert broken(site) == []


@pytest.mark.parametrize("link", BAD)
def test_a_bad_link_is_found(site, link):
    (site / "index.html").write_text(f'<a id="top" href="{link}">x</a><img src="sub/other.html">')
    assert broken(site) == [f"index.html: {link}"]


def test_a_bad_picture_is_found(site):
    (site / "index.html").write_text('<img src="none.svg">')
    assert broken(site) == ["index.html: none.svg"]
