"""The model with its repair: an estimator of scikit-learn whose uncertainty is repaired."""

import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import (
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
)
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import caveat
from caveat.exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError
from caveat.repairing import Repair


class Sure(ClassifierMixin, BaseEstimator):
    """Knows the logit, which is the first feature, and is three times as sure as it should be."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        self.weighted_ = sample_weight is not None
        return self

    def predict_proba(self, X):
        p = expit(3 * np.asarray(X)[:, 0])
        return np.c_[1 - p, p]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def classes(samples=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, 2))
    y = np.array(["ill", "well"])[(rng.random(samples) < expit(X[:, 0])).astype(int)]
    return X, y


def numbers(samples=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, 2))
    return X, X[:, 0] + rng.normal(size=samples)


@pytest.mark.parametrize("cv", [5, 0.5, "prefit"])
def test_probabilities_are_repaired(cv):
    X, y = classes(800)
    model = Sure().fit(X, y)
    made = caveat.Repaired(model, cv=cv, random_state=0).fit(X, y)
    assert made.repair_.chosen in ("TemperatureScaling", "PlattScaling")
    assert made.classes_.tolist() == ["ill", "well"]
    new, truth = classes(500, seed=1)
    # Three standard errors of an intercept from 400 samples, 0.11 each, times a slope of 1/4.
    assert np.abs(made.predict_proba(new)[:, 1] - expit(new[:, 0])).max() < 0.09
    if made.repair_.chosen == "TemperatureScaling":
        np.testing.assert_array_equal(made.predict(new), model.predict(new))
    assert made.score(new, truth) == np.mean(made.predict(new) == truth)
    assert made.n_features_in_ == 2


def test_a_calibrated_model_is_left_as_it_is():
    X, y = classes()
    made = caveat.Repaired(LogisticRegression(), random_state=0).fit(X, y)
    assert made.repair_.chosen is None
    np.testing.assert_allclose(
        made.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X)
    )


@pytest.mark.parametrize("cv", [5, 0.5, "prefit"])
@pytest.mark.parametrize("repair", ["auto", None, "ts"])
def test_sets_hold_the_true_class(cv, repair):
    X, y = classes(1200)
    made = caveat.Repaired(
        Sure().fit(X, y), repair=repair, conformal=0.8, cv=cv, random_state=0
    ).fit(X, y)
    new, truth = classes(2000, seed=1)
    sets = made.predict_set(new)
    assert type(made.repair_) is {"auto": Repair, "ts": caveat.TemperatureScaling}.get(
        repair, type(None)
    )
    covered = sets.membership[np.arange(2000), (truth == "well").astype(int)].mean()
    # Both halves count: 4 standard errors with 300 calibration samples at least.
    assert covered == pytest.approx(0.8, abs=4 * np.sqrt(0.16 * (1 / 300 + 1 / 2000)))


def test_conformal_samples_are_not_those_of_the_repair():
    """Half of what is held out chooses the repair, the other half calibrates the sets."""
    X, y = classes(300)
    model = caveat.Repaired(Sure().fit(X, y), conformal=0.8, cv="prefit", random_state=0).fit(X, y)
    assert model.repair_.samples == 150
    assert len(model.conformal_.scores_[0]) == 150
    without = caveat.Repaired(Sure().fit(X, y), repair=None, conformal=0.8, cv="prefit").fit(X, y)
    assert len(without.conformal_.scores_[0]) == 300
    folds = caveat.Repaired(Sure(), conformal=0.8, random_state=0).fit(X, y)
    assert folds.repair_.samples == len(folds.conformal_.scores_[0]) == 300


QUANTILES = {level: QuantileRegressor(quantile=level, alpha=0) for level in (0.1, 0.5, 0.9)}


@pytest.mark.parametrize(
    ("estimator", "conformal"),
    [
        (LinearRegression(), "ConformalResiduals"),
        (BayesianRidge(), "ConformalResiduals"),
        (RandomForestRegressor(10, random_state=0), "ConformalResiduals"),
        (QUANTILES, "ConformalQuantiles"),
    ],
)
def test_intervals_hold_the_true_value(estimator, conformal):
    X, y = numbers(400)
    made = caveat.Repaired(estimator, conformal=0.8, cv=4, random_state=0).fit(X, y)
    assert type(made.conformal_).__name__ == conformal
    new, truth = numbers(2000, seed=1)
    interval = made.predict_interval(new)
    covered = ((interval.lower[:, 0] <= truth) & (truth <= interval.upper[:, 0])).mean()
    assert covered == pytest.approx(0.8, abs=4 * np.sqrt(0.16 * (1 / 400 + 1 / 2000)))
    assert made.predict(new).shape == (2000,)
    assert 0.2 < made.score(new, truth) < 1
    assert not hasattr(made, "predict_proba")
    assert not hasattr(made, "predict_set")
    if estimator is not QUANTILES:
        assert not is_classifier(made)
        np.testing.assert_allclose(made.predict(new), estimator.fit(X, y).predict(new))


def test_points_have_no_repair_and_need_a_coverage():
    X, y = numbers()
    made = caveat.Repaired(LinearRegression()).fit(X, y)
    assert made.repair_ is None
    with pytest.raises(UnsupportedPredictionError, match="numbers without a spread; fit with a co"):
        made.predict_interval(X)


class Narrow(RegressorMixin, BaseEstimator):
    """Means that are right and standard deviations that are too small by a factor of four."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X, return_std=False):
        mean = np.asarray(X)[:, 0]
        return (mean, np.full(len(mean), 0.25)) if return_std else mean


def test_spreads_are_repaired():
    X, y = numbers(500)
    made = caveat.Repaired(Narrow(), random_state=0).fit(X, y)
    assert made.repair_.chosen == "VarianceScaling"
    new, truth = numbers(2000, seed=1)
    interval = made.predict_interval(new, 0.9)
    covered = ((interval.lower[:, 0] <= truth) & (truth <= interval.upper[:, 0])).mean()
    assert covered == pytest.approx(0.9, abs=0.05)
    several = caveat.Repaired(LinearRegression(), conformal=0.9).fit(X, np.c_[y, y])
    assert several.predict(new).shape == (2000, 2)


def test_it_is_an_estimator_of_scikit_learn():
    X, y = make_classification(200, random_state=0)
    y = np.array(["no", "yes"])[y]
    made = caveat.Repaired(GaussianNB(), conformal=0.9, cv=3, random_state=0)
    copy = clone(made.set_params(estimator__var_smoothing=1e-8))
    assert copy.get_params()["estimator__var_smoothing"] == 1e-8
    assert is_classifier(copy)
    assert hasattr(copy, "predict_proba")
    assert not hasattr(copy, "predict_interval")
    fitted = copy.fit(X, y)
    stored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(stored.predict_proba(X), fitted.predict_proba(X))
    assert stored.predict_set(X) == fitted.predict_set(X)
    inside = make_pipeline(StandardScaler(), caveat.Repaired(GaussianNB(), cv=3))
    outside = caveat.Repaired(make_pipeline(StandardScaler(), GaussianNB()), cv=3)
    for model in (inside, outside):
        scores = cross_val_score(model, X, y, cv=3, scoring="neg_log_loss")
        assert np.isfinite(scores).all()


def test_members_of_logits_become_probabilities():
    from caveat.repairing.repaired import _probabilities

    logits = caveat.GaussianLogits(np.zeros((3, 2)), np.ones((3, 2)))
    np.testing.assert_allclose(_probabilities(logits), 0.5)


def test_weights_and_clusters_reach_all_parts():
    X, y = classes()
    weight = np.where(np.arange(400) < 300, 1.0, 2.0)
    cluster = np.arange(400) // 4
    for cv in (4, 0.5):
        made = caveat.Repaired(Sure(), conformal=0.9, cv=cv, random_state=0)
        made.fit(X, y, sample_weight=weight, cluster=cluster)
        assert made.estimator_.model_.weighted_
        assert made.conformal_.weights_[0] is not None
    plain = caveat.Repaired(Sure(), repair="ts", conformal=0.9, cv=0.5, random_state=0)
    assert plain.fit(X, y, sample_weight=weight).predict_set(X).coverage == 0.9


def test_columns_of_y_and_frames():
    pd = pytest.importorskip("pandas")
    X, y = classes()
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.warns(Warning, match="column-vector"):
        made = caveat.Repaired(LogisticRegression(), cv=3).fit(frame, y[:, None])
    assert made.predict(frame).shape == (400,)
    assert made.n_features_in_ == 2


def test_before_fit():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        caveat.Repaired(LogisticRegression()).predict([[1.0]])
    with pytest.raises(NotFittedError):
        caveat.Repaired(LogisticRegression(), cv="prefit").fit(*classes())


@pytest.mark.parametrize(
    ("options", "rows", "error", "said"),
    [
        ({"cv": "fold"}, 60, OptionError, "cv must be folds, a share, or \"prefit\"; got 'fold'"),
        ({"cv": 1}, 60, OptionError, "cv must be a whole number of at least 2"),
        ({"cv": 1.5}, 60, OptionError, "cv"),
        ({"cv": 0.001}, 60, ShapeError, "cv=0.001 leaves no samples on one side of 60"),
        ({"cv": 70}, 60, ShapeError, "cv=70 folds need as many samples; got 60 sample"),
        ({"conformal": 2}, 60, OptionError, "conformal"),
        ({"repair": "lac"}, 60, OptionError, "use it after the repair"),
        ({"repair": 3}, 60, OptionError, "expected a recalibrator or its name; got 3"),
    ],
)
def test_what_is_refused(options, rows, error, said):
    X, y = classes(rows)
    with pytest.raises(error, match=said):
        caveat.Repaired(LogisticRegression(), **options).fit(X, y)


def test_classes_that_are_too_rare_are_refused():
    X, y = classes(60)
    y = np.where(np.arange(60) == 0, "rare", y)
    with pytest.raises(LabelError, match="class 'rare' has one sample; cross-fitting needs two of"):
        caveat.Repaired(LogisticRegression()).fit(X, y)
    y[1] = "rare"
    with pytest.raises(LabelError, match="class 'rare' is in too few clusters"):
        caveat.Repaired(LogisticRegression()).fit(X, y, cluster=np.arange(60) // 2)
    with pytest.raises(OptionError, match="fit requires y to be passed"):
        caveat.Repaired(LogisticRegression()).fit(X, None)
    left = caveat.Repaired(Sure()).fit(*classes(60))
    with pytest.raises(OptionError, match="predict_set needs a coverage"):
        left.predict_set(X)
