"""Upper bounds on an error rate among accepted samples, valid at every sample size."""

import math

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

Flags = NDArray[np.bool_]

# Equality of a tail probability and its level is decided by their exact values, not by rounding.
_ROUNDING = 1e-9


def minimum_units(risk: float, confidence: float) -> int:
    """Return how many accepted samples show, without one error, that the rate is below ``risk``.

    The smallest n with (1 - risk)^n <= 1 - confidence.
    """
    return math.ceil(math.log1p(-confidence) / math.log1p(-risk) - _ROUNDING)


def binomial_bound(
    errors: NDArray[np.intp], accepted: NDArray[np.intp], risk: float, confidence: float
) -> tuple[Flags, FloatArray]:
    """Test by the exact binomial distribution of the errors, given how many are accepted.

    Returns
    -------
    passed : ndarray of bool
        Where a rate of ``risk`` or more would give so few errors with a probability of at most
        1 - confidence.
    upper : ndarray of float
        The upper Clopper-Pearson limit, at most ``risk`` where passed.
    """
    from scipy.special import bdtr, betaincinv

    passed = bdtr(errors, accepted, risk) <= (1 - confidence) * (1 + _ROUNDING)
    correct = accepted - errors
    # With no sample that is right (none accepted included) every rate up to 1 is possible.
    upper = np.where(
        correct > 0, betaincinv(errors + 1.0, np.maximum(correct, 1.0), confidence), 1.0
    )
    return passed, np.where(passed, np.minimum(upper, risk), upper)
