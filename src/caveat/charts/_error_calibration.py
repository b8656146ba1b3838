"""Predicted against observed spread of numbers."""

from itertools import pairwise
from typing import Any

import numpy as np

from ..evaluation import Evaluation
from ..resampling.spread import root_limits, spread_of, stacked
from ._diagonal import diagonal_chart, numbers_of
from ._ordered import Ordered
from ._samples import has_spread, headline, of_target
from .chart import Chart
from .entry import Entry

BINS = 15
"""As many as the metric cuts."""


def error_calibration(evaluation: Evaluation, target: Any = None) -> Chart:
    """Return predicted spread and observed error in bins of equal count of predicted spread.

    Returns
    -------
    With limits by the delta method for the logarithm of the root mean squared error; a bin with a
    single sample takes its error for that of a Gaussian. Bins with an infinite spread are left out.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> prediction = caveat.Gaussian(np.zeros(30), np.ones(30))
    >>> chart = error_calibration(caveat.evaluate(prediction, np.full(30, 2.0), resamples=0))
    >>> chart.numbers["predicted"][:2].round(3), chart.numbers["observed"][:2].round(3)
    (array([1., 1.]), array([2., 2.]))
    """
    result = ENTRY.samples(evaluation, target)
    ordered = Ordered(result.uncertainty, result.weight)
    cuts = np.arange(BINS + 1) / BINS * ordered.total
    parts, variances = [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for low, high in pairwise(cuts):
            rows, weight = ordered.stretch(low, high)
            cluster = None if result.cluster is None else result.cluster[rows]
            parts.append(spread_of(result.error[rows] ** 2, weight, cluster))
            variances.append(weight @ result.uncertainty[rows] ** 2 / weight.sum())
        spread = stacked(parts, clustered=result.cluster is not None)
        limits = root_limits(spread, evaluation.confidence)
    number = headline(evaluation, "expected_normalized_calibration_error", result.target)
    drawn = [np.sqrt(variances), np.sqrt(spread.mean), *limits, spread.mass]
    finite = np.isfinite(drawn).all(axis=0)
    predicted, observed, low, high, weight = (column[finite] for column in drawn)
    end = 1.05 * float(np.max([predicted, observed], initial=0.0)) or 1.0
    return diagonal_chart(
        evaluation,
        (
            f"Predicted against observed spread{of_target(evaluation, result)}",
            "Each point holds predictions with about the same spread. Above the dotted line their "
            "errors are larger than predicted (overconfident), below it smaller.",
            "predicted: root mean variance",
            "observed: root mean squared error",
        ),
        numbers_of("predicted", predicted, observed, (low, high), weight),
        number,
        ends=(end, end),
    )


ENTRY = Entry(
    "error_calibration",
    error_calibration,
    applies=has_spread,
    needs="numbers with a standard deviation above 0",
    section="calibration",
)
