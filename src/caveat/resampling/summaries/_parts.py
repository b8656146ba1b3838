"""What a summary of a metric is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._validation import FloatArray

Norm = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Part:
    """Sums over units that are made, resampled, reduced and forgotten before the next part.

    Attributes
    ----------
    matrix : callable
        Makes the (units, width) sums, dense or sparse.
    reduce : callable
        Turns their resampled form, (resamples, width), into something small.
    """

    matrix: Callable[[], Any]
    reduce: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Summary:
    """A metric as a function of sums.

    Attributes
    ----------
    parts : sequence of Part
    finish : callable
        Turns what the parts were reduced to into values, (resamples,); or, where there is a
        ``norm``, into signed gaps, (resamples, gaps).
    norm : callable, optional
        Turns gaps (..., gaps) into values (...,): the metric is biased away from 0 and its interval
        needs the gaps.
    value : callable, optional
        Turns what the parts were reduced to into values where these are not the norm of the gaps.
    spread : callable, optional
        Turns what the parts were reduced to into the standard error of each value: of a smooth
        function of means.
    hit : float, optional
        What a sample adds to a mean of hits and misses if it is a hit: the metric is a share.
    rests_on : float, optional
        How many samples there are behind its weakest part; with fewer than five there is no
        interval.
    zero_if_calibrated : bool, default=True
        Whether the norm of the gaps is 0 for a prediction whose probabilities are right.
    """

    parts: Sequence[Part]
    finish: Callable[..., FloatArray]
    norm: Norm | None = None
    value: Callable[..., FloatArray] | None = None
    spread: Callable[..., FloatArray] | None = None
    hit: float | None = None
    rests_on: float = float("inf")
    zero_if_calibrated: bool = True


def split(sums: FloatArray, number: int) -> FloatArray:
    """Return (resamples, values, cells) from (resamples, values x cells)."""
    return sums.reshape(len(sums), -1, number)


def dense(sums: Any) -> FloatArray:
    """Return sums that may be sparse as a plain array."""
    array: FloatArray = sums.toarray() if hasattr(sums, "toarray") else sums
    return array


def as_is(sums: FloatArray) -> FloatArray:
    """Return the sums themselves: they are small already."""
    return sums


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


def over(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide; 0 where the denominator is not above 0."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)
