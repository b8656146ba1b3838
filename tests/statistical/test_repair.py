"""A calibrated prediction is left as it is; sets and intervals of a repaired model cover as asked."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import caveat

SETS = 60
SAMPLES = 200


def calibrated(rng, kind):
    """A prediction from which the truth was drawn."""
    if kind == "two classes":
        p = expit(1.5 * rng.normal(size=SAMPLES))
        return p, (rng.random(SAMPLES) < p).astype(int), {}
    if kind == "two classes, two groups":
        p = expit(1.5 * rng.normal(size=SAMPLES))
        groups = rng.integers(2, size=SAMPLES)
        return p, (rng.random(SAMPLES) < p).astype(int), {"groups": groups}
    if kind == "20 clusters of 10":
        cluster = np.repeat(np.arange(20), 10)
        p = expit(rng.normal(size=SAMPLES) + rng.normal(size=20)[cluster])
        return p, (rng.random(SAMPLES) < p).astype(int), {"cluster": cluster}
    if kind == "three classes":
        p = rng.dirichlet(np.full(3, 0.7), SAMPLES)
        codes = (rng.random(SAMPLES)[:, None] > p.cumsum(axis=1)[:, :2]).sum(axis=1)
        return caveat.Categorical(p), codes, {}
    mean, std = rng.normal(size=SAMPLES), np.exp(0.5 * rng.normal(size=SAMPLES))
    return caveat.Gaussian(mean, std**2), mean + std * rng.normal(size=SAMPLES), {}


@pytest.mark.parametrize(
    "kind",
    ["two classes", "two classes, two groups", "20 clusters of 10", "three classes", "Gaussian"],
)
def test_a_calibrated_prediction_is_left(promise, kind):
    left = 0
    for seed in range(SETS):
        prediction, y, about = calibrated(np.random.default_rng([19, seed]), kind)
        left += caveat.repair(prediction, y, random_state=seed, **about).recalibrator is None
    design = f"{kind}, n = {SAMPLES}"
    promise("Repair", "a calibrated prediction is left", design, SETS, left / SETS, "at least 0.95")
    # Fewer have a chance of one in ten thousand if the share is 0.95.
    assert left >= binom.ppf(1e-4, SETS, 0.95)


@pytest.mark.parametrize(("factor", "wanted"), [(2.0, 0.6), (4.0, 0.9)])
def test_an_overconfident_prediction_is_repaired(promise, factor, wanted):
    """Power: a rule that leaves everything would pass the test above."""
    mended, gains = 0, []
    for seed in range(SETS):
        rng = np.random.default_rng([20, seed])
        z, new = rng.normal(size=(2, 400))
        y, truth = ((rng.random(400) < expit(each)).astype(int) for each in (z, new))
        made = caveat.repair(expit(factor * z), y, random_state=seed)
        mended += made.recalibrator is not None
        before, after = (
            caveat.metrics.negative_log_likelihood_loss(truth, each)
            for each in (expit(factor * new), made.transform(expit(factor * new)))
        )
        gains.append(before - after)
    design = f"logits {factor:g} times too large, n = 400"
    promise(
        "Repair", "an overconfident one is repaired", design, SETS, mended / SETS, f"above {wanted}"
    )
    assert mended / SETS > wanted
    assert np.mean(gains) > 0


class Sure(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = expit(3 * X[:, 0])
        return np.c_[1 - p, p]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Narrow(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X, return_std=False):
        return (X[:, 0], np.full(len(X), 0.25)) if return_std else X[:, 0]


@pytest.mark.parametrize("kind", ["sets", "intervals"])
@pytest.mark.parametrize("cv", [5, 0.5, "prefit"])
def test_sets_and_intervals_of_a_repaired_model_cover(promise, kind, cv):
    """The mean coverage over data sets; exactly k / (n + 1) for what is held out."""
    covered = []
    for seed in range(SETS):
        rng = np.random.default_rng([21, seed])
        X, new = rng.normal(size=(2, 240, 1))
        if kind == "sets":
            y, truth = ((rng.random(240) < expit(each[:, 0])).astype(int) for each in (X, new))
            model = Sure()
        else:
            y, truth = (each[:, 0] + rng.normal(size=240) for each in (X, new))
            model = Narrow()
        fitted = caveat.Repaired(model.fit(X, y), conformal=0.8, cv=cv, random_state=seed).fit(X, y)
        if kind == "sets":
            inside = fitted.predict_set(new).membership[np.arange(240), truth]
        else:
            interval = fitted.predict_interval(new)
            inside = (interval.lower[:, 0] <= truth) & (truth <= interval.upper[:, 0])
        covered.append(inside.mean())
    design = f"cv={cv}, n = 240"
    promise(
        "Repair", f"{kind} of a repaired model cover 0.8", design, SETS, np.mean(covered), "0.8"
    )
    # Four standard errors of the mean over data sets, and the rounding up of a rank among 61.
    assert np.mean(covered) == pytest.approx(0.8, abs=4 * np.std(covered) / np.sqrt(SETS) + 1 / 61)
