"""The rows of an evaluation, and the limits by which a verdict decides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..resampling.pairs import combined, widening
from ..resampling.spread import score
from ..results.judgments import FindingState
from ..results.rows import Row
from ..results.words import Level, Statement, center, listed
from .result import Evaluation

# People treat probabilities that differ by 2 percentage points alike; 5 points (80 % instead of
# 85 %) begin to matter. Between them a verdict says "nearly".
SMALL = 0.02
TOLERABLE = 0.05

# The same limits for the relative size of errors.
SMALL_RATIO = 0.1
TOLERABLE_RATIO = 0.2

# A rare event may be off by half again as much and no more where it is taken at face value.
RARE = 0.1
TOLERABLE_FACTOR = 1.5

# With fewer samples, or independent units, resampling itself is unreliable.
LEAST_SAMPLES = 50
LEAST_UNITS = 10
# The least number of wrong, and of right, predictions for a claim on their ranking.
LEAST_ERRORS = 10

# A smaller area under the ROC curve is of no practical use.
HARDLY = 0.6

# A wider interval of a share says little about a group.
WIDE = 0.2

NOT_MEASURED = "how sure that is was not measured"

MAIN = ("calibration", "classes", "coverage", "quantiles", "sets", "bias")
"""The topics of findings on all samples that the summary begins with."""

UNRELIABLE = ("group calibration", "group coverage")
"""The topics of findings on groups whose uncertainty is not to be relied on."""


@dataclass(frozen=True)
class Finding:
    """A statement, and what the summary needs."""

    topic: str
    state: FindingState
    statement: Statement
    names: tuple[str, ...] = ()
    summary: str = ""
    """The words of the summary, if the state alone does not determine them."""
    singular: bool = False
    """Whether the subject is "its confidence in the class that it names"."""
    reason: str = ""
    """Why something should not be used, in a clause of the next step."""


@dataclass(frozen=True)
class Bounds:
    """An interval at a confidence that allows for several comparisons."""

    center: float
    low: float
    high: float


@dataclass(frozen=True)
class Evidence:
    """An evaluation with its rows by metric, and intervals for several comparisons."""

    evaluation: Evaluation

    @cached_property
    def confidence(self) -> float:
        """The confidence of the intervals in the rows."""
        return self.evaluation.confidence

    @cached_property
    def samples(self) -> int:
        """The number of samples."""
        return self.evaluation.samples

    @cached_property
    def measured(self) -> bool:
        """Whether any row has an interval."""
        return any(not np.isnan(row.low) for row in self.evaluation.rows)

    @cached_property
    def units(self) -> float:
        """The effective number of independent samples: by weights (Kish), at most the clusters."""
        weight, cluster = self.evaluation.sample_weight, self.evaluation.cluster
        result, whole = float(self.samples), self.evaluation.whole
        if whole is not None:
            result = whole.units
        elif weight is not None:
            result = float(weight.sum() ** 2 / np.square(weight).sum())
        return result if cluster is None else min(result, len(np.unique(cluster.astype(str))))

    @cached_property
    def wrong(self) -> int:
        """The number of wrong predictions of classes; about so many, if only some rows have it."""
        whole, error = self.evaluation.whole, self.evaluation.error[:, 0]
        if whole is not None and whole.wrong is not None:
            return whole.wrong
        return round(float(error.mean()) * self.samples)

    @cached_property
    def class_shares(self) -> list[float]:
        """The share of each true class."""
        evaluation = self.evaluation
        if evaluation.whole is not None:
            return list(evaluation.whole.shares)
        truth = evaluation.truth[:, 0].astype(np.intp)
        number = len(evaluation.prediction.classes)
        counts = np.bincount(truth, evaluation.sample_weight, number)
        return [float(count) for count in counts / counts.sum()]

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
        """Return the curve of a metric, or None."""
        curves = self.evaluation.curves
        return curves.get((metric, target), curves.get(metric))

    def enough(self, row: Row, *, share: bool = False) -> bool:
        """Return whether there are enough samples, and independent units, for an interval.

        That of a ``share`` needs no resampling, and holds for few samples.
        """
        units = row.samples * self.units / self.samples
        return units >= LEAST_UNITS and (share or row.samples >= LEAST_SAMPLES)

    def bounds(self, row: Row, looked_at: int = 1) -> Bounds:
        """Return the interval of a row, widened to hold for ``looked_at`` such rows at once."""
        middle, wider = center(row), widening(self.confidence, looked_at)
        low = middle - wider * max(middle - row.low, 0.0)
        high = middle + wider * max(row.high - middle, 0.0)
        return Bounds(middle, low, high)

    def state(
        self,
        row: Row,
        judge: Callable[[Bounds], FindingState],
        looked_at: int = 1,
        *,
        share: bool = False,
    ) -> FindingState:
        """Return how bounds are judged; rows without interval, or of few samples, are not."""
        if np.isnan(row.low):
            return FindingState.UNMEASURED
        enough = self.enough(row, share=share)
        return judge(self.bounds(row, looked_at)) if enough else FindingState.UNSURE

    @cached_property
    def targets(self) -> list[str]:
        """The names of the targets, if numbers were predicted."""
        return [str(target) for target in self.evaluation.prediction.targets.tolist()]

    def difference(self, row: Row, other: Row, looked_at: int = 1) -> Bounds:
        """Return the bounds of the first row minus the second, which has other samples."""
        one, two = (
            (bounds.low, bounds.center, bounds.high)
            for bounds in (self.bounds(row, looked_at), self.bounds(other, looked_at))
        )
        low, gap, high = combined(one, two)
        return Bounds(gap, low, high)


def normal_limit(confidence: float, looked_at: int = 1) -> float:
    """Return the two-sided normal quantile for several comparisons at once (Bonferroni)."""
    return score(1 - (1 - confidence) / max(looked_at, 1))


def factor_state(bounds: Bounds) -> FindingState:
    """Return the state of an observed rate as a multiple of the predicted one."""
    least, most = 1 / (1 + TOLERABLE_RATIO), 1 + TOLERABLE_RATIO
    if bounds.low > most or bounds.high < least:
        return FindingState.OFF
    good = bounds.low >= 1 / TOLERABLE_FACTOR and bounds.high <= TOLERABLE_FACTOR
    return FindingState.NEARLY if good else FindingState.UNSURE


def size_state(bounds: Bounds, small: float, tolerable: float) -> FindingState:
    """Return the state of an error: right, nearly, off or unsure."""
    if bounds.high <= small:
        return FindingState.RIGHT
    if bounds.high <= tolerable:
        return FindingState.NEARLY
    return FindingState.OFF if bounds.low > small else FindingState.UNSURE


def coverage_state(bounds: Bounds, promised: float) -> FindingState:
    """Return the state of a coverage: right, nearly, narrow, wide or unsure.

    The misses count: twice and half the nominal number are tolerable, up to 5 points.
    """
    missed = 1 - promised
    inner = promised - min(SMALL, missed / 2), promised + min(SMALL, missed / 4)
    outer = promised - min(TOLERABLE, missed), promised + min(TOLERABLE, missed / 2)
    if inner[0] <= bounds.low and bounds.high <= inner[1]:
        return FindingState.RIGHT
    if outer[0] <= bounds.low and bounds.high <= outer[1]:
        return FindingState.NEARLY
    if bounds.high < inner[0]:
        return FindingState.NARROW
    return FindingState.WIDE if bounds.low > inner[1] else FindingState.UNSURE


def quantile_state(bounds: Bounds, level: float) -> FindingState:
    """Return the state of a quantile: right, nearly, low, high or unsure.

    Misses are the values on the rarer side: above a quantile at 0.95, below one at 0.05.
    """
    upper = level >= 0.5
    if not upper:
        bounds, level = Bounds(1 - bounds.center, 1 - bounds.high, 1 - bounds.low), 1 - level
    state = coverage_state(bounds, level)
    # With too few true values below it, an upper quantile is too low; a lower one is too high.
    if state not in (FindingState.NARROW, FindingState.WIDE):
        return state
    return FindingState.LOW if (state is FindingState.NARROW) == upper else FindingState.HIGH


LEVELS: dict[FindingState, Level] = {
    FindingState.RIGHT: "good",
    FindingState.NEARLY: "good",
    FindingState.OFF: "bad",
    FindingState.NARROW: "bad",
    FindingState.WIDE: "bad",
    FindingState.LOW: "bad",
    FindingState.HIGH: "bad",
    FindingState.MIXED: "bad",
    FindingState.SHAPE: "bad",
    FindingState.SOMEWHAT: "unsure",
    FindingState.UNSURE: "unsure",
    FindingState.UNMEASURED: "info",
}


def summary_level(finding: Finding) -> Level:
    """Return the level of a finding in the summary."""
    if finding.topic == "sets" and finding.state is FindingState.WIDE:
        return "good"
    if finding.state in (FindingState.NO_UNCERTAINTY, FindingState.ZEROS, FindingState.UNMEASURED):
        return "unsure"
    return LEVELS.get(finding.state, "bad")


def worst(levels: Sequence[Level]) -> Level:
    """Return the worst of some levels: bad, unsure or good."""
    for level in ("bad", "unsure"):
        if level in levels:
            return level
    return "good"


def names_in(findings: Sequence[Finding], *topics: str) -> str:
    """Return the groups in some findings, each once."""
    names = dict.fromkeys(name for f in findings if f.topic in topics for name in f.names)
    return listed(names) if names else ""


def weighted_mean(values: Any, weight: Any) -> float:
    """Return the mean over samples, or over bins."""
    return float(np.average(values, weights=weight))


def unique_rows(rows: Sequence[Row | None]) -> tuple[Row, ...]:
    """Return the rows without None and without repetition, in order."""
    return tuple(dict.fromkeys(row for row in rows if row is not None))
