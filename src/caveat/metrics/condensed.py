"""Batches of few rows that stand for many samples, with a row for each cell that holds some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ._core.equal_width import bin_of
from ._core.sharing import shared, sharing
from ._inputs import Labeled, labeled
from .states import COARSE, FINE, Grid, SumPairs, sums_of
from .units import UNITS

if TYPE_CHECKING:
    from .entry import Metric

__all__ = [
    "Asked",
    "Rows",
    "bin_of",
    "sums_by_class",
    "sums_of_label",
    "sums_of_rows",
    "sums_of_top",
]

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


def sums_of_top(asked: Asked, cuts: Sequence[Rows]) -> list[list[SumPairs]]:
    """Return the sums of metrics that read the highest probability and whether it is right."""
    grids = []
    for rows in cuts:
        p = np.broadcast_to(rows.number[:, None], (len(rows.number), 3))
        grid = rows.grid(np.zeros(len(p), dtype=np.intp), {"probabilities": p})
        grid._kept["event", "top-label", None] = rows.number, rows.hit
        if rows.square is not None:
            grid._kept["square", "top-label"] = rows.square
        grids.append(grid)
    return sums_of(asked, grids)


def sums_of_label(
    asked: Asked,
    unit: NDArray[np.intp],
    count: NDArray[Any],
    codes: NDArray[np.intp] | None = None,
    probabilities: FloatArray | None = None,
    *,
    entropies: FloatArray | None = None,
    scores: Mapping[Any, FloatArray] | None = None,
) -> list[list[SumPairs]]:
    """Return the sums of metrics that read no key of the rows, and what is known of these.

    Parameters
    ----------
    asked : sequence of metrics with their options
    unit, count : ndarrays of shape (rows,)
    codes : ndarray of shape (rows,), optional
        The true classes.
    probabilities : ndarray of shape (rows, classes), optional
        With the order of the classes.
    entropies : ndarray of shape (rows,), optional
        Divided by their maximum; by default those of the probabilities.
    scores : dict of function to ndarray of shape (rows,), optional
        The scores of metrics, by their functions.
    """
    codes = np.zeros(len(unit), dtype=np.intp) if codes is None else codes
    p = np.tile([0.5, 0.5], (len(unit), 1)) if probabilities is None else probabilities
    classes = labeled(codes[:1], p[:1]).classes
    mass, place = np.asarray(count, dtype=np.float64), unit.astype(np.int32)
    grid = Grid(codes, {"probabilities": p}, mass, place, UNITS, bits=COARSE)
    grid._kept["labeled", None] = Labeled(codes, p, classes, None, None)
    for function, values in (scores or {}).items():
        grid._kept["scores", function] = values
    # Their sums are over no cells of a key: those of all samples are those of the units, added up.
    whole = Grid(codes, {"probabilities": p}, mass, np.zeros_like(place), 1, bits=FINE)
    with sharing():
        if entropies is not None:
            shared("entropies", (p,), lambda: entropies)
        return sums_of(asked, [whole, grid])


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
