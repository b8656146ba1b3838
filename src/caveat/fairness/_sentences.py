"""Sentences about gaps between two groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..results.judgments import Judgment, MeasurePart
from ..results.rows import FairnessRow
from ..results.words import amount, counted, listed, nominal, percent, points
from .measures import MEAN_PROBABILITY, MEASURES, ODDS, UNCERTAINTIES

if TYPE_CHECKING:
    from ._result import FairnessAudit

ALL = " for all comparisons"
"""Said of intervals that hold for all comparisons at once."""

LONG = 16
"""The most characters of an attribute whose name is repeated with each of its groups."""

MOST_SAID = 3
"""The most sentences about one measure; further gaps are counted."""

POINT_NAMES = {
    "statistical_parity": "statistical parity",
    "equal_opportunity": "equal opportunity",
    "false_negative_rate": "false negative rates",
    "equalized_odds": "false positive rates",
    "equal_accuracy": "accuracy",
    "equal_calibration": "calibration on average",
    "mean_absolute_error": "mean absolute error",
}
"""Point measures by their names in lists; equalized odds without the part of equal opportunity."""

_NO_SHARES = (*UNCERTAINTIES, "mean_absolute_error", "equal_calibration")
"""Measures of rates that are no shares of samples."""

_ADVICE = {
    "epistemic_uncertainty": (
        "The model knows less about {worse}",
        "It is what more or better data of this group would reduce.",
    ),
    "aleatoric_uncertainty": (
        "By the model's account the data of {worse} is noisier",
        "More of the same data will not help: look at how its labels and features are measured.",
    ),
    "predictive_uncertainty": (
        "Predictions for {worse} are less certain",
        "How much of that is noise in the data and how much the model's ignorance cannot be "
        "determined.",
    ),
}


_SIZES = {
    Judgment.BEYOND: "beyond the threshold",
    Judgment.GAP: "which may or may not exceed the threshold",
}
SIZES = {
    Judgment.BEYOND: f", {_SIZES[Judgment.BEYOND]}",
    Judgment.GAP: f", a gap {_SIZES[Judgment.GAP]}",
}
"""How a sentence about a gap ends."""


@dataclass(frozen=True)
class Shown:
    """A gap between two groups that was shown.

    ``difference`` is the row that shows it where the ratio is undefined: one group has a rate of 0.
    """

    ratio: FairnessRow
    verdict: Judgment
    difference: FairnessRow | None = None

    @property
    def row(self) -> FairnessRow:
        """The row that shows it."""
        return self.difference or self.ratio

    @property
    def upward(self) -> bool:
        """Whether the group has more than its reference."""
        return self.ratio.value > 1 if self.difference is None else self.difference.value > 0

    @property
    def distance(self) -> float:
        """How far the ratio is from 1, on the log scale."""
        return abs(float(np.log(self.ratio.value))) if self.difference is None else np.inf

    @property
    def kin(self) -> tuple[str, str, bool, bool]:
        """Gaps with the same value can share a sentence: same reference, same direction."""
        row = self.ratio
        return row.label, row.reference, self.upward, self.difference is None


def gap_sentences(shown: Sequence[Shown], audit: "FairnessAudit", *, first: bool) -> Iterator[str]:
    """Yield sentences about the gaps of one size in one measure, the largest first."""
    alike: dict[tuple[str, str, bool, bool], list[Shown]] = {}
    for gap in shown:
        alike.setdefault(gap.kin, []).append(gap)
    measure = shown[0].ratio.measure
    uncertain = measure in UNCERTAINTIES
    sentence = _uncertainty_sentence if uncertain else _point_sentence
    for number, gaps in enumerate(list(alike.values())[:MOST_SAID]):
        yield sentence(gaps, audit, first and not number)
        if uncertain and not number:
            yield _ADVICE[measure][1]
    left = sum(len(gaps) for gaps in list(alike.values())[MOST_SAID:])
    if left:
        verb = "is" if left == 1 else "are"
        what = f"{measure_name(measure)} {_SIZES[shown[0].verdict]}"
        yield f"There {verb} {counted(left, 'other gap')} in {what}."


def measure_name(measure: str) -> str:
    """Return the name of a measure in a list."""
    return POINT_NAMES.get(measure) or measure.replace("_", " ")


def _uncertainty_sentence(gaps: Sequence[Shown], audit: "FairnessAudit", first: bool) -> str:
    """Return a sentence on whose uncertainty is larger, and by how much."""
    gap, row = gaps[0], gaps[0].ratio
    (worse, better), (more, less) = names_of(row), _values(row, audit)
    others = [names_of(other.ratio)[0] for other in gaps[1:]]
    also = f"; likewise for {listed(others)}" if others else ""
    if not gap.upward:
        worse, better, more, less = better, worse, less, more
        also = f"; it is larger than that of {listed(others)} too" if others else ""
    name = row.measure.replace("_", " ")
    target = f" of {row.label}" if row.label else ""
    size = f"{_plain(more)} and that of {better} is {_plain(less)}"
    if gap.difference is None:
        value = row.value if gap.upward else 1 / row.value
        size = f"{amount(value)} times that of {better}"
    return (
        f"{_ADVICE[row.measure][0].format(worse=worse)}: its {name}{target} is {size}"
        f"{_ends(gap, audit, first, turned=not gap.upward)}{SIZES[gap.verdict]}{also}."
    )


def _point_sentence(gaps: Sequence[Shown], audit: "FairnessAudit", first: bool) -> str:
    """Return a sentence on a group for which a rate or an error differs."""
    gap = gaps[0]
    clause = _by_ratio(gap.ratio) if gap.difference is None else _by_difference(gap.ratio, audit)
    words = f"{clause}{_ends(gap, audit, first)}{SIZES[gap.verdict]}"
    others = [names_of(other.ratio)[0] for other in gaps[1:]]
    also = f"; likewise for {listed(others)}" if others else ""
    return f"{words[0].upper()}{words[1:]}{also}{_base_rates(gap, audit)}."


def _rate_words(row: FairnessRow) -> str:
    """Return the rate that is compared, and its class or target."""
    if not row.label or row.measure == "equal_accuracy":
        return rate_of(row).replace("_", " ")
    of = " of" if row.measure == "mean_absolute_error" else " for class"
    return f"{rate_of(row).replace('_', ' ')}{of} {row.label}"


def _by_ratio(row: FairnessRow) -> str:
    group, reference = names_of(row)
    times = f"{amount(row.value)} times"
    if row.measure == "statistical_parity":
        return f"class {row.label} is predicted {times} as often for {group} as for {reference}"
    if row.measure == "equal_calibration":
        what = f"observed over predicted, class {row.label} is {times} as frequent"
        return f"{what} for {group} as for {reference}"
    if row.measure == "mean_absolute_error":
        return f"the {_rate_words(row)} is {times} as large for {group} as for {reference}"
    return f"the {_rate_words(row)} of {group} is {times} that of {reference}"


def _by_difference(row: FairnessRow, audit: "FairnessAudit") -> str:
    group, reference = names_of(row)
    shares = row.measure not in _NO_SHARES
    one, other = (percent(v) if shares else _plain(v) for v in _values(row, audit))
    if row.measure == "statistical_parity":
        return f"class {row.label} is predicted for {one} of {group} and {other} of {reference}"
    return f"the {_rate_words(row)} is {one} for {group} and {other} for {reference}"


def _base_rates(gap: Shown, audit: "FairnessAudit") -> str:
    """Return the true frequencies of the class in both groups."""
    row = gap.ratio
    if row.measure not in ("statistical_parity", "equal_calibration"):
        return ""
    one, other = (percent(result.value) for result in groups_of(row, audit, "base_rate"))
    group, reference = names_of(row)
    if row.measure == "equal_calibration":
        first, second = (percent(r.value) for r in groups_of(row, audit, MEAN_PROBABILITY))
        said = f"on average it predicts {first} for {group}, and {one} were observed"
        return f"; {said}; {second} and {other} for {reference}"
    return f"; {one} of {group} and {other} of {reference} truly belong to it"


def names_of(row: FairnessRow) -> tuple[str, str]:
    """Return the names of the two groups of a row, in a paragraph about their attribute.

    A long name of the attribute is not repeated: the paragraph begins with it.
    """
    if len(row.attribute) > LONG:
        return row.category, row.reference
    return row.group_name, row.reference_name


def rate_of(row: FairnessRow) -> str:
    """Return the rate that a row compares; for equalized odds the false positive rate."""
    return ODDS[1][1].of if row.measure == "equalized_odds" else MEASURES[row.measure].of


def groups_of(
    row: FairnessRow, audit: "FairnessAudit", of: str = ""
) -> tuple[FairnessRow, FairnessRow]:
    """Return a rate of the two groups, by default the one that is compared."""
    place = {"attribute": row.attribute, "kind": "group", "measure": of or rate_of(row)}
    part = MeasurePart.MEAN if row.measure in UNCERTAINTIES else MeasurePart.WHOLE
    one, other = (
        audit.matching(**place, label=row.label, part=part, group=group)[0]
        for group in (row.group, row.reference)
    )
    return one, other


def _values(row: FairnessRow, audit: "FairnessAudit") -> tuple[float, float]:
    one, other = groups_of(row, audit)
    return one.value, other.value


def _plain(value: float) -> str:
    return amount(value) if value else "0"


def _ends(gap: Shown, audit: "FairnessAudit", first: bool, turned: bool = False) -> str:
    """Return the interval behind the verdict, of the ratio or of the difference, in parentheses."""
    low, high = gap.row.verdict_low, gap.row.verdict_high
    name = interval_name(gap.row, audit.confidence) if first else ""
    if gap.difference is not None:
        low, high = (low, high) if gap.upward else (-high, -low)
        name = f"{name or 'interval'} of the difference"
        if gap.ratio.measure not in _NO_SHARES:
            return f" ({name} {points(low)} to {points(high)} percentage points)"
    elif turned:
        low, high = 1 / high, 1 / low if low > 0 else np.inf
    return f" ({name} {ends_words(low, high)})" if name else f" ({ends_words(low, high)})"


def ends_words(low: float, high: float) -> str:
    """Return "1.52 to 1.70", or "1.52 or more" without an upper end."""
    return f"{amount(low)} to {amount(high)}" if np.isfinite(high) else f"{amount(low)} or more"


def interval_name(row: FairnessRow, confidence: float) -> str:
    """Return "95 % interval", with a note if it holds for all comparisons at once."""
    several = (row.verdict_low, row.verdict_high) != (row.low, row.high)
    return f"{nominal(confidence)} interval{ALL if several else ''}"
