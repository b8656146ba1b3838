"""The receiver operating characteristic and what is read off it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from .order import increasing_order

Points = tuple[FloatArray, FloatArray, FloatArray]


def roc_points(
    positive: NDArray[np.bool_],
    score: FloatArray,
    weight: FloatArray | None = None,
    order_of: Callable[[FloatArray], NDArray[np.intp]] = increasing_order,
) -> Points:
    """Return the distinct scores in decreasing order, and the negatives and positives at or above.

    These are counts, or sums of weights; a sample of weight 0 is as good as absent.
    """
    if weight is not None and not weight.min() > 0:
        counted = weight > 0
        positive, score, weight = positive[counted], score[counted], weight[counted]
    order = order_of(score)[::-1]
    threshold, hit = score[order], positive[order]
    if weight is None:
        true = np.cumsum(hit).astype(np.float64)
        false = np.arange(1.0, len(hit) + 1)
        false -= true
    else:
        ordered = weight[order]
        true = np.cumsum(np.where(hit, ordered, 0.0))
        false = np.cumsum(np.where(hit, 0.0, ordered))
    last = np.append(np.flatnonzero(threshold[1:] != threshold[:-1]), len(hit) - 1)
    if len(last) < len(hit):
        threshold, false, true = threshold[last], false[last], true[last]
    return threshold, false, true


def area_under_roc(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray | None = None
) -> float:
    """Return how often a positive scores above a negative; ties count half.

    NaN where there are only positives or only negatives.
    """
    return area_of(roc_points(positive, score, weight))


def average_precision(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray | None = None
) -> float:
    """Return the precision at each threshold, averaged over the positives that it adds.

    NaN where there are no positives.
    """
    return precision_of(roc_points(positive, score, weight))


def area_of(points: Points) -> float:
    """Return the area under the curve through these points."""
    _, false, true = points
    if not (false[-1] > 0 and true[-1] > 0):
        return float("nan")
    # By powers of two, so that counts stay exact and products of huge or tiny weights fit.
    false, true = (np.ldexp(sums, -np.frexp(sums[-1])[1]) for sums in (false, true))
    # Each step to the right adds the positives above it, and half of those it ties with.
    doubled = false[0] * true[0] + np.dot(np.diff(false), true[1:] + true[:-1])
    return float(doubled / (2 * false[-1] * true[-1]))


def precision_of(points: Points) -> float:
    """Return the average precision at these points."""
    _, false, true = points
    if not true[-1] > 0:
        return float("nan")
    added = np.diff(true, prepend=0.0)
    return float(np.dot(added, true / (false + true)) / true[-1])
