"""Prediction intervals: how often they hold the true value, how wide they are, and both in one."""

from typing import Any

import numpy as np

from ..._validation import FloatArray, check_fraction
from .._per_sample import mean_or_scores
from ..batch import Batch
from ..means import mean_of, of_hits, share_of
from ..sums import Sums
from ._checked import intervals, score
from ._kinds import COVERAGE, DISTANCE, LOSS

__all__ = ["coverage_ratio", "interval_coverage", "interval_loss", "mean_interval_width"]


@mean_or_scores
def interval_coverage(
    y_true: Any, lower: Any, upper: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Share of true values inside their intervals.

    .. math:: \frac{1}{N} \sum_n 1(l_n \le y_n \le u_n)

    Returns
    -------
    From 0 to 1; best at the nominal coverage of the intervals, not at 1.

    Examples
    --------
    >>> interval_coverage([2.0, 5.0], [1.0, 1.0], [4.0, 4.0])
    0.5
    """
    y, low, high, weight = intervals(y_true, lower, upper, sample_weight)
    return score(_inside, weight, per_sample, y, low, high)


def _inside(y: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    return ((lower <= y) & (y <= upper)).astype(float)


def coverage_ratio(
    y_true: Any, lower: Any, upper: Any, *, coverage: float, sample_weight: Any = None
) -> float:
    r"""Observed over nominal coverage of intervals (PICP ratio).

    .. math:: \frac{1}{c N} \sum_n 1(l_n \le y_n \le u_n)

    The prediction interval coverage probability itself is `interval_coverage`; reports print its
    ratio to the nominal one, 0.6827 and 0.9545 for one and two Gaussian standard deviations.

    Returns
    -------
    From 0 to 1 / coverage; best at 1, below it the intervals are too narrow.

    References
    ----------
    .. [1] Report on developing methods on uncertainty quantification for one prototypical
       classification and one prototypical regression problem using PPG signals. 22HLT01 QUMPHY,
       deliverable D2, 2026. Section C.3.1.

    Examples
    --------
    >>> coverage_ratio([2.0, 5.0], [1.0, 1.0], [4.0, 4.0], coverage=0.8)
    0.625
    """
    nominal = check_fraction(coverage, "coverage")
    observed = interval_coverage(y_true, lower, upper, sample_weight=sample_weight)
    return float(observed / nominal)


@mean_or_scores
def mean_interval_width(
    y_true: Any, lower: Any, upper: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Average width of intervals (MPIW).

    .. math:: \frac{1}{N} \sum_n (u_n - l_n)

    Parameters
    ----------
    y_true : array of shape (samples,)
        Checked, but not used; it is there so that this is called
        like any other metric.

    Returns
    -------
    From 0 upwards, in the unit of the target; infinite with an infinite interval. Narrower is
    better only between intervals of the same observed coverage.

    References
    ----------
    .. [1] T. Pearce, M. Zaki, A. Brintrup, A. Neely. High-Quality Prediction Intervals for Deep
       Learning: A Distribution-Free, Ensembled Approach. ICML 2018, PMLR 80, 4075-4084.

    Examples
    --------
    >>> mean_interval_width([2.0, 5.0], [1.0, 1.0], [2.0, 4.0])
    2.0
    """
    low, high, weight = intervals(y_true, lower, upper, sample_weight)[1:]
    return score(_width, weight, per_sample, low, high)


def _width(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the widths; 0 where both ends are the same infinity."""
    with np.errstate(invalid="ignore"):
        width = upper - lower
    width[lower == upper] = 0.0
    return width


@mean_or_scores
def interval_loss(
    y_true: Any,
    lower: Any,
    upper: Any,
    *,
    coverage: float,
    sample_weight: Any = None,
    per_sample: bool = False,
) -> float | FloatArray:
    r"""Width of the interval plus a penalty for true values outside (Winkler or interval score).

    .. math:: \frac{1}{N} \sum_n (u_n - l_n)
        + \frac{2}{\alpha} \bigl[(l_n - y_n)_+ + (y_n - u_n)_+\bigr], \quad \alpha = 1 - c

    It is :math:`2 / \alpha` times the sum of the pinball losses of the two ends at the levels
    :math:`\alpha / 2` and :math:`1 - \alpha / 2`, so the central interval of the true
    distribution has the least expected loss.

    Returns
    -------
    From 0 (best) upwards, in the unit of the target; infinite with an infinite interval.

    References
    ----------
    .. [1] R. L. Winkler. A Decision-Theoretic Approach to Interval Estimation. Journal of the
       American Statistical Association 67(337), 187-191, 1972.
    .. [2] T. Gneiting, A. E. Raftery. Strictly Proper Scoring Rules, Prediction, and Estimation.
       Journal of the American Statistical Association 102(477), 359-378, 2007. Equation 43.

    Examples
    --------
    >>> interval_loss([2.0, 5.0], [1.0, 1.0], [4.0, 4.0], coverage=0.5)
    5.0
    """
    y, low, high, weight = intervals(y_true, lower, upper, sample_weight)
    penalty = 2 / (1 - check_fraction(coverage, "coverage"))

    def loss(y: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
        outside = np.maximum(lower - y, y - upper)
        return _width(lower, upper) + penalty * np.maximum(outside, 0.0)

    return score(loss, weight, per_sample, y, low, high)


def _ratio_sums(batch: Batch, *, coverage: float) -> Sums:
    inside = interval_coverage(batch.truth, **batch.inputs, per_sample=True)
    return of_hits(batch, inside, 1 / coverage)


ENTRIES = [
    COVERAGE(
        function=interval_coverage,
        says="How often the interval holds the true value; it should be as often as promised.",
        cannot_see="How wide the intervals are: infinite ones always cover; and whether some "
        "samples or groups are covered less than others.",
        sums=share_of(interval_coverage),
        shown=("headline", "groups", "shift", "calibration"),
    ),
    LOSS(
        function=coverage_ratio,
        direction="target",
        optimum=1.0,
        says="How often the interval holds the true value, over how often it was promised to: "
        "below 1 the intervals are too narrow, above it too wide.",
        cannot_see="How wide the intervals are; whether some samples or groups are covered less "
        "than others.",
        aliases=("picp",),
        sums=_ratio_sums,
        short="PICP",
        shown=("compared",),
        serves={"interval": "supporting"},
    ),
    DISTANCE(
        function=mean_interval_width,
        optimum=None,
        says="How wide the intervals are on average; narrower is more useful at the same coverage.",
        cannot_see="Whether the true value is inside: empty intervals are the narrowest.",
        aliases=("mpiw",),
        sums=mean_of(mean_interval_width),
        short="MPIW",
        shown=("headline", "shift"),
    ),
    DISTANCE(
        function=interval_loss,
        says="Width and coverage of intervals in one number: narrow is good, and every miss costs "
        "by how far off it is.",
        cannot_see="All of the distribution except the two ends; whether a bad value comes "
        "from width or from misses.",
        aliases=("winkler", "interval_score"),
        sums=mean_of(interval_loss),
        shown=("headline", "compared"),
        serves={"variance": "skill", "interval": "skill"},
    ),
]
