"""A multinomial logistic regression on the logarithms of the probabilities."""

from typing import Any

import numpy as np

from .._validation import FloatArray, check_number
from ..predictions.categorical import softmax
from ._classes import ClassMap, Codes
from ._multinomial import likelihood


class DirichletCalibration(ClassMap):
    r"""Mix the logarithms of all classes' probabilities linearly, and normalize.

    .. math::

        q_i = \mathrm{softmax}(W \log p_i + b), \qquad
        W, b = \operatorname*{arg\,min}
        -\frac{\sum_i w_i \log q_{i, y_i}}{\sum_i w_i}
        + \frac{\lambda}{K (K-1)} \sum_{j \ne k} W_{jk}^2 + \frac{\mu}{K} \sum_k b_k^2

    the off-diagonal and intercept regularization (ODIR) of Kull et al. It is the map that is right
    when the probabilities of each true class follow a Dirichlet distribution. :math:`W = I, b = 0`
    leaves probabilities as they are and costs no penalty; a large :math:`\lambda` and
    :math:`\mu` leave a power for each class.

    Parameters
    ----------
    regularization : float, default=0.01
        :math:`\lambda`, on the entries of :math:`W` off the diagonal.
    intercept_regularization : float, optional
        :math:`\mu`, on the intercepts; by default the same as ``regularization``.
    eps : float, default=1e-12
        The least probability of which a logarithm is taken; smaller ones count as this one.

    Attributes
    ----------
    weights_ : ndarray of shape (classes, classes)
        :math:`W`; row j makes the logit of class j.
    intercept_ : ndarray of shape (classes,)

    Notes
    -----
    **Requires** calibration samples in proportion to its K (K + 1) numbers, some tens for each of
    them, or a stronger regularization; it is meant for tens of classes, not thousands.

    **Promises** the minimum of a convex problem, to the tolerance of the optimizer (L-BFGS, slopes
    of about 1e-9). Temperature scaling is the special case of a multiple of the identity, so its
    penalized loss on the calibration samples is never above that of temperature scaling.

    **Cannot** keep the predicted class: it may mend or spoil accuracy. Where the true class is
    always on top nothing holds the diagonal back, and it grows until the loss is flat to that
    tolerance. Probabilities below ``eps`` are one and the same to it.

    References
    ----------
    Kull et al., Beyond temperature scaling: obtaining well-calibrated multi-class probabilities
    with Dirichlet calibration, NeurIPS 2019.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.9] * 4 + [0.1] * 4)
    >>> dirichlet = caveat.DirichletCalibration().fit(prediction, [1, 1, 1, 0, 0, 0, 0, 1])
    >>> dirichlet.transform(prediction).mean[0].round(3)
    array([0.25, 0.75])
    """

    regularization: float = 1e-2
    intercept_regularization: float | None = None
    eps: float = 1e-12

    def _check_options(self) -> None:
        check_number(self.regularization, "regularization")
        if self.intercept_regularization is not None:
            check_number(self.intercept_regularization, "intercept_regularization")
        check_number(self.eps, "eps", 0, 0.1, "right")

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        from scipy.optimize import minimize

        classes = p.shape[1]
        features = self._logarithm(p)
        weight = np.full(len(p), 1 / len(p)) if weight is None else weight / weight.sum()
        features, back = _whitened(features, weight)
        features = np.vstack([features.T, np.ones(len(p))])

        def loss(flat: FloatArray) -> tuple[float, FloatArray]:
            matrix = flat.reshape(classes, classes + 1)
            value, gradient = likelihood(matrix, features, codes, weight)
            penalty, pull = self._penalty(matrix @ back)
            return value + penalty, (gradient + pull @ back.T).ravel()

        start = np.linalg.solve(back.T, np.eye(classes, classes + 1).T).T
        options: Any = {
            "gtol": 1e-9,
            "ftol": 0.0,
            "maxiter": 10_000,
            "maxfun": 20_000,
            "maxcor": 30,
        }
        best = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options).x
        matrix = _centered(best.reshape(start.shape) @ back)
        self.weights_, self.intercept_ = matrix[:, :-1].copy(), matrix[:, -1].copy()

    def _penalty(self, matrix: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalty of the best of all equal coefficients, and its gradient."""
        classes, intercept = len(matrix), self.intercept_regularization
        cost = np.full(matrix.shape, self.regularization / (classes * (classes - 1)))
        cost[:, -1] = (self.regularization if intercept is None else intercept) / classes
        np.fill_diagonal(cost, 0.0)
        matrix = _centered(matrix)
        return float((cost * matrix**2).sum()), 2 * cost * matrix

    def _map(self, p: FloatArray) -> FloatArray:
        return softmax(self._logarithm(p) @ self.weights_.T + self.intercept_)

    def _logarithm(self, p: FloatArray) -> FloatArray:
        return np.log(np.maximum(p, self.eps))


def _centered(matrix: FloatArray) -> FloatArray:
    """Return the least of all coefficients that give the same probabilities.

    A number added to a whole column of W, or to all intercepts, cancels in the softmax. The penalty
    is least when what it sees of the column, all but the diagonal, has mean 0.
    """
    classes = len(matrix)
    sums = matrix.sum(axis=0)
    sums[:-1] -= matrix.diagonal()
    return matrix - sums / np.r_[np.full(classes, classes - 1), classes]


def _whitened(features: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return uncorrelated features, and the matrix that takes coefficients of these back.

    Only a change of coordinates, in which the optimizer needs a tenth of the steps.
    """
    classes = features.shape[1]
    center = weight @ features
    features = features - center
    covariance = (features * weight[:, None]).T @ features
    covariance.flat[:: classes + 1] += 1e-6 * (covariance.trace() / classes + 1)
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    back = np.zeros((classes + 1, classes + 1))
    back[:-1, :-1], back[:-1, -1], back[-1, -1] = root, -root @ center, 1.0
    return features @ root.T, back
