"""Logarithms of probabilities, where 0 log 0 is 0."""

import numpy as np

from .._validation import FloatArray

LOG_OF_ZERO = -800.0
"""Below the logarithm of every positive double (-744.4), and finite: 0 times it is 0, not NaN."""


def logarithm(probabilities: FloatArray, out: FloatArray) -> FloatArray:
    """Write the logarithm to ``out``, that of 0 as a finite number to be multiplied by 0."""
    with np.errstate(divide="ignore"):
        np.log(probabilities, out=out)
    return np.maximum(out, LOG_OF_ZERO, out=out)


def times_logarithm(probabilities: FloatArray, out: FloatArray) -> FloatArray:
    """Write ``p log p`` to ``out``."""
    logarithm(probabilities, out)
    out *= probabilities
    return out
