"""Sums over members and classes."""

import numpy as np

from ..._validation import FloatArray


def gini(probabilities: FloatArray) -> FloatArray:
    """Return the sum over the last axis of ``p (1 - p)``."""
    return np.einsum("...c,...c->...", probabilities, 1 - probabilities)


def not_negative(difference: FloatArray) -> FloatArray:
    """Take the rounding out of a difference that is never negative in exact arithmetic."""
    return np.maximum(difference, 0.0, out=difference)
