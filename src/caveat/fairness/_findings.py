"""What the rows of one attribute show: a gap, no gap, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..results.judgments import BY_WEIGHT, FINE, Judgment, MeasurePart, Pairing
from ..results.rows import FairnessRow
from ._sentences import Shown, groups_of
from .measures import UNCERTAINTIES

if TYPE_CHECKING:
    from ._result import FairnessAudit


@dataclass(frozen=True)
class Findings:
    """The ratios of one attribute with enough samples, and what they show."""

    audit: "FairnessAudit"
    rows: Sequence[FairnessRow]
    differences: Mapping[tuple[str, ...], FairnessRow]
    small: Sequence[str]

    def of(self, name: str) -> list[FairnessRow]:
        """Return the ratios of a measure; for equalized odds those of false positive rates."""
        part = MeasurePart.Y0 if name == "equalized_odds" else MeasurePart.WHOLE
        return [row for row in self.rows if (row.measure, row.part) == (name, part)]

    def gap(self, row: FairnessRow) -> Shown | None:
        """Return the gap that a ratio shows, or the difference if the ratio is undefined."""
        if row.judgment in (Judgment.BEYOND, Judgment.GAP, Judgment.SMALL):
            return Shown(row, row.judgment)
        difference = self.differences.get(place(row)) if np.isnan(row.value) else None
        if difference is None or difference.judgment is not Judgment.DIFFERENT:
            return None
        return Shown(row, self._size(row, difference), difference)

    def _size(self, row: FairnessRow, difference: FairnessRow) -> Judgment:
        """Judge a difference from a rate of 0 relative to the upper end of the other rate."""
        largest = max(result.high for result in groups_of(row, self.audit))
        least = min(abs(difference.verdict_low), abs(difference.verdict_high))
        return Judgment.BEYOND if least > self.audit.threshold * largest else Judgment.GAP

    def state(self, name: str) -> Judgment:
        """Return the weightiest verdict on a measure; undefined pairs make it unclear at best."""
        shown = [(self.gap(row), row) for row in self.of(name)]
        verdicts = {row.judgment if gap is None else gap.verdict for gap, row in shown}
        for state in (Judgment.BEYOND, Judgment.GAP, Judgment.UNCLEAR):
            if state in verdicts:
                return state
        if not verdicts & {*FINE}:
            return Judgment.UNDEFINED
        if not verdicts <= {*FINE}:
            return Judgment.UNCLEAR
        return next(state for state in BY_WEIGHT if state in verdicts)

    def states(self, names: Sequence[str]) -> dict[str, Judgment]:
        """Return the state of each measure that the audit has."""
        return {name: self.state(name) for name in names if self.of(name)}

    def shown(self, name: str, verdict: Judgment) -> list[Shown]:
        """Return the gaps of one size in a measure, each pair once, the worst pairs last."""
        every = (self.gap(row) for row in self.of(name))
        result = [gap for gap in every if gap is not None and gap.verdict == verdict]
        result.sort(key=lambda gap: (gap.ratio.comparison is Pairing.WORST, -gap.distance))
        pairs: dict[tuple[str, frozenset[str]], Shown] = {}
        for gap in result:
            row = gap.ratio
            pairs.setdefault((row.label, frozenset({row.group, row.reference})), gap)
        return list(pairs.values())

    def uniform(self, name: str) -> bool:
        """Return whether an uncertainty is the same number for all samples.

        Examples are the epistemic uncertainty of a single member and a constant noise level.
        """
        wanted = {"attribute": self.rows[0].attribute, "measure": name, "part": MeasurePart.MEAN}
        means: dict[str, list[float]] = {}
        for row in self.audit.matching(**wanted, kind="group"):
            means.setdefault(row.label, []).append(row.value)
        same = all(np.ptp(some) <= 1e-9 * max(some) for some in means.values())
        return same and self.state(name) == Judgment.UNDEFINED

    def unmeasured(self, states: Mapping[str, Judgment]) -> list[str]:
        """Return the undefined measures, without uncertainties that are constant."""
        return [
            name
            for name, state in states.items()
            if state == Judgment.UNDEFINED and not (name in UNCERTAINTIES and self.uniform(name))
        ]

    def none_beyond(self, states: Mapping[str, Judgment]) -> bool:
        """Return whether every measure is shown to have no gap beyond the threshold."""
        known = {*states.values()}
        shown = bool(known & {*FINE}) and known <= {*FINE, Judgment.UNDEFINED}
        return shown and not self.unmeasured(states)


def place(row: FairnessRow) -> tuple[str, ...]:
    """Return the fields that a ratio shares with the difference of the same groups."""
    return row.measure, row.part, row.label, row.group, row.reference, row.comparison
