"""Checked inputs of metrics; arrays are checked while they are read, without another pass."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._blocks import row_blocks
from .._probabilities import check_probabilities
from .._validation import (
    DOUBLE_TOLERANCE,
    LARGEST,
    LARGEST_SQUARE,
    FloatArray,
    LabelArray,
    as_floats,
    as_labels,
    as_weights,
    check_integer,
    check_not_negative,
    check_size,
    encode_labels,
)
from ..exceptions import InvalidValueError, LabelError, ShapeError
from ..predictions import Categorical, Container
from ..predictions.given import swapped
from ._core.sharing import is_sharing, shared

MOST = 10_000_000
"""Larger numbers of bins or points are taken for a mistake; they would fill the memory."""

weights = as_weights


@dataclass(frozen=True)
class Labeled:
    """True classes and predicted probabilities; `blocks` checks the rows while it yields them."""

    codes: NDArray[np.intp]
    probabilities: FloatArray
    classes: LabelArray
    weight: FloatArray | None
    tolerance: float | None
    """How far the sum of a row may be from 1; None if the rows were checked before."""

    def __len__(self) -> int:
        return len(self.codes)

    def blocks(self, entries: int | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of rows and their probabilities, (rows, classes), checked."""
        size = () if entries is None else (entries,)
        for rows in row_blocks(len(self), len(self.classes), *size):
            block = self.probabilities[rows]
            if self.tolerance is not None:
                check_rows(block, rows.start, self.tolerance)
            yield rows, block

    def checked(self) -> "Labeled":
        """Return the same, with rows that are checked."""
        if self.tolerance is None:
            return self
        for _ in self.blocks():
            pass  # reading the blocks checks them
        return replace(self, tolerance=None)

    def weights(self, rows: slice) -> FloatArray | None:
        """Return the weights of a block, or None where all are 1."""
        return None if self.weight is None else self.weight[rows]


def check_rows(block: FloatArray, start: int, tolerance: float) -> None:
    """Check the probabilities of a block that begins at sample ``start``."""
    check_probabilities(block[None], "probabilities", tolerance, normalize=False, start=start)


def labeled(
    y_true: Any, probabilities: Any, *, classes: Any = None, sample_weight: Any = None
) -> Labeled:
    """Pair true labels with the probabilities of every class.

    ``probabilities`` is (samples, classes), or (samples,) for the second of two classes, or a
    Categorical, whose members are averaged. Labels are 0, 1, ... unless ``classes`` (or the
    Categorical, or a frame's columns) names them.
    """
    tolerance: float | None = None
    if isinstance(y_true, Container):
        raise LabelError("the arguments are swapped: y_true comes first, then the prediction")
    if isinstance(probabilities, Categorical):
        array = probabilities.mean
        labels = probabilities.classes if classes is None else classes
    else:
        array, columns, tolerance = as_floats(probabilities, "probabilities")
        labels = columns if classes is None else classes
        if array.ndim == 1:
            array, tolerance = Categorical.from_binary(array).mean, None
    if array.ndim != 2 or array.shape[1] < 2:
        raise ShapeError(
            "probabilities must have shape (samples, classes) with two classes at least, or "
            f"(samples,) for the second of two; got {array.shape}"
        )
    names = as_labels(labels, "classes", array.shape[1], "class")
    try:
        codes = codes_of(y_true, names, named=labels is not None)
    except LabelError as error:
        if swapped(probabilities, y_true):
            raise LabelError(
                "the arguments look swapped: y_true comes first, then the probabilities"
            ) from error
        raise
    check_length(codes, len(array), "y_true", "probabilities")
    if tolerance is not None and tolerance > DOUBLE_TOLERANCE:
        array = check_probabilities(array[None], "probabilities", tolerance, normalize=False)[0]
        tolerance = None
    data = Labeled(codes, array, names, weights(sample_weight, len(array)), tolerance)
    if tolerance is None or not is_sharing():
        return data
    # Metrics that share their work check the rows once.
    shared(("checked", tolerance), (array,), data.checked)
    return replace(data, tolerance=None)


def share_checked(probabilities: FloatArray) -> None:
    """Let metrics that share their work know that rows were checked before."""
    array, _, tolerance = as_floats(probabilities, "probabilities")
    shared(("checked", tolerance), (array,), lambda: None)


def second_class(data: Labeled) -> FloatArray:
    """Return the probability of the second class, (samples,), checked."""
    score = np.empty(len(data))
    for rows, block in data.blocks():
        score[rows] = block[:, 1]
    return score


def require_two_classes(data: Labeled, what: str) -> None:
    """Raise if there are more than two classes."""
    if len(data.classes) > 2:
        raise ShapeError(
            f"{what} is for two classes, probabilities have {len(data.classes)}; for class k "
            "against the rest pass y_true == k and its probability, of shape (samples,)"
        )


def codes_of(y_true: Any, classes: LabelArray, *, named: bool) -> NDArray[np.intp]:
    """Return the position of each label in ``classes``; fast where labels are positions."""
    labels = to_numpy(y_true, "y_true").array
    if not named and labels.ndim == 1 and labels.dtype.kind in "iub" and labels.size:
        if labels.min() >= 0 and labels.max() < len(classes):
            return labels.astype(np.intp, copy=False)
        bad = int(np.flatnonzero((labels < 0) | (labels >= len(classes)))[0])
        raise LabelError(
            f"y_true of sample {bad} is {labels[bad]}, but the classes are 0 to "
            f"{len(classes) - 1}; pass classes= to name them"
        )
    return encode_labels(y_true, classes, "y_true")


def vector(
    value: Any,
    name: str,
    *,
    length: int | None = None,
    largest: float = LARGEST,
    infinite: bool = False,
) -> FloatArray:
    """Return one number for each sample, none of them NaN or beyond ``largest``."""
    array = column(value, name)
    if length is not None:
        check_length(array, length, name, "y_true")
    check_size(array, name, ("sample",), largest, infinite=infinite)
    return array


def column(value: Any, name: str) -> FloatArray:
    """Return one number for each sample, from (samples,) or (samples, 1)."""
    array, _, _ = as_floats(value, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ShapeError(
            f"{name} must be one number for each sample; got shape {array.shape}. With several "
            "targets, call the metric for each of them"
        )
    return array


def scale(value: Any, name: str, length: int) -> FloatArray:
    """Return one number above 0 for each sample: a variance or standard deviation of a density."""
    array = vector(value, name, length=length, largest=LARGEST_SQUARE)
    if array.min() <= 0:
        check_not_negative(array, name, ("sample",), "spreads cannot be negative")
        raise InvalidValueError(
            f"{name} of sample {int(np.argmin(array))} is 0: a point has no density. Use a metric "
            "of points or intervals, or give the prediction a spread"
        )
    return array


def check_length(array: np.ndarray, length: int, name: str, other: str) -> None:
    """Raise if an array does not have one entry for each sample."""
    if len(array) != length:
        raise ShapeError(f"{name} has {len(array)} samples, {other} has {length}")


def count(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number that is at least ``least``."""
    return check_integer(value, name, least, MOST)


def average(per_sample: FloatArray, weight: FloatArray | None) -> float:
    """Return the (weighted) mean; infinite scores of samples with weight 0 do not count."""
    if weight is None:
        return float(per_sample.mean())
    if not weight.min() > 0:
        counted = weight > 0
        per_sample, weight = per_sample[counted], weight[counted]
    # Both sums in one order: a mean of ones is 1, and no mean is beyond its largest entry.
    return float((per_sample * weight).sum() / weight.sum())
