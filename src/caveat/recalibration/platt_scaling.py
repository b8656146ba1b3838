"""A logistic regression of the true class on the logit of its probability."""

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_choice
from ..exceptions import InvalidValueError
from ._logistic import LogisticMap, fit_logistic, smoothed_targets


class PlattScaling(LogisticMap):
    r"""Stretch and shift the logit of each class's probability.

    .. math::

        q_{ik} = \frac{g_k(p_{ik})}{\sum_j g_j(p_{ij})}, \qquad
        g_k(p) = \frac{1}{1 + \exp(-a_k \operatorname{logit}(p) - b_k)}

    where :math:`a_k, b_k` minimize the log loss against the targets :math:`t_{ik}`, one class
    against the rest. For two classes this is done once, for the second, and the first gets the
    complement. The score is the logit, so that :math:`a = 1, b = 0` leaves probabilities as they
    are; a sigmoid of the probability itself could not.

    Parameters
    ----------
    smoothing : bool, default=True
        Platt's targets: with :math:`n_+` samples of the class and :math:`n_-` others,
        :math:`t = (n_+ + 1) / (n_+ + 2)` and :math:`1 / (n_- + 2)` in place of 1 and 0. The fit
        then exists for every calibration set.

    Attributes
    ----------
    slope_, intercept_ : ndarrays of shape (classes,), for two classes (1,)
        :math:`a_k` and :math:`b_k`.

    Notes
    -----
    **Requires** a miscalibration that is nearly a straight line in logits; then some dozen
    calibration samples of each class are enough.

    **Promises** the least log loss of all such maps, a convex problem with one minimum. For two
    classes the ranking of the samples is kept if the slope is positive; it is negative if and only
    if the calibration samples say that the model has its classes the wrong way round. With all
    calibration scores equal the slope is left at 1.

    **Cannot** follow any other shape. For more than two classes the normalization may undo part of
    the repair and change which class is on top.

    References
    ----------
    Platt, Probabilistic outputs for support vector machines, Advances in Large Margin Classifiers,
    1999. Lin, Lin and Weng, A note on Platt's probabilistic outputs for support vector machines,
    Machine Learning 68, 2007.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.9] * 4 + [0.1] * 4)
    >>> platt = caveat.PlattScaling(smoothing=False).fit(prediction, [1, 1, 1, 0, 0, 0, 0, 1])
    >>> platt.slope_.round(6), platt.transform(prediction).mean[0].round(6)
    (array([0.5]), array([0.25, 0.75]))
    """

    smoothing: bool = True

    def _check_options(self) -> None:
        check_choice(self.smoothing, "smoothing", (True, False))
        super()._check_options()

    def _learn_curve(
        self, log_p: FloatArray, log_rest: FloatArray, hit: NDArray[np.bool_], weight: FloatArray
    ) -> FloatArray:
        return fit_sigmoid(log_p - log_rest, hit, weight, self.smoothing)

    def _keep(self, curves: FloatArray) -> None:
        self.slope_, self.intercept_ = curves.T.copy()

    def _curve(self, number: int, log_p: FloatArray, log_rest: FloatArray) -> FloatArray:
        return self.slope_[number] * (log_p - log_rest) + self.intercept_[number]


def fit_sigmoid(
    score: FloatArray, hit: NDArray[np.bool_], weight: FloatArray, smoothing: bool = True
) -> FloatArray:
    """Return slope and intercept of the logistic regression of ``hit`` on ``score``."""
    if smoothing:
        target = smoothed_targets(hit, weight)
    else:
        _check_overlap(score, hit)
        target = hit.astype(np.float64)
    return fit_logistic(score[:, None], target, weight, np.ones(1))


def _check_overlap(score: FloatArray, hit: NDArray[np.bool_]) -> None:
    """Raise if the classes are separable, so that a steeper sigmoid is always better."""
    if hit.any() and not hit.all():
        low, high = score[~hit], score[hit]
        apart = low.max() <= high.min() or high.max() <= low.min()
        if not apart or np.ptp(score) == 0:
            return
    raise InvalidValueError(
        "the calibration samples of a class are separated from the others by its probability, or "
        "there are none of one kind, so without smoothing no slope is the best; use smoothing=True"
    )
