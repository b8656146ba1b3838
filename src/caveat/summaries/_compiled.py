"""The steps of `steps.py` as compiled loops: the same counts in a fraction of the time.

The functions are compiled at their first call and kept on disk. They let other threads run.
"""
# Compiled code cannot be seen by a measurement of coverage; tests compare it with that of numpy.

from typing import Any

import numpy as np
from numba import njit

from . import cells

_WIDTHS, _EDGE, _SIDE = cells.WIDTHS, cells._EDGE, cells._SIDE
_SHIFT, _FIRST = 52 - cells._BITS, cells._FIRST
_LOW, _HIGH, _HALF, _ABOVE = cells._LOW, cells._HIGH, cells._HALF, cells._ABOVE
_STEP, _BINS = cells._STEP, cells.BINS

_TOGETHER = 2**12
"""Samples whose cells are found at once, by vector instructions."""

_jit = njit(cache=True, nogil=True)


@njit(cache=True, nogil=True, inline="always")
def _cell(p: Any) -> Any:  # pragma: no cover - compiled
    """Return the cell of a probability; see `cells_of`."""
    distance = min(p, 1 - p)
    octave: Any = (np.float64(distance).view(np.int64) >> _SHIFT) + (2 - _FIRST)
    octave = min(octave, _SIDE - 1)
    if octave < 2:
        octave = np.int64(distance > 0)
    octave += _LOW if p <= 0.5 else _HIGH
    place: Any = np.int64(p * _WIDTHS)
    if place < _EDGE or place >= _WIDTHS - _EDGE:
        place = octave
    step = place // _STEP
    begins = place < _WIDTHS and place % _STEP == 0
    if begins and np.int64((1 - p) * _BINS) < np.int64((1 - step / _BINS) * _BINS):
        place = _ABOVE + step - 1
    return _HALF if p == 0.5 else place


@_jit
def count(index: Any, counts: Any) -> None:  # pragma: no cover - compiled
    """See `Steps.count`."""
    for i in range(len(index)):
        counts[np.uint32(index[i])] += 1


@_jit
def add(index: Any, first: Any, second: Any, sums: Any) -> None:  # pragma: no cover - compiled
    """See `Steps.add`."""
    for i in range(len(index)):
        j = np.uint32(index[i])
        sums[j, 0] += first[i]
        sums[j, 1] += second[i]


@_jit
def _cells(p: Any, true: Any, k: Any, cell: Any) -> None:  # pragma: no cover - compiled
    for i in range(len(cell)):
        cell[i] = 2 * _cell(p[i]) + (true[i] == k)


@_jit
def locate(p: Any, truth: Any, index: Any) -> bool:  # pragma: no cover - compiled
    """See `Steps.locate`; returns whether all are probabilities."""
    known = True
    for i in range(len(index)):
        known &= (p[i] >= 0) & (p[i] <= 1)
        index[i] = 2 * _cell(p[i]) + truth[i]
    return known


@_jit
def _within(cell: Any, base: Any, of: Any, place: Any) -> None:  # pragma: no cover - compiled
    for i in range(len(cell)):
        place[i] = base[i] + 2 * of[np.uint32(cell[i] >> 1)] + (cell[i] & 1)


@_jit
def tally(
    probability: Any, true: Any, k: Any, base: Any, of: Any, fine: Any, coarse: Any, sums: Any
) -> None:  # pragma: no cover - compiled
    """See `Steps.tally`."""
    work = np.empty((2, _TOGETHER), dtype=np.int32)
    square = np.empty(_TOGETHER)
    for first in range(0, len(probability), _TOGETHER):
        rows = slice(first, first + _TOGETHER)
        p = probability[rows]
        cell, place, second = work[0, : len(p)], work[1, : len(p)], square[: len(p)]
        # Loops of one step each: they become vector instructions, or keep many sums on the way.
        _cells(p, true[rows], k, cell)
        _within(cell, base[rows], of, place)
        count(cell, fine)
        count(place, coarse)
        second[:] = p * p
        add(place, p, second, sums)


@_jit
def _read(
    k: Any,
    column: Any,
    logarithm: Any,
    codes: Any,
    own: Any,
    entropy: Any,
    square: Any,
    label: Any,
    top: Any,
    rank: Any,
    classes: Any,
) -> None:  # pragma: no cover - compiled
    """Take one class into account; a function of its own, so that it becomes vector instructions.

    All numbers are of one type for the same reason.
    """
    for i in range(len(codes)):
        p = column[i]
        entropy[i] -= p * logarithm[i] if p > 0.0 else 0.0
        residual = p - 1.0 if codes[i] == k else p
        square[i] += residual * residual
        label[i] = k if p > top[i] else label[i]
        top[i] = p if p > top[i] else top[i]
        rank[i] += (classes if p > own[i] else 0.0) + (1.0 if p == own[i] else 0.0)


@_jit
def describe(
    columns: Any,
    logarithms: Any,
    true: Any,
    first: Any,
    label: Any,
    top: Any,
    entropy: Any,
    loss: Any,
    square: Any,
    rank: Any,
) -> None:  # pragma: no cover - compiled
    """See `Steps.describe`."""
    classes, number = columns.shape[0], min(logarithms.shape[1], len(true) - first)
    rows = slice(first, first + number)
    work = np.empty((4, number))
    codes, own, place, better = work[0], work[1], work[2], work[3]
    for i in range(number):
        code = true[first + i]
        codes[i], own[i] = code, columns[code, first + i]
        loss[first + i] = 0.0 - logarithms[code, i]
    entropy[rows], square[rows], top[rows], better[:] = 0.0, 0.0, -1.0, -1.0
    for k in range(classes):
        _read(
            float(k), columns[k, rows], logarithms[k, :number], codes, own, entropy[rows],
            square[rows], place, top[rows], better, float(classes),
        )  # fmt: skip
    for i in range(number):
        label[first + i], rank[first + i] = place[i], better[i]
