"""Every link of a built site that stays inside it: ``python -m reference_tests.docs.site_links docs/_build/html``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class Page(NamedTuple):
    """What a page refers to, and what can be referred to."""

    targets: list[str]
    anchors: set[str]


class Collector(HTMLParser):
    """Collects the links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page([], set())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.page.targets.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.page.anchors.add(value or "")


def read(path: Path) -> Page:
    collector = Collector()
    collector.feed(path.read_text(encoding="utf-8"))
    return collector.page


def broken(site: Path) -> list[str]:
    """Return the links of all pages that lead to no file or to no anchor, as ``page: link``.

    What lies in ``_static`` are the theme's files, no pages.
    """
    site = site.resolve()
    paths = [path for path in sorted(site.rglob("*.html")) if path.relative_to(site).parts[0] != "_static"]
    pages = {path: read(path) for path in paths}
    return [
        f"{path.relative_to(site)}: {target}"
        for path, page in pages.items()
        for target in dict.fromkeys(page.targets)
        if not leads_somewhere(path, target, pages)
    ]


def leads_somewhere(page: Path, target: str, pages: dict[Path, Page]) -> bool:
    """Return whether a link leads to a file, and to an anchor of it if it names one; links that leave the site do."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if path.is_dir():
        path /= "index.html"
    if not path.exists():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or path not in pages or anchor in pages[path].anchors


def main() -> int:
    (folder,) = sys.argv[1:]
    links = broken(Path(folder))
    print("\n".join(links) if links else f"{folder}: no broken link")
    return 1 if links else 0


if __name__ == "__main__":
    raise SystemExit(main())
