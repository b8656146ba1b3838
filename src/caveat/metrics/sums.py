"""A metric as sums over cells of the samples, and the functions that turn them into its value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._validation import FloatArray

Norm = Callable[[FloatArray], FloatArray]
"""Maps gaps, (..., gaps), to their norm, (...,)."""

UNBIASED: Literal["unbiased"] = "unbiased"
"""In place of a norm: the metric is not a norm of gaps, which noise could only make larger."""


@dataclass(frozen=True)
class Part:
    """Sums over units; each part is computed, reweighted, reduced and freed before the next.

    Attributes
    ----------
    matrix : callable
        Makes the (units, width) sums, dense or sparse.
    reduce : callable
        Turns sums of units, (..., width), into something small; the identity by default.
    joint : bool
        Whether the sums are of the cells that `Batch.joint` names, and not of all.
    ordered : int
        If the sums are those of so many values over cells in the order of a key, and empty cells
        change nothing: how many. Empty cells are then left out.
    """

    matrix: Callable[[], Any]
    reduce: Callable[[FloatArray], FloatArray] = lambda sums: sums
    joint: bool = False
    ordered: int = 0


@dataclass(frozen=True)
class Sums:
    """A metric of some samples as a function of sums.

    Attributes
    ----------
    parts : sequence of Part
    finish : callable
        Turns what the parts were reduced to, the first axis being resamples, into values,
        (resamples,); or, where there is a norm, into signed gaps, (resamples, gaps).
    norm : callable or "unbiased"
        Turns gaps (..., gaps) into values (...,): noise in the gaps can only make the metric
        larger, and its interval needs the gaps. "unbiased" for all other metrics.
    value : callable, optional
        Turns what the parts were reduced to into values where these are not the norm of the gaps.
    means : callable, optional
        The value as a smooth function of means, (resamples, scores), and of the weight behind them,
        (resamples,); the one part then holds the weight, the scores, and the infinite ones among
        them.
    hits, hit : ndarray of shape (samples,) and float, optional
        Where the metric is a share: which samples are hits (1) and misses (0), and its value if all
        are hits.
    rests_on : float, optional
        How many samples there are behind its weakest part; with fewer than five there is no
        interval.
    zero_if_calibrated : bool, default=True
        Whether the norm of the gaps is 0 for a prediction whose probabilities are right.
    """

    parts: Sequence[Part]
    finish: Callable[..., FloatArray]
    norm: Norm | Literal["unbiased"]
    value: Callable[..., FloatArray] | None = None
    means: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    hits: FloatArray | None = None
    hit: float = 1.0
    rests_on: float = float("inf")
    zero_if_calibrated: bool = True


def split(sums: FloatArray, cells: int) -> FloatArray:
    """Return (resamples, values, cells) from (resamples, values x cells)."""
    return sums.reshape(len(sums), -1, cells)


def dense(sums: Any) -> FloatArray:
    """Return sums that may be sparse as a plain array."""
    array: FloatArray = sums.toarray() if hasattr(sums, "toarray") else sums
    return array


def absolute_sum(gaps: FloatArray) -> FloatArray:
    """The sum of absolute gaps."""
    return np.abs(gaps).sum(axis=-1)


def absolute_mean(gaps: FloatArray) -> FloatArray:
    """The mean of absolute gaps."""
    return np.abs(gaps).mean(axis=-1)


def largest(gaps: FloatArray) -> FloatArray:
    """The largest absolute gap."""
    return np.abs(gaps).max(axis=-1)


def square_sum(gaps: FloatArray) -> FloatArray:
    """The sum of squared gaps."""
    return np.square(gaps).sum(axis=-1)


def length(gaps: FloatArray) -> FloatArray:
    """The root of the sum of squared gaps."""
    return np.sqrt(square_sum(gaps))


def over(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide; 0 where the denominator is not above 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)
