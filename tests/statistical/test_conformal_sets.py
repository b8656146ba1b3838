"""Coverage of conformal sets over many simulated calibration sets.

Where scores do not tie, the coverage given a calibration set of n samples is Beta(k, n + 1 - k)
distributed with k = ceil((n + 1) coverage), so of m new samples a Beta-binomial number is covered.
Its whole distribution is compared: by the Dvoretzky-Kiefer-Wolfowitz inequality the empirical one
of R independent sets is farther than sqrt(log(2 / d) / 2R) from it with a chance of at most d.
"""

import math

import numpy as np
import pytest
from scipy.stats import betabinom, binom, kstest

import caveat
from caveat.recalibration.conformal_sets import ConformalSets

SETS, NEW = 3000, 20
FALSE_ALARM = 1e-4
FARTHEST = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * SETS))
CLASSES = 4


def labels(rng, z):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return (p.cumsum(axis=1) > rng.random((len(z), 1))).argmax(axis=1)


def overconfident(z, decimals=16):
    p = np.exp(2 * z.round(decimals))
    return caveat.Categorical(p / p.sum(axis=1, keepdims=True))


def covered(samples, coverage, seed=0, decimals=16, **options):
    """Return how many of the new samples of each set are covered, and their mean set size."""
    rng = np.random.default_rng(seed)
    counts, sizes = np.empty(SETS, dtype=int), np.empty(SETS)
    for i in range(SETS):
        z = rng.normal(size=(samples + NEW, CLASSES))
        y, prediction = labels(rng, z), overconfident(z, decimals)
        recalibrator = ConformalSets(coverage, random_state=i, **options)
        recalibrator.fit(prediction.take(slice(0, samples)), y[:samples])
        sets = recalibrator.transform(prediction.take(slice(samples, None))).membership
        counts[i] = np.count_nonzero(sets[np.arange(NEW), y[samples:]])
        sizes[i] = sets.sum(axis=1).mean()
    return counts, sizes


def expected(samples, coverage_in_percent, new=NEW):
    rank = -(-(samples + 1) * coverage_in_percent // 100)
    return betabinom(new, rank, samples + 1 - rank)


def distance(counts, distribution, new=NEW):
    """Return the largest difference of the two distribution functions."""
    steps = np.arange(new + 1)
    return np.abs((counts[:, None] <= steps).mean(axis=0) - distribution.cdf(steps)).max()


@pytest.mark.parametrize(("samples", "percent"), [(9, 90), (39, 90), (39, 80)])
@pytest.mark.parametrize("score", ["lac", "aps"])
def test_marginal_coverage(score, samples, percent):
    counts, _ = covered(samples, percent / 100, score=score)
    distribution = expected(samples, percent)
    assert distance(counts, distribution) < FARTHEST
    error = 4 * math.sqrt(distribution.var() / SETS)
    assert abs(counts.mean() - distribution.mean()) < error
    assert counts.mean() > percent / 100 * NEW - error


def test_deterministic_aps_covers_more():
    counts, sizes = covered(39, 0.8, score="aps", randomised=False)
    randomised, smaller = covered(39, 0.8, score="aps")
    error = 4 * math.sqrt(expected(39, 80).var() / SETS)
    assert counts.mean() > expected(39, 80).mean() + error
    assert counts.mean() > randomised.mean()
    assert sizes.mean() > smaller.mean()


@pytest.mark.parametrize("options", [{"score": "lac"}, {"score": "aps", "randomised": False}])
def test_ties_cover_at_least_as_often(options):
    # Then the number covered is stochastically at least the Beta-binomial one.
    counts, _ = covered(39, 0.8, decimals=0, **options)
    steps = np.arange(NEW + 1)
    excess = (counts[:, None] <= steps).mean(axis=0) - expected(39, 80).cdf(steps)
    assert excess.max() < FARTHEST


def test_ties_cover_as_often_when_randomised():
    counts, _ = covered(39, 0.8, decimals=0, score="aps")
    assert abs(counts.mean() - expected(39, 80).mean()) < 4 * math.sqrt(
        expected(39, 80).var() / SETS
    )


def test_top_class_for_empty_sets_only_adds():
    counts, _ = covered(39, 0.5, score="aps", empty="top")
    plain, _ = covered(39, 0.5, score="aps")
    assert (counts >= plain).all()
    assert counts.mean() > plain.mean()


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_coverage_of_each_class(score):
    # Given the labels, inputs of one class are exchangeable; the first class is rare and hard.
    sizes = np.array([15, 60, 60])
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(np.arange(3), sizes), np.repeat(np.arange(3), NEW)])
    counts = {True: np.empty((SETS, 3), dtype=int), False: np.empty((SETS, 3), dtype=int)}
    for i in range(SETS):
        z = rng.normal(size=(len(y), 3)) + 1.5 * np.eye(3)[y] + np.array([-1.5, 0.0, 0.0])
        prediction = overconfident(z)
        for conditional in (True, False):
            recalibrator = ConformalSets(
                0.8, score=score, class_conditional=conditional, random_state=i
            )
            recalibrator.fit(prediction.take(slice(0, sizes.sum())), y[: sizes.sum()])
            sets = recalibrator.transform(prediction.take(slice(sizes.sum(), None))).membership
            hit = sets[np.arange(3 * NEW), y[sizes.sum() :]]
            counts[conditional][i] = hit.reshape(3, NEW).sum(axis=1)
    for k in range(3):
        assert distance(counts[True][:, k], expected(sizes[k], 80)) < FARTHEST
    # One threshold for all leaves the rare class behind; that is what this argument is for.
    assert counts[False][:, 0].mean() < 0.75 * NEW


def test_coverage_of_each_group():
    sizes = np.array([19, 60])
    rng = np.random.default_rng(1)
    groups = np.concatenate([np.repeat([0, 1], sizes), np.repeat([0, 1], NEW)])
    counts = np.empty((SETS, 2), dtype=int)
    for i in range(SETS):
        z = rng.normal(size=(len(groups), CLASSES)) * np.where(groups == 0, 0.3, 2.0)[:, None]
        y, prediction = labels(rng, z), overconfident(z)
        recalibrator = ConformalSets(0.8)
        recalibrator.fit(
            prediction.take(slice(0, 79)), y[: sizes.sum()], groups=groups[: sizes.sum()]
        )
        sets = recalibrator.transform(prediction.take(slice(79, None)), groups=groups[79:])
        hit = sets.membership[np.arange(2 * NEW), y[79:]]
        counts[i] = hit.reshape(2, NEW).sum(axis=1)
    for k in range(2):
        assert distance(counts[:, k], expected(sizes[k], 80)) < FARTHEST


@pytest.mark.parametrize("decimals", [16, 0], ids=["distinct", "ties"])
@pytest.mark.parametrize("score", ["lac", "aps"])
def test_p_values_of_the_true_class(score, decimals):
    # One new sample for each set, so that the p-values are independent.
    samples = 24
    rng = np.random.default_rng(2)
    plain, smoothed = np.empty(SETS), np.empty(SETS)
    for i in range(SETS):
        z = rng.normal(size=(samples + 1, CLASSES))
        y, prediction = labels(rng, z), overconfident(z, decimals)
        recalibrator = ConformalSets(0.5, score=score, random_state=i)
        recalibrator.fit(prediction.take(slice(0, samples)), y[:samples])
        new = prediction.take(slice(samples, None))
        plain[i] = recalibrator.p_values(new)[0, y[-1]]
        smoothed[i] = recalibrator.p_values(new, smoothed=True)[0, y[-1]]
    assert kstest(smoothed, "uniform").pvalue > FALSE_ALARM
    assert (smoothed < plain).all()
    for j in range(1, samples + 1):
        at_most = np.count_nonzero(plain <= j / (samples + 1) + 1e-9)
        low, high = binom(SETS, j / (samples + 1)).ppf([FALSE_ALARM / 25, 1 - FALSE_ALARM / 25])
        assert at_most <= high
        if decimals == 16:
            assert at_most >= low


def test_one_calibration_set_and_many_new_samples():
    # What one user sees: 1000 calibration samples, coverage within the spread of the Beta.
    rng = np.random.default_rng(3)
    z = rng.normal(size=(21_000, CLASSES))
    y, prediction = labels(rng, z), overconfident(z)
    low, high = expected(1000, 90, 20_000).ppf([5e-5, 1 - 5e-5])
    for score in ("lac", "aps"):
        recalibrator = ConformalSets(0.9, score=score, random_state=0)
        recalibrator.fit(prediction.take(slice(0, 1000)), y[:1000])
        sets = recalibrator.transform(prediction.take(slice(1000, None))).membership
        assert low <= np.count_nonzero(sets[np.arange(20_000), y[1000:]]) <= high
