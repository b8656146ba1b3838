"""What a comparison with a reference shows: rows, a judgment for each, and the verdict."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..evaluation import Verdict
from ..exceptions import OptionError
from ..metrics import METRICS
from ..results.judgments import Word
from ..results.tables import (
    Drawable,
    RowTable,
    html_tables,
    interval_words,
    number,
    terminal_table,
)
from .cells import Numbers
from .effects import NAN

__all__ = ["ChangeState", "Drift", "DriftQuestion", "DriftRow", "Thresholds"]


class ChangeState(Word):
    """What the samples show about a change."""

    CHANGED = "changed"
    UNCHANGED = "no change that matters"
    TOO_FEW = "too few samples to say"


class DriftQuestion(Word):
    """What may have changed."""

    PREDICTIONS = "predictions"
    UNCERTAINTY = "uncertainty"
    TRUTH = "true classes"
    CALIBRATION = "calibration"
    SKILL = "skill"
    GROUPS = "mix of groups"


@dataclass(frozen=True)
class Thresholds:
    """How large a change must be to matter.

    Attributes
    ----------
    distribution : float
        For predictions, uncertainties, true classes and the mix of groups: the distance between
        two distributions, from 0 to 1. 0.1 is a shift by a quarter of a standard deviation.
    share : float
        For calibration errors, accuracies and coverages: 0.02 is 2 percentage points.
    relative : float
        For other metrics: 0.1 is a tenth of the reference's value.
    """

    distribution: float = 0.1
    share: float = 0.02
    relative: float = 0.1


@dataclass(frozen=True, kw_only=True)
class DriftRow:
    """One number of the reference and of the new samples, and how far they are apart.

    Attributes
    ----------
    question : DriftQuestion
    quantity : str
        The number or the metric: "probability", "epistemic", "accuracy_score", ...
    target, attribute, category : str
        The target, and the group; empty for all samples.
    reference, new : float
        The means, or the values of the metric.
    change, change_low, change_high : float
        New less reference, with its interval.
    standardized, standardized_low, standardized_high : float
        The same in standard deviations of the samples, for means.
    effect, effect_low, effect_high : float
        What is held against the threshold, with its interval.
    effect_kind : str
        "Kolmogorov distance", "total variation", "difference" or "relative difference".
    threshold : float
    p_value : float
        The p-value of the test that nothing changed.
    adjusted : float
        The p-value that allows for all rows of all samples, or for all rows of groups (Holm).
    state : ChangeState
    samples_reference, samples_new : int
    note : str
    """

    columns: ClassVar[tuple[str, ...]] = (
        "question", "quantity", "target", "group", "reference", "new", "change", "change_low",
        "change_high", "standardized", "standardized_low", "standardized_high", "effect",
        "effect_low", "effect_high", "effect_kind", "threshold", "p_value", "adjusted", "state",
        "samples_reference", "samples_new", "note", "attribute", "category",
    )  # fmt: skip

    question: DriftQuestion
    quantity: str
    reference: float
    new: float
    samples_reference: int
    samples_new: int
    target: str = ""
    attribute: str = ""
    category: str = ""
    change: float = NAN
    change_low: float = NAN
    change_high: float = NAN
    standardized: float = NAN
    standardized_low: float = NAN
    standardized_high: float = NAN
    effect: float = NAN
    effect_low: float = NAN
    effect_high: float = NAN
    effect_kind: str = ""
    threshold: float = NAN
    p_value: float = NAN
    adjusted: float = NAN
    state: ChangeState = ChangeState.TOO_FEW
    note: str = ""

    @property
    def overall(self) -> bool:
        """Whether it is for all samples."""
        return not self.attribute

    @property
    def group(self) -> str:
        """The group, as ``sex=f``; empty for all samples."""
        return f"{self.attribute}={self.category}" if self.attribute else ""


@dataclass(frozen=True, repr=False, eq=False)
class Drift(Drawable, RowTable[DriftRow]):
    """What `caveat.drift` returns.

    Attributes
    ----------
    rows : tuple of DriftRow
        All samples first, then each group.
    names : pair of str
        What the reference and the new samples are called.
    samples : pair of int
    description : str
        What is predicted.
    left_out : tuple of str
        Sentences on what was not compared, and why.
    thresholds : Thresholds
    alpha : float
        The level of the tests.
    confidence : float
        The confidence level of the intervals.
    """

    row_type: ClassVar[type] = DriftRow
    rows: tuple[DriftRow, ...]
    names: tuple[str, str]
    samples: tuple[int, int]
    description: str
    left_out: tuple[str, ...] = ()
    thresholds: Thresholds = Thresholds()
    alpha: float = 0.05
    confidence: float = 0.95
    _numbers: dict[tuple[str, str], tuple[Numbers, Numbers]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether anything changed, overall or in a group."""
        return any(row.state is ChangeState.CHANGED for row in self.rows)

    def state(self, question: str) -> ChangeState | None:
        """Return the judgment of one question over all samples; None if it was not asked.

        Parameters
        ----------
        question : DriftQuestion or str
            "predictions", "uncertainty", "true classes", "calibration", "skill" or "mix of groups".
        """
        return state_of([row for row in self.rows if row.overall and row.question == question])

    def verdict(self) -> Verdict:
        """Return what changed in plain words, and what to do next."""
        from .words import verdict

        return verdict(self)

    def distributions(self, quantity: str, target: str = "") -> tuple[Numbers, Numbers]:
        """Return the distributions of one number in the reference and in the new samples."""
        asked = isinstance(quantity, str) and isinstance(target, str)
        if not asked or (quantity, target) not in self.quantities:
            known = ", ".join(" ".join(filter(None, key)) for key in self.quantities)
            raise OptionError(f"no distribution of {quantity!r}; there are {known or 'none'}")
        return self._numbers[quantity, target]

    @property
    def quantities(self) -> list[tuple[str, str]]:
        """The numbers whose distributions were compared, with their targets."""
        return list(self._numbers)

    def __repr__(self) -> str:
        head, title, body = self.readable()
        return f"{self.verdict()}\n{terminal_table(title, head, body)}"

    def _repr_html_(self) -> str:
        head, title, body = self.readable()
        return html_tables([(title, head, body)], str(self.verdict()).split("\n"))

    def readable(self) -> tuple[list[str], str, list[list[str]]]:
        """Return the rows over all samples as a table; those of groups are in the frame."""
        body = [_cells(row) for row in self.rows if not row.group]
        rest = len(self.rows) - len(body)
        title = f"{self.names[1]} against {self.names[0]}"
        return HEADER, title + (f"; {rest} rows of groups: to_frame()" if rest else ""), body


HEADER = [
    "question", "quantity", "reference", "new", "effect", "interval", "p", "judgment",
]  # fmt: skip


def _called(quantity: str) -> str:
    """Return the name of a quantity for a table: metrics have short ones."""
    if quantity not in METRICS:
        return quantity
    return METRICS[quantity].short or METRICS[quantity].title


def _cells(row: DriftRow) -> list[str]:
    """Return a row as cells of a table."""
    return [
        str(row.question.value),
        " ".join(part for part in (_called(row.quantity), row.target) if part),
        number(row.reference),
        number(row.new),
        number(row.effect),
        interval_words(row.effect_low, row.effect_high),
        "" if np.isnan(row.adjusted) else f"{row.adjusted:.2g}",
        str(row.state.value),
    ]


def state_of(rows: list[DriftRow]) -> ChangeState | None:
    """Return the judgment of several rows: changed if one is, unchanged if all are."""
    if not rows:
        return None
    states = {row.state for row in rows}
    if ChangeState.CHANGED in states:
        return ChangeState.CHANGED
    return ChangeState.TOO_FEW if ChangeState.TOO_FEW in states else ChangeState.UNCHANGED
