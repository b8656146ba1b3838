"""Confidence intervals from replicates."""

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from .._validation import FloatArray, check_fraction
from ..exceptions import ShapeError
from ..metrics.entry import Metric
from .inversion import invert
from .replication import Replicates
from .spread import score, share_limits

__all__ = ["ConfidenceInterval", "confidence_interval", "interval_of"]

LEAST_DEFINED = 0.5
"""A statistic must be defined in at least this share of the resamples."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """Confidence interval of the population value of a statistic.

    Attributes
    ----------
    low, high : float
        NaN if the statistic is undefined, or not finite, on the samples or on most resamples.
    method : str
        "score" (Wilson's) for shares; "bootstrap-t" for means and smooth functions of them; "test
        inversion" for binned errors; "percentile with unseen samples" where nearly all predictions
        are right, or wrong, or hold the true value; "half-samples" for metrics without sums;
        otherwise "bias-corrected percentile". "constant" if every resample gives the same value:
        the samples hold no sign of the spread, which need not mean that there is none. "undefined"
        without an interval.
    estimate : float or None
        Where the value is biased (by test inversion and from half-samples): an estimate that is
        free of the bias.
    """

    low: float
    high: float
    method: str
    estimate: float | None = None


def confidence_interval(
    metric: Metric, value: float, replicates: Any, confidence: float = 0.95
) -> ConfidenceInterval:
    r"""Return the confidence interval of a metric.

    **Shares** (accuracy, coverage) get Wilson's score interval, which is right at 0 and at all of
    the samples as well. With weights or clusters the number of samples is that of independent ones
    of equal weight which would vary as much.

    **Means of scores** and smooth functions of them get the bootstrap-t interval of `interval_of`.

    **Where fewer than 20 predictions are wrong, or right,** or fewer than 20 true values lie beyond
    an interval or a quantile whose loss is asked, resamples show too little of what can happen:
    each gets one more sample of the rare kind, with a random weight (see
    `caveat.resampling.unseen`). The interval is the percentiles of these; it holds the value and,
    of means, reaches as low as the bootstrap-t interval.

    **Others**, such as areas and ranks, get the bias-corrected percentile interval of
    `interval_of`.

    **Binned calibration errors** (and the coverage errors, and the smooth one) are norms of gaps,
    which noise can only make larger: their replicates lie far above the population value, and
    percentiles of them fail.
    For these the estimand is the norm of the population's gaps with the same bins (at the same
    bandwidth), and the interval holds the values that a test does not reject: let d be the gaps of
    the samples, e* their deviations in resamples, u a direction of the population's gaps; s u is
    rejected where the observed norm of d is in the tails of that of s u + e*, the lower tail taken
    relative to the chance of such a norm under noise alone, so that a norm which is small even for
    noise leaves an interval and not a point. How much noise adds
    depends on the direction, which is not known. The interval is the union over some that the
    samples do not contradict: d itself; d with the small gaps set to 0; gaps in proportion to their
    noise; d with the largest gaps made equal. It begins at 0 unless perfect calibration is
    rejected: by these deviations, and by the errors of data sets whose truth is drawn from the
    prediction itself. With fewer than 20 wrong or right predictions it reaches at least as high as
    the percentiles with unseen samples.

    Parameters
    ----------
    value : float
        The metric on the samples.
    replicates : Replicates or array of shape (resamples,)

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.metrics import METRICS
    >>> from caveat.resampling import confidence_interval, make_plan, replicates
    >>> p = np.random.default_rng(0).random(2000)
    >>> y = (np.random.default_rng(1).random(2000) < p).astype(int)
    >>> draws = replicates(METRICS["ece"], y, {"probabilities": p}, make_plan(2000, random_state=0))
    >>> interval = confidence_interval(METRICS["ece"], draws.center, draws)
    >>> interval.low, bool(0.01 < interval.high < 0.05), interval.method
    (0.0, True, 'test inversion')
    """
    level = check_fraction(confidence, "confidence")
    if not isinstance(replicates, Replicates):
        return interval_of(value, replicates, level, range=metric.range)
    if replicates.norm is None:
        if replicates.unseen is not None:
            return _with_unseen(value, replicates, level, metric.range)
        return interval_of(value, replicates, level, range=metric.range)
    assert replicates.gaps is not None
    assert replicates.deviations is not None
    defined = np.isfinite(replicates.deviations.sum(axis=1))
    if not (np.isfinite(value) and _enough(defined)):
        return _UNDEFINED
    deviations = widened(replicates.deviations[defined], level, replicates)
    low, estimate, high = invert(replicates.gaps, deviations, replicates.norm, level)
    if low > 0 and _by_chance(replicates, level):
        low = 0.0
    if replicates.unseen is not None:
        high = max(high, _with_unseen(value, replicates, level, metric.range).high)
    bottom, top = metric.range
    low, estimate, high = (float(np.clip(end, bottom, top)) for end in (low, estimate, high))
    return ConfidenceInterval(low, high, "test inversion", estimate)


def _with_unseen(
    value: float, replicates: Replicates, level: float, range: tuple[float, float]
) -> ConfidenceInterval:
    """Return the percentile interval of the resamples with an unseen sample; it holds the value."""
    from scipy.special import ndtr

    assert replicates.unseen is not None
    defined = ~np.isnan(replicates.unseen)
    if not (np.isfinite(value) and _enough(defined)):
        return _UNDEFINED
    spread = np.array([-1.0, 1.0]) * _expanded(level, replicates)
    low, high = np.clip(_quantiles(np.sort(replicates.unseen[defined]), ndtr(spread)), *range)
    if replicates.error > 0:
        # Unseen samples raise the values, so the lower end of a mean comes from bootstrap-t.
        least = _student(value, replicates, ~np.isnan(replicates.values), level)[0]
        low = min(low, float(np.clip(least, *range)))
    name = "percentile with unseen samples"
    return ConfidenceInterval(float(min(low, value)), float(max(high, value)), name)


def _by_chance(replicates: Replicates, level: float) -> bool:
    """Whether a calibrated prediction may have an error as large as this by chance."""
    if replicates.null is None:
        return False
    values = replicates.null()
    values = values[~np.isnan(values)]
    larger = np.count_nonzero(values >= replicates.center * (1 - 1e-12))
    return bool((1 + larger) / (1 + len(values)) > (1 - level) / 2) if len(values) else False


def interval_of(
    value: float,
    replicates: Any,
    confidence: float = 0.95,
    *,
    range: tuple[float, float] = (-np.inf, np.inf),
) -> ConfidenceInterval:
    r"""Return the confidence interval of any statistic: a gap, a ratio, a paired difference.

    **Replicates with standard errors** (of means) give the bootstrap-t interval: with t* the
    quantiles of (replicate - center) / (its standard error), the ends are value - t* times the
    standard error of the samples. It follows the skewness of a mean, for which percentiles are too
    narrow. Standard errors below a tenth of that of the samples count as a tenth, and t* is widened
    as the quantiles of others are.

    **Replicates of halves** (of metrics without sums) show the bias b of half the samples against
    all: the mean of the halves less the center. A bias that falls as 1 / n is as large once more in
    all samples, one that falls as 1 / sqrt(n) is 2.4 times as large. The interval reaches from the
    lower to the higher of the two corrected values, and Student's t times the standard error beyond
    them.

    **All others** give the bias-corrected percentile interval. Percentiles respect the range of a
    statistic and follow any monotone transformation of it, which the reflected ("basic") interval
    does not: for an area of 0.99 that one can end above 1. With z_0 the normal quantile of the
    share of replicates below the center, their quantiles are taken at

    .. math:: \Phi\bigl(2 z_0 \pm \sqrt{G / (G - 1)} \; t_{G-1}\bigr),

    where the first term removes the median bias and the second stands for the normal quantile: it
    widens the interval as Student's t does with G units, for whose lost degree of freedom the
    plain bootstrap does not account (unequal weights count as fewer units). Replicates are shifted
    by the difference between the value and their center, which is that of an approximation by
    cells.

    Replicates that are NaN (a group without positives in a resample) are left out: the interval is
    conditional on the statistic being defined. If it is undefined in more than half of the
    resamples, or there is one unit alone, the ends are NaN. Where resampling shifts a statistic by
    more than its spread (that a curve decreases everywhere, for example), the interval is extended
    to the value.

    With fewer than 20 units, the ends are at least where Student's t has them: as many standard
    deviations of the replicates away from the value.

    Parameters
    ----------
    value : float
    replicates : Replicates or array of shape (resamples,)
        The center of an array is taken to be the value.
    range : pair of float, default=(-inf, inf)
        The values that the statistic can have; the interval is clipped to it.

    Examples
    --------
    >>> import numpy as np
    >>> interval = interval_of(0.0, np.random.default_rng(0).normal(size=100_000))
    >>> round(interval.low, 1), round(interval.high, 1), interval.method
    (-2.0, 2.0, 'bias-corrected percentile')
    """
    level = check_fraction(confidence, "confidence")
    if not isinstance(replicates, Replicates):
        replicates = Replicates(np.asarray(replicates, dtype=np.float64), float(value))
    values, center = replicates.values, replicates.center
    if values.ndim != 1 or not len(values):
        raise ShapeError(
            f"replicates must be one value for each resample; got shape {values.shape}"
        )
    if replicates.share is not None and np.isfinite(value):
        low, high = share_limits(replicates.share, level)
        hit = replicates.hit
        return ConfidenceInterval(float(low[0]) * hit, float(high[0]) * hit, "score")
    defined = ~np.isnan(values)
    if not (np.isfinite(value) and np.isfinite(center) and _enough(defined)):
        return _UNDEFINED
    if replicates.half:
        return _from_halves(value, replicates, defined, level, range)
    if replicates.error > 0:
        low, high = np.clip(_student(value, replicates, defined, level), *range)
        return ConfidenceInterval(float(low), float(high), "bootstrap-t")
    ordered = np.sort(values[defined])
    if replicates.units == 1 and ordered[0] == ordered[-1]:  # each resample is the one unit
        return _UNDEFINED
    ends = _quantiles(ordered, _levels(ordered, level, replicates))
    ends = np.array([min(ends[0] - center, 0.0), max(ends[1] - center, 0.0)])
    if 0 < replicates.units < _FEW_UNITS:
        with np.errstate(invalid="ignore", over="ignore"):  # some may be infinite
            least = _expanded(level, replicates) * float(np.nan_to_num(ordered.std()))
        ends = np.array([min(ends[0], -least), max(ends[1], least)])
    low, high = np.clip(value + ends, *range)
    method = "constant" if ordered[0] == ordered[-1] else "bias-corrected percentile"
    return ConfidenceInterval(float(low), float(high), method)


def interval_at(
    value: float,
    replicates: Replicates,
    level: float,
    confidence: float,
    *,
    range: tuple[float, float] = (-np.inf, np.inf),
    log: bool = False,
) -> ConfidenceInterval:
    """Return the interval at a level too high for the resamples, from that at the confidence.

    Shares get Wilson's interval at the level; other intervals are widened as Student's t is, on the
    logarithmic scale if ``log``.
    """
    if replicates.share is not None or level == confidence:
        return interval_of(value, replicates, level, range=range)
    interval = interval_of(value, replicates, confidence, range=range)
    factor = stretch(level, confidence, replicates.units, len(replicates))
    low, high = np.clip(stretched((value, interval.low, interval.high), factor, log), *range)
    return ConfidenceInterval(float(low), float(high), interval.method, interval.estimate)


@cache
def stretch(level: float, confidence: float, units: int, resamples: int = 0) -> float:
    r"""Return how much wider an interval is at a level than at the confidence.

    As Student's, with one degree of freedom less than units. The ends of an interval at the
    confidence are order statistics, of p = (1 - confidence) / 2 of the resamples, with a relative
    variance of :math:`p (1 - p) / (B z^2 \varphi(z)^2)`. That counts as the variance of a scale
    with 1 / (2 variance) degrees of freedom would: far out, noise in the width costs more.
    """
    from scipy.special import stdtrit

    own = max(1, units - 1)
    freedom = float(own)
    if resamples:
        tail, normal = (1 - confidence) / 2, NormalDist()
        z = normal.inv_cdf(tail)
        variance = tail * (1 - tail) / (resamples * (z * normal.pdf(z)) ** 2)
        freedom = 1 / (1 / own + 2 * variance)
    return float(stdtrit(freedom, (1 + level) / 2) / stdtrit(own, (1 + confidence) / 2))


def stretched(number: tuple[float, float, float], factor: float, log: bool) -> tuple[float, float]:
    """Return the ends of an interval about a value, (value, low, high), wider by a factor."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, low, high = np.log(np.maximum(number, 0.0)) if log else np.array(number)
        ends = value + factor * (np.array([low, high]) - value)
    low, high = np.exp(ends) if log else ends
    return float(low), float(high)


_UNDEFINED = ConfidenceInterval(float("nan"), float("nan"), "undefined")
_LEAST_ERROR = 0.1
_FEW_UNITS = 20


def _student(value: float, replicates: Replicates, defined: np.ndarray, level: float) -> FloatArray:
    """Return the ends of the bootstrap-t interval."""
    assert replicates.errors is not None
    error = np.maximum(replicates.errors[defined], _LEAST_ERROR * replicates.error)
    away = np.sort((replicates.values[defined] - replicates.center) / error)
    ends = -widened(_quantiles(away, np.array([1 + level, 1 - level]) / 2), level, replicates)
    ends = np.array([min(ends[0], 0.0), max(ends[1], 0.0)])
    if replicates.units < _FEW_UNITS:
        least = _expanded(level, replicates)
        ends = np.array([min(ends[0], -least), max(ends[1], least)])
    return np.asarray(value + ends * replicates.error)


def _from_halves(
    value: float,
    replicates: Replicates,
    defined: np.ndarray,
    level: float,
    range: tuple[float, float],
) -> ConfidenceInterval:
    """Return the interval that holds two corrections of the bias, see `interval_of`."""
    values, half = replicates.values[defined], replicates.half
    bias = float(values.mean()) - replicates.center
    odds = half / (1 - half)
    corrected = value - bias * np.array([odds, 1 / (1 / np.sqrt(half) - 1)])
    # Without replacement, what a part varies by is what the whole would vary by times the odds.
    beyond = _expanded(level, replicates) * float(values.std()) * np.sqrt(odds)
    ends = [corrected.min() - beyond, corrected.mean(), corrected.max() + beyond]
    low, estimate, high = (float(end) for end in np.clip(ends, *range))
    return ConfidenceInterval(low, high, "half-samples", estimate)


def _enough(defined: np.ndarray) -> bool:
    return bool(defined.mean() >= LEAST_DEFINED)


def _levels(ordered: FloatArray, level: float, replicates: Replicates) -> FloatArray:
    """Return the two shares of the replicates between which the interval lies."""
    from scipy.special import ndtr, ndtri

    number, center = len(ordered), replicates.center
    # Values that are mathematically equal may differ by rounding.
    close = 1e-12 * max(abs(center), float(np.abs(ordered[[0, -1]]).max()))
    close = close if np.isfinite(close) else 0.0
    below = np.searchsorted(ordered, center - close), np.searchsorted(ordered, center + close)
    share = np.clip((below[0] + below[1]) / (2 * number), 1 / (number + 1), number / (number + 1))
    spread = np.array([-1.0, 1.0]) * _expanded(level, replicates)
    return np.asarray(ndtr(2 * ndtri(share) + spread))


def _expanded(level: float, replicates: Replicates) -> float:
    """Return the normal quantile of a level, widened for the number of units."""
    from scipy.special import stdtrit

    if replicates.units == 0:
        return score(level)
    freedom = max(1, replicates.units - replicates.strata)
    return float(np.sqrt(1 + replicates.strata / freedom) * stdtrit(freedom, (1 + level) / 2))


def widened(deviations: FloatArray, level: float, replicates: Replicates) -> FloatArray:
    """Return deviations of resamples, widened as Student's t is for this number of units."""
    normal = score(level)
    # A confidence near 0 has a normal quantile near 0, which cannot divide.
    return deviations * (_expanded(level, replicates) / normal if normal > 0 else 1.0)


def _quantiles(ordered: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the order statistics nearest to the levels: infinities are not averaged."""
    number = len(ordered)
    place = np.clip(np.rint(levels * (number + 1)) - 1, 0, number - 1)
    return np.asarray(ordered[place.astype(np.intp)])
