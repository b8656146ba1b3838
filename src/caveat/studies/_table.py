"""Printed numbers beside ours: what runs give, whether the print fits, what most runs support."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from .._validation import FloatArray
from ..resampling.student import student_interval
from ..results.judgments import Support
from ..results.tables import RowTable, html_tables, number, terminal_table

NAN = float("nan")


class Printed(NamedTuple):
    """A printed number, and what it may have been before it was rounded or cut off."""

    value: float
    low: float
    high: float


def printed_number(text: str, exact: bool = False) -> Printed:
    """Return the number that was printed: "0.95" may be anything from 0.945 to 0.96.

    Digits may have been rounded or cut off: papers do both. Thousands may be separated by commas.
    What counts something is exact.
    """
    cleaned = text.replace(",", "")
    value = float(cleaned)
    digits, _, power = cleaned.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    unit = 0.0 if exact else 10.0 ** (int(power or 0) - decimals)
    return Printed(value, value - unit / 2, value + unit)


@dataclass(frozen=True)
class Spread:
    """What runs gave: their mean with its interval, and the range of one more run."""

    mean: float
    mean_low: float
    mean_high: float
    low: float
    high: float
    runs: int


def range_rank(runs: int, confidence: float) -> int:
    """Return the rank, from either end, of the run at which the range of one more run ends."""
    return max(1, int((runs + 1) * (1 - confidence) / 2 + 1e-9))


def range_coverage(runs: int, confidence: float) -> float:
    r"""Return the chance that one more run lies in the range of these.

    Between the k-th smallest and the k-th largest of n runs it is :math:`1 - 2 k / (n + 1)`,
    whatever the distribution; k is the largest for which that is at least the confidence, or 1.
    """
    return max(0.0, 1 - 2 * range_rank(runs, confidence) / (runs + 1))


def spread_of(values: FloatArray, confidence: float) -> Spread:
    """Return mean and range of the defined values; with a single one there is no interval."""
    known = np.sort(values[np.isfinite(values)])
    runs = len(known)
    if not runs:
        return Spread(NAN, NAN, NAN, NAN, NAN, 0)
    mean = float(known.mean())
    if runs == 1:
        return Spread(mean, NAN, NAN, NAN, NAN, 1)
    _, low, high = student_interval(known, confidence)
    rank = range_rank(runs, confidence)
    return Spread(mean, low, high, float(known[rank - 1]), float(known[-rank]), runs)


def fits(printed: Printed | None, low: float, high: float) -> bool | None:
    """Whether what was printed, before rounding, can lie in a range; None if that is unknown."""
    if printed is None or np.isnan(low):
        return None
    # A printed end and ours are the same number up to the rounding of decimals.
    slack = 1e-9 * max(abs(printed.low), abs(printed.high))
    return bool(printed.high >= low - slack and printed.low <= high + slack)


@dataclass(frozen=True)
class Conclusion:
    """A published statement, and in how many of our runs it holds.

    Attributes
    ----------
    source : str
        Where it is printed.
    text : str
        The statement.
    holds, runs : int
        Of how many runs it is true, of all in which it can be decided.
    verdict : {"survives", "does not survive", "open"}
        Whether it holds in most runs: the exact interval of that share is above or below one half.

    Examples
    --------
    >>> from caveat.studies import Conclusion
    >>> Conclusion.of("table 1", "the groups are equally accurate", [True] * 9 + [False]).verdict
    'survives'
    """

    source: str
    text: str
    holds: int
    runs: int
    verdict: Support

    @classmethod
    def of(
        cls, source: str, text: str, outcomes: Sequence[bool | None], confidence: float = 0.95
    ) -> "Conclusion":
        """Return the conclusion from what each run says; None where it cannot be decided."""
        known = [bool(outcome) for outcome in outcomes if outcome is not None]
        verdict = most(sum(known), len(known), confidence)
        return cls(source, text, sum(known), len(known), verdict)

    def __str__(self) -> str:
        return f"{self.source}: {self.text}: {self.verdict} ({self.holds} of {self.runs} runs)"


def most(holds: int, runs: int, confidence: float) -> Support:
    """Return whether something is so in most runs, by the exact interval of Clopper and Pearson."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    if holds and betaincinv(holds, runs - holds + 1, tail) > 0.5:
        return Support.SURVIVES
    if holds < runs and betaincinv(holds + 1, runs - holds, 1 - tail) < 0.5:
        return Support.FAILS
    return Support.OPEN


@dataclass(frozen=True)
class PaperRow:
    """One number of a study: what is printed, and what our runs give.

    Attributes
    ----------
    source : str
        Where it is printed: "table 1", "figure 4".
    measure : str
    printed : str
        As it stands there; empty where a figure has no numbers, or we add a row.
    paper : float
        The same as a number; NaN without.
    mean, mean_low, mean_high : float
        The mean over runs and its interval.
    low, high : float
        The range in which one more run lies; NaN with a single run.
    runs : int
        In how many runs it is defined.
    within : bool or None
        Whether the printed number, before it was rounded, can lie in that range.
    note : str
    """

    source: str
    measure: str
    printed: str
    paper: float
    mean: float
    mean_low: float
    mean_high: float
    low: float
    high: float
    runs: int
    within: bool | None
    note: str


def compared(values: FloatArray, printed: str, confidence: float, note: str = "") -> dict[str, Any]:
    """Return the fields of a `PaperRow` that follow from a print and from our runs."""
    found = spread_of(values, confidence)
    given = printed_number(printed) if printed else None
    undefined = len(values) - found.runs
    if undefined:
        note = "; ".join(filter(None, (note, f"undefined in {undefined} of {len(values)} runs")))
    return {
        "printed": printed,
        "paper": NAN if given is None else given.value,
        **asdict(found),
        "within": fits(given, found.low, found.high),
        "note": note,
    }


def counted(value: int, printed: str, note: str = "") -> dict[str, Any]:
    """Return the same of a count, which is no matter of chance."""
    given = printed_number(printed, exact=True)
    return {
        "printed": printed,
        "paper": given.value,
        **asdict(Spread(value, value, value, value, value, 1)),
        "within": given.value == value,
        "note": note,
    }


SomeRow = TypeVar("SomeRow", bound=PaperRow)


class PaperTable(RowTable[SomeRow]):
    """Rows of a study that can be filtered, shown and written, with what the paper concludes."""

    row_type: ClassVar[Any] = PaperRow

    def __repr__(self) -> str:
        study: Any = self
        parts = [terminal_table(*table) for table in study.tables()]
        lines = [*map(str, study.conclusions), "", *(f"note: {note}" for note in study.notes)]
        return "\n".join([study.description, *parts, study.explanation(), "", *lines, ""])

    def _repr_html_(self) -> str:
        study: Any = self
        said = [*map(str, study.conclusions), *(f"note: {note}" for note in study.notes)]
        items = "".join(f"<li>{escape(line)}</li>" for line in said)
        tables = html_tables(study.tables(), [study.explanation()])
        return f"<p>{escape(study.description)}</p>{tables}<ul>{items}</ul>"


def cells(row: PaperRow) -> list[str]:
    """Return what a reader sees of a comparison: paper, mean, range, whether the print fits."""
    ends = "" if np.isnan(row.low) else f"{number(row.low)} to {number(row.high)}"
    mean = number(row.mean) if row.runs else "undefined"
    return [row.printed, mean, ends, {True: "yes", False: "no", None: ""}[row.within]]
