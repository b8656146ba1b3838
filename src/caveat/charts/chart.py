"""What a chart is: marks, axes, words and a table of numbers. Two renderers draw it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import OptionError
from .marks import Axis, Band, Line, Mark, Rule, Spot, Strip, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    frame : bool
        Whether axes, ticks and grid are drawn.
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
    frame: bool = True
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


def overlay(charts: Mapping[str, Chart], read: str, *, bands: bool = False) -> Chart:
    """Return one chart with the main curves of several, by name.

    Parameters
    ----------
    charts : mapping of str to Chart
        Charts of the same kind.
    read : str
        How to read the result.
    bands : bool, default=False
        Whether the curves keep their bands.
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
            elif isinstance(mark, Band) and mark.main and bands:
                marks.append(replace(mark, label="", color=style.color))
        tops.append(chart.y.ends[1] if chart.y.ends else 0.0)
        length = len(next(iter(chart.numbers.values()), ()))
        for key, values in {"technique": [name] * length, **chart.numbers}.items():
            columns.setdefault(key, []).extend(list(values))
    whole = {
        key: values for key, values in columns.items() if len(values) == len(columns["technique"])
    }
    stretched = (
        replace(mark, end=max(tops)) if isinstance(mark, Rule) and mark.end is not None else mark
        for mark in marks
    )
    return replace(
        first, marks=tuple(stretched), numbers=whole, read=read, headline=None, note="",
        **_ends(first, max(tops)),
    )  # fmt: skip


def _ends(chart: Chart, top: float) -> dict[str, Any]:
    """Return axes wide enough for the largest of several charts that are square."""
    if chart.y.ends is None:
        return {}
    x = replace(chart.x, ends=(0.0, top)) if chart.square and chart.x.ends else chart.x
    return {"x": x, "y": replace(chart.y, ends=(0.0, top))}
