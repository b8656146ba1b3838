"""Gaps and ratios of one metric between two groups, or two predictions."""

from typing import Literal

import numpy as np

from .._validation import check_fraction
from ..exceptions import OptionError
from ..metrics._entry import Metric
from .intervals import ConfidenceInterval, confidence_interval, interval_of
from .replication import Replicates

__all__ = ["pair_interval"]


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
