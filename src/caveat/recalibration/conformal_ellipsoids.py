"""Regression: joint conformal regions of several targets."""

from dataclasses import field
from typing import Any

import numpy as np

from .._validation import FloatArray, check_flags, check_fraction
from ..exceptions import InvalidValueError
from ..predictions import Ellipsoid, Gaussian
from ._conformal import as_fraction, conformal_quantile, minimum_samples, too_few
from ._conformal_base import WithPromise, each_target
from ._residuals import drop_zero_weights, standardized

_LARGEST_CONDITION = 1e12


class ConformalEllipsoids(WithPromise):
    r"""Ellipsoids that hold all targets of a sample at once, shaped by their correlation.

    With :math:`r_i` the residuals of calibration sample i, a vector with one entry for each target
    (each divided by its predicted standard deviation with ``normalize``), let
    :math:`v_i = (1, r_i)` and :math:`h_i = v_i^T (\sum_j v_j v_j^T)^{-1} v_i`, the leverage: a
    Mahalanobis distance from the mean residual. With q the k-th smallest :math:`h_i`,
    :math:`k = \lceil (n + 1) c \rceil` for the coverage c, the region of a new sample is where its
    leverage is at most :math:`q / (1 - q)`. It is centered at the prediction plus the mean
    residual.

    Parameters
    ----------
    coverage : float
        Share of samples whose targets are all inside, strictly between 0 and 1.
    normalize : bool, default=False
        Divide residuals by the predicted standard deviation, so that samples that are predicted
        with more uncertainty get larger regions.

    Attributes
    ----------
    shift_ : ndarray of shape (targets,)
        The mean residual.
    factor_ : ndarray of shape (targets, targets)
        The lower triangular matrix that maps the unit ball to the region around it; infinite on the
        diagonal where there are too few calibration samples.
    too_few_ : tuple of str
        The groups for which that is so.

    Notes
    -----
    **Requires** a `Gaussian` (its variance is used with ``normalize`` only) and calibration
    samples that are exchangeable with those to come: not used to train the model. c / (1 - c) of
    them, and more than there are targets; with few samples for each target the leverages are
    large, and so are the regions.

    **Promises** that all targets of a new sample are inside together with a probability of at least
    c over the draw of calibration samples and new sample, whatever the model and the distribution.
    The matrix belongs to the calibration samples and not to the new one; that it might have been
    another with the new one is counted at its worst (:math:`q / (1 - q)` in place of q), so that no
    samples have to be set aside for it.

    **Cannot** promise coverage for single samples or targets, nor after a shift between calibration
    and use. It is small where residuals are correlated, or independent with tails; the boxes of
    ``ConformalResiduals(joint=True)`` and ``joint="copula"`` are smaller where residuals fill a
    box. :func:`caveat.compare_regions` compares their volumes.

    References
    ----------
    C. Johnstone, B. Cox. Conformal uncertainty sets for robust optimization. COPA, 2021.
    S. Messoudi, S. Destercke, S. Rousseau. Ellipsoidal conformal inference for Multi-Target
    Regression. COPA, 2022.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]], size=200)
    >>> prediction = caveat.Gaussian(np.zeros((200, 2)), 1.0)
    >>> regions = caveat.ConformalEllipsoids(0.9).fit(prediction, y).transform(prediction)
    >>> regions
    Ellipsoid: 200 samples x 2 targets (0, 1), coverage 0.9
    >>> boxes = caveat.ConformalResiduals(0.9, joint=True).fit(prediction, y).transform(prediction)
    >>> sides = boxes.upper - boxes.lower
    >>> bool(regions.volumes()[0] < 0.7 * sides[0].prod())
    True
    """

    takes = (Gaussian,)

    coverage: float = field(default=0.9, kw_only=False)
    normalize: bool = False

    def _fit(self, prediction: Any, y: FloatArray, weight: FloatArray | None) -> None:
        level = as_fraction(check_fraction(self.coverage, "coverage"))
        check_flags(normalize=self.normalize)
        whole = ~np.isnan(y).any(axis=1)
        if not whole.all():
            weight = np.where(whole, 1.0 if weight is None else weight, 0.0)
            if not weight.any():
                raise InvalidValueError(
                    "no sample has true values of all targets; use ConformalResiduals, which takes "
                    "each target by itself"
                )
        prediction, y, weight = drop_zero_weights(prediction, y, weight)
        mean, variance = prediction.moments()
        residual = standardized(y - mean, variance) if self.normalize else y - mean
        self.samples_ = len(y)
        counts = np.ones(len(y)) if weight is None else weight
        total = counts.sum()
        self.shift_ = counts @ residual / total
        centered = residual - self.shift_
        self.factor_ = np.diag(np.full(y.shape[1], np.inf))
        words = too_few(len(y), level, weight)
        needed = max(minimum_samples(level), y.shape[1] + 2)
        if words is None and len(y) < needed:
            words = f"{len(y)} calibration samples, at least {needed} are needed"
        self._few = () if words is None else (words,)
        if words is not None:
            return
        scatter = (centered * counts[:, None]).T @ centered
        size = np.sqrt(np.diag(scatter))
        if not size.all() or np.linalg.cond(scatter / np.outer(size, size)) > _LARGEST_CONDITION:
            raise InvalidValueError(
                "the residuals of the targets depend on each other exactly, or one is constant, so "
                "that they span no ellipsoid; leave out one of these targets, or use "
                "ConformalResiduals(joint=True)"
            )
        root = np.linalg.cholesky(scatter)
        distance = (np.linalg.solve(root, centered.T) ** 2).sum(axis=0)
        leverage = distance + 1 / total
        q = conformal_quantile(leverage[:, None], level, weight)[0]
        if q >= 1:
            self._few = (
                f"{len(y)} calibration samples for {y.shape[1]} targets: single samples determine "
                "the ellipsoid, and more are needed",
            )
            return
        self.factor_ = root * np.sqrt(max(q / (1 - q) - 1 / total, 0.0))

    def _by_itself(self) -> str:
        return each_target(self.signature_, joint=True)

    def _transform(self, prediction: Any) -> Ellipsoid:
        mean, variance = prediction.moments()
        scale = np.sqrt(variance) if self.normalize else np.ones_like(mean)
        infinite = np.isinf(self.factor_[0, 0])
        factor = self.factor_ * (1.0 if infinite else scale[..., None])
        return Ellipsoid(
            mean + scale * self.shift_,
            np.broadcast_to(factor, (*mean.shape, mean.shape[1])),
            coverage=float(self.coverage),
            targets=prediction.targets,
        )
