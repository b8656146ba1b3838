"""What the rows of one attribute show: gaps, that there is none, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..results.judgments import BY_WEIGHT, FINE, Judgment, Pairing, Part
from ..results.rows import FairnessRow
from ._sentences import Shown, groups_of
from .measures import UNCERTAINTIES

if TYPE_CHECKING:
    from ._result import FairnessAudit


@dataclass(frozen=True)
class Findings:
    """The rows of one attribute that can be spoken of, and what they show."""

    audit: "FairnessAudit"
    rows: Sequence[FairnessRow]
    differences: Mapping[tuple[str, ...], FairnessRow]
    small: Sequence[str]

    def of(self, name: str) -> list[FairnessRow]:
        """The ratios of a measure; of equalized odds those of the false positive rate."""
        part = Part.Y0 if name == "equalized_odds" else Part.WHOLE
        return [row for row in self.rows if (row.measure, row.part) == (name, part)]

    def gap(self, row: FairnessRow) -> Shown | None:
        """The gap that a ratio shows, or the difference where the ratio is undefined."""
        if row.judgment in (Judgment.BEYOND, Judgment.GAP, Judgment.SMALL):
            return Shown(row, row.judgment)
        difference = self.differences.get(place(row)) if np.isnan(row.value) else None
        if difference is None or difference.judgment is not Judgment.DIFFERENT:
            return None
        return Shown(row, self._size(row, difference), difference)

    def _size(self, row: FairnessRow, difference: FairnessRow) -> Judgment:
        """Whether a difference to a rate of 0 is surely so large a part of the other rate."""
        largest = max(result.high for result in groups_of(row, self.audit))
        least = min(abs(difference.verdict_low), abs(difference.verdict_high))
        return Judgment.BEYOND if least > self.audit.threshold * largest else Judgment.GAP

    def state(self, name: str) -> Judgment:
        """What is known of a measure: the weightiest of its verdicts, or that it is undefined.

        Without a gap, pairs that are undefined leave it unclear.
        """
        shown = [(self.gap(row), row) for row in self.of(name)]
        verdicts = {row.judgment if gap is None else gap.verdict for gap, row in shown}
        for state in (Judgment.BEYOND, Judgment.GAP, Judgment.UNCLEAR):
            if state in verdicts:
                return state
        if not verdicts & {*FINE}:
            return Judgment.UNDEFINED
        return (
            next(s for s in BY_WEIGHT if s in verdicts) if verdicts <= {*FINE} else Judgment.UNCLEAR
        )

    def states(self, names: Sequence[str]) -> dict[str, Judgment]:
        """The state of each measure that the audit has."""
        return {name: self.state(name) for name in names if self.of(name)}

    def shown(self, name: str, verdict: Judgment) -> list[Shown]:
        """The gaps of a size in a measure, each pair once: those asked for, then the farthest."""
        every = (self.gap(row) for row in self.of(name))
        result = [gap for gap in every if gap is not None and gap.verdict == verdict]
        result.sort(key=lambda gap: (gap.ratio.comparison is Pairing.WORST, -gap.distance))
        pairs: dict[tuple[str, frozenset[str]], Shown] = {}
        for gap in result:
            row = gap.ratio
            pairs.setdefault((row.label, frozenset({row.group, row.reference})), gap)
        return list(pairs.values())

    def uniform(self, name: str) -> bool:
        """Whether an uncertainty is one number for all samples, which tells no group from another.

        So is the epistemic one of a single member, 0, and the noise of a model that knows but one.
        """
        wanted = {"attribute": self.rows[0].attribute, "measure": name, "part": Part.MEAN}
        means: dict[str, list[float]] = {}
        for row in self.audit.matching(**wanted, kind="group"):
            means.setdefault(row.label, []).append(row.value)
        same = all(np.ptp(some) <= 1e-9 * max(some) for some in means.values())
        return same and self.state(name) == Judgment.UNDEFINED

    def unmeasured(self, states: Mapping[str, Judgment]) -> list[str]:
        """The measures of which nothing is known, other than uncertainties that are one number."""
        return [
            name
            for name, state in states.items()
            if state == Judgment.UNDEFINED and not (name in UNCERTAINTIES and self.uniform(name))
        ]

    def none_beyond(self, states: Mapping[str, Judgment]) -> bool:
        """Whether all measures that there are show no gap beyond the threshold."""
        known = {*states.values()}
        shown = bool(known & {*FINE}) and known <= {*FINE, Judgment.UNDEFINED}
        return shown and not self.unmeasured(states)


def place(row: FairnessRow) -> tuple[str, ...]:
    """Return what a ratio has in common with the difference of the same."""
    return row.measure, row.part, row.label, row.group, row.reference, row.comparison
