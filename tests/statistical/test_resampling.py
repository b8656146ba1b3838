"""Intervals hold the population value as often as they say, for every kind of statistic."""

import numpy as np
import pytest
from scipy.stats import binom

from caveat.metrics import METRICS
from caveat.metrics import batch as batches
from caveat.resampling import (
    confidence_interval,
    interval_of,
    make_plan,
    pair_interval,
    replicates,
)
from caveat.resampling import plan as plans
from tests.contracts.metric_cases import make

SETS, RESAMPLES, MANY = 160, 300, 400_000
SLOW = {"smece": 80, "ace": 100}


def fewest(sets=SETS):
    """An interval that holds the value in 93 % of all sets does so in fewer than this many of the
    simulated ones with a chance of one in a thousand.
    """
    return binom.ppf(1e-3, sets, 0.93)


def coverage(draw, interval, truth, sets=SETS):
    """How many of the simulated sets have an interval with the truth in it."""
    held = 0
    for seed in range(sets):
        found = interval(*draw(np.random.default_rng([11, seed])), seed)
        held += found.low <= truth <= found.high
    return held


def metric_interval(name):
    metric = METRICS[name]

    def interval(truth, inputs, seed):
        plan = make_plan(len(truth), resamples=RESAMPLES, random_state=seed)
        value = metric.function(truth, **inputs)
        return confidence_interval(metric, value, replicates(metric, truth, inputs, plan))

    return interval


def binary(power=1.0, samples=1000):
    def draw(rng):
        p = rng.random(samples)
        q = p**power / (p**power + (1 - p) ** power)
        return (rng.random(samples) < q).astype(int), {"probabilities": p}

    return draw


def gaussian(scale=1.0, samples=600):
    def draw(rng):
        variance = rng.gamma(3.0, size=samples) / 3
        y = scale * np.sqrt(variance) * rng.normal(size=samples)
        return y, {"mean": np.zeros(samples), "variance": variance}

    return draw


def only(draw, *names):
    def drawn(rng):
        truth, inputs = draw(rng)
        return truth, {name: inputs[name] for name in names}

    return drawn


def errors(samples=400):
    def draw(rng):
        uncertainty = rng.gamma(2.0, size=samples)
        return uncertainty * np.abs(rng.normal(size=samples)), {"uncertainty": uncertainty}

    return draw


def wrong(samples=400):
    def draw(rng):
        uncertainty = rng.random(samples)
        return rng.random(samples) < uncertainty / 3, {"uncertainty": uncertainty}

    return draw


KINDS = {
    "mean score": ("brier_loss", lambda n: binary(samples=n), 150),
    "skewed mean score": ("crps", lambda n: gaussian(samples=n), 100),
    "area": ("auc", lambda n: binary(samples=n), 150),
    "decision": ("f1", lambda n: binary(samples=n), 150),
    "root": ("rmse", lambda n: only(gaussian(samples=n), "mean"), 100),
    "ranks": ("spearman", errors, 150),
    "error detection": ("auroc_error", wrong, 200),
    "confidence curve": ("auco", errors, 400),
    "risk and coverage": ("aurc", errors, 200),
    "binned, miscalibrated a little": ("ece", lambda n: binary(1.3, n), 1000),
    "binned, miscalibrated much": ("ece", lambda n: binary(2.0, n), 1000),
    "classwise": ("classwise_ece", lambda n: binary(1.3, n), 1000),
    "squares in bins": ("debiased_ece", lambda n: binary(1.3, n), 1000),
    "largest bin": ("maximum_calibration_error", lambda n: binary(1.5, n), 1000),
    "smooth": ("smece", lambda n: binary(1.3, n), 1000),
    "spread in bins": ("ence", lambda n: gaussian(1.2, n), 600),
    "coverage": ("auce", lambda n: gaussian(1.1, n), 600),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_coverage(kind):
    name, family, samples = KINDS[kind]
    truth, inputs = family(MANY)(np.random.default_rng(7))
    population = METRICS[name].function(truth, **inputs)
    sets = SLOW.get(name, SETS)
    assert coverage(family(samples), metric_interval(name), population, sets) >= fewest(sets)


CALIBRATED = {
    "ece": binary(),
    "ace": binary(),
    "debiased_ece": binary(),
    "smece": binary(),
    "ence": gaussian(),
    "cce": gaussian(),
    "auce": gaussian(),
    "maximum_coverage_error": gaussian(),
}


@pytest.mark.parametrize("name", list(CALIBRATED))
def test_coverage_at_perfect_calibration(name):
    sets = SLOW.get(name, SETS)
    assert coverage(CALIBRATED[name], metric_interval(name), 0.0, sets) >= fewest(sets)


def test_percentiles_of_a_binned_error_fail():
    metric = METRICS["ece"]

    def percentile(truth, inputs, seed):
        plan = make_plan(len(truth), resamples=RESAMPLES, random_state=seed)
        found = replicates(metric, truth, inputs, plan)
        low, high = np.quantile(found.values, [0.025, 0.975])
        return type("Ends", (), {"low": low, "high": high})

    assert coverage(binary(), percentile, 0.0) == 0


def groups(rng, samples=400):
    p = rng.random(samples)
    group = rng.random(samples) < 0.3
    q = np.where(group, 0.5 + 0.6 * (p - 0.5), p)
    return (rng.random(samples) < q).astype(int), p, group


@pytest.mark.parametrize("kind", ["gap", "ratio"])
def test_groups(kind):
    metric = METRICS["brier"]

    def statistic(first, second):
        return first - second if kind == "gap" else first / second

    def value(y, p, group):
        return statistic(metric.function(y[group], p[group]), metric.function(y[~group], p[~group]))

    def interval(y, p, group, seed):
        plan = make_plan(len(y), resamples=RESAMPLES, random_state=seed)
        parts = (
            replicates(metric, y, {"probabilities": p}, plan, rows=rows) for rows in (group, ~group)
        )
        return interval_of(value(y, p, group), statistic(*parts))

    population = value(*groups(np.random.default_rng(7), MANY))
    assert coverage(groups, interval, population) >= fewest()


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_gap_of_binned_errors_of_unequal_groups(power):
    metric = METRICS["ece"]

    def interval(y, inputs, seed):
        plan = make_plan(len(y), resamples=RESAMPLES, random_state=seed)
        few = np.arange(len(y)) < len(y) // 5
        found = tuple(replicates(metric, y, inputs, plan, rows=rows) for rows in (few, ~few))
        return pair_interval(metric, (found[0].center, found[1].center), found)

    assert coverage(binary(power), interval, 0.0) >= fewest()


def test_paired_difference_is_narrower_and_covers():
    metric = METRICS["brier"]
    widths = []

    def draw(rng, samples=300):
        p = rng.random(samples)
        return (rng.random(samples) < p).astype(int), p, 0.5 + 0.9 * (p - 0.5)

    def interval(y, first, second, seed):
        plan = make_plan(len(y), resamples=RESAMPLES, random_state=seed)
        a, b = (replicates(metric, y, {"probabilities": p}, plan) for p in (first, second))
        paired = interval_of(a.center - b.center, a - b)
        alone = confidence_interval(metric, a.center, a)
        widths.append((paired.high - paired.low) / (alone.high - alone.low))
        return paired

    y, first, second = draw(np.random.default_rng(7), MANY)
    population = metric.function(y, first) - metric.function(y, second)
    assert coverage(draw, interval, population) >= fewest()
    assert np.mean(widths) < 0.5


def test_clusters():
    """Ten measurements of each of 40 subjects, who differ: rows are not independent."""
    metric = METRICS["mae"]

    def draw(rng, subjects=40):
        subject = np.repeat(np.arange(subjects), 10)
        error = rng.normal(size=subjects)[subject] + 0.5 * rng.normal(size=len(subject))
        return error, subject

    def interval(clustered):
        def found(error, subject, seed):
            plan = make_plan(
                len(error),
                resamples=RESAMPLES,
                cluster=subject if clustered else None,
                random_state=seed,
            )
            inputs = {"mean": np.zeros(len(error))}
            values = replicates(metric, error, inputs, plan)
            return confidence_interval(metric, values.center, values)

        return found

    population = np.sqrt(1.25 * 2 / np.pi)
    assert coverage(draw, interval(True), population) >= fewest()
    # The mean of ten rows of a subject varies about as one row does: without clusters the interval
    # is some three times too narrow, and holds the value in about half of the sets.
    assert coverage(draw, interval(False), population) < binom.ppf(1e-3, SETS, 0.85)


def test_strata():
    """Sets with a fixed number of samples of each class: what varies is within the classes."""
    metric = METRICS["mae"]
    widths = []

    def draw(rng):
        stratum = np.repeat([0, 1], [150, 50])
        return rng.normal(size=200) + 5 * stratum, stratum

    def interval(error, stratum, seed):
        ends = []
        for strata in (stratum, None):
            plan = make_plan(200, resamples=RESAMPLES, strata=strata, random_state=seed)
            values = replicates(metric, error, {"mean": np.zeros(200)}, plan)
            ends.append(confidence_interval(metric, values.center, values))
        widths.append([end.high - end.low for end in ends])
        return ends[0]

    many = np.random.default_rng(7).normal(size=(2, MANY)) + np.array([[0], [5]])
    population = np.abs(many).mean(axis=1) @ [0.75, 0.25]
    assert coverage(draw, interval, population) >= fewest()
    assert np.mean(widths, axis=0)[0] < 0.6 * np.mean(widths, axis=0)[1]


@pytest.mark.parametrize("name", [n for n in METRICS if n != "decrease_ratio_score"])
def test_blocks_and_cells_vary_as_rows_do(name, monkeypatch):
    samples, resamples = 5000, 400
    case = make(name, samples, seed=4)

    def values(seed):
        plan = make_plan(samples, resamples=resamples, random_state=seed)
        return replicates(case.metric, case.truth, case.inputs, plan, options=case.options).values

    blocks = values(1)
    for module in (plans, batches):
        monkeypatch.setattr(module, "EXACT", samples)
    rows = values(2)
    # The variance of the logarithm of a standard deviation is (kurtosis - 1) / (4 resamples); that
    # of blocks also varies with their random assignment, by 1 / (2 units).
    variance = 1 / (2 * plans.UNITS)
    for found in (blocks, rows):
        z = (found - found.mean()) / found.std()
        variance += (np.mean(z**4) - 1) / (4 * resamples)
    difference = np.log(blocks.std() / rows.std())
    assert abs(difference) < 4 * np.sqrt(variance)
