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

Designs = tuple[Design | None, Design | None]
"""Of the reference and of the new samples; None where all samples count alike and by themselves."""


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
        The difference of the means, new less reference.
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


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares of samples in some bins, of the reference and of the new samples.

    Attributes
    ----------
    shares : ndarray of shape (2, bins)
    sizes : ndarray of shape (2,)
        Numbers of samples.
    covariance : ndarray of shape (bins, bins)
        The covariance of the difference.
    freedom : float
        Degrees of freedom of the covariance; infinite if it follows from the numbers of samples.
    plain : bool
        Whether all samples count alike and by themselves.
    """

    shares: FloatArray
    sizes: FloatArray
    covariance: FloatArray
    freedom: float
    plain: bool

    @classmethod
    def of(cls, counts: FloatArray, sizes: FloatArray, designs: Designs) -> "Shares":
        """Return the shares of counts (2, bins)."""
        shares = counts / counts.sum(axis=1, keepdims=True)
        covariance = np.zeros((counts.shape[1],) * 2)
        for own, size, design in zip(shares, sizes, designs, strict=True):
            covariance += _multinomial(own) / size if design is None else design.covariance
        freedom = min(np.inf if design is None else design.freedom for design in designs)
        return cls(shares, sizes, covariance, freedom, designs == (None, None))

    @property
    def pooled(self) -> FloatArray:
        """The shares of both sides together."""
        return self.sizes @ self.shares / self.sizes.sum()

    def p_value(self) -> float:
        r"""Return the p-value of a chi-squared test that both sides have the same distribution.

        With weights or clusters the statistic is a sum of chi-squared numbers with factors, the
        eigenvalues of the covariance over that of as many independent samples; it is compared with
        one of the same mean and variance (Rao and Scott's second-order correction), and with few
        clusters with an F distribution.
        """
        from scipy.special import chdtrc, fdtrc

        bins = self.shares.shape[1]
        if bins < 2:
            return 1.0
        scale = float((1 / self.sizes).sum())
        pooled = self.pooled
        apart = self.shares[1] - self.shares[0]
        statistic = float((apart**2 / pooled).sum() / scale)
        if self.plain:
            return float(chdtrc(bins - 1, statistic))
        some = slice(None, -1)
        plain = _multinomial(pooled)[some, some] * scale
        ratio = np.linalg.solve(plain, self.covariance[some, some])
        total, squares = float(np.trace(ratio)), float(np.trace(ratio @ ratio))
        if not (total > 0 and squares > 0):
            return 1.0
        freedom = total**2 / squares
        if np.isinf(self.freedom):
            return float(chdtrc(freedom, statistic * freedom / total))
        return float(fdtrc(freedom, self.freedom, statistic / total))

    def effective(self) -> float:
        """Return how many times as much a share below a value varies as that of equal samples."""
        if self.plain:
            return 1.0
        below = np.cumsum(np.cumsum(self.covariance, axis=0), axis=1).diagonal()[:-1]
        share = np.cumsum(self.pooled)[:-1]
        expected = share * (1 - share) * (1 / self.sizes).sum()
        return float(np.max(below / expected, initial=1e-9)) * self.wider

    @property
    def wider(self) -> float:
        """Student's quantile over the normal one, squared, at 95 %."""
        from scipy.special import stdtrit

        return 1.0 if np.isinf(self.freedom) else float(stdtrit(self.freedom, 0.975) / 1.96) ** 2


def _multinomial(shares: FloatArray) -> FloatArray:
    return np.asarray(np.diag(shares) - np.outer(shares, shares))


def kolmogorov(counts: FloatArray, binned: Shares, confidence: float) -> Effect:
    """Return the largest difference of the distribution functions.

    The interval is that of a band around the difference of both functions, which is right with
    ties and for any distributions.
    """
    from scipy.special import kolmogi

    shares = counts / counts.sum(axis=1, keepdims=True)
    value = float(np.abs(np.cumsum(shares[1] - shares[0])).max())
    variance = float((1 / binned.sizes).sum()) * binned.effective()
    half = float(kolmogi(1 - confidence)) * float(np.sqrt(variance))
    return Effect(min(value, 1.0), max(value - half, 0.0), min(value + half, 1.0))


def total_variation(kinds: Shares, confidence: float) -> Effect:
    """Return the share of samples that would have to be of another kind.

    Chance makes it larger; the lower end allows for that with as much as it can be.
    """
    from scipy.special import ndtri

    apart = kinds.shares[1] - kinds.shares[0]
    value = float(np.abs(apart).sum() / 2)
    signs = np.sign(apart)
    noise = np.maximum(kinds.covariance.diagonal(), 0.0) * kinds.wider
    chance = float(np.sqrt(2 / np.pi * noise).sum() / 2)
    # Where nothing differs, signs are 0 and say nothing of the spread; where a side has one kind
    # only, one more sample of another kind could have been there.
    spread = max(
        float(signs @ kinds.covariance @ signs / 4) * kinds.wider,
        float(noise.max()),
        float((1 / kinds.sizes**2).sum()),
    )
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt(spread)
    return Effect(value, max(value - chance - half, 0.0), min(value + half, 1.0))


def difference(one: Numbers, other: Numbers, designs: Designs, confidence: float) -> Effect:
    """Return the difference of the means with Welch's interval."""
    from scipy.special import stdtrit

    value = other.mean - one.mean
    errors, freedoms = [], []
    for side, design in zip((one, other), designs, strict=True):
        least = side.samples - 1.0
        own = side.variance / max(least, 1.0)
        errors.append(own if design is None else float(design.covariance[0, 0]))
        freedoms.append(least if design is None else min(design.freedom, least))
    error = sum(errors)
    if not np.isfinite([value, error]).all() or min(freedoms) < 1:
        return Effect(value)
    freedom = 1.0
    if error > 0:
        shares = [e / error for e in errors]  # their squares cannot overflow
        freedom = 1 / sum(s**2 / f for s, f in zip(shares, freedoms, strict=True))
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * np.sqrt(error)
    return Effect(value, value - half, value + half)


def standardized(one: Numbers, other: Numbers, designs: Designs, confidence: float) -> Effect:
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
    for sign, side, design in zip((-1, 1), (one, other), designs, strict=True):
        z = (side.values - side.mean) / scale
        influence = sign * z - value / 4 * (z**2 - side.variance / scale**2)
        own = float(side.counts @ influence**2 / side.counts.sum() / side.samples)
        if design is not None and side.variance > 0:  # as much more as the mean varies
            own *= float(design.covariance[0, 0]) * side.samples / side.variance
        variance += own
    half = float(ndtri((1 + confidence) / 2)) * np.sqrt(variance)
    return Effect(value, value - half, value + half)


def change_of(
    one: Numbers, other: Numbers, bins: NDArray[np.intp], cells: Designs, own: Designs,
    confidence: float,
) -> Change:  # fmt: skip
    """Return the change of a number from one set of samples to another.

    ``cells`` and ``own`` are the designs of the bins and of the number itself, of either side.
    """
    sizes = np.array([one.samples, other.samples], dtype=np.float64)
    _, counts = joint(one, other)
    binned = Shares.of(np.stack([np.bincount(bins, side) for side in counts]), sizes, cells)
    return Change(
        kolmogorov(counts, binned, confidence),
        difference(one, other, own, confidence),
        standardized(one, other, own, confidence),
        binned.p_value(),
    )


def change_of_kinds(kinds: Shares, confidence: float) -> Change:
    """Return the change of the shares of kinds: classes or groups."""
    join = _rare_joined(kinds)
    shares = kinds.shares @ join
    joined = Shares(
        shares, kinds.sizes, join.T @ kinds.covariance @ join, kinds.freedom, kinds.plain
    )
    return Change(total_variation(kinds, confidence), Effect(), Effect(), joined.p_value())


def _rare_joined(kinds: Shares) -> FloatArray:
    """Return the bin of each kind, (kinds, bins): those with too few samples share one."""
    expected = kinds.pooled * kinds.sizes.min()
    order = np.argsort(-expected, kind="stable")
    number = int(np.count_nonzero(expected >= LEAST_EXPECTED))
    rest = float(expected[order[number:]].sum())
    last = number if rest >= LEAST_EXPECTED else max(number - 1, 0)
    result = np.zeros((len(expected), last + 1))
    result[order, np.minimum(np.arange(len(order)), last)] = 1.0
    return result[:, result.any(axis=0)]
