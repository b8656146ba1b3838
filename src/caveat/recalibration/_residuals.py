"""What regression recalibrators share: Gaussians of predictions, standardized residuals."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._validation import LARGEST, FloatArray, check_fraction, position
from ..exceptions import InvalidValueError
from ..predictions import Gaussian, Quantiles
from ._base import Recalibrator, aligned

_AXES = ("sample", "target")


class GaussianMap(Recalibrator):
    """A map of Gaussians that is learned from their standardized residuals.

    Parameters
    ----------
    level : float
        Coverage of the interval that turns quantiles into a Gaussian; not used for a Gaussian.
    """

    takes = (Gaussian, Quantiles)
    level: float = 0.6827

    def _residuals(
        self, prediction: Any, y: FloatArray, weight: FloatArray | None
    ) -> Iterator[tuple[FloatArray, FloatArray | None]]:
        """Yield the residuals of each target that are known, and their weights."""
        level = check_fraction(self.level, "level")
        prediction, y, weight = drop_zero_weights(prediction, y, weight)
        mean, variance = gaussian_of(prediction, level).moments()
        for column in standardized(y - mean, variance).T:
            known = ~np.isnan(column)
            yield column[known], None if weight is None else weight[known]


def drop_zero_weights(
    prediction: Any, y: FloatArray, weight: FloatArray | None
) -> tuple[Any, FloatArray, FloatArray | None]:
    """Drop the samples of weight 0; the others must know a true value of each target."""
    if weight is None or weight.min() > 0:
        return prediction, y, weight
    rows = weight > 0
    some = prediction.take(rows)
    return some, aligned(some, y[rows]), weight[rows]


def gaussian_of(prediction: Gaussian | Quantiles, level: float) -> Gaussian:
    """Return a Gaussian as it is, and quantiles as the Gaussian of their interval at ``level``."""
    return prediction if isinstance(prediction, Gaussian) else prediction.to_gaussian(level)


def standardized(residual: FloatArray, variance: FloatArray) -> FloatArray:
    """Return residuals over predicted standard deviations, both of shape (samples, targets)."""
    if not variance.min() > 0:
        _, where = position(variance <= 0, _AXES)
        raise InvalidValueError(
            f"the predicted variance{where} is 0, so that its residual has no unit; add a floor to "
            "the variances, or leave out samples that were predicted without uncertainty"
        )
    with np.errstate(over="ignore"):
        scaled = residual / np.sqrt(variance)
    far = np.abs(scaled) > LARGEST  # NaN where the true value is missing
    if far.any():
        index, where = position(far, _AXES)
        raise InvalidValueError(
            f"the standardized residual{where} is {scaled[index]:g}: the predicted variance is "
            "close to 0; add a floor to the variances"
        )
    return scaled
