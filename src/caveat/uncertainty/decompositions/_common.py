"""Sums over members and classes, and the split that is made of them."""

import numpy as np

from ..._validation import FloatArray
from ...predictions import Decomposition


def split(
    method: str,
    total: FloatArray,
    aleatoric: FloatArray,
    epistemic: FloatArray,
    *,
    additive: bool = True,
) -> Decomposition:
    """Return a split whose parts need no check."""
    parts = {"total": total, "aleatoric": aleatoric, "epistemic": epistemic}
    return Decomposition._trusted({**parts, "additive": additive, "method": method})


def gini(probabilities: FloatArray) -> FloatArray:
    """Return the sum over the last axis of ``p (1 - p)``."""
    return np.einsum("...c,...c->...", probabilities, 1 - probabilities)


def not_negative(difference: FloatArray) -> FloatArray:
    """Take the rounding out of a difference that is never negative in exact arithmetic."""
    return np.maximum(difference, 0.0, out=difference)
