"""The sequence of thresholds that a triage tries, and how each one fares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import FloatArray, as_floats, check_no_nan, position
from ..exceptions import InvalidValueError, OptionError, ShapeError
from ._risk_bounds import binomial_bound, minimum_units
from ._triage_result import OperatingCurve

# The thresholds come from one unit in ten, at most a thousand, and the test from all others.
_ONE_IN, _MOST = 10, 1000
# The strictest threshold is to accept so many times what a pass needs at the very least: with less
# a single error ends the sequence at its start, with more a small accepted share is out of reach.
_START = 2.0


@dataclass(frozen=True)
class Calibration:
    """Scores, errors, relative weights (at most 1) and clusters of calibration samples.

    ``weight`` is None if all count the same, ``cluster`` if no cluster has two samples.
    """

    score: FloatArray
    wrong: NDArray[np.bool_]
    weight: FloatArray | None = None
    cluster: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.score)

    def units(self) -> NDArray[np.intp]:
        """Return the number, from 0, of the independent unit of each sample."""
        return np.arange(len(self)) if self.cluster is None else self.cluster


def calibration_samples(
    score: FloatArray,
    wrong: NDArray[np.bool_],
    weight: FloatArray | None,
    cluster: NDArray[np.intp] | None,
) -> Calibration:
    """Drop samples of weight 0, equal weights, and clusters of which none has two samples."""
    if weight is not None:
        present = weight > 0
        score, wrong, weight = score[present], wrong[present], weight[present]
        cluster = None if cluster is None else cluster[present]
        weight = None if weight.min() == weight.max() else weight / weight.max()
    if cluster is not None:
        _, cluster = np.unique(cluster, return_inverse=True)
        cluster = None if int(cluster.max()) + 1 == len(score) else cluster
    return Calibration(score, wrong, weight, cluster)


def cluster_codes(cluster: Any, samples: int) -> NDArray[np.intp]:
    """Return a number for the cluster of each sample; a missing one is an error."""
    import pandas as pd

    values = to_numpy(cluster, "cluster").array
    if values.shape != (samples,):
        raise ShapeError(
            f"cluster must be one value for each of {samples} samples; got shape {values.shape}"
        )
    codes, _ = pd.factorize(values)
    if (codes < 0).any():
        _, where = position(codes < 0, ("sample",))
        raise InvalidValueError(
            f"the cluster{where} is missing; give samples that stand alone a cluster of their own"
        )
    return codes


@dataclass(frozen=True)
class Sequence:
    """Increasing thresholds, and independent samples to test them on that had no say in them."""

    threshold: FloatArray
    score: FloatArray
    wrong: NDArray[np.bool_]


def fixed_sequence(
    calibration: Calibration,
    points: Any,
    risk: float,
    confidence: float,
    rng: np.random.Generator,
) -> Sequence:
    """Choose the thresholds, and a sample of the population to test them on."""
    if np.ndim(points) > 0:
        given, _, _ = as_floats(points, "points")
        if given.ndim != 1:
            raise ShapeError(f"points must be thresholds along one axis; got shape {given.shape}")
        check_no_nan(given, "points", ("threshold",))
        rows = _independent(calibration, np.zeros(len(calibration), dtype=bool), rng)
        return Sequence(np.unique(given), calibration.score[rows], calibration.wrong[rows])
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 1:
        raise OptionError(
            f"points must be how many thresholds to try, 1 or more, or an array of them; got "
            f"{points!r}"
        )
    unit = calibration.units()
    count = int(unit.max()) + 1
    setting = np.zeros(count, dtype=bool)
    setting[rng.permutation(count)[: min(-(-count // _ONE_IN), _MOST)]] = True
    rows = _independent(calibration, setting[unit], rng)
    scores = np.sort(calibration.score[setting[unit]])
    enough = _START * minimum_units(risk, confidence) / max(len(rows), 1)
    levels = np.linspace(np.clip(enough, 1 / points, 1.0), 1.0, int(points))
    ranks = np.ceil(levels * len(scores) - 1e-9).astype(np.intp)
    thresholds = np.unique(scores[ranks - 1])
    return Sequence(thresholds, calibration.score[rows], calibration.wrong[rows])


def _independent(
    calibration: Calibration, left_out: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw rows that are independent and count the same: one of each cluster, kept by weight.

    A kept row is distributed as the population that the weights describe, since it is kept with a
    probability in proportion to its weight.
    """
    rows = np.arange(len(calibration))
    if calibration.cluster is not None:
        rows = rng.permutation(rows)
        _, first = np.unique(calibration.cluster[rows], return_index=True)
        rows = rows[first]
    if calibration.weight is not None:
        rows = rows[rng.random(len(rows)) < calibration.weight[rows]]
    return rows[~left_out[rows]]


def operating_curve(sequence: Sequence, risk: float, confidence: float) -> OperatingCurve:
    """Return what each threshold accepts, and whether its error rate is shown to be low enough."""
    # The first threshold that accepts each sample; past the last one if none does.
    first = np.searchsorted(sequence.threshold, sequence.score)
    accepted = _running_counts(first, len(sequence.threshold))
    wrong = _running_counts(first[sequence.wrong], len(sequence.threshold))
    passed, upper = binomial_bound(wrong, accepted, risk, confidence)
    error = np.divide(wrong, accepted, out=np.full(len(wrong), np.nan), where=accepted > 0)
    coverage = accepted / max(len(sequence.score), 1)
    return OperatingCurve(sequence.threshold, coverage, accepted, wrong, error, upper, passed)


def _running_counts(first: NDArray[np.intp], length: int) -> NDArray[np.intp]:
    return np.cumsum(np.bincount(first, minlength=length + 1)[:length])
