"""A monotone smooth curve of the logit: a spline whose slopes are not negative."""

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_integer, check_number
from ._logistic import LogisticMap, fit_logistic, newton, smoothed_targets


class SplineCalibration(LogisticMap):
    r"""Map the logit of each class's probability by a smooth increasing curve.

    .. math::

        q_{ik} = \frac{g_k(p_{ik})}{\sum_j g_j(p_{ij})}, \qquad
        \operatorname{logit} g_k(p) = b_k + \int_{t_{k1}}^{\operatorname{logit} p} s_k(u) \,du

    where the slope :math:`s_k \ge 0` is a straight line between knots :math:`t_{k1} < \dots <
    t_{km}` and constant outside of them, so that the curve is a quadratic spline with straight
    ends. The knots are quantiles of the calibration logits from 5 % to 95 %. The slopes at the
    knots minimize

    .. math:: -\sum_i w_i \log g_k(p_{ik}) + \tfrac{\lambda}{2} \sum_j (s_{k,j+1} - s_{kj})^2

    one class against the rest, with Platt's targets in place of 0 and 1; for two classes once, for
    the second, and the first gets the complement. The penalty says that slopes of neighboring knots
    differ by about :math:`1 / \sqrt{\lambda}` before the data are seen; a slope of 1 everywhere
    leaves probabilities as they are.

    Parameters
    ----------
    knots : int, default=6
        At most this many; equal scores leave fewer.
    smoothness : float, default=1.0
        :math:`\lambda`. A large one gives Platt scaling with a slope that is not negative.

    Attributes
    ----------
    knots_, slopes_ : ndarrays of shape (classes, knots), for two classes (1, knots)
        :math:`t_{kj}` and :math:`s_{kj}`. Where scores leave fewer knots, the last is repeated.
    intercept_ : ndarray of shape (classes,), for two classes (1,)
        :math:`b_k`.

    Notes
    -----
    **Requires** some hundred calibration samples of each class.

    **Promises** the least penalized log loss of all such curves, a convex problem. For two classes
    the ranking of the samples is never reversed.

    **Cannot** follow a curve that bends more often than there are knots, nor repair a model that
    has its classes the wrong way round, which becomes a constant. For more than two classes the
    normalization may undo part of the repair and change which class is on top.

    References
    ----------
    Ramsay, Monotone regression splines in action, Statistical Science 3, 1988. Eilers and Marx,
    Flexible smoothing with B-splines and penalties, Statistical Science 11, 1996. Lucena,
    Spline-based probability calibration, arXiv:1809.07751, 2018.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = 2 * rng.normal(size=4000)
    >>> y = rng.random(4000) < 1 / (1 + np.exp(-np.where(z < 0, z / 2, 2 * z)))
    >>> prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-z)))
    >>> fitted = caveat.SplineCalibration().fit(prediction, y)
    >>> fitted.slopes_[0, [1, 4]].round(1)  # 1/2 below 0, 2 above
    array([0.5, 2. ])
    """

    knots: int = 6
    smoothness: float = 1.0

    def _check_options(self) -> None:
        check_integer(self.knots, "knots", 2)
        check_number(self.smoothness, "smoothness")
        super()._check_options()

    def _learn_curve(
        self, log_p: FloatArray, log_rest: FloatArray, hit: NDArray[np.bool_], weight: FloatArray
    ) -> FloatArray:
        logit = log_p - log_rest
        target = smoothed_targets(hit, weight)
        knots = _knots(logit, weight, self.knots)
        more = self.knots - len(knots)
        if len(knots) == 1:
            slope, level = fit_logistic(logit[:, None], target, weight, np.ones(1), positive=True)
            slopes, level = np.array([slope]), level + slope * knots[0]
        else:
            design = np.column_stack([_integrals(logit, knots), np.ones(len(logit))])
            jumps = np.diff(np.eye(len(knots), len(knots) + 1), axis=0)
            limits = np.arange(len(knots) + 1) < len(knots)
            penalty = self.smoothness * jumps.T @ jumps
            *values, level = newton(design, target, weight, penalty, limits)
            slopes = np.array(values)
        padded = [np.pad(part, (0, more), mode="edge") for part in (knots, slopes)]
        return np.r_[*padded, level]

    def _keep(self, curves: FloatArray) -> None:
        self.knots_, self.slopes_ = curves[:, : self.knots], curves[:, self.knots : -1]
        self.intercept_ = curves[:, -1].copy()

    def _curve(self, number: int, log_p: FloatArray, log_rest: FloatArray) -> FloatArray:
        logit, slopes = log_p - log_rest, self.slopes_[number]
        knots = np.unique(self.knots_[number])
        if len(knots) == 1:
            return self.intercept_[number] + slopes[0] * (logit - knots[0])
        return self.intercept_[number] + _integrals(logit, knots) @ slopes[: len(knots)]


def _knots(score: FloatArray, weight: FloatArray, number: int) -> FloatArray:
    """Return quantiles of the scores, each once."""
    order = np.argsort(score)
    running = np.cumsum(weight[order])
    # Tolerance for rounding: three thirds make one.
    wanted = np.linspace(0.05, 0.95, number) * running[-1] * (1 - 1e-10)
    return np.unique(score[order][np.searchsorted(running, wanted)])


def _integrals(score: FloatArray, knots: FloatArray) -> FloatArray:
    """Return the integral up to each score of the hat function of each knot."""
    gaps, hats = np.diff(knots), np.eye(len(knots))
    before = np.vstack([0 * hats[:1], np.cumsum((hats[:-1] + hats[1:]) / 2 * gaps[:, None], 0)])
    piece = np.clip(np.searchsorted(knots, score, side="right") - 1, 0, len(gaps) - 1)
    inside = np.clip(score - knots[piece], 0.0, gaps[piece])
    second = inside**2 / (2 * gaps[piece])
    result, rows = before[piece], np.arange(len(score))
    result[rows, piece] += inside - second
    result[rows, piece + 1] += second
    result[:, 0] += np.minimum(score - knots[0], 0.0)
    result[:, -1] += np.maximum(score - knots[-1], 0.0)
    return result
