"""Generic input for every metric of the registry, by the names of what it takes."""

import inspect
from dataclasses import dataclass, field

import numpy as np

from caveat.metrics import METRICS

TWO_CLASSES = {name for name, metric in METRICS.items() if metric.two_classes}
# Undefined where every bin holds one sample only.
NEEDS_PAIRS = {"debiased_calibration_error"}
# Options without a default; a metric that needs another one is added here with its value.
NEEDED = {"coverage": 0.8, "level": 0.3, "reference_median": 0.1}
WITH_MEMBERS = {"means", "variances", "members"}
SHARED = {"levels"}


@dataclass
class Case:
    """The truth, the inputs by name, the options; rows are samples except where members come first."""

    metric: object
    truth: np.ndarray
    inputs: dict[str, np.ndarray]
    options: dict = field(default_factory=dict)

    def value(self, **more):
        return self.metric.function(self.truth, **self.inputs, **self.options, **more)

    def inputs_shape(self):
        return tuple(array.shape for array in self.inputs.values())

    def take(self, rows):
        inputs = {}
        for name, array in self.inputs.items():
            if name in SHARED:
                inputs[name] = array
            else:
                inputs[name] = array[:, rows] if name in WITH_MEMBERS else array[rows]
        return Case(self.metric, self.truth[rows], inputs, self.options)

    def replace(self, **inputs):
        truth = inputs.pop("truth", self.truth)
        return Case(self.metric, truth, {**self.inputs, **inputs}, self.options)


def make(name, samples=60, seed=0, ties=False):
    """Return generic input for a metric; with ``ties`` many samples share their values."""
    metric, rng = METRICS[name], np.random.default_rng(seed)
    digits = 1 if ties else 17
    parameters = inspect.signature(metric.function).parameters
    options = {key: value for key, value in NEEDED.items() if key in parameters}
    if metric.task == "classification":
        classes = 2 if name in TWO_CLASSES else 3
        logits = np.round(rng.normal(size=(samples, classes)) * 1.5, digits)
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        truth = (p.cumsum(axis=1) < rng.random((samples, 1))).sum(axis=1).clip(max=classes - 1)
        truth[:classes] = np.arange(classes)[: len(truth)]
        given = {"probabilities": p, "membership": p > 0.3}
    elif metric.task == "regression":
        mean = np.round(rng.normal(size=samples), digits)
        variance = np.round(rng.gamma(3.0, size=samples), digits) + 0.1
        truth = np.round(mean + np.sqrt(variance) * rng.normal(size=samples), digits)
        members = np.round(rng.normal(size=(4, samples)), digits)
        given = {
            "mean": mean,
            "variance": variance,
            "means": members,
            "variances": np.round(rng.gamma(2.0, size=(4, samples)), digits) + 0.1,
            "members": members,
            "levels": np.array([0.1, 0.5, 0.9]),
            "values": np.sort(rng.normal(size=(samples, 3)), axis=1),
            "value": mean,
            "lower": mean - variance,
            "upper": mean + variance,
        }
    else:
        uncertainty = np.round(rng.gamma(2.0, size=samples), digits)
        truth = uncertainty * rng.gamma(2.0, size=samples)
        if next(iter(parameters)) in ("wrong", "is_out"):
            truth = truth > np.median(truth)
        given = {"uncertainty": uncertainty, "score": uncertainty}
    return Case(metric, truth, {key: given[key] for key in metric.inputs}, options)
