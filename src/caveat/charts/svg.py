"""Charts as SVG for a page: text is text, colors are names that a style sheet resolves.

The drawing is `WIDTH` units wide whatever its chart, so that it fits a phone at about its own size
and half of a wide screen a little larger.
"""

import base64
import io
import math
import textwrap
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from . import marks
from ._svg_parts import (
    CHARACTER,
    LEVELS,
    LINE,
    SHAPES,
    WIDTH,
    Scale,
    data_ends,
    ends_of,
    legend_rows,
    levels_of,
    line_path,
    listed,
    rounded,
    shape_around,
    shape_path,
    spaced_ticks,
    styles_of,
    ticks_of,
)
from .chart import Chart
from .marks import COLORS, Mark

_ALONE = "max-width:640px;background:var(--surface,#fff)"
"""A drawing by itself: not as wide as a notebook, and readable in a dark one."""
_LARGEST = 1e300
"""Bands without an end reach so far."""
_DASHES = {"solid": "", "dash": "7 3", "dot": "2 3", "dashdot": "7 3 2 3"}
# Characters that are invisible, turn text around or are not allowed in a document.
_UNSEEN = dict.fromkeys(
    code
    for first, last in (
        (0, 31), (127, 159), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069), (0x061C, 0x061C),
        (0x2028, 0x2029), (0xFEFF, 0xFEFF), (0xD800, 0xDFFF), (0xFFFE, 0xFFFF),
    )
    for code in range(first, last + 1)
)  # fmt: skip

STYLE = """
.chart-svg{font:11.5px system-ui,sans-serif;width:100%;height:auto;display:block;overflow:visible}
.chart-svg text{fill:var(--text,#1b2129)}.chart-svg .soft{fill:var(--soft,#55606e)}
.chart-svg .title{font-weight:600}
.chart-svg path,.chart-svg line{fill:none;stroke-linejoin:round}
.chart-svg .grid{stroke:var(--grid,#e6e9ee)}.chart-svg .axis{stroke:var(--line,#9aa3ad)}
.chart-svg .round{stroke-linecap:round}.chart-svg .faint{opacity:.45}
.chart-svg .band{stroke:none;fill-opacity:.2}.chart-svg .wide{stroke-opacity:.5}
""" + "".join(
    f".chart-svg .s-{name}{{stroke:var(--{name},{value})}}"
    f".chart-svg .f-{name}{{fill:var(--{name},{value})}}\n"
    for name, value in COLORS.items()
) + "".join(
    f".chart-svg .h{level}{{stroke:none;fill:color-mix(in oklab,var(--heat-low,#e9f1f8),"
    f"var(--heat-high,#08306b) {100 * level // (LEVELS - 1)}%)}}"
    f".chart-svg .p{level}{{stroke:color-mix(in oklab,var(--heat-low,#e9f1f8),"
    f"var(--heat-high,#08306b) {15 + 85 * level // (LEVELS - 1)}%)}}\n"
    for level in range(LEVELS)
)  # fmt: skip
"""The style sheet of charts; a page defines ``--blue``, ``--text``, ... for its themes."""


@dataclass(frozen=True)
class Drawing:
    """A chart as SVG.

    Attributes
    ----------
    svg : str
    points : list of (float, float, str)
        What can be read off: a place in the drawing and its text.
    spot : list of (float, float)
        The places of the point that a slider moves.
    keyed : list of dict
        The points that a slider divides: their places, keys and marks.
    """

    svg: str
    points: list[tuple[float, float, str]]
    spot: list[tuple[float, float]]
    keyed: list[dict[str, Any]]


def shown(text: Any, longest: int = 200) -> str:
    """Return text for a drawing: no markup, no invisible characters, not too long.

    Examples
    --------
    >>> shown("<b>bold</b>")
    '&lt;b&gt;bold&lt;/b&gt;'
    """
    clean = " ".join(str(text).split()).translate(_UNSEEN)
    return escape(clean if len(clean) <= longest else clean[: longest - 1] + "…")


def render(chart: Chart, *, standalone: bool = True) -> Drawing:
    """Draw a chart; a ``standalone`` one brings its style sheet, which a page has once for all."""
    return _Svg(chart).draw(standalone)


class _Svg:
    """One chart: measures the margins, then draws marks, axes and legend."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.parts: list[str] = []
        self._add = self.parts.append
        self.points: list[tuple[float, float, str]] = []
        self.spot: list[tuple[float, float]] = []
        self.keyed: list[dict[str, Any]] = []
        self.swatches: dict[int, str] = {}
        self.scale_bar: tuple[str, float, float] | None = None
        self.styles = styles_of(chart)
        x_ends = chart.x.ends or data_ends(chart, "x")
        y_ends = chart.y.ends or data_ends(chart, "y")
        above_strip = any(isinstance(m, marks.Strip) for m in chart.marks)
        self.y_ticks = ticks_of(chart.y, y_ends, above_strip) if chart.frame else []
        lines = [line for _, text in self.y_ticks for line in text.split("\n")]
        left = min(10 + CHARACTER * max((len(line) for line in lines), default=0), 0.5 * WIDTH)
        above = textwrap.wrap(chart.y.label, 54)
        self.top = 6 + LINE * len(above)
        self.above = above
        self.entries = [m for m in chart.marks if chart.legend and m.label and listed(m)]
        self.legend_rows = legend_rows([mark.label for mark in self.entries])
        self.top += LINE * len(self.legend_rows) + (6 if self.legend_rows else 0)
        if chart.y.rows:
            height = LINE * abs(y_ends[0] - y_ends[1])
        else:
            height = 270.0 if chart.square else 210.0
        ticks = ticks_of(chart.x, x_ends) if chart.frame else []
        right = max([12.0, *(CHARACTER * len(text) / 2 for _, text in ticks[-1:])])
        self.left, self.right, self.bottom = left, WIDTH - right, self.top + height
        self.x = Scale(x_ends, (self.left, self.right), chart.x.log)
        self.y = Scale(y_ends, (self.bottom, self.top), chart.y.log)
        self.x_ticks = spaced_ticks(ticks, self.x)

    def draw(self, standalone: bool) -> Drawing:
        """Return the drawing."""
        self._grid()
        for mark in sorted(
            self.chart.marks, key=lambda mark: not isinstance(mark, marks.Span | marks.Band)
        ):
            getattr(self, f"_{type(mark).__name__.lower()}")(mark)
        height = self._axes()
        begin, top = self._heading() if standalone else ("", 0)
        size = f' style="{_ALONE}"' if standalone else ""
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart-svg" viewBox="0 {-top} {WIDTH} '
            f'{height + top:.0f}" role="img" aria-label="{shown(self.chart.title)}"{size}>{begin}'
            f"{''.join(self.parts)}</svg>"
        )
        return Drawing(svg, self.points, self.spot, self.keyed)

    def _heading(self) -> tuple[str, int]:
        """Return the style sheet and the title of a drawing by itself, and how high it is."""
        lines = textwrap.wrap(self.chart.title, 48)
        texts = "".join(
            f'<text class="title" x="0" y="{-LINE * (len(lines) - i) + 4:g}">{shown(line)}</text>'
            for i, line in enumerate(lines)
        )
        return f"<style>{STYLE}</style>{texts}", int(LINE * len(lines)) + 8

    def _say(self, mark: Mark, x: Any, y: Any, **more: Any) -> None:
        """Keep what can be read off the points of a mark."""
        if not mark.says:
            return
        text, at_x, at_y = more.pop("text", ()), self.x(x), self.y(y)
        for i in range(len(at_x)):
            if np.isfinite(at_x[i]) and np.isfinite(at_y[i]):
                values = {key: float(column[i]) for key, column in more.items()}
                said = mark.says.format(
                    x=float(x[i]), y=float(y[i]), text=text[i] if len(text) else "", **values
                )
                self.points.append((rounded(at_x[i]), rounded(at_y[i]), said))

    def _grid(self) -> None:
        if any(isinstance(mark, marks.Heat | marks.Image) for mark in self.chart.marks):
            return
        for value, _ in self.x_ticks:
            at = rounded(self.x(value))
            self._add(f'<path class="grid" d="M{at},{self.top:.1f}V{self.bottom:.1f}"/>')
        for value, _ in () if self.chart.y.rows else self.y_ticks:
            at = rounded(self.y(value))
            self._add(f'<path class="grid" d="M{self.left:.1f},{at}H{self.right:.1f}"/>')

    def _line(self, mark: marks.Line) -> None:
        style = self.styles[id(mark)]
        dash = _DASHES[mark.dash or (style.dash if mark.main else "solid")]
        attributes = f'class="s-{style.color}" stroke-width="{1.25 * mark.width:g}"' + (
            f' stroke-dasharray="{dash}"' if dash else ""
        )
        if mark.opacity < 1:
            attributes += f' opacity="{mark.opacity:.3g}"'
        x, y = np.asarray(mark.x, dtype=np.float64), np.asarray(mark.y, dtype=np.float64)
        at_x, at_y = self.x(x), self.y(y)
        self._add(
            self._framed(f'<path {attributes} d="{line_path(at_x, at_y, mark.step)}"/>', at_y)
        )
        shape = mark.marker if mark.marker != "" else style.marker if mark.main else None
        swatch = f'<path {attributes} d="M0,0h20"/>'
        if shape and not mark.step:
            self._add(shape_path(at_x, at_y, shape, style.color, 3.0))
            swatch += shape_path([10.0], [0.0], shape, style.color, 3.0)
        self.swatches[id(mark)] = swatch
        self._say(mark, x, y)

    def _framed(self, part: str, *heights: Any) -> str:
        """Return a path, cut off at the frame if it leaves the axes."""
        if not any(((y < self.top - 0.05) | (y > self.bottom + 0.05)).any() for y in heights):
            return part
        wide, high = self.right - self.left, self.bottom - self.top
        x, y, width, height = (f"{n:.1f}" for n in (self.left, self.top, wide, high))
        return (
            f'<svg x="{x}" y="{y}" width="{width}" height="{height}" overflow="hidden" '
            f'viewBox="{x} {y} {width} {height}">{part}</svg>'
        )

    def _band(self, mark: marks.Band) -> None:
        color = self.styles[id(mark)].color
        faded = "" if mark.opacity is None else f' style="fill-opacity:{mark.opacity:.3g}"'
        x = self.x(mark.x)
        low, high = (self.y(np.clip(end, -_LARGEST, _LARGEST)) for end in (mark.low, mark.high))
        known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
        runs = np.split(known, np.flatnonzero(np.diff(known) > 1) + 1) if len(known) else []
        for run in runs:
            if len(run) == 1:
                d = f"M{rounded(x[run[0]])},{rounded(low[run[0]])}V{rounded(high[run[0]])}"
                part = f'<path class="s-{color} wide" stroke-width="6" d="{d}"/>'
            else:
                d = (
                    line_path(x[run], high[run])
                    + "L"
                    + line_path(x[run][::-1], low[run][::-1])[1:]
                    + "z"
                )
                part = f'<path class="f-{color} band"{faded} d="{d}"/>'
            self._add(self._framed(part, low[run], high[run]))
        self.swatches[id(mark)] = f'<path class="f-{color} band" d="M0,-5h20v10h-20z"/>'

    def _points(self, mark: marks.Points) -> None:
        style = self.styles[id(mark)]
        x, y = np.asarray(mark.x, dtype=np.float64), np.asarray(mark.y, dtype=np.float64)
        at_x, at_y = self.x(x), self.y(y)
        shape, size = mark.marker if mark.marker != "" else style.marker, 0.75 * mark.size
        self._intervals(mark, at_x, at_y, style.color)
        if shape is None:
            swatch = f'<path class="s-{style.color}" stroke-width="{mark.width:g}" d="M0,0h20"/>'
            self.swatches[id(mark)] = swatch
            return
        if mark.values is not None:
            self._valued(mark, at_x, at_y)
        elif mark.keys is not None:
            number = len(self.keyed)
            self._add(f'<g data-keyed="{number}">')
            self._add(shape_path(at_x, at_y, shape, style.color, size))
            self._add("</g>")
            places = [[rounded(a), rounded(b)] for a, b in zip(at_x, at_y, strict=True)]
            form = {"shape": shape_around(shape, size), "filled": shape in SHAPES}
            keys = [float(f"{key:.6g}") for key in np.asarray(mark.keys, dtype=np.float64)]
            self.keyed.append({"places": places, "keys": keys, "color": style.color, **form})
        else:
            faint = np.broadcast_to(np.asarray(mark.faint, dtype=bool), x.shape)
            for pale in (True, False):
                if (faint == pale).any():
                    some = faint == pale
                    more = " faint" if pale else ""
                    self._add(shape_path(at_x[some], at_y[some], shape, style.color, size, more))
        self.swatches[id(mark)] = shape_path([10.0], [0.0], shape, style.color, max(size, 3.0))
        self._say(mark, x, y, text=mark.text, **ends_of(mark))

    def _valued(self, mark: marks.Points, x: Any, y: Any) -> None:
        """Draw points in shades of a number, the largest on top."""
        values = np.asarray(mark.values, dtype=np.float64)
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        level = levels_of(values, low, high)
        for shade in range(LEVELS):
            some = level == shade
            if some.any():
                d = "".join(
                    f"M{rounded(a)},{rounded(b)}h0" for a, b in zip(x[some], y[some], strict=True)
                )
                self._add(f'<path class="round p{shade}" stroke-width="5" d="{d}"/>')
        self.scale_bar = mark.scale, low, high

    def _intervals(self, mark: marks.Points | marks.Bars, x: Any, y: Any, color: str) -> None:
        """Draw intervals; an arrow stands for an end beyond the axis."""
        width = 1.6 if isinstance(mark, marks.Bars) else 1.3 * mark.width
        if mark.low is not None:
            ends = self.x.ends
            low, high = (np.asarray(end, dtype=np.float64) for end in (mark.low, mark.high))
            some = np.flatnonzero(~np.isnan(low))
            first = self.x(np.maximum(low, ends[0]))
            last = self.x(np.minimum(high, ends[1]))
            d = "".join(f"M{rounded(first[i])},{rounded(y[i])}H{rounded(last[i])}" for i in some)
            if d:
                self._add(f'<path class="s-{color} wide" stroke-width="{width:g}" d="{d}"/>')
            for i in some:
                if low[i] < ends[0]:
                    self._add(shape_path([self.left], [y[i]], "left", color, 4.0))
                if high[i] > ends[1]:
                    self._add(shape_path([self.right], [y[i]], "right", color, 4.0))
        if isinstance(mark, marks.Points) and mark.y_low is not None:
            least, most = sorted(self.y.ends)
            low, high = (self.y(np.clip(end, least, most)) for end in (mark.y_low, mark.y_high))
            d = "".join(
                f"M{rounded(x[i])},{rounded(low[i])}V{rounded(high[i])}"
                for i in range(len(x))
                if np.isfinite(low[i])
            )
            self._add(f'<path class="s-{color} wide" stroke-width="{width:g}" d="{d}"/>')

    def _bars(self, mark: marks.Bars) -> None:
        style = self.styles[id(mark)]
        x, y = np.asarray(mark.x, dtype=np.float64), np.asarray(mark.y, dtype=np.float64)
        zero, at = float(self.x(0.0)), self.x(x)
        high, low = self.y(y - mark.height / 2), self.y(y + mark.height / 2)
        opacity = (0.85, 0.5, 0.25)[mark.hatch % 3]
        attributes = f'class="f-{style.color} s-{style.color}" fill-opacity="{opacity}"'
        for i in range(len(x)):
            if np.isfinite(at[i]):
                d = f"M{zero:.1f},{high[i]:.1f}H{at[i]:.1f}V{low[i]:.1f}H{zero:.1f}z"
                self._add(f'<path {attributes} d="{d}"/>')
        self._intervals(mark, at, self.y(y), "ink")
        self.swatches[id(mark)] = f'<path {attributes} d="M0,-5h20v10h-20z"/>'
        self._say(mark, x, y, text=mark.text, **ends_of(mark))

    def _heat(self, mark: marks.Heat) -> None:
        values = np.asarray(mark.values, dtype=np.float64)
        edges_x, edges_y = self.x(mark.x), self.y(mark.y)
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        scaled = (
            (np.log(values), math.log(low), math.log(high)) if mark.log else (values, low, high)
        )
        level = levels_of(*scaled)
        for shade in range(LEVELS):
            d = "".join(
                f"M{rounded(edges_x[j])},{rounded(edges_y[i])}H{rounded(edges_x[j + 1])}"
                f"V{rounded(edges_y[i + 1])}H{rounded(edges_x[j])}z"
                for i, j in zip(*np.nonzero(level == shade), strict=True)
            )
            if d:
                self._add(f'<path class="h{shade}" d="{d}"/>')
        self.scale_bar = mark.scale, low, high
        x, y = (np.asarray(edges, dtype=np.float64) for edges in (mark.x, mark.y))
        rows, columns = np.nonzero(np.isfinite(values))
        if len(rows) <= 400:
            middle_x, middle_y = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
            result = {"value": values[rows, columns]}
            self._say(mark, middle_x[columns], middle_y[rows], **result)

    def _image(self, mark: marks.Image) -> None:
        from matplotlib.image import imsave

        held = io.BytesIO()
        imsave(held, np.asarray(mark.values), cmap="cividis", format="png")
        code = base64.b64encode(held.getvalue()).decode()
        (left, right), (bottom, top) = self.x(mark.x), self.y(mark.y)
        self._add(
            f'<image x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" preserveAspectRatio="none" '
            f'href="data:image/png;base64,{code}"/>'
        )

    def _rule(self, mark: marks.Rule) -> None:
        color = mark.color or "ink"
        attributes = f'class="s-{color}" stroke-dasharray="{_DASHES[mark.dash]}"'
        if mark.x is not None:
            d = f"M{rounded(self.x(mark.x))},{self.top:.1f}V{self.bottom:.1f}"
        elif mark.y is not None:
            d = f"M{self.left:.1f},{rounded(self.y(mark.y))}H{self.right:.1f}"
        else:
            ends = np.array([0.0, mark.end])
            d = line_path(self.x(ends), self.y(ends))
        self._add(f'<path {attributes} d="{d}"/>')
        self.swatches[id(mark)] = f'<path {attributes} d="M0,0h20"/>'

    def _span(self, mark: marks.Span) -> None:
        left, right = self.x(max(mark.low, self.x.ends[0])), self.x(min(mark.high, self.x.ends[1]))
        d = f"M{left:.1f},{self.top:.1f}H{right:.1f}V{self.bottom:.1f}H{left:.1f}z"
        self._add(f'<path class="f-{mark.color} band" d="{d}"/>')
        self.swatches[id(mark)] = f'<path class="f-{mark.color} band" d="M0,-5h20v10h-20z"/>'

    def _strip(self, mark: marks.Strip) -> None:
        heights = np.asarray(mark.heights) / max(float(np.max(mark.heights)), 1e-300)
        edges = self.x(mark.edges)
        tops = self.y(mark.bottom + (mark.top - mark.bottom) * heights)
        steps = "".join(
            f"V{rounded(top)}H{rounded(end)}" for top, end in zip(tops, edges[1:], strict=True)
        )
        base = rounded(self.y(mark.bottom))
        self._add(f'<path class="f-gray band" d="M{rounded(edges[0])},{base}{steps}V{base}z"/>')

    def _spot(self, mark: marks.Spot) -> None:
        x, y = self.x(mark.x), self.y(mark.y)
        self.spot = [(rounded(a), rounded(b)) for a, b in zip(x, y, strict=True)]
        at = self.spot[mark.start]
        self._add(f'<circle data-spot="" class="f-orange" r="6" cx="{at[0]}" cy="{at[1]}"/>')

    def _text(self, mark: marks.Text) -> None:
        at = rounded(self.x(mark.x)) + 4, rounded(self.y(mark.y)) + 4
        color = f"f-{mark.color}" if mark.color else "soft"
        words = shown(mark.text, 40)
        self._add(f'<text class="{color}" x="{at[0]:g}" y="{at[1]:g}">{words}</text>')

    def _axes(self) -> float:
        """Draw axes, labels, legend and the scale of colors; return the height of the drawing."""
        d = f"M{self.left:.1f},{self.top:.1f}V{self.bottom:.1f}H{self.right:.1f}"
        self._add(f'<path class="axis" d="{d}"/>' if self.chart.frame else "")
        for value, text in self.y_ticks:
            lines = text.split("\n")
            first = float(self.y(value)) + 4 - LINE * (len(lines) - 1) / 2
            for i, line in enumerate(lines):
                self._add(
                    f'<text text-anchor="end" x="{self.left - 5:.1f}" '
                    f'y="{first + LINE * i:.1f}">{shown(line, 27)}</text>'
                )
        for value, text in self.x_ticks:
            self._add(
                f'<text text-anchor="middle" x="{rounded(self.x(value))}" '
                f'y="{self.bottom + 17.5:.1f}">{shown(text, 30)}</text>'
            )
        at = self.bottom + 17.5
        for line in textwrap.wrap(self.chart.x.label, 52):
            at += LINE
            middle = (self.left + self.right) / 2
            wide = CHARACTER * len(line) / 2
            place = min(max(middle, wide), WIDTH - wide) if 2 * wide < WIDTH else WIDTH / 2
            self._add(
                f'<text class="soft" text-anchor="middle" x="{place:.1f}" y="{at:.1f}">'
                f"{shown(line)}</text>"
            )
        self._legend()
        if self.scale_bar is not None:
            at += LINE + 4
            self._color_scale(at)
        return at + 8

    def _legend(self) -> None:
        at = 11.0
        for row in self.legend_rows:
            for i, x in row:
                mark = self.entries[i]
                self._add(
                    f'<g transform="translate({x:.1f},{at - 4:.1f})">{self.swatches[id(mark)]}'
                    f'<text x="25" y="4">{shown(mark.label, 50)}</text></g>'
                )
            at += LINE
        at += 6 if self.legend_rows else 0
        for line in self.above:
            self._add(f'<text class="soft" x="2" y="{at:.1f}">{shown(line)}</text>')
            at += LINE

    def _color_scale(self, at: float) -> None:
        assert self.scale_bar is not None
        name, low, high = self.scale_bar
        self._add(
            f'<text class="soft" x="{self.left:.1f}" y="{at:.1f}">{shown(name)} {low:.3g}</text>'
        )
        start = self.left + CHARACTER * (len(name) + len(f"{low:.3g}") + 2)
        for level in range(LEVELS):
            d = f"M{start + 12 * level:.1f},{at - 9:.1f}h12v10h-12z"
            self._add(f'<path class="h{level}" d="{d}"/>')
        end = start + 12 * LEVELS + 5
        self._add(f'<text class="soft" x="{end:.1f}" y="{at:.1f}">{high:.3g}</text>')
