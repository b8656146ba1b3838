"""Gaps and ratios of one metric between two groups, or two predictions."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .._validation import FloatArray, check_choice, check_fraction
from ..exceptions import OptionError
from ..metrics._inputs import count
from ..metrics.entry import Metric
from .intervals import ConfidenceInterval, confidence_interval, widened
from .replication import Replicates

__all__ = ["equal_errors", "pair_interval"]

_LENGTHS = 24
"""Common errors between 0 and the larger observed one at which equality is tested."""


def pair_interval(
    metric: Metric,
    values: tuple[float, float],
    replicates: tuple[Replicates, Replicates],
    confidence: float = 0.95,
    *,
    kind: Literal["gap", "ratio"] = "gap",
    among: int = 1,
) -> ConfidenceInterval:
    r"""Return the confidence interval of the gap or ratio of two values.

    The two are of different samples, such as two groups. Their own intervals, [l, u] about the
    values or, for binned errors, about the estimates e, are combined as those of independent
    numbers are:

    .. math:: e_1 - e_2 - \sqrt{(e_1 - l_1)^2 + (u_2 - e_2)^2}
        \quad\text{to}\quad e_1 - e_2 + \sqrt{(u_1 - e_1)^2 + (e_2 - l_2)^2}

    for a gap; for the ratio of two positive numbers the same of their logarithms. Where samples are
    in clusters, which both groups may share, the two distances a and b under the root are combined
    as :math:`\sqrt{a^2 + b^2 - 2 \rho a b}` with the correlation of the replicates. So gaps of
    shares are right where a group is all right, and gaps of binned errors do not depend on the
    sizes of the groups, which chance makes larger the fewer the samples. If l_2 is not above 0, a
    ratio has no upper end.

    Parameters
    ----------
    values : pair of float
        The metric of the two.
    replicates : pair of Replicates
    kind : {"gap", "ratio"}, default="gap"
    among : int, default=1
        The number of pairs that this one was chosen from by its values: the interval is widened, as
        a normal one would be, to hold for all of them at once (Bonferroni).

    Returns
    -------
    ConfidenceInterval
        Its ``estimate``, for biased metrics, is that of the estimates freed of their bias.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.metrics import METRICS
    >>> from caveat.resampling import make_plan, pair_interval, replicates
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y, few = (rng.random(1000) < p).astype(int), np.arange(1000) < 100
    >>> plan, metric = make_plan(1000, random_state=0), METRICS["ece"]
    >>> draws = [replicates(metric, y, {"probabilities": p}, plan, rows=r) for r in (few, ~few)]
    >>> gap = pair_interval(metric, (draws[0].center, draws[1].center), tuple(draws))
    >>> bool(gap.low < 0 < gap.high), gap.method
    (True, 'test inversion')
    """
    confidence = check_fraction(confidence, "confidence")
    check_choice(kind, "kind", ("gap", "ratio"))
    pairs = count(among, "among")
    one, other = (
        confidence_interval(metric, value, draws, confidence)
        for value, draws in zip(values, replicates, strict=True)
    )
    wider = widening(confidence, pairs)
    return pair_of(one, other, values, kind, correlation(*replicates), wider)


def pair_of(
    one: ConfidenceInterval,
    other: ConfidenceInterval,
    values: tuple[float, float],
    kind: Literal["gap", "ratio"],
    correlation: float = 0.0,
    wider: float = 1.0,
) -> ConfidenceInterval:
    """Return the interval of a gap or ratio of two numbers from their own intervals."""
    if np.isnan([one.low, other.low]).any():
        return ConfidenceInterval(float("nan"), float("nan"), "undefined")
    ends = [
        np.array([i.low, np.clip(v if i.estimate is None else i.estimate, i.low, i.high), i.high])
        for i, v in zip((one, other), values, strict=True)
    ]
    biased = one.estimate is not None or other.estimate is not None
    if kind == "ratio":
        return _ratio(ends[0], ends[1], wider, correlation, one.method, biased)
    low, gap, high = combined(ends[0], ends[1], wider, correlation)
    return ConfidenceInterval(low, high, one.method, gap if biased else None)


def correlation(one: Replicates, other: Replicates) -> float:
    """Return the correlation of two replicates where clusters may be in both groups, else 0."""
    if not (one.clustered and other.clustered) or one.norm is not None:
        return 0.0
    both = np.array([one.values, other.values])
    both = both[:, np.isfinite(both).all(axis=0)]
    if both.shape[1] < 2 or not both.std(axis=1).min() > 0:
        return 0.0
    return float(np.corrcoef(both)[0, 1])


def widening(confidence: float, among: int) -> float:
    """Return how much wider a normal interval must be to hold for several at once (Bonferroni)."""
    from scipy.special import ndtri

    # The normal quantile of a confidence near 0 is 0, which cannot divide.
    limit = min(float(ndtri((1 - confidence) / 2)), -np.finfo(np.float64).tiny)
    return float(ndtri((1 - confidence) / (2 * max(among, 1)))) / limit


def combined(
    one: Any, other: Any, wider: float = 1.0, correlation: float = 0.0
) -> tuple[float, float, float]:
    """Return low end, center and high end of a difference, from those of two numbers.

    The distances of the ends from the center are made ``wider`` by a factor.
    """
    with np.errstate(invalid="ignore"):  # ends of intervals may be infinite
        gap = float(one[1] - other[1])
        below = wider * _combined_distance(one[1] - one[0], other[2] - other[1], correlation)
        above = wider * _combined_distance(one[2] - one[1], other[1] - other[0], correlation)
    return gap - below, gap, gap + above


def _combined_distance(one: float, other: float, correlation: float) -> float:
    """Return the spread of a difference from those of two numbers."""
    if correlation == 0:
        return float(np.hypot(one, other))
    return float(np.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0)))


def _ratio(
    one: FloatArray, other: FloatArray, wider: float, correlation: float, method: str, biased: bool
) -> ConfidenceInterval:
    """Return the logarithms of the ends; -inf for an end at 0, NaN for a negative one."""
    if min(one[1], other[1]) < 0 or not min(one[2], other[2]) > 0:
        return ConfidenceInterval(float("nan"), float("nan"), "undefined")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.log(np.maximum(np.array([one, other]), 0.0))
        # With a center at 0 the lower end is -inf.
        logs[:, 1] = np.where(np.isinf(logs[:, 1]), logs[:, 2], logs[:, 1])
        low, _, high = np.exp(combined(logs[0], logs[1], wider, correlation))
        estimate = float(one[1] / other[1]) if biased and other[1] > 0 else None
    return ConfidenceInterval(float(low), float(high), method, estimate)


def equal_errors(
    first: Sequence[Replicates], second: Sequence[Replicates], confidence: float = 0.95
) -> bool:
    r"""Return whether two predictions of the same samples may have the same binned error.

    A binned error is a norm of gaps, and chance makes it larger the noisier the gaps are: a sharp
    prediction has a larger one than a blunt prediction that is as well calibrated. The difference
    of two is therefore compared with what it would be if both had the same error c in truth,

    .. math:: \lVert c \, u_1 + d_1 \rVert - \lVert c \, u_2 + d_2 \rVert,

    where u are the observed gaps scaled to a norm of 1, and d the deviations of the resamples, the
    same resamples for both. Equality is rejected if the observed difference lies in a tail for
    every c from 0 to the larger of the two errors.

    Parameters
    ----------
    first, second : sequences of Replicates
        Replicates of a binned error, under one plan. The errors of each sequence are averaged, for
        example over classes.
    confidence : float, default=0.95
        Confidence of the test.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.metrics import METRICS
    >>> from caveat.resampling import equal_errors, make_plan, replicates
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y, plan = (rng.random(1000) < p).astype(int), make_plan(1000, random_state=0)
    >>> calibrated, blunt, wrong = (
    ...     replicates(METRICS["ece"], y, {"probabilities": q}, plan)
    ...     for q in (p, np.full(1000, 0.5), p**3)
    ... )
    >>> equal_errors([calibrated], [blunt]), equal_errors([calibrated], [wrong])
    (True, False)
    """
    level = check_fraction(confidence, "confidence")
    one, other = _Errors(first, level), _Errors(second, level)
    observed = one.observed - other.observed
    close = 1e-12 * max(one.observed, other.observed)  # tolerance for rounding
    bottom, top, tail = observed - close, observed + close, (1 - level) / 2
    for length in np.linspace(0, max(one.observed, other.observed), _LENGTHS):
        difference = one.at(length) - other.at(length)
        # An undefined resample (NaN) counts against a difference.
        if min(np.mean(~(difference > top)), np.mean(~(difference < bottom))) > tail:
            return True
    return False


class _Errors:
    """The mean of some binned errors, and its resamples at any true value."""

    def __init__(self, replicates: Sequence[Replicates], level: float) -> None:
        self._parts = []
        for one in replicates:
            if one.norm is None or one.gaps is None or one.deviations is None:
                raise OptionError("equal_errors compares binned errors; use interval_of for others")
            self._parts.append((one.norm, one.gaps, widened(one.deviations, level, one)))
        self.observed = float(np.mean([norm(gaps) for norm, gaps, _ in self._parts]))

    def at(self, length: float) -> FloatArray:
        """Return the resampled errors if the true one were this long."""
        scale = length / self.observed if self.observed > 0 else 0.0
        values = [norm(scale * gaps + deviations) for norm, gaps, deviations in self._parts]
        return np.asarray(np.mean(values, axis=0))
