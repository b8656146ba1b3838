"""One chart for each figure: how it is drawn, how it is read, and the numbers behind it."""

from typing import Any

import numpy as np

from ..metrics import METRICS
from ..results.tables import WITHOUT_CHANCE, number
from . import _charts as draw
from .content import Chart, Names, Target, numbers_table

_LOWER = {"yaxis": {"domain": [0.27, 1]}, "yaxis2": {"domain": [0, 0.17]}}
"""A chart over a histogram that shares its x axis."""


def reliability(figure: Any, names: Names, confidence: float) -> Chart:
    """Return what was predicted against what was observed, over the density of predictions."""
    shares = figure.kind in ("class", "confidence")
    top = 1.0 if shares else _top(figure.predicted, figure.high, figure.edges)
    hover = "predicted %{x:.3f}<br>observed %{y:.3f}"
    data = [
        *draw.band(figure.predicted, figure.low, figure.high, _band(confidence), "@blue"),
        draw.diagonal(0, top, "as it should be"),
        draw.line(
            figure.predicted, figure.observed, "observed", "@blue", symbol="circle", hover=hover
        ),
        draw.bars(figure.edges, figure.density, "about %{x:.3f}: %{y:.4~g}"),
    ]
    axis = {"range": [0, top * 1.02]}
    layout = draw.layout(
        figure.x_label,
        figure.y_label,
        height=430,
        bargap=0,
        xaxis={**axis, "anchor": "y2"},
        yaxis={**axis, **_LOWER["yaxis"]},
        yaxis2={
            **_LOWER["yaxis2"], "showticklabels": False, "ticks": "",
            "title": {"text": "density"},
        },
    )  # fmt: skip
    return Chart(
        names("chart"),
        figure.title,
        _READ[figure.kind],
        data,
        layout,
        numbers_table(
            f"{figure.title}: what was predicted and observed in each bin",
            ("predicted", figure.predicted),
            ("observed", figure.observed),
            ("low", figure.low),
            ("high", figure.high),
            ("samples", figure.weight),
        ),
        value=_value(figure),
    )


def coverage(figure: Any, names: Names, confidence: float, target: Target) -> Chart:
    """Return the promised against the observed coverage of intervals."""
    axis = {"range": [0, 1.02], "tickformat": ".0%"}
    hover = "promised %{x:.0%}<br>observed %{y:.1%}"
    symbol = "" if len(figure.nominal) > 20 else "circle"
    data = [
        *draw.band(figure.nominal, figure.low, figure.high, _band(confidence), "@blue"),
        draw.diagonal(0, 1, "as promised"),
        draw.line(figure.nominal, figure.observed, "observed", "@blue", symbol=symbol, hover=hover),
    ]
    return Chart(
        names("chart"),
        figure.title,
        _COVERED[figure.kind],
        data,
        draw.layout(figure.x_label, figure.y_label, xaxis=axis, yaxis=axis),
        numbers_table(
            f"{figure.title}: promised and observed shares",
            ("promised", figure.nominal),
            ("observed", figure.observed),
            ("low", figure.low),
            ("high", figure.high),
        ),
        value=_value(figure),
        target=target.key,
    )


def error_calibration(figure: Any, names: Names, confidence: float, target: Target) -> Chart:
    """Return the size of errors against the predicted spread."""
    top = _top(figure.predicted, figure.high)
    hover = "predicted %{x:.4~g}<br>observed %{y:.4~g}"
    data = [
        *draw.band(figure.predicted, figure.low, figure.high, _band(confidence), "@blue"),
        draw.diagonal(0, top, "as it should be"),
        draw.line(
            figure.predicted, figure.observed, "observed", "@blue", symbol="circle", hover=hover
        ),
    ]
    axis = {"range": [0, top * 1.02]}
    return Chart(
        names("chart"),
        figure.title,
        "Each point holds predictions with about the same spread. Above the dotted line their "
        "errors are larger than predicted (over-confident), below it smaller.",
        data,
        draw.layout(figure.x_label, figure.y_label, xaxis=axis, yaxis=axis),
        numbers_table(
            f"{figure.title}: predicted spread and size of the errors in each bin",
            ("predicted", figure.predicted),
            ("observed", figure.observed),
            ("low", figure.low),
            ("high", figure.high),
            ("samples", figure.weight),
        ),
        value=_value(figure),
        target=target.key,
    )


def confidence_curve(figure: Any, names: Names, confidence: float, target: Target) -> Chart:
    """Return the error that is left as the most uncertain samples are removed."""
    hover = "%{x:.0%} removed<br>error %{y:.4~g}"
    data = [
        *draw.band(figure.removed, figure.low, figure.high, _band(confidence), "@blue"),
        draw.line(figure.removed, figure.random, "in random order", "@gray", dash="dash"),
        draw.line(figure.removed, figure.oracle, "largest errors first", "@green", dash="dot"),
        draw.line(figure.removed, figure.error, "most uncertain first", "@blue", hover=hover),
    ]
    axis = {"tickformat": ".0%", "range": [0, 1]}
    return Chart(
        names("chart"),
        figure.title,
        "The uncertainty is useful if the blue line falls quickly: the closer to the dotted line "
        "(nobody can do better), and the further below the dashed one (chance), the better.",
        data,
        draw.layout(figure.x_label, figure.y_label, xaxis=axis, yaxis={"rangemode": "tozero"}),
        numbers_table(
            f"{figure.title}: error that is left",
            ("removed", figure.removed[::5]),
            ("most uncertain first", figure.error[::5]),
            ("low", figure.low[::5]),
            ("high", figure.high[::5]),
            ("largest errors first", figure.oracle[::5]),
            ("in random order", figure.random[::5]),
        ),
        value=_value(figure),
        target=target.key,
    )


def error_histogram(figure: Any, names: Names, target: Target) -> Chart:
    """Return how many samples have which error at which uncertainty."""
    x, y = figure.uncertainty_edges, figure.error_edges
    hover = "uncertainty about %{x:.3~g}<br>error about %{y:.3~g}<br>%{customdata:.4~g} samples"
    rows, columns = np.nonzero(figure.counts)
    order = np.argsort(-figure.counts[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    return Chart(
        names("chart"),
        figure.title,
        "The stronger the color, the more samples. The upper left is where it hurts: a large "
        "error at a low uncertainty.",
        [draw.heat(x, y, figure.counts, hover)],
        draw.layout(figure.x_label, figure.y_label),
        numbers_table(
            f"{figure.title}: the fullest fields",
            ("uncertainty from", x[columns]),
            ("to", x[columns + 1]),
            ("error from", y[rows]),
            ("to", y[rows + 1]),
            ("samples", figure.counts[rows, columns]),
        ),
        note=figure.note[:1].upper() + figure.note[1:] + "." if figure.note else "",
        target=target.key,
    )


def ecdf(figure: Any, names: Names, target: Target) -> Chart:
    """Return how uncertain right and wrong predictions are."""
    right = f"{figure.right_label} ({figure.right_count:,})"
    wrong = f"{figure.wrong_label} ({figure.wrong_count:,})"
    hover = "%{y:.0%} have an uncertainty up to %{x:.3~g}"
    data = [
        draw.line(figure.uncertainty, figure.right, right, "@blue", hover=hover),
        draw.line(figure.uncertainty, figure.wrong, wrong, "@orange", dash="dash", hover=hover),
    ]
    axis = {"tickformat": ".0%", "range": [0, 1.02]}
    return Chart(
        names("chart"),
        figure.title,
        "The further the two lines are apart, the better the uncertainty tells the two apart; the "
        "dashed line should lie to the right.",
        data,
        draw.layout(figure.x_label, figure.y_label, yaxis=axis),
        numbers_table(
            f"{figure.title}: shares up to each uncertainty",
            ("uncertainty", figure.uncertainty[::5]),
            (figure.right_label, figure.right[::5]),
            (figure.wrong_label, figure.wrong[::5]),
        ),
        value=_value(figure),
        target=target.key,
    )


def _band(confidence: float) -> str:
    return f"{100 * confidence:g} % band"


def _top(*arrays: Any) -> float:
    return max((float(np.max(array)) for array in arrays if len(array)), default=1.0) or 1.0


def _value(figure: Any) -> str:
    if np.isnan(figure.value):
        return ""
    low, high = figure.interval
    between = "" if np.isnan(low) else f" ({number(low)} to {number(high)})"
    name = METRICS[figure.metric].label
    estimate = getattr(figure, "estimate", np.nan)
    freed = "" if np.isnan(estimate) else f"; {number(estimate)} {WITHOUT_CHANCE}"
    return f"{name}: {number(figure.value)}{between}{freed}"


_COVERED = {
    "central": "Below the dotted line the intervals are too narrow: fewer true values lie inside "
    "than promised. Above it they are wider than they need to be.",
    "one-sided": "On the dotted line, as many true values lie below each quantile as should; below "
    "it the quantile is too low, above it too high.",
    "sets": "Below the dotted line fewer sets hold the true class than promised; above it the sets "
    "are larger than they need to be.",
}
_READ = {
    "class": "Below the dotted line the class happens less often than predicted, above it more "
    "often.",
    "confidence": "Below the dotted line the model is right less often than it says "
    "(over-confident), above it more often (under-confident).",
    "entropy": "How often predictions of the same entropy are wrong. It should rise from left to "
    "right; the dotted line is a rough guide, as entropy and error rate are different things.",
    "variation": "How varied the outcomes really were, at each predicted entropy. Above the dotted "
    "line the outcomes vary more than the model says (over-confident).",
}
