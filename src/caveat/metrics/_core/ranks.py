"""Errors in the order of uncertainty: of the accepted samples, and Spearman's rank correlation."""

import numpy as np

from ..._validation import FloatArray
from ..sums import over
from .sharing import shared_order


def accepted(
    error: FloatArray, uncertainty: FloatArray, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct uncertainties, increasing, and the weight and error summed up to each."""
    if weight is not None and not weight.min() > 0:
        counted = weight > 0  # samples of weight 0 are ignored
        error, uncertainty, weight = error[counted], uncertainty[counted], weight[counted]
    order = shared_order(uncertainty)
    threshold, loss = uncertainty[order], error[order]
    if weight is None:
        mass = np.arange(1.0, len(order) + 1)
    else:
        ordered = weight[order]
        loss *= ordered
        mass = np.cumsum(ordered)
    np.cumsum(loss, out=loss)
    last = np.append(np.flatnonzero(threshold[1:] != threshold[:-1]), len(order) - 1)
    if len(last) == len(order):
        return threshold, mass, loss
    return threshold[last], mass[last], loss[last]


def area(mass: FloatArray, loss: FloatArray) -> float:
    """Return the mean over k = 1, ..., n of the expected error of the k least uncertain of n.

    ``mass`` counts samples: it holds whole numbers, of which the last is n.
    """
    count, slope = _lines(mass, loss)
    steps = int(mass[-1])
    if len(mass) < steps:
        loss = np.cumsum(np.repeat(slope, count.astype(np.intp)))
    return float(np.mean(loss / np.arange(1, steps + 1)))


def weighted_area(mass: FloatArray, loss: FloatArray) -> FloatArray:
    """Return `area` for weights that need not be whole numbers.

    On a line G(k) = i + s k from a to b, the sum of G(k) / k over k = a + 1, ..., b is
    s (b - a) + i (H(b) - H(a)) with the harmonic numbers H(k) = digamma(k + 1) + constant. The last
    axis is the groups of ties.
    """
    from scipy.special import digamma

    count, slope = _lines(mass, loss)
    intercept = loss - slope * mass
    harmonic = np.diff(digamma(mass + 1), prepend=digamma(1.0), axis=-1)
    total = (slope * count + intercept * harmonic).sum(axis=-1)
    return (
        np.maximum(total, 0.0) / mass[..., -1]
    )  # errors are not negative, so a negative sum is rounding


def _lines(mass: FloatArray, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the length and the slope of the straight line that each group of ties makes."""
    count = np.diff(mass, prepend=0.0, axis=-1)
    # A weight that is lost in the rounding of the sum adds no length.
    return count, over(np.diff(loss, prepend=0.0, axis=-1), count)


def rank_correlation(first: FloatArray, second: FloatArray, weight: FloatArray | None) -> float:
    """Return the correlation of the ranks; NaN where one of the two is constant."""
    if weight is not None and not weight.min() > 0:
        counted = weight > 0  # samples of weight 0 are ignored
        first, second, weight = first[counted], second[counted], weight[counted]
    a, b = _centered_ranks(first, weight), _centered_ranks(second, weight)
    weighted_a, weighted_b = (a, b) if weight is None else (weight * a, weight * b)
    spread = np.sqrt(np.dot(weighted_a, a)) * np.sqrt(np.dot(weighted_b, b))
    if not spread > 0:
        return float("nan")
    return float(np.clip(np.dot(weighted_a, b) / spread, -1, 1))


def _centered_ranks(key: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the weight below each key, less that above it, halved: the rank minus its mean."""
    order = shared_order(key)
    ordered = key[order]
    last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(order) - 1)
    ends = last + 1.0 if weight is None else np.cumsum(weight[order])[last]
    starts = np.append(0.0, ends[:-1])
    ranks = np.empty(len(key))
    ranks[order] = np.repeat((starts + ends - ends[-1]) / 2, np.diff(last, prepend=-1))
    return ranks
