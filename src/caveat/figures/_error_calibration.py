"""Predicted against observed spread of numbers."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..resampling.spread import root_limits, spread_of, stacked
from ._available import checked
from ._figure import Figure, headline
from ._ordered import Ordered
from ._samples import of_target

BINS = 15
"""As many as the metric cuts."""


@dataclass(frozen=True, eq=False)
class ErrorCalibration(Figure):
    """What `error_calibration` returns.

    Attributes
    ----------
    predicted : ndarray of shape (bins,)
        Root mean predicted variance of each bin.
    observed : ndarray of shape (bins,)
        Root mean squared error of each bin: equal to the first if predictions are calibrated,
        above it if they are too sure.
    low, high : ndarrays of shape (bins,)
        Confidence limits of ``observed``, bin by bin.
    weight : ndarray of shape (bins,)
        Samples in the bin, or the sum of their weights.
    metric : str
    value : float
    interval : pair of float
        As in the table; NaN where the metric was not asked.
    title, x_label, y_label : str
    confidence : float
    """

    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    weight: FloatArray
    metric: str
    value: float
    interval: tuple[float, float]

    _columns: ClassVar[tuple[str, ...]] = ("predicted", "observed", "low", "high", "weight")


def error_calibration(evaluation: Evaluation, target: Any = None) -> ErrorCalibration:
    """Return predicted spread and observed error in bins of equal count of predicted spread.

    Parameters
    ----------
    evaluation : Evaluation
        Of numbers with a spread.
    target : str, optional
        The target, where there are several; by default the first.

    Returns
    -------
    ErrorCalibration
        With limits by the delta method for the logarithm of the root mean squared error; a bin
        with a single sample takes its error for that of a Gaussian. Bins with an infinite spread
        are left out.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> from caveat.figures import error_calibration
    >>> prediction = caveat.Gaussian(np.zeros(30), np.ones(30))
    >>> figure = error_calibration(caveat.evaluate(prediction, np.full(30, 2.0), resamples=0))
    >>> figure.predicted[:2].round(3), figure.observed[:2].round(3)
    (array([1., 1.]), array([2., 2.]))
    """
    found = checked("error_calibration", evaluation, target)
    ordered = Ordered(found.uncertainty, found.weight)
    cuts = np.arange(BINS + 1) / BINS * ordered.total
    parts, variances = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for low, high in pairwise(cuts):
            rows, weight = ordered.stretch(low, high)
            cluster = None if found.cluster is None else found.cluster[rows]
            parts.append(spread_of(found.error[rows] ** 2, weight, cluster))
            variances.append(weight @ found.uncertainty[rows] ** 2 / weight.sum())
        spread = stacked(parts, clustered=found.cluster is not None)
        limits = root_limits(spread, evaluation.confidence)
    number = headline(evaluation, "expected_normalized_calibration_error", found.target)
    drawn = [np.sqrt(variances), np.sqrt(spread.mean), *limits, spread.mass]
    finite = np.isfinite(drawn).all(axis=0)
    predicted, observed, low, high, weight = (column[finite] for column in drawn)
    return ErrorCalibration(
        title=f"Predicted against observed spread{of_target(evaluation, found)}",
        x_label="predicted: root mean variance",
        y_label="observed: root mean squared error",
        confidence=evaluation.confidence,
        predicted=predicted,
        observed=observed,
        low=low,
        high=high,
        weight=weight,
        metric=number.metric,
        value=number.value,
        interval=number.interval,
    )
