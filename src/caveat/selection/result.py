"""What was tried: a typed row for each candidate, and words."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..results.tables import RowTable, html_tables, interval_words, number, terminal_table

__all__ = ["Tried", "TriedRow"]


@dataclass(frozen=True, kw_only=True)
class TriedRow:
    """One candidate.

    Attributes
    ----------
    candidate : str
    score, low, high : float
        The cross-validated proper score with its interval; less is better. NaN if it was not tried.
    behind, error : float
        By how much the score is above that of the best candidate, and the standard error of that
        difference on the same samples.
    seconds : float
        How long the fits and predictions of all folds took.
    chosen : bool
    reason : str
        Why the candidate was not tried, or not considered; empty for others.
    """

    candidate: str
    score: float = np.nan
    low: float = np.nan
    high: float = np.nan
    behind: float = np.nan
    error: float = np.nan
    seconds: float = np.nan
    chosen: bool = False
    reason: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class Tried(RowTable[TriedRow]):
    """All candidates, in the order in which they were tried.

    Attributes
    ----------
    rows : tuple of TriedRow
    why : str
        What was chosen, and why.
    measure : str
        The metric behind the scores.
    folds, samples : int
    confidence : float
        Confidence of the intervals.
    """

    row_type: ClassVar[type[TriedRow]] = TriedRow
    rows: tuple[TriedRow, ...]
    why: str
    measure: str
    folds: int
    samples: int
    confidence: float

    def __str__(self) -> str:
        return self.why

    def __repr__(self) -> str:
        return f"{self.why}\n{terminal_table('', *self.table())}"

    def _repr_html_(self) -> str:
        return html_tables([("", *self.table())], [self.why])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the lines of the table."""
        header = ["candidate", "score", "interval", "behind", "seconds", "reason"]
        body = [
            [
                row.candidate + " *" * row.chosen,
                number(row.score),
                interval_words(row.low, row.high),
                _with_error(row.behind, row.error),
                number(row.seconds),
                row.reason,
            ]
            for row in self.rows
        ]
        return header, body


def _with_error(value: float, error: float) -> str:
    return f"{number(value)} ± {number(error)}" if error > 0 else number(value)
