"""Spreads of sets that grow step by step, each step looking at its own samples alone."""

import numpy as np

from .._validation import FloatArray
from ..resampling.spread import Spread, sums_by
from ._ordered import Ordered
from ._samples import Codes


def kept_means(
    ordered: Ordered, values: FloatArray, amounts: FloatArray, cluster: Codes | None
) -> Spread:
    """Return the means of the values over the first amounts of weight, which increase."""
    x, w = values[ordered.rows], ordered.weight
    mean = ordered.running(w * x, amounts) / amounts
    squares = ordered.running(w * w, amounts)
    kish = amounts**2 / squares
    if cluster is not None:
        return _kept_by_cluster(ordered, values, amounts, cluster, mean, kish)
    counted = ordered.running(np.ones(len(w)), amounts)
    spread = (
        ordered.running((w * x) ** 2, amounts)
        - 2 * mean * ordered.running(w * w * x, amounts)
        + mean**2 * squares
    )
    variance = np.maximum(spread, 0.0) / amounts**2
    return Spread(mean, variance, amounts, counted, kish, kish, clustered=False)


def _kept_by_cluster(
    ordered: Ordered,
    values: FloatArray,
    amounts: FloatArray,
    cluster: Codes,
    mean: FloatArray,
    kish: FloatArray,
) -> Spread:
    number = int(cluster.max()) + 1
    mass, sums = np.zeros(number), np.zeros(number)
    variance, units, of_units = np.empty((3, len(amounts)))
    for i, (low, high) in enumerate(zip(np.r_[0.0, amounts[:-1]], amounts, strict=True)):
        rows, weight = ordered.stretch(low, high)
        mass += np.bincount(cluster[rows], weight, minlength=number)
        sums += np.bincount(cluster[rows], weight * values[rows], minlength=number)
        variance[i] = np.square(sums - mean[i] * mass).sum() / high**2
        units[i], of_units[i] = np.count_nonzero(mass), high**2 / (mass @ mass)
    return Spread(mean, variance, amounts, units, kish, of_units, clustered=True)


def shares_inside(
    step: np.ndarray, steps: int, weight: FloatArray | None, cluster: Codes | None
) -> Spread:
    """Return the shares of samples whose step is at most 0, 1, ..., steps - 1.

    A sample with the step ``steps`` is in none of the sets.
    """
    w = np.ones(len(step)) if weight is None else weight
    total = float(w.sum())
    mean = np.minimum(np.cumsum(np.bincount(step, w, steps + 1))[:steps] / total, 1.0)
    if cluster is None:
        mass = w
        squares = np.cumsum(np.bincount(step, w * w, steps + 1))
        inside = squares[:steps]
        variance = ((1 - mean) ** 2 * inside + mean**2 * (squares[-1] - inside)) / total**2
    else:
        mass = sums_by(cluster, w)
        variance = _shares_by_cluster(step, mean, w, cluster, mass) / total**2
    sizes = [np.count_nonzero(mass), total**2 / (w @ w), total**2 / (mass @ mass)]
    units, kish, of_units = np.repeat(np.array([sizes], dtype=np.float64).T, steps, axis=1)
    full = np.full(steps, total)
    return Spread(mean, variance, full, units, kish, of_units, clustered=cluster is not None)


def _shares_by_cluster(
    step: np.ndarray, mean: FloatArray, weight: FloatArray, cluster: Codes, mass: FloatArray
) -> FloatArray:
    """Return the sums over clusters of squared sums of w (x - mean), for each set."""
    order = np.argsort(step, kind="stable")
    ends = np.searchsorted(step[order], np.arange(len(mean)), side="right")
    sums, result = np.zeros(len(mass)), np.empty(len(mean))
    for i, (first, last) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
        rows = order[first:last]
        sums += np.bincount(cluster[rows], weight[rows], minlength=len(mass))
        result[i] = np.square(sums - mean[i] * mass).sum()
    return result
