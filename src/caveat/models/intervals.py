"""Quantiles, intervals and sets: quantile-forest, TabPFN, MAPIE."""

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._validation import as_floats
from ..estimators.sklearn_models import by_interface
from ..exceptions import OptionError
from ..predictions import Interval, PredictionSet, Quantiles
from ..predictions.categorical import softmax
from .table import LEVELS


def from_quantile_forest(model: Any, X: Any, *, levels: Any = LEVELS) -> Quantiles:
    """Read a quantile forest."""
    return Quantiles(levels, model.predict(X, quantiles=list(levels)), sort=True)


def from_tabpfn(model: Any, X: Any, *, levels: Any = LEVELS) -> Any:
    """Read a classifier, or the bar distribution of a regressor."""
    if hasattr(model, "predict_proba"):
        return by_interface(model, X)
    columns = model.predict(X, output_type="quantiles", quantiles=[float(a) for a in levels])
    return Quantiles(levels, np.stack(columns, axis=-1), sort=True)


def bar_quantiles(output: Any, levels: Any = LEVELS) -> Quantiles:
    """Read logits of bars: by the ``criterion`` of TabPFN, or even within given ``borders``."""
    if "criterion" in output:
        logits, read = output["logits"], output["criterion"].icdf
        columns = [to_numpy(read(logits, float(level)), "quantiles").array for level in levels]
        return Quantiles(levels, np.stack(columns, axis=-1), sort=True)
    logits, borders = (
        as_floats(output["logits"], "logits")[0],
        as_floats(output["borders"], "borders")[0],
    )
    if logits.ndim != 2 or len(borders) != logits.shape[1] + 1:
        raise OptionError(
            "logits must have shape (samples, bars) and borders one entry more than there are "
            f"bars; got {logits.shape} and {borders.shape}"
        )
    reached = np.cumsum(softmax(logits), axis=1)
    reached = np.hstack([np.zeros((len(reached), 1)), reached])
    return Quantiles(
        levels, np.array([np.interp(levels, row, borders) for row in reached]), sort=True
    )


def from_mapie(model: Any, X: Any, *, coverage: Any = None) -> Any:
    """Read intervals or sets of a conformalized model; of several levels ``coverage`` is one."""
    sets = hasattr(model, "predict_set")
    if not sets and not hasattr(model, "predict_interval"):
        raise OptionError(
            f"a {type(model).__name__} of MAPIE has neither predict_interval nor predict_set; pass "
            "the intervals that it gives: caveat.from_model(intervals, coverage=0.9)"
        )
    alphas = model._alphas if hasattr(model, "_alphas") else [model._alpha]
    known = [round(1 - float(alpha), 10) for alpha in alphas]
    try:
        _, values = model.predict_set(X) if sets else model.predict_interval(X)
    except ValueError as error:
        raise OptionError(f"this {type(model).__name__} gives no prediction: {error}") from error
    if coverage is not None or (sets and len(known) > 1):
        values, known = _chosen(values, known, coverage)
    if not sets:
        return intervals(values, known)
    classes = model._mapie_classifier.classes_
    return PredictionSet(values[..., 0], coverage=known[0], classes=classes)


def _chosen(values: Any, known: list[float], coverage: Any) -> tuple[Any, list[float]]:
    places = [i for i, level in enumerate(known) if coverage and abs(level - coverage) < 1e-9]
    if not places:
        text = ", ".join(f"{level:g}" for level in known)
        raise OptionError(f"coverage must be one of those of the model, {text}; got {coverage!r}")
    return values[..., places], [coverage]


def intervals(values: Any, coverage: Any) -> Interval | Quantiles | PredictionSet:
    """Read an array of shape (samples, 2, levels) or (samples, 2), as MAPIE gives them.

    The ends of several levels are quantiles: an interval of 0.9 lies between 0.05 and 0.95. True
    and false are sets of classes, of shape (samples, classes) or (samples, classes, 1).
    """
    plain = to_numpy(values, "intervals").array
    if plain.dtype == bool:
        sets = plain[..., 0] if plain.ndim == 3 and plain.shape[2] == 1 else plain
        return PredictionSet(sets, coverage=coverage)
    array, levels = as_floats(values, "intervals")[0], np.atleast_1d(coverage)
    array = array[..., None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[1:] != (2, len(levels)):
        raise OptionError(
            "intervals must have shape (samples, 2, levels) with a coverage for each level; got "
            f"{array.shape} and {len(levels)} coverages"
        )
    if len(levels) == 1:
        return Interval(array[:, 0, 0], array[:, 1, 0], coverage=float(levels[0]))
    ends = np.round(np.concatenate([(1 - levels) / 2, (1 + levels) / 2]), 10)
    return Quantiles(ends, array.reshape(len(array), -1), sort=True)
