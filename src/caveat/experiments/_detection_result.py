"""What `class_detection` returns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray, as_floats, check_fraction
from ..exceptions import InvalidValueError, ShapeError
from ..resampling.student import student_interval
from ..results.tables import RowTable, ShownTable
from ._cost import Cost
from ._saved import Saved

PARTS = ("aleatoric", "epistemic", "total")
DIFFERENCE = "epistemic - aleatoric"
_MOST_LINES = 40


@dataclass(frozen=True)
class DetectionRow:
    """How well one kind of uncertainty finds a class that the model was not trained on.

    Attributes
    ----------
    decomposition : str
    uncertainty : str
        "aleatoric", "epistemic", "total", or "epistemic - aleatoric" for the difference.
    left_out : str
        The class; empty for the mean over classes.
    value : float
        ROC AUC, averaged over repeats.
    std, low, high : float
        Standard deviation over repeats, and the interval of the mean by Student's t (a bootstrap
        of a handful of repeats is too narrow); NaN with one repeat.

    Examples
    --------
    >>> from caveat.experiments import DetectionRow
    >>> DetectionRow("information", "total", "", 0.93, 0.01, 0.92, 0.94).value
    0.93
    """

    decomposition: str
    uncertainty: str
    left_out: str
    value: float
    std: float
    low: float
    high: float


@dataclass(frozen=True, repr=False, eq=False)
class ClassDetection(Saved, RowTable[DetectionRow]):
    """What `class_detection` returns: how well uncertainty finds classes that were left out.

    Attributes
    ----------
    classes : tuple
        The labels, each left out once.
    decompositions : tuple of str
    auc : ndarray of shape (decompositions, repeats, classes, 3)
        ROC AUC of the aleatoric, epistemic and total uncertainty, for each class that was left out.
    model : str
        What was trained.
    samples, test_samples : int
    notes : tuple of str
        How it was measured, and where an uncertainty is constant.
    cost : Cost
    confidence : float
        Confidence of the intervals.

    Examples
    --------
    >>> from caveat.experiments import ClassDetection
    >>> auc = [[[[0.6, 0.9, 0.8], [0.5, 0.8, 0.7]]]]
    >>> result = ClassDetection(("a", "b"), ("information",), auc)
    >>> [f"{row.uncertainty} {row.value:.2f}" for row in result.select(left_out="")]
    ['aleatoric 0.55', 'epistemic 0.85', 'total 0.75', 'epistemic - aleatoric 0.30']
    """

    format_name: ClassVar[str] = "caveat class detection"
    row_type: ClassVar[Any] = DetectionRow
    classes: tuple[Any, ...]
    decompositions: tuple[str, ...]
    auc: FloatArray
    model: str = ""
    samples: int = 0
    test_samples: int = 0
    notes: tuple[str, ...] = ()
    cost: Cost = field(default_factory=Cost)
    confidence: float = 0.95

    def __post_init__(self) -> None:
        auc, _, _ = as_floats(self.auc, "auc")
        check_fraction(self.confidence, "confidence")
        if (auc < 0).any() or (auc > 1).any():
            raise InvalidValueError("auc must be from 0 to 1, as a ROC AUC is")
        # The fields are frozen for users alone.
        object.__setattr__(self, "auc", auc)
        wanted = (len(self.decompositions), len(self.classes), len(PARTS))
        if auc.ndim != 4 or (auc.shape[0], *auc.shape[2:]) != wanted or not auc.size:
            raise ShapeError(
                f"auc must have shape (decompositions, repeats, classes, 3) for "
                f"{wanted[0]} decompositions and {wanted[1]} classes; got {auc.shape}"
            )

    @property
    def repeats(self) -> int:
        """How often every class was left out."""
        return self.auc.shape[1]

    @property
    def rows(self) -> tuple[DetectionRow, ...]:  # type: ignore[override]
        """One number each: the means over classes, then the classes."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[DetectionRow]:
        labels = [str(label) for label in self.classes]
        for name, auc in zip(self.decompositions, self.auc, strict=True):
            mean = auc.mean(axis=1)
            for part, values in zip(PARTS, mean.T, strict=True):
                yield self._row(name, part, "", values)
            yield self._row(name, DIFFERENCE, "", mean[:, 1] - mean[:, 0], (-1.0, 1.0))
            for place, label in enumerate(labels):
                for i, part in enumerate(PARTS):
                    yield self._row(name, part, label, auc[:, place, i])

    def _row(
        self,
        name: str,
        part: str,
        label: str,
        values: FloatArray,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> DetectionRow:
        spread = student_interval(values, self.confidence, bounds)
        return DetectionRow(name, part, label, float(values.mean()), *spread)

    @classmethod
    def _restored(cls, given: dict[str, Any]) -> dict[str, Any]:
        return super()._restored(given) | {"cost": Cost(**given["cost"])}

    @property
    def description(self) -> str:
        """What was measured, in one line."""
        of = f" of {self.model}" if self.model else ""
        times = f", {self.repeats} repeats, {self.confidence:.0%} intervals"
        return (
            f"ROC AUC{of} for finding each of {len(self.classes)} classes that was left out"
            f"{times if self.repeats > 1 else ''}"
        )

    def _lines(self) -> tuple[str, ...]:
        return self.notes

    def _tables(self) -> list[ShownTable]:
        result: list[ShownTable] = []
        for name in self.decompositions:
            lines: dict[str, list[str]] = {}
            for row in self.matching(decomposition=name):
                if row.uncertainty != DIFFERENCE:
                    lines.setdefault(row.left_out, []).append(_cell(row))
            body = [[label or "mean over classes", *cells] for label, cells in lines.items()]
            (gap,) = self.matching(decomposition=name, uncertainty=DIFFERENCE)
            more = [[f"and {len(body) - _MOST_LINES} classes: to_frame()", "", "", ""]]
            body = body[:_MOST_LINES] + (more if len(body) > _MOST_LINES else [])
            body.insert(1, [DIFFERENCE, "", _cell(gap), ""])
            result.append((f"{self.description}, {name}", ["left out", *PARTS], body))
        return result


def _cell(row: DetectionRow) -> str:
    """Return a value and its interval."""
    if np.isnan(row.low):
        return f"{row.value:.3f}"
    return f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})"
