"""How often each pair of uncertainty and error occurs."""

from typing import Any

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ..evaluation.result import class_probabilities
from ..metrics._inputs import count
from ._samples import DISTRIBUTIONS, of_target
from .chart import Chart
from .entry import ranked
from .marks import Axis, Heat, Mark, Rule

_FAR = 0.995
"""Of a long tail the axis shows this share."""


def error_histogram(evaluation: Evaluation, target: Any = None, bins: int = 40) -> Chart:
    """Return a histogram of error against uncertainty.

    Parameters
    ----------
    bins : int, default=40
        Cells on each axis.

    Returns
    -------
    The error of a number is absolute; that of a class is 1 less the probability that the true class
    was given. Of a long tail the axis shows 99.5 %, and the last cell holds the rest. The numbers
    are the cells that hold samples, the fullest first.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0], [1.0, 1.0, 4.0])
    >>> chart = error_histogram(caveat.evaluate(prediction, [0, 1, 4], resamples=0), bins=2)
    >>> chart.to_frame()[["uncertainty_high", "error_high", "samples"]].values.tolist()
    [[2.0, 2.0, 2.0], [2.0, 4.0, 1.0]]
    """
    bins = count(bins, "bins")
    result = ENTRY.samples(evaluation, target)
    error, y_label = result.error, "absolute error"
    if isinstance(evaluation.prediction, DISTRIBUTIONS):
        p = class_probabilities(evaluation)
        error = 1 - p.take(np.arange(0, p.size, p.shape[1]) + result.truth)
        y_label = "1 − probability of the true class"
    counted = result.counted
    x_edges, x_beyond = _edges(result.uncertainty[counted], bins)
    y_edges, y_beyond = _edges(error[counted], bins)
    cells = _cell(error, y_edges) * bins + _cell(result.uncertainty, x_edges)
    counts = np.bincount(cells, result.weight, bins**2).astype(np.float64).reshape(bins, bins)
    beyond = [name for name, yes in (("column", x_beyond), ("row", y_beyond)) if yes]
    rows, columns = np.nonzero(counts)
    order = np.argsort(-counts[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    marks: list[Mark] = [
        Heat(
            x=x_edges, y=y_edges, values=np.where(counts > 0, counts, np.nan), scale="samples",
            log=True, main=True, says="uncertainty {x:.3g}, error {y:.3g}: {value:.4g} samples",
        )
    ]  # fmt: skip
    if y_label == "absolute error":
        end = min(float(x_edges[-1]), float(y_edges[-1]))
        marks.append(Rule(end=end, label="error = uncertainty", dash="dash"))
    return Chart(
        title=f"Error against uncertainty{of_target(evaluation, result)}",
        read="The stronger the color, the more samples. The upper left is where it hurts: a large "
        "error at a low uncertainty.",
        x=Axis(label=result.uncertainty_label, ends=(0.0, float(x_edges[-1]))),
        y=Axis(label=y_label, ends=(0.0, float(y_edges[-1]))),
        marks=tuple(marks),
        numbers={
            "uncertainty_low": x_edges[columns],
            "uncertainty_high": x_edges[columns + 1],
            "error_low": y_edges[rows],
            "error_high": y_edges[rows + 1],
            "samples": counts[rows, columns],
        },
        note=f"The last {' and '.join(beyond)} also holds what lies beyond." if beyond else "",
        confidence=evaluation.confidence,
    )


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


ENTRY = ranked(
    "error_histogram", error_histogram, overlays=False, aliases=("error_vs_uncertainty",)
)
