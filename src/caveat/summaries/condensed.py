"""Samples of several classes as few rows: those in the same cells are alike to many metrics.

These read of a sample the probability of one class and whether that is the true one, or the
uncertainty and whether the prediction is wrong. The samples are counted once for each of these, in
fine cells and in the coarse cells of each unit; the metrics then sum the cells with their counts.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._counting import count_by, sum_by
from .._validation import FloatArray
from ..evaluation.questions import MOST_CLASSES, Question
from ..metrics.condensed import Rows, sums_by_class, sums_of_rows
from ..metrics.states import Cut, SumPairs, cell_of
from .cells import CELLS, cells_of, representatives
from .tables import coarse_cells

__all__ = ["condensed_sums", "is_condensed"]

_BITS = 2
"""How fine the cells of each unit are."""

_ROWS, _COLUMNS = 4096, 8
"""Rows and classes whose probabilities are put into the order of classes at once."""

_BLOCK = 2**17
"""Rows that are counted at once, in the cache."""


def is_condensed(question: Question, classes: int) -> bool:
    """Return whether cells can stand for the samples of a question, which have no weights.

    Parameters
    ----------
    question : Question
    classes : int
        The number of classes that are predicted; 0 for numbers.
    """
    by_class = question.metric.by_class or question.against_rest
    return 2 < classes <= MOST_CLASSES and (by_class or question.metric.task == "ranking")


def condensed_sums(
    asked: Sequence[Question], cuts: Sequence[Cut]
) -> Iterator[tuple[Question, list[SumPairs]]]:
    """Yield questions that `is_condensed` with their sums over each cut.

    Parameters
    ----------
    asked : sequence of Question
    cuts : pair of (unit, units, bits)
        The first with fine cells, the second with coarse ones.
    """
    ranking = [q for q in asked if q.metric.task == "ranking"]
    by_class = [q for q in asked if q.metric.by_class]
    against = [q for q in asked if q.against_rest]
    if ranking:
        first = ranking[0]
        rows = _uncertainty_rows(first.inputs["uncertainty"], first.truth != 0, cuts)
        yield from zip(ranking, sums_of_rows(_metrics(ranking), "uncertainty", rows), strict=True)
    if not (by_class or against):
        return
    names = list(dict.fromkeys(q.one_class for q in against))
    each = []
    for k, (p, hit) in enumerate(_columns(by_class, against)):
        each.append(_probability_rows(p, hit, cuts))
        own = [q for q in against if q.one_class == names[k]]
        yield from zip(own, sums_of_rows(_metrics(own), "probabilities", each[k]), strict=True)
    sums = sums_by_class(_metrics(by_class), list(zip(*each, strict=True)))
    yield from zip(by_class, sums, strict=True)


def _metrics(asked: Sequence[Question]) -> list[Any]:
    return [(question.metric, question.options) for question in asked]


def _columns(
    by_class: Sequence[Question], against: Sequence[Question]
) -> Iterator[tuple[FloatArray, NDArray[np.bool_]]]:
    """Yield the probabilities of each class, contiguous, and whether it is the true one."""
    if not by_class:
        for question in {q.one_class: q for q in against}.values():
            # A probability may exceed 1 by rounding.
            yield np.minimum(question.inputs["probabilities"], 1.0), question.truth != 0
        return
    p, codes = by_class[0].inputs["probabilities"], by_class[0].truth
    for start in range(0, p.shape[1], _COLUMNS):
        some = p[:, start : start + _COLUMNS]
        columns = np.empty(some.shape[::-1])
        for first in range(0, len(p), _ROWS):
            rows = slice(first, first + _ROWS)
            columns[:, rows] = some[rows].T
            np.minimum(columns[:, rows], 1.0, out=columns[:, rows])
        for k, column in enumerate(columns, start):
            yield column, codes == k


def _probability_rows(
    p: FloatArray, hit: NDArray[np.bool_], cuts: Sequence[Cut]
) -> tuple[Rows, Rows]:
    """Return the rows of fine and of coarse cells."""
    coarse = coarse_cells(_BITS)
    fine, some = _Counted(CELLS, cuts[0]), _Counted(len(coarse.low), cuts[1], moments=2)
    for first in range(0, len(p), _BLOCK):
        rows = slice(first, first + _BLOCK)
        place = cells_of(p[rows])
        fine.add(rows, place, hit[rows])
        some.add(rows, coarse.of.take(place), hit[rows], p[rows])
    whole = fine.rows(representatives()[fine.cell])
    mean, second = some.means
    # Rounding may move a mean out of its cell, and so into another bin.
    out = coarse.of[cells_of(np.clip(mean, 0.0, 1.0))] != some.cell
    mean = np.where(out, np.clip(mean, coarse.low[some.cell], coarse.high[some.cell]), mean)
    return whole, some.rows(mean, second + np.where(some.hit, 1 - 2 * mean, 0.0))


def _uncertainty_rows(
    uncertainty: FloatArray, wrong: NDArray[np.bool_], cuts: Sequence[Cut]
) -> list[Rows]:
    """Return the rows of fine and of coarse cells, which are those of the metrics themselves."""
    result, shown = [], uncertainty
    cell: NDArray[np.intp] | slice = slice(None)
    for cut in cuts:
        place, number = cell_of(shown, cut[2])
        cell = place[cell]  # coarse cells are unions of fine ones
        # Any uncertainty stands for those in its cell: metrics of ranks read the cell alone.
        values, shown = shown, np.zeros(number)
        shown[place] = values
        counted = _Counted(number, cut)
        counted.add(slice(None), cell, wrong)
        result.append(counted.rows(shown[counted.cell]))
    return result


class _Counted:
    """Samples that are counted by unit, cell and whether something happened.

    Parameters
    ----------
    number : int
        The number of cells.
    cut : (unit, units, bits)
    moments : int, default=0
        2 to sum a value and its square as well.
    """

    def __init__(self, number: int, cut: Cut, moments: int = 0) -> None:
        self._number, (self._unit, self._units, self._bits) = number, cut
        self._counts = np.zeros(2 * number * self._units, dtype=np.int64)
        self._sums = np.zeros((moments, len(self._counts)))

    def add(
        self,
        rows: slice,
        cell: NDArray[np.integer],
        hit: NDArray[np.bool_],
        value: FloatArray | None = None,
    ) -> None:
        """Count some samples."""
        place = cell if self._units == 1 else self._unit[rows] * np.int32(self._number) + cell
        index = np.add(2 * place, hit, dtype=np.int32, casting="unsafe")
        self._counts += count_by(index, len(self._counts))
        if value is not None:
            for sums, power in zip(self._sums, (value, value * value), strict=True):
                sums += sum_by(index, power, len(sums))

    @cached_property
    def _held(self) -> NDArray[np.intp]:
        return np.flatnonzero(self._counts)

    @property
    def hit(self) -> NDArray[np.bool_]:
        """Whether it happened to the samples of each row, of which there is at least one."""
        return np.asarray(self._held % 2 == 1)

    @property
    def cell(self) -> NDArray[np.intp]:
        """The cell of each row."""
        return np.asarray(self._held // 2 % self._number)

    @property
    def means(self) -> FloatArray:
        """The mean of the value and of its square in each row, (2, rows)."""
        return np.asarray(self._sums[:, self._held] / self._counts[self._held])

    def rows(self, number: FloatArray, square: FloatArray | None = None) -> Rows:
        """Return the rows with the number that each has."""
        unit = (self._held // (2 * self._number)).astype(np.int32)
        count = self._counts[self._held].astype(np.float64)
        return Rows(number, self.hit, unit, count, self._units, self._bits, square)
