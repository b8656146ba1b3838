"""Bounded numbers of each sample whose mean is 0 if a prediction is calibrated."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..predictions import (
    Categorical,
    Gaussian,
    GaussianLogits,
    Interval,
    PredictionSet,
    ProbabilityInterval,
    Quantiles,
)
from ..summaries import Summary
from ..summaries.cells import representatives
from ..summaries.parts import NumberKey, Place
from .cells import Design, design_of, kept_in

COVERAGE = 0.9
"""The central interval of a Gaussian whose coverage is watched."""

LARGE = 0.9
"""An error is large beyond this quantile of the reference's errors."""

BIAS, SPREAD = "bias", "spread"


@dataclass(frozen=True, eq=False)
class Bounded:
    """Numbers of samples between two bounds: values, and how many samples have each."""

    values: FloatArray
    counts: FloatArray
    bounds: tuple[float, float]
    design: Design | None = None

    @property
    def samples(self) -> float:
        """The number of samples, or their weight."""
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.values @ self.counts / self.counts.sum())

    @property
    def error(self) -> float:
        """The standard error of the mean, with one more sample at either bound.

        So a few samples that are all alike do not count as certain.
        """
        share = self.counts / self.counts.sum()
        size = self.samples
        squares = size * float(share @ (self.values - self.mean) ** 2)
        if self.design is not None:
            size = float(len(self.values))
            squares = float(self.design.covariance[0, 0]) * size**2
        squares += sum((bound - self.mean) ** 2 for bound in self.bounds)
        return float(np.sqrt(squares) / (size + 2))


def residuals_of(summary: Summary, place: Place) -> dict[NumberKey, Bounded]:
    """Return the residuals of calibration of some samples, by name and target.

    Of two classes: the truth (0 or 1) less the probability, of all samples. Otherwise of the
    samples that the summary kept: of more classes whether the most probable one is right, less its
    probability; of a Gaussian the predicted probability of values below the truth, less 1/2
    ("bias"), and whether the central interval of 90 % holds the truth, less 0.9 ("spread"); of
    quantiles, intervals and sets likewise.
    """
    part = summary.parts[place]
    if part.table is not None:
        p = representatives()
        held = np.flatnonzero(part.table)
        cell, truth = np.divmod(held, 2)
        counts = part.table.ravel()[held].astype(np.float64)
        return {(BIAS, ""): Bounded(truth - p[cell], counts, (-1.0, 1.0))}
    kept = kept_in(summary, place)
    if kept is None or not summary.about.truth:
        return {}
    assert summary.kept is not None
    assert summary.kept.y is not None
    prediction = summary.kept.prediction.take(kept.rows)
    residuals = _residuals(prediction, summary.kept.y[kept.rows])
    designed = summary.about.weighted or summary.about.clustered
    return {
        key: Bounded(
            values, kept.weight, bounds, design_of(kept, values[:, None]) if designed else None
        )
        for key, (values, bounds) in residuals.items()
    }


Residuals = dict[NumberKey, tuple[FloatArray, tuple[float, float]]]


def _residuals(prediction: Any, y: Any) -> Residuals:
    if isinstance(prediction, GaussianLogits | ProbabilityInterval):
        return _residuals(prediction.to_categorical(), y)
    if isinstance(prediction, Categorical):
        return _of_classes(prediction, y)
    if isinstance(prediction, PredictionSet):
        codes = prediction.align(y)
        inside = prediction.membership[np.arange(len(codes)), codes]
        return {(SPREAD, ""): _covered(inside, prediction.coverage)}
    truth = prediction.align(y)
    result: Residuals = {}
    for i, name in enumerate(map(str, prediction.targets.tolist())):
        true = truth[:, i]
        if isinstance(prediction, Gaussian):
            below = _probability_below(prediction, i, true)
            result[BIAS, name] = below - 0.5, (-0.5, 0.5)
            result[SPREAD, name] = _covered(np.abs(2 * below - 1) <= COVERAGE, COVERAGE)
        elif isinstance(prediction, Interval):
            inside = (prediction.lower[:, i] <= true) & (true <= prediction.upper[:, i])
            result[SPREAD, name] = _covered(inside, prediction.coverage)
        else:
            assert isinstance(prediction, Quantiles)
            values, levels = prediction.values.mean(axis=0)[:, i], prediction.levels
            near = int(np.argmin(np.abs(levels - 0.5)))
            result[BIAS, name] = _covered(true > values[:, near], 1 - float(levels[near]))
            if len(levels) > 1:
                inside = (values[:, 0] <= true) & (true <= values[:, -1])
                result[SPREAD, name] = _covered(inside, float(levels[-1] - levels[0]))
    return result


def _of_classes(prediction: Categorical, y: Any) -> Residuals:
    mean, codes = prediction.mean, prediction.align(y)
    if mean.shape[1] == 2:
        return {(BIAS, ""): (codes - mean[:, 1], (-1.0, 1.0))}
    best = mean.argmax(axis=1)
    right = (best == codes).astype(np.float64)
    return {(BIAS, ""): (right - mean[np.arange(len(best)), best], (-1.0, 1.0))}


def _covered(inside: Any, coverage: float) -> tuple[FloatArray, tuple[float, float]]:
    return np.asarray(inside, dtype=np.float64) - coverage, (-coverage, 1 - coverage)


def _probability_below(prediction: Gaussian, target: int, true: FloatArray) -> FloatArray:
    """Return the predicted probability of values below the truth, averaged over members."""
    from scipy.special import ndtr

    mean, std = prediction.mean[:, :, target], np.sqrt(prediction.variance[:, :, target])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = (true - mean) / std
    z = np.where(true == mean, 0.0, z)
    return np.asarray(ndtr(z).mean(axis=0))


def errors_of(summary: Summary) -> dict[str, FloatArray]:
    """Return the size of the error of each sample that was kept, by target.

    0 or 1 of classes, the absolute error of numbers; nothing of sets and intervals.
    """
    kept = summary.kept
    assert kept is not None
    assert kept.y is not None
    prediction: Any = kept.prediction
    if isinstance(prediction, GaussianLogits | ProbabilityInterval):
        prediction = prediction.to_categorical()
    if isinstance(prediction, Categorical):
        wrong = prediction.mean.argmax(axis=1) != prediction.align(kept.y)
        return {"": wrong.astype(np.float64)}
    if isinstance(prediction, Gaussian):
        point = prediction.moments()[0]
    elif isinstance(prediction, Quantiles):
        point = prediction.values.mean(axis=0)[:, :, int(np.argmin(abs(prediction.levels - 0.5)))]
    else:
        return {}
    size = np.abs(prediction.align(kept.y) - point)
    return {name: size[:, i] for i, name in enumerate(map(str, prediction.targets.tolist()))}


def wrong_of(summary: Summary) -> tuple[float, float] | None:
    """Return how many samples of a table are of another class than the most probable, and all."""
    table = summary.parts["", ""].table
    if table is None:
        return None
    second = representatives() > 0.5
    return float(table[~second, 1].sum() + table[second, 0].sum()), float(table.sum())
