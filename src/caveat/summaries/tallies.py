"""Samples of several classes, counted in cells: sums that many metrics share.

A metric reads of a sample the probability of one class and whether that is the true one; the
highest probability and whether it is right; the uncertainty and whether the prediction is wrong; or
less. The samples are counted once for each of these, in fine cells and in the coarse cells of each
unit. Counts add up as arrays do; the sums of the metrics are made of them when they are read.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..metrics import accuracy_score, brier_loss, negative_log_likelihood_loss
from ..metrics.condensed import (
    Asked,
    Rows,
    bin_of,
    sums_by_class,
    sums_of_label,
    sums_of_rows,
    sums_of_top,
)
from ..metrics.states import COARSE, FINE, SumPairs, cell_of, cell_values
from ..metrics.units import UNITS
from .cells import BINS, CELLS, SMALL, cells_of, representatives
from .tables import CoarseCells, coarse_cells

__all__ = ["ClassTally", "LabelTally", "ScoreTally", "Tally", "TopTally", "UncertaintyTally"]


@dataclass(frozen=True, eq=False)
class Tally(ABC):
    """Counts of samples that add up.

    Attributes
    ----------
    arrays : tuple of ndarrays
    """

    arrays: tuple[NDArray[np.integer] | FloatArray, ...]

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(map(_added, self.arrays, other.arrays)))

    @property
    def nbytes(self) -> int:
        """The size of the counts."""
        return sum(array.nbytes for array in self.arrays)

    @abstractmethod
    def sums(self, asked: Asked) -> list[list[SumPairs]]:
        """Return the sums of metrics: of all samples over fine cells, of units over coarse ones."""


def _added(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Add counts up, by 64 bits where 32 might not hold them."""
    if one.dtype == other.dtype == np.int32 and int(one.max()) + int(other.max()) > SMALL:
        one = one.astype(np.int64)
    return one + other


def _counts(*shape: int) -> NDArray[np.int32]:
    return np.zeros(shape, dtype=np.int32)


class ClassTally(Tally):
    """Samples by the probability of each class, those of the class apart.

    The arrays are the counts by fine cell, (classes, cells x 2), those by unit and coarse cell,
    (classes, units x cells x 2), and of these the sums of the probabilities and of their squares,
    (classes, units x cells x 2, 2). The last of two cells is for the samples of the class.
    """

    @staticmethod
    def coarse() -> CoarseCells:
        """Return the coarse cells."""
        return coarse_cells(2)

    @classmethod
    def empty(cls, classes: int) -> Self:
        """Return counts of no samples."""
        width = 2 * UNITS * len(cls.coarse().low)
        sums = np.zeros((classes, width, 2))
        return cls((_counts(classes, 2 * CELLS), _counts(classes, width), sums))

    def rows(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield for each class the rows of fine and of coarse cells."""
        coarse = self.coarse()
        width = len(coarse.low)
        for fine, counts, sums in zip(*self.arrays, strict=True):
            (held,) = np.nonzero(fine)
            cell, hit = np.divmod(held, 2)
            whole = _rows(representatives()[cell], hit, np.zeros_like(cell), fine[held], FINE)
            (held,) = np.nonzero(counts)
            place, hit = np.divmod(held, 2)
            unit, cell = np.divmod(place, width)
            mean, second = (sums[held] / counts[held, None]).T
            # Rounding may move a mean out of its cell, and so into another bin.
            out = coarse.of[cells_of(np.clip(mean, 0.0, 1.0))] != cell
            mean = np.where(out, np.clip(mean, coarse.low[cell], coarse.high[cell]), mean)
            square = second + np.where(hit, 1 - 2 * mean, 0.0)
            yield whole, _rows(mean, hit, unit, counts[held], COARSE, square)

    def sums(self, asked: Asked) -> list[list[SumPairs]]:
        """Return the sums of metrics that read each class against the rest."""
        return sums_by_class(asked, list(zip(*self.rows(), strict=True)))


class TopTally(ClassTally):
    """Samples by their highest probability, those of right predictions apart.

    The arrays are those of one class; its coarse cells are finer.
    """

    @staticmethod
    def coarse() -> CoarseCells:
        """Return the coarse cells: within the steps of the smooth calibration error."""
        return coarse_cells(4, 1024)

    def sums(self, asked: Asked) -> list[list[SumPairs]]:
        """Return the sums of metrics that read the most probable class alone."""
        (cuts,) = self.rows()
        return sums_of_top(asked, cuts)


class UncertaintyTally(Tally):
    """Samples by their uncertainty, those of right and those of wrong predictions.

    The arrays are the counts by fine cell, (cells x 2), and those by unit and coarse cell,
    (units x cells x 2). The last of two is for wrong predictions.
    """

    fine, coarse = (cell_of(np.zeros(1), bits)[1] for bits in (FINE, COARSE))

    @classmethod
    def empty(cls, groups: int) -> list[NDArray[np.int32]]:
        """Return the arrays of several groups, counts of no samples."""
        return [_counts(groups, 2 * cls.fine), _counts(groups, 2 * UNITS * cls.coarse)]

    def sums(self, asked: Asked) -> list[list[SumPairs]]:
        """Return the sums; the uncertainty is the middle of a cell: of ranks, the cell matters."""
        result = []
        for counts, units, bits in zip(self.arrays, (1, UNITS), (FINE, COARSE), strict=True):
            (held,) = np.nonzero(counts)
            place, hit = np.divmod(held, 2)
            unit, cell = np.divmod(place, len(counts) // (2 * units))
            result.append(_rows(cell_values(cell, bits), hit, unit, counts[held], bits))
        return sums_of_rows(asked, "uncertainty", result)


class ScoreTally(Tally):
    """Scores of samples, summed for right and wrong predictions.

    The arrays are the number of samples, (units x 2), of those whose loss is infinite, and the sums
    of the other losses and of the squares, (units x 2, 2).
    """

    @classmethod
    def empty(cls, groups: int) -> list[Any]:
        """Return the arrays of several groups, sums of no samples."""
        return [*_counts(2, groups, 2 * UNITS), np.zeros((groups, 2 * UNITS, 2))]

    def sums(self, asked: Asked) -> list[list[SumPairs]]:
        """Return the sums of metrics that are means of these scores."""
        counts, infinite, totals = self.arrays
        held = np.flatnonzero(counts)
        finite = counts[held] - infinite[held]
        square = totals[held, 1] / counts[held]
        with np.errstate(invalid="ignore"):  # where no loss is finite, there is no row
            loss = totals[held, 0] / finite
        rows = np.concatenate([held, held])
        mass = np.concatenate([finite, infinite[held]]).astype(np.float64)
        known = {
            accuracy_score: (rows % 2 == 0).astype(np.float64),
            negative_log_likelihood_loss: np.append(loss, np.full(len(held), np.inf)),
            brier_loss: np.tile(square, 2),
        }
        some = mass > 0
        known = {name: scores[some] for name, scores in known.items()}
        return sums_of_label(asked, (rows // 2)[some], mass[some], scores=known)


SCORED = (accuracy_score, negative_log_likelihood_loss, brier_loss)
"""Metrics that are means of the scores above."""


class LabelTally(Tally):
    """Samples by their true and predicted class, and by entropy, rank and error.

    The arrays are the counts by unit, true and predicted class; those by unit, bin of the
    normalized entropy, rank of the true class (see `Block`) and error; and the sums of that entropy
    and of 0 by unit, bin and error, (units x bins x 2, 2).
    """

    @classmethod
    def empty(cls, classes: int) -> Self:
        """Return counts of no samples."""
        square = classes**2
        sums = np.zeros((UNITS * BINS * 2, 2))
        return cls((_counts(UNITS * square), _counts(UNITS * BINS * square * 2), sums))

    def sums(self, asked: Asked) -> list[list[SumPairs]]:
        """Return the sums of metrics that read labels, or entropies and ranks."""
        labels, ranks, sums = self.arrays
        square = len(labels) // UNITS
        classes = round(square**0.5)
        result = []
        for metric, options in asked:
            one = [(metric, options)]
            if metric.cells == "label":
                held = np.flatnonzero(labels)
                unit, pair = np.divmod(held, square)
                true, label = np.divmod(pair, classes)
                p = np.eye(classes)[label]
                result += sums_of_label(one, unit, labels[held], true, p)
                continue
            held = np.flatnonzero(ranks)
            place, wrong = np.divmod(held, 2)
            place, rank = np.divmod(place, square)
            better, equal = np.divmod(rank, classes)
            of = 2 * place + wrong
            counts = np.bincount(of, ranks[held], len(sums))
            mean = np.clip(sums[of, 0] / counts[of], *(ends[place % BINS] for ends in _ends()))
            # So many classes above the true one, so many equal to it, the others below.
            order = np.arange(classes)
            height = 1.0 + (order < better[:, None]) + (order <= (better + equal)[:, None])
            p = np.asarray(height / height.sum(axis=1, keepdims=True))
            # A tie for the first place is right for the first of these.
            true = better + (wrong & (better == 0))
            result += sums_of_label(one, place // BINS, ranks[held], true, p, entropies=mean)
        return result


def bins_of(entropy: FloatArray) -> NDArray[np.int32]:
    """Return the bin of each normalized entropy."""
    return bin_of(entropy, BINS).astype(np.int32)


@cache
def _ends() -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest number in each bin."""
    edges = np.arange(BINS + 1) / BINS
    low, high = edges[:-1].copy(), edges[1:].copy()
    for _ in range(2):  # rounding may put an edge into the bin before
        low = np.where(bins_of(low) < np.arange(BINS), np.nextafter(low, 1), low)
        high = np.where(bins_of(high) > np.arange(BINS), np.nextafter(high, 0), high)
    return low, high


@cache
def coarse_of_fine() -> NDArray[np.int32]:
    """Return the coarse cell of an uncertainty that each fine cell is in."""
    cells = cell_values(np.arange(UncertaintyTally.fine), FINE)
    return cell_of(cells, COARSE)[0].astype(np.int32)


def _rows(
    number: FloatArray,
    hit: NDArray[np.intp],
    unit: NDArray[np.intp],
    count: NDArray[np.integer] | FloatArray,
    bits: int,
    square: FloatArray | None = None,
) -> Rows:
    """Return rows of fine cells, which are of one unit, or of coarse ones."""
    units = 1 if bits == FINE else UNITS
    mass = count.astype(np.float64)
    return Rows(number, hit == 1, unit.astype(np.int32), mass, units, bits, square)
