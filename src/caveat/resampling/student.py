"""Student's interval, and the standard error of a smooth function of means in every resample."""

from collections.abc import Callable

import numpy as np

from .._validation import FloatArray
from ..metrics.means import first_mean

__all__ = ["STUDENT", "first_errors", "products", "standard_errors", "student_interval"]

STUDENT = 1000
"""With up to this many units, the standard error of a mean is computed in each resample."""

_STEP = 1e-5


def products(sums: FloatArray) -> FloatArray:
    """Return the products of two sums of each unit, (units, sums x sums)."""
    return (sums[:, :, None] * sums[:, None, :]).reshape(len(sums), -1)


def standard_errors(
    sums: FloatArray,
    squares: FloatArray,
    finish: Callable[[FloatArray, FloatArray], FloatArray],
    units: int,
) -> FloatArray:
    """Return the standard error of a function of means, linear around them.

    ``sums`` is (resamples, 1 + scores), the weight first; ``squares`` are the sums over units of
    the products of two of them.
    """
    mass, means = sums[:, 0], sums[:, 1:] / sums[:, :1]
    second = squares.reshape(len(sums), sums.shape[1], sums.shape[1])
    mixed = second[:, :1, 1:]  # (resamples, 1, scores)
    column = means[:, :, None]
    covariance = (
        second[:, 1:, 1:]
        - column * mixed
        - np.swapaxes(mixed, 1, 2) * means[:, None, :]
        + column * means[:, None, :] * second[:, :1, :1]
    ) / np.square(mass)[:, None, None]
    slopes = np.empty_like(means)
    # Steps in proportion to the spread of the means, where the function is nearly linear.
    steps = _STEP * np.sqrt(np.maximum(np.einsum("rii->ri", covariance), 0.0))
    for i, step in enumerate(steps.T):
        aside = np.zeros_like(means)
        aside[:, i] = step
        rise = finish(means + aside, mass) - finish(means - aside, mass)
        slopes[:, i] = np.divide(rise, 2 * step, out=np.zeros(len(rise)), where=step > 0)
    variance = np.einsum("ri,rij,rj->r", slopes, covariance, slopes)
    return np.sqrt(np.maximum(variance, 0.0) * units / max(units - 1, 1))


def first_errors(
    below: FloatArray, above: FloatArray, counts: FloatArray, units: int
) -> FloatArray:
    """Return the standard error of a mean, sum over weight of units, in each resample."""
    sums = np.stack([below, above], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample may be empty
        return standard_errors(counts @ sums, counts @ products(sums), first_mean, units)


def student_interval(
    values: FloatArray, confidence: float, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float, float]:
    """Return the standard deviation of a few values and Student's interval of their mean.

    NaN with one value.

    Examples
    --------
    >>> import numpy as np
    >>> [round(number, 3) for number in student_interval(np.array([1.0, 2.0, 3.0]), 0.95)]
    [1.0, -0.484, 4.484]
    """
    from scipy.special import stdtrit

    repeats = len(values)
    if repeats < 2:
        return (float("nan"),) * 3
    std = float(values.std(ddof=1))
    half = float(stdtrit(repeats - 1, (1 + confidence) / 2)) * std / np.sqrt(repeats)
    low, high = np.clip([values.mean() - half, values.mean() + half], *bounds)
    return std, float(low), float(high)
