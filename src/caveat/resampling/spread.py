"""Pointwise confidence limits of means, with weights and clusters.

The variance of a weighted mean m of values x is the sandwich

    sum over clusters of (sum of w (x - m))^2 / (sum of w)^2,

each sample being its own cluster where none are given. A share p has the effective size
p (1 - p) / variance and Wilson's limits at that size, which is at most Kish's,
(sum of w)^2 / sum of w^2: where few samples decide, the variance is too small by chance. Where p is
0 or 1 the variance says nothing, and the size is Kish's with the weights of whole clusters.
With few clusters, and for means that are not shares, the variance is multiplied by c / (c - 1)
for c clusters or samples, and Student's quantile replaces the Gaussian one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

Codes = NDArray[np.intp]
Limits = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Spread:
    """Weighted means over sets of samples and their variances; all of shape (sets,).

    Attributes
    ----------
    mean, variance : ndarrays
        The mean, and the sandwich variance of it.
    mass : ndarray
        The sum of the weights.
    units : ndarray
        How many clusters, or samples where there are none, count.
    kish, kish_units : ndarrays
        Kish's effective number of samples, and of clusters.
    clustered : bool
    """

    mean: FloatArray
    variance: FloatArray
    mass: FloatArray
    units: FloatArray
    kish: FloatArray
    kish_units: FloatArray
    clustered: bool


def stacked(parts: Iterable[tuple[float, ...]], clustered: bool) -> Spread:
    """Return the spread of several sets from `spread_of` of each."""
    mean, variance, mass, units, kish, kish_units = np.array(list(parts), dtype=np.float64).T
    return Spread(mean, variance, mass, units, kish, kish_units, clustered)


def spread_of(
    values: FloatArray, weight: FloatArray | None, cluster: Codes | None
) -> tuple[float, ...]:
    """Return mean, variance, mass, units and Kish's two sizes of one set of samples."""
    if weight is None:
        weight = np.ones(len(values))
    mass = float(weight.sum())
    mean = float(weight @ values) / mass
    parts, weights = weight * (values - mean), weight
    if cluster is not None:
        parts, weights = sums_by(cluster, parts), sums_by(cluster, weight)
    units = float(np.count_nonzero(weights))
    variance, kish, kish_units = (
        float(parts @ parts) / mass**2,
        mass**2 / float(weight @ weight),
        mass**2 / float(weights @ weights),
    )
    return mean, variance, mass, units, kish, kish_units


def sums_by(cluster: Codes, values: FloatArray) -> FloatArray:
    """Return the sum of the values in each cluster."""
    return np.bincount(cluster, values).astype(np.float64, copy=False)


def score(confidence: float) -> float:
    """Return the quantile of the Gaussian that two-sided limits need."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def share_limits(spread: Spread, confidence: float) -> Limits:
    """Return Wilson's limits of shares at their effective sizes."""
    p = np.clip(spread.mean, 0.0, 1.0)  # rounding of sums may leave [0, 1]
    size = effective_size(p * (1 - p), spread, confidence)
    z = score(confidence)
    center = (p + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    return np.clip(np.minimum(center - half, p), 0, 1), np.clip(np.maximum(center + half, p), 0, 1)


def effective_size(single: FloatArray, spread: Spread, confidence: float) -> FloatArray:
    """Return how many independent samples would give the variance that the means have.

    ``single`` is the variance of one sample.
    """
    known = (single > 1e-12) & (spread.variance > 1e-30)
    size = np.asarray(single / np.where(known, spread.variance, 1.0))
    if spread.clustered:
        known &= spread.units > 1
        several = np.maximum(spread.units, 2.0)
        wider = _student(several - 1, confidence) / score(confidence)
        size *= (several - 1) / several / wider**2
    return np.where(known, np.minimum(size, spread.kish), spread.kish_units)


def _student(freedom: FloatArray, confidence: float) -> FloatArray:
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, (1 + confidence) / 2), dtype=np.float64)


def mean_limits(spread: Spread, confidence: float, least: float = 0.0) -> Limits:
    """Return limits of means of values that are at least ``least``, by the Gaussian distribution.

    One sample has no variance: it is taken to be as large as for an exponential distribution, the
    square of the mean.
    """
    half = _deviations(spread, spread.mean**2, confidence)
    return np.maximum(spread.mean - half, least), spread.mean + half


def root_limits(spread: Spread, confidence: float) -> Limits:
    """Return limits of roots of mean squares, by the delta method for their logarithms.

    log sqrt(m) has the standard deviation sqrt(variance of m) / (2 m). The square of one sample has
    no variance: it is taken to be that of a Gaussian's square, 2 m^2.
    """
    half = _deviations(spread, 2 * spread.mean**2, confidence)
    relative = np.divide(half, 2 * spread.mean, out=np.zeros(len(half)), where=spread.mean > 0)
    root, factor = np.sqrt(spread.mean), np.exp(relative)
    return root / factor, root * factor


def _deviations(spread: Spread, of_one: FloatArray, confidence: float) -> FloatArray:
    """Return how far limits of a mean are from it; ``of_one`` is the variance of one sample."""
    several = np.maximum(spread.units, 2.0)
    variance = np.where(spread.units > 1, spread.variance * several / (several - 1), of_one)
    # With two or three units Student's quantile would make the limits uselessly wide.
    return _student(np.maximum(several - 1, 3.0), confidence) * np.sqrt(variance)
