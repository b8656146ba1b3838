"""Class probabilities that are converted and checked some rows at a time, as they are used.

A block stays in the cache while it is checked and measured, and no second array of the input's size
exists.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._blocks import BLOCK_ELEMENTS, row_blocks
from .._probabilities import CLASS_AXES, check_block
from .._validation import FloatArray, check_finite
from ..predictions.categorical import Categorical, read_classes, softmax

_SINGLE_CLASSES = 100
"""Sums over more classes are computed in double precision."""


class Workspace:
    """Arrays by name whose memory is used again; for one thread at a time.

    Fresh memory is slow: the system hands it out page by page, and clears each page.
    """

    def __init__(self) -> None:
        self._held: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        """Return an array with arbitrary entries, in the memory of the last one of that name."""
        size = prod(shape)
        held = self._held.get(name)
        if held is None or held.size < size or held.dtype != dtype:
            held = self._held[name] = np.empty(size, dtype=dtype)
        return held[:size].reshape(shape)


class Blockwise:
    """Class probabilities, the mean over members, that are read block by block.

    Parameters
    ----------
    array : ndarray of shape (samples, classes)
        Probabilities or logits, of any real type and in any order in memory.
    tolerance : float or None
        How far the sum of a row may be from 1; None if the rows were checked before.
    logits : bool, default=False
        Whether the numbers are logits.
    single : bool, default=False
        Whether to compute in single precision where the numbers are not more precise. For up to 100
        classes measures then differ by less than 1e-5, which is how far rows in single precision
        may be from 1; with more classes all is computed in double precision.
    workspace : Workspace, optional
        Where blocks and results are kept. A result is overwritten by the next one that is computed
        in the same workspace; by default each has memory of its own.
    """

    def __init__(
        self,
        array: NDArray[Any],
        tolerance: float | None,
        *,
        logits: bool = False,
        single: bool = False,
        workspace: Workspace | None = None,
    ) -> None:
        self.array, self.shape, self.tolerance = array, array.shape, tolerance
        self.logits = logits
        self.workspace = Workspace() if workspace is None else workspace
        small = array.dtype in (np.float16, np.float32) and array.shape[1] <= _SINGLE_CLASSES
        self.dtype = np.dtype(np.float32 if single and small else np.float64)

    @classmethod
    def of(cls, value: Any, *, logits: bool = False, **options: Any) -> "Blockwise":
        """Read what a Categorical, or with ``logits`` its ``from_logits``, would accept."""
        array, _, tolerance = read_classes(value, "logits" if logits else "probabilities")
        if len(array) == 1:
            return cls(array[0], tolerance, logits=logits, **options)
        members = Categorical.from_logits(array) if logits else Categorical(value)
        return cls(members.mean, None, **options)

    def in_double_precision(self) -> "Blockwise":
        """Return the same numbers, computed with in double precision."""
        return Blockwise(self.array, self.tolerance, logits=self.logits, workspace=self.workspace)

    def values(self) -> FloatArray:
        """Return an array of the workspace for one number of each row."""
        return self.workspace.array("values", self.shape[:1], self.dtype)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of rows and their probabilities: checked, of ``dtype`` and read-only.

        A block is only valid until the next one. Its entries have the order in memory that those
        of the array have.
        """
        samples, classes = self.shape
        elements = BLOCK_ELEMENTS * 8 // self.dtype.itemsize  # the same bytes in any precision
        for rows in row_blocks(samples, classes, elements):
            block = self.array[rows]
            if self.tolerance is not None:
                block = self._checked(block, rows.start, self.tolerance)
            yield rows, block

    def _checked(self, given: NDArray[Any], start: int, tolerance: float) -> FloatArray:
        block = given
        if self.logits or given.dtype != self.dtype:
            block = self.like("block", given)
            np.copyto(block, given)
        if self.logits:
            check_finite(block[None], "logits", CLASS_AXES, start)
            softmax(block, out=block)
        else:
            block = check_block(block, "probabilities", tolerance, start)
        block = block.view()
        block.flags.writeable = False
        return block

    def like(self, name: str, block: NDArray[Any]) -> FloatArray:
        """Return an array of the workspace with the shape and the order in memory of a block."""
        by_class = abs(block.strides[0]) < abs(block.strides[1])
        if by_class:
            return self.workspace.array(name, block.shape[::-1], self.dtype).T
        return self.workspace.array(name, block.shape, self.dtype)
