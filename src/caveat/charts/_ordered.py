"""Samples in the order of a key, and any stretch of their weight.

Samples with equal keys stand in every order at once: a stretch that ends among them takes the same
fraction of each. This is how the metrics cut bins of equal weight and curves of removal.
"""

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray

# A stretch that ends where a sample does, up to rounding, holds nothing of the next.
_ROUNDING = 1e-9


class Ordered:
    """Rows of positive weight in increasing order of a key."""

    def __init__(self, key: FloatArray, weight: FloatArray | None) -> None:
        rows = np.arange(len(key)) if weight is None else np.flatnonzero(weight > 0)
        self.rows = rows[np.argsort(key[rows], kind="stable")]
        self.key = key[self.rows]
        self.weight = np.ones(len(rows)) if weight is None else weight[self.rows]
        last = np.flatnonzero(np.r_[self.key[1:] != self.key[:-1], True])
        ends = np.cumsum(self.weight)[last]
        counts = np.diff(np.r_[-1, last])
        self._last = last
        self._begins = np.repeat(np.r_[0.0, ends[:-1]], counts)
        self._ends = np.repeat(ends, counts)

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._ends[-1])

    def stretch(self, low: float, high: float) -> tuple[NDArray[np.intp], FloatArray]:
        """Return the rows between two amounts of weight, and how much of each is there."""
        slack = _ROUNDING * self.total
        first = int(np.searchsorted(self._ends, low + slack, side="right"))
        last = int(np.searchsorted(self._begins, high - slack, side="left"))
        part = slice(first, max(last, first + 1))
        begins, ends = self._begins[part], self._ends[part]
        share = (np.minimum(ends, high) - np.maximum(begins, low)) / (ends - begins)
        np.maximum(share, 0.0, out=share)
        return self.rows[part], self.weight[part] * share

    def at(self, amount: float) -> float:
        """Return the key of the sample in which this amount of weight, from below, ends."""
        place = int(np.searchsorted(self._ends, amount - _ROUNDING * self.total, side="left"))
        return float(self.key[min(place, len(self.key) - 1)])

    def running(self, values: FloatArray, amounts: FloatArray) -> FloatArray:
        """Return the sums of values, in the order of the rows, up to some amounts of weight."""
        sums = np.cumsum(values)[self._last]
        return np.interp(amounts, np.r_[0.0, self._ends[self._last]], np.r_[0.0, sums])
