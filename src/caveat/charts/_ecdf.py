"""How uncertain the right and the wrong predictions are."""

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
    grid = _grid(result.uncertainty[counted])
    shares = [_share(result, counted & part, grid) for part in (~wrong, wrong)]
    metric = "error_detection_auroc_score" if result.classes else "error_uncertainty_correlation"
    kinds = "right and wrong predictions" if result.classes else "small and large errors"
    marks = [
        Line(
            x=grid, y=share, label=f"{name} ({number:,})", color=color, dash=dash, width=width,
            main=True, step=True, says="{y:.0%} have an uncertainty up to {x:.3g}",
        )
        for share, number, name, color, dash, width in zip(
            shares, (int((counted & part).sum()) for part in (~wrong, wrong)), words,
            ("blue", "orange"), ("", "dash"), (1.6, 2.4), strict=True,
        )
        if number
    ]  # fmt: skip
    return Chart(
        title=f"Uncertainty of {kinds}{of_target(evaluation, result)}",
        read="The further the two lines are apart, the better the uncertainty separates the two; "
        "the dashed line should lie to the right.",
        x=Axis(label=result.uncertainty_label),
        y=Axis(label="share with at most this uncertainty", ends=(0.0, 1.02), percent=True),
        marks=tuple(marks),
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


def _grid(uncertainty: FloatArray) -> FloatArray:
    """Return up to two hundred uncertainties that occur, the smallest one twice."""
    finite = np.sort(uncertainty[np.isfinite(uncertainty)])
    if not len(finite):
        return np.zeros(2)
    places = np.linspace(0, len(finite) - 1, STEPS).round().astype(np.intp)
    grid = np.unique(finite[places])
    return np.r_[grid[0], grid]


def _share(result: Samples, part: np.ndarray, grid: FloatArray) -> FloatArray:
    """Return the share of some samples at or below each point of the grid."""
    rows = np.flatnonzero(part)
    shares = np.zeros(len(grid))
    if len(rows):
        place = np.searchsorted(grid[1:], result.uncertainty[rows], side="left")
        weight = None if result.weight is None else result.weight[rows]
        mass = np.bincount(place, weight, len(grid))
        shares[1:] = np.cumsum(mass)[:-1] / mass.sum()
    return shares


ENTRY = ranked("ecdf", ecdf, overlays=False)
