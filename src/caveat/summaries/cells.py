"""Cells of probabilities, in which the samples of two classes are counted.

A table of counts stands for the samples: all that a metric of two classes reads is the probability
and the truth, and a probability is known from its cell

* to within 1 / 30,720 between 1/64 and 63/64 (1 / 15,360 just above a multiple of 1/240): there
  are 15 x 1,024 cells of equal width, so that the 15 bins of the calibration errors are unions of
  cells; where one begins, those of p and those of 1 - p differ in what they hold, so that
  probabilities just above have cells of their own;
* to within 1/256 of its distance from 0 or 1 beyond these, down to a distance of 2^-53;
* exactly if it is a multiple of 1/240, as rounded ones are.
"""

import numpy as np
from numpy.typing import NDArray

from .._blocks import Scratch
from .._validation import FloatArray
from ..exceptions import InvalidValueError
from ..metrics.condensed import bin_of

__all__ = ["CELLS", "cells_of", "representatives"]

BINS = 15
"""Bins of the calibration errors."""

_STEP = 1024
_HALF_STEP = _STEP // 2
"""One half is in the middle of a bin."""

WIDTHS = BINS * _STEP
"""The number of cells of equal width, if they reached from 0 to 1; those of a bin are a step."""

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

_ABOVE = _HALF + 1
"""The first of the cells just above the begin of a bin: 1 - p is in another bin than there."""

CELLS = _ABOVE + BINS - 1
"""The number of cells."""

_BLOCK = 2**17
"""Rows whose scratch space stays in the cache."""

_MANY = 16
"""If one of so many probabilities is near an end, the cells of a whole block are found at once."""

SMALL = 2**31 - 1
"""As many samples can be counted by 32 bits."""


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
    low, high, either = _SCRATCH.array("flags", 3 * len(block), np.bool_).reshape(3, -1)
    ends = np.less(place, _EDGE, out=low), np.greater_equal(place, WIDTHS - _EDGE, out=high)
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
        those = np.flatnonzero(np.logical_or(*ends, out=either))
    if len(those):
        place[those] = _near_an_end(block[those].astype(np.float64), those, start)
    within = _SCRATCH.array("within", len(place), np.int32)
    np.bitwise_and(place, _HALF_STEP - 1, out=within)
    begins = np.flatnonzero(np.equal(within, 0, out=either))
    if len(begins):
        p, half = block[begins], place[begins] // _HALF_STEP
        above = p > _LAST[half]
        place[begins[above]] = _ABOVE - 1 + half[above] // 2
        place[begins[p == 0.5]] = _HALF


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


def _last() -> FloatArray:
    """Return the last probability p for which 1 - p begins a bin too, by the half step it is in.

    Infinity in the middle of a bin, beyond the steps, and where no 1 - p begins one, by rounding.
    """
    step = np.arange(1, BINS)
    own = after = step / BINS
    while (same := bin_of(1 - after, BINS) == BINS - step).any():
        own, after = np.where(same, after, own), np.nextafter(after, 1)
    last = np.full(CELLS // _HALF_STEP + 1, np.inf)
    last[2 * step] = np.where(bin_of(1 - own, BINS) == BINS - step, own, np.inf)
    return last


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
    above = (np.arange(_STEP, WIDTHS, _STEP) + 0.5) / WIDTHS
    return np.concatenate([equal, near, 1 - near, [0.5], above])


def representatives() -> FloatArray:
    """Return the probability that stands for each cell, (cells,)."""
    return _REPRESENTATIVES


_LAST, _REPRESENTATIVES, _SCRATCH = _last(), _middle(), Scratch()
