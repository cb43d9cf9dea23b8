"""Formulas as MathML, which browsers show by themselves: no script, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
