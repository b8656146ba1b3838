"""What `consistency` returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..exceptions import UnknownNameError
from ..results.rows import called
from ..results.tables import RowTable, ShownTable, Tabulated, interval_words, number

_HEADER = ("of", "group", "raw", "interval", "scaled", "interval", "samples", "note")


@dataclass(frozen=True)
class ConsistencyRow:
    """The mean consistency of some samples.

    Attributes
    ----------
    quantity : str
        The name in ``values``.
    attribute, group : str
        Empty for all samples.
    outcome : str
        Empty for all outcomes.
    consistency, low, high : float
        The mean and its confidence interval, or NaN.
    scaled, scaled_low, scaled_high : float
        The same with differences divided by the standard deviation of the quantity.
    samples : int
        The number of samples in the mean.
    units : int
        The number of independent units: samples, clusters, or blocks of many samples.
    note : str
        Why a number is undefined.
    combined : bool
        Whether the attribute combines others, whose names are in its values.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "quantity", "attribute", "group", "outcome", "consistency", "low", "high", "scaled",
        "scaled_low", "scaled_high", "samples", "units", "note",
    )  # fmt: skip

    quantity: str
    attribute: str
    group: str
    outcome: str
    consistency: float
    low: float
    high: float
    scaled: float
    scaled_low: float
    scaled_high: float
    samples: int
    units: int
    note: str
    combined: bool = False

    @property
    def group_name(self) -> str:
        """The name of the group in a sentence."""
        return called(self.attribute, self.group, self.combined)

    @property
    def label(self) -> str:
        """Which samples: ``race=a, outcome 1``."""
        parts = [self.group_name] if self.attribute else []
        parts += [f"outcome {self.outcome}"] if self.outcome else []
        return ", ".join(parts) or "all samples"


@dataclass(frozen=True, repr=False, eq=False)
class Consistency(Tabulated, RowTable[ConsistencyRow]):
    """What `consistency` returns: means over all samples and by group, and the values behind them.

    Attributes
    ----------
    rows : tuple of ConsistencyRow
        `to_frame` and `to_json` give them as a table.
    differences : mapping of str to ndarray of shape (queries,)
        The difference of each query from the mean of its neighbors, by quantity.
    spread : mapping of str to float
        The standard deviation of each quantity over all samples; 0 if it is constant.
    queries : ndarray of shape (queries,)
        The samples that were looked up.
    samples, neighbors : int
        The number of samples in the table, and of neighbors.
    distance : str
    confidence : float
        The confidence of the intervals.

    Examples
    --------
    >>> from caveat.fairness import consistency
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> result = consistency(
    ...     {"epistemic": [1e-4, 1e-4, 2e-4, 4e-4, 4e-4, 4e-4]}, X, neighbors=2,
    ...     groups=["a", "a", "a", "b", "b", "b"], resamples=0
    ... )
    >>> [f"{row.label}: {row.scaled:.2f}" for row in result.select(quantity="epistemic")]
    ['all samples: 0.76', 'group=a: 0.51', 'group=b: 1.00']
    """

    row_type: ClassVar[Any] = ConsistencyRow
    rows: tuple[ConsistencyRow, ...]
    differences: Mapping[str, FloatArray]
    spread: Mapping[str, float]
    queries: NDArray[np.intp]
    samples: int
    neighbors: int
    distance: str
    confidence: float

    @property
    def per_sample(self) -> dict[str, FloatArray]:
        """The consistency of each query, by quantity."""
        return {name: 1 - value for name, value in self.differences.items()}

    def scaled_per_sample(self, quantity: str) -> FloatArray:
        """Return the consistency of each query with differences divided by the spread.

        NaN if the quantity is the same for all samples.
        """
        if not isinstance(quantity, str) or quantity not in self.differences:
            known = ", ".join(map(repr, self.differences))
            raise UnknownNameError(f"quantity must be one of {known}; got {quantity!r}")
        return 1 - self.differences[quantity] / (self.spread[quantity] or np.nan)

    @property
    def description(self) -> str:
        """The data and the method in one line."""
        asked = f"{len(self.queries):,} of " if len(self.queries) < self.samples else ""
        return (
            f"Consistency of {asked}{self.samples:,} samples among their {self.neighbors} nearest "
            f"neighbors ({self.distance}), {self.confidence:.0%} intervals"
        )

    def _tables(self) -> list[ShownTable]:
        body = [
            [
                row.quantity,
                row.label,
                number(row.consistency),
                interval_words(row.low, row.high),
                number(row.scaled),
                interval_words(row.scaled_low, row.scaled_high),
                f"{row.samples:,}",
                row.note,
            ]
            for row in self.rows
        ]
        return [(self.description, _HEADER, body)]
