"""The continuous ranked probability score of predictions made of points or of quantiles."""

from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...exceptions import OptionError
from .._inputs import vector, weights
from .._per_sample import mean_or_scores
from ..means import mean_of
from ._checked import member_array, quantile_arrays, score
from ._kinds import LOSS
from .scores import pinball

__all__ = ["ensemble_crps_loss", "quantile_crps_loss"]


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
    return score(partial(_ensemble, ranks), weight, per_sample, y, x)


def _ensemble(ranks: FloatArray, y: FloatArray, members: FloatArray) -> FloatArray:
    # Relative to the true value, so that the two terms do not cancel far from 0.
    errors = np.ascontiguousarray((members - y).T)
    errors.sort(axis=1)
    between = errors @ ranks
    np.abs(errors, out=errors)
    return errors.mean(axis=1) - between


@mean_or_scores
def quantile_crps_loss(
    y_true: Any,
    levels: Any,
    values: Any,
    *,
    sample_weight: Any = None,
    per_sample: bool = False,
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


ENTRIES = [
    LOSS(
        function=ensemble_crps_loss,
        proper=True,
        says="How far the members, taken as a distribution, are from the true value.",
        cannot_see="Whether a bad value comes from the middle or the spread of the members; that "
        "few members cannot make a smooth distribution, unless fair=True.",
        aliases=("ensemble_crps",),
        sums=mean_of(ensemble_crps_loss),
        unit="target",
    ),
    LOSS(
        function=quantile_crps_loss,
        says="How good the predicted quantiles are, taken together as a distribution.",
        cannot_see="The distribution between the levels and in the tails beyond the outer ones.",
        aliases=("quantile_crps",),
        sums=mean_of(quantile_crps_loss),
        unit="target",
        shown=("headline", "compared", "shift"),
        serves={"variance": "skill", "interval": "skill"},
    ),
]
