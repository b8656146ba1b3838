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
SECTION = "Conformal prediction"


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
@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_marginal_coverage(score, samples, percent, promise):
    counts, _ = covered(samples, percent / 100, score=score)
    distribution = expected(samples, percent)
    promise(
        SECTION, f"sets by {score} hold the true class in {percent} %",
        f"over-confident model, 4 classes, n = {samples}", SETS, counts.mean() / NEW,
        f"{distribution.mean() / NEW:.3f}",
    )  # fmt: skip
    assert distance(counts, distribution) < FARTHEST
    error = 4 * math.sqrt(distribution.var() / SETS)
    assert abs(counts.mean() - distribution.mean()) < error
    assert counts.mean() > percent / 100 * NEW - error


@pytest.mark.parametrize("score", ["aps", "raps"])
def test_deterministic_sets_cover_more(score, promise):
    counts, sizes = covered(39, 0.8, score=score, randomized=False)
    randomized, smaller = covered(39, 0.8, score=score)
    promise(
        SECTION, f"sets by {score}, deterministic hold the true class in 80 %",
        "over-confident model, 4 classes, n = 39", SETS, counts.mean() / NEW, "at least 0.8",
    )  # fmt: skip
    error = 4 * math.sqrt(expected(39, 80).var() / SETS)
    assert counts.mean() > expected(39, 80).mean() + error
    assert counts.mean() > randomized.mean()
    assert sizes.mean() > smaller.mean()


@pytest.mark.parametrize("options", [{"score": "lac"}, {"score": "aps", "randomized": False}])
def test_ties_cover_at_least_as_often(options):
    # Then the number covered is stochastically at least the Beta-binomial one.
    counts, _ = covered(39, 0.8, decimals=0, **options)
    steps = np.arange(NEW + 1)
    excess = (counts[:, None] <= steps).mean(axis=0) - expected(39, 80).cdf(steps)
    assert excess.max() < FARTHEST


def test_ties_cover_as_often_when_randomized():
    counts, _ = covered(39, 0.8, decimals=0, score="aps")
    assert abs(counts.mean() - expected(39, 80).mean()) < 4 * math.sqrt(
        expected(39, 80).var() / SETS
    )


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_top_class_for_empty_sets_only_adds(score, promise):
    counts, _ = covered(39, 0.5, score=score, empty="top")
    plain, _ = covered(39, 0.5, score=score)
    for name, found in (("top", counts), ("allow", plain)):
        promise(
            SECTION, f"sets by {score} hold the true class in 50 %", f'empty="{name}", n = 39', SETS,
            found.mean() / NEW, "0.500" if name == "allow" else "at least 0.5",
        )  # fmt: skip
    assert abs(plain.mean() - expected(39, 50).mean()) < 4 * math.sqrt(
        expected(39, 50).var() / SETS
    )
    assert (counts >= plain).all()
    assert counts.mean() > plain.mean()


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_coverage_of_each_class(score, promise):
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
        promise(
            SECTION, f"sets by {score} hold each class in 80 %",
            f"class of {sizes[k]} calibration samples", SETS, counts[True][:, k].mean() / NEW,
            f"{expected(sizes[k], 80).mean() / NEW:.3f}",
        )  # fmt: skip
        assert distance(counts[True][:, k], expected(sizes[k], 80)) < FARTHEST
    # One threshold for all leaves the rare class behind; that is what this argument is for.
    assert counts[False][:, 0].mean() < 0.75 * NEW


def test_coverage_of_each_group(promise):
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
        promise(
            SECTION, "sets by lac hold the true class in 80 % of each group",
            f"group of {sizes[k]} calibration samples", SETS, counts[:, k].mean() / NEW,
            f"{expected(sizes[k], 80).mean() / NEW:.3f}",
        )  # fmt: skip
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


LONG_TAIL = {
    "lac": {"score": "lac"},
    "aps": {"score": "aps"},
    "aps, deterministic": {"score": "aps", "randomized": False},
    "raps": {"score": "raps"},
    "raps, deterministic": {"score": "raps", "randomized": False},
}


def test_sizes_of_sets_of_many_classes(promise):
    """An accurate model of 100 classes with a long tail: right in 92 %, 4 % on the other classes.

    The smallest sets that hold the true class in 90 % are those of lac with a known threshold.
    """
    classes, samples, new, sets = 100, 199, 100, 300
    rng = np.random.default_rng(4)

    def draw(count):
        y = rng.integers(classes, size=count)
        z = rng.normal(size=(count, classes))
        z[np.arange(count), y] += 4.0
        return y, caveat.Categorical.from_logits(2 * z)

    y, prediction = draw(20_000)
    p = prediction.mean
    best = np.count_nonzero(p >= np.quantile(p[np.arange(len(y)), y], 0.1)) / len(y)
    counts = {name: [] for name in LONG_TAIL}
    sizes = {name: [] for name in LONG_TAIL}
    for i in range(sets):
        y, prediction = draw(samples + new)
        for name, options in LONG_TAIL.items():
            conformal = ConformalSets(0.9, random_state=i, **options)
            conformal.fit(prediction.take(slice(samples)), y[:samples])
            found = conformal.transform(prediction.take(slice(samples, None))).membership
            counts[name].append(np.count_nonzero(found[np.arange(new), y[samples:]]))
            sizes[name].append(found.sum() / new)
    distribution = expected(samples, 90, new)
    error = 4 * math.sqrt(distribution.var() / sets)
    for name in LONG_TAIL:
        exact = "deterministic" not in name
        mean = np.mean(counts[name])
        promise(
            SECTION, f"sets by {name} hold the true class in 90 %",
            f"accurate model, 100 classes, n = {samples}: {np.mean(sizes[name]):.2f} classes", sets,
            mean / new, "0.900" if exact else "at least 0.9", np.mean(sizes[name]) / best,
        )  # fmt: skip
        if exact:
            assert abs(mean - distribution.mean()) < error
        else:
            assert mean > distribution.mean() + error
    size = {name: np.mean(found) for name, found in sizes.items()}
    assert abs(size["lac"] / best - 1) < 0.03
    assert size["lac"] < size["raps"] < 0.8 * size["aps"]
    assert size["raps, deterministic"] < 0.5 * size["aps, deterministic"]
