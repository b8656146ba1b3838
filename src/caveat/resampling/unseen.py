"""What resamples cannot show: the kind of prediction of which there are hardly any samples.

If all of 60 predictions are right, so are those of every resample, and all would agree that it is
never wrong. Therefore each resample gets one more sample, of the kind that is missing, whose weight
is drawn from the exponential distribution. The share of wrong ones then reaches up to the exact
(Clopper-Pearson) limit: with none seen, 3.7 / n at 97.5 %, and close to it with a few. Which sample
it is and which label it gets is drawn by what the prediction itself says of its errors (of
uncertainties alone, for one half; the other half is drawn from all samples alike).
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from .prepared import Prepared

__all__ = ["FEW", "with_unseen"]

FEW = 20
"""Fewer independent samples than this, wrong or right, are complemented by unseen ones."""


def with_unseen(prepared: Prepared, classes: Any) -> Prepared | None:
    """Return the samples with unseen ones beside them, or None where none are needed."""
    if set(prepared.inputs) == {"probabilities"}:
        return prepared.kept(("unseen", str(classes)), lambda: _of_classes(prepared, classes))
    if set(prepared.inputs) == {"uncertainty"}:
        return prepared.kept("unseen", lambda: _of_errors(prepared))
    return None


def _of_classes(prepared: Prepared, classes: Any) -> Prepared | None:
    data = prepared.labelled(classes)
    top = data.probabilities.argmax(axis=1)
    wrong = top != data.codes
    rng = np.random.default_rng(prepared.plan.seed)
    resamples = prepared.plan.resamples
    rows, truths = [], []
    if _few(prepared, wrong):
        chance = 1 - data.probabilities[np.arange(len(data)), top]
        drawn = _draw(chance, resamples, rng)
        others = data.probabilities[drawn]
        others[np.arange(resamples), top[drawn]] = 0.0
        others[others.sum(axis=1) <= 0] = 1.0
        others[np.arange(resamples), top[drawn]] = 0.0
        running = np.cumsum(others, axis=1)
        label = (running <= rng.random((resamples, 1)) * running[:, -1:]).sum(axis=1)
        label = np.minimum(label, others.shape[1] - 1)  # next to no chance is lost in rounding
        rows.append(drawn)
        truths.append(label)
    if _few(prepared, ~wrong):
        drawn = _draw(data.probabilities.max(axis=1), resamples, rng)
        rows.append(drawn)
        truths.append(top[drawn])
    labels = np.asarray(data.classes)
    return _extended(prepared, rows, [labels[truth] for truth in truths], rng)


def _of_errors(prepared: Prepared) -> Prepared | None:
    """Of samples that are wrong (1) or right (0), with an uncertainty each."""
    truth = np.asarray(prepared.truth)
    if not np.isin(truth, (0, 1)).all():
        return None
    rng = np.random.default_rng(prepared.plan.seed)
    wrong, resamples = truth == 1, prepared.plan.resamples
    uncertainty = np.asarray(prepared.inputs["uncertainty"], dtype=np.float64)
    rows, truths = [], []
    for kind in (True, False):
        if _few(prepared, wrong if kind else ~wrong):
            # Half of the unseen errors are where the prediction expects them, half anywhere.
            chance = np.ones(len(truth))
            if kind and 0 < uncertainty.mean() < np.inf:
                chance += np.maximum(uncertainty, 0.0) / uncertainty.mean()
            rows.append(_draw(chance, resamples, rng))
            truths.append(np.full(resamples, kind).astype(truth.dtype))
    return _extended(prepared, rows, truths, rng)


def _few(prepared: Prepared, rows: NDArray[np.bool_]) -> bool:
    """Whether there are few independent samples of a kind, but some of the other."""
    rows = rows if prepared.weight is None else rows & (prepared.weight > 0)
    unit = np.arange(len(rows)) if prepared.cluster is None else prepared.cluster
    return len(np.unique(unit[rows])) < FEW


def _draw(chance: FloatArray, number: int, rng: np.random.Generator) -> NDArray[np.intp]:
    running = np.cumsum(chance)
    if not 0 < running[-1] < np.inf:
        return rng.integers(0, len(chance), number)
    found = np.searchsorted(running, rng.random(number) * running[-1], side="right")
    return np.minimum(found, len(chance) - 1)


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
