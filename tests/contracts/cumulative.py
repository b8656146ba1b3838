"""A metric of one's own, all of it: what `CONTRIBUTING.md` shows and `test_new_metric.py` adds."""

import numpy as np

from caveat.metrics import Metric, Part, Sums
from caveat.metrics.sums import largest


def second(probabilities):
    """The probability of the second class, which may come alone."""
    p = np.asarray(probabilities, dtype=float)
    return p if p.ndim == 1 else p[:, 1]


def cumulative_calibration_error(y_true, probabilities, *, sample_weight=None):
    """Largest sum of residuals over the smallest probabilities, divided by all samples."""
    p, y = second(probabilities), np.asarray(y_true)
    weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight)
    _, cell = np.unique(p, return_inverse=True)
    return float(np.abs(np.cumsum(np.bincount(cell, weight * (p - y)))).max() / weight.sum())


def sums(batch):
    """The weight and the residuals in cells of the probability, then running sums."""
    p = second(batch.inputs["probabilities"])

    def matrix():
        cells = batch.cells(p)
        return batch.matrix(cells.index, cells.number, [None, p - batch.truth])

    def finish(found):
        mass, residual = np.split(found, 2, axis=1)
        return np.cumsum(residual, axis=1) / mass.sum(axis=1, keepdims=True)

    return Sums([Part(matrix)], finish, norm=largest)


CUMULATIVE = Metric(
    function=cumulative_calibration_error,
    task="classification",
    inputs=("probabilities",),
    direction="lower",
    range=(0.0, 1.0),
    optimum=0.0,
    says="How far predicted and observed totals drift apart as the probability grows.",
    cannot_see="Residuals that cancel between neighbors.",
    sums=sums,
    locality="local",
    aliases=("cce_cumulative",),
    short="CumCE",
    unit="share",
    shown=("headline",),
    within_class=False,
    two_classes=True,
)
