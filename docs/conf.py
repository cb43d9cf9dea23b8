"""The documentation site: ``sphinx-build -W -b html docs docs/_build/html`` (extra ``docs``)."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

from generated_pages import write_pages  # noqa: E402
from pictures import draw  # noqa: E402

from pyslide import __version__  # noqa: E402

project, author, release = "pyslide", "The pyslide developers", __version__
extensions = ["myst_parser", "mathml", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "pyslide"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_center": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "annotated": []},  # the last that fits; functions need the room
}
html_sidebars = {"**": ["all-pages.html"]}
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
templates_path = ["_templates"]
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_typehints = "none"  # numpydoc says them in words, with shapes
numpydoc_show_class_members = False
default_role = "code"

write_pages(HERE / "generated")
draw(HERE / "generated")
for page in sorted((ROOT / "reference_tests" / "formats").glob("*.md")):
    shutil.copy(page, HERE / "generated" / f"format-{page.name.lower()}")
STATIONS = ("hashing", "keys", "tables", "sampling", "network", "optimizing", "trace", "random", "recordings")
FORMATS = "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(f"format-{station}" for station in STATIONS) + "\n```\n"
"""The pages of the formats stand below the one that introduces them."""

LINKS = {
    "(../reference_tests/formats/README.md)": "(generated/format-readme.md)",
    "(../reference_tests/formats/recordings.md)": "(generated/format-recordings.md)",
    "[in C](../reference_tests/harnesses/c/harness.c)": "{download}`in C <../reference_tests/harnesses/c/harness.c>`",
    "[in JavaScript](../reference_tests/harnesses/javascript/harness.mjs)": (
        "{download}`in JavaScript <../reference_tests/harnesses/javascript/harness.mjs>`"
    ),
}
"""Links that lead somewhere in the repository, and where they lead in the site."""


def relink(app: Any, name: str, source: list[str]) -> None:
    """Let links between pages of the repository lead to the site's pages."""
    for old, new in LINKS.items():
        source[0] = source[0].replace(old, new)
    source[0] = re.sub(r"\(examples/(\w+)\.py\)", r"(generated/example-\1.md)", source[0])
    if name.startswith("generated/format-"):
        source[0] = source[0].replace("](", "](format-").replace("](format-http", "](http")
    if name == "generated/format-readme":
        source[0] += FORMATS


def escape(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Let sizes such as |A| and names such as classes_ be what they are, and link names such as `~pyslide.theory`."""
    for number, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [re.sub(r"(\w)_(?=[^\w`]|$)", r"\1\\_", part.replace("|", "\\|")) for part in parts[::2]]
        lines[number] = re.sub(r"(?<!`)`~(pyslide[\w.]+)`", r":py:obj:`~\1`", "``".join(parts))


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out names of types, what scikit-learn adds to every estimator, and "Alias for field number 0"."""
    added = name.startswith("set_") and name.endswith("_request")
    alias = (getattr(value, "__doc__", None) or "").startswith("Alias for field number")
    return True if added or alias or hasattr(value, "__origin__") else None


def setup(app: Any) -> None:
    """Connect."""
    app.connect("source-read", relink)
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("autodoc-skip-member", skip)
