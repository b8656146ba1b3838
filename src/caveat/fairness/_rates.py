"""What is measured of each group: rates, mean uncertainties, and their values in every resample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..resampling import ConfidenceInterval, Plan, Replicates, interval_of
from .measures import UNCERTAINTIES

Key = tuple[str, str]
"""A rate or mean, and the class or target it is of (empty for all)."""

ROUNDING = 1e-12
"""A smaller number beside that which it is the rounding of is nothing."""

_SAME = 1e-9
_AT_ONCE = 256


@dataclass(frozen=True)
class Samples:
    """What the audit needs of every sample.

    Attributes
    ----------
    columns : mapping of str to ndarrays of shape (samples,)
        Of numbers: ``mean_absolute_error`` and uncertainties, by (name, label).
    truth, predicted : ndarrays of shape (samples,) or None
        Codes of classes.
    labels : sequence of (code, label)
        The classes that are compared with the rest.
    classes : int
    weight : ndarray of shape (samples,) or None
    plan : Plan or None
    counts : ndarray of shape (1 + resamples, units)
        How often each unit counts: once, then as in each resample.
    """

    columns: Mapping[Key, FloatArray]
    truth: NDArray[np.intp] | None
    predicted: NDArray[np.intp] | None
    labels: Sequence[tuple[int, str]]
    classes: int
    weight: FloatArray | None
    plan: Plan | None
    counts: FloatArray

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
    """A share or a mean in one group.

    Attributes
    ----------
    value : float
        NaN if nothing is left to take it of.
    replicates : Replicates or None
    units : int
        The independent samples (or clusters) that it is taken of.
    share : bool
        Whether it is between 0 and 1 and counts samples.
    why : str
        Why it is undefined.
    """

    value: float
    replicates: Replicates | None
    units: int
    share: bool
    why: str = ""

    @property
    def at_an_end(self) -> bool:
        """Whether it is a share of none or all, of which resampling sees no spread."""
        return self.share and self.value in (0.0, 1.0)

    @cached_property
    def constant(self) -> bool:
        """Whether it is the same in every resample, but for rounding."""
        assert self.replicates is not None
        values = self.replicates.values[np.isfinite(self.replicates.values)]
        return len(values) == 0 or float(np.ptp(values)) <= _SAME * abs(self.value)

    def interval(self, confidence: float) -> ConfidenceInterval:
        r"""Return the confidence interval; for none or all of m, the exact limit of a share.

        That is :math:`((1 - c) / 2)^{1/m}` from the end that was seen.
        """
        if self.replicates is None or np.isnan(self.value):
            return ConfidenceInterval(np.nan, np.nan, "undefined")
        if self.at_an_end:
            limit = float(((1 - confidence) / 2) ** (1 / self.units))
            low, high = (limit, 1.0) if self.value else (0.0, 1 - limit)
            return ConfidenceInterval(low, high, "exact limit of a share")
        if self.constant:
            return ConfidenceInterval(np.nan, np.nan, "constant")
        bounds = (0.0, 1.0) if self.share else (0.0, np.inf)
        return interval_of(self.value, self.replicates, confidence, range=bounds)


def rates(samples: Samples, rows: NDArray[np.intp]) -> dict[Key, Rate]:
    """Return every rate and mean of some rows, with its replicates."""
    group = _Group(samples, rows)
    parts: dict[Key, _Part] = {}
    if samples.truth is not None:
        parts |= group.shares()
    for key, values in samples.columns.items():
        parts[key] = group.mean(values)
    return group.rates(parts)


@dataclass(frozen=True)
class _Part:
    """What is divided by what, summed over the rows of each unit."""

    above: FloatArray
    below: FloatArray
    share: bool = True
    why: str = "no sample with a weight"


class _Group:
    """The rows of one group, summed over the units they are in."""

    def __init__(self, samples: Samples, rows: NDArray[np.intp]) -> None:
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

    def mean(self, values: FloatArray) -> _Part:
        """Return the mean of values of all samples, over the rows of the group."""
        return _Part(self._sums(values[self._rows]), self._size, share=False)

    def shares(self) -> dict[Key, _Part]:
        """Return the rates of each class against the rest."""
        assert self._samples.truth is not None
        assert self._samples.predicted is not None
        truth, predicted = self._samples.truth[self._rows], self._samples.predicted[self._rows]
        right = truth == predicted
        hits = self._by_class(truth, right)
        misses = self._by_class(truth, ~right)
        alarms = self._by_class(predicted, ~right)
        size = self._size
        found = {("accuracy", ""): _Part(hits.sum(axis=1), size)}
        for code, label in self._samples.labels:
            hit, miss, alarm = hits[:, code], misses[:, code], alarms[:, code]
            rest = _rounded(size - hit - miss - alarm, size)
            positives, negatives = hit + miss, alarm + rest
            parts = {
                "base_rate": _Part(positives, size),
                "selection_rate": _Part(hit + alarm, size),
                "positive_predictive_value": _Part(hit, hit + alarm, why="none predicted positive"),
                "negative_predictive_value": _Part(
                    rest, rest + miss, why="none predicted negative"
                ),
                "true_positive_rate": _Part(hit, positives, why="no positives"),
                "false_negative_rate": _Part(miss, positives, why="no positives"),
                "false_positive_rate": _Part(alarm, negatives, why="no negatives"),
            }
            found |= {(name, label): part for name, part in parts.items()}
        return found

    def _by_class(self, codes: NDArray[np.intp], chosen: NDArray[np.bool_]) -> FloatArray:
        """Count the chosen rows by unit and class, (units, classes)."""
        number = self._samples.classes
        weight = None if self._weight is None else self._weight[chosen]
        place = self._unit[chosen] * number + codes[chosen]
        found = np.bincount(place, weight, self._units * number)
        return found.reshape(-1, number).astype(np.float64)

    def rates(self, parts: dict[Key, _Part]) -> dict[Key, Rate]:
        """Return all rates, in every resample; some at a time go through one matrix product."""
        keys, found = list(parts), {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            above, below = (
                self._counts @ np.stack([getattr(parts[key], side) for key in some], axis=1)
                for side in ("above", "below")
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                values = above / below
            for key, column in zip(some, values.T, strict=True):
                found[key] = self._rate(parts[key], column)
        return found

    def _rate(self, part: _Part, values: FloatArray) -> Rate:
        values = _at_ends(values) if part.share else np.ascontiguousarray(values)
        value = float(values[0])
        if np.isnan(value):
            return Rate(value, None, 0, part.share, part.why)
        if self._samples.plan is None:
            return Rate(value, None, len(self._rows), part.share)
        units = int(np.count_nonzero(part.below))
        found = Replicates(values[1:], value, units, self._samples.plan.strata)
        return Rate(value, found, units, part.share)


def _rounded(difference: FloatArray, size: FloatArray) -> FloatArray:
    """Take the rounding of weights out of what is 0 or more on paper."""
    return np.where(difference > ROUNDING * size, difference, 0.0)


def _at_ends(values: FloatArray) -> FloatArray:
    """Take the rounding of weights out of shares of all and none."""
    values = np.where(values > 1 - ROUNDING, 1.0, values)
    return np.where(values < ROUNDING, 0.0, values)


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def quantiles(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return some quantiles: the smallest values that so much of the weight does not exceed."""
    return np.asarray(np.quantile(values, QUANTILES, method="inverted_cdf", weights=weight))


def uncertainty_columns(
    parts: Mapping[str, FloatArray], label: str, rounding: FloatArray
) -> dict[Key, FloatArray]:
    """Return the columns of aleatoric, epistemic and total uncertainty under their names.

    What is not above its rounding is 0: members that agree would differ between groups.
    """
    order = (
        np.where(parts[name] > rounding, parts[name], 0.0)
        for name in ("aleatoric", "epistemic", "total")
    )
    return {(name, label): part for name, part in zip(UNCERTAINTIES, order, strict=True)}
