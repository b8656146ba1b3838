"""Scores of densities and of single quantiles."""

from functools import partial
from math import log, pi
from typing import Any

import numpy as np

from ..._validation import FloatArray, check_fraction
from .._per_sample import mean_or_scores
from ..means import mean_of
from ._checked import gaussians, mixtures, points, score
from ._kinds import DISTANCE, LOSS

__all__ = [
    "gaussian_negative_log_likelihood_loss",
    "mixture_negative_log_likelihood_loss",
    "pinball_loss",
]

_LOG_TWO_PI = log(2 * pi)


@mean_or_scores
def gaussian_negative_log_likelihood_loss(
    y_true: Any, mean: Any, variance: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Negative log density of the true value under the predicted Gaussian (NLL), in nats.

    .. math:: \frac{1}{N} \sum_n \frac12 \left[\log (2 \pi \sigma_n^2)
        + \frac{(y_n - \mu_n)^2}{\sigma_n^2}\right]

    Parameters
    ----------
    mean, variance : arrays of shape (samples,)
        A variance of 0 is refused: a point has no density.

    Returns
    -------
    A density has a unit, so the value moves by a constant with the unit of the target. The constant
    :math:`\frac12 \log 2\pi` is included. Infinite where the density is too small for a float.

    References
    ----------
    .. [1] T. Gneiting, A. E. Raftery. Strictly Proper Scoring Rules, Prediction, and Estimation.
       Journal of the American Statistical Association 102(477), 359-378, 2007.

    Examples
    --------
    >>> round(gaussian_negative_log_likelihood_loss([0.0, 1.0], [0.0, 0.0], [1.0, 1.0]), 6)
    1.168939
    """
    y, mu, spread, weight = gaussians(y_true, mean, variance, sample_weight, density=True)
    return score(lambda *block: -_log_density(*block), weight, per_sample, y, mu, spread)


def _log_density(y: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    scores = y - mean
    scores /= np.sqrt(variance)
    scores *= scores
    scores += np.log(variance)
    scores += _LOG_TWO_PI
    scores *= -0.5
    return scores


@mean_or_scores
def mixture_negative_log_likelihood_loss(
    y_true: Any, means: Any, variances: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Negative log density of the true value under the mixture of the members' Gaussians, in nats.

    .. math:: -\frac{1}{N} \sum_n \log \frac{1}{M} \sum_m
        \mathcal{N}(y_n; \mu_{mn}, \sigma_{mn}^2)

    Densities are averaged, not their logarithms: by Jensen's inequality the loss is never above
    the mean of the members' own losses.

    Parameters
    ----------
    means, variances : arrays of shape (members, samples)
        A variance of 0 is refused: a point has no density.

    Returns
    -------
    See :func:`gaussian_negative_log_likelihood_loss`.

    References
    ----------
    .. [1] B. Lakshminarayanan, A. Pritzel, C. Blundell. Simple and Scalable Predictive Uncertainty
       Estimation using Deep Ensembles. Advances in Neural Information Processing Systems 30, 2017.

    Examples
    --------
    >>> means, variances = [[-1.0], [1.0]], [[1.0], [1.0]]
    >>> round(mixture_negative_log_likelihood_loss([0.0], means, variances), 6)
    1.418939
    """
    y, mu, spread, weight = mixtures(y_true, means, variances, sample_weight, density=True)
    return score(_mixture_loss, weight, per_sample, y, mu, spread)


def _mixture_loss(y: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    logs = _log_density(y, means, variances)
    # A sample so far out that every member's density is 0 has the loss infinity, not NaN.
    peak = np.maximum(logs.max(axis=0), np.finfo(float).min)
    logs -= peak
    np.exp(logs, out=logs)
    with np.errstate(divide="ignore"):
        return -(np.log(logs.mean(axis=0)) + peak)


@mean_or_scores
def pinball_loss(
    y_true: Any, value: Any, *, level: float, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Loss of a predicted quantile (quantile loss).

    .. math:: \frac{1}{N} \sum_n \max\bigl(\tau (y_n - q_n),\ (\tau - 1)(y_n - q_n)\bigr)

    Its expectation is least where the true value is below :math:`q` with probability :math:`\tau`.
    At :math:`\tau = 1/2` it is half the absolute error.

    References
    ----------
    .. [1] R. Koenker, G. Bassett. Regression Quantiles. Econometrica 46(1), 33-50, 1978.

    Examples
    --------
    >>> pinball_loss([1.0, 3.0], [2.0, 2.0], level=0.75)
    0.5
    """
    y, quantile, weight = points(y_true, value, sample_weight, "value")
    tau = check_fraction(level, "level")
    return score(lambda y, q: pinball(y - q, tau), weight, per_sample, y, quantile)


def pinball(above: FloatArray, level: float | FloatArray) -> FloatArray:
    """Return the loss where the true value is ``above`` the quantile by so much."""
    return np.maximum(level * above, (level - 1) * above)


LOG_DENSITY = partial(LOSS, range=(-np.inf, np.inf), optimum=None, proper=True, unit="nats")

ENTRIES = [
    LOG_DENSITY(
        function=gaussian_negative_log_likelihood_loss,
        says="How surprising the true values were under the predicted Gaussians, in nats.",
        cannot_see="Whether a bad value comes from the means or from the variances; one value far "
        "out in the tail of a narrow Gaussian can outweigh all other samples.",
        aliases=("nll",),
        sums=mean_of(gaussian_negative_log_likelihood_loss),
        short="NLL",
        shown=("headline",),
    ),
    LOG_DENSITY(
        function=mixture_negative_log_likelihood_loss,
        says="How surprising the true values were under the mixture of the members' Gaussians, in "
        "nats.",
        cannot_see="Whether a bad value comes from the means, the variances or the disagreement of "
        "members; single samples far out can outweigh all others.",
        aliases=("mixture_nll",),
        sums=mean_of(mixture_negative_log_likelihood_loss),
    ),
    DISTANCE(
        function=pinball_loss,
        says="How good a predicted quantile is: misses on the side that should be rare cost more.",
        cannot_see="All of the distribution except this one quantile.",
        aliases=("pinball", "quantile_loss"),
        sums=mean_of(pinball_loss),
    ),
]
