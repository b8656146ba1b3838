"""A verdict may be wrong only as often as it says: many sets of samples whose truth is known."""

import numpy as np
import pytest
from scipy.stats import binom

import caveat
from caveat.evaluation.verdict import verdict

SETS = 300


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def verdicts(make, metrics):
    for seed in range(SETS):
        prediction, y, groups = make(np.random.default_rng([11, seed]))
        evaluation = caveat.evaluate(
            prediction, y, groups=groups, metrics=metrics, resamples=300, random_state=seed
        )
        yield verdict(evaluation)


def classes(samples, sharpen):
    def make(rng):
        z = 2 * rng.normal(size=samples)
        y = (rng.random(samples) < sigmoid(z)).astype(int)
        ward = rng.choice(6, size=samples, p=np.arange(1, 7) / 21)
        return caveat.Categorical.from_binary(sigmoid(sharpen * z)), y, {"ward": ward}

    return make


def numbers(samples, scale):
    def make(rng):
        mean, std = rng.normal(size=samples), np.exp(0.4 * rng.normal(size=samples))
        y = mean + std * rng.normal(size=samples)
        return caveat.Gaussian.from_std(mean, scale * std), y, {"ward": rng.choice(6, samples)}

    return make


def most(share):
    """More than this many of the sets would have a chance of 1 in 1000."""
    return binom.ppf(0.999, SETS, share)


def said(found, start):
    return sum(any(s.level == "bad" and s.text.startswith(start) for s in v) for v in found)


@pytest.mark.parametrize("samples", [400, 2000])
def test_calibrated_probabilities_are_not_accused(samples):
    found = list(verdicts(classes(samples, 1.0), ["positive_ece", "accuracy"]))
    assert sum(v.statements[0].text.startswith("Its probabilities cannot") for v in found) <= most(
        0.025
    )
    assert said(found, "Its probabilities cannot be taken at face value for") <= most(0.05)
    assert said(found, "It is right less often for") <= most(0.05)


def test_groups_that_are_equally_bad_are_not_told_apart():
    found = list(verdicts(classes(3000, 2.0), ["positive_ece", "accuracy"]))
    assert sum("it is overconfident" in v.statements[0].text for v in found) == SETS
    assert said(found, "Its probabilities cannot be taken at face value for") <= most(0.05)


@pytest.mark.parametrize("scale", [1.0, 0.7])
def test_intervals_of_equal_groups_are_not_told_apart(scale):
    found = list(verdicts(numbers(2000, scale), ["interval_coverage", "mae"]))
    narrow = sum(
        v.statements[0].text.startswith("Its intervals are too narrow: it is overconfident")
        for v in found
    )
    assert narrow == SETS if scale < 1 else narrow <= most(0.05)
    assert said(found, "Its 95.45 % intervals do not hold what they promise for") <= most(0.05)
    assert said(found, "Its errors are larger for") <= most(0.05)


@pytest.mark.parametrize(("off", "never"), [(0.0, "bad"), (0.08, "good")])
def test_few_samples_with_hardly_an_error(off, never):
    """Sure predictions that are right as often as they say, or too rarely by eight points."""

    def make(rng):
        p = rng.beta(20, 0.5, size=60)
        p = np.maximum(p, 1 - p)
        y = rng.random(60) < p - off
        return caveat.Categorical.from_binary(p), y.astype(int), None

    levels = [v.statements[0].level for v in verdicts(make, ["positive_ece", "accuracy"])]
    assert levels.count(never) <= most(0.025)
