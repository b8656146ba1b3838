"""Conformal quantiles after a shift, and in groups that overlap.

Each function returns a threshold of scores for each new sample or class: the smallest one that
keeps the promise. Where none does, it is infinite.
"""

import math

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

_SLACK = 1e-12
"""Relative rounding error of sums of weights."""

_LARGE, _SAMPLE, _FEW_STEPS = 50_000, 4_000, 20
_LEFT = 1e-6
"""How far below the coverage the dual variable of the new sample is set, see `group_quantiles`."""
_MANY_ROWS, _ROWS_OF_EACH = 500, 10


def effective_samples(weight: FloatArray) -> float:
    """Return how many samples of equal weight have the variance of these weights (Kish)."""
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share @ share))


def worth_words(samples: float) -> str:
    """Return an effective number of samples with the digits that matter."""
    return f"{samples:.0f}" if samples >= 100 else f"{samples:.3g}"


def weighted_quantiles(
    scores: FloatArray, weight: FloatArray, level: float, new: FloatArray
) -> FloatArray:
    r"""Return for each new sample the weighted conformal quantile of the scores.

    With :math:`w_i` the weights and :math:`v` that of the new sample, it is the smallest score at
    or below which lies a weight of :math:`c (v + \sum_i w_i)`; infinite where not even all have it.

    Parameters
    ----------
    scores, weight : ndarrays of shape (samples,)
        Weights are above 0.
    level : float
    new : ndarray of shape (new samples,)
        Their weights, infinite ones included.
    """
    total = float(weight.sum())
    least, most = float(new.min()), float(new.max())
    low, high = level * (total + least), level * (total + most)
    if low * (1 - _SLACK) > total:
        return np.full(len(new), np.inf)
    points, reached = _between(scores, weight, low / total, min(high / total, 1.0), total)
    share = level * (1 - _SLACK)
    wanted = share * (total + new)
    ends = share * (total + np.array([least, most]))
    first, last = np.searchsorted(reached, ends)
    values = np.append(points[first:last], points[last] if last < len(points) else np.inf)
    if last - first > _FEW_STEPS:
        return values[np.searchsorted(reached[first:last], wanted)]
    places = np.zeros(len(new), dtype=np.uint8)
    for step in reached[first:last]:  # faster than a search of so few
        places += wanted > step
    return values[places]


def _between(
    scores: FloatArray, weight: FloatArray, low: float, high: float, total: float
) -> tuple[FloatArray, FloatArray]:
    """Return scores in order that hold all quantiles between two shares, and the weight up to each.

    All calibration weights together outweigh a new one, so that the shares are close to each other:
    as in a selection, a regular sample says between which scores they most likely are, and only
    these are sorted.
    """
    below = 0.0
    if len(scores) > _LARGE:
        step = len(scores) // _SAMPLE
        order = np.argsort(scores[::step])
        sample, share = scores[::step][order], np.cumsum(weight[::step][order])
        share /= share[-1]
        # The error of a weighted share at n samples is below 1 / sqrt(4 n) for equal weights.
        margin = 2 / math.sqrt(effective_samples(weight[::step]))
        ends = np.searchsorted(share, [low - margin, high + margin])
        first = sample[ends[0]] if low > margin else -np.inf
        last = sample[ends[1]] if ends[1] < len(sample) else np.inf
        above = np.flatnonzero(scores >= first)
        part, its_weight = scores[above], weight[above]
        under = total - float(its_weight.sum()) if len(above) < len(scores) else 0.0
        kept = np.flatnonzero(part <= last)
        if under < low * total * (1 - _SLACK) and (
            np.isinf(last) or under + its_weight[kept].sum() >= high * total
        ):
            below, scores, weight = under, part[kept], its_weight[kept]
    order = np.argsort(scores)
    reached = below + np.cumsum(weight[order])
    return scores[order], reached


def label_shift_quantiles(
    scores: FloatArray,
    codes: NDArray[np.intp],
    weight: FloatArray | None,
    level: float,
    bounds: FloatArray,
) -> FloatArray:
    r"""Return the threshold of each class that holds for all class weights between two bounds.

    A threshold :math:`q` for class :math:`k` serves the weights :math:`w` if
    :math:`\sum_j w_j (A_j(q) - c n_j - c [j = k]) \ge 0`, with :math:`A_j(q)` of the :math:`n_j`
    scores of class :math:`j` at most :math:`q`. That is linear in :math:`w`, so that its least
    value in a box takes the lower or the upper bound of each class by the sign of its factor.

    Parameters
    ----------
    scores : ndarray of shape (samples,)
    codes : ndarray of shape (samples,)
        The true classes.
    weight : ndarray of shape (samples,), optional
        How often each sample counts.
    level : float
    bounds : ndarray of shape (2, classes)
        The smallest and the largest weight of each class.
    """
    classes = bounds.shape[1]
    order = np.argsort(scores)
    counted = np.zeros((len(scores), classes))
    counted[np.arange(len(scores)), codes[order]] = 1.0 if weight is None else weight[order]
    reached = np.cumsum(counted, axis=0)
    factors = reached - level * reached[-1]
    least = np.minimum(factors * bounds[0], factors * bounds[1])
    total = least.sum(axis=1, keepdims=True)
    own = factors - level
    worst = total - least + np.minimum(own * bounds[0], own * bounds[1])
    enough = worst >= -_SLACK * bounds[1] @ (reached[-1] + 1)
    # Equal scores share a place: only the last of them counts all of them.
    first = np.where(enough.any(axis=0), enough.argmax(axis=0), len(scores))
    return np.append(scores[order], np.inf)[first]


def group_quantiles(
    scores: FloatArray, members: FloatArray, level: float, new: FloatArray
) -> FloatArray:
    r"""Return the conformal quantile of each pattern of overlapping groups.

    With :math:`g_S` the quantile regression of the scores and one more score :math:`S` of a new
    sample on the indicators of their groups, it is the largest :math:`S \le g_S` of the new
    sample [1]_. In the dual problem a sample has a variable between :math:`c - 1` and :math:`c`,
    and the new one reaches :math:`c` where :math:`S` leaves the set. So one linear program with
    that variable just below :math:`c` has the threshold among its multipliers; if it has no
    solution, the groups of the new sample have too few samples, and the threshold is infinite.

    Parameters
    ----------
    scores : ndarray of shape (samples,)
    members : ndarray of shape (samples, groups)
        1 where a sample is in a group, else 0.
    level : float
    new : ndarray of shape (patterns, groups)

    References
    ----------
    .. [1] I. Gibbs, J. J. Cherian, E. J. Candès. Conformal Prediction With Conditional Guarantees.
       Journal of the Royal Statistical Society B, 2025.
    """
    size = float(np.abs(scores).max())
    unit = size if size > 0 else 1.0
    problem = _Regression(scores / unit, members, level)
    values = np.empty(len(new))
    for i, pattern in enumerate(new):
        slope = problem.solve((level - _LEFT) * pattern)
        # Rounding may not put a threshold below the score that it stands for.
        values[i] = (pattern @ slope + 1e-9) * unit if np.isfinite(slope).all() else np.inf
    return values


class _Regression:
    """Quantile regressions of the same scores that differ by the load of one new sample."""

    def __init__(self, scores: FloatArray, members: FloatArray, level: float) -> None:
        self.scores, self.members, self.level = scores, members, level
        self.residual: FloatArray | None = None
        if len(scores) > _MANY_ROWS:
            self.codes = np.unique(members, axis=0, return_inverse=True)[1].reshape(-1)
            nothing = np.zeros(members.shape[1])
            some = self._first(np.random.default_rng(0).random(len(scores)), _MANY_ROWS)
            self.residual = scores - members @ self._multipliers(some, nothing)
            self.residual = scores - members @ self.solve(nothing)

    def solve(self, load: FloatArray) -> FloatArray:
        """Return the slopes, NaN if no slopes carry the load.

        Samples far from the quantile are at a bound of their variables; the others are few
        (Portnoy, Koenker, 1997). If one turns out to be at the wrong bound, more are let free.
        """
        residual, count = self.residual, _MANY_ROWS // 2
        while residual is not None and 2 * count < len(self.scores):
            free = self._first(np.abs(residual), count)
            rest = np.ones(len(self.scores), dtype=bool)
            rest[free] = False
            above = residual[rest] > 0
            fixed = np.where(above, self.level, self.level - 1) @ self.members[rest]
            slope = self._multipliers(free, load + fixed)
            if np.isfinite(slope).all():
                residual = self.scores - self.members @ slope
                if ((residual[rest] > 0) == above).all():
                    return slope
            count *= 2
        return self._multipliers(np.arange(len(self.scores)), load)

    def _first(self, key: FloatArray, count: int) -> NDArray[np.intp]:
        """Return the samples with the smallest keys, among them some of each pattern of groups."""
        order = np.lexsort((key, self.codes))
        starts = np.searchsorted(self.codes[order], np.arange(int(self.codes.max()) + 1))
        of_each = order[np.arange(len(order)) - starts[self.codes[order]] < _ROWS_OF_EACH]
        return np.union1d(of_each, np.argpartition(key, count)[:count])

    def _multipliers(self, rows: NDArray[np.intp], load: FloatArray) -> FloatArray:
        from scipy.optimize import linprog

        result = linprog(
            -self.scores[rows],
            A_eq=self.members[rows].T,
            b_eq=-load,
            bounds=(self.level - 1, self.level),
            method="highs-ds",
        )
        if result.status != 0:
            return np.full(len(load), np.nan)
        return np.asarray(-result.eqlin.marginals)
