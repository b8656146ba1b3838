"""What calibration compares: the probability of an event, and whether the event happened."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import to_numpy
from ..._blocks import highest, row_blocks
from ..._validation import FloatArray, LabelArray, as_floats, as_labels, check_unit
from ...exceptions import ShapeError
from ...predictions import Categorical
from .._core.confusion import top_of_all
from .._core.sharing import is_sharing
from .._inputs import Labeled, check_length, codes_of, labeled, weights

Event = tuple[slice, FloatArray, NDArray[Any]]
"""A slice of rows, the probability of the event in each, and whether it happened (0 or 1)."""

# Eight doubles are one line of the cache: this many columns are copied in one pass over the rows.
_COLUMNS = 8


@dataclass(frozen=True)
class Binary:
    """The probability of the second of two classes, never written out as two columns."""

    codes: NDArray[Any]
    probabilities: FloatArray
    classes: LabelArray
    weight: FloatArray | None
    checked: bool
    """Whether every code is known to be 0 or 1."""

    def __len__(self) -> int:
        return len(self.codes)

    def blocks(self) -> Iterator[Event]:
        """Yield slices of rows, the probabilities of the second class and the codes, checked."""
        # Twice the usual size: with one column the fixed cost of a block matters.
        for rows in row_blocks(len(self), 1, 131072):
            p, codes = self.probabilities[rows], self.codes[rows]
            if not (p.min() >= 0 and p.max() <= 1):  # also true for NaN
                check_unit(
                    self.probabilities,
                    "probabilities",
                    ("sample",),
                    "for logits z of the second class pass 1 / (1 + exp(-z))",
                )
            if not self.checked and (codes.min() < 0 or codes.max() > 1):
                codes_of(self.codes, self.classes, named=False)  # raises and names the sample
            yield rows, p, codes

    def weights(self, rows: slice) -> FloatArray | None:
        """Return the weights of a block, or None where all are 1."""
        return None if self.weight is None else self.weight[rows]


EventSource = Binary | Labeled


def read(
    y_true: Any, probabilities: Any, kind: str, *, classes: Any = None, sample_weight: Any = None
) -> EventSource:
    """Pair true labels with probabilities, in the form that suits ``kind``."""
    vector = kind != "classwise" and _is_vector(probabilities)
    source = (_binary if vector else labeled)(
        y_true, probabilities, classes=classes, sample_weight=sample_weight
    )
    if kind == "positive" and len(source.classes) > 2:
        raise ShapeError(
            f"kind='positive' is defined for two classes, probabilities has {len(source.classes)}; "
            "use kind='classwise' for each class in turn, or 'top-label'"
        )
    return source


def _is_vector(probabilities: Any) -> bool:
    if isinstance(probabilities, Categorical):
        return False
    shape = getattr(probabilities, "shape", None)
    return (
        len(to_numpy(probabilities, "probabilities").array.shape if shape is None else shape) == 1
    )


def _binary(y_true: Any, probabilities: Any, *, classes: Any, sample_weight: Any) -> Binary:
    array, _, _ = as_floats(probabilities, "probabilities")
    names = as_labels(classes, "classes", 2, "class")
    labels = to_numpy(y_true, "y_true").array
    quick = classes is None and labels.ndim == 1 and labels.dtype.kind in "iub"
    codes = labels if quick else codes_of(y_true, names, named=classes is not None)
    check_length(codes, len(array), "y_true", "probabilities")
    return Binary(codes, array, names, weights(sample_weight, len(array)), checked=not quick)


def events(source: EventSource, kind: str) -> Iterator[Event]:
    """Yield the event of ``kind``: "positive" or "top-label"."""
    if kind == "positive":
        if isinstance(source, Binary):
            yield from source.blocks()
        else:
            for rows, block in source.blocks():
                yield rows, block[:, 1], source.codes[rows]
    elif isinstance(source, Binary):
        for rows, p, codes in source.blocks():
            other = 1 - p
            yield rows, np.maximum(p, other), (p > other) == codes
    elif len(source.classes) == 2:
        for rows, block in source.blocks():
            first, second = block[:, 0], block[:, 1]
            yield rows, np.maximum(first, second), (second > first) == source.codes[rows]
    elif is_sharing():
        labels, tops = top_of_all(source)
        for rows in row_blocks(len(source), 1):
            yield rows, tops[rows], labels[rows] == source.codes[rows]
    else:
        for rows, block in source.blocks():
            label, top = highest(block)
            yield rows, top, label == source.codes[rows]


def whole(source: EventSource, kind: str) -> tuple[FloatArray, NDArray[Any]]:
    """Return the event of all rows at once."""
    if kind == "positive" and isinstance(source, Binary):
        for _ in source.blocks():
            pass  # reading the blocks checks them
        return source.probabilities, source.codes
    predicted, happened = np.empty(len(source)), np.empty(len(source), dtype=bool)
    for rows, p, hit in events(source, kind):
        predicted[rows], happened[rows] = p, hit
    return predicted, happened


def columns(source: Labeled) -> Iterator[tuple[int, FloatArray, NDArray[np.bool_]]]:
    """Yield each class with its probabilities, contiguous, and whether it was the true class."""
    for start in range(0, len(source.classes), _COLUMNS):
        classes = range(start, min(start + _COLUMNS, len(source.classes)))
        part = np.empty((len(classes), len(source)))
        for rows, block in source.blocks():
            part[:, rows] = block[:, start : start + _COLUMNS].T
        source = replace(source, tolerance=None)  # all rows are checked by now
        for k in classes:
            yield k, part[k - start], source.codes == k
