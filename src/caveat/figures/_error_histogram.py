"""How often each pair of uncertainty and error occurs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._blocks import row_blocks
from .._validation import FloatArray
from ..evaluation import Evaluation
from ..evaluation.result import class_probabilities
from ..metrics._inputs import count
from ._available import checked
from ._figure import Figure
from ._samples import DISTRIBUTIONS, of_target

_FAR = 0.995
"""Of a long tail the axis shows this share."""


@dataclass(frozen=True, eq=False)
class ErrorHistogram(Figure):
    """What `error_histogram` returns.

    Attributes
    ----------
    counts : ndarray of shape (error cells, uncertainty cells)
        Samples in each cell, or the sum of their weights.
    uncertainty_edges, error_edges : ndarrays of shape (cells + 1,)
        Where the cells begin and end. Of a long tail the axis shows 99.5 %, and the last cell holds
        what lies beyond.
    note : str
        Says so where it is so.
    title, x_label, y_label : str
    confidence : float
    """

    counts: FloatArray
    uncertainty_edges: FloatArray
    error_edges: FloatArray
    note: str

    def to_frame(self) -> Any:
        """Return one row for each cell that holds samples."""
        import pandas as pd

        rows, columns = np.nonzero(self.counts)
        return pd.DataFrame(
            {
                "uncertainty_low": self.uncertainty_edges[columns],
                "uncertainty_high": self.uncertainty_edges[columns + 1],
                "error_low": self.error_edges[rows],
                "error_high": self.error_edges[rows + 1],
                "count": self.counts[rows, columns],
            }
        )


def error_histogram(evaluation: Evaluation, target: Any = None, bins: int = 40) -> ErrorHistogram:
    """Return a histogram of error against uncertainty.

    Parameters
    ----------
    evaluation : Evaluation
        Of a prediction with an uncertainty.
    target : str, optional
        The target, where there are several; by default the first.
    bins : int, default=40
        Cells on each axis.

    Returns
    -------
    ErrorHistogram
        The error of a number is absolute; that of a class is 1 less the probability that the true
        class was given.

    Examples
    --------
    >>> import caveat
    >>> from caveat.figures import error_histogram
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 1.0, 4.0])
    >>> figure = error_histogram(caveat.evaluate(prediction, [0, 1, 4], resamples=0), bins=2)
    >>> figure.counts
    array([[0., 2.],
           [0., 1.]])
    >>> figure.uncertainty_edges, figure.error_edges
    (array([0., 1., 2.]), array([0., 2., 4.]))
    """
    bins = count(bins, "bins")
    found = checked("error_histogram", evaluation, target)
    error, y_label = found.error, "absolute error"
    if isinstance(evaluation.prediction, DISTRIBUTIONS):
        error = 1 - _true_probabilities(class_probabilities(evaluation), found.truth)
        y_label = "1 − probability of the true class"
    counted = found.counted
    x_edges, x_beyond = _edges(found.uncertainty[counted], bins)
    y_edges, y_beyond = _edges(error[counted], bins)
    cells = _cell(error, y_edges) * bins + _cell(found.uncertainty, x_edges)
    counts = np.bincount(cells, found.weight, bins**2).astype(np.float64).reshape(bins, bins)
    beyond = [name for name, yes in (("column", x_beyond), ("row", y_beyond)) if yes]
    return ErrorHistogram(
        title=f"Error against uncertainty{of_target(evaluation, found)}",
        x_label=found.uncertainty_label,
        y_label=y_label,
        confidence=evaluation.confidence,
        counts=counts,
        uncertainty_edges=x_edges,
        error_edges=y_edges,
        note=f"the last {' and '.join(beyond)} also holds what lies beyond" if beyond else "",
    )


def _true_probabilities(p: FloatArray, truth: np.ndarray) -> FloatArray:
    given = np.empty(len(p))
    for rows in row_blocks(len(p), p.shape[1]):
        given[rows] = np.take_along_axis(p[rows], truth[rows, None], axis=1)[:, 0]
    return given


def _edges(values: FloatArray, bins: int) -> tuple[FloatArray, bool]:
    """Return equal cells from 0, and whether some values lie beyond them."""
    finite = values[np.isfinite(values)]
    largest = float(finite.max()) if len(finite) else 0.0
    far = float(np.quantile(finite, _FAR)) if len(finite) else 0.0
    end = far if largest > 2 * far > 0 else largest
    return np.linspace(0, end if end > 0 else 1.0, bins + 1), bool(values.max() > end)


def _cell(values: FloatArray, edges: FloatArray) -> np.ndarray:
    place = np.searchsorted(edges, values, side="right") - 1
    return np.clip(place, 0, len(edges) - 2)
