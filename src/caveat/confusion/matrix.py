"""The confusion matrix: shares of each true class with their intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._random import RandomState
from .._validation import FloatArray, LabelArray, as_column, as_weights, check_fraction
from ..metrics import METRICS
from ..resampling import ConfidenceInterval, confidence_interval, make_plan, replicates
from ..resampling.spread import share_limits, spread_of, stacked
from ..results.tables import ShownTable, html_tables, interval_words, number, terminal_table
from ..results.words import amount
from ._given import as_classes


@dataclass(frozen=True, repr=False, eq=False)
class ConfusionMatrix:
    """How often each class is predicted where another one is true.

    Rows are true classes, columns predicted ones.

    Attributes
    ----------
    classes : ndarray of shape (classes,)
    counts : ndarray of shape (classes, classes)
        Sums of the weights of the samples; without weights, how many they are.
    shares : ndarray of shape (classes, classes)
        The shares of each row; NaN where a class does not occur.
    low, high : ndarray of shape (classes, classes)
        Wilson's interval of each share, at the number of independent samples that the weights and
        clusters leave. They are intervals of single cells.
    accuracy, kappa : float
        The share of right predictions, and Cohen's kappa.
    accuracy_interval, kappa_interval : ConfidenceInterval
    confidence : float

    Examples
    --------
    >>> from caveat.confusion import confusion_matrix
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]]
    >>> matrix = confusion_matrix(p, ["no", "yes", "yes", "yes"], random_state=0)
    >>> matrix.counts
    array([[1., 0.],
           [1., 2.]])
    >>> matrix.shares.round(2), matrix.low.round(2)
    (array([[1.  , 0.  ],
           [0.33, 0.67]]), array([[0.21, 0.  ],
           [0.06, 0.21]]))
    """

    classes: LabelArray
    counts: FloatArray
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    accuracy: float
    kappa: float
    accuracy_interval: ConfidenceInterval
    kappa_interval: ConfidenceInterval
    confidence: float

    def to_frame(self) -> Any:
        """Return one row for each pair of a true and a predicted class as a pandas DataFrame."""
        import pandas as pd

        true, predicted = np.indices(self.counts.shape).reshape(2, -1)
        columns = {"count": self.counts, "share": self.shares, "low": self.low, "high": self.high}
        return pd.DataFrame(
            {"true": self.classes[true], "predicted": self.classes[predicted]}
            | {name: values.ravel() for name, values in columns.items()}
        )

    def tables(self) -> list[ShownTable]:
        """Return what is shown: percentages of each true class, with their intervals."""
        whole = bool((self.counts == np.rint(self.counts)).all())
        body = [
            [
                str(label), f"{total:.0f}" if whole else amount(total),
                *(_percent(*cell) for cell in zip(*cells, strict=True)),
            ]
            for label, total, *cells in zip(
                self.classes.tolist(), self.counts.sum(axis=1), self.shares, self.low, self.high,
                strict=True,
            )
        ]  # fmt: skip
        header = ["true class", "samples" if whole else "weight", *map(str, self.classes.tolist())]
        return [("Predicted classes, in percent of each true class", header, body)]

    def _lines(self) -> list[str]:
        return [
            f"{name} {number(value)} ({interval_words(interval.low, interval.high)})"
            if value == value
            else f"{name} undefined"
            for name, value, interval in (
                ("accuracy", self.accuracy, self.accuracy_interval),
                ("Cohen's kappa", self.kappa, self.kappa_interval),
            )
        ]

    def __repr__(self) -> str:
        return "\n".join([*(terminal_table(*table) for table in self.tables()), *self._lines()])

    def _repr_html_(self) -> str:
        return html_tables(self.tables(), self._lines())


def _percent(share: float, low: float, high: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def confusion_matrix(
    prediction: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    cluster: Any = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> ConfusionMatrix:
    """Count how often each class is predicted where another one is true, with intervals.

    Parameters
    ----------
    prediction : Categorical, or an array of probabilities
        The predicted class is the most probable one, the first of equals.
    y : array of shape (samples,)
        The true classes.
    sample_weight : array of shape (samples,), optional
    cluster : array of shape (samples,), optional
        Samples that belong together, such as the pixels of one block of an image (see
        `caveat.maps.PredictionMap.blocks`): intervals take them for one.
    resamples : int, default=1000
        For the interval of kappa.
    """
    given = as_classes(prediction, y)
    confidence = check_fraction(confidence, "confidence")
    codes, classes = given.align(y), len(given.classes)
    weight = as_weights(sample_weight, len(codes))
    groups = None
    if cluster is not None:
        groups = np.unique(as_column(cluster, "cluster", len(codes)), return_inverse=True)[1]
    predicted = given.mean.argmax(axis=1)
    counts = np.bincount(codes * classes + predicted, weight, classes**2).reshape(classes, classes)
    shares, low, high = np.full((3, classes, classes), np.nan)
    for code in np.flatnonzero(counts.sum(axis=1) > 0):
        rows = codes == code
        own = None if weight is None else weight[rows]
        together = None if groups is None else groups[rows]
        spread = stacked(
            (spread_of((predicted[rows] == k) * 1.0, own, together) for k in range(classes)),
            groups is not None,
        )
        shares[code] = spread.mean
        low[code], high[code] = share_limits(spread, confidence)
    plan = make_plan(len(codes), resamples=resamples, cluster=cluster, random_state=random_state)
    values, intervals = [], []
    for name in ("accuracy_score", "cohen_kappa_score"):
        metric, inputs = METRICS[name], {"probabilities": given.mean}
        options = {"classes": np.arange(classes)}
        value = float(metric.function(codes, given.mean, sample_weight=weight, **options))
        draws = replicates(metric, codes, inputs, plan, options=options, sample_weight=weight)
        values.append(value)
        intervals.append(confidence_interval(metric, value, draws, confidence))
    return ConfusionMatrix(
        given.classes, counts.astype(np.float64), shares, low, high, values[0], values[1],
        intervals[0], intervals[1], confidence,
    )  # fmt: skip
