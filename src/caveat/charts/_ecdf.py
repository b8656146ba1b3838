"""How uncertain the right and the wrong predictions are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..evaluation import Evaluation
from ._ordered import Ordered
from ._samples import Samples, headline, of_target
from .chart import Chart
from .entry import ranked
from .marks import Axis, Line

STEPS = 200
_LINE: dict[str, Any] = {"main": True, "step": True, "marker": None}
_STYLES = (
    {"color": "blue", "dash": "solid", "width": 1.6, **_LINE},
    {"color": "orange", "dash": "dash", "width": 2.4, **_LINE},
)


def ecdf(evaluation: Evaluation, target: Any = None) -> Chart:
    """Return the cumulative distributions of the uncertainty of right and of wrong predictions.

    Returns
    -------
    Its numbers are some uncertainties that occur, and the share of the right and of the wrong
    predictions with at most this uncertainty. Numbers are never quite right: theirs are the halves
    with the smaller and the larger errors.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian([0.0] * 4, [1.0, 4.0, 9.0, 16.0])
    >>> chart = ecdf(caveat.evaluate(prediction, [0, 1, 4, 5], resamples=0))
    >>> [mark.label for mark in chart.marks]
    ['smaller half of the errors (2)', 'larger half of the errors (2)']
    >>> chart.numbers["uncertainty"], chart.numbers["wrong"]
    (array([1., 1., 2., 3., 4.]), array([0. , 0. , 0. , 0.5, 1. ]))
    """
    result = ENTRY.samples(evaluation, target)
    wrong, words = _halves(result)
    counted = result.counted
    grid, shares = grid_of(result.uncertainty[counted]), []
    for part in (~wrong, wrong):
        weight = None if result.weight is None else result.weight[part]
        # The lines begin at a share of 0.
        shares.append(np.r_[0.0, shares_up_to(grid, result.uncertainty[part], weight)])
    grid = np.r_[grid[0], grid]
    numbers = [int((counted & part).sum()) for part in (~wrong, wrong)]
    metric = "error_detection_auroc_score" if result.classes else "error_uncertainty_correlation"
    kinds = "right and wrong predictions" if result.classes else "small and large errors"
    return Chart(
        title=f"Uncertainty of {kinds}{of_target(evaluation, result)}",
        read="The further the two lines are apart, the better the uncertainty separates the two; "
        "the dashed line should lie to the right.",
        x=Axis(label=result.uncertainty_label),
        y=Axis(label="share with at most this uncertainty", ends=(0.0, 1.02), percent=True),
        marks=step_lines(grid, shares, numbers, words, "an uncertainty"),
        numbers={"uncertainty": grid, "right": shares[0], "wrong": shares[1]},
        headline=headline(evaluation, metric, result.target),
        confidence=evaluation.confidence,
    )


def _halves(result: Samples) -> tuple[np.ndarray, tuple[str, str]]:
    if result.classes:
        return result.error > 0, ("right", "wrong")
    ordered = Ordered(result.error, result.weight)
    middle = ordered.at(ordered.total / 2)
    return result.error > middle, ("smaller half of the errors", "larger half of the errors")


def grid_of(values: FloatArray) -> FloatArray:
    """Return up to two hundred of the finite values, in order; 0 if there are none."""
    finite = np.sort(values[np.isfinite(values)])
    places = np.linspace(0, len(finite) - 1, STEPS).round().astype(np.intp)
    return np.unique(finite[places]) if len(finite) else np.zeros(1)


def shares_up_to(
    grid: FloatArray, values: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Return the share of values at or below each point of the grid; 0 if there are none."""
    mass = np.bincount(np.searchsorted(grid, values), weight, len(grid) + 1)
    return np.asarray(np.cumsum(mass)[:-1] / (mass.sum() or 1.0))


def step_lines(
    grid: FloatArray, shares: Sequence[Any], numbers: Sequence[int], words: Sequence[str], what: str
) -> tuple[Line, ...]:
    """Return cumulative distributions of right and of wrong samples, those that there are."""
    says = f"{{y:.0%}} have {what} up to {{x:.3g}}"
    return tuple(
        Line(x=grid, y=share, label=f"{name} ({number:,})", says=says, **style)
        for share, number, name, style in zip(shares, numbers, words, _STYLES, strict=True)
        if number
    )


ENTRY = ranked("ecdf", ecdf, overlays=False)
