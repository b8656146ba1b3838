"""What an evaluation has shown, and how far: the limits by which a verdict decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from ..resampling.pairs import combined, widening
from ..results.judgments import State
from ..results.rows import Row
from ..results.words import Level, Statement, center
from .result import Evaluation

# Probabilities off by 2 percentage points are read the same by people; 5 points, 80 % for 85 %,
# begin to matter. Between them a verdict says "nearly".
SMALL = 0.02
TOLERABLE = 0.05

# The same for sizes of errors, which are relative: a spread known to a tenth is as good as known.
SMALL_RATIO = 0.1
TOLERABLE_RATIO = 0.2

# With fewer samples, or independent units of them, resampling itself is not to be relied on.
LEAST_SAMPLES = 50
LEAST_UNITS = 10
# So many predictions must be wrong, and right, before it is said how they are ranked.
LEAST_ERRORS = 10

# An interval of a share that is wider than this says little of a group.
WIDE = 0.2


@dataclass(frozen=True)
class Finding:
    """A statement, and what the summary needs of it."""

    topic: str
    state: State
    statement: Statement
    names: tuple[str, ...] = ()
    summary: str = ""
    """What the summary says of it, where the state alone does not tell."""
    singular: bool = False
    """Whether that is of its confidence in the class that it names."""


@dataclass(frozen=True)
class Bounds:
    """Between what the value lies, at a confidence that allows for how much was looked at."""

    center: float
    low: float
    high: float


@dataclass(frozen=True)
class Evidence:
    """An evaluation with its rows at hand, and the limits that they allow to claim."""

    evaluation: Evaluation

    @cached_property
    def confidence(self) -> float:
        """Of the intervals in the rows."""
        return self.evaluation.confidence

    @cached_property
    def samples(self) -> int:
        """How many were evaluated."""
        return len(self.evaluation.truth)

    @cached_property
    def measured(self) -> bool:
        """Whether any row says how sure it is."""
        return any(not np.isnan(row.low) for row in self.evaluation.rows)

    @cached_property
    def units(self) -> float:
        """How many independent samples of equal weight would say as much."""
        result = self.samples * self.evenness
        if self.evaluation.cluster is not None:
            result = min(result, float(len(np.unique(self.evaluation.cluster.astype(str)))))
        return result

    @cached_property
    def evenness(self) -> float:
        """By how much unequal weights reduce the number of samples (Kish): 1 is not at all."""
        weight = self.evaluation.sample_weight
        if weight is None:
            return 1.0
        return float(weight.sum() ** 2 / np.square(weight).sum() / self.samples)

    @cached_property
    def _by_metric(self) -> dict[str, list[Row]]:
        result: dict[str, list[Row]] = {}
        for row in self.evaluation.rows:
            if not np.isnan(row.value):
                result.setdefault(row.metric, []).append(row)
        return result

    def overall(self, metric: str) -> list[Row]:
        """Return the defined rows of a metric over all samples: one for each option and target."""
        return [row for row in self.of(metric) if row.overall]

    def one(self, metric: str) -> Row | None:
        """Return the only row of a metric over all samples, or None."""
        result = self.overall(metric)
        return result[0] if result else None

    def of(self, metric: str) -> list[Row]:
        """Return all defined rows of a metric."""
        return self._by_metric.get(metric, [])

    def curve(self, metric: str, target: str = "") -> Any:
        """Return the curve behind a row, or None."""
        curves = self.evaluation.curves
        return curves.get((metric, target), curves.get(metric))

    def enough(self, row: Row) -> bool:
        """Whether there are enough samples for the row's interval to be taken seriously."""
        return row.samples >= LEAST_SAMPLES and self.row_units(row) >= LEAST_UNITS

    def row_units(self, row: Row) -> float:
        """Return the independent units of a row, taking those of a group to be its share."""
        return row.samples * self.units / self.samples

    def bounds(self, row: Row, looked_at: int = 1) -> Bounds:
        """Return the interval of a row, widened to hold for ``looked_at`` such rows together."""
        middle, wider = center(row), widening(self.confidence, looked_at)
        low = middle - wider * max(middle - row.low, 0.0)
        high = middle + wider * max(row.high - middle, 0.0)
        return Bounds(middle, low, high)

    def difference(self, row: Row, other: Row, looked_at: int = 1) -> Bounds:
        """Return that of the first row less the second, which are of different samples."""
        ends = [
            (bounds.low, bounds.center, bounds.high)
            for bounds in (self.bounds(row, looked_at), self.bounds(other, looked_at))
        ]
        low, gap, high = combined(ends[0], ends[1])
        return Bounds(gap, low, high)

    def all_or_none(self, row: Row) -> bool:
        """Whether a share is 0 or 1."""
        return row.value in (0.0, 1.0)


@cache
def normal_limit(confidence: float, looked_at: int = 1) -> float:
    """Return the normal quantile whose two tails hold what the confidence leaves, several times."""
    return NormalDist().inv_cdf(1 - (1 - confidence) / (2 * max(looked_at, 1)))


def size_state(bounds: Bounds, small: float, tolerable: float) -> State:
    """Return what is known of an error: right, nearly, off or unsure."""
    if bounds.high <= small:
        return State.RIGHT
    if bounds.high <= tolerable:
        return State.NEARLY
    return State.OFF if bounds.low > small else State.UNSURE


def coverage_state(bounds: Bounds, promised: float) -> State:
    """Return what is known of a coverage: right, nearly, narrow, wide or unsure.

    Misses count, not hits: at 95 % promised, 5 points more would be no miss at all. So it is
    tolerable to have up to twice, and down to half, the misses, and never more than 5 points off.
    """
    missed = 1 - promised
    inner = promised - min(SMALL, missed / 2), promised + min(SMALL, missed / 4)
    outer = promised - min(TOLERABLE, missed), promised + min(TOLERABLE, missed / 2)
    if inner[0] <= bounds.low and bounds.high <= inner[1]:
        return State.RIGHT
    if outer[0] <= bounds.low and bounds.high <= outer[1]:
        return State.NEARLY
    if bounds.high < inner[0]:
        return State.NARROW
    return State.WIDE if bounds.low > inner[1] else State.UNSURE


def quantile_state(bounds: Bounds, level: float) -> State:
    """Return what is known of a quantile: right, nearly, low, high or unsure.

    The rarer side counts as the misses: values above a quantile at 0.95, below one at 0.05.
    """
    upper = level >= 0.5
    if not upper:
        bounds, level = Bounds(1 - bounds.center, 1 - bounds.high, 1 - bounds.low), 1 - level
    state = coverage_state(bounds, level)
    # Too few true values below an upper quantile: it is too low; above a lower one: too high.
    sides = State.LOW, State.HIGH
    result = dict(zip((State.NARROW, State.WIDE), sides if upper else sides[::-1], strict=True))
    return result.get(state, state)


LEVELS: dict[State, Level] = {
    State.RIGHT: "good",
    State.NEARLY: "good",
    State.OFF: "bad",
    State.NARROW: "bad",
    State.WIDE: "bad",
    State.LOW: "bad",
    State.HIGH: "bad",
    State.MIXED: "bad",
    State.SOMEWHAT: "unsure",
    State.UNSURE: "unsure",
    State.UNMEASURED: "info",
}


def weighted_mean(values: Any, weight: Any) -> float:
    """Return the mean over samples, or over bins."""
    return float(np.average(values, weights=weight))


def unique_rows(rows: Sequence[Row | None]) -> tuple[Row, ...]:
    """Return the rows there are, each once, in order."""
    return tuple(dict.fromkeys(row for row in rows if row is not None))
