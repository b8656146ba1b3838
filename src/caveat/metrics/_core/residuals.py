"""Residuals of probabilities, block by block."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from .._inputs import Labeled


def true_probabilities(data: Labeled) -> FloatArray:
    """Return the predicted probability of each true class."""
    picked = np.empty(len(data))
    for rows, block in data.blocks():
        block.reshape(-1).take(true_entries(data, rows), out=picked[rows], mode="clip")
    return picked


def true_entries(data: Labeled, rows: slice) -> NDArray[np.intp]:
    """Return where the true classes are in a block read row by row."""
    return _starts(rows.stop - rows.start, len(data.classes)) + data.codes[rows]


@lru_cache(maxsize=8)
def _starts(rows: int, classes: int) -> NDArray[np.intp]:
    """Return where each row begins; nobody writes to it."""
    return np.arange(0, rows * classes, classes)


def squares(data: Labeled) -> FloatArray:
    """Return the sum over the classes of the squared residuals of each sample."""
    values = np.empty(len(data))
    for rows, residual in residuals(data):
        values[rows] = np.einsum("ij,ij->i", residual, residual)
    return values


def mean_of_squares(data: Labeled) -> float:
    """Return the mean of `squares` over the samples, in two thirds of the time."""
    total, parts = 0.0, np.zeros(4)
    for rows, residual in residuals(data):
        weight = data.weights(rows)
        if weight is None:
            flat = residual.reshape(-1)
            # In quarters: longer products would wait for threads, long on a busy machine.
            rest = len(flat) % 4
            quarters = flat[rest:].reshape(4, -1)
            parts += np.vecdot(quarters, quarters)
            parts[:rest] += flat[:rest] ** 2
        else:
            total += float((weight @ np.square(residual, out=residual)).sum())
    total += float(parts.sum())
    return total / (len(data) if data.weight is None else float(data.weight.sum()))


def residuals(data: Labeled) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of rows and p - [y = k], which the next step overwrites.

    The shorter formula sum p^2 - 2 p_y + 1 would lose digits where the forecast is nearly right.
    """
    scratch = np.empty((0, len(data.classes)))
    for rows, block in data.blocks():
        if len(scratch) < len(block):  # once: the first block is the longest
            scratch = np.empty(block.shape)
        residual = scratch[: len(block)]
        np.copyto(residual, block)
        flat, true = residual.reshape(-1), true_entries(data, rows)
        flat[true] = flat.take(true) - 1
        yield rows, residual
