"""Calibrated probabilities of rare and of many classes are accused no more often than allowed."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

import caveat


def rare(rng):
    z = 1.2 * rng.normal(size=1500) - 5
    return caveat.Categorical.from_binary(expit(z)), (rng.random(1500) < expit(z)).astype(int)


def many(rng):
    p = rng.dirichlet(np.full(10, 0.5), size=1500)
    y = (p.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1).clip(max=9)
    return caveat.Categorical(p), y


@pytest.mark.parametrize(
    ("make", "design", "metrics"),
    [
        (rare, "prevalence 0.014, n = 1,500", ["positive_ece"]),
        (many, "ten classes, n = 1,500", ["ece", "classwise_ece"]),
    ],
    ids=["rare", "many"],
)
def test_calibrated_classes_are_not_accused(promise, make, design, metrics):
    sets, accused = 150, 0
    for seed in range(sets):
        prediction, y = make(np.random.default_rng([31, seed]))
        result = caveat.evaluate(prediction, y, metrics=metrics, resamples=100, random_state=seed)
        accused += any(s.level == "bad" for s in result.verdict())
    promise(
        "Verdicts",
        "calibrated probabilities are called wrong",
        design,
        sets,
        accused / sets,
        "at most 0.05",
    )
    assert accused <= binom.ppf(0.999, sets, 0.05)  # more have a chance of 1 in 1000
