"""Test inversion: the population values of a norm of gaps that a test does not reject."""

from collections.abc import Callable, Iterator

import numpy as np

from .._validation import FloatArray
from ..metrics.sums import Norm

_STEPS = 18
_SMALL_GAPS = (1.5, 2.5)
"""Gaps below these multiples of their noise are set to 0 in sparse directions."""

_COMPATIBLE = 0.99
_ITERATIONS = 20
_FAR = 1e290
_TINY = float(np.finfo(np.float64).tiny)


def invert(
    gaps: FloatArray, deviations: FloatArray, norm: Norm, confidence: float
) -> tuple[float, float, float]:
    """Return the low end, the median-unbiased estimate and the high end.

    ``deviations`` are (resamples, gaps); the norm increases with the length of the gaps.
    """
    observed = float(norm(gaps))
    if not observed > _TINY:
        return 0.0, 0.0, float(np.quantile(norm(deviations), confidence))
    tail = (1 - confidence) / 2
    deviations = np.asfortranarray(deviations)  # norms add few long columns, not many short rows
    estimate, lows, highs = 0.0, [], []
    for i, direction in enumerate(_directions(gaps, deviations)):
        size = float(norm(direction))
        if not size > _TINY:
            continue
        direction = direction / size
        share_below = _test(direction, deviations, norm, observed)
        low = _crossing(share_below, 1 - tail, observed)
        # The length that is rejected as too long, relative to noise alone: an error that is small
        # even for noise would reject every length, including 0, and leave an empty interval.
        # Dividing by the probability under noise alone can only widen the interval.
        at_zero = share_below(0.0)
        high = _crossing(share_below, tail * at_zero, observed) if at_zero > 0 else observed
        lows.append(float(norm(low * direction)))
        highs.append(float(norm(high * direction)))
        if i == 0:
            estimate = float(norm(_crossing(share_below, 0.5, observed) * direction))
    return min(lows), estimate, max(highs)


def _test(
    direction: FloatArray, deviations: FloatArray, norm: Norm, observed: float
) -> Callable[[float], float]:
    """Return the chance of a norm below the observed one, as a function of the length."""

    def share_below(length: float) -> float:
        values = norm(length * direction + deviations)
        below, equal = (np.count_nonzero(own) for own in (values < observed, values == observed))
        return (below + equal / 2) / len(values)

    return share_below


def _crossing(share_below: Callable[[float], float], share: float, start: float) -> float:
    """Return the length at which the falling share is passed; 0 if it starts below."""
    if share_below(0.0) < share:
        return 0.0
    low, high = 0.0, start
    while high < _FAR and share_below(high) >= share:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if share_below(middle) >= share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _directions(gaps: FloatArray, deviations: FloatArray) -> Iterator[FloatArray]:
    """Yield the gaps, then sparse and dense directions that the gaps do not contradict."""
    yield gaps
    noise = np.sqrt(np.mean(deviations**2, axis=0))
    noisy = noise > 0
    if not noisy.any():
        return
    ratio = np.divide(np.abs(gaps), noise, out=np.full(len(gaps), np.inf), where=noisy)
    ratio[(gaps == 0) & ~noisy] = 0.0
    known = gaps[noisy], noise[noisy]
    limit = float(np.quantile(((deviations[:, noisy] / noise[noisy]) ** 2).sum(1), _COMPATIBLE))
    sparse = [np.where(ratio >= min(least, ratio.max()), gaps, 0.0) for least in _SMALL_GAPS]
    dense = [np.sign(gaps) * noise, noise, _largest_mode(deviations)]
    # All gaps that may be the largest made equal: a maximum's worst case.
    size = np.abs(gaps)
    near = size + 2 * noise >= size.max()
    leveled = np.where(near, np.sign(gaps) * size[near].mean(), gaps)
    for direction in (*sparse, *dense, leveled):
        if direction.any() and _distance(direction[noisy], *known) <= limit:
            yield direction


def _largest_mode(deviations: FloatArray) -> FloatArray:
    """Return the direction in which the noise is largest, by power iteration."""
    deviations = deviations / (np.abs(deviations).max() or 1.0)  # products stay in range
    mode = deviations[int(np.argmax(np.square(deviations).sum(axis=1)))]
    for _ in range(_ITERATIONS):
        mode = (deviations @ mode) @ deviations
        mode = mode / (np.abs(mode).max() or 1.0)  # products of tiny numbers may all be 0
    return mode


def _distance(direction: FloatArray, gaps: FloatArray, noise: FloatArray) -> float:
    """Return the squared distance of the gaps from the nearest multiple of a direction."""
    # With almost no noise the distance may overflow, which is rejected all the same.
    with np.errstate(over="ignore", invalid="ignore"):
        along, observed = direction / noise, gaps / noise
        length = float(along @ observed) / max(float(along @ along), _TINY)
        return float(np.square(observed - length * along).sum())
