"""The receiver operating characteristic (ROC) and its statistics."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from ..batch import Batch
from ..sums import Part, over, split

CurveStatistic = Callable[[FloatArray, FloatArray], FloatArray]
"""Takes the negatives and positives at or above each score, highest first, (..., scores)."""

_TINY = float(np.finfo(np.float64).tiny)
# Tolerance for the rounding of sums of weights.
_ROUNDING = 1e-12


def roc_points(
    positive: NDArray[np.bool_],
    score: FloatArray,
    weight: FloatArray | None = None,
    order_of: Callable[[FloatArray], NDArray[np.intp]] = np.argsort,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct scores in decreasing order, and the negatives and positives at or above.

    These are counts, or sums of weights; samples of weight 0 are ignored.
    """
    if weight is not None and not weight.min() > 0:
        counted = weight > 0
        positive, score, weight = positive[counted], score[counted], weight[counted]
    if weight is None and order_of is np.argsort and score.min() >= 0:
        threshold, hit = _sorted_together(score, positive)
    else:
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


def _sorted_together(
    score: FloatArray, positive: NDArray[np.bool_]
) -> tuple[FloatArray, NDArray[Any]]:
    """Return scores that are not negative, highest first, and which of them are positive.

    Such scores are in the order of their bits, of which the first is 0 and so free for the label;
    sorting values is faster than sorting positions.
    """
    bits = (score + 0.0).view(np.uint64)  # a negative zero equals zero but has other bits
    bits <<= np.uint64(1)
    bits |= positive
    bits.sort()
    bits = bits[::-1]
    hit = bits & np.uint64(1)
    return (bits >> np.uint64(1)).view(np.float64), hit


def roc_part(
    batch: Batch,
    positive: NDArray[np.bool_],
    key: Callable[[], FloatArray],
    name: Any,
    statistic: CurveStatistic,
    *,
    bounded: bool = False,
) -> Part:
    """Return sums of negatives and positives over cells that are fine among both.

    They are reduced to the statistic and the weight of the positives: (..., 2). The key is computed
    when it is needed.
    """

    def matrix() -> Any:
        cells = batch.cells(key(), name, dense=positive, bounded=bounded)
        index = cells.index + np.where(positive, cells.number, 0)
        return batch.matrix(index, 2 * cells.number, [None])

    def reduce(sums: FloatArray) -> FloatArray:
        counts = split(sums, sums.shape[1] // 2)[:, :, ::-1]
        false, true = np.moveaxis(np.cumsum(counts, axis=2), 1, 0)
        return np.stack([statistic(false, true), true[:, -1]], axis=1)

    return Part(matrix, reduce, ordered=2)


def area_of(false: FloatArray, true: FloatArray) -> FloatArray:
    """How often a positive scores above a negative; ties count half. NaN if one is missing."""
    # Each step to the right adds the positives above it, and half of those it ties with.
    steps = np.einsum("...k,...k->...", np.diff(false, axis=-1), true[..., 1:] + true[..., :-1])
    doubled = false[..., 0] * true[..., 0] + steps
    with np.errstate(invalid="ignore"):
        return np.asarray(doubled / (2 * false[..., -1] * true[..., -1]))


def precision_of(false: FloatArray, true: FloatArray) -> FloatArray:
    """The precision at each score, averaged over the positives that it adds; NaN without any."""
    above = false + true
    np.maximum(above, _TINY, out=above)  # nothing is above the first of some cells
    precision = np.divide(true, above, out=above)
    added = np.einsum("...k,...k->...", np.diff(true, axis=-1, prepend=0.0), precision)
    with np.errstate(invalid="ignore"):
        return np.asarray(added / true[..., -1])


def false_where_true(rate: float, within: bool, false: FloatArray, true: FloatArray) -> FloatArray:
    """Return the rate of negatives where the rate of positives reaches ``rate``.

    At the score that reaches it or, ``within`` a coarse cell, on the line that ends there: steps as
    large as a cell could exceed the differences between resamples.
    """
    false, true = _rates(false, true)
    reached = np.argmax(true >= rate - _ROUNDING, axis=-1)
    return _between(false, true, reached, rate) if within else _at(false, reached)


def true_where_false(rate: float, within: bool, false: FloatArray, true: FloatArray) -> FloatArray:
    """Return the rate of positives where that of negatives is at most ``rate``."""
    false, true = _rates(false, true)
    last = np.count_nonzero(1 - false >= 1 - rate - _ROUNDING, axis=-1) - 1
    if not within:
        return _at(true, last)
    return _between(true, false, np.minimum(last + 1, false.shape[-1] - 1), rate)


def _rates(false: FloatArray, true: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rates above each score, from 0; all NaN if negatives or positives are missing."""
    either = np.where((false[..., -1:] > 0) & (true[..., -1:] > 0), 1.0, np.nan)
    start = [(0, 0)] * (false.ndim - 1) + [(1, 0)]
    above, hit = (np.pad(over(part, part[..., -1:]), start) for part in (false, true))
    return above * either, hit * either


def _between(
    values: FloatArray, along: FloatArray, place: NDArray[np.intp], rate: float
) -> FloatArray:
    """Return the values where ``along`` passes a rate, on the line that ends at a place."""
    before = np.maximum(place - 1, 0)
    start, end = _at(along, before), _at(along, place)
    share = np.clip(over(rate - start, end - start), 0.0, 1.0)
    return _at(values, before) + share * (_at(values, place) - _at(values, before))


def _at(curve: FloatArray, place: NDArray[np.intp]) -> FloatArray:
    return np.take_along_axis(curve, np.asarray(place)[..., None], axis=-1)[..., 0]
