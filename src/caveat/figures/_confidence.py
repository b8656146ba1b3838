"""How the error falls as the most uncertain samples are removed."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..metrics import confidence_curve as metric_curve
from ..resampling.spread import mean_limits, share_limits
from ._available import checked
from ._figure import Figure, headline
from ._nested import kept_means
from ._ordered import Ordered
from ._samples import of_target


@dataclass(frozen=True, eq=False)
class Confidence(Figure):
    """What `confidence_curve` returns.

    Attributes
    ----------
    removed : ndarray of shape (points,)
        The share of samples that is left out, the most uncertain first: 0, 0.01, ..., 0.99.
    error : ndarray of shape (points,)
        The error of the others: the share that is wrong, or the mean absolute error.
    low, high : ndarrays of shape (points,)
        Confidence limits of ``error``, point by point.
    oracle, random : ndarrays of shape (points,)
        The same if the samples with the largest errors were removed, and if any were.
    metric : str
        The number that sums the distance from the oracle up.
    value : float
    interval : pair of float
        As in the table; NaN where the metric was not asked.
    title, x_label, y_label : str
    confidence : float
    """

    removed: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    oracle: FloatArray
    random: FloatArray
    metric: str
    value: float
    interval: tuple[float, float]

    _columns: ClassVar[tuple[str, ...]] = ("removed", "error", "low", "high", "oracle", "random")


def confidence_curve(evaluation: Evaluation, target: Any = None) -> Confidence:
    """Return the error of what remains when the most uncertain samples are removed.

    Parameters
    ----------
    evaluation : Evaluation
        Of a prediction with an uncertainty.
    target : str, optional
        The target, where there are several; by default the first.

    Returns
    -------
    Confidence
        With Wilson's limits for shares and Gaussian limits for means, for the samples that are
        kept as if they had been fixed before.

    Examples
    --------
    >>> import caveat
    >>> from caveat.figures import confidence_curve
    >>> prediction = caveat.Categorical.from_binary([0.5, 0.6, 0.9, 1.0])
    >>> figure = confidence_curve(caveat.evaluate(prediction, [1, 0, 1, 1], resamples=0))
    >>> figure.removed[[0, 25, 50]], figure.error[[0, 25, 50]].round(3)
    (array([0.  , 0.25, 0.5 ]), array([0.5  , 0.333, 0.   ]))
    """
    found = checked("confidence_curve", evaluation, target)
    key = found.ranks
    curve = metric_curve(found.error, key, sample_weight=found.weight)
    ordered = Ordered(key, found.weight)
    spread = kept_means(
        ordered, found.error, (1 - curve.removed[::-1]) * ordered.total, found.cluster
    )
    limits = (share_limits if found.classes else mean_limits)(spread, evaluation.confidence)
    number = headline(evaluation, "confidence_oracle_area_error", found.target)
    return Confidence(
        title=f"Error without the most uncertain{of_target(evaluation, found)}",
        x_label="share of samples removed, the most uncertain first",
        y_label=found.error_label,
        confidence=evaluation.confidence,
        removed=curve.removed,
        error=curve.error,
        low=np.minimum(limits[0][::-1], curve.error),
        high=np.maximum(limits[1][::-1], curve.error),
        oracle=curve.oracle,
        random=curve.random,
        metric=number.metric,
        value=number.value,
        interval=number.interval,
    )
