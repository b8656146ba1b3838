"""Means of scores, and what is made of a few means."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...metrics import METRICS
from ...metrics.regression._checked import points, variances
from ...metrics.regression.points import _median
from ..prepared import Prepared
from ._parts import Part, Summary, as_is


def mean_of(name: str) -> Callable[..., Summary]:
    """Return the summary of a metric that is a mean of scores: it gives them with per_sample."""

    def summary(prepared: Prepared, **options: Any) -> Summary:
        scores = METRICS[name].function(
            prepared.truth, **prepared.inputs, **{**options, "per_sample": True}
        )
        return of_scores(prepared, [scores], _first)

    return summary


def coverage_ratio(prepared: Prepared, *, coverage: float) -> Summary:
    """Observed over nominal coverage."""
    inside = METRICS["interval_coverage"].function(
        prepared.truth, **prepared.inputs, per_sample=True
    )
    return of_scores(prepared, [inside / coverage], _first)


def root_mean_squared_error(prepared: Prepared) -> Summary:
    """Root of the mean squared error."""
    y, point, _ = points(prepared.truth, prepared.inputs["mean"], None)
    return of_scores(prepared, [(y - point) ** 2], lambda means: np.sqrt(means[:, 0]))


def mean_absolute_scaled_error(
    prepared: Prepared, *, y_train: Any = None, reference_median: Any = None
) -> Summary:
    """Mean absolute error over that of the training median."""
    y, point, _ = points(prepared.truth, prepared.inputs["mean"], None)
    reference = np.abs(y - _median(y_train, reference_median))
    return of_scores(prepared, [np.abs(y - point), reference], _ratio)


def sharpness(prepared: Prepared) -> Summary:
    """Root of the mean variance."""
    spread = variances(prepared.inputs["variance"], len(prepared))
    return of_scores(prepared, [spread], lambda means: np.sqrt(means[:, 0]))


def dispersion(prepared: Prepared, *, ddof: int = 1) -> Summary:
    """Coefficient of variation of standard deviations, from two moments about their mean."""
    deviation = np.sqrt(variances(prepared.inputs["variance"], len(prepared)))
    center = float(deviation.mean())
    # About their mean the moments do not cancel; equal deviations have exactly the variation 0.
    off = deviation - (deviation[0] if np.all(deviation == deviation[0]) else center)
    base = float(deviation[0] - off[0])

    def finish(sums: FloatArray) -> FloatArray:
        mass, first, second = sums.T
        mean = base + first / mass
        spread = np.maximum(second - first**2 / mass, 0.0)
        defined = (mean > 0) & (mass > ddof)
        return np.where(defined, np.sqrt(spread / (mass - ddof)) / mean, np.nan)

    return Summary([_sums(prepared, [None, off, off**2])], finish)


def of_scores(
    prepared: Prepared, scores: list[FloatArray], finish: Callable[[FloatArray], FloatArray]
) -> Summary:
    """Return the summary of a function of means of scores, (resamples, scores) -> (resamples,)."""
    # An infinite score times no draws would be NaN: infinities are counted apart.
    infinite = [np.isinf(score) for score in scores]
    finite = [
        np.where(bad, 0.0, score) if bad.any() else score
        for score, bad in zip(scores, infinite, strict=True)
    ]
    number = len(scores)

    def means(sums: FloatArray) -> FloatArray:
        found = sums[:, 1 : number + 1] / sums[:, :1]
        return finish(np.where(sums[:, number + 1 :] > 0, np.inf, found))

    return Summary([_sums(prepared, [None, *finite, *infinite])], means)


def _sums(prepared: Prepared, values: list[Any]) -> Part:
    index = np.zeros(len(prepared), dtype=np.intp)
    return Part(lambda: prepared.matrix(index, 1, values), as_is)


def _first(means: FloatArray) -> FloatArray:
    return means[:, 0]


def _ratio(means: FloatArray) -> FloatArray:
    return np.where(means[:, 1] > 0, means[:, 0] / means[:, 1], np.nan)
