"""What every figure has: its numbers as a frame, its words, and the row of the table behind it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class Figure:
    """The numbers of one chart; `to_frame` gives them as a table.

    Attributes
    ----------
    title, x_label, y_label : str
        Words for a reader.
    confidence : float
        The confidence of the limits.
    """

    title: str
    x_label: str
    y_label: str
    confidence: float

    _columns: ClassVar[tuple[str, ...]] = ()

    def to_frame(self) -> Any:
        """Return the numbers as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame({name: getattr(self, name) for name in self._columns})


@dataclass(frozen=True)
class Headline:
    """The number that sums a figure up, as it stands in the table; NaN where it was not asked."""

    metric: str
    value: float
    interval: tuple[float, float]
    estimate: float = np.nan


def headline(evaluation: Evaluation, metric: str, target: str = "", option: str = "") -> Headline:
    """Return the row of all samples for a metric."""
    for row in evaluation.matching(metric=metric, group="", target=target):
        if option in ("", row.option):
            return Headline(metric, row.value, (row.low, row.high), row.estimate)
    return Headline(metric, np.nan, (np.nan, np.nan))
