"""How often each class was right, true and predicted: what scores of decisions are made of."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..._blocks import row_blocks
from ..._validation import FloatArray
from .._inputs import Labelled
from .sharing import is_sharing, shared


def most_probable(data: Labelled) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Yield slices of rows and the positions of their most probable classes."""
    if is_sharing():
        labels, _ = top_of_all(data)
        for rows in row_blocks(len(data), 1):
            yield rows, labels[rows]
    else:
        for rows, block in data.blocks():
            yield rows, block.argmax(axis=1)


def top_of_all(data: Labelled) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the most probable class of every row and its probability, kept for other metrics."""

    def compute() -> tuple[NDArray[np.intp], FloatArray]:
        labels, top = np.empty(len(data), dtype=np.intp), np.empty(len(data))
        for rows, block in data.blocks():
            labels[rows] = block.argmax(axis=1)
            top[rows] = np.take_along_axis(block, labels[rows, None], axis=1)[:, 0]
        return labels, top

    return shared("top", (data.probabilities,), compute)


def class_counts(data: Labelled) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return, for each class, how often it was right, true, predicted: all that is needed here.

    The diagonal and the margins of the confusion matrix, whose other entries are many with many
    classes.
    """
    number = len(data.classes)
    right, true, found = np.zeros((3, number))
    for rows, predicted in most_probable(data):
        codes, weight = data.codes[rows], data.weights(rows)
        hit = np.flatnonzero(predicted == codes)
        true += np.bincount(codes, weight, number)
        found += np.bincount(predicted, weight, number)
        right += np.bincount(codes[hit], None if weight is None else weight[hit], number)
    return right, true, found


def matthews(right: FloatArray, true: FloatArray, found: FloatArray) -> float:
    """Return the correlation from how often each class was right, true, predicted."""
    if np.count_nonzero(true) < 2:
        return float("nan")
    if np.count_nonzero(found) < 2:
        return 0.0
    # By a power of two, so that whole counts stay whole and no weights overflow.
    exponent = -np.frexp(true.sum())[1]
    right, true, found = (np.ldexp(counts, exponent) for counts in (right, true, found))
    total = true.sum()
    covariance = right.sum() * total - true @ found
    spread = np.sqrt((found @ (total - found)) * (true @ (total - true)))
    return float(np.clip(covariance / spread, -1.0, 1.0))  # weights can round to just outside
