"""Counts of samples of two classes in the cells of their probabilities."""

import numpy as np
from numpy.typing import NDArray

from .._blocks import Scratch
from ..exceptions import LabelError
from .cells import CELLS, SMALL
from .steps import steps

__all__ = ["PAYS", "CellCounts", "count_cells"]

PAYS = 2**26
"""Samples of two classes from which on it pays to import numba, if it is installed."""

_BLOCK, _ROWS = 2**17, 2**20
"""Rows whose scratch space stays in the cache, and rows of many groups that are counted at once."""

_SCRATCH = Scratch()


class CellCounts:
    """Counts samples by group, cell and truth, batch by batch.

    Parameters
    ----------
    groups : int, default=1
    compiled : bool, default=False
        Whether there are so many samples that compiled loops pay, if numba is installed.
    """

    def __init__(self, groups: int = 1, compiled: bool = False) -> None:
        self._groups, self._steps = groups, steps(compiled)
        # Small numbers are added up several times faster, as long as they can hold all samples.
        self._counts: NDArray[np.integer] = np.zeros(groups * CELLS * 2, dtype=np.int32)
        self._samples = 0

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
        samples, together = len(probability), min(_ROWS, _BLOCK * self._groups)
        index = _SCRATCH.array("index", together, np.int32)
        self._samples += samples
        if self._samples > SMALL:
            self._counts = self._counts.astype(np.int64, copy=False)
        counts = self._counts if samples <= together else np.zeros_like(self._counts)
        for outer in range(0, samples, together):
            cells = index[: samples - outer]
            for first in range(0, len(cells), _BLOCK):
                cell = cells[first : first + _BLOCK]
                rows = slice(outer + first, outer + first + len(cell))
                self._steps.locate(probability[rows], truth[rows], start + rows.start, cell)
                if codes is not None:
                    np.add(cell, np.multiply(codes[rows], 2 * CELLS, dtype=np.int32), out=cell)
            self._steps.count(cells, counts)
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
