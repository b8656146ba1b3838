"""What a choice among repairs gives: a sentence, a table, and the repair itself."""

from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from .._groups import combined
from ..evaluation.verdict import Verdict
from ..predictions import ProbabilityInterval
from ..predictions.given import prediction_of
from ..recalibration import Recalibrator
from ..results.tables import (
    Plottable,
    RowTable,
    html_tables,
    interval_words,
    number,
    terminal_table,
)
from ..results.words import Statement
from .changes import Change, repair_statements

__all__ = ["CandidateRow", "Repair"]

AS_IT_IS = "as it is"


@dataclass(frozen=True, kw_only=True)
class CandidateRow:
    """One candidate for a repair, measured on samples that it was not fitted on.

    Attributes
    ----------
    candidate : str
        The name of the recalibrator, or "as it is".
    by_group : bool
        Whether each group gets its own.
    score : float
        The proper score of the repaired prediction; less is better.
    gain, low, high : float
        By how much the score falls, with an interval that allows for the choice among all
        candidates; NaN if the candidate could not be fitted.
    calibration, calibration_gain : float
        The calibration error without the part that chance adds, and by how much it falls.
    chosen : bool
    note : str
        Why the candidate was not considered.
    """

    candidate: str
    by_group: bool = False
    score: float = np.nan
    gain: float = np.nan
    low: float = np.nan
    high: float = np.nan
    calibration: float = np.nan
    calibration_gain: float = np.nan
    chosen: bool = False
    note: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class Repair(RowTable[CandidateRow], Plottable):
    """What `caveat.repair` returns.

    Attributes
    ----------
    rows : tuple of CandidateRow
        The prediction as it is, and every candidate.
    why : str
        What was chosen, and why, in one sentence.
    recalibrator : Recalibrator or None
        The chosen repair, fitted on all samples; None to leave the prediction as it is.
    by_group : bool
        Whether each group gets its own repair, so that `transform` needs groups.
    measure, calibration_measure : str
        The names of the metrics behind ``score`` and ``calibration`` of the rows.
    classes : tuple or None
        The classes, in their order.
    samples : int
    confidence : float
    changes : tuple of Change
        What the repair does to accuracy and sharpness, on samples that it was not fitted on.
    """

    row_type: ClassVar[Any] = CandidateRow
    rows: tuple[CandidateRow, ...]
    why: str
    recalibrator: Recalibrator | None
    by_group: bool
    measure: str
    calibration_measure: str
    classes: tuple[Any, ...] | None = field(default=None, kw_only=True)
    samples: int = field(default=0, kw_only=True)
    confidence: float = field(default=0.95, kw_only=True)
    changes: tuple[Change, ...] = field(default=(), kw_only=True)

    @property
    def chosen(self) -> str | None:
        """The name of the chosen recalibrator; None to leave the prediction as it is."""
        return None if self.recalibrator is None else type(self.recalibrator).__name__

    def transform(self, prediction: Any, *, groups: Any = None) -> Any:
        """Return the repaired prediction; the prediction itself if it is left as it is.

        Parameters
        ----------
        prediction : prediction, or array of probabilities
            The same type, with the same classes or targets, as the repair was chosen for.
        groups : array, Series, dict of arrays or frame, optional
            Needed if ``by_group``; not used otherwise.
        """
        prediction = prediction_of(prediction, self.classes)
        if self.recalibrator is None:
            return prediction
        if not self.by_group:
            groups = None
        return repaired(self.recalibrator, prediction, groups)

    def summary(self) -> Verdict:
        """Say in plain words what the repair changes, what it costs and what it cannot promise.

        `plot` draws its map: which probability, or level, becomes which.

        Examples
        --------
        >>> import caveat, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> z = rng.normal(size=1000)
        >>> y = (rng.random(1000) < 1 / (1 + np.exp(-z))).astype(int)
        >>> repair = caveat.repair(1 / (1 + np.exp(-3 * z)), y, random_state=0)
        >>> print(repair.summary().statements[2].text)
        Accuracy stays at 64.0 %: no predicted class changes.
        >>> print(repair.summary().statements[3].text)
        Predictions become less sharp: the mean confidence goes from 83.3 % to 64.7 %.
        """
        first = Statement("info", self.why)
        if self.recalibrator is None:
            kept = "Nothing changes and nothing is lost: transform returns the prediction itself."
            return Verdict((first, Statement("info", kept)))
        others = repair_statements(self.recalibrator, self.samples, self.changes)
        return Verdict((first, *others), next_step="plot the map, and evaluate new samples.")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the repair to one file of JSON, which `caveat.load` reads back.

        Parameters
        ----------
        path : str or path
            Any name; ".caveat" is customary.
        """
        from .files import save_repair

        save_repair(self, path)

    def __str__(self) -> str:
        return self.why

    def __repr__(self) -> str:
        return f"{self.why}\n{terminal_table('', *self.table())}" if self.rows else self.why

    def _repr_html_(self) -> str:
        table = [("", *self.table())] if self.rows else []
        return html_tables(table, [self.why])

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the lines of the table of candidates."""
        error = words(self.calibration_measure) or "calibration"
        header = ["candidate", words(self.measure), "gain", "interval", error, "note"]
        body = [
            [
                row.candidate + " by group" * row.by_group + " *" * row.chosen,
                number(row.score),
                number(row.gain),
                interval_words(row.low, row.high),
                number(row.calibration),
                row.note,
            ]
            for row in self.rows
        ]
        return header, body


def repaired(recalibrator: Recalibrator, prediction: Any, groups: Any = None) -> Any:
    """Return what a fitted recalibrator makes of a prediction; intervals of probability merged."""
    made = recalibrator.transform(prediction, groups=group_labels(groups, len(prediction)))
    return made.to_categorical() if isinstance(made, ProbabilityInterval) else made


def group_labels(groups: Any, samples: int) -> Any:
    """Return one text for each sample: its group, or its combination of groups."""
    if groups is None:
        return None
    attribute = combined(groups, samples)
    return np.asarray(attribute.values, dtype=object)[attribute.codes]


_WORDS = {
    "negative_log_likelihood_loss": "log loss",
    "brier_loss": "Brier score",
    "gaussian_crps_loss": "CRPS",
    "quantile_crps_loss": "quantile loss",
    "interval_loss": "interval score",
}
_NAMES = {
    "ConformalQuantiles": "the conformal correction",
    "DirichletCalibration": "Dirichlet calibration",
    "PlattScaling": "Platt scaling",
    "VennAbers": "the Venn-Abers method",
}


def words(metric: str) -> str:
    """Return how a metric is called in a sentence."""
    return _WORDS.get(metric, metric.replace("_", " "))


def name_words(candidate: str) -> str:
    """Return how a recalibrator is called in a sentence.

    Examples
    --------
    >>> name_words("TemperatureScaling"), name_words("PlattScaling")
    ('temperature scaling', 'Platt scaling')
    """
    spaced = "".join(f" {mark.lower()}" if mark.isupper() else mark for mark in candidate)
    return _NAMES.get(candidate, spaced.strip())
