"""Bins of equal weight from sums over cells of a key, for many resamples at once."""

import numpy as np

from ..._validation import FloatArray
from ..sums import over, split
from .equal_count import nearest


def sums_below(
    sums: FloatArray, cells: int, shares: FloatArray, *, whole: bool = False
) -> FloatArray:
    """Return sums over the smallest keys, up to shares of the weight: (resamples, values, shares).

    ``sums`` is (resamples, values x cells), the weight first. A cell is a group of ties: each share
    of it holds the same share of its sums. With ``whole`` no cell is split, and the weight below
    comes first among the values.
    """
    running = np.cumsum(split(sums, cells), axis=2)
    running = np.pad(running, ((0, 0), (0, 0), (1, 0)))
    first = 0 if whole else 1
    result = np.empty((len(sums), running.shape[1] - first, len(shares)))
    for values, row in zip(result, running, strict=True):
        targets = shares * row[0, -1]
        targets = nearest(row[0], targets) if whole else targets
        for value, height in zip(values, row[first:], strict=True):
            value[:] = np.interp(targets, row[0], height)
    return result


class Cuts:
    """The bins of the samples themselves, as shares of the cells, which come first."""

    def __init__(self, shares: FloatArray) -> None:
        self._shares = shares
        self._parts: FloatArray | None = None

    def sums(self, sums: FloatArray, cells: int) -> FloatArray:
        """Return sums over the bins of the samples, (resamples, values, bins), the weight first.

        Bins that move with each resample would add noise that new samples do not have.
        """
        values = split(sums, cells)
        if self._parts is None:
            below = np.cumsum(np.append(0.0, values[0, 0]))
            cuts = self._shares * below[-1]
            held = np.clip(cuts, below[:-1, None], below[1:, None]) - below[:-1, None]
            self._parts = np.diff(over(held, values[0, 0][:, None]), axis=1)
        return values @ self._parts
