"""Coverage of predicted Gaussians and quantiles at several levels: nominal against observed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..._blocks import row_blocks
from ..._docstrings import entries_of
from ..._validation import FloatArray, as_floats, check_choice
from ...exceptions import OptionError
from .._core.levels import shares_at_or_below
from ..batch import Batch
from ..sums import Norm, Part, Sums, absolute_sum, largest, square_sum
from ._checked import Gaussians, gaussians
from ._kinds import LOSS

__all__ = [
    "CoverageCurve",
    "central_coverage_error",
    "coverage_calibration_error",
    "coverage_curve",
    "maximum_coverage_error",
]

TWENTIETHS = np.arange(1, 20) / 20
"""0.05, 0.1, ..., 0.95: the levels of the one-sided error by default."""

HUNDREDTHS = np.arange(1, 100) / 100
"""0.01, 0.02, ..., 0.99: the levels of the central errors by default."""

# Scores beyond _FAR count as _FAR, and a variance of 0 as _TINY.
_FAR = 1e300
_TINY = float(np.finfo(float).tiny)


PARAMETERS = entries_of("""\
mean, variance : arrays of shape (samples,)
    A variance of 0 is the limit of small ones: a true value that is met exactly is at the median,
    and inside every central interval.
levels : array of shape (levels,)
    From 0 to 1; by default 0.01, 0.02, ..., 0.99.
""")


@dataclass(frozen=True)
class CoverageCurve:
    """Nominal and observed coverage.

    Attributes
    ----------
    predicted, observed : ndarrays of shape (levels,)
        The levels, and the share of true values inside at each.
    weight : float
        Samples behind every point of the curve, or the sum of their weights.
    """

    predicted: FloatArray
    observed: FloatArray
    weight: float


def coverage_calibration_error(
    y_true: Any, mean: Any, variance: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    r"""Squared gaps between levels and the share of true values below these quantiles (CCE).

    .. math:: \sum_j (p_j - \hat p_j)^2, \quad
        \hat p_j = \frac{1}{N} \sum_n 1\bigl(F_n(y_n) \le p_j\bigr),

    with :math:`F_n` the predicted Gaussian distribution function. One-sided, as in the definition:
    a table of intervals means `central_coverage_error`. The sum has weights 1, so it
    grows with the number of levels.

    Parameters
    ----------
    levels : array of shape (levels,), optional
        From 0 to 1; by default 0.05, 0.1, ..., 0.95. The papers do not say theirs; compare values
        at the same levels only.

    Returns
    -------
    From 0 (best) to less than the number of levels; with the default levels at most 6.175.

    References
    ----------
    .. [1] V. Kuleshov, N. Fenner, S. Ermon. Accurate Uncertainties for Deep Learning Using
       Calibrated Regression. ICML 2018, PMLR 80, 2796-2804. Equation 9.
    .. [2] Report on developing methods on uncertainty quantification for one prototypical
       classification and one prototypical regression problem using PPG signals. 22HLT01 QUMPHY,
       deliverable D2, 2026. Equations 14 and 15.

    Examples
    --------
    >>> y, mean, variance = [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    >>> round(coverage_calibration_error(y, mean, variance), 4)
    0.1861
    """
    return _error(_ONE_SIDED, y_true, mean, variance, levels, sample_weight)


def central_coverage_error(
    y_true: Any, mean: Any, variance: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    r"""Area between nominal and observed coverage of central intervals, in percent (AUCE).

    .. math:: 100 \int_0^1 |p - \hat p(p)| \, dp, \quad
        \hat p(p) = \frac{1}{N} \sum_n 1\bigl(|y_n - \mu_n| \le z_p \, \sigma_n\bigr), \quad
        z_p = \Phi^{-1}\Bigl(\frac{1 + p}{2}\Bigr)

    by trapezoids between the levels and the two ends, where the coverage of the empty and of the
    full interval is right by definition. With the default levels this is the sum of the absolute
    differences at 0.01, 0.02, ..., 0.99, which is why it cannot reach 50.

    Returns
    -------
    From 0 (best) to 49.5 with the default levels.

    References
    ----------
    .. [1] F. K. Gustafsson, M. Danelljan, T. B. Schön. Evaluating Scalable Bayesian Deep Learning
       Methods for Robust Computer Vision. CVPR Workshops 2020.
    .. [2] G. Scalia, C. A. Grambow, B. Pernici, Y.-P. Li, W. H. Green. Evaluating Scalable
       Uncertainty Estimation Methods for Deep Learning-Based Molecular Property Prediction.
       Journal of Chemical Information and Modeling 60(6), 2697-2717, 2020.

    Examples
    --------
    >>> y, mean, variance = [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    >>> round(central_coverage_error(y, mean, variance), 4)
    16.5333
    """
    return _error(_CENTRAL, y_true, mean, variance, levels, sample_weight)


def maximum_coverage_error(
    y_true: Any, mean: Any, variance: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    r"""Largest gap between nominal and observed coverage of central intervals (MCE).

    .. math:: \max_p |p - \hat p(p)|

    over the levels, with the coverage :math:`\hat p(p)` of `central_coverage_error`. Not divided
    by the number of levels, and not the maximum calibration error of classification.

    Returns
    -------
    From 0 (best) to 0.99 with the default levels.

    References
    ----------
    .. [1] G. Scalia, C. A. Grambow, B. Pernici, Y.-P. Li, W. H. Green. Evaluating Scalable
       Uncertainty Estimation Methods for Deep Learning-Based Molecular Property Prediction.
       Journal of Chemical Information and Modeling 60(6), 2697-2717, 2020.

    Examples
    --------
    >>> y, mean, variance = [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    >>> round(maximum_coverage_error(y, mean, variance), 4)
    0.3467
    """
    return _error(_LARGEST, y_true, mean, variance, levels, sample_weight)


def coverage_curve(
    y_true: Any,
    mean: Any,
    variance: Any,
    *,
    levels: Any = None,
    kind: str = "central",
    sample_weight: Any = None,
) -> CoverageCurve:
    r"""Observed coverage of predicted Gaussians at each nominal level.

    A true value is below the quantile at level p if :math:`F(y) \le p` (one-sided), and inside the
    central interval of coverage p if :math:`|y - \mu| \le z_p \sigma`. Both are read off one pass
    over the standard scores, whatever the number of levels.

    Parameters
    ----------
    kind : {"central", "one-sided"}, default="central"

    Returns
    -------
    ``predicted`` (the levels) and ``observed``, both (levels,), and ``weight``. Calibrated
    predictions lie on the diagonal. Above it, central intervals are too wide, and one-sided
    quantiles too high.

    References
    ----------
    .. [1] V. Kuleshov, N. Fenner, S. Ermon. Accurate Uncertainties for Deep Learning Using
       Calibrated Regression. ICML 2018, PMLR 80, 2796-2804.

    Examples
    --------
    >>> y, mean, variance = [-2.0, 0.0, 1.0, 4.0], [0.0] * 4, [1.0] * 4
    >>> coverage_curve(y, mean, variance, levels=[0.1, 0.7, 0.9]).observed
    array([0.25, 0.5 , 0.5 ])
    >>> coverage_curve(y, mean, variance, levels=[0.1, 0.7, 0.9], kind="one-sided").observed
    array([0.25, 0.5 , 0.75])
    """
    given = gaussians(y_true, mean, variance, sample_weight)
    steps = _levels(levels, HUNDREDTHS)
    kind = check_choice(kind, "kind", ("central", "one-sided"))
    total = len(given.y) if given.weight is None else given.weight.sum()
    return CoverageCurve(steps, _observed(given, steps, kind == "central"), float(total))


def _levels(levels: Any, default: FloatArray) -> FloatArray:
    steps = default.copy() if levels is None else as_floats(levels, "levels")[0]
    if steps.ndim != 1 or not ((steps >= 0) & (steps <= 1)).all():
        raise OptionError(f"levels must be one axis of numbers from 0 to 1; got {levels!r}")
    return steps


def _trapezoids(levels: FloatArray) -> FloatArray:
    """Return the trapezoidal rule between 0 and 1, in percent, as weights of the levels."""
    order = np.argsort(levels)
    ends = np.r_[0.0, levels[order], 1.0]
    share = np.empty(len(levels))
    share[order] = 50 * (ends[2:] - ends[:-2])
    return share


class _Error(NamedTuple):
    """An error of coverage: a norm of the gaps at some levels, each of which counts as a share."""

    central: bool
    levels: FloatArray
    shares: Callable[[FloatArray], FloatArray]
    norm: Norm


_ONE_SIDED = _Error(False, TWENTIETHS, np.ones_like, square_sum)
_CENTRAL = _Error(True, HUNDREDTHS, _trapezoids, absolute_sum)
_LARGEST = _Error(True, HUNDREDTHS, np.ones_like, largest)


def _error(
    which: _Error, y_true: Any, mean: Any, variance: Any, levels: Any, sample_weight: Any
) -> float:
    given = gaussians(y_true, mean, variance, sample_weight)
    steps = _levels(levels, which.levels)
    gaps = steps - _observed(given, steps, which.central)
    return float(which.norm(gaps * which.shares(steps)))


def _sums(which: _Error, batch: Batch, *, levels: Any = None) -> Sums:
    """Return counts between the levels; those below a level are running sums."""
    steps = _levels(levels, which.levels)
    shares = which.shares(steps)
    given = gaussians(batch.truth, batch.inputs["mean"], batch.inputs["variance"], None)
    score = _standard_scores(given, slice(None))
    ordered, place = np.unique(_cuts(steps, which.central), return_inverse=True)
    index = np.searchsorted(ordered, np.abs(score) if which.central else score)

    def finish(counts: FloatArray) -> FloatArray:
        below = np.cumsum(counts, axis=1)
        return (steps - below[:, place] / below[:, -1:]) * shares

    part = Part(lambda: batch.matrix(index, len(ordered) + 1, [None]))
    return Sums([part], finish, which.norm)


def _cuts(levels: FloatArray, central: bool) -> FloatArray:
    """Return the standard scores, or distances from 0, up to which the levels reach.

    F(y) <= p is the same as z <= z_p: the levels become Gaussian quantiles, once, instead of every
    sample a probability. That is quicker, and as exact in the tails as in the middle.
    """
    from scipy.special import erfinv, ndtri

    return np.asarray(sqrt(2) * erfinv(levels) if central else ndtri(levels))


def _observed(given: Gaussians, levels: FloatArray, central: bool) -> FloatArray:
    """Return the share of samples at or below each level."""
    place = _place_central if central else _place_one_sided
    cuts = place(_cuts(levels, central))
    inside, total = np.zeros(len(levels)), 0.0
    for rows in row_blocks(len(given.y), 1):
        weight = None if given.weight is None else given.weight[rows]
        mass = float(rows.stop - rows.start if weight is None else weight.sum())
        if mass > 0:
            places = place(_standard_scores(given, rows))
            inside += shares_at_or_below(places, cuts, weight) * mass
            total += mass
    return inside / total


def _standard_scores(given: Gaussians, rows: slice) -> FloatArray:
    deviation = np.maximum(given.variance[rows], _TINY)
    np.sqrt(deviation, out=deviation)
    with np.errstate(over="ignore"):
        score = given.y[rows] - given.mean[rows]
        score /= deviation
    return score


def _place_central(score: FloatArray) -> FloatArray:
    """Map |z| onto [0, 1], increasing: |z| / (1 + |z|)."""
    distance = np.abs(score)
    np.minimum(distance, _FAR, out=distance)
    distance /= distance + 1.0
    return distance


def _place_one_sided(score: FloatArray) -> FloatArray:
    """Map z onto [0, 1], increasing, with 0 at 1/2."""
    place = np.clip(score, -_FAR, _FAR)
    place /= np.abs(place) + 1.0
    place *= 0.5
    place += 0.5
    return place


_BLIND = (
    "Whether a single spread is right: too wide for some and too narrow for others can cancel, and "
    "predictions that have nothing to do with the input can be perfect."
)

ENTRIES = [
    LOSS(
        function=coverage_calibration_error,
        says="Whether as many true values lie below each predicted quantile as should.",
        cannot_see=_BLIND,
        aliases=("cce",),
        curve=partial(coverage_curve, levels=TWENTIETHS, kind="one-sided"),
        sums=partial(_sums, _ONE_SIDED),
        short="CCE",
        shown=("headline", "compared"),
        serves={"interval": "calibration"},
    ),
    LOSS(
        function=central_coverage_error,
        range=(0.0, 50.0),
        says="Whether intervals around the prediction hold as many true values as they should, on "
        "average over all sizes of interval, in percent.",
        cannot_see=_BLIND + " Errors to one side, which widen an interval like errors to both.",
        aliases=("auce",),
        curve=coverage_curve,
        sums=partial(_sums, _CENTRAL),
        short="AUCE",
        unit="percent",
        shown=("shift",),
    ),
    LOSS(
        function=maximum_coverage_error,
        range=(0.0, 1.0),
        says="How wrong the coverage of intervals around the prediction is at its worst.",
        cannot_see=_BLIND + " Whether the worst level is the exception or the rule.",
        aliases=("mce",),
        curve=coverage_curve,
        sums=partial(_sums, _LARGEST),
        short="MCE",
        unit="share",
        shown=("shift",),
    ),
]
