"""Folds that keep clusters whole, and predictions that other folds repair."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._validation import FloatArray
from ..predictions import concat
from ..recalibration import Recalibrator
from .result import repaired


def fold_numbers(
    samples: int,
    folds: int,
    rng: np.random.Generator,
    cluster: NDArray[Any] | None = None,
    strata: Sequence[NDArray[Any] | None] = (),
) -> NDArray[np.intp]:
    """Return the fold of each sample: clusters stay whole, and folds have alike shares of strata.

    Parameters
    ----------
    samples, folds : int
    rng : Generator
    cluster : array of shape (samples,), optional
    strata : sequence of arrays of shape (samples,)
        A cluster belongs to the stratum of its first sample.
    """
    unit = np.arange(samples)
    if cluster is not None:
        unit = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    _, first = np.unique(unit, return_index=True)
    keys = [
        np.unique(s, return_inverse=True)[1].reshape(-1)[first] for s in strata if s is not None
    ]
    order = np.lexsort((rng.random(len(first)), *keys))
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % folds
    return fold[unit]


def cross_fitted(
    recalibrator: Recalibrator,
    prediction: Any,
    y: NDArray[Any],
    fold: NDArray[np.intp],
    *,
    groups: NDArray[Any] | None = None,
    weight: FloatArray | None = None,
) -> Any:
    """Return the prediction of every sample, repaired by a fit on the other folds."""
    parts, places = [], []
    for number in np.unique(fold):
        rest, rows = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        there, here = (None if groups is None else groups[part] for part in (rest, rows))
        fitted = clone(recalibrator).fit(
            prediction.take(rest),
            y[rest],
            groups=there,
            sample_weight=None if weight is None else weight[rest],
        )
        parts.append(repaired(fitted, prediction.take(rows), here))
        places.append(rows)
    return concat(parts).take(np.argsort(np.concatenate(places), kind="stable"))
