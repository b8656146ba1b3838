"""Decision curves: what acting on a risk is worth, at each threshold probability."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..evaluation.result import class_probabilities
from ..metrics import net_benefit_curve
from ..resampling.spread import Limits, mean_limits
from ._by_group import by_group
from ._samples import DISTRIBUTIONS, Samples, band_label
from .chart import Chart
from .entry import Entry
from .marks import Axis, Band, Line, Mark, style_of


def decision_curve(
    evaluation: Evaluation, *, thresholds: Any = None, group: str | None = None
) -> Chart:
    """Return the net benefit of acting on the probability of the second of two classes.

    Parameters
    ----------
    thresholds : array of shape (thresholds,), optional
        Threshold probabilities, at least 0 and below 1; by default 0.01, 0.02, ..., 0.99.
    group : str, optional
        An attribute of the samples, such as "sex": a curve for each of its values, with bands for
        up to three. Of more than seven values the largest are drawn.

    Returns
    -------
    With Gaussian limits of the net benefit at each threshold, which is a mean over the samples; see
    `caveat.metrics.net_benefit_curve`. Where nobody is treated it is 0 without a band.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.4, 0.3, 0.8])
    >>> result = caveat.evaluate(prediction, [0, 0, 1, 1], resamples=0)
    >>> chart = decision_curve(result, thresholds=[0.2, 0.5])
    >>> chart.to_frame()[["threshold", "model", "treat all"]].values.tolist()
    [[0.2, 0.4375, 0.375], [0.5, 0.25, 0.0]]
    """
    result = ENTRY.samples(evaluation)
    p = np.ascontiguousarray(class_probabilities(evaluation)[:, 1])
    if group is None:
        return _curve(evaluation, result, p, thresholds)
    chart = by_group(
        evaluation,
        group,
        lambda rows: _curve(evaluation, result.take(rows), p[rows], thresholds),
        f"{_READ} Dashed lines in the colors of the groups treat all of the group.",
    )
    labels, x, model, everyone = (
        np.asarray(chart.numbers[name]) for name in ("group", "threshold", "model", "treat all")
    )
    none, _, *curves = chart.marks
    bottom, top = _ends(model, everyone)
    drawn: list[Mark] = [none]
    for i, label in enumerate(dict.fromkeys(labels)):
        rows = labels == label
        color = style_of(i).color
        drawn.append(_treat_all(x[rows], everyone[rows], bottom, color, f"treat all of {label}"))
    return replace(
        chart, marks=(*drawn, *(_raised(curve, bottom) for curve in curves)),
        y=replace(chart.y, ends=(bottom, top)),
    )  # fmt: skip


def _curve(evaluation: Evaluation, result: Samples, p: FloatArray, thresholds: Any) -> Chart:
    """Return the curve of some of the samples."""
    truth = (result.truth == 1).astype(np.int8)
    name = f"class={evaluation.prediction.classes[1]}"
    curve = net_benefit_curve(truth, p, thresholds=thresholds, sample_weight=result.weight)
    low, high = _limits(evaluation, result, p, truth, curve.threshold)
    x, ends = curve.threshold, _ends(curve.model, curve.treat_all)
    marks = (
        Line(x=x, y=curve.treat_none, label="treat none", color="gray", dash="dot", marker=None,
             width=1.2),
        _treat_all(x, curve.treat_all, ends[0], "gray", "treat all"),
        Line(x=x, y=curve.model, label="by the model", main=True, marker=None,
             says="{x:.0%}: net benefit {y:.3g}"),
        Band(x=x, low=low, high=high, label=band_label(evaluation), main=True),
    )  # fmt: skip
    return Chart(
        title=f"Decision curve of {name}",
        read=_READ,
        x=Axis(label=f"threshold probability of {name}", ends=(0.0, 1.0), percent=True),
        y=Axis(label="net benefit", ends=ends),
        marks=tuple(_raised(mark, ends[0]) for mark in marks),
        numbers={
            "threshold": x, "model": curve.model, "low": low, "high": high,
            "treat all": curve.treat_all,
        },
        confidence=evaluation.confidence,
    )  # fmt: skip


def _treat_all(x: FloatArray, y: FloatArray, bottom: float, color: str, label: str) -> Line:
    """Return the line of treating all, as far as it is in the chart."""
    shown = y >= bottom
    return Line(
        x=x[shown], y=y[shown], label=label, color=color, dash="dash", marker=None, width=1.2,
        says=f"{{x:.0%}}: {label} {{y:.3g}}",
    )  # fmt: skip


def _raised(mark: Mark, bottom: float) -> Mark:
    """Return a mark that stays in the chart."""
    names = [name for name in ("y", "low", "high") if hasattr(mark, name)]
    return replace(mark, **{name: np.maximum(getattr(mark, name), bottom) for name in names})


def _ends(model: FloatArray, treat_all: FloatArray) -> tuple[float, float]:
    """Return the range of the net benefit; how far below 0 it falls does not matter."""
    top = 1.2 * max(0.01, float(model.max()), float(treat_all.max()))
    return -0.3 * top, top


_READ = (
    "Somebody is treated if the predicted probability is at least the threshold: the lower it is, "
    "the worse a missed case is compared with a treatment without need. Where the line is above "
    "both others, acting on the model is worth more than treating all or none; below them it does "
    "harm. Look at the thresholds that people would choose."
)


def _limits(
    evaluation: Evaluation, result: Samples, p: FloatArray, truth: np.ndarray, t: FloatArray
) -> Limits:
    """Return limits of the net benefit, the mean of 1 for each hit and -t / (1 - t) for others."""
    worth = (np.where(p >= one, np.where(truth == 1, 1.0, -one / (1 - one)), 0.0) for one in t)
    spread = result.spread((values, slice(None)) for values in worth)
    return mean_limits(spread, evaluation.confidence, least=-np.inf)


def _two_classes(evaluation: Evaluation, _: Samples) -> bool:
    prediction = evaluation.prediction
    return isinstance(prediction, DISTRIBUTIONS) and len(prediction.classes) == 2


ENTRY = Entry(
    "decision_curve",
    decision_curve,
    applies=_two_classes,
    needs="probabilities of two classes",
    section="calibration",
    folded=lambda _: True,
    aliases=("net_benefit",),
)
