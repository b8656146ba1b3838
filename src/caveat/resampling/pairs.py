"""Gaps and ratios of one metric between two groups, or two predictions."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from .._validation import FloatArray, check_fraction
from ..exceptions import OptionError
from ..metrics._entry import Metric
from .intervals import ConfidenceInterval, confidence_interval, interval_of, widened
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
) -> ConfidenceInterval:
    r"""Return the confidence interval of the first value less, or over, the second.

    For most metrics it is `interval_of` of the paired replicates. Binned errors are larger by
    chance the fewer the samples, so that the difference of two says as much about the sizes of the
    groups as about the groups. Their intervals by test inversion, [l, u] about the estimates e, are
    combined instead, as if the two were independent (which is cautious where they are paired):

    .. math:: e_1 - e_2 - \sqrt{(e_1 - l_1)^2 + (u_2 - e_2)^2}
        \quad\text{to}\quad e_1 - e_2 + \sqrt{(u_1 - e_1)^2 + (e_2 - l_2)^2}

    for a gap; for a ratio, from l_1 / u_2 to u_1 / l_2, infinite if the second may be 0.

    Parameters
    ----------
    metric : Metric
    values : pair of float
        The metric of the two.
    replicates : pair of Replicates
        From one plan.
    confidence : float, default=0.95
    kind : {"gap", "ratio"}, default="gap"

    Returns
    -------
    ConfidenceInterval
        Its ``estimate``, for binned errors, is that of the estimates freed of their bias.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.metrics import METRICS
    >>> from caveat.resampling import make_plan, pair_interval, replicates
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y, few = (rng.random(1000) < p).astype(int), np.arange(1000) < 100
    >>> plan, metric = make_plan(1000, random_state=0), METRICS["ece"]
    >>> found = [replicates(metric, y, {"probabilities": p}, plan, rows=r) for r in (few, ~few)]
    >>> gap = pair_interval(metric, (found[0].centre, found[1].centre), tuple(found))
    >>> bool(gap.low < 0 < gap.high), gap.method
    (True, 'test inversion')
    """
    check_fraction(confidence, "confidence")
    if kind not in ("gap", "ratio"):
        raise OptionError(f"kind must be 'gap' or 'ratio'; got {kind!r}")
    first, second = replicates
    if first.norm is None or second.norm is None:
        if kind == "gap":
            return interval_of(values[0] - values[1], first - second, confidence)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(np.float64(values[0]) / values[1])
        return interval_of(ratio, first / second, confidence)
    one, other = (
        confidence_interval(metric, value, found, confidence)
        for value, found in zip(values, replicates, strict=True)
    )
    if one.estimate is None or other.estimate is None:
        return ConfidenceInterval(float("nan"), float("nan"), "undefined")
    return (_gap if kind == "gap" else _ratio)(one, other, one.estimate, other.estimate)


def _gap(
    one: ConfidenceInterval, other: ConfidenceInterval, first: float, second: float
) -> ConfidenceInterval:
    below = float(np.hypot(max(first - one.low, 0.0), max(other.high - second, 0.0)))
    above = float(np.hypot(max(one.high - first, 0.0), max(second - other.low, 0.0)))
    gap = first - second
    return ConfidenceInterval(gap - below, gap + above, "test inversion", gap)


def _ratio(
    one: ConfidenceInterval, other: ConfidenceInterval, first: float, second: float
) -> ConfidenceInterval:
    low = one.low / other.high if other.high > 0 else 0.0
    high = one.high / other.low if other.low > 0 else float("inf")
    return ConfidenceInterval(low, high, "test inversion", first / second if second > 0 else None)


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
        Of a binned error, under one plan. The errors of each sequence are averaged: over classes,
        say.
    confidence : float, default=0.95

    Returns
    -------
    bool

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
    close = 1e-12 * max(one.observed, other.observed)  # equal on paper, not in rounding
    bottom, top, tail = observed - close, observed + close, (1 - level) / 2
    for length in np.linspace(0, max(one.observed, other.observed), _LENGTHS):
        difference = one.at(length) - other.at(length)
        # An undefined resample (NaN) speaks for neither side, and so against a difference.
        if min(np.mean(~(difference > top)), np.mean(~(difference < bottom))) > tail:
            return True
    return False


class _Errors:
    """The mean of some binned errors, and what resamples make of it at any true value."""

    def __init__(self, found: Sequence[Replicates], level: float) -> None:
        self._parts = []
        for one in found:
            if one.norm is None or one.gaps is None or one.deviations is None:
                raise OptionError("equal_errors compares binned errors; use interval_of for others")
            self._parts.append((one.norm, one.gaps, widened(one.deviations, level, one)))
        self.observed = float(np.mean([norm(gaps) for norm, gaps, _ in self._parts]))

    def at(self, length: float) -> FloatArray:
        """Return the resampled errors if the true one were this long."""
        scale = length / self.observed if self.observed > 0 else 0.0
        found = [norm(scale * gaps + deviations) for norm, gaps, deviations in self._parts]
        return np.asarray(np.mean(found, axis=0))
