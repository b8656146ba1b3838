"""Formulas as MathML, which browsers draw by themselves: no script is fetched for them."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def visit_math(translator: Any, node: Any) -> None:
    translator.body.append(f'<span class="math">{converted(node, block=False)}</span>')
    raise nodes.SkipNode


def visit_display(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="formula">{converted(node, block=True)}</div>\n')
    raise nodes.SkipNode


def known(formula: str) -> str:
    """Return the formula in commands that docutils knows."""
    return re.sub(r"\\([bB]ig)(?![a-zA-Z])", r"\\\1l", formula).replace(r"\dots", r"\ldots")


def converted(node: Any, block: bool) -> str:
    try:
        return tex2mathml(known(node.astext()), as_block=block)
    except MathError as error:
        logger.warning("no MathML for %r: %s", node.astext(), error, location=node)
        return ""


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
