"""A distribution for an interval: a kernel density estimate of points between its ends."""

from math import sqrt

import numpy as np
from scipy.special import ndtr

from .._validation import FloatArray, check_integer

SAMPLES = 100
"""Points between the ends, of which the bandwidth follows."""


def bandwidth(samples: int) -> float:
    """Return Scott's bandwidth for so many points between 0 and 1, times their spread."""
    return float(check_integer(samples, "samples", 2) ** (-1 / 5) / sqrt(12))


def unit_cdf(x: FloatArray, width: float) -> FloatArray:
    r"""Return the mean over u from 0 to 1 of :math:`\Phi((x - u) / h)`: the density's CDF."""
    return width * (_integral(x / width) - _integral((x - 1) / width))


def unit_quantiles(levels: FloatArray, width: float) -> FloatArray:
    """Return the quantiles of the density for the interval from 0 to 1, by halving."""
    low, high = np.full(len(levels), -40 * width), np.full(len(levels), 1 + 40 * width)
    for _ in range(100):
        middle = (low + high) / 2
        below = unit_cdf(middle, width) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def _integral(z: FloatArray) -> FloatArray:
    """Return the integral of the Gaussian CDF up to z."""
    return np.asarray(z * ndtr(z) + np.exp(-(z**2) / 2) / sqrt(2 * np.pi))
