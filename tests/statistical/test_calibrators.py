"""Calibrators cost calibrated predictions no more than their parameters, and repair what is theirs.

The expected log loss that p parameters add is p / (2n), where the map is among those that can be
learned (Wilks). All costs are exact: the divergence between known probabilities and repaired ones.
"""

import numpy as np
import pytest
from scipy.special import expit, softmax

import caveat

SETS = 500
METHODS = {
    "BetaCalibration": (3, 12),
    "QuadraticScaling": (3, 12),
    "SplineCalibration": (7, 28),
    "StructuredVectorScaling": (3, 7),
    "StructuredMatrixScaling": (3, 15),
}
"""The numbers that each learns, of two classes and of four."""


def divergence(p, q):
    return (p * np.log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300))).sum(axis=1).mean()


def draw(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=p.shape[1] - 1)


@pytest.mark.parametrize("samples", [20, 100, 1000])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", METHODS)
def test_a_calibrated_prediction_is_hardly_hurt(promise, name, classes, samples):
    new = softmax(1.5 * np.random.default_rng(23).normal(size=(1000, classes)), axis=1)
    later, costs = caveat.Categorical(new), []
    for seed in range(SETS):
        rng = np.random.default_rng([23, samples, seed])
        p = softmax(1.5 * rng.normal(size=(samples, classes)), axis=1)
        fitted = getattr(caveat, name)().fit(caveat.Categorical(p), draw(p, rng))
        costs.append(2 * samples * divergence(new, fitted.transform(later).mean))
    free = METHODS[name][classes > 2]
    design = f"{name}, {classes} classes, n = {samples}"
    promise(
        "Recalibration", "log loss that a calibrated prediction loses, times 2n", design, SETS,
        f"{np.mean(costs):.1f}", f"at most {free}, its parameters",
    )  # fmt: skip
    assert np.mean(costs) <= free + 4 * np.std(costs) / np.sqrt(SETS)


def two_classes(kind, rng, samples):
    """Predictions that are off in a known way, the truth, and what would be right."""
    if kind == "beta":  # small probabilities are too large, large ones are right
        p = rng.beta(1, 1, size=samples)
        right = p**2 / (p**2 + 1 - p)
    elif kind == "parabola":  # logits of the classes have different variances
        y = rng.integers(0, 2, size=samples)
        z = rng.normal(y, np.where(y == 1, 1.0, 2.0))
        p, right = expit(z), expit(-0.375 * z**2 + z - 0.5 + np.log(2))
        return np.c_[1 - p, p], y, np.c_[1 - right, right]
    else:  # too sure below one half, too timid above
        z = 1.5 * rng.normal(size=samples)
        p, right = expit(z), expit(np.where(z < 0, z / 2, 2 * z))
    y = (rng.random(samples) < right).astype(int)
    return np.c_[1 - p, p], y, np.c_[1 - right, right]


def more_classes(kind, rng, samples):
    z = 1.5 * rng.normal(size=(samples, 4))
    right = softmax(z, axis=1)
    if kind == "classes":  # one class too often, another one too surely
        off = 1.5 * (z * [1, 1, 1.5, 1] + [1, 0, 0, 0])
    else:  # a class is taken for another one
        off = 1.5 * z @ np.array([[0.5, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]).T
    return softmax(off, axis=1), draw(right, rng), right


@pytest.mark.parametrize(
    ("name", "kind", "simpler"),
    [
        ("BetaCalibration", "beta", "PlattScaling"),
        ("QuadraticScaling", "parabola", "PlattScaling"),
        ("SplineCalibration", "bend", "PlattScaling"),
        ("StructuredVectorScaling", "classes", "TemperatureScaling"),
        ("StructuredMatrixScaling", "mixed", "StructuredVectorScaling"),
    ],
)
def test_each_repairs_what_it_is_made_for(promise, name, kind, simpler):
    """And the simpler one, which cannot, is told from it: the test has power."""
    sets, samples = 100, 2000
    make = two_classes if name in list(METHODS)[:3] else more_classes
    costs = {name: [], simpler: [], "none": []}
    for seed in range(sets):
        rng = np.random.default_rng([24, seed])
        p, y, _ = make(kind, rng, samples)
        new, _, right = make(kind, rng, 1000)
        costs["none"].append(divergence(right, new))
        for one in (name, simpler):
            fitted = getattr(caveat, one)().fit(caveat.Categorical(p), y)
            costs[one].append(divergence(right, fitted.transform(caveat.Categorical(new)).mean))
    own, other, none = (np.mean(costs[one]) for one in costs)
    design = f"{name}, {kind}, n = {samples}"
    promise(
        "Recalibration", "share of a miscalibration that is left", design, sets, own / none,
        f"below half of that of {simpler}, {other / none:.3f}",
    )  # fmt: skip
    assert own < other / 2
    assert own < none / 4
