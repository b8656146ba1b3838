"""Code without the empty line at its end, which a doctest in a fence needs and a reader does not."""

from typing import Any

from docutils import nodes


def trim(app: Any, tree: nodes.document) -> None:
    for block in tree.findall(nodes.literal_block):
        if len(block) == 1 and isinstance(block[0], nodes.Text):
            text = block.astext().rstrip("\n")
            block.rawsource = text  # Sphinx highlights a block only if the two are the same
            block[:] = [nodes.Text(text)]


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
