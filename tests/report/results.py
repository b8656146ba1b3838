"""Results of every kind to make reports of, small and quick."""

from functools import cache
from typing import Any

import numpy as np

import caveat

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"' onmouseover=alert(3) x='",
    "line\u2028para\u2029graph",
    "\u202eright to left\u202c \u0627\u0644",
    "{{ 7 * 7 }} {% raw %} %{x} <b>bold</b> &amp;",
    "]]><!-- <style>*{display:none}</style>",
)


METRICS = (
    "accuracy", "auc", "nll", "ece", "smece", "uce", "vce", "auroc_error", "auco", "error_drop",
)  # fmt: skip
"""Enough for every part of a page; all of them take longer."""


def probabilities(samples: int, members: int = 1, classes: int = 3, sharp: float = 2.0) -> Any:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(samples, classes)) * 1.5
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    truth = (p.cumsum(axis=1) < rng.random((samples, 1))).sum(axis=1).clip(max=classes - 1)
    said = np.exp(sharp * (logits + 0.5 * rng.normal(size=(members, samples, classes))))
    return said / said.sum(axis=-1, keepdims=True), truth


@cache
def classification(samples: int = 400, members: int = 3, resamples: int = 20) -> Any:
    p, truth = probabilities(samples, members)
    labels = np.array(["setosa", "versicolor", "virginica"])
    groups = {
        "sex": np.where(np.arange(samples) % 2, "f", "m"),
        "site": np.char.add("clinic ", (np.arange(samples) % 5).astype(str)),
    }
    prediction = caveat.Categorical(p, classes=labels)
    return caveat.evaluate(
        prediction,
        labels[truth],
        groups=groups,
        metrics=METRICS,
        resamples=resamples,
        random_state=0,
    )


@cache
def regression(
    targets: int = 2, resamples: int = 20, metrics: tuple[str, ...] | None = None
) -> Any:
    rng = np.random.default_rng(1)
    spread = 0.3 + rng.random((300, targets))
    mean = rng.normal(size=(3, 300, targets))
    truth = mean.mean(axis=0) + 2 * spread * rng.normal(size=(300, targets))
    prediction = caveat.Gaussian(
        mean,
        np.broadcast_to(spread**2, mean.shape),
        targets=[f"target {i}" for i in range(targets)],
    )
    groups = np.where(rng.random(300) < 0.5, "ring", "chain")
    return caveat.evaluate(
        prediction, truth, groups=groups, metrics=metrics, resamples=resamples, random_state=0
    )


@cache
def comparison() -> Any:
    p, truth = probabilities(400, 2)
    soft = p**0.5
    predictions = {
        "raw": caveat.Categorical(p),
        "soft": caveat.Categorical(soft / soft.sum(axis=-1, keepdims=True)),
    }
    return caveat.compare(predictions, truth, metrics=METRICS, resamples=20, random_state=0)


def hostile_classification(**options: Any) -> Any:
    p, truth = probabilities(60, 2, len(HOSTILE))
    classes = np.array(HOSTILE)
    prediction = caveat.Categorical(p, classes=classes)
    ids = [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(60)]
    groups = {name: [HOSTILE[(i + j) % 3] for i in range(60)] for j, name in enumerate(HOSTILE)}
    metrics = ["accuracy", "ece", "nll", "error_drop"]
    given = {"resamples": 5, "random_state": 0, "groups": groups, "ids": ids, "metrics": metrics}
    options = given | options
    return caveat.evaluate(prediction, classes[truth], **options)


def every_prediction() -> dict[str, tuple[Any, Any]]:
    """A small prediction of each type, with its truth."""
    rng = np.random.default_rng(2)
    p, truth = probabilities(80)
    y = rng.normal(size=80)
    half = 0.2 * rng.random((80, 3))
    values = np.sort(rng.normal(size=(80, 5)), axis=1)
    infinite = np.full(80, np.inf)
    return {
        "Categorical": (caveat.Categorical(p), truth),
        "GaussianLogits": (caveat.GaussianLogits(np.log(p[0]), np.full((80, 3), 0.3)), truth),
        "ProbabilityInterval": (
            caveat.ProbabilityInterval(np.clip(p[0] - half, 0, 1), np.clip(p[0] + half, 0, 1)),
            truth,
        ),
        "PredictionSet": (caveat.PredictionSet(p[0] > 0.2, coverage=0.9), truth),
        "Gaussian": (caveat.Gaussian(np.zeros(80), 0.5 + rng.random(80)), y),
        "Gaussian without spread": (caveat.Gaussian(rng.normal(size=80), np.zeros(80)), y),
        "Quantiles": (caveat.Quantiles([0.05, 0.25, 0.5, 0.75, 0.95], values), y),
        "one-sided Quantiles": (caveat.Quantiles([0.2, 0.4], values[:, :2]), y),
        "Interval": (caveat.Interval(values[:, 0], values[:, -1], coverage=0.9), y),
        "infinite Interval": (caveat.Interval(-infinite, infinite, coverage=0.9), y),
    }
