"""Checks of class probabilities: no entry is negative, and each row sums to 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import row_blocks
from ._validation import (
    DOUBLE_TOLERANCE,
    FloatArray,
    check_finite,
    check_not_negative,
    position,
)
from .exceptions import InvalidValueError

CLASS_AXES = ("member", "sample", "class")
"""The axes of class probabilities."""

_NEGATIVE = "pass probabilities, or logits to Categorical.from_logits"


def check_probabilities(
    probabilities: FloatArray, name: str, tolerance: float, normalize: bool, start: int = 0
) -> FloatArray:
    """Check (members, samples, classes) probabilities; return them, normalized if asked.

    Rows in a lower precision are divided by their sum, too; see `in_full`.

    ``start`` is the number of the first sample, where the array is a block of many. One pass over
    the array and no copy of it: a row whose entries are not negative and whose sum is close to 1
    has no NaN, no infinity and nothing above 1.
    """
    if normalize:
        return _normalized(probabilities, name, start)
    for member in probabilities:
        for rows in row_blocks(*member.shape):
            if not _valid(member[rows], tolerance):
                _refuse(probabilities, name, tolerance, start)
    return in_full(probabilities, tolerance)


def in_full(probabilities: FloatArray, tolerance: float) -> FloatArray:
    """Divide checked rows by their sum where it is 1 in single precision, and not in double."""
    if tolerance <= DOUBLE_TOLERANCE or probabilities.dtype != np.float64:
        return probabilities
    sums = probabilities @ np.ones(probabilities.shape[-1])
    off = np.abs(sums - 1) > DOUBLE_TOLERANCE
    return probabilities / np.where(off, sums, 1.0)[..., None] if off.any() else probabilities


def check_block(block: NDArray[Any], name: str, tolerance: float, start: int) -> NDArray[Any]:
    """Check (samples, classes) probabilities in single or double precision, in one piece.

    ``start`` is the number of the first sample. What is in double precision is returned as
    `check_probabilities` does.
    """
    if not _valid(block, tolerance):
        _refuse(block[None].astype(np.float64), name, tolerance, start)
    return in_full(block, tolerance)


def _valid(block: NDArray[Any], tolerance: float) -> bool:
    """Whether no entry is negative and each row sums to 1; not so for NaN."""
    classes = block.shape[1]
    # A sum in single precision is that far from the exact one at most.
    rounding = classes * float(np.finfo(block.dtype).eps) if block.dtype == np.float32 else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        # A product is several times faster than a sum over a short last axis.
        off = block @ np.ones(classes, dtype=block.dtype)
        off -= 1
        np.abs(off, out=off)
        if block.min() >= 0 and off.max() <= tolerance - rounding:
            return True
    return rounding > 0 and _valid(block.astype(np.float64), tolerance)


def _refuse(probabilities: FloatArray, name: str, tolerance: float, start: int) -> None:
    """Raise on the first invalid sample."""
    check_finite(probabilities, name, CLASS_AXES, start)
    check_not_negative(probabilities, name, CLASS_AXES, _NEGATIVE, start)
    with np.errstate(over="ignore"):
        sums = probabilities @ np.ones(probabilities.shape[-1])
    index, where = position(~(np.abs(sums - 1) <= tolerance), CLASS_AXES[:2], start)
    raise InvalidValueError(
        f"{name}{where} sum to {sums[index]:.6g}; pass normalize=True, or logits to "
        "Categorical.from_logits"
    )


def _normalized(probabilities: FloatArray, name: str, start: int) -> FloatArray:
    check_finite(probabilities, name, CLASS_AXES, start)
    check_not_negative(probabilities, name, CLASS_AXES, _NEGATIVE, start)
    sums = probabilities.sum(axis=-1, keepdims=True)
    if not sums.min() > 0:
        _, where = position(sums[..., 0] == 0, CLASS_AXES[:2], start)
        raise InvalidValueError(f"{name}{where} are all 0 and cannot be normalized")
    return probabilities / sums
