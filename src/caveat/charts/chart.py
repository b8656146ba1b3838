"""What a chart is: marks, axes, words and a table of numbers. Two renderers draw it."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {
    "blue": "#0072B2",
    "orange": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "yellow": "#E69F00",
    "ink": "#000000",
    "gray": "#595959",
}
"""The colors by Okabe and Ito, distinguishable with any kind of color vision."""


@dataclass(frozen=True)
class Style:
    """Color, dashes and marker of one of several curves: they all differ."""

    color: str
    dash: str
    marker: str


STYLES = (
    Style("blue", "solid", "circle"),
    Style("orange", "dash", "square"),
    Style("green", "dot", "triangle"),
    Style("purple", "dashdot", "diamond"),
    Style("sky", "solid", "down"),
    Style("yellow", "dash", "plus"),
    Style("ink", "dot", "cross"),
)


def style_of(number: int) -> Style:
    """Return the style of the first, second, ... curve."""
    return STYLES[number % len(STYLES)]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis.

    Attributes
    ----------
    label : str
    ends : pair of float or None
        The range; None takes it from the marks.
    log, percent : bool
        Whether the scale is logarithmic, and whether ticks are shares in percent.
    ticks : tuple of (float, str)
        Positions and labels; empty lets the renderer choose.
    rows : bool
        Whether each tick labels a row of the chart; a unit of the axis is then a line of text.
    """

    label: str = ""
    ends: tuple[float, float] | None = None
    log: bool = False
    percent: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    rows: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Mark:
    """What all marks have.

    Attributes
    ----------
    label : str
        The text in the legend; empty leaves the mark out of it.
    color : str
        A name in `COLORS`; empty takes the style of the curve.
    main : bool
        Whether the mark is the curve itself. Reference marks are drawn once when several charts
        share their axes.
    says : str
        The text on hover: a format string of ``x``, ``y``, ``low``, ``high`` and ``text``.
    """

    label: str = ""
    color: str = ""
    main: bool = False
    says: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Line(Mark):
    """A line through points, or steps.

    Attributes
    ----------
    x, y : array-like
    dash : {"", "solid", "dash", "dot", "dashdot"}
        Empty takes the style of the curve.
    marker : str or None
        A shape at each point; empty takes the style of the curve, None draws none.
    step : bool
        Whether the line goes along and up in steps.
    width : float
    """

    x: Any
    y: Any
    dash: str = ""
    marker: str | None = ""
    step: bool = False
    width: float = 1.6


@dataclass(frozen=True, eq=False, kw_only=True)
class Band(Mark):
    """The area between two lines; a single point gets a bar.

    Attributes
    ----------
    x, low, high : array-like
    """

    x: Any
    low: Any
    high: Any


@dataclass(frozen=True, eq=False, kw_only=True)
class Points(Mark):
    """Single points, with intervals along either axis.

    Attributes
    ----------
    x, y : array-like
    size : float
    marker : str or None
        A shape; empty takes the style of the curve, None draws the intervals alone.
    text : sequence of str
        The names of the points.
    low, high, y_low, y_high : array-like or None
        Intervals along x and along y. An end beyond the axis becomes an arrow.
    width : float
        The thickness of the intervals.
    values : array-like or None
        Numbers that color the points.
    scale : str
        What these numbers are.
    keys : array-like or None
        Numbers with which a page compares a threshold.
    faint : array-like of bool or bool
        Which points are pale.
    """

    x: Any
    y: Any
    marker: str | None = ""
    size: float = 5.0
    text: Sequence[str] = ()
    low: Any = None
    high: Any = None
    y_low: Any = None
    y_high: Any = None
    width: float = 1.4
    values: Any = None
    scale: str = ""
    keys: Any = None
    faint: Any = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Bars(Mark):
    """Horizontal bars from 0, with intervals.

    Attributes
    ----------
    x, y : array-like
        Lengths and places.
    height : float
    hatch : int
        Which of several kinds of bars.
    low, high : array-like or None
        Intervals.
    text : sequence of str
        The names of the bars.
    """

    x: Any
    y: Any
    height: float = 0.8
    hatch: int = 0
    low: Any = None
    high: Any = None
    text: Sequence[str] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Heat(Mark):
    """A field of numbers between edges; NaN cells stay empty.

    Attributes
    ----------
    x, y : array-like
        The edges of columns and rows.
    values : array-like of shape (rows, columns)
    scale : str
        What the numbers are.
    log : bool
        Whether colors follow the logarithm.
    """

    x: Any
    y: Any
    values: Any
    scale: str = ""
    log: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Image(Mark):
    """A picture: an array of shape (rows, columns) or (rows, columns, 3), with its extent.

    Attributes
    ----------
    values : array-like
    x, y : pair of float
        Where it begins and ends.
    """

    values: Any
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule(Mark):
    """A reference line: at ``x``, at ``y``, or the diagonal from 0 to ``end``.

    Attributes
    ----------
    x, y, end : float or None
    dash : str
    """

    x: float | None = None
    y: float | None = None
    end: float | None = None
    dash: str = "dot"


@dataclass(frozen=True, eq=False, kw_only=True)
class Span(Mark):
    """A shaded range of x.

    Attributes
    ----------
    low, high : float
    """

    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Strip(Mark):
    """A histogram in a strip of the axes between two heights.

    Attributes
    ----------
    edges, heights : array-like
    bottom, top : float
    """

    edges: Any
    heights: Any
    bottom: float
    top: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Spot(Mark):
    """A point that a page moves with its slider: one place for each step.

    Attributes
    ----------
    x, y : array-like
    start : int
        The step at which it begins.
    """

    x: Any
    y: Any
    start: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Text(Mark):
    """A word at a place.

    Attributes
    ----------
    x, y : float
    text : str
    """

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Headline:
    """The number that sums a chart up, as it stands in the table.

    Attributes
    ----------
    metric : str
    value : float
        NaN where it was not asked.
    interval : pair of float
    estimate : float
        The value freed of the bias that chance gives binned errors; NaN where it is not known.
    """

    metric: str
    value: float
    interval: tuple[float, float] = (np.nan, np.nan)
    estimate: float = np.nan


@dataclass(frozen=True, eq=False, kw_only=True)
class Chart:
    """A chart, declared once and drawn by any renderer.

    Attributes
    ----------
    title : str
    read : str
        How to read it.
    x, y : Axis
    marks : tuple of Mark
    numbers : dict of str to array-like
        The table behind the chart: columns of equal length, which `to_frame` returns.
    headline : Headline or None
        The number that sums the chart up.
    note : str
    square : bool
        Whether both axes have the same scale.
    legend : bool
    confidence : float
        The confidence level of bands and intervals; NaN where there are none.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.4, 0.8, 0.9])
    >>> chart = caveat.charts.reliability(caveat.evaluate(prediction, [0, 1, 1, 1], resamples=0))
    >>> chart
    <Chart: Reliability of the probability of class=1, 4 rows>
    >>> list(chart.to_frame())
    ['predicted', 'observed', 'low', 'high', 'samples']
    """

    title: str
    read: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    numbers: Mapping[str, Any] = field(default_factory=dict)
    headline: Headline | None = None
    note: str = ""
    square: bool = False
    legend: bool = True
    confidence: float = np.nan

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.numbers.items()}
        if len({*lengths.values()}) > 1:
            raise OptionError(f"the columns of numbers must have one length; got {lengths}")

    def to_frame(self) -> Any:
        """Return the numbers as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(dict(self.numbers))

    def plot(self, *, ax: "Axes | None" = None, name: str | None = None, **options: Any) -> "Axes":
        """Draw the chart with matplotlib.

        Parameters
        ----------
        ax : Axes, optional
            The axes to draw in; by default those of a new figure. Charts that share their axes
            get different colors, dashes and markers.
        name : str, optional
            The name of the curve in the legend.
        **options
            Options of matplotlib for the main marks, such as ``color`` and ``linewidth``.

        Returns
        -------
        Axes
        """
        from ._matplotlib import draw

        return draw(self, ax, name, options)

    def svg(self) -> str:
        """Return the chart as an SVG element with text as text."""
        from .svg import render

        return render(self).svg

    _repr_svg_ = svg

    def __repr__(self) -> str:
        """Return one line: the title and the size of the table."""
        rows = len(next(iter(self.numbers.values()), ()))
        return f"<Chart: {self.title}, {rows} rows>"


def overlay(charts: Mapping[str, Chart], read: str) -> Chart:
    """Return one chart with the main curves of several, by name, without their bands.

    Parameters
    ----------
    charts : mapping of str to Chart
        Charts of the same kind.
    read : str
        How to read the result.

    Returns
    -------
    Chart
    """
    if not isinstance(charts, Mapping) or not all(isinstance(c, Chart) for c in charts.values()):
        raise OptionError(f"charts must be a mapping from names to Chart; got {charts!r}")
    if not charts:
        raise OptionError("charts must hold one Chart at least; got none")
    first = next(iter(charts.values()))
    marks: list[Mark] = [
        mark for mark in first.marks if not mark.main and not isinstance(mark, Band | Strip | Spot)
    ]
    columns: dict[str, list[Any]] = {}
    tops = []
    for number, (name, chart) in enumerate(charts.items()):
        style = style_of(number)
        for mark in chart.marks:
            if isinstance(mark, Line) and mark.main:
                plain = replace(mark, label=name, color=style.color, dash=style.dash)
                marks.append(
                    replace(plain, marker=mark.marker if mark.marker is None else style.marker)
                )
        tops.append(chart.y.ends[1] if chart.y.ends else 0.0)
        length = len(next(iter(chart.numbers.values()), ()))
        for key, values in {"technique": [name] * length, **chart.numbers}.items():
            columns.setdefault(key, []).extend(list(values))
    whole = {
        key: values for key, values in columns.items() if len(values) == len(columns["technique"])
    }
    return replace(
        first, marks=tuple(_stretched(marks, max(tops))), numbers=whole, read=read, headline=None,
        note="", **_ends(first, max(tops)),
    )  # fmt: skip


def _ends(chart: Chart, top: float) -> dict[str, Any]:
    """Return axes wide enough for the largest of several charts that are square."""
    if chart.y.ends is None:
        return {}
    x = replace(chart.x, ends=(0.0, top)) if chart.square and chart.x.ends else chart.x
    return {"x": x, "y": replace(chart.y, ends=(0.0, top))}


def _stretched(marks: Sequence[Mark], top: float) -> list[Mark]:
    return [
        replace(mark, end=top) if isinstance(mark, Rule) and mark.end is not None else mark
        for mark in marks
    ]


def row_axis(labels: Sequence[Sequence[str]]) -> tuple[Axis, list[float]]:
    """Return an axis with one labeled row for each list of lines, and the places of the rows.

    A row is as high as its label plus one line; the first row is at the top.
    """
    ends = np.cumsum([0, *(len(lines) + 1 for lines in labels)])
    places = ((ends[:-1] + ends[1:]) / 2).tolist()
    ticks = tuple((place, "\n".join(lines)) for place, lines in zip(places, labels, strict=True))
    return Axis(ends=(float(ends[-1]), 0.0), ticks=ticks, rows=True), places


def literal(text: str) -> str:
    """Return text that stands for itself in what a mark says."""
    return text.replace("{", "{{").replace("}", "}}")


def label_lines(parts: Sequence[str], width: int = 24) -> list[str]:
    """Return the lines of a label: each part begins a new one and takes six at most."""
    return [
        line
        for part in parts
        for line in textwrap.wrap(
            part, width, max_lines=6, placeholder=" …", break_on_hyphens=False
        )
    ]


def sized_lines(name: str, samples: int, width: int = 24) -> list[str]:
    """Return the lines of a label that ends with the number of samples."""
    *lines, last = label_lines([name], width) or [""]
    size = f"({samples:,})"
    whole = f"{last} {size}".lstrip()
    return [*lines, *([whole] if len(whole) <= width else [last, size])]


def ratio_axis(numbers: Sequence[float], label: str, band: Sequence[float] = (1.0, 1.0)) -> Axis:
    """Return a logarithmic axis for ratios: what is finite of them, and a band, with some room."""
    finite = [number for number in numbers if np.isfinite(number) and number > 0]
    low, high = min(*band, *finite) / 1.15, max(*band, *finite) * 1.15
    if high < 4 * low:
        ticks = [0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 2.0]
    elif high < 8 * low:
        ticks = [0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
    else:
        steps = (1, 2, 5) if high < 100 * low else (1,)
        powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        ticks = [step * 10.0**power for power in powers for step in steps]
    shown = tuple((tick, f"{tick:g}") for tick in ticks if low <= tick <= high)
    return Axis(label=label, ends=(low, high), log=True, ticks=shown)


def padded(*arrays: Any) -> tuple[float, float]:
    """Return the ends of an axis with some room beside the finite numbers in the arrays."""
    finite = np.concatenate([np.ravel(np.asarray(array, dtype=np.float64)) for array in arrays])
    finite = finite[np.isfinite(finite)]
    low, high = float(finite.min()), float(finite.max())
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room
