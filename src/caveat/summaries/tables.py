"""Tables of two classes as weighted samples."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..metrics.condensed import bin_of
from ..metrics.states import cell_of
from .cells import BINS, representatives

__all__ = ["BITS", "CoarseCells", "coarse_cells", "coarse_rows", "table_rows"]

BITS = 3
"""How fine the cells of a table are of which intervals are made."""

_THRESHOLD = 0.01
"""Below it, the thresholded adaptive calibration error ignores a probability."""


def table_rows(table: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """Return the probability, the truth and the number of samples of each cell that holds some."""
    cell, truth = np.nonzero(table)
    return representatives()[cell], truth, table[cell, truth].astype(np.float64)


def coarse_rows(
    table: NDArray[np.int64],
) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.int64]]:
    """Return fewer rows: mean probability, truth and number of samples of coarser cells.

    The predicted class and the 15 bins of the calibration errors are still those of each sample.
    """
    coarse = coarse_cells(BITS)
    fine = table.sum(axis=1)
    total = np.bincount(coarse.of, fine * representatives())
    counts = np.stack([np.bincount(coarse.of, own) for own in table.T], axis=1)
    cell, truth = np.nonzero(counts)
    # One probability for both truths: two would tell the truth.
    mean = total[cell] / counts.sum(axis=1)[cell]
    # Rounding may move a mean out of its union, and so into another bin.
    mean = np.clip(mean, coarse.low[cell], coarse.high[cell])
    return mean, truth, counts[cell, truth].astype(np.int64)


@dataclass(frozen=True)
class CoarseCells:
    """Unions of cells of probabilities.

    Attributes
    ----------
    of : ndarray of shape (cells,)
        The union that each cell is in.
    low, high : ndarray of shape (unions,)
        The lowest and the highest representative in each.
    """

    of: NDArray[np.int32]
    low: FloatArray
    high: FloatArray


@cache
def coarse_cells(bits: int, steps: int = 1) -> CoarseCells:
    """Return unions within which a probability has the same predicted class, bin and first bits.

    The bins are the 15 of the calibration errors, those of p and those of 1 - p; the threshold of
    the thresholded one is kept too.

    Parameters
    ----------
    bits : int
        How fine they are, see `cell_of`.
    steps : int, default=1
        A number of steps of equal width that they do not cross.
    """
    p = representatives()
    place, _ = cell_of(p, bits, bounded=True)
    bins = bin_of(p, BINS) * BINS + BINS - 1 - bin_of(1 - p, BINS)
    # A representative may end the first bits of others, and the rest of its cell begins the next.
    ends = cell_of(np.nextafter(p, 1), bits, bounded=True)[0] != place
    step = bin_of(p, steps)
    key = (
        ((place * BINS**2 + bins) * steps + step) * 8 + 4 * (p > 0.5) + 2 * (p >= _THRESHOLD) + ends
    )
    distinct, of = np.unique(key, return_inverse=True)
    low, high = np.full(len(distinct), 1.0), np.zeros(len(distinct))
    np.minimum.at(low, of, p)
    np.maximum.at(high, of, p)
    return CoarseCells(of.reshape(-1).astype(np.int32), low, high)
