"""Helpers of measures: mean over members, blocks of rows with a scratch array, scaling.

A kernel takes a block of rows and a scratch array of the block's shape and order in memory, which
it may overwrite, and returns one number for each row. It checks nothing.
"""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from ..._docstrings import entries_of
from ..._validation import FloatArray
from ...exceptions import OptionError, UnsupportedPredictionError
from ...predictions import Container
from ...predictions.categorical import Categorical
from ..blockwise import Blockwise

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


def mean_probabilities(probabilities: Any, *, double: bool = False) -> Blockwise:
    """Return the mean over members, of shape (samples, classes), to be read by blocks.

    Parameters
    ----------
    probabilities : Categorical, Blockwise, or what the constructor of Categorical accepts
    double : bool, default=False
        Whether the measure needs double precision also where single precision is allowed.
    """
    if isinstance(probabilities, Blockwise):
        return probabilities.in_double_precision() if double else probabilities
    if isinstance(probabilities, Categorical):
        return Blockwise(probabilities.mean, None)
    if isinstance(probabilities, Container):
        raise UnsupportedPredictionError(
            "this measure is defined for class probabilities; expected a Categorical or an array, "
            f"got a {type(probabilities).__name__}"
        )
    return Blockwise.of(probabilities)


def by_blocks(kernel: Kernel, probabilities: Blockwise) -> FloatArray:
    """Apply a kernel to all rows; the memory beyond input and result is some blocks."""
    values = probabilities.values()
    for rows, block in probabilities.blocks():
        values[rows] = kernel(block, probabilities.like("scratch", block))
    return values


def measure(kernel: Kernel, probabilities: Blockwise, maximum: float, scaled: bool) -> FloatArray:
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
    return block @ np.ones(block.shape[1], dtype=block.dtype)


def sum_squares(block: FloatArray, scratch: FloatArray) -> FloatArray:
    """Sum of the squares over the classes; ``block`` may itself be ``scratch``."""
    np.multiply(block, block, out=scratch)
    return sum_classes(scratch)


def largest(block: FloatArray, scratch: FloatArray) -> FloatArray:
    """Maximum over the classes."""
    return by_class(block, scratch).max(axis=0)


def by_class(block: FloatArray, scratch: FloatArray) -> FloatArray:
    """Return the block as (classes, rows), each class in one piece of memory.

    Operations over a short last axis are far slower than those over the first.
    """
    if scratch.flags.f_contiguous:  # so the block has its rows beside each other already
        return block.T
    columns = scratch.reshape(block.shape[::-1])
    np.copyto(columns, block.T)
    return columns


def is_moderate(alpha: float) -> bool:
    """Whether powers to this exponent are accurate in single precision."""
    return 0.01 <= alpha <= 100


def check_alpha(alpha: Any, *, zero: bool = True, infinity: bool = False) -> float:
    """Return ``alpha`` as a float from 0 to infinity, each end included only if asked."""
    number = float(alpha) if isinstance(alpha, Real) else math.nan
    if number >= 0 and (zero or number > 0) and (infinity or number < math.inf):
        return number
    kind = "a number" if infinity else "a finite number"
    end = "of at least 0" if zero else "above 0"
    raise OptionError(f"alpha must be {kind} {end}; got {alpha!r}")
