"""Dirichlet calibration against logistic regression, torch's gradients and special cases."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

import caveat
from caveat.exceptions import OptionError
from caveat.recalibration.dirichlet_calibration import DirichletCalibration
from caveat.recalibration.temperature_scaling import TemperatureScaling

from .class_data import calibration_set, draw, log_loss, softmax


def objective(weights, intercept, prediction, y, weight, regularization, intercept_regularization):
    """The penalized loss as printed in the paper, in torch, so that it differentiates itself."""
    torch = pytest.importorskip("torch")
    w, b = torch.tensor(weights, requires_grad=True), torch.tensor(intercept, requires_grad=True)
    x = torch.tensor(np.log(prediction.mean))
    log_q = torch.log_softmax(x @ w.T + b, dim=1)[torch.arange(len(y)), torch.tensor(y)]
    weight = torch.tensor(np.ones(len(y)) if weight is None else weight)
    k = len(intercept)
    off = w**2 * (1 - torch.eye(k, dtype=w.dtype))
    loss = -(log_q * weight).sum() / weight.sum()
    loss = loss + regularization * off.sum() / (k * (k - 1))
    loss = loss + intercept_regularization * (b**2).sum() / k
    loss.backward()
    return loss.item(), w.grad.numpy(), b.grad.numpy()


@pytest.mark.parametrize("k", [2, 3, 6])
def test_without_penalty_it_is_logistic_regression(k):
    prediction, y = calibration_set(k=k, n=800, shift=0.3)
    features = np.log(prediction.mean)
    weight = np.random.default_rng(1).exponential(size=len(y))
    oracle = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=500)
    oracle.fit(features, y, sample_weight=weight)
    fitted = DirichletCalibration(regularization=0).fit(prediction, y, sample_weight=weight)
    fixed = fitted.transform(prediction).mean
    np.testing.assert_allclose(fixed, oracle.predict_proba(features), atol=1e-7)


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("penalties", [(0.01, None), (1.0, 0.001), (0.0, 2.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_vanishes(k, penalties, weighted):
    prediction, y = calibration_set(k=k, n=400, shift=0.3)
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    options = {"regularization": penalties[0], "intercept_regularization": penalties[1]}
    fitted = DirichletCalibration(**options).fit(prediction, y, sample_weight=weight)
    strength = penalties[0], penalties[0] if penalties[1] is None else penalties[1]
    arguments = prediction, y, weight, *strength
    loss, slope, slope_b = objective(fitted.weights_, fitted.intercept_, *arguments)
    # Convex, so a point without slope is the minimum; features are some units wide.
    np.testing.assert_allclose(slope, 0, atol=1e-7)
    np.testing.assert_allclose(slope_b, 0, atol=1e-7)
    identity = objective(np.eye(k), np.zeros(k), *arguments)[0]
    assert loss < identity
    scaling = TemperatureScaling().fit(prediction, y, sample_weight=weight)
    assert loss <= objective(np.eye(k) / scaling.temperature_, np.zeros(k), *arguments)[0] + 1e-9
    np.testing.assert_allclose(
        fitted.transform(prediction).mean,
        softmax(np.log(prediction.mean) @ fitted.weights_.T + fitted.intercept_),
        atol=1e-12,
    )


def test_a_strong_penalty_leaves_a_power_for_each_class():
    prediction, y = calibration_set(k=3, n=500, shift=0.3)
    fitted = DirichletCalibration(regularization=1e7).fit(prediction, y)
    np.testing.assert_allclose(fitted.weights_ - np.diag(fitted.weights_.diagonal()), 0, atol=1e-6)
    np.testing.assert_allclose(fitted.intercept_, 0, atol=1e-6)
    assert (fitted.weights_.diagonal() < 1).all()


def test_the_least_of_equal_coefficients():
    fitted = DirichletCalibration().fit(*calibration_set(k=4, n=500, shift=0.3))
    off = fitted.weights_ - np.diag(fitted.weights_.diagonal())
    np.testing.assert_allclose(off.sum(axis=0), 0, atol=1e-9)
    assert fitted.intercept_.sum() == pytest.approx(0, abs=1e-9)


def test_repairs_a_mixture_of_classes():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(20_000, 3)) * 1.5
    p = softmax(z)
    y = draw(p, rng)
    mixed = caveat.Categorical(
        softmax(np.log(p) @ np.array([[2, 0, 0], [0, 1, 0.5], [0, 0, 1.0]]) + [1, 0, -1])
    )
    train, test = slice(0, 10_000), slice(10_000, None)
    fitted = DirichletCalibration(regularization=0).fit(mixed.take(train), y[train])
    fixed = fitted.transform(mixed.take(test))
    truth = caveat.Categorical(p[test])
    # What is left is the noise of eight free numbers: half of chi-squared, over the train size.
    assert log_loss(fixed, y[test]) - log_loss(truth, y[test]) < chi2.isf(1e-6, 8) / 10_000
    scaling = TemperatureScaling().fit(mixed.take(train), y[train])
    assert log_loss(scaling.transform(mixed.take(test)), y[test]) > log_loss(fixed, y[test]) + 0.05


def test_on_calibrated_data_it_is_near_identity():
    rng = np.random.default_rng(3)
    p = softmax(rng.normal(size=(8_000, 4)) * 1.5)
    y = draw(p, rng)
    prediction = caveat.Categorical(p)
    for regularization in (0.0, 0.01, 10.0):
        fixed = DirichletCalibration(regularization=regularization).fit_transform(prediction, y)
        gain = 2 * len(y) * (log_loss(prediction, y) - log_loss(fixed, y))
        # Twice the gain in likelihood is chi-squared, with 4 x 5 numbers less one gauge for each
        # of five columns; the identity costs no penalty, so a penalty only lowers the gain.
        assert 0 <= gain < chi2.isf(1e-6, 15)


def test_zeros_count_as_eps():
    prediction, y = calibration_set(k=3)
    p = prediction.mean.copy()
    p[::3] = [1.0, 0.0, 0.0]
    fitted = DirichletCalibration(eps=1e-5).fit(caveat.Categorical(p), y)
    raised = np.maximum(p, 1e-5)
    expected = DirichletCalibration(eps=1e-6).fit(
        caveat.Categorical._trusted({"probabilities": raised[None], "classes": np.arange(3)}), y
    )
    np.testing.assert_array_equal(fitted.weights_, expected.weights_)


def test_separated_and_constant_samples_give_numbers():
    prediction, _ = calibration_set(k=3, n=50)
    top = prediction.mean.argmax(axis=1)
    fixed = DirichletCalibration().fit_transform(prediction, top)
    assert log_loss(fixed, top) < 1e-6
    flat = caveat.Categorical(np.full((6, 3), 1 / 3))
    fixed = DirichletCalibration(regularization=0).fit_transform(flat, [0, 1, 1, 2, 2, 2])
    np.testing.assert_allclose(fixed.mean, np.tile([1 / 6, 2 / 6, 3 / 6], (6, 1)), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularization": -1.0}, "regularization must be a number of at least 0; got -1.0"),
        ({"regularization": np.inf}, "regularization must be a number of at least 0; got inf"),
        (
            {"intercept_regularization": "no"},
            "intercept_regularization must be a number of at least 0; got 'no'",
        ),
        ({"eps": 0.2}, "eps must be a number above 0 and at most 0.1; got 0.2"),
        ({"members": "all"}, "members must be one of 'mean', 'each'; got 'all'"),
    ],
)
def test_options(options, message):
    with pytest.raises(OptionError, match=message):
        DirichletCalibration(**options).fit(*calibration_set(n=10))
