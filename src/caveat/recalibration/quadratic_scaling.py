"""A logistic regression of the true class on the logit of its probability and its square."""

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ._logistic import LogisticMap, fit_logistic, smoothed_targets


class QuadraticScaling(LogisticMap):
    r"""Bend, stretch and shift the logit of each class's probability.

    .. math::

        q_{ik} = \frac{g_k(p_{ik})}{\sum_j g_j(p_{ij})}, \qquad
        \operatorname{logit} g_k(p) = c_k \operatorname{logit}(p)^2
        + a_k \operatorname{logit}(p) + b_k

    with the least log loss, one class against the rest; for two classes once, for the second, and
    the first gets the complement. It is the map that is right if the logits of each true class
    follow normal distributions of different variances; with equal variances :math:`c_k = 0`, which
    is Platt scaling. As there, the targets are :math:`(n_+ + 1) / (n_+ + 2)` and
    :math:`1 / (n_- + 2)` in place of 1 and 0, so that the fit exists for every calibration set.

    Attributes
    ----------
    curvature_, slope_, intercept_ : ndarrays of shape (classes,), for two classes (1,)
        :math:`c_k`, :math:`a_k` and :math:`b_k`.

    Notes
    -----
    **Requires** some hundred calibration samples of each class.

    **Promises** the least log loss of all such maps, a convex problem with one minimum, so on the
    calibration samples never a larger one than Platt scaling.

    **Cannot** promise that the ranking of the samples is kept: a parabola turns around at
    :math:`-a_k / (2 c_k)`, and beyond the calibration samples it may turn far. For more than two
    classes the normalization may undo part of the repair and change which class is on top.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach, Structured matrix scaling for multi-class calibration,
    AISTATS 2026.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, size=4000)
    >>> z = rng.normal(y, np.where(y == 1, 1.0, 2.0))  # the classes have different variances
    >>> prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-z)))
    >>> fitted = caveat.QuadraticScaling().fit(prediction, y)
    >>> fitted.curvature_.round(1), fitted.slope_.round()  # (1/4 - 1) / 2 and 1
    (array([-0.4]), array([1.]))
    """

    def _learn_curve(
        self, log_p: FloatArray, log_rest: FloatArray, hit: NDArray[np.bool_], weight: FloatArray
    ) -> FloatArray:
        logit = log_p - log_rest
        columns = np.column_stack([logit**2, logit])
        return fit_logistic(columns, smoothed_targets(hit, weight), weight, np.array([0.0, 1.0]))

    def _keep(self, curves: FloatArray) -> None:
        self.curvature_, self.slope_, self.intercept_ = curves.T.copy()

    def _curve(self, number: int, log_p: FloatArray, log_rest: FloatArray) -> FloatArray:
        logit = log_p - log_rest
        line = self.curvature_[number] * logit + self.slope_[number]
        return line * logit + self.intercept_[number]
