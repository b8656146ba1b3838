"""The value of a metric in every resample."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..exceptions import ShapeError
from ..metrics.entry import Metric
from ..metrics.sums import UNBIASED, Norm, Sums, dense
from .null import as_noisy, null_draws
from .plan import Plan
from .prepared import Prepared
from .spread import Spread, spread_of, stacked
from .student import STUDENT, products, standard_errors
from .unseen import with_unseen

__all__ = ["Replicates", "replicates"]

LEAST = 5
"""With fewer samples behind the weakest part of a metric, resamples are meaningless."""

_CHUNK = 2**19
"""Doubles of resampled sums held at a time (4 MiB)."""


@dataclass(frozen=True)
class Replicates:
    """A statistic in every resample, and what else its interval needs.

    Behaves as the array of its values; differences and ratios of two under one plan are paired.

    Attributes
    ----------
    values : ndarray of shape (resamples,)
        NaN where the metric is undefined in a resample, such as for a group without positives.
    center : float
        The same computation on the samples themselves, each once; the metric's value, up to the
        approximation by cells with many samples.
    units : int
        The number of units that were resampled, fewer if weights are unequal; 0 if unknown.
    strata : int
        How many of these are degrees of freedom lost to strata.
    gaps : ndarray of shape (gaps,), optional
        For binned errors: the signed gaps of the samples themselves, of which the error is the
        ``norm``.
    deviations : ndarray of shape (resamples, gaps), optional
        The gaps of each resample less those.
    norm : callable, optional
    error, errors : float and ndarray of shape (resamples,), optional
        For smooth functions of means: the standard error of the center and of each value.
    share : Spread, optional
        For shares: that of hits and misses, from which the interval follows without resamples.
    hit : float
        The value if all samples are hits.
    unseen : ndarray of shape (resamples,), optional
        Where nearly all predictions are right, or wrong, or hold the true value: the values with
        one more sample of the other kind in each resample, see `caveat.resampling.unseen`.
    clustered : bool
        Whether samples belong together in clusters, of which two groups may hold the same.
    half : float
        The share of the units in each resample, if they were drawn without replacement; else 0.
    null : callable, optional
        For binned errors: gives the values that chance would give a calibrated prediction.
    """

    values: FloatArray
    center: float
    units: int = 0
    strata: int = 1
    gaps: FloatArray | None = field(default=None, repr=False)
    deviations: FloatArray | None = field(default=None, repr=False)
    norm: Norm | None = field(default=None, repr=False)
    error: float = float("nan")
    errors: FloatArray | None = field(default=None, repr=False)
    share: Spread | None = field(default=None, repr=False)
    hit: float = 1.0
    unseen: FloatArray | None = field(default=None, repr=False)
    clustered: bool = False
    half: float = 0.0
    null: Callable[[], FloatArray] | None = field(default=None, repr=False, compare=False)

    @property
    def biased(self) -> bool:
        """Whether halves of the samples show a bias: a shift of more than half their spread."""
        if not self.half:
            return False
        with np.errstate(invalid="ignore"):
            return bool(abs(np.nanmean(self.values) - self.center) > np.nanstd(self.values) / 2)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __sub__(self, other: "Replicates") -> "Replicates":
        return _paired(np.subtract, self, other)

    def __truediv__(self, other: "Replicates") -> "Replicates":
        return _paired(np.divide, self, other)


def _paired(function: np.ufunc, first: Replicates, second: Replicates) -> Replicates:
    """Return a function of two statistics in every resample."""
    if len(first) != len(second):
        raise ShapeError(
            f"replicates of {len(first)} and {len(second)} resamples are not paired; make both "
            "from one plan"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        values = function(first.values, second.values)
        center = float(function(first.center, second.center))
    units, strata = min(first.units, second.units), max(first.strata, second.strata)
    return Replicates(values, center, units, strata, half=max(first.half, second.half))


def replicates(
    metric: Metric,
    truth: Any = None,
    inputs: Mapping[str, Any] | None = None,
    plan: Plan | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    rows: Any = None,
    prepared: Prepared | None = None,
) -> Replicates:
    """Compute a metric in every resample of a plan.

    Metrics of the registry are functions of sums over cells of the samples; resampling reweights
    the sums of units, all resamples in one matrix product. With up to 4,096 rows that is exact: the
    value in a resample is that of the metric with the drawn counts as ``sample_weight`` (for
    `smooth_calibration_error`, on a coarser grid). With more, ranks and equal-count bins are those
    of some hundred cells of the key. Any other metric is called once for each of as many random
    halves of the units, drawn without replacement, which show its bias as well as its spread.

    Parameters
    ----------
    metric : Metric
        An entry of `caveat.metrics.METRICS`, or one of your own.
    truth : array of shape (samples,), optional
        The first argument of the metric's function.
    inputs : dict of str to array, optional
        The other arguments by name; all of a `Prepared` are read if it is given instead.
    plan : Plan, optional
    options : dict, optional
        Keyword options of the metric.
    sample_weight : array of shape (samples,), optional
        Weight of each row, multiplied by how often it is drawn.
    rows : array of bool or int, optional
        The rows of one group.
    prepared : Prepared, optional
        In place of ``truth``, ``inputs``, ``plan``, ``sample_weight`` and ``rows``: shares work
        between metrics.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.metrics import METRICS
    >>> from caveat.resampling import make_plan, replicates
    >>> y, mean = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 2.0, 2.0, 4.5])
    >>> plan = make_plan(4, resamples=5, random_state=0)
    >>> draws = replicates(METRICS["mae"], y, {"mean": mean}, plan)
    >>> draws.center, draws.values.shape
    (0.5, (5,))
    """
    if prepared is None:
        if truth is None or inputs is None or plan is None:
            raise ShapeError("replicates needs truth, inputs and plan, or prepared")
        prepared = Prepared(truth, inputs, plan, sample_weight=sample_weight, rows=rows)
    chosen = dict(options or {})
    if metric.sums is None:
        return _called(metric, prepared, chosen)
    needed = prepared.narrowed(metric.inputs)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        made = metric.sums(needed, **chosen)
        result = replace(_of_samples(made, needed), clustered=needed.cluster is not None)
        if made.rests_on < LEAST:
            return replace(result, values=np.full(len(result), np.nan))
        if made.hits is not None:
            share = spread_of(made.hits, needed.weight, needed.cluster)
            clustered = needed.cluster is not None
            return replace(result, share=stacked([share], clustered), hit=made.hit)
        if np.isfinite(made.rests_on):
            result = replace(result, units=min(result.units, int(made.rests_on)))
        more = with_unseen(needed, chosen, half_uniform=result.norm is not None)
        if more is not None:
            other = _of_samples(metric.sums(more, **chosen), more)
            result = replace(result, unseen=other.values, deviations=other.deviations)
    # With many samples every bin holds enough of them, and no truths need to be drawn.
    if result.norm is None or not made.zero_if_calibrated or not needed.exact:
        return result
    draws = partial(null_draws, metric.sums, needed, chosen)
    if made.value is not None:
        return replace(result, null=lambda: draws()[0])
    values, gaps = draws()
    if len(gaps) and result.deviations is not None:
        result = replace(result, deviations=as_noisy(result.deviations, gaps))
    return replace(result, null=lambda: values)


def summed(sums: Sums, matrices: Sequence[Any], plan: Plan, units: int) -> Replicates:
    """Return a metric in every resample from the sums of units, one matrix for each part.

    A matrix may be a function that makes it, so that it is freed before the next.
    """
    read = [
        _reweighted(matrix() if callable(matrix) else matrix, part.reduce, plan)
        for part, matrix in zip(sums.parts, matrices, strict=True)
    ]
    finished, strata = sums.finish(*read), plan.strata
    if sums.norm == UNBIASED:
        made = Replicates(finished[1:], float(finished[0]), units, strata)
        if sums.means is None or strata > 1 or units > STUDENT:
            return made
        matrix = dense(matrices[0]() if callable(matrices[0]) else matrices[0])
        weight_and_scores = (matrix.shape[1] + 1) // 2
        if matrix[:, weight_and_scores:].any():  # an infinite score has no standard error
            return made
        squares = _reweighted(products(matrix[:, :weight_and_scores]), np.asarray, plan)
        errors = standard_errors(read[0][:, :weight_and_scores], squares, sums.means, units)
        return replace(made, error=float(errors[0]), errors=errors[1:])
    values = sums.norm(finished) if sums.value is None else sums.value(*read)
    gaps, deviations = finished[0], finished[1:] - finished[0]
    return Replicates(values[1:], float(values[0]), units, strata, gaps, deviations, sums.norm)


def _of_samples(sums: Sums, prepared: Prepared) -> Replicates:
    matrices = [part.matrix for part in sums.parts]
    return summed(sums, matrices, prepared.plan, prepared.counted_units)


def _reweighted(matrix: Any, reduce: Callable[[FloatArray], FloatArray], plan: Plan) -> FloatArray:
    """Return the reduced sums of the samples themselves and of each resample."""
    # Each unit once, except those that only some resamples hold.
    once = (np.arange(plan.units) < plan.units - plan.extra).astype(np.float64)
    step = max(16, _CHUNK // matrix.shape[1])
    reduced = [reduce(once[None] @ matrix)]
    kind: Any = np.float64
    if _counts_only(matrix, plan):
        kind, matrix = np.float32, matrix.astype(np.float32)
    for start in range(0, plan.resamples, step):
        counts = plan.counts[start : start + step].astype(kind)
        reduced.append(reduce((counts @ matrix).astype(np.float64, copy=False)))
    return np.concatenate(reduced)


def _counts_only(matrix: Any, plan: Plan) -> bool:
    """Return whether sums of these whole numbers are exact in single precision, which is faster."""
    if hasattr(matrix, "toarray") or not _whole(matrix[:1]):
        return False
    largest = matrix.sum(axis=0).max(initial=0.0) * plan.counts.max(initial=1)
    return largest < 2**24 and matrix.min(initial=0.0) >= 0 and _whole(matrix)


def _whole(numbers: FloatArray) -> bool:
    return bool((np.rint(numbers) == numbers).all())


def _called(metric: Metric, prepared: Prepared, options: dict[str, Any]) -> Replicates:
    """Call the metric once for each half of the units."""
    plan, unit = prepared.plan, prepared.unit
    base = np.ones(len(prepared)) if prepared.weight is None else prepared.weight
    inputs = {name: prepared.inputs[name] for name in metric.inputs}

    def value(weight: FloatArray) -> float:
        if not weight.any():
            return float("nan")
        return float(metric.function(prepared.truth, **inputs, **options, sample_weight=weight))

    values = np.array([value(chosen[unit] * base) for chosen in plan.halves()])
    half = (plan.units // 2) / plan.units
    return Replicates(values, value(base), prepared.counted_units, plan.strata, half=half)
