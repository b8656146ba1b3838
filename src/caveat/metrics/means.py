"""Means of scores, shares of samples and smooth functions of means, as sums."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._validation import FloatArray
from .batch import Batch
from .sums import UNBIASED, Part, Sums

Finish = Callable[[FloatArray, FloatArray], FloatArray]


def mean_of(function: Callable[..., Any]) -> Callable[..., Sums]:
    """Return the sums of a metric that is a mean of scores.

    Parameters
    ----------
    function : callable
        The metric; it returns its scores with ``per_sample=True``.
    """
    return partial(_mean, function)


def share_of(function: Callable[..., Any]) -> Callable[..., Sums]:
    """Return the sums of a metric that is the share of samples whose score is 1, not 0.

    Parameters
    ----------
    function : callable
        The metric; it returns its scores with ``per_sample=True``.
    """
    return partial(_share, function)


def _mean(function: Callable[..., Any], batch: Batch, **options: Any) -> Sums:
    return of_scores(batch, [_scores(function, batch, options)])


def _share(function: Callable[..., Any], batch: Batch, **options: Any) -> Sums:
    return of_hits(batch, _scores(function, batch, options))


def _scores(function: Callable[..., Any], batch: Batch, options: dict[str, Any]) -> FloatArray:
    known = batch.known(("scores", function))
    if known is not None:
        return np.asarray(known)
    chosen = {**options, "per_sample": True}
    return np.asarray(function(batch.truth, **batch.inputs, **chosen))


def of_hits(batch: Batch, hits: FloatArray, hit: float = 1.0) -> Sums:
    """Return the sums of a share of hits, times what the metric is if all are hits."""
    part = Part(lambda: batch.matrix(None, 1, [None, hits]))
    return Sums([part], lambda s: hit * (s[:, 1] / s[:, 0]), UNBIASED, hits=hits, hit=hit)


def first_mean(means: FloatArray, _: FloatArray) -> FloatArray:
    """The mean of the first scores."""
    return means[:, 0]


def root_mean(means: FloatArray, _: FloatArray) -> FloatArray:
    """The root of the mean of the first scores."""
    return np.sqrt(means[:, 0])


def ratio_of_means(means: FloatArray, _: FloatArray) -> FloatArray:
    """The mean of the first scores over that of the second."""
    return np.where(means[:, 1] > 0, means[:, 0] / means[:, 1], np.nan)


def of_scores(batch: Batch, scores: list[FloatArray], finish: Finish = first_mean) -> Sums:
    """Return the sums of a smooth function of means of scores.

    ``finish`` takes (resamples, scores) means and the (resamples,) weights behind them.
    """
    # An infinite score times no draws would be NaN: infinities are counted apart.
    infinite = [np.isinf(score) for score in scores]
    finite = [
        np.where(bad, 0.0, score) if bad.any() else score
        for score, bad in zip(scores, infinite, strict=True)
    ]
    number = len(scores)

    def values(sums: FloatArray) -> FloatArray:
        means = sums[:, 1 : number + 1] / sums[:, :1]
        return finish(np.where(sums[:, number + 1 :] > 0, np.inf, means), sums[:, 0])

    part = Part(lambda: batch.matrix(None, 1, [None, *finite, *infinite]))
    return Sums([part], values, UNBIASED, means=finish)
