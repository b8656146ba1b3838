"""Samples of several classes as few rows: those in the same cells are alike to many metrics.

These read of a sample the probability of one class and whether that is the true one, or the
uncertainty and whether the prediction is wrong. The samples are counted once for each of these, in
fine cells and in the coarse cells of each unit; the metrics then sum the cells with their counts.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..evaluation.questions import MOST_CLASSES, Question
from ..metrics.condensed import Rows, sums_by_class, sums_of_rows
from ..metrics.states import COARSE, FINE, SumPairs, cell_of
from ..metrics.units import UNITS
from .cells import CELLS, cells_of, representatives
from .tables import coarse_cells

__all__ = ["condensed_sums", "is_condensed"]

_BITS = 2
"""How fine the cells of each unit are."""

_ROWS = 4096
"""Rows whose probabilities are put into the order of classes at once."""


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
    asked: Sequence[Question], unit: NDArray[np.int32]
) -> Iterator[tuple[Question, list[SumPairs]]]:
    """Yield questions that `is_condensed` with their totals and the sums of their units.

    Parameters
    ----------
    asked : sequence of Question
    unit : ndarray of shape (samples,)
    """
    ranking = [q for q in asked if q.metric.task == "ranking"]
    by_class = [q for q in asked if q.metric.by_class]
    against = [q for q in asked if q.against_rest]
    if ranking:
        first = ranking[0]
        cuts = _uncertainty_rows(first.inputs["uncertainty"], first.truth != 0, unit)
        yield from zip(ranking, sums_of_rows(_metrics(ranking), "uncertainty", cuts), strict=True)
    if not (by_class or against):
        return
    names = list(dict.fromkeys(q.one_class for q in against))
    each = []
    for k, (p, hit) in enumerate(_columns(by_class, against)):
        each.append(_probability_rows(p, hit, unit))
        own = [q for q in against if q.one_class == names[k]]
        yield from zip(own, sums_of_rows(_metrics(own), "probabilities", each[k]), strict=True)
    cuts_by_class = list(zip(*each, strict=True))
    yield from zip(by_class, sums_by_class(_metrics(by_class), cuts_by_class), strict=True)


def _metrics(asked: Sequence[Question]) -> list[Any]:
    return [(question.metric, question.options) for question in asked]


def _columns(
    by_class: Sequence[Question], against: Sequence[Question]
) -> Iterator[tuple[FloatArray, NDArray[np.bool_]]]:
    """Yield the probabilities of each class, contiguous, and whether it is the true one."""
    if not by_class:
        for question in {q.one_class: q for q in against}.values():
            yield np.ascontiguousarray(question.inputs["probabilities"]), question.truth != 0
        return
    p, codes = by_class[0].inputs["probabilities"], by_class[0].truth
    columns = np.empty(p.shape[::-1])
    for first in range(0, len(p), _ROWS):
        columns[:, first : first + _ROWS] = p[first : first + _ROWS].T
    for k, column in enumerate(columns):
        yield column, codes == k


def _probability_rows(
    p: FloatArray, hit: NDArray[np.bool_], unit: NDArray[np.int32]
) -> tuple[Rows, Rows]:
    """Return the rows of all samples and of each unit."""
    place, coarse = cells_of(p), coarse_cells(_BITS)
    held, count = _counted(2 * place + hit, 2 * CELLS)
    cell = held // 2
    whole = _rows(representatives()[cell], held % 2 == 1, np.zeros_like(held), count, 1, FINE)
    number = len(coarse.low)
    index = 2 * (unit * np.int32(number) + coarse.of[place]) + hit
    held, count = _counted(index, 2 * number * UNITS)
    mean, second = (
        np.bincount(index, value, 2 * number * UNITS)[held] / count for value in (p, p * p)
    )
    own = held // 2
    # Rounding may move a mean out of its cell, and so into another bin.
    out = coarse.of[cells_of(np.clip(mean, 0.0, 1.0))] != own % number
    mean = np.where(out, np.clip(mean, coarse.low[own % number], coarse.high[own % number]), mean)
    right = held % 2 == 1
    square = second + np.where(right, 1 - 2 * mean, 0.0)
    return whole, _rows(mean, right, own // number, count, UNITS, COARSE, square)


def _uncertainty_rows(
    uncertainty: FloatArray, wrong: NDArray[np.bool_], unit: NDArray[np.int32]
) -> tuple[Rows, Rows]:
    """Return the rows of all samples and of each unit."""
    cell, number = cell_of(uncertainty)
    # Any uncertainty stands for those in its cell: metrics of ranks read cells alone.
    shown = np.zeros(number)
    shown[cell] = uncertainty
    held, count = _counted(2 * cell + wrong, 2 * number)
    whole = _rows(shown[held // 2], held % 2 == 1, np.zeros_like(held), count, 1, FINE)
    of, number = cell_of(shown, COARSE)
    coarse = np.zeros(number)
    coarse[of] = shown
    place = of[cell]
    held, count = _counted(2 * (unit * number + place) + wrong, 2 * number * UNITS)
    own = held // 2
    shown = coarse[own % number]
    return whole, _rows(shown, held % 2 == 1, own // number, count, UNITS, COARSE)


def _counted(index: NDArray[Any], number: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the cells that hold a sample, and how many."""
    counts = np.bincount(index, minlength=number)
    held = np.flatnonzero(counts)
    return held, counts[held].astype(np.float64)


def _rows(
    number: FloatArray, hit: Any, unit: Any, count: FloatArray, units: int, bits: int,
    square: FloatArray | None = None,
) -> Rows:  # fmt: skip
    return Rows(number, hit, unit.astype(np.int32), count, units, bits, square)
