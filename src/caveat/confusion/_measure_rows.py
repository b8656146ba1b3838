"""What is said of one measure: means, skewness, error detection with paired intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..metrics import METRICS
from ..resampling import confidence_interval, replicates
from ..resampling.intervals import interval_at

NAN = float("nan")


@dataclass(frozen=True)
class MeasureRow:
    """A measure of all samples, or of those of one true class.

    Attributes
    ----------
    measure : str
    one_class : str
        The true class; empty for all. A class without a name is ``''``, with the quotes.
    right, wrong : int
        How many predictions are right and wrong.
    right_mean, wrong_mean, right_skewness, wrong_skewness : float
        Mean and skewness over each of them; a skewness is NaN where all values are equal.
    margin : float
        How much larger the mean of the wrong ones is.
    detection, low, high : float
        The probability that a wrong prediction has a larger value than a right one, with its
        interval.
    behind, behind_low, behind_high : float
        How far the detection is below that of the best measure, with an interval that holds for all
        measures at once.
    """

    measure: str
    one_class: str
    right: int
    wrong: int
    right_mean: float
    wrong_mean: float
    right_skewness: float
    wrong_skewness: float
    margin: float
    detection: float
    low: float = NAN
    high: float = NAN
    behind: float = NAN
    behind_low: float = NAN
    behind_high: float = NAN


def measure_rows(
    values: Mapping[str, FloatArray],
    wrong: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    one_class: str,
    plan: Any,
    confidence: float,
) -> list[MeasureRow]:
    """Return the rows of all measures for the chosen samples."""
    metric = METRICS["error_detection_auroc_score"]
    errors = wrong[chosen]
    both = bool(errors.any() and not errors.all())
    scores = {
        name: metric.function(errors, value[chosen]) if both else NAN
        for name, value in values.items()
    }
    draws = {}
    if plan is not None and both:
        draws = {
            name: replicates(metric, wrong, {"uncertainty": value}, plan, rows=chosen)
            for name, value in values.items()
        }
    best = max(scores, key=lambda name: scores[name])
    level = 1 - (1 - confidence) / max(1, len(values) - 1)
    rows = []
    for name, value in values.items():
        right, bad = value[chosen & ~wrong], value[chosen & wrong]
        ends: dict[str, float] = {}
        if both:
            ends["behind"] = max(0.0, scores[best] - scores[name])
        if name in draws:
            interval = confidence_interval(metric, scores[name], draws[name], confidence)
            ends |= {"low": interval.low, "high": interval.high}
            if ends["behind"] > 1e-12:
                gap = draws[best] - draws[name]
                interval = interval_at(ends["behind"], gap, level, confidence)
                ends |= {"behind_low": interval.low, "behind_high": interval.high}
            else:
                ends["behind"] = 0.0
        rows.append(
            MeasureRow(
                name, one_class, len(right), len(bad), _mean(right), _mean(bad), skewness(right),
                skewness(bad), _mean(bad) - _mean(right), scores[name], **ends,
            )
        )  # fmt: skip
    return rows


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else NAN


def skewness(values: FloatArray) -> float:
    r"""Third standardized moment :math:`m_3 / m_2^{3/2}`; NaN where all values are equal."""
    if not len(values):
        return NAN
    centered = values - values.mean()
    variance = float((centered**2).mean())
    if variance <= 1e-24 * max(1.0, float(np.abs(values).max()) ** 2):
        return NAN
    return float((centered**3).mean() / variance**1.5)
