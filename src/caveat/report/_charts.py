"""Charts as plotly describes them, made of figures; a color is a name that the page resolves."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._escape import for_chart

HEIGHT = 380
TECHNIQUE_STYLES = (
    ("@blue", "solid", "circle"),
    ("@orange", "dash", "square"),
    ("@green", "dot", "diamond"),
    ("@purple", "dashdot", "triangle-up"),
    ("@yellow", "longdash", "x"),
    ("@sky", "longdashdot", "star"),
)
"""Color, dash and symbol: two techniques differ in more than color."""


def line(
    x: Any,
    y: Any,
    name: str,
    color: str,
    *,
    dash: str = "solid",
    symbol: str = "",
    hover: str = "",
) -> dict[str, Any]:
    """Return a line, with markers if a symbol is named."""
    trace = {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": name,
        "mode": "lines+markers" if symbol else "lines",
        "line": {"color": color, "dash": dash, "width": 2.4},
    }
    if symbol:
        trace["marker"] = {"color": color, "symbol": symbol, "size": 8}
    return trace | (
        {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    )


def band(x: Any, low: Any, high: Any, name: str, color: str) -> list[dict[str, Any]]:
    """Return a shaded band between two lines."""
    edge = {"type": "scatter", "x": x, "mode": "lines", "hoverinfo": "skip", "line": {"width": 0}}
    return [
        edge | {"y": low, "showlegend": False},
        edge | {"y": high, "name": name, "fill": "tonexty", "fillcolor": f"{color}/0.2"},
    ]


def diagonal(low: float, high: float, name: str) -> dict[str, Any]:
    """Return the line on which what is predicted is what happens."""
    return line([low, high], [low, high], name, "@ink", dash="dot")


def bars(edges: Any, heights: Any, hover: str) -> dict[str, Any]:
    """Return a histogram below a chart, on its second y axis."""
    return {
        "type": "bar",
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": heights,
        "width": edges[1:] - edges[:-1],
        "yaxis": "y2",
        "marker": {"color": "@gray/0.6", "line": {"width": 0}},
        "name": "predictions",
        "showlegend": False,
        "hovertemplate": f"{hover}<extra></extra>",
    }


def heat(x: Any, y: Any, counts: Any, hover: str) -> dict[str, Any]:
    """Return a field of counts, colored by their logarithm; empty cells stay empty."""
    some = counts > 0
    logarithm = np.log10(counts, out=np.full(counts.shape, np.nan), where=some)
    ticks = range(max(0, math.floor(np.nanmin(logarithm))), math.floor(np.nanmax(logarithm)) + 1)
    bar = {
        "title": {"text": "samples"},
        "thickness": 12,
        "outlinewidth": 0,
        "tickvals": list(ticks),
        "ticktext": [f"{10**power:,}" for power in ticks],
    }
    return {
        "type": "heatmap",
        "x": x,
        "y": y,
        "z": logarithm,
        "customdata": counts,
        "colorscale": [[0, "@heat-low"], [0.5, "@heat-middle"], [1, "@heat-high"]],
        "colorbar": bar,
        "hoverongaps": False,
        "hovertemplate": f"{hover}<extra></extra>",
    }


def points(
    x: Any, y: Any, name: str, color: Any, symbol: str, text: Sequence[str], hover: str
) -> dict[str, Any]:
    """Return single samples; ``text`` comes from the data."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "name": name,
        "marker": {"color": color, "symbol": symbol, "size": 7, "opacity": 0.75},
        "text": [for_chart(item, 60) for item in text],
        "hovertemplate": f"{hover}<extra></extra>",
    }


def intervals(
    labels: Sequence[str], value: Any, low: Any, high: Any, color: str, hover: str
) -> list[dict[str, Any]]:
    """Return one dot and one interval for each label, from top to bottom.

    The two are drawn apart: a binned error may lie outside its interval.
    """
    places = list(range(len(labels)))
    ends = [[lo, hi, None] for lo, hi in zip(low, high, strict=True)]
    spans = {
        "type": "scatter",
        "mode": "lines",
        "x": [end for pair in ends for end in pair],
        "y": [place for i in places for place in (i, i, None)],
        "line": {"color": f"{color}/0.45", "width": 6},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    dots = points(value, places, "", color, "circle", labels, hover)
    dots["marker"] |= {"size": 10, "opacity": 1}
    return [spans, dots | {"showlegend": False}]


def layout(x_label: str, y_label: str, **more: Any) -> dict[str, Any]:
    """Return a layout with titled axes; options of an axis come as ``xaxis={...}``."""
    given = {"height": HEIGHT, **more}
    given["xaxis"] = {"title": {"text": _wrapped(x_label)}, **more.get("xaxis", {})}
    given["yaxis"] = {"title": {"text": _wrapped(y_label)}, **more.get("yaxis", {})}
    return given


def _wrapped(label: str) -> str:
    """A label in lines that fit a phone."""
    return "<br>".join(for_chart(part, 60) for part in textwrap.wrap(label, 30))


def legend(name: str, color: str, symbol: str) -> dict[str, Any]:
    """Return a line of the legend for marks whose color changes."""
    return points([None], [None], name, color, symbol, [""], "")


def padded(*arrays: Any) -> list[float]:
    """Return the ends of an axis that leaves room beside what it shows."""
    low = min(float(np.min(array)) for array in arrays)
    high = max(float(np.max(array)) for array in arrays)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return [low - room, high + room]


def style(position: int) -> tuple[str, str, str]:
    """Return color, dash and symbol of a technique."""
    return TECHNIQUE_STYLES[position % len(TECHNIQUE_STYLES)]
