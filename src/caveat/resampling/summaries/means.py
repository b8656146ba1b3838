"""Means of scores, and what is made of a few means."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...metrics import METRICS
from ...metrics.regression._checked import points, variances
from ...metrics.regression.points import _median
from ..prepared import Prepared
from ._parts import Part, Summary, as_is, dense

STUDENT = 1000
"""With up to so many units, each resample of a mean has a standard error of its own."""

_STEP = 1e-5

Finish = Callable[[FloatArray, FloatArray], FloatArray]


def mean_of(name: str) -> Callable[..., Summary]:
    """Return the summary of a metric that is a mean of scores: it gives them with per_sample."""

    def summary(prepared: Prepared, **options: Any) -> Summary:
        return of_scores(prepared, [_scores(prepared, name, options)], _first)

    return summary


def share_of(name: str) -> Callable[..., Summary]:
    """Return the summary of a metric that is a share of the samples."""

    def summary(prepared: Prepared, **options: Any) -> Summary:
        return _share(prepared, _scores(prepared, name, options), 1.0)

    return summary


def coverage_ratio(prepared: Prepared, *, coverage: float) -> Summary:
    """Observed over nominal coverage."""
    inside = _scores(prepared, "interval_coverage", {})
    return _share(prepared, inside / coverage, 1 / coverage)


def _scores(prepared: Prepared, name: str, options: dict[str, Any]) -> FloatArray:
    scores: FloatArray = METRICS[name].function(
        prepared.truth, **prepared.inputs, **{**options, "per_sample": True}
    )
    return scores


def _share(prepared: Prepared, scores: FloatArray, hit: float) -> Summary:
    return Summary([_sums(prepared, [None, scores])], lambda s: s[:, 1] / s[:, 0], hit=hit)


def root_mean_squared_error(prepared: Prepared) -> Summary:
    """Root of the mean squared error."""
    y, point, _ = points(prepared.truth, prepared.inputs["mean"], None)
    return of_scores(prepared, [(y - point) ** 2], _root)


def mean_absolute_scaled_error(
    prepared: Prepared, *, y_train: Any = None, reference_median: Any = None
) -> Summary:
    """Mean absolute error over that of the training median."""
    y, point, _ = points(prepared.truth, prepared.inputs["mean"], None)
    reference = np.abs(y - _median(y_train, reference_median))
    return of_scores(prepared, [np.abs(y - point), reference], _ratio)


def sharpness(prepared: Prepared) -> Summary:
    """Root of the mean variance."""
    return of_scores(prepared, [variances(prepared.inputs["variance"], len(prepared))], _root)


def dispersion(prepared: Prepared, *, ddof: int = 1) -> Summary:
    """Coefficient of variation of standard deviations, from two moments about their mean."""
    deviation = np.sqrt(variances(prepared.inputs["variance"], len(prepared)))
    center = float(deviation.mean())
    # About their mean the moments do not cancel; equal deviations have exactly the variation 0.
    off = deviation - (deviation[0] if np.all(deviation == deviation[0]) else center)
    base = float(deviation[0] - off[0])

    def finish(means: FloatArray, mass: FloatArray) -> FloatArray:
        first, second = means.T
        spread = np.maximum(second - first**2, 0.0) * mass
        defined = (base + first > 0) & (mass > ddof)
        return np.where(defined, np.sqrt(spread / (mass - ddof)) / (base + first), np.nan)

    return of_scores(prepared, [off, off**2], finish)


def of_scores(prepared: Prepared, scores: list[FloatArray], finish: Finish) -> Summary:
    """Return the summary of a function of means of scores.

    ``finish`` takes (resamples, scores) means and the (resamples,) weights behind them.
    """
    # An infinite score times no draws would be NaN: infinities are counted apart.
    infinite = [np.isinf(score) for score in scores]
    finite = [
        np.where(bad, 0.0, score) if bad.any() else score
        for score, bad in zip(scores, infinite, strict=True)
    ]
    number = len(scores)

    def values(sums: FloatArray, *_: FloatArray) -> FloatArray:
        means = sums[:, 1 : number + 1] / sums[:, :1]
        return finish(np.where(sums[:, number + 1 :] > 0, np.inf, means), sums[:, 0])

    part = _sums(prepared, [None, *finite, *infinite])
    student = not np.any(infinite) and prepared.plan.strata == 1 and prepared.units <= STUDENT
    if not student:
        return Summary([part], values)

    def products() -> FloatArray:
        sums = dense(part.matrix())[:, : number + 1]
        return (sums[:, :, None] * sums[:, None, :]).reshape(len(sums), -1)

    def spread(sums: FloatArray, squares: FloatArray) -> FloatArray:
        return _standard_errors(sums[:, : number + 1], squares, finish, prepared.units)

    return Summary([part, Part(products, as_is)], values, spread=spread)


def _standard_errors(
    sums: FloatArray, products: FloatArray, finish: Finish, units: int
) -> FloatArray:
    """Return the standard error of a function of means, linear around them.

    ``sums`` is (resamples, 1 + scores), the weight first; ``products`` are the sums over units of
    the products of two of them.
    """
    mass, means = sums[:, 0], sums[:, 1:] / sums[:, :1]
    second = products.reshape(len(sums), sums.shape[1], sums.shape[1])
    mixed = second[:, :1, 1:]  # (resamples, 1, scores)
    column = means[:, :, None]
    covariance = (
        second[:, 1:, 1:]
        - column * mixed
        - np.swapaxes(mixed, 1, 2) * means[:, None, :]
        + column * means[:, None, :] * second[:, :1, :1]
    ) / np.square(mass)[:, None, None]
    slopes = np.empty_like(means)
    # Steps in proportion to what the means vary by: the function is close to straight there.
    steps = _STEP * np.sqrt(np.maximum(np.einsum("rii->ri", covariance), 0.0))
    for i, step in enumerate(steps.T):
        aside = np.zeros_like(means)
        aside[:, i] = step
        rise = finish(means + aside, mass) - finish(means - aside, mass)
        slopes[:, i] = np.divide(rise, 2 * step, out=np.zeros(len(rise)), where=step > 0)
    variance = np.einsum("ri,rij,rj->r", slopes, covariance, slopes)
    return np.sqrt(np.maximum(variance, 0.0) * units / max(units - 1, 1))


def _sums(prepared: Prepared, values: list[Any]) -> Part:
    index = np.zeros(len(prepared), dtype=np.intp)
    return Part(lambda: prepared.matrix(index, 1, values), as_is)


def _first(means: FloatArray, _: FloatArray) -> FloatArray:
    return means[:, 0]


def _root(means: FloatArray, _: FloatArray) -> FloatArray:
    return np.sqrt(means[:, 0])


def _ratio(means: FloatArray, _: FloatArray) -> FloatArray:
    return np.where(means[:, 1] > 0, means[:, 0] / means[:, 1], np.nan)
