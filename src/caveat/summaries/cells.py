"""Cells of probabilities, in which the samples of two classes are counted.

A table of counts stands for the samples: all that a metric of two classes reads is the probability
and the truth, and a probability is known from its cell

* to within 1 / 30,720 between 1/64 and 63/64 (1 / 15,360 just above a multiple of 1/240): there
  are 15 x 1,024 cells of equal width, so that the 15 bins of the calibration errors are unions of
  cells;
* to within 1/256 of its distance from 0 or 1 beyond these, down to a distance of 2^-53;
* exactly if it is a multiple of 1/240, as rounded ones are.
"""

import numpy as np
from numpy.typing import NDArray

from .._counting import count_by
from .._validation import FloatArray
from ..exceptions import InvalidValueError, LabelError

__all__ = ["CELLS", "CellCounts", "cells_of", "count_cells", "representatives"]

WIDTHS = 15 * 1024
"""The number of cells of equal width, if they reached from 0 to 1."""

_ROUND = 64
"""Every so many cells, one is represented by where it begins: by the multiples of 1/240."""

_EDGE = WIDTHS // 64
_BITS = 7
_OCTAVES = 47
"""Powers of two between the distances 2^-53 and 2^-6."""

_FIRST = (1023 - 53) << _BITS
_SIDE = 2 + (_OCTAVES << _BITS)
"""Cells near 0, and as many near 1: of the distance 0, of distances below 2^-53, and octaves."""

_LOW = WIDTHS + 1
_HIGH = _LOW + _SIDE

_HALF = _HIGH + _SIDE
"""The cell of exactly one half, whose more probable class is the first."""

CELLS = _HALF + 1
"""The number of cells."""

_BLOCK, _ROWS = 2**17, 2**20
"""Rows whose scratch space stays in the cache, and rows of many groups that are counted at once.

Smaller blocks would keep threads waiting for each other between the calls of numpy.
"""

_MANY = 16
"""If one of so many probabilities is near an end, the cells of a whole block are found at once."""

SMALL = 2**31 - 1
"""As many samples can be counted by 32 bits."""


class CellCounts:
    """Counts samples by group, cell and truth, batch by batch.

    Parameters
    ----------
    groups : int, default=1
    """

    def __init__(self, groups: int = 1) -> None:
        self._groups = groups
        # Small numbers are added up several times faster, as long as they can hold all samples.
        self._counts: NDArray[np.integer] = np.zeros(groups * CELLS * 2, dtype=np.int32)
        self._samples = 0
        self._index = np.empty(min(_ROWS, _BLOCK * groups), dtype=np.int32)

    @property
    def tables(self) -> NDArray[np.int64]:
        """The number of samples, (groups, cells, 2)."""
        return self._counts.astype(np.int64).reshape(self._groups, CELLS, 2)

    def add(
        self,
        probability: NDArray[np.floating],
        truth: NDArray[np.integer],
        codes: NDArray[np.integer] | None = None,
        start: int = 0,
    ) -> None:
        """Count some samples; all or, if an error is raised, none of them.

        Parameters
        ----------
        probability : ndarray of shape (samples,)
            That the class is the second.
        truth : ndarray of shape (samples,)
            0 or 1.
        codes : ndarray of shape (samples,), optional
            The group of each sample, below ``groups``.
        start : int, default=0
            The number of the first sample, for errors.
        """
        if len(truth) and (truth.min() < 0 or truth.max() > 1):
            row = int(np.flatnonzero((truth < 0) | (truth > 1))[0])
            raise LabelError(f"y of sample {start + row} is {truth[row]}; expected 0 or 1")
        samples, together = len(probability), len(self._index)
        self._samples += samples
        if self._samples > SMALL:
            self._counts = self._counts.astype(np.int64, copy=False)
        counts = self._counts if samples <= together else np.zeros_like(self._counts)
        for outer in range(0, samples, together):
            cells = self._index[: samples - outer]
            for first in range(0, len(cells), _BLOCK):
                cell = cells[first : first + _BLOCK]
                rows = slice(outer + first, outer + first + len(cell))
                cells_of(probability[rows], start + rows.start, cell)
                cell <<= 1
                np.add(cell, truth[rows], out=cell, casting="unsafe")
                if codes is not None:
                    np.add(cell, np.multiply(codes[rows], 2 * CELLS, dtype=np.int32), out=cell)
            np.add(counts, count_by(cells, len(counts)), out=counts, casting="same_kind")
        if counts is not self._counts:
            self._counts += counts


def count_cells(
    probability: NDArray[np.floating],
    truth: NDArray[np.integer],
    codes: NDArray[np.integer] | None = None,
    groups: int = 1,
    start: int = 0,
) -> NDArray[np.int64]:
    """Count samples by group, cell and truth: (groups, cells, 2).

    Parameters
    ----------
    probability, truth, codes, start
        As in `CellCounts.add`.
    groups : int, default=1
    """
    counts = CellCounts(groups)
    counts.add(probability, truth, codes, start)
    return counts.tables


def cells_of(
    probability: NDArray[np.floating], start: int = 0, out: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Return the cell of each probability.

    Parameters
    ----------
    probability : ndarray of shape (samples,)
    start : int, default=0
        The number of the first sample, for errors.
    out : ndarray of shape (samples,), optional
        Where the cells are written.
    """
    result = np.empty(len(probability), dtype=np.int32) if out is None else out
    with np.errstate(invalid="ignore"):  # not a number is no number of a cell: it is an end
        for first in range(0, len(result), _BLOCK):
            rows = slice(first, first + _BLOCK)
            _place(probability[rows], result[rows], start + first)
    return result


def _place(block: NDArray[np.floating], place: NDArray[np.int32], start: int) -> None:
    """Write the cell of each probability of a block."""
    np.multiply(block, WIDTHS, out=place, dtype=np.float64, casting="unsafe")
    ends = place < _EDGE, place >= WIDTHS - _EDGE
    many = [np.count_nonzero(own) * _MANY > len(own) for own in ends]
    if any(many) and block.min() >= 0 and block.max() <= 1:  # false for NaN
        exact = block.astype(np.float64, copy=False)
        if many[0]:
            _near(exact, ends[0], place, _LOW)
        if many[1]:
            _near(1 - exact, ends[1], place, _HIGH)
        left = [own for own, whole in zip(ends, many, strict=True) if not whole]
        those = np.flatnonzero(left[0]) if left else np.empty(0, dtype=np.intp)
    else:
        those = np.flatnonzero(ends[0] | ends[1])
    if len(those):
        place[those] = _near_an_end(block[those].astype(np.float64), those, start)
    half = block == 0.5
    if half.any():
        place[half] = _HALF


def _near(
    distance: FloatArray, those: NDArray[np.bool_], place: NDArray[np.int32], first: int
) -> None:
    """Write the cells of probabilities near an end, of which there are many, by their distance.

    The cells of all are found, and those are kept; ``first`` is the cell of the end itself.
    """
    octave = (distance.view(np.int64) >> (52 - _BITS)).astype(np.int32)
    octave += first + 2 - _FIRST
    # A distance of exactly 2^-6 belongs to the last octave.
    np.minimum(octave, first + _SIDE - 1, out=octave)
    if octave.min() < first + 2:
        np.maximum(octave, first + 1, out=octave)
        octave -= distance == 0
    # Chosen by bits: a copy where a mask says so waits for each entry of a random mask.
    octave ^= place
    octave &= -those.astype(np.int32)
    place ^= octave


def _near_an_end(probability: FloatArray, rows: NDArray[np.intp], start: int) -> NDArray[np.int64]:
    distance = np.minimum(probability, 1 - probability)
    if not distance.min() >= 0:
        bad = int(np.argmin(distance >= 0))
        raise InvalidValueError(
            f"the probability of sample {start + int(rows[bad])} is {probability[bad]:g}; expected "
            "a number from 0 to 1"
        )
    # The bits of a float64 are its exponent and its fraction: its octave and the cell within.
    place = np.abs(distance, out=distance).view(np.int64) >> (52 - _BITS)
    # A distance of exactly 2^-6 belongs to the last octave.
    np.minimum(place, _FIRST + _SIDE - 3, out=place)
    place += _LOW + 2 - _FIRST
    if place.min() < _LOW + 2:
        place = np.where(place >= _LOW + 2, place, _LOW + (distance > 0))
    place += np.multiply(probability > 0.5, _SIDE, dtype=np.int64)
    return place


def _middle() -> FloatArray:
    low, high = (
        (np.arange(_FIRST + i, _FIRST + i + (_OCTAVES << _BITS)) << (52 - _BITS)).view(np.float64)
        for i in (0, 1)
    )
    near = np.concatenate([[0.0, 2.0**-54], (low + high) / 2])
    equal = (np.arange(WIDTHS + 1) + 0.5) / WIDTHS
    # Rounded probabilities lie where some cells begin. A middle above them would put 1 - 0.4 into
    # the bin below 0.6, and make 0.3 more uncertain than 0.7.
    rounded = np.arange(0, WIDTHS + 1, _ROUND)
    rounded = rounded[rounded != WIDTHS // 2]  # one half has a cell of its own
    equal[rounded] = rounded / WIDTHS
    return np.concatenate([equal, near, 1 - near, [0.5]])


def representatives() -> FloatArray:
    """Return the probability that stands for each cell, (cells,)."""
    return _REPRESENTATIVES


_REPRESENTATIVES = _middle()
