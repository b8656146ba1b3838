"""Coverage: how many true values lie inside what should hold them."""

from math import sqrt
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..metrics.regression.coverage import HUNDREDTHS
from ..predictions import Gaussian, Interval, PredictionSet, Quantiles
from ..predictions.quantiles import central_coverages
from ..resampling.spread import Spread, share_limits
from ..results.rows import option_words
from ._diagonal import diagonal_chart, numbers_of
from ._nested import shares_inside
from ._samples import Samples, has_spread, headline, known, of_target
from .chart import Chart, Headline
from .entry import Entry

_TINY = float(np.finfo(np.float64).tiny)


def coverage(evaluation: Evaluation, target: Any = None) -> Chart:
    """Return the share of true values inside intervals of each nominal coverage.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation of numbers, or of sets of classes. A Gaussian is asked for central
        intervals of 1 to 99 %; quantiles for the central intervals they have, or for each level
        if they have none; intervals and sets for their own coverage.

    Returns
    -------
    With Wilson's limits at the effective sample size.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Interval([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], coverage=0.9)
    >>> chart = coverage(caveat.evaluate(prediction, [0.5, 0.5, 0.5, 2.0], resamples=0))
    >>> chart.numbers["nominal"], chart.numbers["observed"]
    (array([0.9]), array([0.75]))
    """
    evaluation = known(evaluation, target)
    result = ENTRY.samples(evaluation, target)
    if isinstance(evaluation.prediction, Gaussian):
        kind, nominal, spread = "central", HUNDREDTHS.copy(), _gaussian(result)
    else:
        kind, nominal, inside = _inside(evaluation.prediction, result)
        spread = result.spread((held * 1.0, slice(None)) for held in inside)
    x_label, y_label, read = _WORDS[kind]
    return diagonal_chart(
        evaluation,
        (f"Coverage{of_target(evaluation, result)}", read, x_label, y_label),
        numbers_of("nominal", nominal, spread.mean, share_limits(spread, evaluation.confidence)),
        _headline(evaluation, result, kind, nominal),
        ends=(1.0, 1.0),
        percent=True,
    )


_WORDS = {
    "central": (
        "nominal coverage of the interval",
        "share of true values inside",
        "Below the dotted line the intervals are too narrow: fewer true values lie inside than "
        "promised. Above it they are wider than they need to be.",
    ),
    "one-sided": (
        "level of the quantile",
        "share of true values at or below",
        "On the dotted line, as many true values lie below each quantile as should; below it the "
        "quantile is too low, above it too high.",
    ),
    "sets": (
        "nominal coverage of the set",
        "share of true classes inside",
        "Below the dotted line fewer sets hold the true class than promised; above it the sets are "
        "larger than they need to be.",
    ),
}


def _gaussian(result: Samples) -> Spread:
    """The true value is inside from the first level on whose quantile reaches its score."""
    from scipy.special import erfinv

    with np.errstate(over="ignore"):
        scores = result.error / np.maximum(result.uncertainty, sqrt(_TINY))
    step = np.searchsorted(sqrt(2) * erfinv(HUNDREDTHS), scores, side="left")
    return shares_inside(step, len(HUNDREDTHS), result.weight, result.cluster)


def _inside(prediction: Any, result: Samples) -> tuple[str, FloatArray, list[np.ndarray]]:
    """Return what is covered, the nominal coverages, and which true values lie inside each."""
    if isinstance(prediction, PredictionSet):
        return "sets", np.array([prediction.coverage]), [result.error == 0]
    intervals = [prediction]
    if isinstance(prediction, Quantiles):
        intervals = [prediction.interval(pair) for pair in central_coverages(prediction.levels)]
    if not intervals:
        values = prediction.values[:, :, result.position].mean(axis=0)
        return "one-sided", prediction.levels.copy(), [result.truth <= value for value in values.T]
    ends = ((one.lower[:, result.position], one.upper[:, result.position]) for one in intervals)
    inside = [(lower <= result.truth) & (result.truth <= upper) for lower, upper in ends]
    return "central", np.array([one.coverage for one in intervals]), inside


def _headline(evaluation: Evaluation, result: Samples, kind: str, nominal: FloatArray) -> Headline:
    if kind == "sets":
        return headline(evaluation, "set_coverage")
    if kind == "one-sided":
        return headline(evaluation, "quantile_coverage_error", result.target)
    if isinstance(evaluation.prediction, Gaussian):
        return headline(evaluation, "central_coverage_error", result.target)
    option = option_words(None, float(nominal[-1]), None)
    return headline(evaluation, "interval_coverage", result.target, option)


def _applies(evaluation: Evaluation, result: Samples) -> bool:
    sets = isinstance(evaluation.prediction, Quantiles | Interval | PredictionSet)
    return sets or has_spread(evaluation, result)


ENTRY = Entry(
    "coverage",
    coverage,
    applies=_applies,
    needs="intervals, quantiles, sets of classes, or a variance above 0",
    section="calibration",
)
