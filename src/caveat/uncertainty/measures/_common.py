"""Helpers of measures: mean over members, blocks of rows with a scratch array, scaling.

A kernel takes a block of rows and a scratch array of the block's shape, which it may overwrite, and
returns one number for each row. It checks nothing.
"""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from ..._blocks import row_blocks
from ..._docstrings import entries_of
from ..._validation import FloatArray
from ...exceptions import OptionError, UnsupportedPredictionError
from ...predictions import Container
from ...predictions.categorical import Categorical

Kernel = Callable[[FloatArray, FloatArray], FloatArray]

PARAMETERS = entries_of("""\
probabilities : Categorical, or array of shape (samples, classes) or (members, samples, classes)
    Predicted probabilities; members are averaged first.
scaled : bool
    Divide by the value at the uniform distribution.
""") | {
    "Returns": """\
ndarray of shape (samples,)
    From 0 (certain) to 1 (uniform); without scaling to the maximum. What rounding puts outside is
    clipped."""
}
"""Entries that the docstrings of all measures share."""


def mean_probabilities(probabilities: Any) -> FloatArray:
    """Return the mean over members, of shape (samples, classes).

    Parameters
    ----------
    probabilities : Categorical, or what its constructor accepts
    """
    if isinstance(probabilities, Categorical):
        return probabilities.mean
    if isinstance(probabilities, Container):
        raise UnsupportedPredictionError(
            "this measure is defined for class probabilities; expected a Categorical or an array, "
            f"got a {type(probabilities).__name__}"
        )
    return Categorical(probabilities).mean


def by_blocks(kernel: Kernel, probabilities: FloatArray) -> FloatArray:
    """Apply a kernel to all rows; the memory beyond input and result is one block."""
    samples, classes = probabilities.shape
    values = np.empty(samples)
    scratch = np.empty((0, classes))
    for rows in row_blocks(samples, classes):
        block = probabilities[rows]
        if len(scratch) < len(block):  # once: the first block is the longest
            scratch = np.empty(block.shape)
        values[rows] = kernel(block, scratch[: len(block)])
    return values


def measure(kernel: Kernel, probabilities: FloatArray, maximum: float, scaled: bool) -> FloatArray:
    """Apply a kernel whose values lie in [0, maximum]; divide by the maximum if ``scaled``."""

    def bounded_kernel(block: FloatArray, scratch: FloatArray) -> FloatArray:
        values = bounded(kernel(block, scratch), maximum)
        if scaled:
            values /= maximum
        return values

    return by_blocks(bounded_kernel, probabilities)


def bounded(values: FloatArray, maximum: float) -> FloatArray:
    """Clip to [0, maximum], in place, what rounding put outside; -0.0 becomes 0.0."""
    values.clip(0.0, maximum, out=values)
    values += 0.0
    return values


def sum_classes(block: FloatArray) -> FloatArray:
    """Sum over the last axis: a matrix product, several times faster when that axis is short."""
    return block @ np.ones(block.shape[1])


def sum_squares(block: FloatArray, scratch: FloatArray) -> FloatArray:
    """Sum of the squares over the classes; ``block`` may itself be ``scratch``."""
    np.multiply(block, block, out=scratch)
    return sum_classes(scratch)


def largest(block: FloatArray, scratch: FloatArray) -> FloatArray:
    """Maximum over the classes."""
    # Over the first axis of a transposed copy: a maximum over a short last axis is far slower.
    by_class = scratch.reshape(block.shape[::-1])
    np.copyto(by_class, block.T)
    return by_class.max(axis=0)


def check_alpha(alpha: Any, *, zero: bool = True, infinity: bool = False) -> float:
    """Return ``alpha`` as a float from 0 to infinity, each end included only if asked."""
    number = float(alpha) if isinstance(alpha, Real) else math.nan
    if number >= 0 and (zero or number > 0) and (infinity or number < math.inf):
        return number
    kind = "a number" if infinity else "a finite number"
    end = "of at least 0" if zero else "above 0"
    raise OptionError(f"alpha must be {kind} {end}; got {alpha!r}")
