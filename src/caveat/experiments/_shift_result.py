"""What `shift_curves` and `domain_shift` return."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..exceptions import OptionError
from ..results.tables import (
    RowTable,
    ShownTable,
    interval_words,
    number,
    terminal_table,
)
from ._saved import Saved, parts_of


@dataclass(frozen=True)
class ShiftRow:
    """One number at one strength of a shift.

    Attributes
    ----------
    quantity : str
        A metric, or "aleatoric", "epistemic" or "total": the mean uncertainty of the samples.
    kind : {"metric", "uncertainty"}
    option, target : str
        Options that tell rows of one metric apart; the target of a regression.
    strength : float
    value, low, high : float
        The value and its confidence interval; NaN where there is none.
    direction : {"lower", "higher", "target"}
        What is better.
    note : str
        What was converted, what is undefined.

    Examples
    --------
    >>> from caveat.experiments import ShiftRow
    >>> row = ShiftRow("accuracy_score", "metric", "", "", 0.5, 0.8, 0.7, 0.9, "higher", "")
    >>> row.strength, row.value
    (0.5, 0.8)
    """

    quantity: str
    kind: str
    option: str
    target: str
    strength: float
    value: float
    low: float
    high: float
    direction: str
    note: str


@dataclass(frozen=True)
class DomainRow:
    """One number in domain and out of domain.

    Attributes
    ----------
    quantity, kind, option, target, direction, note : str
        As in `ShiftRow`.
    inside, inside_low, inside_high : float
        The value in domain and its interval.
    outside, outside_low, outside_high : float
        The same out of domain.
    ratio, ratio_low, ratio_high : float
        The value out of domain divided by that in domain; NaN if the value can be negative, or is
        0 in domain.
    gap, gap_low, gap_high : float
        The value out of domain minus that in domain.

    Examples
    --------
    >>> from caveat.experiments import DomainRow
    >>> len(DomainRow.__dataclass_fields__)
    18
    """

    quantity: str
    kind: str
    option: str
    target: str
    inside: float
    inside_low: float
    inside_high: float
    outside: float
    outside_low: float
    outside_high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    gap: float
    gap_low: float
    gap_high: float
    direction: str
    note: str


@dataclass(frozen=True)
class Growth:
    """Which of two things grows more from in domain to out of domain.

    Attributes
    ----------
    question : str
    target : str
        Empty for classes.
    value, low, high : float
        The ratio (out over in) of the first over that of the second, and its interval.
    answer : str
        "yes" or "no" for epistemic against aleatoric uncertainty; "more" or "less" for total
        uncertainty against error; "cannot tell" if the interval holds 1; "no interval" without
        resamples; "open" of two models; "undefined" if something is 0 or infinite.
    text : str
        The numbers in words.

    Examples
    --------
    >>> from caveat.experiments import Growth
    >>> Growth("does it grow?", "", 2.0, 1.5, 3.0, "yes", "it doubles").answer
    'yes'
    """

    question: str
    target: str
    value: float
    low: float
    high: float
    answer: str
    text: str


@dataclass(frozen=True, repr=False, eq=False)
class ShiftCurves(Saved, RowTable[ShiftRow]):
    """What `shift_curves` returns: every metric and uncertainty at every strength.

    Attributes
    ----------
    rows : tuple of ShiftRow
    description : str
        What was predicted.
    corruption : str
        What was done to the samples.
    confidence : float
        Confidence of the intervals.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> from caveat.experiments import shift_curves
    >>> result = shift_curves(
    ...     lambda X: caveat.Gaussian(X[:, 0], 1.0), np.arange(6.0)[:, None], np.arange(6.0),
    ...     strengths=[0, 1], resamples=0, random_state=0,
    ... )
    >>> result.strengths, result.curve("mean_absolute_error")[0].tolist()[0]
    ((0.0, 1.0), 0.0)
    """

    format_name: ClassVar[str] = "caveat shift curves"
    row_type: ClassVar[Any] = ShiftRow
    rows: tuple[ShiftRow, ...]
    description: str
    corruption: str
    confidence: float

    @property
    def strengths(self) -> tuple[float, ...]:
        """The strengths, in their order."""
        return tuple(sorted({row.strength for row in self.rows}))

    def curve(self, quantity: str, option: str = "", target: str | None = None) -> Any:
        """Return value, low and high of a quantity at its strengths, shape (3, strengths).

        Parameters
        ----------
        quantity : str
        option : str, default=""
        target : str, optional
            By default the first.

        Returns
        -------
        ndarray of shape (3, strengths)
            NaN where the prediction at a strength does not support the quantity.
        """
        rows = {row.strength: row for row in self._curve(quantity, option, target)}
        result = np.full((3, len(self.strengths)), np.nan)
        for place, strength in enumerate(self.strengths):
            if strength in rows:
                row = rows[strength]
                result[:, place] = row.value, row.low, row.high
        return result

    def _curve(self, quantity: str, option: str, target: str | None) -> list[ShiftRow]:
        rows = self.matching(quantity=quantity, option=option)
        if target is None and rows:
            target = rows[0].target
        rows = [row for row in rows if row.target == target]
        if not rows:
            known = ", ".join(dict.fromkeys(row.quantity for row in self.rows))
            raise OptionError(
                f"there is no curve of quantity {quantity!r} with this option and target; known "
                f"are {known}"
            )
        return rows

    @classmethod
    def _restored(cls, given: dict[str, Any]) -> dict[str, Any]:
        return super()._restored(given) | {"rows": parts_of(ShiftRow, given["rows"])}

    def __repr__(self) -> str:
        known = any(np.isfinite(row.low) for row in self.rows)
        more = f"to_frame() and plot() have the {self.confidence:.0%} intervals\n" if known else ""
        return terminal_table(*self._table(intervals=False)) + more

    def _tables(self) -> list[ShownTable]:
        return [self._table(intervals=True)]

    def _table(self, intervals: bool) -> ShownTable:
        """Return a line for each quantity, with a column for each strength."""
        lines: dict[tuple[str, str, str], dict[float, str]] = {}
        notes: dict[tuple[str, str, str], dict[str, list[str]]] = {}
        for row in self.rows:
            key = row.quantity, row.option, row.target
            low = row.low if intervals else np.nan
            lines.setdefault(key, {})[row.strength] = _cell(row.value, low, row.high)
            if row.note:
                notes.setdefault(key, {}).setdefault(row.note, []).append(f"{row.strength:g}")
        header = ["", *(f"{strength:g}" for strength in self.strengths)]
        body = [
            [_words(*key), *(cells.get(strength, "") for strength in self.strengths)]
            for key, cells in lines.items()
        ]
        if notes:
            header.append("note")
            for line, key in zip(body, lines, strict=True):
                said = notes.get(key, {}).items()
                line.append("; ".join(f"at {', '.join(at)}: {note}" for note, at in said))
        return f"{self.description} under {self.corruption}", header, body


@dataclass(frozen=True, repr=False, eq=False)
class DomainShift(Saved, RowTable[DomainRow]):
    """What `domain_shift` returns: every metric and uncertainty in and out of domain.

    Attributes
    ----------
    rows : tuple of DomainRow
    growth : tuple of Growth
        Whether epistemic uncertainty grows more than aleatoric, and total as much as the error.
    samples_in, samples_out : int
    description : str
        The kind of the predictions.
    confidence : float
        Confidence of the intervals.

    Examples
    --------
    >>> import caveat
    >>> from caveat.experiments import domain_shift
    >>> inside, outside = caveat.Gaussian([0.0, 1.0], 1.0), caveat.Gaussian([0.0, 1.0], 2.0)
    >>> result = domain_shift(inside, [0, 2], outside, [0, 5], metrics=["mae"], resamples=0)
    >>> (row,) = result.select(quantity="mean_absolute_error")
    >>> row.inside, row.outside, row.ratio
    (0.5, 2.0, 4.0)
    """

    format_name: ClassVar[str] = "caveat domain shift"
    row_type: ClassVar[Any] = DomainRow
    rows: tuple[DomainRow, ...]
    growth: tuple[Growth, ...]
    samples_in: int
    samples_out: int
    description: str
    confidence: float

    @classmethod
    def _restored(cls, given: dict[str, Any]) -> dict[str, Any]:
        return super()._restored(given) | {
            "rows": parts_of(DomainRow, given["rows"]),
            "growth": parts_of(Growth, given["growth"]),
        }

    def _lines(self) -> Iterator[str]:
        for one in self.growth:
            of = f" ({one.target})" if one.target else ""
            yield f"{one.question}{of} {one.answer}: {one.text}"

    def _tables(self) -> list[ShownTable]:
        header = ["", "in domain", "out of domain", "ratio", "interval", "note"]
        body = [
            [
                _words(row.quantity, row.option, row.target),
                number(row.inside),
                number(row.outside),
                number(row.ratio),
                interval_words(row.ratio_low, row.ratio_high),
                row.note,
            ]
            for row in self.rows
        ]
        title = (
            f"{self.description}: {self.samples_in:,} samples in domain, {self.samples_out:,} out, "
            f"{self.confidence:.0%} intervals"
        )
        return [(title, header, body)]


def _words(quantity: str, option: str, target: str) -> str:
    return " ".join(part for part in (quantity, option, target) if part)


def _cell(value: float, low: float, high: float) -> str:
    ends = interval_words(low, high)
    return number(value) + (f" ({ends})" if ends else "")
