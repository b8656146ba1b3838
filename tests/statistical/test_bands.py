"""Confidence limits of curves hold the true curve as often as they say."""

import numpy as np
import pytest
from scipy.stats import binom

import caveat
from caveat import charts

SETS = 300


def fewest(rate=0.95, sets=SETS):
    """Limits that hold in this share of all sets do so in fewer with a chance of one in a thousand."""
    return binom.ppf(1e-3, sets, rate)


def held(numbers, truth):
    """How often limits hold the truth, point by point."""
    return (numbers["low"] <= truth) & (truth <= numbers["high"])


def share_held(draw, middle=slice(None)):
    found = [draw(np.random.default_rng([7, seed])) for seed in range(SETS)]
    return np.concatenate([part[middle] for part in found])


def evaluate(prediction, y, **options):
    metrics = ["ece"] if isinstance(prediction, caveat.Categorical) else ["ence"]
    return caveat.evaluate(prediction, y, resamples=0, metrics=metrics, **options)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_confidence(clustered, weighted):
    """One place on the axis, where the share that is right is 0.7."""

    def draw(rng):
        samples, size = 240, 6
        chance = np.full(samples, 0.7)
        cluster = None
        if clustered:  # of a cluster all are right more often, or less
            cluster = np.repeat(np.arange(samples // size), size)
            chance = rng.beta(0.7 * 4, 0.3 * 4, samples // size)[cluster]
        right = rng.random(samples) < chance
        weight = rng.gamma(1.0, size=samples) if weighted else None
        prediction = caveat.Categorical.from_binary(np.full(samples, 0.2))
        result = evaluate(prediction, (~right).astype(int), cluster=cluster, sample_weight=weight)
        return held(charts.reliability(result, "confidence").numbers, 0.7)

    assert share_held(draw).sum() >= fewest(0.94)


@pytest.mark.parametrize("kind", ["confidence", "entropy", "variation"])
def test_reliability_of_the_true_probabilities(kind):
    """Ten levels of probability, so that what is true of each bin is known."""
    levels = np.linspace(0.53, 0.99, 10)

    def draw(rng):
        p = np.repeat(levels, 200)
        y = (rng.random(len(p)) < p).astype(int)
        chart = charts.reliability(evaluate(caveat.Categorical.from_binary(p), y), kind)
        entropy = -(levels * np.log2(levels) + (1 - levels) * np.log2(1 - levels))
        where = np.floor((levels if kind == "confidence" else entropy) * 15).clip(max=14)
        q = np.array([levels[where == b].mean() for b in np.unique(where)])
        truth = {"confidence": q, "entropy": 1 - q}.get(
            kind, -(q * np.log2(q) + (1 - q) * np.log2(1 - q))
        )
        return held(chart.numbers, truth)

    found = share_held(draw)
    assert found.sum() >= fewest(0.935, len(found))


def test_coverage_and_spread_of_gaussians():
    def draw(rng):
        std = np.repeat(np.arange(1.0, 16), 60)
        y = std * rng.normal(size=len(std))
        result = evaluate(caveat.Gaussian.from_std(np.zeros(len(std)), std), y)
        coverage = charts.coverage(result).numbers
        spread = charts.error_calibration(result).numbers
        # Levels are dependent: one of them; bins are not.
        return np.r_[held(coverage, coverage["nominal"])[50:51], held(spread, spread["predicted"])]

    found = share_held(draw).reshape(SETS, 16)
    assert found[:, 0].sum() >= fewest()
    # The variance of squares of few samples is itself uncertain: a little less than promised.
    assert found[:, 1:].sum() >= fewest(0.925, 15 * SETS)


def test_error_of_what_is_kept():
    def draw(rng):
        p = rng.random(400) / 2 + 0.5
        y = (rng.random(400) < p).astype(int)
        chart = charts.confidence_curve(evaluate(caveat.Categorical.from_binary(p), y)).numbers
        # Of the share 1 - r that is kept, the mean probability of an error.
        truth = (1 - chart["removed"]) / 4
        return held(chart, truth)[[0, 40, 80]]

    found = share_held(draw).reshape(SETS, 3)
    assert (found.sum(axis=0) >= fewest(0.93)).all()
