"""Cells of keys on a device: counts and sums that are added up without waiting for the device."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

WIDTHS = 15 * 1024
"""Cells of equal width on [0, 1]: fifteen bins are unions of them."""

_PER_OCTAVE = 128
_TAIL = -6
"""Within 2^-6 of 0 or 1 the cells are octaves of that distance."""
_LEAST = -53
"""The distance of the largest double below 1 from 1; smaller ones share the first cell."""

_OCTAVES = (_TAIL - _LEAST) * _PER_OCTAVE
_MIDDLE = WIDTHS - 2 * (WIDTHS >> -_TAIL)
CELLS = 2 * (1 + _OCTAVES) + _MIDDLE
"""How many cells probabilities have."""

_FARTHEST = 64
SPREADS = 2 * _FARTHEST * _PER_OCTAVE
"""How many cells variances have: octaves from 2^-64 to 2^64."""


def probability_cells(p: Tensor) -> Tensor:
    """Return the cells of doubles in [0, 1].

    A cell is at most 1 / 15,360 wide, and at most 1 / 128 of the distance from 0 or 1.
    """
    upper = p > 0.5
    distance = torch.where(upper, 1 - p, p)
    tail = _octave_cells(distance, _LEAST, _TAIL).clamp(max=_OCTAVES - 1) + 1
    tail = torch.where(distance < 2.0**_LEAST, 0, tail)
    middle = (p * WIDTHS).long() - (WIDTHS >> -_TAIL) + 1 + _OCTAVES
    outer = torch.where(upper, CELLS - 1 - tail, tail)
    return torch.where(distance < 2.0**_TAIL, outer, middle)


def spread_cells(variance: Tensor) -> Tensor:
    """Return the cells of positive doubles; each is at most 1 / 128 of its keys wide."""
    return _octave_cells(variance, -_FARTHEST, _FARTHEST).clamp(0, SPREADS - 1)


def _octave_cells(key: Tensor, first: int, last: int) -> Tensor:
    """Return the cells of keys from 2^first to 2^last; others have numbers beyond these."""
    mantissa, exponent = torch.frexp(key)
    place = ((mantissa - 0.5) * (2 * _PER_OCTAVE)).long()
    return (exponent.long().clamp(first, last + 1) - 1 - first) * _PER_OCTAVE + place


def add_rows(table: Tensor, index: Tensor, *columns: Tensor) -> None:
    """Add a row of columns to the row ``index`` of a (..., columns) table, for each sample."""
    rows = torch.stack([column.reshape(-1) for column in columns], dim=1)
    table.view(-1, len(columns)).index_add_(0, index.reshape(-1), rows.to(table.dtype))


def weighted_rows(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Return outcome, key and weight of the cells of a (2, cells, 2) table of counts and sums.

    The key is the mean of the cell, so that both outcomes in it tie.
    """
    count, total = table[..., 0], table[..., 1].sum(axis=0)
    happened, cell = np.nonzero(count)
    key = total[cell] / count.sum(axis=0)[cell]
    return happened.astype(bool), np.clip(key, 0.0, 1.0), count[happened, cell]
