"""Folds that keep clusters whole, and predictions that other folds repair."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._validation import FloatArray
from ..estimators import Problem, fit_many, member_predictions
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


def cross_predictions(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    fold: NDArray[np.intp],
    *,
    weight: FloatArray | None = None,
    **options: Any,
) -> list[tuple[Any, NDArray[np.intp]]]:
    """Return, for each fold, predictions by a fit on the others, and their rows.

    Parameters
    ----------
    estimator : estimator
        Networks of caveat train in lock-step.
    X : array or frame of shape (samples, ...)
    y : array of shape (samples,) or (samples, targets)
    fold : array of shape (samples,)
    weight : array of shape (samples,), optional
    **options
        As in `fit_many`.
    """
    numbers = np.unique(fold)
    problems = [
        Problem(X, y, rows=np.flatnonzero(fold != i), sample_weight=weight, name=f"fold {i}")
        for i in numbers
    ]
    models = fit_many(estimator, problems, **options)
    places = [np.flatnonzero(fold == i) for i in numbers]
    return [
        (member_predictions(model, _safe_indexing(X, rows)), rows)
        for model, rows in zip(models, places, strict=True)
    ]


def in_order(parts: Sequence[tuple[Any, NDArray[np.intp]]]) -> Any:
    """Return the predictions of folds as one, in the order of their rows."""
    order = np.argsort(np.concatenate([rows for _, rows in parts]), kind="stable")
    return concat([prediction for prediction, _ in parts]).take(order)


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
    parts = []
    for number in np.unique(fold):
        rest, rows = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        there, here = (None if groups is None else groups[part] for part in (rest, rows))
        fitted = clone(recalibrator).fit(
            prediction.take(rest),
            y[rest],
            groups=there,
            sample_weight=None if weight is None else weight[rest],
        )
        parts.append((repaired(fitted, prediction.take(rows), here), rows))
    return in_order(parts)
