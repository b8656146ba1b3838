"""Counts the samples of several classes, some at a time: one pass for all metrics."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluation.questions import Question
from ..exceptions import OptionError
from ..metrics.states import cell_of
from ..metrics.units import UNITS
from .cells import SMALL
from .condensed import TalliedStates, tallied
from .parts import Distribution, NumberKey, Part
from .steps import Block, steps
from .tallies import (
    BINS,
    ClassTally,
    LabelTally,
    ScoreTally,
    TopTally,
    UncertaintyTally,
    bins_of,
    coarse_of_fine,
)

__all__ = ["COMPILED", "ClassCounts", "UncountedError"]

_BLOCK = 2**17
"""Samples that are counted at once, class by class: the counts of a class stay in the cache."""

_TILE = 2**14
"""Samples whose probabilities of all classes and their logarithms stay in the cache."""

COMPILED = 2**21
"""Samples from which on it pays to import numba, if it is installed."""

_EXACT = 1e-9
"""How far the sum of a row may be from 1 without being divided by it."""


class UncountedError(Exception):
    """Raised where rows are no probabilities."""


class ClassCounts:
    """Counts samples by everything that metrics of several classes read.

    Parameters
    ----------
    classes : int
    compiled : bool, default=False
        Whether there are so many samples that compiled loops pay, if numba is installed.
    """

    def __init__(self, classes: int, compiled: bool = False) -> None:
        self.classes = classes
        self._steps = steps(compiled)
        self._by_class, self._top = ClassTally.empty(classes), TopTally.empty(1)
        self._labels = LabelTally.empty(classes)
        self._uncertainty = UncertaintyTally.empty(classes)
        self._scores = ScoreTally.empty(classes)
        # The numbers of each sample: highest probability and entropy, by true class.
        self._confidence = np.zeros((classes, UncertaintyTally.fine), dtype=np.int32)
        self._moments = np.zeros((2, classes, 2))
        self.samples = np.zeros(classes, dtype=np.int64)
        self._block = Block.empty(classes, 0)

    def add(
        self,
        columns: Sequence[NDArray[np.floating]] | NDArray[np.floating],
        true: NDArray[np.integer],
        unit: NDArray[np.int32],
        tolerance: float | None = None,
    ) -> None:
        """Count some samples.

        Parameters
        ----------
        columns : sequence of arrays of shape (samples,)
            The probabilities of each class.
        true : ndarray of shape (samples,)
            The position of the true class.
        unit : ndarray of shape (samples,)
        tolerance : float, optional
            How far the sum of a row may be from 1; by default, the rows are checked already.

        Raises
        ------
        UncountedError
            If a row is invalid; nothing that was counted can be used then.
        """
        if self.samples.sum() + len(true) > SMALL:
            raise OptionError(
                f"samples of several classes are counted up to {SMALL:,} at a time; pass them in "
                "several batches, whose summaries add up"
            )
        for first in range(0, len(true), _BLOCK):
            rows = slice(first, first + _BLOCK)
            own = true[rows].astype(np.int32)
            self._add([column[rows] for column in columns], own, unit[rows], tolerance)

    def _add(
        self,
        columns: list[NDArray[np.floating]],
        true: NDArray[np.int32],
        unit: NDArray[np.int32],
        tolerance: float | None,
    ) -> None:
        number, classes = len(true), self.classes
        if len(self._block.top) < number:
            self._block = Block.empty(classes, number)
            self._logarithms = np.empty((classes, min(_TILE, number)))
            self._cells = np.empty((2, number), dtype=np.int32)
        block = self._block
        entropies, tops = (own[:number] for own in self._cells)
        with np.errstate(divide="ignore"):
            for first in range(0, number, _TILE):
                rows = slice(first, min(first + _TILE, number))
                self._describe(columns, true, rows, tolerance)
                entropies[rows] = cell_of(block.entropy[rows])[0]
                tops[rows] = cell_of(block.top[rows])[0]
        label, top, entropy, loss, square, rank = (
            own[:number]
            for own in (block.label, block.top, block.entropy, block.loss, block.square, block.rank)
        )
        if top.max() > 1:  # by rounding
            np.minimum(block.columns[:, :number], 1.0, out=block.columns[:, :number])
            np.minimum(top, 1.0, out=top)
        count, add = self._steps.count, self._steps.add
        wrong = (label != true).astype(np.int32)
        by_class, of = self._by_class.arrays, self._by_class.coarse().of
        base = unit * np.int32(by_class[1].shape[1] // UNITS)
        for k, own in enumerate(zip(*by_class, strict=True)):
            self._steps.tally(block.columns[k, :number], true, k, base, of, *own)
        highest, of = self._top.arrays, self._top.coarse().of
        base = unit * np.int32(highest[1].shape[1] // UNITS)
        self._steps.tally(top, wrong, 0, base, of, *(array[0] for array in highest))
        self.samples += np.bincount(true, minlength=classes)
        # By true class: uncertainty, scores, and the distributions of numbers.
        cells, by_unit = (own.reshape(-1) for own in self._uncertainty)
        count(_within(true, 2 * entropies + wrong, cells, classes), cells)
        place_of = 2 * (unit * np.int32(UncertaintyTally.coarse) + coarse_of_fine().take(entropies))
        count(_within(true, place_of + wrong, by_unit, classes), by_unit)
        counts, infinite = (own.reshape(-1) for own in self._scores[:2])
        index = _within(true, 2 * unit + wrong, counts, classes)
        bad = np.isinf(loss)
        if bad.any():
            count(index[bad], infinite)
            loss[bad] = 0.0
        count(index, counts)
        add(index, loss, square, self._scores[2].reshape(-1, 2))
        numbers = self._confidence.reshape(-1)
        count(_within(true, tops, numbers, classes), numbers)
        for values, moments in zip((top, entropy), self._moments, strict=True):
            add(true, values, values**2, moments)
        # Of all samples: labels, and ranks by entropy.
        pair = true * np.int32(classes) + label
        count(unit * np.int32(classes**2) + pair, self._labels.arrays[0])
        entropy *= 1 / np.log(classes)
        np.clip(entropy, 0.0, 1.0, out=entropy)
        place_of = unit * np.int32(BINS) + bins_of(entropy)
        by_rank = (place_of * np.int32(classes**2) + rank) * 2 + wrong
        count(by_rank, self._labels.arrays[1])
        add(2 * place_of + wrong, entropy, np.zeros(number), self._labels.arrays[2])

    def _describe(
        self,
        columns: list[NDArray[np.floating]],
        true: NDArray[np.int32],
        rows: slice,
        tolerance: float | None,
    ) -> None:
        """Write what is known of each sample of a tile."""
        block = self._block
        tile = block.columns[:, rows]
        for own, column in zip(tile, columns, strict=True):
            own[:] = column[rows]
        total = tile.sum(axis=0)
        off = np.abs(total - 1).max()
        if tolerance is not None and not (off <= tolerance and tile.min() >= 0):
            raise UncountedError
        if off > _EXACT:
            tile /= total
        np.log(tile, out=self._logarithms[:, : rows.stop - rows.start])
        self._steps.describe(
            block.columns, self._logarithms, true, rows.start, block.label, block.top,
            block.entropy, block.loss, block.square, block.rank,
        )  # fmt: skip

    def part(self, asked: Sequence[Question], plain: bool, k: int | None = None) -> Part:
        """Return the sums of the samples of one true class; by default of all.

        Parameters
        ----------
        asked : sequence of Question
            About any one sample; those that other counts answer are left out.
        plain : bool
            Whether none of the samples belong together.
        k : int, optional
            The position of the class.
        """
        own = slice(None) if k is None else slice(k, k + 1)
        samples = int(self.samples[own].sum())
        uncertainty, scores = (
            tuple(array[own].sum(axis=0, dtype=array.dtype) for array in arrays)
            for arrays in (self._uncertainty, self._scores)
        )
        tallies = [UncertaintyTally(uncertainty), ScoreTally(scores)]
        if k is None:  # these mean nothing among the samples of one true class
            tallies += [self._by_class, self._top, self._labels]
        states = TalliedStates({}, tallied(asked, tallies, samples, plain))
        number = float(samples)
        return Part(samples, number, number, None, states, self.distributions(k))

    def distributions(self, k: int | None = None) -> dict[NumberKey, Distribution]:
        """Return the distributions of what is predicted of one true class; by default of all."""
        own = slice(None) if k is None else slice(k, k + 1)
        top, entropy = self._moments[:, own].sum(axis=1).tolist()
        labels = self._labels.arrays[0].reshape(UNITS, self.classes, -1)[:, own].sum(axis=(0, 1))
        places, values = cell_of(np.arange(float(self.classes)))[0], np.arange(self.classes)
        number = int(labels.sum())
        of_class = np.zeros(UncertaintyTally.fine)
        of_class[places] = labels
        zero = np.zeros(UncertaintyTally.fine)
        zero[cell_of(np.zeros(1))[0]] = number
        cells = self._uncertainty[0][own].sum(axis=0).reshape(-1, 2).sum(axis=1)
        total = _distribution(cells, *entropy)
        return {
            ("confidence", ""): _distribution(self._confidence[own].sum(axis=0), *top),
            ("class", ""): _distribution(of_class, labels @ values, labels @ values**2),
            ("total", ""): total,
            ("aleatoric", ""): total,
            ("epistemic", ""): _distribution(zero, 0.0, 0.0),
        }


def _within(
    true: NDArray[np.int32], index: NDArray[np.int32], flat: NDArray[np.int32], classes: int
) -> NDArray[np.int32]:
    """Return the place of an index among the counts of the true class."""
    return true * np.int32(len(flat) // classes) + index


def _distribution(counts: NDArray[Any], total: float, square: float) -> Distribution:
    columns = np.flatnonzero(counts).astype(np.int64)
    held = counts[columns].astype(np.float64)
    return Distribution(columns, held, float(total), float(square))
