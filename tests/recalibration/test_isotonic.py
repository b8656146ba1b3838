"""Isotonic calibration against scikit-learn, the min-max formula and Marshall's lemma."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

import caveat
from caveat.exceptions import OptionError
from caveat.recalibration.isotonic_calibration import IsotonicCalibration, isotonic_curve

from .class_data import calibration_set, draw, softmax


class Echo(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [2, 17])
def test_two_classes_equal_scikit_learn(weighted, digits):
    prediction, y = calibration_set(k=2)
    score = prediction.mean[:, 1].round(digits)
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    oracle = IsotonicRegression(out_of_bounds="clip").fit(score, y, sample_weight=weight)
    isotonic = IsotonicCalibration()
    isotonic.fit(caveat.Categorical.from_binary(score), y, sample_weight=weight)
    new = np.r_[0.0, np.random.default_rng(2).random(500), 1.0, score]
    fixed = isotonic.transform(caveat.Categorical.from_binary(new)).mean
    np.testing.assert_allclose(fixed[:, 1], oracle.predict(new), atol=1e-12)
    np.testing.assert_allclose(isotonic.thresholds_[0], oracle.X_thresholds_)


@pytest.mark.parametrize("k", [2, 4])
def test_equals_the_calibrated_classifier(k):
    prediction, y = calibration_set(k=k)
    echo = Echo().fit(prediction.mean, y)
    oracle = CalibratedClassifierCV(FrozenEstimator(echo), method="isotonic", ensemble=False)
    oracle.fit(prediction.mean, y)
    fixed = IsotonicCalibration().fit_transform(prediction, y).mean
    np.testing.assert_allclose(fixed, oracle.predict_proba(prediction.mean), atol=1e-12)


def test_scores_that_scikit_learn_merges():
    # Its regression takes scores within 1e-15 of each other for one; here the ranking counts.
    score = np.array([1e-18, 2e-18, 3e-18, 4e-18])
    y = np.array([0, 0, 1, 1])
    _, values = isotonic_curve(score, y == 1, None)
    assert values.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert IsotonicRegression().fit(score, y).predict(score).tolist() == [0.5] * 4


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 3)), min_size=1, max_size=12
    )
)
@settings(max_examples=100, deadline=None)
def test_min_max_formula(samples):
    score, hit, weight = (np.array(column) for column in zip(*samples, strict=True))
    thresholds, values = isotonic_curve(score / 10, hit, weight.astype(float))
    levels = np.unique(score)
    mass = np.array([weight[score == level].sum() for level in levels])
    hits = np.array([(weight * hit)[score == level].sum() for level in levels])
    expected = [
        max(
            min(hits[a : b + 1].sum() / mass[a : b + 1].sum() for b in range(i, len(levels)))
            for a in range(i + 1)
        )
        for i in range(len(levels))
    ]
    np.testing.assert_allclose(np.interp(levels / 10, thresholds, values), expected, atol=1e-12)


def test_a_row_of_zeros_becomes_the_base_rates():
    p = np.array([[0.4, 0.35, 0.25], [0.25, 0.4, 0.35], [0.35, 0.25, 0.4], [0.4, 0.35, 0.25]])
    isotonic = IsotonicCalibration().fit(caveat.Categorical(p), [0, 1, 2, 0])
    np.testing.assert_allclose(isotonic.base_rates_, [0.5, 0.25, 0.25])
    between = caveat.Categorical([[0.4, 0.35, 0.25], [1 / 3, 1 / 3, 1 / 3]])
    fixed = isotonic.transform(between).mean
    np.testing.assert_allclose(fixed, [[1, 0, 0], [0.5, 0.25, 0.25]])


def test_a_class_that_never_is_true_gets_nothing():
    prediction, y = calibration_set(k=3)
    fixed = IsotonicCalibration().fit_transform(prediction, np.where(y == 2, 0, y)).mean
    assert (fixed[:, 2] == 0).all()
    np.testing.assert_allclose(fixed.sum(axis=1), 1)


def test_two_classes_keep_ranking_base_rate_and_are_done_once():
    prediction, y = calibration_set(k=2, shift=1.0)
    isotonic = IsotonicCalibration().fit(prediction, y)
    fixed = isotonic.transform(prediction)
    assert (np.diff(fixed.mean[prediction.mean[:, 1].argsort(), 1]) >= 0).all()
    assert fixed.mean[:, 1].mean() == pytest.approx(y.mean())
    again = IsotonicCalibration().fit_transform(fixed, y)
    np.testing.assert_allclose(again.mean, fixed.mean, atol=1e-12)


def test_swapping_two_classes_swaps_the_result():
    prediction, y = calibration_set(k=2)
    mirrored = caveat.Categorical(prediction.mean[:, ::-1])
    np.testing.assert_allclose(
        IsotonicCalibration().fit_transform(mirrored, 1 - y).mean[:, ::-1],
        IsotonicCalibration().fit_transform(prediction, y).mean,
        atol=1e-9,
    )


def test_on_calibrated_data_it_is_near_identity():
    rng = np.random.default_rng(3)
    p = softmax(rng.normal(size=(20_000, 2)) * 1.5)
    y = draw(p, rng)
    fixed = IsotonicCalibration().fit_transform(caveat.Categorical(p), y).mean[:, 1]
    order = p[:, 1].argsort()
    error = np.abs(np.cumsum((fixed - p[:, 1])[order])).max()
    noise = np.abs(np.cumsum((y - p[:, 1])[order])).max()
    # Marshall's lemma: the running sums of the fit are no farther from the truth than those of
    # the labels; and these, a martingale, exceed t once in 2 exp(-2 t^2 / n) times.
    assert error <= noise + 1e-9
    assert error <= np.sqrt(len(y) * np.log(2 / 1e-6) / 2)


def test_a_constant_score_becomes_the_base_rate():
    prediction = caveat.Categorical.from_binary([0.7] * 4)
    fixed = IsotonicCalibration().fit_transform(prediction, [0, 1, 0, 0]).mean
    np.testing.assert_allclose(fixed[:, 1], 0.25)


def test_options():
    with pytest.raises(OptionError, match=r"members must be one of 'mean', 'each'; got 'sum'"):
        IsotonicCalibration(members="sum").fit(*calibration_set(n=10))


@pytest.mark.parametrize("k", [2, 4])
def test_steps_are_the_value_at_the_nearest_calibration_score(k):
    prediction, y = calibration_set(k=k)
    lines = IsotonicCalibration().fit(prediction, y)
    steps = IsotonicCalibration(between="steps").fit(prediction, y)
    # On the calibration samples least squares decide, and both are the same.
    fixed = steps.transform(prediction).mean
    np.testing.assert_allclose(fixed, lines.transform(prediction).mean, atol=1e-12)
    new = np.random.default_rng(3).dirichlet(np.ones(k), 300)
    raw = np.empty_like(new)
    for column in range(k):
        score = prediction.mean[:, column]
        at_samples = IsotonicRegression(out_of_bounds="clip").fit(score, y == column)
        nearest = score[np.abs(score[:, None] - new[:, column]).argmin(axis=0)]
        raw[:, column] = at_samples.predict(nearest)
    if k == 2:
        raw[:, 0] = 1 - raw[:, 1]
    expected = raw / raw.sum(axis=1, keepdims=True)
    got = steps.transform(caveat.Categorical(new)).mean
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert not np.allclose(got, lines.transform(caveat.Categorical(new)).mean, atol=1e-3)


def test_steps_take_no_value_that_no_calibration_sample_has_and_keep_classes_apart():
    prediction, y = calibration_set(k=2)
    steps = IsotonicCalibration(between="steps").fit(prediction, y)
    new = np.random.default_rng(4).random(1000)
    fixed = steps.transform(caveat.Categorical.from_binary(new)).mean[:, 1]
    assert {*fixed.tolist()} <= {*steps.values_[0].tolist()}
    swapped = IsotonicCalibration(between="steps")
    swapped.fit(caveat.Categorical(prediction.mean[:, ::-1]), 1 - y)
    mirrored = swapped.transform(caveat.Categorical.from_binary(1 - new)).mean[:, 1]
    np.testing.assert_allclose(mirrored, 1 - fixed, atol=1e-12)


def test_between_is_checked():
    prediction, y = calibration_set(k=2)
    with pytest.raises(OptionError, match="between must be one of 'lines', 'steps'; got 'dots'"):
        IsotonicCalibration(between="dots").fit(prediction, y)
