"""Beta calibration: a logistic regression on the logarithms of both sides of a probability."""

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ._logistic import LogisticMap, fit_logistic, smoothed_targets


class BetaCalibration(LogisticMap):
    r"""Stretch the two ends of the logit of each class's probability, and shift it.

    .. math::

        q_{ik} = \frac{g_k(p_{ik})}{\sum_j g_j(p_{ij})}, \qquad
        \operatorname{logit} g_k(p) = a_k \log p - b_k \log(1 - p) + c_k, \quad a_k, b_k \ge 0

    with the least log loss, one class against the rest; for two classes once, for the second, and
    the first gets the complement. It is the map that is right if the probabilities of each true
    class follow beta distributions. :math:`a_k` acts on small probabilities and :math:`b_k` on
    large ones; :math:`a_k = b_k` is Platt scaling, :math:`a_k = b_k = 1, c_k = 0` leaves
    probabilities as they are. The targets are Platt's, :math:`(n_+ + 1) / (n_+ + 2)` and
    :math:`1 / (n_- + 2)` in place of 1 and 0, so that the fit exists for every calibration set.

    Attributes
    ----------
    lower_slope_, upper_slope_, intercept_ : ndarrays of shape (classes,), for two classes (1,)
        :math:`a_k`, :math:`b_k` and :math:`c_k`.

    Notes
    -----
    **Requires** some hundred calibration samples of each class.

    **Promises** the least log loss of all such maps, a convex problem. For two classes the ranking
    of the samples is never reversed.

    **Cannot** repair a model that has its classes the wrong way round, which becomes a constant;
    nor a bend in the middle of the scale. For more than two classes the normalization may undo
    part of the repair and change which class is on top.

    References
    ----------
    Kull, Silva Filho and Flach, Beta calibration: a well-founded and easily implemented improvement
    on logistic calibration for binary classifiers, AISTATS 2017.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 1, size=4000)
    >>> q = p**2 / (p**2 + 1 - p)  # small probabilities are too large, large ones are right
    >>> prediction = caveat.Categorical.from_binary(p)
    >>> fitted = caveat.BetaCalibration().fit(prediction, rng.random(4000) < q)
    >>> fitted.lower_slope_.round(), fitted.upper_slope_.round()
    (array([2.]), array([1.]))
    """

    def _learn_curve(
        self, log_p: FloatArray, log_rest: FloatArray, hit: NDArray[np.bool_], weight: FloatArray
    ) -> FloatArray:
        columns = np.column_stack([log_p, -log_rest])
        target = smoothed_targets(hit, weight)
        return fit_logistic(columns, target, weight, np.ones(2), positive=True)

    def _keep(self, curves: FloatArray) -> None:
        self.lower_slope_, self.upper_slope_, self.intercept_ = curves.T.copy()

    def _curve(self, number: int, log_p: FloatArray, log_rest: FloatArray) -> FloatArray:
        low, high = self.lower_slope_[number], self.upper_slope_[number]
        return low * log_p - high * log_rest + self.intercept_[number]
