"""Which technique for which use, as a tree of questions that ends at names and numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._validation import check_integer
from ..selection import Scenario, Scenarios
from .chart import Chart
from .entry import Entry, expect
from .marks import Axis, Line, Mark, Points, Text

_ACROSS, _MOST = 20.0, 40
"""How many steps of indentation are as wide as the drawing, and the longest text in characters."""

_LOWEST, _NEXT, _QUESTION = "lowest error", "next", ""
_STYLES = {_QUESTION: ("square", "gray", 4.0), _LOWEST: ("diamond", "blue", 6.0),
           _NEXT: ("circle", "sky", 4.5)}  # fmt: skip


class _Node(NamedTuple):
    """A line of text: how far it is indented, what it says, and the row it hangs on."""

    depth: int
    text: str
    kind: str
    parent: int
    says: str = ""


def flow_chart(result: Scenarios, best: int = 2, parts: int = 10) -> Chart:
    """Return a tree to choose by: how uncertainty is expressed, where it must hold, what is best.

    Parameters
    ----------
    result : Scenarios
        What `caveat.selection.scenarios` or ``TechniqueGrid.scenarios`` returned.
    best : int, default=2
        How many techniques are shown for each use.
    parts : int, default=10
        How many classes or targets are shown, beside all of them alike.

    Returns
    -------
    Chart
        Its numbers are the best techniques of every use, with their errors and their skill.

    Examples
    --------
    >>> import caveat
    >>> one = caveat.Categorical.from_binary([0.1, 0.7])
    >>> flow_chart(caveat.selection.scenarios({"one": one}, [0, 1]))
    <Chart: Which technique for which use, 4 rows>
    """
    expect(result, Scenarios)
    nodes = _nodes(result, check_integer(best, "best"), check_integer(parts, "parts"))
    places = _places(nodes)
    marks: list[Mark] = [_branches(nodes, places)]
    for kind, (marker, color, size) in _STYLES.items():
        some = [i for i, node in enumerate(nodes) if node.kind == kind]
        marks.append(
            Points(
                x=[nodes[i].depth for i in some], y=[places[i] for i in some], label=kind,
                marker=marker, color=color, size=size, main=kind == _LOWEST,
                text=[nodes[i].says for i in some], says="{text}" if kind else "",
            )
        )  # fmt: skip
    marks += [
        Text(
            x=node.depth + 0.3, y=place, text=node.text,
            color="" if node.kind == _NEXT else "ink",
        )
        for node, place in zip(nodes, places, strict=True)
    ]  # fmt: skip
    shown = [(row, name) for row in result for name in row.ranking[:best]]
    return Chart(
        title="Which technique for which use",
        read="Follow the branches: how the uncertainty is expressed, then for which part it must "
        "hold. The techniques with the lowest errors of that use come last.",
        note="Differences are those of these samples: compare says which are more than chance.",
        x=Axis(label="less is better", ends=(-0.4, _ACROSS)),
        y=Axis(ends=(places[-1] + 0.8, places[0] - 0.8), rows=True),
        marks=tuple(marks),
        frame=False,
        numbers={
            "expression": [row.expression for row, _ in shown],
            "where": [row.where for row, _ in shown],
            "metric": [row.metric for row, _ in shown],
            "technique": [name for _, name in shown],
            "value": [row.values[name] for row, name in shown],
            "skill": [row.skill[name] for row, name in shown],
        },
    )


def _nodes(result: Scenarios, best: int, parts: int) -> list[_Node]:
    nodes = [_Node(0, "How is uncertainty expressed?", _QUESTION, -1)]
    for expression in dict.fromkeys(row.expression for row in result):
        top = len(nodes)
        nodes.append(_Node(1, f"{expression}: where must it hold?", _QUESTION, 0))
        rows = [row for row in result if row.expression == expression]
        for row in rows[: parts + 1]:
            at = len(nodes)
            nodes.append(_Node(2, _cut(row.where, f" ({row.short})"), _QUESTION, top))
            nodes += _leaves(row, row.ranking[:best], at)
        if more := rows[parts + 1 :]:
            text = f"{len(more):,} more, in the table"
            nodes.append(_Node(2, text, _NEXT, top, text))
    return nodes


def _leaves(row: Scenario, names: Sequence[str], parent: int) -> list[_Node]:
    if not names:
        text = "no technique has a value"
        return [_Node(3, text, _NEXT, parent, text)]
    lowest = row.values[names[0]] * (1 + 1e-9)  # several techniques may share it
    return [
        _Node(
            3, _cut(name, f": {row.values[name]:.3g}"),
            _LOWEST if row.values[name] <= lowest else _NEXT, parent,
            f"{name}: {row.short} {row.values[name]:.3g}, {row.skill_name} {row.skill[name]:.3g}",
        )
        for name in names
    ]  # fmt: skip


def _cut(text: str, end: str) -> str:
    """Return a text that is not too long together with its end, which stays."""
    room = _MOST - len(end)
    return (text if len(text) <= room else f"{text[: room - 1]}…") + end


def _places(nodes: Sequence[_Node]) -> list[float]:
    """Return the row of each line of text; a use is apart from the one above it."""
    steps = [{1: 1.5, 2: 1.3, 3: 1.0}.get(node.depth, 0.0) for node in nodes]
    return np.cumsum(steps).tolist()


def _branches(nodes: Sequence[_Node], places: Sequence[float]) -> Line:
    """Return a line from each parent down and across to its children."""
    x: list[float] = []
    y: list[float] = []
    for node, place in zip(nodes[1:], places[1:], strict=True):
        x += [node.depth - 1, node.depth - 1, node.depth, np.nan]
        y += [places[node.parent], place, place, np.nan]
    return Line(x=x, y=y, color="gray", dash="solid", marker=None, width=1.0, opacity=0.6)


ENTRY = Entry("flow_chart", flow_chart, of=Scenarios, overlays=False)
