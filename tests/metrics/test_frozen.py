"""Every metric on awkward inputs is what it was: the numbers of `frozen.json`.

The file was written by ``python -m tests.metrics.test_frozen`` before metrics became their sums. It is written again
only when a number was wrong.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caveat.metrics import METRICS

FILE = Path(__file__).with_name("frozen.json")

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "expected_calibration_error": [
        {"norm": norm, "binning": binning, "kind": kind, "bins": 7}
        for norm in (1, 2, "max")
        for binning in ("equal-width", "equal-count")
        for kind in ("top-label", "classwise")
    ],
    "maximum_calibration_error": [{"binning": "equal-count", "bins": 4}],
    "classwise_calibration_error": [{"norm": 2, "binning": "equal-count"}],
    "debiased_calibration_error": [
        {"binning": binning, "kind": kind, "bins": 5}
        for binning in ("equal-width", "equal-count")
        for kind in ("top-label", "classwise")
    ],
    "f1_score": [{"average": "micro"}, {"average": "weighted"}],
    "roc_auc_score": [{"average": "weighted"}],
    "average_precision_score": [{"average": "weighted"}],
    "variation_calibration_error": [{"variation": "gini"}, {"bins": 4}],
    "smooth_calibration_error": [{"kind": "top-label", "bandwidth": 0.1}],
    "negative_log_likelihood_loss": [{"eps": 1e-3}],
    "ensemble_crps_loss": [{"fair": True}],
    "dispersion": [{"ddof": 0}],
    "confidence_oracle_area_error": [{"points": 13, "aggregate": "root_mean_square"}],
    "error_drop_score": [{"points": 13}],
    "false_positive_rate_at_true_positive_rate_error": [{"true_positive_rate": 0.6}],
}

NEEDED: dict[str, dict[str, Any]] = {
    "mean_absolute_scaled_error": {"reference_median": 0.3},
    "pinball_loss": {"level": 0.3},
    "coverage_ratio": {"coverage": 0.8},
    "interval_loss": {"coverage": 0.8},
}


def designs() -> dict[str, dict[str, Any]]:
    """Truths and inputs by name: ties, weights (some 0), a class that is missing, extremes."""
    found = {}
    for name, samples, classes, digits in (
        ("ties", 240, 3, 1),
        ("two", 151, 2, 2),
        ("few", 7, 4, 1),
        ("many", 9001, 3, 12),
        ("missing", 97, 5, 3),
        ("sure", 60, 3, 0),
    ):
        g = np.random.default_rng(len(name) + samples)
        p = np.round(g.dirichlet(np.ones(classes) / 2, samples), digits)
        p[:, 0] = 1 - p[:, 1:].sum(axis=1)
        p = np.abs(p) / np.abs(p).sum(axis=1, keepdims=True)
        y = (g.random((samples, 1)) > np.cumsum(p**0.7 / (p**0.7).sum(1, keepdims=True), 1)).sum(1)
        y = np.minimum(y, classes - 1)
        if name == "missing":
            y[y == 2] = 0
        truth = np.round(g.normal(size=samples), digits)
        mean = np.round(truth + g.normal(size=samples), digits)
        variance = np.round(g.gamma(2, 0.5, samples), digits) + 0.1
        means = np.round(mean + 0.3 * g.normal(size=(4, samples)), digits)
        levels = np.array([0.1, 0.5, 0.8])
        found[name] = {
            "classification": y,
            "regression": truth,
            "ranking": np.abs(truth - mean),
            "wrong": p.argmax(axis=1) != y,
            "weight": np.round(g.exponential(size=samples), 1) + (np.arange(samples) % 5 == 0),
            "probabilities": p,
            "membership": p > 0.2,
            "mean": mean,
            "value": mean,
            "variance": variance,
            "means": means,
            "members": means,
            "variances": np.tile(variance, (4, 1)),
            "lower": mean - np.sqrt(variance),
            "upper": mean + np.sqrt(variance),
            "levels": levels,
            "values": mean[:, None] + levels - 0.5,
            "uncertainty": np.round(np.sqrt(variance), max(digits, 1)),
            "score": np.round(p.max(axis=1), max(digits, 1)),
        }
    return found


def numbers(name: str, design: dict[str, Any]) -> list[float]:
    """Return a metric of a design, with each of its options, without weights and with them."""
    metric = METRICS[name]
    truth = design.get(metric.task, design["wrong"])
    if name == "error_detection_auroc_score":
        truth = design["wrong"]
    inputs = {key: design[key] for key in metric.inputs}
    if metric.two_classes:
        truth, inputs = truth == 1, {"probabilities": inputs["probabilities"][:, 1]}
    needed = NEEDED.get(name, {})
    return [
        float(metric.function(truth, **inputs, **needed, **options, sample_weight=weight))
        for options in ({}, *OPTIONS.get(name, []))
        for weight in (None, design["weight"])
    ]


@pytest.mark.parametrize("name", METRICS)
def test_no_number_changed(name: str) -> None:
    """To the rounding of sums, whatever the processor."""
    frozen = json.loads(FILE.read_text())
    if name not in frozen:
        pytest.skip("a metric that came later")
    # The root of a difference of sums: rounding of 1e-16 under the root is 1e-8 beside it.
    atol = 1e-8 if name == "debiased_calibration_error" else 1e-12
    for key, design in designs().items():
        np.testing.assert_allclose(
            numbers(name, design),
            [float(text) for text in frozen[name][key]],
            rtol=1e-11,
            atol=atol,
            err_msg=f"{name} of {key}",
        )


def test_the_frozen_numbers_are_numbers() -> None:
    """Most of them are finite: a file of NaN would agree with anything."""
    found = [float(t) for m in json.loads(FILE.read_text()).values() for v in m.values() for t in v]
    assert len(found) > 1000
    assert np.mean([math.isfinite(value) for value in found]) > 0.95


if __name__ == "__main__":
    made = {
        name: {key: [repr(v) for v in numbers(name, d)] for key, d in designs().items()}
        for name in METRICS
    }
    FILE.write_text(json.dumps(made, indent=0) + "\n")
