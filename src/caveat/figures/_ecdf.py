"""How uncertain the right and the wrong predictions are."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ._available import checked
from ._figure import Figure, headline
from ._ordered import Ordered
from ._samples import Samples, of_target

STEPS = 200


@dataclass(frozen=True, eq=False)
class Ecdf(Figure):
    """What `ecdf` returns.

    Attributes
    ----------
    uncertainty : ndarray of shape (points,)
        Some uncertainties that occur, increasing; the smallest is there twice, so that the curves
        begin at 0.
    right, wrong : ndarrays of shape (points,)
        The share of the right, and of the wrong, predictions with at most this uncertainty; 0 where
        there is no such prediction. Curves that lie apart tell right from wrong.
    right_count, wrong_count : int
        How many there are of each.
    right_label, wrong_label : str
        What the two are: numbers are never quite right, so theirs are the halves with the smaller
        and the larger errors.
    metric : str
    value : float
    interval : pair of float
        As in the table; NaN where the metric was not asked.
    title, x_label, y_label : str
    confidence : float
    """

    uncertainty: FloatArray
    right: FloatArray
    wrong: FloatArray
    right_count: int
    wrong_count: int
    right_label: str
    wrong_label: str
    metric: str
    value: float
    interval: tuple[float, float]

    _columns: ClassVar[tuple[str, ...]] = ("uncertainty", "right", "wrong")


def ecdf(evaluation: Evaluation, target: Any = None) -> Ecdf:
    """Return the cumulative distributions of the uncertainty of right and of wrong predictions.

    Parameters
    ----------
    evaluation : Evaluation
        Of a prediction with an uncertainty.
    target : str, optional
        The target, where there are several; by default the first.

    Returns
    -------
    Ecdf

    Examples
    --------
    >>> import caveat
    >>> from caveat.figures import ecdf
    >>> prediction = caveat.Gaussian([0.0] * 4, [1.0, 4.0, 9.0, 16.0])
    >>> figure = ecdf(caveat.evaluate(prediction, [0, 1, 4, 5], resamples=0))
    >>> figure.right_label, figure.right_count
    ('smaller half of the errors', 2)
    >>> figure.uncertainty, figure.wrong
    (array([1., 1., 2., 3., 4.]), array([0. , 0. , 0. , 0.5, 1. ]))
    """
    found = checked("ecdf", evaluation, target)
    wrong, words = _halves(found)
    counted = found.counted
    grid = _grid(found.uncertainty[counted])
    shares = [_share(found, counted & part, grid) for part in (~wrong, wrong)]
    name = "error_detection_auroc_score" if found.classes else "error_uncertainty_correlation"
    number = headline(evaluation, name, found.target)
    return Ecdf(
        title=f"Uncertainty of right and wrong predictions{of_target(evaluation, found)}"
        if found.classes
        else f"Uncertainty of small and large errors{of_target(evaluation, found)}",
        x_label=found.uncertainty_label,
        y_label="share with at most this uncertainty",
        confidence=evaluation.confidence,
        uncertainty=grid,
        right=shares[0],
        wrong=shares[1],
        right_count=int((counted & ~wrong).sum()),
        wrong_count=int((counted & wrong).sum()),
        right_label=words[0],
        wrong_label=words[1],
        metric=number.metric,
        value=number.value,
        interval=number.interval,
    )


def _halves(found: Samples) -> tuple[np.ndarray, tuple[str, str]]:
    if found.classes:
        return found.error > 0, ("right", "wrong")
    ordered = Ordered(found.error, found.weight)
    middle = ordered.at(ordered.total / 2)
    return found.error > middle, ("smaller half of the errors", "larger half of the errors")


def _grid(uncertainty: FloatArray) -> FloatArray:
    """Return up to two hundred uncertainties that occur, the smallest one twice."""
    finite = np.sort(uncertainty[np.isfinite(uncertainty)])
    if not len(finite):
        return np.zeros(2)
    places = np.linspace(0, len(finite) - 1, STEPS).round().astype(np.intp)
    grid = np.unique(finite[places])
    return np.r_[grid[0], grid]


def _share(found: Samples, part: np.ndarray, grid: FloatArray) -> FloatArray:
    """Return the share of some samples at or below each point of the grid."""
    rows = np.flatnonzero(part)
    shares = np.zeros(len(grid))
    if len(rows):
        place = np.searchsorted(grid[1:], found.uncertainty[rows], side="left")
        weight = None if found.weight is None else found.weight[rows]
        mass = np.bincount(place, weight, len(grid))
        shares[1:] = np.cumsum(mass)[:-1] / mass.sum()
    return shares
