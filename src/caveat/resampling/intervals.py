"""Confidence intervals from replicates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray, check_fraction
from ..exceptions import ShapeError
from ..metrics._entry import Metric
from .inversion import invert
from .replication import Replicates

__all__ = ["ConfidenceInterval", "confidence_interval", "interval_of"]

LEAST_DEFINED = 0.5
"""A statistic must be defined in at least this share of the resamples."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """Where the population value of a statistic lies, with the stated confidence.

    Attributes
    ----------
    low, high : float
        NaN if the statistic is undefined, or not finite, on the samples or on most resamples.
    method : {"bias-corrected percentile", "test inversion", "constant", "undefined"}
        "constant" if every resample gives the same value: the samples hold no sign of the spread,
        which need not mean that there is none (an accuracy of 1, say).
    estimate : float or None
        By test inversion: the median-unbiased estimate, which is free of the bias of the value.
    """

    low: float
    high: float
    method: str
    estimate: float | None = None


def confidence_interval(
    metric: Metric, value: float, replicates: Any, confidence: float = 0.95
) -> ConfidenceInterval:
    r"""Return the confidence interval of a metric.

    Most metrics get the bias-corrected percentile interval of `interval_of`. Binned calibration
    errors (and the coverage errors, and the smooth one) are norms of gaps, which noise can only
    make larger: their replicates lie far above the population value, and percentiles of them fail.
    For these the estimand is the norm of the population's gaps with the same bins (at the same
    bandwidth), and the interval holds the values that a test does not reject: let d be the gaps of
    the samples, e* their deviations in resamples, u a direction of the population's gaps; s u is
    rejected where the observed norm of d is in the tails of that of s u + e*, the lower tail taken
    relative to the chance of such a norm under noise alone, so that a norm which is small even for
    noise leaves an interval and not a point. How much noise adds
    depends on the direction, which is not known. The interval is the union over some that the
    samples do not contradict: d itself; d with the small gaps set to 0; gaps in proportion to their
    noise; gaps of equal size. It begins at 0 unless perfect calibration is rejected.

    Parameters
    ----------
    metric : Metric
    value : float
        The metric on the samples.
    replicates : Replicates or array of shape (resamples,)
    confidence : float, default=0.95

    Returns
    -------
    ConfidenceInterval

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.metrics import METRICS
    >>> from caveat.resampling import confidence_interval, make_plan, replicates
    >>> p = np.random.default_rng(0).random(2000)
    >>> y = (np.random.default_rng(1).random(2000) < p).astype(int)
    >>> found = replicates(METRICS["ece"], y, {"probabilities": p}, make_plan(2000, random_state=0))
    >>> interval = confidence_interval(METRICS["ece"], found.centre, found)
    >>> interval.low, bool(0.01 < interval.high < 0.05), interval.method
    (0.0, True, 'test inversion')
    """
    level = check_fraction(confidence, "confidence")
    if not isinstance(replicates, Replicates) or replicates.norm is None:
        return interval_of(value, replicates, level, range=metric.range)
    assert replicates.gaps is not None
    assert replicates.deviations is not None
    defined = np.isfinite(replicates.deviations.sum(axis=1))
    if not (np.isfinite(value) and _enough(defined)):
        return _UNDEFINED
    deviations = widened(replicates.deviations[defined], level, replicates)
    low, estimate, high = invert(replicates.gaps, deviations, replicates.norm, level)
    bottom, top = metric.range
    low, estimate, high = (float(np.clip(end, bottom, top)) for end in (low, estimate, high))
    return ConfidenceInterval(low, high, "test inversion", estimate)


def interval_of(
    value: float,
    replicates: Any,
    confidence: float = 0.95,
    *,
    range: tuple[float, float] = (-np.inf, np.inf),
) -> ConfidenceInterval:
    r"""Return the confidence interval of any statistic: a gap, a ratio, a paired difference.

    The bias-corrected percentile interval. Percentiles respect the range of a statistic and follow
    any monotone transformation of it, which the reflected ("basic") interval does not: for an area
    of 0.99 that one can end above 1. With z_0 the normal quantile of the share of replicates below
    the centre, their quantiles are taken at

    .. math:: \Phi\bigl(2 z_0 \pm \sqrt{G / (G - 1)} \; t_{G-1}\bigr),

    where the first term removes the median bias and the second stands for the normal quantile: it
    widens the interval as Student's t does with G units, for whose lost degree of freedom the
    plain bootstrap does not account. Replicates are shifted by the difference between the value and
    their centre, which is that of an approximation by cells.

    Replicates that are NaN (a group without positives in a resample) are left out: the interval is
    conditional on the statistic being defined. If it is undefined in more than half of the
    resamples, the ends are NaN. Where resampling shifts a statistic by more than its spread (that a
    curve decreases everywhere, say), the interval is extended to the value.

    Parameters
    ----------
    value : float
    replicates : Replicates or array of shape (resamples,)
        Of an array the centre is taken to be the value.
    confidence : float, default=0.95
    range : pair of float, optional
        The values that the statistic can have; the interval is clipped to it.

    Returns
    -------
    ConfidenceInterval

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.resampling import interval_of
    >>> interval = interval_of(0.0, np.random.default_rng(0).normal(size=100_000))
    >>> round(interval.low, 1), round(interval.high, 1), interval.method
    (-2.0, 2.0, 'bias-corrected percentile')
    """
    level = check_fraction(confidence, "confidence")
    if isinstance(replicates, Replicates):
        values, centre = replicates.values, replicates.centre
    else:
        values, centre = np.asarray(replicates, dtype=np.float64), float(value)
    if values.ndim != 1 or not len(values):
        raise ShapeError(
            f"replicates must be one value for each resample; got shape {values.shape}"
        )
    defined = ~np.isnan(values)
    if not (np.isfinite(value) and np.isfinite(centre) and _enough(defined)):
        return _UNDEFINED
    ordered = np.sort(values[defined])
    ends = _quantiles(ordered, _levels(ordered, centre, level, replicates))
    low, high = np.clip(value + (ends - centre), *range)
    low, high = min(low, value), max(high, value)
    method = "constant" if ordered[0] == ordered[-1] else "bias-corrected percentile"
    return ConfidenceInterval(float(low), float(high), method)


_UNDEFINED = ConfidenceInterval(float("nan"), float("nan"), "undefined")


def _enough(defined: np.ndarray) -> bool:
    return bool(defined.mean() >= LEAST_DEFINED)


def _levels(ordered: FloatArray, centre: float, level: float, replicates: Any) -> FloatArray:
    """Return the two shares of the replicates between which the interval lies."""
    from scipy.special import ndtr, ndtri

    number = len(ordered)
    # Values that are equal on paper may differ by rounding.
    close = 1e-12 * max(abs(centre), float(np.abs(ordered[[0, -1]]).max()))
    close = close if np.isfinite(close) else 0.0
    below = np.searchsorted(ordered, centre - close), np.searchsorted(ordered, centre + close)
    share = np.clip((below[0] + below[1]) / (2 * number), 1 / (number + 1), number / (number + 1))
    spread = np.array([-1.0, 1.0]) * _expanded(level, replicates)
    return np.asarray(ndtr(2 * ndtri(share) + spread))


def _expanded(level: float, replicates: Any) -> float:
    """Return the normal quantile of a level, widened for the number of units."""
    from scipy.special import stdtrit

    if not isinstance(replicates, Replicates) or replicates.units == 0:
        return _normal_quantile((1 + level) / 2)
    freedom = max(1, replicates.units - replicates.strata)
    return float(np.sqrt(1 + replicates.strata / freedom) * stdtrit(freedom, (1 + level) / 2))


def widened(deviations: FloatArray, level: float, replicates: Any) -> FloatArray:
    """Return deviations of resamples as Student's t would have them with this number of units."""
    return deviations * (_expanded(level, replicates) / _normal_quantile((1 + level) / 2))


def _normal_quantile(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))


def _quantiles(ordered: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the order statistics nearest to the levels: infinities are not averaged."""
    number = len(ordered)
    place = np.clip(np.rint(levels * (number + 1)) - 1, 0, number - 1)
    return np.asarray(ordered[place.astype(np.intp)])
