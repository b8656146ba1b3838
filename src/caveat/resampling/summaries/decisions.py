"""Scores of the most probable class, from how often each class was right, true, predicted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from ...metrics._core.confusion import most_probable
from ..prepared import Prepared
from ._parts import Part, Summary, over, split


def balanced_accuracy_score(prepared: Prepared, *, classes: Any = None) -> Summary:
    """Mean recall of the classes that occur."""

    def finish(*counts: FloatArray) -> FloatArray:
        right, true, _ = _parts(*counts)
        return over(right, true).sum(axis=1) / np.count_nonzero(true > 0, axis=1)

    return Summary(_counts(prepared, classes), finish)


def f1_score(prepared: Prepared, *, average: str = "macro", classes: Any = None) -> Summary:
    """Harmonic mean of precision and recall."""

    def finish(*counts: FloatArray) -> FloatArray:
        right, true, found = _parts(*counts)
        if average == "micro":
            return right.sum(axis=1) / true.sum(axis=1)
        if average == "binary":
            right, true, found = right[:, 1:], true[:, 1:], found[:, 1:]
        each = over(2 * right, true + found)
        defined = true + found > 0
        if average == "weighted":
            return np.asarray((each * true).sum(axis=1) / true.sum(axis=1))
        return each.sum(axis=1) / np.count_nonzero(defined, axis=1)

    return Summary(_counts(prepared, classes), finish)


def matthews_correlation_score(prepared: Prepared, *, classes: Any = None) -> Summary:
    """Correlation of true and predicted classes."""

    def finish(*counts: FloatArray) -> FloatArray:
        total = counts[0][:, 1].sum(axis=1)[:, None, None]
        right, true, found = _parts(*(part / total for part in counts))
        covariance = right.sum(axis=1) - (true * found).sum(axis=1)
        spread = np.sqrt((found * (1 - found)).sum(axis=1) * (true * (1 - true)).sum(axis=1))
        value = np.clip(covariance / spread, -1.0, 1.0)
        value = np.where(np.count_nonzero(found > 0, axis=1) < 2, 0.0, value)
        return np.where(np.count_nonzero(true > 0, axis=1) < 2, np.nan, value)

    return Summary(_counts(prepared, classes), finish)


def _counts(prepared: Prepared, classes: Any) -> list[Part]:
    """How often each class was right and true, and predicted: each (resamples, 1 or 2, classes)."""
    data = prepared.labelled(classes)
    number = len(data.classes)

    def make() -> NDArray[np.intp]:
        predicted = np.empty(len(data), dtype=np.intp)
        for rows, block in most_probable(data):
            predicted[rows] = block
        return predicted

    def of_true() -> Any:
        return prepared.matrix(data.codes, number, [make() == data.codes, None])

    def of_predicted() -> Any:
        return prepared.matrix(make(), number, [None])

    return [Part(matrix, lambda sums: split(sums, number)) for matrix in (of_true, of_predicted)]


def _parts(of_true: FloatArray, of_predicted: FloatArray) -> tuple[FloatArray, ...]:
    return of_true[:, 0], of_true[:, 1], of_predicted[:, 0]
