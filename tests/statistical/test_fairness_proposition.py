"""Proposition 4.1: neither point-based fairness nor uncertainty-based fairness implies the other.

A case is shown over 20 seeds (of SD1, where single networks go astray, over 40), each with its own
training set and 40,000 new samples to test with, so that chance is that of the training alone. A
ratio F counts as fair if the 99 % interval of its mean over seeds lies within 0.2 of 1, the threshold
of the paper, and as unfair if it lies beyond.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression

from caveat.datasets import Dataset, make_sd1
from caveat.estimators import from_sklearn, preset
from caveat.studies._fairness_flags import THRESHOLD
from caveat.studies.fairness import (
    UNCERTAINTIES,
    StudyRun,
    collated,
    group_values,
    make_runs,
    train,
)

SEEDS, SD1_SEEDS = range(20), range(40)
FLIPPED = 0.3


def bayes_by_backprop(runs):
    return train(runs, preset("synthetic-fairness"), progress=False)


def bagged_logistic_regression(runs):
    """A second reading: no network, no prior, members from resampled rows."""
    models = []
    for run in runs:
        bagging = BaggingClassifier(LogisticRegression(), n_estimators=20, random_state=run.seed)
        models.append(from_sklearn(bagging.fit(run.X, run.y)))
    return models


MODELS = {"Bayes by backprop": bayes_by_backprop, "bagging": bagged_logistic_regression}


def hidden_noise(seed, samples):
    """Two groups of the same features, one of which has a part of its labels turned.

    A model that does not see the group is as uncertain of both, and errs more often in one.
    """
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, samples), rng.integers(0, 2, samples)
    X = rng.normal(size=(samples, 2)) + 2 * np.where(y == 1, 1, -1)[:, None]
    turned = (group == 0) & (rng.random(samples) < FLIPPED)
    label = np.where(turned, 1 - y, y)
    return Dataset(X, label, {"group": group}, ("x1", "x2"), "", np.zeros(samples, dtype=bool))


def hidden_runs():
    runs = []
    for seed in SEEDS:
        train_set, test = hidden_noise([seed, 0], 320), hidden_noise([seed, 1], 40_000)
        runs.append(StudyRun(train_set.X, train_set.y, None, seed, test, test))
    return runs


def ratios(model, runs):
    models = MODELS[model](runs)
    found = collated(
        [group_values("sd1", m, run.large) for m, run in zip(models, runs, strict=True)]
    )
    return {key[-1]: value for key, value in found.items() if "ratio" in key}


def interval(values):
    """Return the 99 % interval of the mean over seeds."""
    assert np.isfinite(values).all()
    return stats.t.interval(0.99, len(values) - 1, loc=values.mean(), scale=stats.sem(values))


def fair(values):
    low, high = interval(values)
    return low >= 1 - THRESHOLD and high <= 1 + THRESHOLD


def unfair(values):
    low, high = interval(values)
    return low > 1 + THRESHOLD or high < 1 - THRESHOLD


@pytest.fixture(scope="module", params=MODELS)
def of_sd1(request):
    return ratios(request.param, make_runs("sd1", SD1_SEEDS))


@pytest.fixture(scope="module", params=MODELS)
def of_hidden_noise(request):
    return ratios(request.param, hidden_runs())


def test_point_fair_does_not_imply_uncertainty_fair(of_sd1):
    assert fair(of_sd1["equal_accuracy"])
    assert fair(of_sd1["equal_opportunity"])
    assert unfair(of_sd1["aleatoric_uncertainty"])
    # Not in every single run: a network that has hardly left its first weights may be an exception.
    apart = int((of_sd1["aleatoric_uncertainty"] > 1 + THRESHOLD).sum())
    assert stats.binomtest(apart, len(SD1_SEEDS)).proportion_ci(0.99).low > 0.5


def test_uncertainty_fair_does_not_imply_point_fair(of_hidden_noise):
    for measure in UNCERTAINTIES:
        assert fair(of_hidden_noise[measure]), measure
    assert unfair(of_hidden_noise["equal_accuracy"])
    assert unfair(of_hidden_noise["equal_opportunity"])


def test_the_constructed_ratio_is_that_of_the_arithmetic(of_hidden_noise):
    """Turning 30 % of right and wrong answers alike: a becomes 0.7 a + 0.3 (1 - a)."""
    # The best rule, x1 + x2 > 0, errs with the chance of a normal beyond 4 / sqrt(2).
    best = stats.norm.cdf(4 / np.sqrt(2))
    expected = ((1 - FLIPPED) * best + FLIPPED * (1 - best)) / best
    # No model is better than the best rule; a worse one has a ratio closer to 1.
    low, high = interval(of_hidden_noise["equal_accuracy"])
    assert high >= expected
    assert low <= expected + 0.05


def test_groups_of_one_distribution_are_fair_both_ways():
    """The same two groups without turned labels: nothing is made by the construction itself."""
    runs = []
    for seed in SEEDS:
        data = [hidden_noise([seed, part], size) for part, size in ((0, 320), (1, 40_000))]
        plain = [
            Dataset(d.X, (d.X.sum(axis=1) > 0).astype(np.int64), d.groups, *_rest(d)) for d in data
        ]
        runs.append(StudyRun(plain[0].X, plain[0].y, None, seed, plain[1], plain[1]))
    found = ratios("bagging", runs)
    for measure in ("equal_accuracy", "equal_opportunity", *UNCERTAINTIES):
        assert fair(found[measure]), measure


def _rest(data):
    return data.feature_names, data.description, data.test


def test_sd1_is_what_the_run_draws():
    """The runs of the study are draws of the printed distributions, not of something else."""
    (run,) = make_runs("sd1", [5])
    own, _ = np.random.SeedSequence(5).spawn(2)
    assert np.array_equal(make_sd1(own).split()[0].X, run.X)
