"""Words for numbers, intervals, lists and judgments, and the statements of a verdict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from .judgments import Judgment

if TYPE_CHECKING:
    from .rows import Row

Level = Literal["good", "bad", "unsure", "info"]

VERDICTS = {
    Judgment.NONE: "",
    Judgment.BEYOND: "a gap beyond the threshold",
    Judgment.GAP: "a gap, which may or may not exceed the threshold",
    Judgment.SMALL: "a gap, but within the threshold",
    Judgment.WITHIN: "within the threshold",
    Judgment.UNCLEAR: "the data cannot show whether there is a gap beyond the threshold",
    Judgment.DIFFERENT: "different",
    Judgment.EQUAL: "the data cannot show whether there is a difference",
    Judgment.NOT_JUDGED: "not judged without intervals",
}
"""Judgments of two groups in tables."""

SHORT = {
    Judgment.BEYOND: "gap beyond threshold",
    Judgment.GAP: "gap, size unclear",
    Judgment.SMALL: "gap within threshold",
    Judgment.WITHIN: "within threshold",
    Judgment.UNCLEAR: "unclear",
    Judgment.NOT_JUDGED: "not judged",
}
"""The same judgments in legends and narrow tables."""

MOST_NAMES = 5
"""The most names in one sentence; the table has all."""


@dataclass(frozen=True)
class Statement:
    """One or two sentences of a verdict, and the rows that they rest on.

    Attributes
    ----------
    level : {"good", "bad", "unsure", "info"}
        Shown to be right, shown to be wrong, undecided, or a description.
    text : str
        Plain words. Names of classes, groups and targets are not escaped for HTML.
    rows : tuple of Row
        The rows of the table behind the text.
    """

    level: Level
    text: str
    rows: "tuple[Row, ...]" = ()


def percent(share: float) -> str:
    """Return a share with one decimal, or more if it would be rounded to 0 or 100 %."""
    return f"{_percent_digits(share)} %"


def _percent_digits(share: float) -> str:
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}"
    for decimals in (1, 2, 3):
        text = f"{100 * share:.{decimals}f}"
        if float(text) not in (0.0, 100.0):
            return text
    return f"{100 * share:.3g}"


def whole(share: float) -> str:
    """Return a share in whole percent, unless that would round it to 0 or 100 %."""
    if 0 < share < 0.005 or 0.995 <= share < 1:
        return percent(share)
    return f"{100 * share:.0f} %"


def nominal(share: float) -> str:
    """Return a promised share as it was given: 90 %, 95.45 %."""
    return f"{100 * share:.6g} %"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, without the unit."""
    return f"{100 * difference:z.1f}"


def amount(value: float) -> str:
    """Return a number with three significant digits, without an exponent if it is short."""
    if 100 <= abs(value) < 1e7:
        return f"{value:.0f}"
    return f"{value:#.3g}"


def capitalized(text: str) -> str:
    """Return text with a capital first letter."""
    return text[:1].upper() + text[1:]


def lowered(text: str) -> str:
    """Return text with a small first letter."""
    return text[:1].lower() + text[1:]


def counted(number: int, noun: str) -> str:
    """Return "1 sample", "1,200 samples"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def most_of(which: str, shown: int, known: int) -> str:
    """Return ", the 20 worst of 300" for a title, or nothing where all are shown."""
    return f", the {shown:,} {which} of {known:,}" if shown < known else ""


def more_in_all(present: int, needed: int, noun: str) -> str:
    """Return "about 1,200 more samples (2,000 in all)"; the noun is plural."""
    more = max(needed - present, 2)
    unit = 10 ** max(len(str(more)) - 2, 0)
    return f"about {round(more / unit) * unit:,} more {noun} ({present + more:,} in all)"


def joined(parts: Sequence[str], word: str = "and") -> str:
    """Return "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def listed(names: Iterable[str], word: str = "and") -> str:
    """Return at most five names, and the number of others."""
    result = list(names)
    if len(result) <= MOST_NAMES:
        return joined(result, word)
    others = len(result) - MOST_NAMES
    return f"{', '.join(result[:MOST_NAMES])} and {counted(others, 'other')}"


def share_with_interval(row: "Row", confidence: float, of: str = "", *, short: bool = False) -> str:
    """Return "7.3 % of cases (95 % interval 6.1 to 8.6 %)"."""
    ends = _percent_digits(row.low), percent(row.high)
    return f"{percent(row.value)}{of}{_bracket(row, confidence, short, ends)}"


def percent_with_interval(
    row: "Row", confidence: float, of: str = "", *, short: bool = False
) -> str:
    """Return a relative error in percent, without bias if the estimate is known."""
    said, *ends = (f"{100 * value:.1f}" for value in (center(row), row.low, row.high))
    seen = _seen(said, f"{100 * row.value:.1f}", " %")
    return f"{said} %{of}{_bracket(row, confidence, short, (ends[0], f'{ends[1]} %'), seen)}"


def points_with_interval(
    row: "Row", confidence: float, of: str = "", *, short: bool = False
) -> str:
    """Return "7.3 percentage points (95 % interval 6.1 to 8.6)", without bias if it is known.

    The brackets then also have the value in these samples, which the tables show.
    """
    unit = "" if short else " percentage points"
    said, ends = points(center(row)), (points(row.low), points(row.high))
    seen = _seen(said, points(row.value))
    return f"{said}{unit}{of}{_bracket(row, confidence, short, ends, seen)}"


def amount_with_interval(
    row: "Row", confidence: float, of: str = "", *, short: bool = False
) -> str:
    """Return "0.845 (95 % interval 0.813 to 0.880)"."""
    ends = amount(row.low), amount(row.high)
    return f"{amount(row.value)}{of}{_bracket(row, confidence, short, ends)}"


def correlation_with_interval(
    row: "Row", confidence: float, of: str = "", *, short: bool = False
) -> str:
    """Return "0.37 (95 % interval 0.34 to 0.41)"."""
    value, *ends = (f"{number:z.2f}" for number in (row.value, row.low, row.high))
    return f"{value}{of}{_bracket(row, confidence, short, (ends[0], ends[1]))}"


def center(row: "Row") -> float:
    """Return the estimate of a row without the bias of binned errors, or else its value."""
    return row.value if np.isnan(row.estimate) else row.estimate


def _seen(said: str, value: str, unit: str = "") -> str:
    """Return the value in these samples, if it differs from the estimate without bias."""
    return "" if said == value else f"; {value}{unit} in these samples, chance included"


def _bracket(
    row: "Row", confidence: float, short: bool, ends: tuple[str, str], seen: str = ""
) -> str:
    if np.isnan(row.low):
        return ""
    if short:
        return f" ({ends[0]} to {ends[1]})"
    return f" ({nominal(confidence)} interval {ends[0]} to {ends[1]}{seen})"
