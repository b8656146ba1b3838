"""Batches of few rows that stand for many samples, with a row for each cell that holds some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ._inputs import Labeled, labeled
from .states import Grid, SumPairs, sums_of

if TYPE_CHECKING:
    from .entry import Metric

__all__ = ["Rows", "sums_by_class", "sums_of_rows"]

Asked = Sequence[tuple["Metric", Mapping[str, Any]]]
"""Metrics with their options."""


@dataclass(frozen=True)
class Rows:
    """Rows that stand for samples.

    Attributes
    ----------
    number : ndarray of shape (rows,)
        The probability of a class, or the uncertainty.
    hit : ndarray of shape (rows,)
        Whether that is the true class, or whether the prediction is wrong.
    unit : ndarray of shape (rows,)
    count : ndarray of shape (rows,)
        How many samples each row stands for.
    units : int
        The number of units.
    bits : int
        How fine the cells of keys are; see `cell_of`.
    square : ndarray of shape (rows,), optional
        The mean of (number - hit)^2, where that is not what the mean of the numbers gives.
    """

    number: FloatArray
    hit: NDArray[np.bool_]
    unit: NDArray[np.int32]
    count: FloatArray
    units: int
    bits: int
    square: FloatArray | None = None

    def grid(self, truth: NDArray[Any], inputs: Mapping[str, Any]) -> Grid:
        """Return the rows as a batch."""
        return Grid(truth, inputs, self.count, self.unit, self.units, bits=self.bits)


def sums_of_rows(asked: Asked, name: str, cuts: Sequence[Rows]) -> list[list[SumPairs]]:
    """Return the sums of metrics that take the hits as truth and the number as the input ``name``.

    ``cuts`` are the same samples in several ways; of units last.
    """
    grids = [rows.grid(rows.hit.astype(np.int8), {name: rows.number}) for rows in cuts]
    return sums_of(asked, grids)


def sums_by_class(asked: Asked, cuts: Sequence[Sequence[Rows]]) -> list[list[SumPairs]]:
    """Return the sums of metrics that read each class against the rest.

    ``cuts`` has, for each way to cut the samples, the rows of each class.
    """
    return sums_of(asked, [_Classes(rows) for rows in cuts])


class _Classes(Grid):
    """A batch of which each class has rows of its own."""

    def __init__(self, each: Sequence[Rows]) -> None:
        first, number = each[0], len(each)
        names = labeled([0], np.full((1, number), 1 / number)).classes
        one, unit = np.full((1, number), 1 / number), np.zeros(1, dtype=np.int32)
        super().__init__(
            np.zeros(1, dtype=np.intp), {"probabilities": one}, None, unit, first.units,
            bits=first.bits,
        )  # fmt: skip
        self._rests = []
        for k, rows in enumerate(each):
            # Only the column of the class is read, and whether the class is the true one.
            p = np.broadcast_to(rows.number[:, None], (len(rows.number), number))
            data = Labeled(np.where(rows.hit, k, (k + 1) % number), p, names, None, None)
            rest = rows.grid(data.codes, {"probabilities": p})
            rest.keyed = self.keyed
            rest._kept["labeled", None] = data
            if rows.square is not None:
                rest._kept["square"] = rows.square
            self._rests.append(rest)

    def rest(self, k: int) -> Grid:
        return self._rests[k]
