"""Vector scaling that is pulled towards temperature scaling, more so with fewer samples."""

import numpy as np

from .._validation import FloatArray
from ..predictions.categorical import softmax
from ._structured import StructuredScaling


class StructuredVectorScaling(StructuredScaling):
    r"""Temperature scaling, then a factor and a shift for the logit of each class, near 1 and 0.

    .. math::

        z_i = \log\Bigl(\tfrac{n}{n+1} \mathrm{softmax}(\tfrac{\log p_i}{T})
        + \tfrac{1}{n+1} \tfrac{1}{K}\Bigr), \qquad q_{ik} \propto \exp(v_k z_{ik} + b_k)

    where :math:`T` is the temperature with the least log loss, and :math:`v, b` minimize

    .. math::

        -\frac{\sum_i w_i \log q_{i, y_i}}{n} + \frac{\lambda K}{n} \sum_k \bigl((v_k - 1)^2
        + b_k^2\bigr)

    with :math:`n = \sum_i w_i`: with few samples it is temperature scaling.

    Attributes
    ----------
    factors_, intercept_ : ndarrays of shape (classes,)
        :math:`v` and :math:`b`.

    Notes
    -----
    **Requires** some ten calibration samples of each class; thousands of classes are no obstacle.

    **Promises** the minimum of a strictly convex problem, to some 1e-8 in logits. No probability is
    0. Its penalized loss on the calibration samples is never above that of the smoothed temperature
    scaling :math:`\exp z_i`.

    **Cannot** repair a class that is taken for a certain other one, which takes a matrix; nor keep
    the predicted class: it may mend or spoil accuracy.

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
    >>> wrong = p * [2, 1, 1] / (p * [2, 1, 1]).sum(axis=1, keepdims=True)  # too much for class 0
    >>> fitted = caveat.StructuredVectorScaling().fit(wrong, y)
    >>> bool(fitted.intercept_[0] < fitted.intercept_[1:].min() - 0.5)  # log 2 is 0.69
    True
    """

    def _penalty(self, classes: int) -> FloatArray:
        return np.full((classes, 2), float(classes))

    def _keep(self, coefficients: FloatArray) -> None:
        self.factors_, self.intercept_ = coefficients.T.copy()

    def _map(self, p: FloatArray) -> FloatArray:
        return softmax(self._logits(p) * self.factors_ + self.intercept_)
