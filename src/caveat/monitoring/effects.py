"""How far two distributions are apart: effect sizes with intervals, and a test."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from .cells import Design, Numbers

MOST_BINS = 10
LEAST_EXPECTED = 5.0
"""A chi-squared test needs about as many expected samples in each cell of either side."""

NAN = float("nan")


@dataclass(frozen=True)
class Effect:
    """A number that says how large a change is, with its interval."""

    value: float = NAN
    low: float = NAN
    high: float = NAN


@dataclass(frozen=True)
class Change:
    """All that is known of the change of one distribution.

    Attributes
    ----------
    distance : Effect
        Between the distributions, from 0 to 1.
    difference : Effect
        Of the means, new less reference.
    standardized : Effect
        The same in standard deviations.
    p_value : float
    """

    distance: Effect
    difference: Effect
    standardized: Effect
    p_value: float


def joint(one: Numbers, other: Numbers) -> tuple[FloatArray, FloatArray]:
    """Return the values of all cells, and the counts of both sides in them, (2, cells)."""
    values = np.union1d(one.values, other.values)
    counts = np.zeros((2, len(values)))
    for side, numbers in zip(counts, (one, other), strict=True):
        side[np.searchsorted(values, numbers.values)] = numbers.counts
    return values, counts


def bins_of(counts: FloatArray, sizes: FloatArray) -> NDArray[np.intp]:
    """Return the bin of each cell: up to 10 of equal pooled counts, none with too few samples.

    The bins depend on both sides together only, so that they do not favor a difference.
    """
    pooled = (counts / counts.sum(axis=1, keepdims=True) * sizes[:, None]).sum(axis=0)
    total, least = pooled.sum(), LEAST_EXPECTED / (sizes.min() / sizes.sum())
    number = max(min(MOST_BINS, int(total / least)), 1)
    middle = np.cumsum(pooled) - pooled / 2
    first = np.minimum((middle / total * number).astype(np.intp), number - 1)
    mass = np.bincount(first, pooled, number)
    # Each bin takes the next ones until it has enough; what is left over joins the last.
    result, bin_, held = np.zeros(number, dtype=np.intp), 0, 0.0
    for i in range(number):
        result[i] = bin_
        held += mass[i]
        if held >= least and mass[i + 1 :].sum() >= least:
            bin_, held = bin_ + 1, 0.0
    return result[first]


def chi_squared(counts: FloatArray, sizes: FloatArray, freedom: float) -> float:
    """Return the p-value of a test that both sides, (2, bins), have the same distribution.

    The counts are scaled to the number of independent samples of equal weight that they are worth
    (Rao and Scott, first order); with few clusters the statistic has an F distribution.
    """
    from scipy.special import chdtrc, fdtrc

    bins = counts.shape[1]
    if bins < 2:
        return 1.0
    scaled = counts / counts.sum(axis=1, keepdims=True) * sizes[:, None]
    ratio = np.sqrt(sizes[1] / sizes[0])
    statistic = float(((scaled[0] * ratio - scaled[1] / ratio) ** 2 / scaled.sum(axis=0)).sum())
    if np.isinf(freedom):
        return float(chdtrc(bins - 1, statistic))
    return float(fdtrc(bins - 1, freedom, statistic / (bins - 1)))


def kolmogorov(counts: FloatArray, sizes: FloatArray, confidence: float) -> Effect:
    """Return the largest difference of the distribution functions.

    The interval is that of a band around the difference of both functions, which is right with
    ties and for any distributions.
    """
    from scipy.special import kolmogi

    shares = counts / counts.sum(axis=1, keepdims=True)
    value = float(np.abs(np.cumsum(shares[1] - shares[0])).max())
    half = float(kolmogi(1 - confidence)) * float(np.sqrt((1 / sizes).sum()))
    return Effect(min(value, 1.0), max(value - half, 0.0), min(value + half, 1.0))


def total_variation(counts: FloatArray, sizes: FloatArray, confidence: float) -> Effect:
    """Return the share of samples that would have to be of another kind.

    Chance makes it larger; the lower end allows for that with as much as it can be.
    """
    from scipy.special import ndtri

    shares = counts / counts.sum(axis=1, keepdims=True)
    apart = shares[1] - shares[0]
    value = float(np.abs(apart).sum() / 2)
    signs = np.sign(apart)
    noise = (shares * (1 - shares) / sizes[:, None]).sum(axis=0)
    chance = float(np.sqrt(2 / np.pi * noise).sum() / 2)
    # Where nothing differs, signs are 0 and say nothing of the spread.
    spread = max(float(((1 - (shares @ signs) ** 2) / sizes).sum() / 4), float(noise.max()))
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt(spread)
    return Effect(value, max(value - chance - half, 0.0), min(value + half, 1.0))


def difference(one: Numbers, other: Numbers, sizes: FloatArray, confidence: float) -> Effect:
    """Return the difference of the means with Welch's interval."""
    from scipy.special import stdtrit

    value = other.mean - one.mean
    errors = np.array([one.variance, other.variance]) / np.maximum(sizes - 1, 1)
    error = float(errors.sum())
    if not (np.isfinite(value) and np.isfinite(error)) or sizes.min() < 2:
        return Effect(value)
    freedom = error**2 / float((errors**2 / (sizes - 1)).sum()) if error > 0 else 1.0
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * np.sqrt(error)
    return Effect(value, value - half, value + half)


def standardized(one: Numbers, other: Numbers, sizes: FloatArray, confidence: float) -> Effect:
    """Return the difference of the means in standard deviations (the root of the mean variance).

    The interval is that of the influence of each sample on the means and on the variances, so that
    heavy tails make it wider.
    """
    from scipy.special import ndtri

    scale = float(np.sqrt((one.variance + other.variance) / 2))
    if not (np.isfinite(scale) and scale > 0):
        return Effect(0.0 if one.mean == other.mean else NAN)
    value = (other.mean - one.mean) / scale
    variance = 0.0
    for sign, side, size in zip((-1, 1), (one, other), sizes, strict=True):
        z = (side.values - side.mean) / scale
        influence = sign * z - value / 4 * (z**2 - side.variance / scale**2)
        variance += float(side.counts @ influence**2 / side.counts.sum() / size)
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
    return Effect(value, value - half, value + half)


def change_of(
    one: Numbers,
    other: Numbers,
    designs: tuple[tuple[Design, Design], tuple[Design, Design]],
    bins: NDArray[np.intp],
    confidence: float,
) -> Change:
    """Return the change of a number from one set of samples to another.

    ``designs`` are those of the cells and of the number itself, of either side.
    """
    samples = np.array([one.samples, other.samples], dtype=np.float64)
    _, counts = joint(one, other)
    (cells, own) = (np.maximum(samples / [d.effect for d in pair], 1.0) for pair in designs)
    binned = np.stack([np.bincount(bins, side) for side in counts])
    freedom = min(design.freedom for design in designs[0])
    return Change(
        kolmogorov(counts, cells, confidence),
        difference(one, other, own, confidence),
        standardized(one, other, own, confidence),
        chi_squared(binned, cells, freedom),
    )


def change_of_kinds(counts: FloatArray, designs: tuple[Design, Design], confidence: float) -> Change:
    """Return the change of the shares of kinds (classes, groups), from counts (2, kinds)."""
    sizes = np.maximum(counts.sum(axis=1) / [design.effect for design in designs], 1.0)
    kinds = counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]
    bins = _rare_joined(kinds, sizes)
    binned = np.stack([np.bincount(bins, side) for side in kinds])
    freedom = min(design.freedom for design in designs)
    return Change(
        total_variation(kinds, sizes, confidence),
        Effect(),
        Effect(),
        chi_squared(binned, sizes, freedom),
    )


def _rare_joined(kinds: FloatArray, sizes: FloatArray) -> NDArray[np.intp]:
    """Return the bin of each kind, most frequent first: those with too few samples share one."""
    shares = (kinds / kinds.sum(axis=1, keepdims=True) * sizes[:, None]).sum(axis=0) / sizes.sum()
    enough = shares * sizes.min() >= LEAST_EXPECTED
    number = int(np.count_nonzero(enough))
    rest = float(shares[number:].sum() * sizes.min())
    last = number if rest >= LEAST_EXPECTED else max(number - 1, 0)
    return np.minimum(np.arange(kinds.shape[1]), last)
