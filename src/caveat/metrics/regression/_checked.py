"""Checked inputs of regression metrics, and their mean in one pass."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._blocks import row_blocks
from ..._validation import (
    LARGEST,
    LARGEST_SQUARE,
    FloatArray,
    as_floats,
    check_not_negative,
    check_ordered,
    check_same_shape,
    check_size,
)
from ...exceptions import InvalidValueError, ShapeError
from ...predictions.quantiles import check_levels
from .._inputs import scale, vector, weights

_MEMBER_AXES = ("member", "sample")
_NEGATIVE = "variances cannot be negative; square standard deviations first"


class Gaussians(NamedTuple):
    """True values, means and variances: (samples,), or (members, samples) for a mixture."""

    y: FloatArray
    mean: FloatArray
    variance: FloatArray
    weight: FloatArray | None


Pair = tuple[FloatArray, FloatArray, FloatArray | None]
Triple = tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]
"""True values, one or two arrays of predictions, and weights."""


def points(y_true: Any, value: Any, sample_weight: Any, name: str = "mean") -> Pair:
    """Pair true values with points."""
    y = vector(y_true, "y_true")
    point = vector(value, name, length=len(y))
    return y, point, weights(sample_weight, len(y))


def gaussians(
    y_true: Any, mean: Any, variance: Any, sample_weight: Any, *, density: bool = False
) -> Gaussians:
    """Pair true values with means and variances, which may be 0 unless a density is needed."""
    y, point, weight = points(y_true, mean, sample_weight)
    if density:
        return Gaussians(y, point, scale(variance, "variance", len(y)), weight)
    return Gaussians(y, point, variances(variance, len(y)), weight)


def variances(variance: Any, length: int) -> FloatArray:
    """Return variances that are not negative, (samples,)."""
    spread = vector(variance, "variance", length=length, largest=LARGEST_SQUARE)
    check_not_negative(spread, "variance", ("sample",), _NEGATIVE)
    return spread


def mixtures(
    y_true: Any, means: Any, spreads: Any, sample_weight: Any, *, density: bool
) -> Gaussians:
    """Pair true values with the means and variances of members, (members, samples)."""
    y = vector(y_true, "y_true")
    mean = member_array(means, "means", len(y))
    variance = member_array(spreads, "variances", len(y), LARGEST_SQUARE)
    check_same_shape(mean, variance, ("means", "variances"))
    check_not_negative(variance, "variances", _MEMBER_AXES, _NEGATIVE)
    if density and not variance.min() > 0:
        member, sample = np.unravel_index(int(np.argmin(variance)), variance.shape)
        raise InvalidValueError(
            f"variances of sample {sample}, member {member} is 0: a point has no density. Use a "
            "metric of points or intervals, or give the prediction a spread"
        )
    return Gaussians(y, mean, variance, weights(sample_weight, len(y)))


def member_array(value: Any, name: str, length: int, largest: float = LARGEST) -> FloatArray:
    """Return finite numbers of shape (members, samples)."""
    array, _, _ = as_floats(value, name)
    if array.ndim != 2:
        raise ShapeError(f"{name} must have shape (members, samples); got {array.shape}")
    if array.shape[1] != length:
        raise ShapeError(
            f"{name} has {array.shape[1]} samples, y_true has {length}; the axis of members is "
            "the first"
        )
    check_size(array, name, _MEMBER_AXES, largest)
    return array


def intervals(y_true: Any, lower: Any, upper: Any, sample_weight: Any) -> Triple:
    """Pair true values with the ends of intervals, the lower not above the upper."""
    y = vector(y_true, "y_true")
    low = vector(lower, "lower", length=len(y), infinite=True)
    high = vector(upper, "upper", length=len(y), infinite=True)
    check_ordered(
        low, high, ("lower", "upper"), ("sample",), "swap the two where they are mixed up"
    )
    return y, low, high, weights(sample_weight, len(y))


def quantile_arrays(y_true: Any, levels: Any, values: Any, sample_weight: Any) -> Triple:
    """Pair true values with quantiles, which may cross, at increasing levels."""
    y = vector(y_true, "y_true")
    steps = check_levels(as_floats(levels, "levels")[0])
    quantiles, _, _ = as_floats(values, "values")
    if quantiles.shape != (len(y), len(steps)):
        raise ShapeError(
            f"values must have shape (samples, levels), here {(len(y), len(steps))}; got "
            f"{quantiles.shape}"
        )
    check_size(quantiles, "values", ("sample", "level"))
    return y, steps, quantiles, weights(sample_weight, len(y))


Score = Callable[..., FloatArray]
"""Takes a block of samples of some arrays, along their last axis, and returns their scores."""


def score(
    score_of: Score, weight: FloatArray | None, per_sample: bool, *arrays: FloatArray
) -> float | FloatArray:
    """Score samples block by block; return every score, or their weighted mean."""
    if not per_sample:
        return mean_score(score_of, weight, *arrays)
    return np.concatenate([block for _, block in _blocks(score_of, arrays)])


def mean_score(score_of: Score, weight: FloatArray | None, *arrays: FloatArray) -> float:
    """Return the weighted mean of the scores; an infinite one with weight 0 does not count."""
    total = 0.0
    for rows, block in _blocks(score_of, arrays):
        if weight is None:
            total += float(block.sum())
        else:
            share = weight[rows]
            total += float((np.where(share > 0, block, 0.0) * share).sum())
    return total / float(len(arrays[0]) if weight is None else weight.sum())


def _blocks(score_of: Score, arrays: tuple[FloatArray, ...]) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of samples, of which the first array has one axis, and their scores."""
    width = max(array.size for array in arrays) // len(arrays[0])
    with np.errstate(over="ignore"):
        for rows in row_blocks(len(arrays[0]), width):
            yield rows, score_of(*(array[..., rows] for array in arrays))
