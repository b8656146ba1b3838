"""Sizes, p-values and judgments of changes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..resampling import ConfidenceInterval
from .effects import Effect
from .result import ChangeState, DriftRow

RARE = 0.1
"""A class with a smaller share than this is rare."""

FACTOR = 1.5
"""A change of a rare class's rate by this factor matters, however few points it is."""


def rare_limit(limit: float, rates: Sequence[float]) -> float:
    """Return the threshold of the difference of two rates of a class: at most `limit`."""
    if max(rates) > 1 - RARE:
        rates = [1 - rate for rate in rates]
    if min(rates) >= RARE or max(rates) <= 0:
        return limit
    return min(limit, max(rates) * (1 - 1 / FACTOR))


def size_of(change: float, interval: ConfidenceInterval) -> Effect:
    """Return the absolute size of a change, with its interval."""
    ends = abs(interval.low), abs(interval.high)
    if interval.low <= 0 <= interval.high:
        return Effect(abs(change), 0.0, max(ends))
    return Effect(abs(change), min(ends), max(ends))


def normal_p(change: float, interval: ConfidenceInterval, confidence: float) -> float:
    """Return the level at which an interval, widened as a normal one is, would reach 0."""
    from scipy.special import ndtr, ndtri

    distance = change - interval.low if change > 0 else interval.high - change
    if np.isnan(distance):
        return float("nan")
    if change == 0 or distance <= 0:
        return 1.0 if change == 0 else 0.0
    return float(2 * ndtr(-ndtri((1 + confidence) / 2) * abs(change) / distance))


def judged(rows: list[DriftRow], alpha: float) -> tuple[DriftRow, ...]:
    """Return the rows with adjusted p-values and judgments: all samples first."""
    result = []
    for overall in (True, False):
        some = [row for row in rows if row.overall is overall]
        adjusted = holm([row.p_value for row in some])
        for row, p in zip(some, adjusted, strict=True):
            state = ChangeState.TOO_FEW
            if p <= alpha and row.effect > row.threshold:
                state = ChangeState.CHANGED
            elif row.effect_high <= row.threshold:
                state = ChangeState.UNCHANGED
            result.append(replace(row, adjusted=p, state=state))
    return tuple(result)


def holm(p_values: list[float]) -> list[float]:
    """Return p-values that allow for all of them at once (Holm); NaN is not counted.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    p = np.array(p_values, dtype=np.float64)
    order = np.argsort(p)  # NaN last
    number = int(np.count_nonzero(~np.isnan(p)))
    result = np.full(len(p), np.nan)
    factors = np.arange(number, 0, -1)
    raised = np.minimum(np.maximum.accumulate(p[order[:number]] * factors), 1.0)
    result[order[:number]] = raised
    return [float(value) for value in result]
