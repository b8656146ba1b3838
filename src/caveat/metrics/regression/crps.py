r"""The continuous ranked probability score, in closed form.

For Gaussians and their mixtures the expectations on the right are known:

.. math:: \int_{-\infty}^{\infty} [F(x) - 1(y \le x)]^2 \, dx
    = \mathrm{E}|X - y| - \tfrac12 \mathrm{E}|X - X'|,

with X, X' drawn independently from the predicted distribution F.
"""

from math import pi, sqrt
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...exceptions import OptionError
from .._inputs import vector, weights
from .._per_sample import mean_or_scores
from ..means import mean_of
from ._checked import gaussians, member_array, mixtures, quantile_arrays, score
from ._kinds import DISTANCE
from .scores import pinball

__all__ = ["ensemble_crps_loss", "gaussian_crps_loss", "mixture_crps_loss", "quantile_crps_loss"]

# Replaces a variance of 0; far below any error, so that the limit results.
_TINY = float(np.finfo(float).tiny)


@mean_or_scores
def gaussian_crps_loss(
    y_true: Any, mean: Any, variance: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Continuous ranked probability score of predicted Gaussians (CRPS).

    .. math:: \frac{1}{N} \sum_n \sigma_n \left\{ z_n [2 \Phi(z_n) - 1] + 2 \varphi(z_n)
        - \frac{1}{\sqrt{\pi}} \right\}, \quad z_n = \frac{y_n - \mu_n}{\sigma_n}

    Parameters
    ----------
    mean, variance : arrays of shape (samples,)
        A variance of 0 is a point, whose score is the absolute error.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery, A. H. Westveld, T. Goldman. Calibrated Probabilistic
       Forecasting Using Ensemble Model Output Statistics and Minimum CRPS Estimation. Monthly
       Weather Review 133(5), 1098-1118, 2005.

    Examples
    --------
    >>> round(gaussian_crps_loss([0.0, 1.0], [0.0, 0.0], [1.0, 1.0]), 6)
    0.418068
    """
    y, mu, spread, weight = gaussians(y_true, mean, variance, sample_weight)
    return score(_gaussian, weight, per_sample, y, mu, spread)


def _gaussian(y: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    deviation = np.sqrt(np.maximum(variance, _TINY))
    distance = _expected_distance(y - mean, deviation)
    deviation /= sqrt(pi)
    distance -= deviation
    return distance


def _expected_distance(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """E|X| of Gaussians; overwrites ``mean``."""
    from scipy.special import erf

    ratio = mean / deviation
    ratio *= sqrt(0.5)
    mean *= erf(ratio)
    ratio *= ratio
    np.negative(ratio, out=ratio)
    np.exp(ratio, out=ratio)
    ratio *= deviation
    ratio *= sqrt(2 / pi)
    mean += ratio
    return mean


@mean_or_scores
def mixture_crps_loss(
    y_true: Any, means: Any, variances: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Continuous ranked probability score of the mixture of the members' Gaussians.

    .. math:: \frac{1}{M} \sum_i A(y - \mu_i, \sigma_i^2)
        - \frac{1}{2 M^2} \sum_{i,j} A(\mu_i - \mu_j, \sigma_i^2 + \sigma_j^2), \quad
        A(m, s^2) = m \Bigl[2 \Phi\Bigl(\frac{m}{s}\Bigr) - 1\Bigr]
        + 2 s \varphi\Bigl(\frac{m}{s}\Bigr),

    averaged over samples. Exact, with the square of the members in time and blocks of bounded
    size in memory. The Gaussian of the mixture's two moments has another score.

    Parameters
    ----------
    means, variances : arrays of shape (members, samples)
        Members whose variance is 0 are points; if all are, this is `ensemble_crps_loss`.

    References
    ----------
    .. [1] E. P. Grimit, T. Gneiting, V. J. Berrocal, N. A. Johnson. The Continuous Ranked
       Probability Score for Circular Variables and its Application to Mesoscale Forecast Ensemble
       Verification. Quarterly Journal of the Royal Meteorological Society 132(621C), 2925-2942,
       2006. Equation 5.

    Examples
    --------
    >>> round(mixture_crps_loss([0.0], [[-1.0], [1.0]], [[1.0], [1.0]]), 6)
    0.359409
    """
    y, mu, spread, weight = mixtures(y_true, means, variances, sample_weight, density=False)
    return score(_mixture, weight, per_sample, y, mu, spread)


def _mixture(y: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    number = len(means)
    variances = np.maximum(variances, _TINY)
    deviations = np.sqrt(variances)
    between = deviations.sum(axis=0) / sqrt(pi)  # the pairs of a member with itself
    for apart in range(1, number):
        deviation = np.sqrt(variances[apart:] + variances[:-apart])
        between += _expected_distance(means[apart:] - means[:-apart], deviation).sum(axis=0)
    return _expected_distance(y - means, deviations).mean(axis=0) - between / number**2


@mean_or_scores
def ensemble_crps_loss(
    y_true: Any,
    members: Any,
    *,
    fair: bool = False,
    sample_weight: Any = None,
    per_sample: bool = False,
) -> float | FloatArray:
    r"""Continuous ranked probability score of an ensemble of points.

    .. math:: \frac{1}{M} \sum_i |x_i - y| - \frac{1}{2 M^2} \sum_{i,j} |x_i - x_j|
        = \frac{1}{M} \sum_i |x_i - y| - \frac{1}{M^2} \sum_i (2 i - M - 1) \, x_{(i)},

    averaged over samples, with :math:`x_{(1)} \le \dots \le x_{(M)}`: one sort for each sample
    instead of all pairs.

    Parameters
    ----------
    members : array of shape (members, samples)
    fair : bool, default=False
        By default the members *are* the predicted distribution, and the score is that of their
        empirical distribution function. True takes them for draws from a distribution and
        estimates its score without bias, by dividing the second term by :math:`M (M - 1)` instead
        of :math:`M^2`; such an estimate may be below 0. It needs two members.

    Returns
    -------
    With one member it is the absolute error.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery. Strictly Proper Scoring Rules, Prediction, and Estimation.
       Journal of the American Statistical Association 102(477), 359-378, 2007.
    .. [2] C. A. T. Ferro. Fair Scores for Ensemble Forecasts. Quarterly Journal of the Royal
       Meteorological Society 140(683), 1917-1923, 2014.

    Examples
    --------
    >>> ensemble_crps_loss([0.0], [[1.0], [3.0]])
    1.5
    >>> ensemble_crps_loss([0.0], [[1.0], [3.0]], fair=True)
    1.0
    """
    y = vector(y_true, "y_true")
    x = member_array(members, "members", len(y))
    if fair and len(x) < 2:
        raise OptionError("fair=True needs two members at least; members has one")
    pairs = len(x) * (len(x) - 1 if fair else len(x))
    ranks = (2 * np.arange(len(x)) + 1.0 - len(x)) / pairs
    weight = weights(sample_weight, len(y))

    def loss(y: FloatArray, members: FloatArray) -> FloatArray:
        # Relative to the true value, so that the two terms do not cancel far from 0.
        errors = np.ascontiguousarray((members - y).T)
        errors.sort(axis=1)
        between = errors @ ranks
        np.abs(errors, out=errors)
        return errors.mean(axis=1) - between

    return score(loss, weight, per_sample, y, x)


@mean_or_scores
def quantile_crps_loss(
    y_true: Any, levels: Any, values: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Continuous ranked probability score from predicted quantiles.

    .. math:: 2 \int_0^1 \mathrm{pinball}_\tau(y, q_\tau) \, d\tau \approx
        2 \sum_k w_k \, \mathrm{pinball}_{\tau_k}(y, q_k),

    averaged over samples. The quadrature is the midpoint rule for whatever levels there are: a
    level stands for all levels nearer to it than to another, so :math:`w_k` is the length of its
    cell, the cells meet halfway between levels, and the outer ones end at 0 and 1. Weights are
    positive and sum to 1. With levels :math:`(k - 1/2) / K` they are equal and the result is the
    exact score of an ensemble of the :math:`K` quantiles; with the level 1/2 alone it is the
    absolute error of the median. What lies in the tails beyond the outer levels is not seen.

    References
    ----------
    .. [1] F. Laio, S. Tamea. Verification Tools for Probabilistic Forecasts of Continuous
       Hydrological Variables. Hydrology and Earth System Sciences 11(4), 1267-1277, 2007.

    Examples
    --------
    >>> quantile_crps_loss([2.0], [0.25, 0.5, 0.75], [[0.0, 1.0, 4.0]])
    1.0
    """
    y, steps, quantiles, weight = quantile_arrays(y_true, levels, values, sample_weight)
    edges = np.r_[0.0, (steps[1:] + steps[:-1]) / 2, 1.0]
    cells = 2 * np.diff(edges)

    def loss(y: FloatArray, quantiles: FloatArray) -> FloatArray:
        return pinball((y - quantiles).T, steps) @ cells

    return score(loss, weight, per_sample, y, quantiles.T)


_CANNOT_SEE = (
    "Whether a bad value comes from the mean, from the spread or from noise that no model could "
    "remove; samples on a large scale count more than those on a small one."
)

ENTRIES = [
    DISTANCE(
        function=gaussian_crps_loss,
        proper=True,
        says="How far the predicted Gaussian is from the true value, over the whole distribution: "
        "an absolute error that rewards a calibrated spread.",
        cannot_see=_CANNOT_SEE,
        aliases=("crps",),
        sums=mean_of(gaussian_crps_loss),
        shown=("headline", "compared", "shift"),
        serves={"variance": "skill", "interval": "skill"},
    ),
    DISTANCE(
        function=mixture_crps_loss,
        proper=True,
        says="How far the mixture of the members' Gaussians is from the true value, over the whole "
        "distribution.",
        cannot_see=_CANNOT_SEE,
        aliases=("mixture_crps",),
        sums=mean_of(mixture_crps_loss),
    ),
    DISTANCE(
        function=ensemble_crps_loss,
        proper=True,
        says="How far the members, taken as a distribution, are from the true value.",
        cannot_see="Whether a bad value comes from the middle or the spread of the members; that "
        "few members cannot make a smooth distribution, unless fair=True.",
        aliases=("ensemble_crps",),
        sums=mean_of(ensemble_crps_loss),
    ),
    DISTANCE(
        function=quantile_crps_loss,
        says="How good the predicted quantiles are, taken together as a distribution.",
        cannot_see="The distribution between the levels and in the tails beyond the outer ones.",
        aliases=("quantile_crps",),
        sums=mean_of(quantile_crps_loss),
        shown=("headline", "compared", "shift"),
        serves={"variance": "skill", "interval": "skill"},
    ),
]
