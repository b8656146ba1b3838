"""Platt scaling against scikit-learn's two ways to fit it, and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import chi2
from sklearn.calibration import _sigmoid_calibration
from sklearn.linear_model import LogisticRegression

import caveat
from caveat.exceptions import InvalidValueError, OptionError
from caveat.recalibration.platt_scaling import PlattScaling, fit_sigmoid

from .class_data import calibration_set, draw, log_loss, softmax


def regression(score, target, weight):
    """Logistic regression on soft targets: each sample is there as a one and as a zero."""
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=200)
    n = len(score)
    model.fit(
        np.r_[score, score][:, None],
        np.r_[np.ones(n), np.zeros(n)],
        sample_weight=np.r_[target * weight, (1 - target) * weight],
    )
    return model.coef_[0, 0], model.intercept_[0]


def targets(hit, weight, smoothing):
    if not smoothing:
        return hit.astype(float)
    ones, zeros = weight[hit].sum(), weight[~hit].sum()
    return np.where(hit, (ones + 1) / (ones + 2), 1 / (zeros + 2))


@pytest.mark.parametrize("smoothing", [True, False])
@pytest.mark.parametrize("factor", [0.4, 1.7, -1.0])
def test_two_classes_equal_logistic_regression(factor, smoothing):
    prediction, y = calibration_set(k=2, factor=factor, shift=0.5)
    weight = np.random.default_rng(1).exponential(size=len(y))
    score = logit(prediction.mean[:, 1])
    slope, intercept = regression(score, targets(y == 1, weight, smoothing), weight)
    platt = PlattScaling(smoothing=smoothing).fit(prediction, y, sample_weight=weight)
    assert np.sign(platt.slope_[0]) == np.sign(factor)
    np.testing.assert_allclose(platt.slope_, [slope], rtol=1e-8)
    np.testing.assert_allclose(platt.intercept_, [intercept], rtol=1e-8)
    fixed = platt.transform(prediction).mean
    np.testing.assert_allclose(fixed[:, 1], expit(slope * score + intercept), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_equal_scikit_learn(weighted):
    prediction, y = calibration_set(k=2, n=500)
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    a, b = _sigmoid_calibration(logit(prediction.mean[:, 1]), y, sample_weight=weight)
    platt = PlattScaling().fit(prediction, y, sample_weight=weight)
    # Its optimizer stops at a slope of 1e-6, and its sigmoid has the sign turned.
    np.testing.assert_allclose(platt.slope_, [-a], rtol=1e-4)
    np.testing.assert_allclose(platt.intercept_, [-b], atol=1e-4)


def test_many_classes_are_fitted_against_the_rest():
    prediction, y = calibration_set(k=4, n=500, shift=0.3)
    platt = PlattScaling().fit(prediction, y)
    assert platt.slope_.shape == platt.intercept_.shape == (4,)
    scores = []
    for k in range(4):
        p = prediction.mean[:, k]
        hit, weight = y == k, np.ones(len(y))
        slope, intercept = regression(logit(p), targets(hit, weight, True), weight)
        assert platt.slope_[k] == pytest.approx(slope, rel=1e-8)
        scores.append(expit(slope * logit(p) + intercept))
    expected = np.stack(scores, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(platt.transform(prediction).mean, expected, atol=1e-9)


def test_rows_of_tiny_scores_are_normalized():
    platt = PlattScaling().fit(*calibration_set(k=3))
    platt.slope_, platt.intercept_ = np.ones(3), np.full(3, -2000.0)
    fixed = platt.transform(caveat.Categorical([[0.5, 0.3, 0.2]])).mean
    odds = np.array([0.5 / 0.5, 0.3 / 0.7, 0.2 / 0.8])
    np.testing.assert_allclose(fixed[0], odds / odds.sum(), rtol=1e-9)


@given(st.floats(0.55, 0.95), st.floats(0.05, 0.45), st.floats(0.05, 0.95), st.floats(0.05, 0.95))
@settings(max_examples=30, deadline=None)
def test_closed_form_for_two_scores(high, low, share_high, share_low):
    prediction = caveat.Categorical.from_binary([high, high, low, low])
    platt = PlattScaling(smoothing=False)
    weight = [share_high, 1 - share_high, share_low, 1 - share_low]
    platt.fit(prediction, [1, 0, 1, 0], sample_weight=weight)
    fixed = platt.transform(prediction).mean[:, 1]
    np.testing.assert_allclose(fixed[[0, 2]], [share_high, share_low], rtol=1e-8)


def test_certain_rows_count_as_eps():
    _, y = calibration_set(k=2)
    p = np.where(np.arange(len(y)) % 3 == 0, 1.0, 0.3)
    platt = PlattScaling(eps=1e-4).fit(caveat.Categorical.from_binary(p), y)
    # The logit of a certain row is log 1 - log eps: each logarithm has its own floor.
    score = np.where(p == 1, -np.log(1e-4), logit(0.3))
    slope, intercept = fit_sigmoid(score, y == 1, np.ones(len(y)), True)
    assert (platt.slope_[0], platt.intercept_[0]) == pytest.approx((slope, intercept))
    fixed = platt.transform(caveat.Categorical.from_binary([0.0, 1e-4, 1.0])).mean
    np.testing.assert_allclose(fixed[0], fixed[1], rtol=1e-4)
    assert 0 < fixed[0, 1] < fixed[2, 1] < 1 or 0 < fixed[2, 1] < fixed[0, 1] < 1


def test_smoothing_gives_a_line_even_to_separated_samples():
    prediction = caveat.Categorical.from_binary([0.2, 0.3, 0.7, 0.8])
    platt = PlattScaling().fit(prediction, [0, 0, 1, 1])
    assert 0 < platt.slope_[0] < 10
    with pytest.raises(
        InvalidValueError,
        match="separated from the others by its probability, or there are none of one kind, so "
        "without smoothing no slope is the best; use smoothing=True",
    ):
        PlattScaling(smoothing=False).fit(prediction, [0, 0, 1, 1])


@pytest.mark.parametrize("y", [[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
def test_no_line_without_smoothing(y):
    prediction = caveat.Categorical.from_binary([0.2, 0.3, 0.3, 0.8])
    with pytest.raises(InvalidValueError, match="use smoothing=True"):
        PlattScaling(smoothing=False).fit(prediction, y)


def test_one_kind_only():
    prediction = caveat.Categorical.from_binary([0.2, 0.4, 0.9])
    platt = PlattScaling().fit(prediction, [0, 0, 0])
    assert platt.slope_[0] == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(platt.transform(prediction).mean[:, 1], 1 / 5)


def test_constant_scores_keep_the_slope():
    prediction = caveat.Categorical.from_binary([0.7] * 4)
    platt = PlattScaling(smoothing=False).fit(prediction, [0, 1, 0, 0])
    assert platt.slope_[0] == 1
    np.testing.assert_allclose(platt.transform(prediction).mean[:, 1], 0.25)


def test_a_newton_step_that_overshoots_is_halved():
    score = np.r_[
        [-22.15, 0.18, 0.93, -0.66, -1.1, -0.53, -0.26, -2.65, -1.62, -1.57, -3.66, -1.62],
        [293.56, -0.06, 0.67, -2.39, -4.14, 2.88, -0.26, 1.32, 0.21, -0.02, -12.73, -1.99],
    ]
    hit = np.isin(np.arange(24), [12, 14, 17, 19])
    weight = np.ones(24)
    target = targets(hit, weight, True)
    slope, intercept = fit_sigmoid(score, hit, weight, True)
    p = expit(slope * score + intercept)
    np.testing.assert_allclose([(p - target).sum(), (p - target) @ score], 0, atol=1e-9)


def test_on_calibrated_data_it_is_near_identity():
    rng = np.random.default_rng(3)
    p = softmax(rng.normal(size=(20_000, 2)) * 1.5)
    y = draw(p, rng)
    prediction = caveat.Categorical(p)
    platt = PlattScaling(smoothing=False).fit(prediction, y)
    score, spread = logit(p[:, 1]), p[:, 0] * p[:, 1]
    design = np.stack([score, np.ones(len(score))])
    error = np.array([platt.slope_[0] - 1, platt.intercept_[0]])
    # Maximum likelihood: the squared error in units of the information is chi-squared, of two.
    assert error @ ((design * spread) @ design.T) @ error < chi2.isf(1e-6, 2)
    gain = 2 * len(y) * (log_loss(prediction, y) - log_loss(platt.transform(prediction), y))
    assert 0 <= gain < chi2.isf(1e-6, 2)
    smoothed = PlattScaling().fit(prediction, y)
    np.testing.assert_allclose(smoothed.slope_, platt.slope_, atol=0.01)


def test_keeps_the_ranking_of_two_classes():
    prediction, y = calibration_set(k=2)
    fixed = PlattScaling().fit_transform(prediction, y).mean[:, 1]
    assert (np.diff(fixed[prediction.mean[:, 1].argsort()]) >= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": None}, r"members must be one of 'mean', 'each'; got None"),
        ({"smoothing": 1.5}, r"smoothing must be one of True, False; got 1.5"),
        ({"eps": 0}, r"eps must be a number above 0 and at most 0.1; got 0"),
        ({"eps": "small"}, r"eps must be a number above 0 and at most 0.1; got 'small'"),
    ],
)
def test_options(options, message):
    with pytest.raises(OptionError, match=message):
        PlattScaling(**options).fit(*calibration_set(n=10))
