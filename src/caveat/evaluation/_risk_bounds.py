"""Tests of an error rate among accepted samples, valid at every sample size."""

import math

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

# Equality of a tail probability and its level is decided by their exact values, not by rounding.
_ROUNDING = 1e-9


def minimum_units(risk: float, level: float) -> int:
    """Return how many accepted samples show, without one error, that the rate is below ``risk``.

    The smallest n with (1 - risk)^n <= level.
    """
    return math.ceil(math.log(level) / math.log1p(-risk) - _ROUNDING)


def at_most(p: FloatArray, level: FloatArray | float) -> NDArray[np.bool_]:
    """Return where p-values reach their level, whatever the rounding."""
    return np.asarray(p <= np.asarray(level) * (1 + _ROUNDING))


def binomial_p(
    errors: NDArray[np.intp], accepted: NDArray[np.intp], risk: float | FloatArray
) -> FloatArray:
    """Return the probability of so few errors or fewer, were the rate ``risk``; 1 of none."""
    from scipy.special import bdtr

    return np.where(accepted > 0, bdtr(errors, np.maximum(accepted, 1), risk), 1.0)


def binomial_upper(
    errors: NDArray[np.intp], accepted: NDArray[np.intp], level: FloatArray | float
) -> FloatArray:
    """Return the upper Clopper-Pearson limit of the error rate at confidence 1 - level."""
    from scipy.special import betaincinv

    correct = accepted - errors
    limit = betaincinv(errors + 1.0, np.maximum(correct, 1.0), 1 - np.asarray(level))
    # With no sample that is right (none accepted included) every rate up to 1 is possible.
    return np.where(correct > 0, limit, 1.0)


def binomial_units(rate: FloatArray, risk: float, level: float) -> FloatArray:
    """Return about how many accepted samples show that a rate is below ``risk``.

    The smallest number for which as many errors as expected pass the test; infinity where the rate
    is not below the risk.
    """
    from scipy.special import betainc

    below = rate < risk
    seen = np.where(below, rate, 0.0)
    low, high = np.zeros(len(rate)), np.full(len(rate), 40.0)  # powers of two
    for _ in range(40):
        middle = (low + high) / 2
        n = 2.0**middle
        # The binomial distribution function, with a number of errors that need not be whole.
        p = betainc(n * (1 - seen), n * seen + 1, 1 - risk)
        enough = p <= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(below, np.ceil(2.0**high * (1 - _ROUNDING)), np.inf)


def stakes(risk: float, level: float, units: int) -> FloatArray:
    """Return which bets to place against an error rate of ``risk`` or more.

    Each is half of the one before. The largest loses all with a unit that is wrong throughout; the
    smallest is about the best one if the rate is just low enough to be shown with so many units.
    """
    largest = (1 - 1e-6) / (1 - risk)
    smallest = math.sqrt(2 * math.log(1 / level) / (units * risk * (1 - risk)))
    halves = max(round(math.log2(largest / smallest)), 0)
    return largest * 0.5 ** np.arange(halves + 1, dtype=float)


def betting_p(
    excess: FloatArray, unit: NDArray[np.intp], risk: float, level: float, units: int
) -> FloatArray:
    r"""Return a p-value after each sample, from the capital of bets on whole units.

    Unit c has the excess :math:`Z_c \in [-\text{risk}, 1 - \text{risk}]`, the sum of those of its
    samples so far. Were its mean 0 or more, no bet :math:`1 - \lambda Z_c` could be expected to win
    and the capital :math:`K = \operatorname{mean}_\lambda \prod_c (1 - \lambda Z_c)`, 1 at first,
    would reach 1 / p with a probability of at most p.

    Parameters
    ----------
    excess : ndarray of shape (samples,)
        What each sample adds to the excess of its unit.
    unit : ndarray of shape (samples,)
        The unit of each sample, from 0 on.
    risk, level : float
    units : int
        How many units there are.
    """
    from scipy.special import logsumexp

    bets = stakes(risk, level, units)[:, None]
    order = np.argsort(unit, kind="stable")
    starts = np.diff(unit[order], prepend=-1) > 0
    total = np.cumsum(excess[order])
    before = (total - excess[order])[starts]
    gains = np.log1p(-bets * (total - before[unit[order]]))
    # What each sample adds to the logarithm of the capital: the gain of its unit, less that before.
    previous = np.roll(gains, 1, axis=1)
    previous[:, starts] = 0.0
    added = np.empty(gains.shape)
    added[:, order] = gains - previous
    capital = np.cumsum(added, axis=1)
    return np.minimum(np.exp(np.log(len(bets)) - logsumexp(capital, axis=0)), 1.0)
