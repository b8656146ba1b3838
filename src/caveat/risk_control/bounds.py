"""Tests of an error rate or a mean loss, valid at every sample size."""

import math

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

# Tail probabilities that equal their level within rounding error pass.
_ROUNDING = 1e-9


def minimum_units(risk: float, level: float) -> int:
    """Return how many accepted samples without an error show that the rate is below ``risk``.

    The smallest n with (1 - risk)^n <= level.
    """
    return math.ceil(math.log(level) / math.log1p(-risk) - _ROUNDING)


def at_most(p: FloatArray, level: FloatArray | float) -> NDArray[np.bool_]:
    """Return where p-values are at most their level, within rounding error."""
    return np.asarray(p <= np.asarray(level) * (1 + _ROUNDING))


def binomial_p(
    errors: NDArray[np.intp], accepted: NDArray[np.intp], risk: float | FloatArray
) -> FloatArray:
    """Return the probability of this many errors or fewer at the rate ``risk``; 1 for no sample."""
    from scipy.special import bdtr

    return np.where(accepted > 0, bdtr(errors, np.maximum(accepted, 1), risk), 1.0)


def binomial_upper(
    errors: NDArray[np.intp], accepted: NDArray[np.intp], level: FloatArray | float
) -> FloatArray:
    """Return the upper Clopper-Pearson limit of the error rate at confidence 1 - level."""
    from scipy.special import betaincinv

    correct = accepted - errors
    limit = betaincinv(errors + 1.0, np.maximum(correct, 1.0), 1 - np.asarray(level))
    # Without any correct sample every rate up to 1 is possible.
    return np.where(correct > 0, limit, 1.0)


def binomial_units(rate: FloatArray, risk: float, level: float) -> FloatArray:
    """Return about how many accepted samples show that a rate is below ``risk``.

    It is the smallest number at which the expected number of errors passes the test; infinity if
    the rate is not below the risk.
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


def hoeffding_bentkus_p(mean: FloatArray, units: int, risk: float) -> FloatArray:
    r"""Return a p-value of a mean loss above ``risk``, for losses from 0 to 1.

    The smaller of Hoeffding's :math:`\exp(-n\, h(\min(\hat R, r), r))`, with
    :math:`h(a, b) = a \log(a / b) + (1 - a) \log((1 - a) / (1 - b))`, and of Bentkus's
    :math:`e\, P(\mathrm{Bin}(n, r) \le \lceil n \hat R \rceil)`.
    """
    from scipy.special import bdtr, rel_entr

    below = np.minimum(mean, risk)
    divergence = rel_entr(below, risk) + rel_entr(1 - below, 1 - risk)
    whole = np.ceil(units * mean * (1 - _ROUNDING))
    bentkus = np.e * bdtr(whole, units, risk)
    return np.minimum(np.minimum(np.exp(-units * divergence), bentkus), 1.0)


def stakes(risk: float, level: float, units: int) -> FloatArray:
    """Return the bets to place against an error rate of ``risk`` or more.

    Each is half of the one before. The largest loses everything on a unit that is entirely wrong;
    the smallest is about optimal if the rate is just low enough to be shown with this many units.
    """
    largest = (1 - 1e-6) / (1 - risk)
    smallest = math.sqrt(2 * math.log(1 / level) / (units * risk * (1 - risk)))
    halves = max(round(math.log2(largest / smallest)), 0)
    return largest * 0.5 ** np.arange(halves + 1, dtype=float)


def betting_p(
    excess: FloatArray, unit: NDArray[np.intp], risk: float, level: float, units: int
) -> FloatArray:
    r"""Return a p-value after each sample, from the capital of bets on whole units.

    The excess :math:`Z_c \in [-\text{risk}, 1 - \text{risk}]` of unit c is the sum over its samples
    so far. If its mean is 0 or more, no bet :math:`1 - \lambda Z_c` wins on average. The capital
    :math:`K = \operatorname{mean}_\lambda \prod_c (1 - \lambda Z_c)` starts at 1 and reaches 1 / p
    with a probability of at most p.
    """
    from scipy.special import logsumexp

    bets = stakes(risk, level, units)[:, None]
    order = np.argsort(unit, kind="stable")
    starts = np.diff(unit[order], prepend=-1) > 0
    total = np.cumsum(excess[order])
    before = (total - excess[order])[starts]
    gains = np.log1p(-bets * (total - before[unit[order]]))
    # Each sample adds to the log capital the gain of its unit minus the gain before.
    previous = np.roll(gains, 1, axis=1)
    previous[:, starts] = 0.0
    added = np.empty(gains.shape)
    added[:, order] = gains - previous
    capital = np.cumsum(added, axis=1)
    return np.minimum(np.exp(np.log(len(bets)) - logsumexp(capital, axis=0)), 1.0)
