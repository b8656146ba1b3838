"""Tables of two classes as weighted samples."""

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..metrics.states import cell_of
from .cells import representatives

__all__ = ["BITS", "coarse_rows", "table_rows"]

BITS = 3
"""How fine the cells of a table are of which intervals are made."""


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
    p, truth, weight = table_rows(table)
    place, _ = cell_of(p, BITS, bounded=True)
    bins = np.minimum((p * 15).astype(np.int64), 14)
    _, cell = np.unique((place * 15 + bins) * 2 + (p > 0.5), return_inverse=True)
    # One probability for both truths: two would tell the truth.
    mean = np.bincount(cell, weight * p) / np.bincount(cell, weight)
    counts = np.bincount(2 * cell + truth, weight, 2 * len(mean))
    held = np.flatnonzero(counts)
    return mean[held // 2], held % 2, np.rint(counts[held]).astype(np.int64)
