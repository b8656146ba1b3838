"""Regression: one factor on the variance of each target."""

from typing import Any

import numpy as np

from .._validation import FloatArray
from ..predictions import Gaussian, Quantiles
from ._residuals import GaussianMap, gaussian_of


class VarianceScaling(GaussianMap):
    r"""Multiply the variance of each target by the factor that makes the data most likely.

    With predicted means :math:`\mu_i`, total variances :math:`\sigma_i^2` and truths :math:`y_i`
    the likelihood of :math:`\mathcal{N}(\mu_i, s^2 \sigma_i^2)` has its maximum at

    .. math:: s^2 = \frac{1}{n} \sum_{i=1}^n \frac{(y_i - \mu_i)^2}{\sigma_i^2} .

    With several members :math:`\mu_i` and :math:`\sigma_i^2` are the moments of their mixture, and
    the mixture is stretched by :math:`s` about its mean: member m gets the mean
    :math:`\mu_i + s (\mu_{mi} - \mu_i)` and the variance :math:`s^2 \sigma_{mi}^2`. So the mean of
    the mixture stays, and its variance, the aleatoric and the epistemic part alike, is multiplied
    by :math:`s^2`. Quantiles become the Gaussian of their central interval at ``level``, are
    scaled, and come back as that Gaussian's quantiles at the levels they had.

    Attributes
    ----------
    scale_ : ndarray of shape (targets,)
        s, the factor on the standard deviation.

    Notes
    -----
    **Requires** a `Gaussian` whose total variances are above 0, or `Quantiles` with the levels
    (1 - level) / 2 and (1 + level) / 2; calibration samples that the model was not trained on.

    **Promises** that the mean squared standardized residual of the calibration samples is exactly
    1, that means (for quantiles: midpoints) stay and that samples keep their order of uncertainty
    within a target. No other single factor has a higher Gaussian likelihood on these samples.

    **Cannot** repair a bias, tails that are not Gaussian, or variances that are too large for some
    samples and too small for others; nor the asymmetry of quantiles, which the Gaussian forgets.

    References
    ----------
    Levi et al., Evaluating and calibrating uncertainty prediction in regression tasks (2022).
    Laves et al., Well-calibrated regression uncertainty in medical imaging (2020).

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian([1.0, 2.0, 3.0, 4.0], 1.0)
    >>> scaling = caveat.VarianceScaling().fit(prediction, [3.0, 0.0, 5.0, 2.0])
    >>> scaling.scale_
    array([2.])
    >>> scaling.transform(prediction).variance.ravel()
    array([4., 4., 4., 4.])
    """

    def _fit(self, prediction: Any, y: FloatArray, weight: FloatArray | None) -> None:
        residuals = self._residuals(prediction, y, weight)
        self.scale_ = np.sqrt([np.average(known**2, weights=each) for known, each in residuals])

    def _transform(self, prediction: Any) -> Gaussian | Quantiles:
        gaussian = gaussian_of(prediction, self.level)
        mean = gaussian.mean
        if gaussian.members > 1:
            center = mean.mean(axis=0)
            mean = center + self.scale_ * (mean - center)
        scaled = Gaussian(mean, gaussian.variance * self.scale_**2, targets=gaussian.targets)
        if isinstance(prediction, Quantiles):
            return scaled.to_quantiles(prediction.levels)
        return scaled
