"""Finite-sample quantiles of conformal scores, and the margins of intervals that follow.

This is the only place that turns a coverage into a rank. Ranks are computed with fractions, since
ceil((n + 1) * coverage) in floating point is one too many for some coverages and sizes.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_finite, check_integer
from ..exceptions import InvalidValueError, OptionError

_ROUNDING = Fraction(1, 10**15)
_LARGE, _SAMPLE = 50_000, 4_000


def as_fraction(coverage: float | Fraction) -> Fraction:
    """Return the simple fraction that a float stands for: 9/10 for 0.9, and for 1 - 0.1."""
    exact = Fraction(coverage)
    simple = exact.limit_denominator(10**6)
    return simple if abs(simple - exact) < _ROUNDING else exact


def minimum_samples(coverage: float | Fraction) -> int:
    """Return the smallest number of scores whose conformal quantile at ``coverage`` is finite."""
    level = as_fraction(coverage)
    return math.ceil(level / (1 - level))


def conformal_quantile(
    scores: FloatArray, coverage: float | Fraction, weight: FloatArray | None = None
) -> FloatArray:
    r"""Return the k-th smallest score of each column, :math:`k = \lceil (n + 1) c \rceil`.

    A new score that is exchangeable with the n given ones is at most this with a probability of at
    least c, and of at most c + 1 / (n + 1) where scores do not tie. Where k is above n, only
    infinity is at least as large with that probability, whatever the distribution.

    Parameters
    ----------
    scores : ndarray of shape (samples, columns)
        No NaN. Infinite scores are allowed.
    coverage : float or Fraction
        c, strictly between 0 and 1.
    weight : ndarray of shape (samples,), optional
        How often each score counts; n is their sum.
    """
    level = as_fraction(coverage)
    if np.isnan(scores).any():
        first = int(np.argmax(np.isnan(scores).any(axis=1)))
        raise InvalidValueError(f"the conformal score of sample {first} is nan")
    if too_few(len(scores), level, weight):
        return np.full(scores.shape[1], np.inf)
    rank = level * (_total(len(scores), weight) + 1)
    columns = np.ascontiguousarray(scores.T)
    return np.array([values_at_ranks(column, [rank], weight)[0] for column in columns])


def too_few(
    samples: int, coverage: float | Fraction, weight: FloatArray | None = None
) -> str | None:
    """Return a message if too few samples make a conformal quantile infinite, else None."""
    level, total = as_fraction(coverage), _total(samples, weight)
    if level * (total + 1) <= total:
        return None
    return f"{float(total):g} calibration samples, at least {minimum_samples(level)} are needed"


def values_at_ranks(
    column: FloatArray, ranks: Sequence[Fraction], weight: FloatArray | None
) -> FloatArray:
    """Return the smallest values at or below which each rank's worth of weight lies."""
    if weight is None:
        places = [math.ceil(rank) - 1 for rank in ranks]
        if len(places) == 1:
            return np.array([_select(column, places[0])])
        return np.partition(column, places)[places]
    # The weights break ties, so that not even the rounding of the sum depends on the row order.
    order = np.lexsort((weight, column))
    reached = np.cumsum(weight[order])
    whole = bool((weight == np.rint(weight)).all())
    wanted = [math.ceil(rank) if whole else float(rank) * (1 - 1e-12) for rank in ranks]
    last = np.minimum(np.searchsorted(reached, wanted), len(column) - 1)
    return column[order[last]]


def _select(column: FloatArray, place: int) -> float:
    """Return the value at ``place`` in sorted order, several times faster than a full partition.

    A regular sample says between which two values the result most likely is; counting what is below
    them shows whether it is. Only what is between them is partitioned.
    """
    length = len(column)
    if length > _LARGE:
        sample = np.sort(column[:: length // _SAMPLE])
        middle = place * len(sample) // length
        reach = 2 * math.isqrt(len(sample))  # at least four standard deviations of that rank
        low, high = sample[max(0, middle - reach)], sample[min(len(sample) - 1, middle + reach)]
        inside = column[(column >= low) & (column <= high)]
        below = int(np.count_nonzero(column < low))
        if below <= place < below + len(inside):
            column, place = inside, place - below
    return float(np.partition(column, place)[place])


def learn_margins(
    scores: Sequence[FloatArray],
    weight: FloatArray | None,
    coverage: float,
    *,
    spread: FloatArray | None = None,
    bins: int | None = None,
    joint: bool | str = False,
    sizes: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Return the edges between bins of spread, and what to add to either end in each bin.

    Parameters
    ----------
    scores : sequence of ndarrays of shape (samples, targets)
        One for both sides, or one for the lower and one for the upper end. Then each takes half of
        the miscoverage.
    weight : ndarray of shape (samples,), optional
    coverage : float
    spread : ndarray of shape (samples, targets), optional
        What the bins are made of; needed with ``bins``.
    bins : int, optional
    joint : bool or "copula", default=False
        Cover all targets at once by one factor for all of them, or by one rank.
    sizes : ndarray of shape (samples, targets), optional
        Not negative; their median is the unit of each target's scores where ``joint``.

    Returns
    -------
    edges : ndarray of shape (targets, bins - 1), or (1, bins - 1) where ``joint``
        The upper ends of all bins but the last; infinite where ties left fewer bins.
    margins : ndarray of shape (bins, targets, sides)
        Infinite where there are too few samples.
    few : tuple of str
        Where that is, and how many are needed.
    """
    targets, sides = scores[0].shape[1], len(scores)
    level = as_fraction(coverage) if sides == 1 else (1 + as_fraction(coverage)) / 2
    units = [slice(0, targets)] if joint else [slice(t, t + 1) for t in range(targets)]
    margins = np.full((bins or 1, targets, sides), np.inf)
    edges = np.full((len(units), (bins or 1) - 1), np.inf)
    few: dict[str, None] = {}  # in their order, each once
    for i, unit in enumerate(units):
        # Samples without a true value, or for a joint promise without all of them, are left out.
        known = ~np.isnan(scores[0][:, unit]).any(axis=1)
        mine = None if weight is None else weight[known]
        ends, rows_of_bins = _bins(None if spread is None else spread[known, unit], bins, mine)
        edges[i, : len(ends)] = ends
        for code, chosen in enumerate(rows_of_bins):
            rows = np.flatnonzero(known)[chosen]
            size = None if sizes is None else sizes[rows, unit]
            count = None if weight is None else weight[rows]
            words = too_few(len(rows), level, count)
            if words is not None:
                place = "" if bins is None else f"bin {code} of {len(rows_of_bins)}: "
                few[place + words] = None
            for side in range(sides):
                score = scores[side][rows, unit]
                margins[code, unit, side] = (
                    _copula_box(score, level, count)
                    if joint == "copula"
                    else _box(score, size, level, count)
                )
            if words is None and np.isinf(margins[code, unit]).any():
                few[
                    f"{len(scores[0][rows])} calibration samples are too few for the ranks of "
                    f"{targets} targets; joint=True needs fewer"
                ] = None
    return edges, margins, tuple(few)


def margins_of(spread: FloatArray | None, edges: FloatArray, margins: FloatArray) -> FloatArray:
    """Return the margins of each sample, (samples or 1, targets, sides)."""
    if spread is None or len(margins) == 1:
        return margins[:1]
    if len(edges) == 1:
        spread = _one_spread(spread)[:, None]
    codes = np.stack(
        [np.searchsorted(ends, column) for ends, column in zip(edges, spread.T, strict=True)],
        axis=1,
    )
    return margins[codes, np.arange(margins.shape[1])]


def check_bins(bins: Any) -> int | None:
    """Return a number of bins of at least 1, or None."""
    return None if bins is None else check_integer(bins, "bins")


def check_joint(joint: Any) -> None:
    """Raise unless ``joint`` is True, False or "copula"."""
    if not isinstance(joint, bool | np.bool_) and not (
        isinstance(joint, str) and joint == "copula"
    ):
        raise OptionError(f"joint must be True, False or 'copula'; got {joint!r}")


def _box(
    scores: FloatArray, sizes: FloatArray | None, level: Fraction, weight: FloatArray | None
) -> FloatArray:
    """Return the margins (targets,) within which all scores of a sample are with that chance."""
    check_finite(scores, "the conformal score", ("sample", "target"))
    if scores.shape[1] == 1 or too_few(len(scores), level, weight):
        return conformal_quantile(scores, level, weight)
    if sizes is None:
        return conformal_quantile(scores.max(axis=1, keepdims=True), level, weight)
    low, high = _median_bounds(sizes, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(scores > 0, scores / low, scores / high)
    ratios[scores == 0] = 0
    factor = conformal_quantile(ratios.max(axis=1, keepdims=True), level, weight)
    if np.isinf(factor[0]):
        raise InvalidValueError(
            f"joint=True measures the scores of target number {int(np.argmin(low))} by a median "
            "that is 0 here; use joint=False, or normalize=True where there is that argument"
        )
    return factor * (high if factor[0] >= 0 else low)


def _copula_box(scores: FloatArray, level: Fraction, weight: FloatArray | None) -> FloatArray:
    """Return margins (targets,) of equal rank within which all scores of a sample are.

    The score of a sample is the largest of the ranks of its targets (the diagonal of the empirical
    copula), which has no unit. One more sample moves a rank by one at most.
    """
    check_finite(scores, "the conformal score", ("sample", "target"))
    if scores.shape[1] == 1 or too_few(len(scores), level, weight):
        return conformal_quantile(scores, level, weight)
    counts = np.ones(len(scores)) if weight is None else weight
    ranks = np.empty_like(scores)
    for column, rank in zip(scores.T, ranks.T, strict=True):
        order = np.argsort(column, kind="stable")
        reached = np.append(0.0, np.cumsum(counts[order]))
        rank[:] = reached[np.searchsorted(column[order], column, side="right")]
    largest = conformal_quantile(ranks.max(axis=1, keepdims=True), level, weight)[0] + 1
    if largest > float(_total(len(scores), weight)) * (1 + 1e-12):
        return np.full(scores.shape[1], np.inf)
    wanted = [as_fraction(largest)]
    return np.array([values_at_ranks(column, wanted, weight)[0] for column in scores.T])


def _median_bounds(sizes: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the median of each column that hold whatever one more row may contain.

    A unit must treat the new sample like the others, or the scores are no longer exchangeable.
    The median with the new sample is unknown, but lies between two neighbors in the order.
    """
    total = _total(len(sizes), weight)
    rank = (total + 2) // 2
    if rank < 2:
        return np.zeros(sizes.shape[1]), sizes.max(axis=0)
    ranks = [Fraction(rank - 1), Fraction(rank)]
    low, high = np.array([values_at_ranks(column, ranks, weight) for column in sizes.T]).T
    return low, high


def _bins(
    spread: FloatArray | None, bins: int | None, weight: FloatArray | None
) -> tuple[FloatArray, Sequence[slice | NDArray[np.bool_]]]:
    """Return the edges between bins that hold equally many samples, and the rows in each bin."""
    if bins is None or spread is None:
        return np.empty(0), [slice(None)]
    width = _one_spread(spread)
    total = _total(len(width), weight)
    ranks = [total * i / bins for i in range(1, bins)]
    ends = np.unique(values_at_ranks(width, ranks, weight)) if ranks else np.empty(0)
    ends = ends[ends < width.max()]  # above the largest there is no sample to learn from
    codes = np.searchsorted(ends, width)
    return ends, [codes == code for code in range(len(ends) + 1)]


def _one_spread(spread: FloatArray) -> FloatArray:
    """Return one spread for each sample: the geometric mean, which no change of units reorders."""
    if spread.shape[1] == 1:
        return spread[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(np.log(spread).mean(axis=1))


def _total(samples: int, weight: FloatArray | None) -> Fraction:
    return Fraction(samples if weight is None else math.fsum(weight))
