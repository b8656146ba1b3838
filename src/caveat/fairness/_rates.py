"""Rates and mean uncertainties of each group, with their values in every resample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..resampling import ConfidenceInterval, Plan, Replicates
from ..resampling.intervals import interval_at
from ..resampling.spread import Spread, spread_of, stacked
from ..resampling.student import STUDENT, first_errors
from .measures import MEAN_PROBABILITY, UNCERTAINTIES

Key = tuple[str, str]
"""The name of a rate or mean, and its class or target (empty for all)."""

ROUNDING = 1e-12
"""Relative differences below this rounding error are treated as zero."""

_SAME = 1e-9
_AT_ONCE = 256


@dataclass(frozen=True)
class AuditData:
    """The values of every sample that the audit needs."""

    columns: Mapping[Key, FloatArray]
    """Uncertainties and, for regression, absolute errors."""
    truth: NDArray[np.intp] | None
    predicted: NDArray[np.intp] | None
    labels: Sequence[tuple[int, str]]
    """The codes and names of the classes that are compared with the rest."""
    classes: int
    weight: FloatArray | None
    plan: Plan | None
    counts: FloatArray
    """How often each unit counts, (1 + resamples, units): once, then as in each resample."""
    repeated: bool = False
    """Whether weights are numbers of independent samples."""

    @property
    def unit(self) -> NDArray[Any]:
        """The unit of each sample."""
        if self.plan is not None:
            return self.plan.unit
        return np.zeros(len(next(iter(self.columns.values()))), dtype=np.intp)


def all_counts(plan: Plan | None) -> FloatArray:
    """Return how often each unit counts: once, then as in each resample."""
    if plan is None:
        return np.ones((1, 1))
    return np.concatenate([np.ones((1, plan.units)), plan.counts.astype(np.float64)])


@dataclass(frozen=True)
class Rate:
    """A share or a mean in one group."""

    value: float
    """NaN if it is taken over no samples."""
    replicates: Replicates | None
    units: int
    """The number of independent samples or clusters."""
    share: bool
    """Whether it is a share of samples, between 0 and 1."""
    why: str = ""
    """Why it is undefined."""

    @property
    def at_an_end(self) -> bool:
        """Whether it is a share of 0 or 1, which is the same in every resample."""
        return self.share and self.value in (0.0, 1.0)

    @cached_property
    def constant(self) -> bool:
        """Whether it is the same in every resample, within rounding error."""
        assert self.replicates is not None
        values = self.replicates.values[np.isfinite(self.replicates.values)]
        return len(values) == 0 or float(np.ptp(values)) <= _SAME * abs(self.value)

    def interval(
        self, level: float, confidence: float | None = None, *, log: bool = False
    ) -> ConfidenceInterval:
        """Return the confidence interval at a level, which may exceed that of the resamples."""
        if self.replicates is None or np.isnan(self.value):
            return ConfidenceInterval(np.nan, np.nan, "undefined")
        if self.constant and not self.share:
            return ConfidenceInterval(np.nan, np.nan, "constant")
        bounds = (0.0, 1.0) if self.share else (0.0, np.inf)
        sure = level if confidence is None else confidence
        return interval_at(self.value, self.replicates, level, sure, range=bounds, log=log)


def rates(samples: AuditData, rows: NDArray[np.intp]) -> dict[Key, Rate]:
    """Return every rate and mean of some rows, with its replicates."""
    group = _Group(samples, rows)
    parts: dict[Key, _Rate] = {}
    if samples.truth is not None:
        parts |= group.shares()
    for key, values in samples.columns.items():
        parts[key] = group.mean(values)
    return group.rates(parts)


@dataclass(frozen=True)
class _Rate:
    """Numerator and denominator of a rate, summed over the rows of each unit."""

    above: FloatArray
    below: FloatArray
    hits: NDArray[np.bool_] | None = None
    """For a share: the rows in the numerator."""
    among: NDArray[np.bool_] | None = None
    """For a share: the rows in the denominator; None for all."""
    why: str = "no sample with a weight"


_NONE = {True: "none predicted positive", False: "none predicted negative"}


class _Group:
    """The rows of one group, summed over the units they are in."""

    def __init__(self, samples: AuditData, rows: NDArray[np.intp]) -> None:
        self._samples, self._rows = samples, rows
        self._weight = None if samples.weight is None else samples.weight[rows]
        units, self._unit = np.unique(samples.unit[rows], return_inverse=True)
        self._units = len(units)
        self._counts = samples.counts[:, units]
        self._size = self._sums(None)

    def _sums(self, values: FloatArray | None) -> FloatArray:
        """Sum values, or weights, over the rows of each unit."""
        weight = self._weight
        if values is not None:
            weight = values if weight is None else values * weight
        return np.bincount(self._unit, weight, self._units).astype(np.float64)

    def mean(self, values: FloatArray) -> _Rate:
        """Return the mean of values of all samples, over the rows of the group with a value."""
        mine = values[self._rows]
        unknown = np.isnan(mine)
        if not unknown.any():
            return _Rate(self._sums(mine), self._size)
        known = self._sums((~unknown).astype(np.float64))
        return _Rate(self._sums(np.where(unknown, 0.0, mine)), known, why="no true value is known")

    def shares(self) -> dict[Key, _Rate]:
        """Return the rates of each class against the rest."""
        assert self._samples.truth is not None
        assert self._samples.predicted is not None
        truth, predicted = self._samples.truth[self._rows], self._samples.predicted[self._rows]
        right = truth == predicted
        hits = self._by_class(truth, right)
        misses = self._by_class(truth, ~right)
        alarms = self._by_class(predicted, ~right)
        size = self._size
        result = {("accuracy", ""): _Rate(hits.sum(axis=1), size, right)}
        for code, label in self._samples.labels:
            hit, miss, alarm = hits[:, code], misses[:, code], alarms[:, code]
            rest = _rounded(size - hit - miss - alarm, size)
            positives, negatives = hit + miss, alarm + rest
            called, others = hit + alarm, rest + miss
            true, said = truth == code, predicted == code
            parts = {
                "base_rate": _Rate(positives, size, true),
                "selection_rate": _Rate(called, size, said),
                "positive_predictive_value": _Rate(hit, called, right, said, _NONE[True]),
                "negative_predictive_value": _Rate(rest, others, ~true, ~said, _NONE[False]),
                "true_positive_rate": _Rate(hit, positives, right, true, "no positives"),
                "false_negative_rate": _Rate(miss, positives, ~right, true, "no positives"),
                "false_positive_rate": _Rate(alarm, negatives, said, ~true, "no negatives"),
            }
            if (MEAN_PROBABILITY, label) in self._samples.columns:
                said_mass = self._sums(self._samples.columns[MEAN_PROBABILITY, label][self._rows])
                why = "a predicted probability of 0"
                parts["observed_over_predicted"] = _Rate(positives, said_mass, why=why)
            result |= {(name, label): part for name, part in parts.items()}
        return result

    def _by_class(self, codes: NDArray[np.intp], chosen: NDArray[np.bool_]) -> FloatArray:
        """Count the chosen rows by unit and class, (units, classes)."""
        number = self._samples.classes
        weight = None if self._weight is None else self._weight[chosen]
        place = self._unit[chosen] * number + codes[chosen]
        result = np.bincount(place, weight, self._units * number)
        return result.reshape(-1, number).astype(np.float64)

    def rates(self, parts: dict[Key, _Rate]) -> dict[Key, Rate]:
        """Return all rates in every resample, many of them by one matrix product."""
        keys, result = list(parts), {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            above, below = (
                self._counts @ np.stack([getattr(parts[key], side) for key in some], axis=1)
                for side in ("above", "below")
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(below > 0, above / below, np.nan)
            for key, column in zip(some, values.T, strict=True):
                result[key] = self._rate(parts[key], column)
        return result

    def _rate(self, part: _Rate, values: FloatArray) -> Rate:
        share = part.hits is not None
        values = _at_ends(values) if share else np.ascontiguousarray(values)
        value, plan = float(values[0]), self._samples.plan
        if np.isnan(value):
            return Rate(value, None, 0, share, part.why)
        if plan is None:
            return Rate(value, None, len(self._rows), share)
        units = int(np.count_nonzero(part.below))
        clustered = plan.cluster is not None
        result = Replicates(values[1:], value, units, plan.strata, clustered=clustered)
        if part.hits is not None:
            result = replace(result, share=self._share(part.hits, part.among))
        elif units <= STUDENT and plan.strata == 1:
            errors = first_errors(part.below, part.above, self._counts, units)
            result = replace(result, error=float(errors[0]), errors=errors[1:])
        return Rate(value, result, units, share)

    def _share(self, hits: NDArray[np.bool_], among: NDArray[np.bool_] | None) -> Spread:
        """Return the spread of the share of hits among some of the rows."""
        plan = self._samples.plan
        assert plan is not None
        rows = slice(None) if among is None else among
        cluster = None if plan.cluster is None else plan.cluster[self._rows][rows]
        weight = None if self._weight is None else self._weight[rows]
        if self._samples.repeated and weight is not None:
            number = float(weight.sum())
            mean = float(weight @ hits[rows]) / number
            return stacked([(mean, mean * (1 - mean) / number, *[number] * 4)], clustered=False)
        return stacked([spread_of(hits[rows].astype(float), weight, cluster)], cluster is not None)


def _rounded(difference: FloatArray, size: FloatArray) -> FloatArray:
    """Set differences within the rounding error of weights to 0."""
    return np.where(difference > ROUNDING * size, difference, 0.0)


def _at_ends(values: FloatArray) -> FloatArray:
    """Set shares within the rounding error of weights to exactly 0 or 1."""
    values = np.where(values > 1 - ROUNDING, 1.0, values)
    return np.where(values < ROUNDING, 0.0, values)


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def quantiles(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the weighted quantiles at `QUANTILES`."""
    return np.asarray(np.quantile(values, QUANTILES, method="inverted_cdf", weights=weight))


def uncertainty_columns(
    parts: Mapping[str, FloatArray], label: str, rounding: FloatArray
) -> dict[Key, FloatArray]:
    """Return the columns of aleatoric, epistemic and total uncertainty under their names.

    Values within rounding error are set to 0, so that rounding shows no gap between groups.
    """
    order = (
        np.where(parts[name] > rounding, parts[name], 0.0)
        for name in ("aleatoric", "epistemic", "total")
    )
    return {(name, label): part for name, part in zip(UNCERTAINTIES, order, strict=True)}
