"""What drawings in SVG are made of: scales, ticks, rows of a legend, paths and shapes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import marks
from .chart import Chart
from .marks import Axis, Mark, Style, style_of

WIDTH = 360
CHARACTER, LINE = 6.4, 14.5
"""About how wide a character is, and how high a line of text."""

LEVELS = 8
"""Shades of a color scale."""

_MOST_TICKS = 7
FAR = 99.0
"""So many times its own size beside the axes is as good as infinitely far."""

SHAPES: dict[str, Callable[[float], str]] = {
    "square": lambda r: f"m{-r:g},{-r:g}h{2 * r:g}v{2 * r:g}h{-2 * r:g}z",
    "triangle": lambda r: f"m0,{-1.2 * r:g}l{1.15 * r:g},{2 * r:g}h{-2.3 * r:g}z",
    "down": lambda r: f"m0,{1.2 * r:g}l{1.15 * r:g},{-2 * r:g}h{-2.3 * r:g}z",
    "diamond": lambda r: (
        f"m0,{-1.3 * r:g}l{1.3 * r:g},{1.3 * r:g}l{-1.3 * r:g},{1.3 * r:g}"
        f"l{-1.3 * r:g},{-1.3 * r:g}z"
    ),
    "left": lambda r: f"m{-r:g},0l{2 * r:g},{-r:g}v{2 * r:g}z",
    "right": lambda r: f"m{r:g},0l{-2 * r:g},{-r:g}v{2 * r:g}z",
}
STROKES: dict[str, Callable[[float], str]] = {
    "plus": lambda r: f"m{-r:g},0h{2 * r:g}m{-r:g},{-r:g}v{2 * r:g}",
    "cross": lambda r: f"m{-r:g},{-r:g}l{2 * r:g},{2 * r:g}m0,{-2 * r:g}l{-2 * r:g},{2 * r:g}",
    "bar": lambda r: f"m0,{-1.6 * r:g}v{3.2 * r:g}",
}
STROKES["x"] = STROKES["cross"]


class Scale:
    """From numbers to units of the drawing."""

    def __init__(self, ends: tuple[float, float], room: tuple[float, float], log: bool) -> None:
        self.ends, self.room, self.log = ends, room, log

    def __call__(self, values: Any) -> Any:
        low, high = self.ends
        x = np.asarray(values, dtype=np.float64)
        if self.log:
            low, high = math.log(low), math.log(high)
            with np.errstate(divide="ignore", invalid="ignore"):
                x = np.log(x)
        share = np.clip((x - low) / ((high - low) or 1.0), -FAR, FAR)
        share = np.where(np.isinf(x), np.nan, share)  # not drawn
        return self.room[0] + share * (self.room[1] - self.room[0])


def rounded(value: Any) -> float:
    return round(float(value), 1)


def line_path(x: Any, y: Any, step: bool = False) -> str:
    """Return the path through points, with gaps where a number is missing."""
    parts, pen = [], "M"
    for a, b in zip(x, y, strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            pen = "M"
            continue
        parts.append(
            f"H{rounded(a)}V{rounded(b)}"
            if step and pen == "L"
            else f"{pen}{rounded(a)},{rounded(b)}"
        )
        pen = "L"
    return "".join(parts)


def shape_around(shape: str, size: float) -> str:
    """Return the path of a shape around its place; a round one is a dot of the line's width."""
    if shape in SHAPES:
        return SHAPES[shape](size)
    return STROKES[shape](size) if shape in STROKES else "h0"


def shape_path(
    x: Sequence[float], y: Sequence[float], shape: str, color: str, size: float, more: str = ""
) -> str:
    """Return one path with the same shape at each place."""
    form = shape_around(shape, size)
    d = "".join(
        f"M{rounded(a)},{rounded(b)}{form}"
        for a, b in zip(x, y, strict=True)
        if np.isfinite(a) and np.isfinite(b)
    )
    if shape in SHAPES:
        return f'<path class="f-{color}{more}" d="{d}"/>'
    width = 1.8 if shape in STROKES else 2 * size
    return f'<path class="s-{color} round{more}" stroke-width="{width:g}" d="{d}"/>'


def levels_of(values: Any, low: float, high: float) -> Any:
    with np.errstate(invalid="ignore"):
        share = (values - low) / ((high - low) or 1.0) * LEVELS
    return np.where(
        np.isfinite(share), np.minimum(np.nan_to_num(share).astype(int), LEVELS - 1), -1
    )


def ends_of(mark: marks.Points | marks.Bars) -> dict[str, Any]:
    if mark.low is None:
        return {"low": np.full(len(mark.x), np.nan), "high": np.full(len(mark.x), np.nan)}
    return {"low": np.asarray(mark.low, float), "high": np.asarray(mark.high, float)}


def listed(mark: Mark) -> bool:
    """Whether a mark can have an entry in the legend."""
    return not isinstance(mark, marks.Heat | marks.Image | marks.Strip | marks.Text | marks.Spot)


def styles_of(chart: Chart) -> dict[int, Style]:
    """Return the style of each mark: main marks without a color get one after the other."""
    styles: dict[int, Style] = {}
    number, last = 0, style_of(0)
    for mark in chart.marks:
        style = style_of(number)
        if isinstance(mark, marks.Band | marks.Strip):
            style = last
        elif mark.main and not mark.color and not isinstance(mark, marks.Rule):
            number += 1
        if mark.color:
            style = Style(mark.color, style.dash, style.marker)
        styles[id(mark)] = style
        last = style if isinstance(mark, marks.Line) else last
    return styles


def legend_rows(texts: Sequence[str]) -> list[list[tuple[int, float]]]:
    """Return the entries of a legend in rows: the number of each and its place."""
    rows: list[list[tuple[int, float]]] = []
    at = float(WIDTH)
    for i, text in enumerate(texts):
        wide = 38 + CHARACTER * min(len(text), 50)
        if at + wide > WIDTH and at > 2:
            rows.append([])
            at = 2.0
        rows[-1].append((i, at))
        at += wide
    return rows


def data_ends(chart: Chart, axis: str) -> tuple[float, float]:
    """Return the range of the marks along an axis, from 0 where nothing is below."""
    names = {"x": ("x", "low", "high"), "y": ("y", "low", "high", "y_low", "y_high")}[axis]
    result = []
    for mark in chart.marks:
        for name in names:
            along_x = name in ("low", "high") and not isinstance(mark, marks.Band)
            if name in ("low", "high") and along_x != (axis == "x"):
                continue
            values = getattr(mark, name, None)
            if values is not None:
                result.append(np.ravel(np.asarray(values, dtype=np.float64)))
    values = np.concatenate(result)
    values = values[np.isfinite(values) & ((values > 0) | (not getattr(chart, axis).log))]
    if not len(values):
        return 0.1, 1.0
    low, high = float(values.min()), float(values.max())
    if getattr(chart, axis).log:
        return low / 1.1, high * 1.1
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return (0.0 if low >= 0 else low - room), high + room


def ticks_of(axis: Axis, ends: tuple[float, float], above: bool = False) -> list[tuple[float, str]]:
    """Return the ticks of an axis; ``above`` leaves out those below 0, where a strip is."""
    low, high = min(ends), max(ends)
    if axis.ticks:
        return [(value, text) for value, text in axis.ticks if low <= value <= high]
    if axis.log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factors in ((1, 2, 5), (1,)):
            every = [float(f"{factor}e{power}") for power in powers for factor in factors]
            some = [value for value in every if low <= value <= high]
            if len(some) <= _MOST_TICKS:
                break
        if some:
            return [(value, f"{value:g}") for value in some[:: -(-len(some) // _MOST_TICKS)]]
    size = (high - low) / 4.5
    power = 10.0 ** math.floor(math.log10(size)) if size > 0 else 1.0
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= size * 0.999)
    start = math.ceil((max(low, 0.0) if above else low) / step - 1e-9)
    some = [i * step for i in range(start, start + 12) if i * step <= high + 1e-9 * step]
    if axis.percent:
        return [(value, f"{100 * value:g} %") for value in some]
    return [(value, f"{value + 0.0:.6g}") for value in some]


def spaced_ticks(ticks: list[tuple[float, str]], scale: Scale) -> list[tuple[float, str]]:
    """Leave out ticks whose labels would touch."""
    kept: list[tuple[float, str]] = []
    end = -math.inf
    for value, text in ticks:
        at, wide = float(scale(value)), CHARACTER * len(text) / 2
        if at - wide > end + 4:
            kept.append((value, text))
            end = at + wide
    return kept
