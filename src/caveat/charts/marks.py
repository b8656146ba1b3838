"""What is drawn: axes and marks, with colors, dashes and markers that differ together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    opacity : float
        From 0 to 1.
    """

    x: Any
    y: Any
    dash: str = ""
    marker: str | None = ""
    step: bool = False
    width: float = 1.6
    opacity: float = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Band(Mark):
    """The area between two lines; a single point gets a bar.

    Attributes
    ----------
    x, low, high : array-like
    opacity : float or None
        From 0 to 1; None takes that of all bands.
    """

    x: Any
    low: Any
    high: Any
    opacity: float | None = None


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
