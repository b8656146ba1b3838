"""Charts of what was predicted against what was observed."""

from collections.abc import Mapping
from typing import Any

from ..evaluation import Evaluation
from ..resampling.spread import Limits
from ._samples import band_label
from .chart import Chart, Headline
from .marks import Axis, Band, Line, Mark, Rule, Strip

_MANY = 20
"""A line through more points than this has no markers."""


def diagonal_chart(
    evaluation: Evaluation,
    words: tuple[str, str, str, str],
    numbers: Mapping[str, Any],
    headline: Headline,
    *,
    ends: tuple[float, float],
    ideal: str = "perfectly calibrated",
    percent: bool = False,
    density: tuple[Any, Any] | None = None,
) -> Chart:
    """Return a chart in which calibrated predictions lie on the diagonal.

    ``words`` are the title, how to read it, and the labels of the axes; ``numbers`` the predicted
    and the observed values, then "low" and "high". ``ends`` are those of x and y, ``ideal`` is the
    name of the diagonal, ``density`` the edges and heights of a histogram below.
    """
    title, read, x_label, y_label = words
    (across, x), (up, y) = list(numbers.items())[:2]
    sign = ".0%" if percent else ".3g"
    curve = Line(
        x=x, y=y, label="observed", main=True, marker="" if len(x) <= _MANY else None,
        says=f"{across} {{x:{sign}}}, {up} {{y:{'.1%' if percent else '.3g'}}}",
    )  # fmt: skip
    marks: list[Mark] = [
        Rule(end=min(ends), label=ideal),
        curve,
        Band(
            x=x, low=numbers["low"], high=numbers["high"], label=band_label(evaluation), main=True
        ),
    ]
    low = 0.0
    if density is not None:
        low = -0.18 * ends[1]
        strip = Strip(
            edges=density[0], heights=density[1], bottom=0.98 * low, top=0.2 * low, main=True
        )  # fmt: skip
        marks.append(strip)
    return Chart(
        title=title,
        read=read,
        x=Axis(label=x_label, ends=(0.0, ends[0]), percent=percent),
        y=Axis(label=y_label, ends=(low, ends[1]), percent=percent),
        marks=tuple(marks),
        numbers=numbers,
        headline=headline,
        square=True,
        confidence=evaluation.confidence,
    )


def numbers_of(
    predicted: str, x: Any, y: Any, limits: Limits, samples: Any = None
) -> dict[str, Any]:
    """Return the columns of such a chart."""
    columns = {predicted: x, "observed": y, "low": limits[0], "high": limits[1]}
    return columns if samples is None else {**columns, "samples": samples}
