"""Unseen samples: the rare kind of prediction that resamples cannot show.

If all of 60 predictions are right, so are those of every resample, and all would agree that it is
never wrong. Therefore each resample gets one more sample, of the kind that is missing, whose weight
is drawn from the exponential distribution. The share of wrong ones then reaches up to the exact
(Clopper-Pearson) limit: with none seen, 3.7 / n at 97.5 %, and close to it with a few. Which sample
it is and which label it gets is drawn by what the prediction itself says of its errors. Where that
is in doubt (in calibration errors, and of uncertainties alone) so is one half; the other half is
drawn from all samples alike.

The loss of an interval, or of a quantile, rests on the few true values beyond it in the same way.
An unseen one lies beyond by a multiple of the size of the interval, drawn from the gamma
distribution of shape 2: what a sum of exponential distances rests on is twice their mean.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import LARGEST, FloatArray
from .prepared import Prepared

__all__ = ["FEW", "with_unseen"]

FEW = 20
"""Fewer independent samples than this, wrong or right, are complemented by unseen ones."""

_BEYOND = 0.2
"""Where none was seen beyond: the mean distance in half widths, as of Gaussian 95 % intervals."""


def with_unseen(
    prepared: Prepared, options: Mapping[str, Any], half_uniform: bool = False
) -> Prepared | None:
    """Return the samples together with unseen ones, or None if none are needed.

    With ``half_uniform``, half of the unseen errors of classes are drawn uniformly.
    """
    names, classes = set(prepared.inputs), options.get("classes")
    if names == {"probabilities"}:
        key = "unseen", str(classes), half_uniform
        return prepared.kept(key, lambda: _of_classes(prepared, classes, half_uniform))
    if names == {"uncertainty"}:
        return prepared.kept("unseen", lambda: _of_errors(prepared))
    if names == {"lower", "upper"} and "coverage" in options:
        lower, upper = (np.asarray(prepared.inputs[name], dtype=float) for name in sorted(names))
        beyond = np.maximum(lower - prepared.truth, prepared.truth - upper)
        return _of_misses(prepared, beyond, (upper - lower) / 2, upper, 1.0)
    if names == {"value"} and "level" in options:
        side = 1.0 if options["level"] > 0.5 else -1.0
        value = np.asarray(prepared.inputs["value"], dtype=float)
        away = prepared.truth - value
        size = np.full(len(away), np.abs(away).mean())
        return _of_misses(prepared, side * away, size, value, side)
    return None


def _of_classes(prepared: Prepared, classes: Any, half_uniform: bool) -> Prepared | None:
    data = prepared.labeled(classes)
    top = data.probabilities.argmax(axis=1)
    wrong = top != data.codes
    rng = np.random.default_rng(prepared.plan.seed)
    resamples = prepared.plan.resamples
    rows, truths = [], []
    if _few(prepared, wrong):
        chance = 1 - data.probabilities[np.arange(len(data)), top]
        drawn = _draw(_half_uniform(chance) if half_uniform else chance, resamples, rng)
        others = data.probabilities[drawn]
        others[np.arange(resamples), top[drawn]] = 0.0
        others[others.sum(axis=1) <= 0] = 1.0
        others[np.arange(resamples), top[drawn]] = 0.0
        running = np.cumsum(others, axis=1)
        label = (running <= rng.random((resamples, 1)) * running[:, -1:]).sum(axis=1)
        label = np.minimum(label, others.shape[1] - 1)  # a tiny probability is lost in rounding
        rows.append(drawn)
        truths.append(label)
    if _few(prepared, ~wrong):
        drawn = _draw(data.probabilities.max(axis=1), resamples, rng)
        rows.append(drawn)
        truths.append(top[drawn])
    labels = np.asarray(data.classes)
    return _extended(prepared, rows, [labels[truth] for truth in truths], rng)


def _of_errors(prepared: Prepared) -> Prepared | None:
    """Return the unseen samples of wrong (1) or right (0) predictions with an uncertainty."""
    truth = np.asarray(prepared.truth)
    if not np.isin(truth, (0, 1)).all():
        return None
    rng = np.random.default_rng(prepared.plan.seed)
    wrong, resamples = truth == 1, prepared.plan.resamples
    uncertainty = np.asarray(prepared.inputs["uncertainty"], dtype=np.float64)
    rows, truths = [], []
    for kind in (True, False):
        if _few(prepared, wrong if kind else ~wrong):
            chance = _half_uniform(uncertainty if kind else np.zeros(len(truth)))
            rows.append(_draw(chance, resamples, rng))
            truths.append(np.full(resamples, kind).astype(truth.dtype))
    return _extended(prepared, rows, truths, rng)


def _of_misses(
    prepared: Prepared, beyond: FloatArray, size: FloatArray, end: FloatArray, side: float
) -> Prepared | None:
    """Return the unseen true values beyond the upper (1) or the lower (-1) end."""
    missed, mean = beyond > 0, size.mean()
    if not (0 < mean < np.inf and _few(prepared, missed)):
        return None
    rng, resamples = np.random.default_rng(prepared.plan.seed), prepared.plan.resamples
    mass = missed * (1.0 if prepared.weight is None else prepared.weight / prepared.weight.mean())
    scale = min((mass @ beyond + _BEYOND * mean) / (mass @ size + mean), LARGEST)
    drawn = rng.integers(0, len(size), resamples)
    truth = end[drawn] + side * scale * rng.gamma(2.0, size=resamples) * size[drawn]
    return _extended(prepared, [drawn], [np.clip(truth, -LARGEST, LARGEST)], rng)


def _few(prepared: Prepared, rows: NDArray[np.bool_]) -> bool:
    """Whether there are few independent samples of a kind, but some of the other."""
    rows = rows if prepared.weight is None else rows & (prepared.weight > 0)
    if prepared.cluster is None or np.count_nonzero(rows) < FEW:
        return bool(np.count_nonzero(rows) < FEW)
    return len(np.unique(prepared.cluster[rows])) < FEW


def _half_uniform(chance: FloatArray) -> FloatArray:
    """Return the mean of the given probabilities and the uniform distribution."""
    mean = chance.mean()
    return 1 + np.maximum(chance, 0.0) / mean if 0 < mean < np.inf else np.ones(len(chance))


def _draw(chance: FloatArray, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    running = np.cumsum(chance)
    if not 0 < running[-1] < np.inf:
        return rng.integers(0, len(chance), number)
    places = np.searchsorted(running, rng.random(number) * running[-1], side="right")
    return np.minimum(places, len(chance) - 1)


def _extended(
    prepared: Prepared,
    rows: list[NDArray[np.intp]],
    truths: list[NDArray[Any]],
    rng: np.random.Generator,
) -> Prepared | None:
    """Put the unseen samples of each resample into a unit that only this resample holds."""
    if not rows:
        return None
    plan, samples = prepared.plan, len(prepared)
    each = np.arange(plan.units, plan.units + plan.resamples, dtype=np.int32)
    unit = np.concatenate([prepared.unit, *(each for _ in rows)])
    counts = np.hstack([plan.counts, np.eye(plan.resamples, dtype=plan.counts.dtype)])
    weight = np.ones(samples) if prepared.weight is None else prepared.weight
    unseen = rng.exponential(size=plan.resamples * len(rows))
    unseen *= weight.sum() / prepared.independent
    return prepared.extended(
        np.concatenate([prepared.truth, *truths]),
        np.concatenate([np.arange(samples), *rows]),
        replace(plan, unit=unit, counts=counts, cluster=None, extra=plan.resamples),
        np.concatenate([weight, unseen]),
    )
