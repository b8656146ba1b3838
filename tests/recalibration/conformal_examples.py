"""Two targets, a model that is biased and too sure of one of them, and the rank by its definition."""

import math
from fractions import Fraction

import numpy as np

import caveat

RNG = np.random.default_rng(13)
MEAN, STD = RNG.normal(size=(101, 2)), RNG.gamma(2.0, size=(101, 2)) + 0.1
Y = MEAN + STD * RNG.standard_t(4, size=(101, 2)) * [1.5, 0.5] + [0.3, 0.0]
PREDICTION = caveat.Gaussian.from_std(MEAN, STD, targets=["a", "b"])
NEW = caveat.Gaussian.from_std(
    RNG.normal(size=(30, 2)), RNG.gamma(2.0, size=(30, 2)), targets=["a", "b"]
)
LEVELS = [0.05, 0.5, 0.95]
QUANTILES = caveat.Quantiles(LEVELS, np.sort(RNG.normal(size=(101, 2, 3)), axis=-1))
NEW_QUANTILES = caveat.Quantiles(LEVELS, np.sort(RNG.normal(size=(30, 2, 3)), axis=-1))


def kth(scores, coverage):
    """The definition: sort, and take the ceil((n + 1) c)-th."""
    rank = math.ceil((len(scores) + 1) * Fraction(str(coverage)))
    return np.sort(scores, axis=0)[rank - 1]
