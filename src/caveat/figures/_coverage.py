"""Coverage: how many true values lie inside what should hold them."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..metrics.regression.coverage import HUNDREDTHS
from ..predictions import Gaussian, Interval, PredictionSet, Quantiles
from ..predictions.quantiles import central_coverages
from ..resampling.spread import Spread, share_limits, spread_of, stacked
from ..results.rows import option_words
from ._available import checked
from ._figure import Figure, Headline, headline
from ._nested import shares_inside
from ._samples import Samples, of_target

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Coverage(Figure):
    """What `coverage` returns.

    Attributes
    ----------
    nominal, observed : ndarrays of shape (levels,)
        The coverage that was promised, and the share of true values inside.
    low, high : ndarrays of shape (levels,)
        Confidence limits of ``observed``, level by level.
    kind : {"central", "one-sided", "sets"}
        Whether ``observed`` is the share inside central intervals, at or below quantiles, or in
        sets of classes.
    metric : str
    value : float
    interval : pair of float
        As in the table; NaN where the metric was not asked.
    title, x_label, y_label : str
    confidence : float
    """

    nominal: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    kind: str
    metric: str
    value: float
    interval: tuple[float, float]

    _columns: ClassVar[tuple[str, ...]] = ("nominal", "observed", "low", "high")


def coverage(evaluation: Evaluation, target: Any = None) -> Coverage:
    """Return the share of true values inside intervals of each nominal coverage.

    Parameters
    ----------
    evaluation : Evaluation
        Of numbers, or of sets of classes. A Gaussian is asked for central intervals of 1 to 99 %;
        quantiles for the central intervals they have, or for each level if they have none;
        intervals and sets for their own coverage.
    target : str, optional
        The target, where there are several; by default the first.

    Returns
    -------
    Coverage
        With Wilson's limits at the effective sample size.

    Examples
    --------
    >>> import caveat
    >>> from caveat.figures import coverage
    >>> prediction = caveat.Interval([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], coverage=0.9)
    >>> figure = coverage(caveat.evaluate(prediction, [0.5, 0.5, 0.5, 2.0], resamples=0))
    >>> figure.nominal, figure.observed
    (array([0.9]), array([0.75]))
    """
    found = checked("coverage", evaluation, target)
    prediction = evaluation.prediction
    if isinstance(prediction, Quantiles):
        kind, nominal, spread = _quantiles(prediction, found)
    elif isinstance(prediction, Interval):
        ends = prediction.lower[:, found.position], prediction.upper[:, found.position]
        inside = (found.truth >= ends[0]) & (found.truth <= ends[1])
        kind, nominal, spread = "central", np.array([prediction.coverage]), _few([inside], found)
    elif isinstance(prediction, PredictionSet):
        kind, nominal = "sets", np.array([prediction.coverage])
        spread = _few([found.error == 0], found)
    else:
        kind, nominal, spread = "central", HUNDREDTHS.copy(), _gaussian(found)
    low, high = share_limits(spread, evaluation.confidence)
    number = _headline(evaluation, found, kind, nominal)
    x_label, y_label = _LABELS[kind]
    return Coverage(
        title=f"Coverage{of_target(evaluation, found)}",
        x_label=x_label,
        y_label=y_label,
        confidence=evaluation.confidence,
        nominal=nominal,
        observed=spread.mean,
        low=low,
        high=high,
        kind=kind,
        metric=number.metric,
        value=number.value,
        interval=number.interval,
    )


_LABELS = {
    "central": ("nominal coverage of the interval", "share of true values inside"),
    "one-sided": ("level of the quantile", "share of true values at or below"),
    "sets": ("nominal coverage of the set", "share of true classes inside"),
}


def _gaussian(found: Samples) -> Spread:
    """The true value is inside from the first level on whose quantile reaches its score."""
    from scipy.special import erfinv

    with np.errstate(over="ignore"):
        scores = found.error / np.maximum(found.uncertainty, sqrt(_TINY))
    step = np.searchsorted(sqrt(2) * erfinv(HUNDREDTHS), scores, side="left")
    return shares_inside(step, len(HUNDREDTHS), found.weight, found.cluster)


def _quantiles(prediction: Quantiles, found: Samples) -> tuple[str, FloatArray, Spread]:
    pairs = central_coverages(prediction.levels)
    if not pairs:
        values = prediction.values[:, :, found.position].mean(axis=0)
        inside = [found.truth <= values[:, i] for i in range(len(prediction.levels))]
        return "one-sided", prediction.levels.copy(), _few(inside, found)
    inside = []
    for pair in pairs:
        interval = prediction.interval(pair)
        ends = interval.lower[:, found.position], interval.upper[:, found.position]
        inside.append((found.truth >= ends[0]) & (found.truth <= ends[1]))
    return "central", np.array(pairs), _few(inside, found)


def _few(inside: list[np.ndarray], found: Samples) -> Spread:
    parts = (spread_of(held.astype(np.float64), found.weight, found.cluster) for held in inside)
    return stacked(parts, clustered=found.cluster is not None)


def _headline(evaluation: Evaluation, found: Samples, kind: str, nominal: FloatArray) -> Headline:
    if kind == "sets":
        return headline(evaluation, "set_coverage")
    if kind == "one-sided":
        return headline(evaluation, "quantile_coverage_error", found.target)
    if isinstance(evaluation.prediction, Gaussian):
        return headline(evaluation, "central_coverage_error", found.target)
    option = option_words(None, float(nominal[-1]), None)
    return headline(evaluation, "interval_coverage", found.target, option)
