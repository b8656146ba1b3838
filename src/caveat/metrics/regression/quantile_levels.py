"""Observed coverage of predicted quantiles."""

from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._per_sample import mean_or_scores
from ..batch import Batch
from ..means import share_of
from ..sums import Part, Sums, absolute_mean
from ._checked import points, quantile_arrays, score
from ._kinds import COVERAGE, LOSS
from .coverage import CoverageCurve

__all__ = ["quantile_coverage", "quantile_coverage_curve", "quantile_coverage_error"]


@mean_or_scores
def quantile_coverage(
    y_true: Any, value: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Share of true values at or below a predicted quantile.

    .. math:: \frac{1}{N} \sum_n 1(y_n \le q_n)

    It should be the level of the quantile: less means that the quantile is too low, more that it
    is too high.

    Examples
    --------
    >>> quantile_coverage([1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0, 5.0])
    0.75
    """
    y, quantile, weight = points(y_true, value, sample_weight, "value")
    return score(_below, weight, per_sample, y, quantile)


def _below(y: FloatArray, quantile: FloatArray) -> FloatArray:
    return (y <= quantile).astype(np.float64)


def quantile_coverage_error(
    y_true: Any, levels: Any, values: Any, *, sample_weight: Any = None
) -> float:
    r"""Mean gap between the levels of quantiles and the share of true values at or below them.

    .. math:: \frac{1}{K} \sum_k |\tau_k - \hat p_k|, \quad
        \hat p_k = \frac{1}{N} \sum_n 1(y_n \le q_{nk}),

    at the levels :math:`\tau_k` that were predicted: nothing is assumed of the distribution between
    them. The gaps are those of `coverage_calibration_error`, which sums their squares.

    Returns
    -------
    From 0 (best) to less than 1. Compare values at the same levels only: gaps in the tails are
    smaller than gaps in the middle.

    References
    ----------
    .. [1] V. Kuleshov, N. Fenner, S. Ermon. Accurate Uncertainties for Deep Learning Using
       Calibrated Regression. ICML 2018, PMLR 80, 2796-2804.

    Examples
    --------
    >>> y, values = [0.0, 1.0, 3.0, 9.0], [[1.0, 4.0]] * 4
    >>> quantile_coverage_error(y, [0.25, 0.75], values)
    0.125
    """
    curve = quantile_coverage_curve(y_true, levels, values, sample_weight=sample_weight)
    return float(np.abs(curve.predicted - curve.observed).mean())


def quantile_coverage_curve(
    y_true: Any, levels: Any, values: Any, *, sample_weight: Any = None
) -> CoverageCurve:
    """Share of true values at or below the quantile of each level.

    Returns
    -------
    ``predicted`` (the levels) and ``observed``, both (levels,), and ``weight``. Calibrated
    quantiles lie on the diagonal; above it they are too high, below it too low.

    Examples
    --------
    >>> y, values = [0.0, 1.0, 3.0, 9.0], [[1.0, 4.0]] * 4
    >>> quantile_coverage_curve(y, [0.25, 0.75], values).observed
    array([0.5 , 0.75])
    """
    y, steps, quantiles, weight = quantile_arrays(y_true, levels, values, sample_weight)
    observed = np.array([quantile_coverage(y, q, sample_weight=weight) for q in quantiles.T])
    total = len(y) if weight is None else weight.sum()
    return CoverageCurve(steps, observed, float(total))


def _error_sums(batch: Batch) -> Sums:
    """One level at a time, as there may be many."""
    inputs = batch.inputs
    y, levels, values, _ = quantile_arrays(batch.truth, inputs["levels"], inputs["values"], None)

    def below(level: int) -> Any:
        return batch.matrix(None, 1, [y <= values[:, level]])

    parts = [Part(lambda: batch.matrix(None, 1, [None]))]
    parts += [Part(partial(below, level)) for level in range(len(levels))]

    def finish(total: FloatArray, *shares: FloatArray) -> FloatArray:
        return levels - np.concatenate(shares, axis=1) / total

    return Sums(parts, finish, absolute_mean)


ENTRIES = [
    COVERAGE(
        function=quantile_coverage,
        says="How often the true value is at or below a predicted quantile; it should be as often "
        "as its level says.",
        cannot_see="How far the true values are from the quantile; whether it is too high for some "
        "samples or groups and too low for others.",
        sums=share_of(quantile_coverage),
    ),
    LOSS(
        function=quantile_coverage_error,
        range=(0.0, 1.0),
        says="Whether as many true values lie at or below each predicted quantile as its level "
        "says, on average over the levels that were predicted.",
        cannot_see="Whether single quantiles are right: too high for some and too low for others "
        "can cancel. Which way they are off; and the distribution between the levels.",
        curve=quantile_coverage_curve,
        sums=_error_sums,
        unit="share",
        shown=("headline", "compared", "shift"),
    ),
]
