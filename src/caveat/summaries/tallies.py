"""Samples of several classes, counted in cells: sums that many metrics share.

These metrics read of a sample the probability of one class and whether that is the true one, or the
uncertainty and whether the prediction is wrong. The samples are counted once for each of these, in
fine cells and in the coarse cells of each unit. Counts add up as arrays do; the sums of the metrics
are made of them when they are read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._counting import count_by, sum_by
from .._validation import FloatArray
from ..metrics.condensed import Rows
from ..metrics.states import COARSE, FINE, cell_of, cell_values
from ..metrics.units import UNITS
from .cells import CELLS, SMALL, cells_of, representatives
from .tables import coarse_cells

__all__ = ["ClassTally", "Tally", "UncertaintyTally"]

_BITS = 2
"""How fine the cells of each unit are."""

_BLOCK = 2**17
"""Rows that are counted at once, in the cache."""


@dataclass(frozen=True, eq=False)
class Tally:
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


def _added(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Add counts up, by 64 bits where 32 might not hold them."""
    if one.dtype == other.dtype == np.int32 and int(one.max()) + int(other.max()) > SMALL:
        one = one.astype(np.int64)
    return one + other


class ClassTally(Tally):
    """Samples by the probability of each class, those of the class apart.

    The arrays are the counts by fine cell, (classes, cells x 2), those by unit and coarse cell,
    (classes, units x cells x 2), and of these the sums of the probabilities and of their squares.
    The last of two is for the samples of the class.
    """

    @classmethod
    def of(
        cls, probabilities: FloatArray, codes: NDArray[np.integer], unit: NDArray[np.int32]
    ) -> Self:
        """Count samples.

        Parameters
        ----------
        probabilities : ndarray of shape (samples, classes)
        codes : ndarray of shape (samples,)
            The position of the true class.
        unit : ndarray of shape (samples,)
        """
        coarse, classes = coarse_cells(_BITS), probabilities.shape[1]
        width = UNITS * len(coarse.low)
        kind: type[np.integer] = np.int32 if len(codes) <= SMALL else np.int64
        fine = np.zeros((classes, 2 * CELLS), dtype=kind)
        counts = np.zeros((classes, 2 * width), dtype=kind)
        sums, squares = np.zeros((2, classes, 2 * width))
        size, doubled = min(_BLOCK, len(codes)), 2 * coarse.of
        columns, square = np.empty((classes, size)), np.empty(size)
        cell, index = np.empty((2, size), dtype=np.int32)
        for first in range(0, len(codes), _BLOCK):
            true, base = codes[first : first + _BLOCK], unit[first : first + _BLOCK]
            base = base * np.int32(2 * len(coarse.low))
            number = len(true)
            _transpose(probabilities[first : first + _BLOCK], columns)
            for k in range(classes):
                p, cell, index = columns[k, :number], cell[:number], index[:number]
                hit = true == k
                cells_of(p, out=cell)
                np.add(doubled.take(cell), base, out=index)
                index += hit
                cell *= 2
                cell += hit
                _count(fine[k], cell)
                _count(counts[k], index)
                sums[k] += sum_by(index, p, 2 * width)
                squares[k] += sum_by(index, np.multiply(p, p, out=square[:number]), 2 * width)
        return cls((fine, counts, sums, squares))

    def rows(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield for each class the rows of fine and of coarse cells."""
        coarse = coarse_cells(_BITS)
        width = len(coarse.low)
        for fine, counts, sums, squares in zip(*self.arrays, strict=True):
            (held,) = np.nonzero(fine)
            cell, hit = np.divmod(held, 2)
            whole = _rows(representatives()[cell], hit, np.zeros_like(cell), fine[held], FINE)
            (held,) = np.nonzero(counts)
            place, hit = np.divmod(held, 2)
            unit, cell = np.divmod(place, width)
            mean, second = (own[held] / counts[held] for own in (sums, squares))
            # Rounding may move a mean out of its cell, and so into another bin.
            out = coarse.of[cells_of(np.clip(mean, 0.0, 1.0))] != cell
            mean = np.where(out, np.clip(mean, coarse.low[cell], coarse.high[cell]), mean)
            square = second + np.where(hit, 1 - 2 * mean, 0.0)
            yield whole, _rows(mean, hit, unit, counts[held], COARSE, square)


def _count(counts: NDArray[np.integer], index: NDArray[np.int32]) -> None:
    """Add how often each index occurs."""
    np.add(counts, count_by(index, len(counts)), out=counts, casting="same_kind")


def _transpose(probabilities: FloatArray, columns: FloatArray) -> None:
    """Write the probabilities of each class, (classes, samples), some rows at a time."""
    for rows in row_blocks(*probabilities.shape):
        # They may exceed 1 by rounding.
        np.minimum(probabilities[rows].T, 1.0, out=columns[:, rows])


class UncertaintyTally(Tally):
    """Samples by their uncertainty, those of right and those of wrong predictions.

    The arrays are the counts by fine cell, (cells x 2), and those by unit and coarse cell,
    (units x cells x 2). The last of two is for wrong predictions.
    """

    @classmethod
    def of(
        cls,
        uncertainty: FloatArray,
        wrong: NDArray[np.bool_],
        unit: NDArray[np.int32],
        codes: NDArray[np.int32],
        groups: int,
    ) -> list[Self]:
        """Count the samples of each group.

        Parameters
        ----------
        uncertainty : ndarray of shape (samples,)
        wrong : ndarray of shape (samples,)
            Whether the prediction is wrong.
        unit, codes : ndarrays of shape (samples,)
            The unit and the group of each sample.
        groups : int
        """
        widths = [2 * len(_union()), 2 * UNITS * (int(_union().max()) + 1)]
        kind: type[np.integer] = np.int32 if len(codes) <= SMALL else np.int64
        counts = [np.zeros(groups * width, dtype=kind) for width in widths]
        for first in range(0, len(codes), _BLOCK):
            rows = slice(first, first + _BLOCK)
            cell = cell_of(uncertainty[rows])[0].astype(np.int32)
            coarse = unit[rows] * np.int32(widths[1] // (2 * UNITS)) + _union().take(cell)
            for own, place, width in zip(counts, (cell, coarse), widths, strict=True):
                index = 2 * place + codes[rows] * np.int32(width) + wrong[rows]
                _count(own, index)
        shaped = [own.reshape(groups, -1) for own in counts]
        return [cls(tuple(own[i] for own in shaped)) for i in range(groups)]

    def rows(self) -> Sequence[Rows]:
        """Return the rows of fine and of coarse cells.

        Their uncertainty is the middle of the cell: metrics of ranks read the cell alone.
        """
        result = []
        for counts, units, bits in zip(self.arrays, (1, UNITS), (FINE, COARSE), strict=True):
            (held,) = np.nonzero(counts)
            place, hit = np.divmod(held, 2)
            unit, cell = np.divmod(place, len(counts) // (2 * units))
            result.append(_rows(cell_values(cell, bits), hit, unit, counts[held], bits))
        return result


@cache
def _union() -> NDArray[np.int32]:
    """Return the coarse cell of an uncertainty that each fine cell is in."""
    number = cell_of(np.zeros(1))[1]
    return cell_of(cell_values(np.arange(number), FINE), COARSE)[0].astype(np.int32)


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
