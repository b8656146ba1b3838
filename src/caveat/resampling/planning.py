"""How many samples a question needs that an interval leaves open."""

from collections.abc import Callable

import numpy as np

from .spread import score

POWER = 0.8
"""The share of repetitions in which the planned number of samples decides."""

_MOST = 1e6
"""A larger factor is never reached in practice: the value is at the threshold."""


def samples_factor(
    interval: tuple[float, float, float],
    decided: Callable[[float, float], bool],
    limit: float,
    unsure: float = 0.5,
) -> float:
    r"""Return by which factor the samples must grow until their interval decides a question.

    Widths fall as :math:`1/\sqrt{n}`. An interval that only just decides would do so in half of the
    repetitions, as its center varies; it must decide from ``1 + z / limit`` times the width, where
    z is the normal quantile of `POWER`. The estimate is itself unsure: the factor is the largest
    over the middle of the interval, in which the truth is with a chance of ``unsure``.

    Parameters
    ----------
    interval : tuple of float
        Lower end, estimate and upper end.
    decided : callable
        Whether two ends decide. A narrower interval around the same estimate decides if a wider one
        does.
    limit : float
        The half width of the interval in standard errors: 1.96 for 95 %.
    unsure : float, default=0.5
        0 takes the estimate as true.

    Returns
    -------
    float
        At least 1; infinite if the estimate may be at a threshold without tolerance.

    Examples
    --------
    >>> factor = samples_factor((-0.1, 0.0, 0.1), lambda low, high: high < 0.05, 1.96)
    >>> round(factor, 1)  # the estimate may be 0.034 too low
    84.1
    """
    low, center, high = interval
    likely = score(unsure) / limit
    return max(
        _factor(center + move, (center - low, high - center), decided, limit)
        for move in np.r_[
            np.linspace(-likely, 0, 5) * (center - low), np.linspace(0, likely, 5) * (high - center)
        ]
    )


def _factor(
    center: float,
    widths: tuple[float, float],
    decided: Callable[[float, float], bool],
    limit: float,
) -> float:
    """Return the factor if the estimate is true."""
    margin = 1 + score(2 * POWER - 1) / limit
    least, most = margin / np.sqrt(_MOST), margin

    def decides(width: float) -> bool:
        return decided(center - width * widths[0], center + width * widths[1])

    if decides(most):
        return 1.0
    if not decides(least):
        return np.inf
    for _ in range(40):
        middle = float(np.sqrt(least * most))
        least, most = (middle, most) if decides(middle) else (least, middle)
    return float((margin / least) ** 2)


def rounded_up(number: float) -> int:
    """Return a number of samples with two significant digits, rounded up."""
    unit = 10 ** max(len(str(int(np.ceil(number)))) - 2, 0)
    return int(np.ceil(number / unit)) * unit
