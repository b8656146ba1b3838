"""Spearman's rank correlation; equal keys share the mean of their ranks."""

import numpy as np

from ..._validation import FloatArray
from .sharing import shared_order


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
