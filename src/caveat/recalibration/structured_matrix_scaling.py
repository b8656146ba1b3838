"""Matrix scaling that is pulled towards temperature scaling, more so with fewer samples."""

import numpy as np

from .._validation import FloatArray
from ..predictions.categorical import softmax
from ._structured import StructuredScaling


class StructuredMatrixScaling(StructuredScaling):
    r"""Temperature scaling, then a linear map of all logits that stays near the identity.

    .. math::

        z_i = \log\Bigl(\tfrac{n}{n+1} \mathrm{softmax}(\tfrac{\log p_i}{T})
        + \tfrac{1}{n+1} \tfrac{1}{K}\Bigr), \qquad q_i = \mathrm{softmax}(W z_i + b)

    where :math:`T` is the temperature with the least log loss, and :math:`W, b` minimize

    .. math::

        -\frac{\sum_i w_i \log q_{i, y_i}}{n} + \frac{\lambda K}{n} \sum_k \bigl((W_{kk} - 1)^2
        + b_k^2\bigr) + \frac{\lambda K (K-1)}{n} \sum_{j \ne k} W_{jk}^2

    with :math:`n = \sum_i w_i`. A group of parameters pays in proportion to their number, so that
    the map is temperature scaling with few samples, a factor for each class with more, and a matrix
    with many.

    Attributes
    ----------
    weights_ : ndarray of shape (classes, classes)
        :math:`W`; row j makes the logit of class j.
    intercept_ : ndarray of shape (classes,)

    Notes
    -----
    **Requires** some ten calibration samples of each class.

    **Promises** the minimum of a strictly convex problem, to some 1e-8 in logits. No probability is
    0. Its penalized loss on the calibration samples is never above that of the smoothed temperature
    scaling :math:`\exp z_i`.

    **Cannot** keep the predicted class: it may mend or spoil accuracy. A matrix of classes squared
    numbers is meant for up to some hundred classes; with more use `StructuredVectorScaling`.

    References
    ----------
    Berta, Holzmüller, Jordan and Bach, Structured matrix scaling for multi-class calibration,
    AISTATS 2026.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.ones(3), size=5000)
    >>> y = (p.cumsum(axis=1) < rng.random((5000, 1))).sum(axis=1)
    >>> wrong = p @ [[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]  # 0 is taken for 1
    >>> fitted = caveat.StructuredMatrixScaling().fit(wrong, y)
    >>> loss = caveat.metrics.negative_log_likelihood_loss
    >>> round(loss(y, wrong), 2), round(loss(y, fitted.transform(wrong).mean), 2)
    (0.87, 0.83)
    """

    def _penalty(self, classes: int) -> FloatArray:
        penalty = np.full((classes, classes + 1), classes * (classes - 1.0))
        np.fill_diagonal(penalty, classes)
        penalty[:, -1] = classes
        return penalty

    def _keep(self, coefficients: FloatArray) -> None:
        self.weights_, self.intercept_ = coefficients[:, :-1].copy(), coefficients[:, -1].copy()

    def _map(self, p: FloatArray) -> FloatArray:
        return softmax(self._logits(p) @ self.weights_.T + self.intercept_)
