"""Counts of right, true and predicted classes, from which scores of decisions follow."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._blocks import highest, row_blocks
from ..._validation import FloatArray
from .._inputs import Labeled
from ..batch import Batch, names_of
from ..sums import UNBIASED, Part, Sums, split
from .sharing import is_sharing, shared_top


def most_probable(data: Labeled) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Yield slices of rows and the positions of their most probable classes."""
    if is_sharing():
        labels, _ = top_of_all(data)
        for rows in row_blocks(len(data), 1):
            yield rows, labels[rows]
    else:
        for rows, block in data.blocks():
            yield rows, highest(block)[0]


def top_of_all(data: Labeled) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the most probable class of every row and its probability, kept for other metrics."""
    return shared_top(data.checked().probabilities)


def class_counts(data: Labeled) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how often each class was right, true and predicted.

    These are the diagonal and the margins of the confusion matrix.
    """
    number = len(data.classes)
    right, true, predicted = np.zeros((3, number))
    for rows, labels in most_probable(data):
        codes, weight = data.codes[rows], data.weights(rows)
        hit = np.flatnonzero(labels == codes)
        true += np.bincount(codes, weight, number)
        predicted += np.bincount(labels, weight, number)
        right += np.bincount(codes[hit], None if weight is None else weight[hit], number)
    return right, true, predicted


def counts_of(batch: Batch, classes: Any) -> list[Part]:
    """Return these counts as sums over units: right and true, (..., 2, classes), predicted."""
    data = batch.labeled(classes)
    number = len(data.classes)

    def predicted() -> NDArray[np.intp]:
        return batch.kept(
            ("predicted", names_of(classes)),
            lambda: np.concatenate([block for _, block in most_probable(data)]),
        )

    def of_true() -> Any:
        return batch.matrix(data.codes, number, [predicted() == data.codes, None])

    def of_predicted() -> Any:
        return batch.matrix(predicted(), number, [None])

    return [Part(matrix, lambda sums: split(sums, number)) for matrix in (of_true, of_predicted)]


def of_counts(
    finish: Callable[..., FloatArray], batch: Batch, *, classes: Any = None, **options: Any
) -> Sums:
    """Return the sums of a function of how often each class was right, true, predicted."""

    def values(of_true: FloatArray, of_predicted: FloatArray) -> FloatArray:
        return finish(of_true[:, 0], of_true[:, 1], of_predicted[:, 0], **options)

    return Sums(counts_of(batch, classes), values, UNBIASED)


def matthews(right: FloatArray, true: FloatArray, predicted: FloatArray) -> FloatArray:
    """Return the correlation from the counts of each class, which is the last axis."""
    # By a power of two, so that whole counts stay whole and no weights overflow.
    exponent = -np.frexp(true.sum(axis=-1, keepdims=True))[1]
    right, true, predicted = (np.ldexp(counts, exponent) for counts in (right, true, predicted))
    total = true.sum(axis=-1, keepdims=True)
    covariance = right.sum(axis=-1) * total[..., 0] - (true * predicted).sum(axis=-1)
    squares = (predicted * (total - predicted)).sum(-1) * (true * (total - true)).sum(-1)
    spread = np.sqrt(np.maximum(squares, 0.0))  # rounding may leave a negative number
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.clip(covariance / spread, -1.0, 1.0)  # rounding of weights can leave [-1, 1]
    value = np.where(np.count_nonzero(predicted > 0, axis=-1) < 2, 0.0, value)
    return np.where(np.count_nonzero(true > 0, axis=-1) < 2, np.nan, value)
