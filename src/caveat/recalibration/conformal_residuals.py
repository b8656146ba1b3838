"""Regression: split conformal intervals from residuals."""

from typing import Any

import numpy as np

from .._validation import FloatArray, check_flags
from ..predictions import Gaussian, Interval
from ._conformal_base import ConformalIntervals, Scored
from ._residuals import standardized


class ConformalResiduals(ConformalIntervals):
    r"""Intervals around the mean, as wide as the residuals of the calibration samples ask for.

    Split conformal prediction. The score of a calibration sample is its absolute residual
    :math:`s_i = |y_i - \mu_i|`, or :math:`|y_i - \mu_i| / \sigma_i` with ``normalize``, and q is
    the k-th smallest score, :math:`k = \lceil (n + 1) c \rceil` for the coverage c. The interval
    is :math:`\mu \pm q`, or :math:`\mu \pm q \sigma`. With several members :math:`\mu` and
    :math:`\sigma^2` are the mean and variance of their mixture.

    Parameters
    ----------
    normalize : bool, default=False
        Divide residuals by the predicted standard deviation, so that samples that are predicted
        with more uncertainty get wider intervals.
    symmetric : bool, default=True
        If False, the upper end comes from the scores :math:`y_i - \mu_i` and the lower end from
        :math:`\mu_i - y_i`, at (1 + c) / 2 each.
    bins : int, optional
        Cut the predicted standard deviation into this many bins with equally many calibration
        samples, and take q from the scores in the sample's bin. Equal standard deviations share a
        bin, so there may be fewer.
    joint : bool or "copula", default=False
        Cover all targets of a sample at once, instead of each for itself: the score is the largest
        over the targets. Residuals that are not normalized are first divided by the median
        absolute residual of their target; for bins, the standard deviations of a sample are
        replaced by their geometric mean. With ``"copula"`` the score is the largest of the ranks
        of the targets' scores, which fits each target's own tail and needs more samples.

    Attributes
    ----------
    edges_ : ndarray of shape (targets, bins - 1), or (1, bins - 1) if joint
        The largest standard deviation in each bin but the last; infinite for bins that ties left
        empty.

    Notes
    -----
    **Requires** a `Gaussian` (its variance is used with ``normalize`` or ``bins`` only; it may be 0
    otherwise) and calibration samples that are exchangeable with those to come: not used to train
    the model, nor to fit a recalibration before this one. With fewer of them than ``too_few_``
    says, in a group or a bin, its intervals are infinite: nothing else keeps the promise.

    **Promises** that a new sample is covered with a probability of at least c over the draw of
    calibration samples and new sample, whatever the model and the distribution; without ties, if
    symmetric and not joint, at most c + 1 / (n + 1). Given the calibration samples, the coverage
    is then distributed as Beta(k, n + 1 - k). The same in each group, and for ``joint`` for all
    targets together, where the median counts the new sample at its worst, so that its unknown
    residual costs no coverage. In a bin of :math:`n_b` samples the bound is
    c - (1 - c) / :math:`n_b`, since one sample in each bin set its edge; cut beforehand and passed
    as groups, bins have the bound c.

    With ``shift`` the k-th smallest score becomes a weighted quantile: each calibration sample
    weighs its likelihood ratio and the new sample its own [1]_; without bins or ``joint``. The
    promise then holds after a covariate shift with that ratio. With ``overlapping`` q comes from
    the quantile regression of the scores on the groups [2]_, and the promise holds in each group.

    **Cannot** promise coverage for single samples or for subsets other than its groups and bins,
    nor after a shift between calibration and use that ``shift`` does not describe. The weights of
    ``sample_weight`` are repetitions and do not repair a shift.

    References
    ----------
    .. [1] Tibshirani, Foygel Barber, Candès, Ramdas, Conformal prediction under covariate shift
       (2019).
    .. [2] Gibbs, Cherian, Candès, Conformal prediction with conditional guarantees (2025).

    Papadopoulos et al., Inductive confidence machines for regression (2002).
    Lei et al., Distribution-free predictive inference for regression (2018).
    Boström, Johansson, Mondrian conformal regressors (2020).

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian([0.0] * 9, 1.0)
    >>> residuals = [0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.9]
    >>> conformal = caveat.ConformalResiduals(0.9).fit(prediction, residuals)
    >>> conformal.transform(prediction.take([0])).upper
    array([[0.9]])
    """

    takes = (Gaussian,)

    normalize: bool = False

    def _scored(self, prediction: Any, y: FloatArray) -> Scored:
        check_flags(normalize=self.normalize)
        mean, variance = self._center(prediction)
        residual = y - mean
        if self.normalize:
            residual = standardized(residual, variance)
        sizes = np.abs(residual)
        scores = [sizes] if self.symmetric else [-residual, residual]
        spread = None if self.bins is None else np.sqrt(variance)
        return scores, spread, None if self.normalize else sizes

    def _transform(self, prediction: Any, given: FloatArray | None = None) -> Interval:
        mean, variance = self._center(prediction)
        deviation = np.sqrt(variance)
        margins = self._margins(deviation, given)
        if self.normalize:
            scaled = np.where(np.isinf(margins), 1.0, margins) * deviation[..., None]
            margins = np.where(np.isinf(margins), np.inf, scaled)
        return Interval(
            mean - margins[..., 0],
            mean + margins[..., -1],
            coverage=float(self.coverage),
            targets=prediction.targets,
        )

    def _center(self, prediction: Gaussian) -> tuple[FloatArray, FloatArray]:
        """Return the mean, and the variance where it is needed."""
        if self.normalize or self.bins is not None:
            return prediction.moments()
        return prediction.mean.mean(axis=0), np.zeros(1)
