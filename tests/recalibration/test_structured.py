"""Structured vector and matrix scaling: the stated problem, solved; limits; what they repair."""

import numpy as np
import pytest
from scipy.optimize import minimize

import caveat
from caveat.recalibration import _multinomial
from caveat.recalibration._multinomial import descend, fit_scaling

from .class_data import calibration_set, draw, log_loss, softmax

BOTH = [caveat.StructuredVectorScaling(), caveat.StructuredMatrixScaling()]
PROBMETRICS_MATRIX = [
    [0.3159, 0.5487, 0.1354],
    [0.0346, 0.7889, 0.1765],
    [0.2103, 0.0202, 0.7695],
    [0.1698, 0.6766, 0.1536],
    [0.114, 0.4038, 0.4822],
    [0.6893, 0.0353, 0.2754],
]
PROBMETRICS_VECTOR = [
    [0.4777, 0.3763, 0.146],
    [0.0409, 0.7533, 0.2058],
    [0.1435, 0.0766, 0.7799],
    [0.2355, 0.5789, 0.1856],
    [0.0807, 0.4955, 0.4238],
    [0.728, 0.0471, 0.225],
]
both = pytest.mark.parametrize("method", BOTH, ids=lambda one: type(one).__name__)


def smoothed_logits(p, temperature, samples):
    q = softmax(np.log(p) / temperature)
    return np.log(samples / (samples + 1) * q + 1 / (samples + 1) / p.shape[1])


@pytest.mark.parametrize(("n", "k", "weighted"), [(60, 2, False), (300, 3, True), (400, 5, False)])
def test_minimum_of_the_stated_problem(n, k, weighted):
    """Against BFGS of scipy, on the formulas as they are printed."""
    prediction, y = calibration_set(k=k, n=n, shift=0.4)
    weight = np.random.default_rng(1).uniform(0.2, 2, n) if weighted else np.ones(n)
    total = weight.sum()
    temperature = caveat.TemperatureScaling().fit(prediction, y, sample_weight=weight).temperature_
    z = smoothed_logits(prediction.mean, temperature, total)

    def loss(flat):
        w, b = flat[: k * k].reshape(k, k), flat[k * k :]
        off = w[~np.eye(k, dtype=bool)]
        q = softmax(z @ w.T + b)
        fit = -(weight * np.log(q[np.arange(n), y])).sum() / total
        near = k / total * (((np.diag(w) - 1) ** 2).sum() + (b**2).sum())
        return fit + near + k * (k - 1) / total * (off**2).sum()

    fitted = caveat.StructuredMatrixScaling().fit(prediction, y, sample_weight=weight)
    assert fitted.temperature_ == pytest.approx(temperature, rel=1e-6)
    best = minimize(loss, np.r_[np.eye(k).ravel(), np.zeros(k)], options={"gtol": 1e-9})
    found = np.r_[fitted.weights_.ravel(), fitted.intercept_]
    assert loss(found) <= best.fun + 1e-12
    np.testing.assert_allclose(found, best.x, atol=2e-5)
    expected = softmax(z @ fitted.weights_.T + fitted.intercept_)
    np.testing.assert_allclose(fitted.transform(prediction).mean, expected, atol=1e-9)

    def vector_loss(flat):
        return loss(np.r_[np.diag(flat[:k]).ravel(), flat[k:]])

    vector = caveat.StructuredVectorScaling().fit(prediction, y, sample_weight=weight)
    best = minimize(vector_loss, np.r_[np.ones(k), np.zeros(k)], options={"gtol": 1e-9})
    found = np.r_[vector.factors_, vector.intercept_]
    assert vector_loss(found) <= best.fun + 1e-12
    np.testing.assert_allclose(found, best.x, atol=2e-5)


def test_close_to_probmetrics():
    """Probabilities that probmetrics 1.3.0 gave; it stops its search at 1e-3 or so."""
    p = softmax(np.array([[2.0, 1, 0], [0, 2, 1], [1, 0, 2], [1, 1, 0], [0, 1, 1], [3, 0, 1]]))
    p, y = np.tile(p, (20, 1)), np.tile([0, 1, 2, 1, 2, 0, 1, 1, 0, 1, 2, 2], 10)
    matrix = caveat.StructuredMatrixScaling().fit(p, y).transform(p).mean[:6]
    vector = caveat.StructuredVectorScaling().fit(p, y).transform(p).mean[:6]
    np.testing.assert_allclose(matrix, PROBMETRICS_MATRIX, atol=2e-3)
    np.testing.assert_allclose(vector, PROBMETRICS_VECTOR, atol=2e-3)


@both
def test_strong_regularization_is_smoothed_temperature_scaling(method):
    prediction, y = calibration_set(k=4, n=300)
    kind = type(method)
    fixed = kind(regularization=1e9).fit_transform(prediction, y).mean
    temperature = caveat.TemperatureScaling().fit(prediction, y).temperature_
    expected = np.exp(smoothed_logits(prediction.mean, temperature, 300))
    np.testing.assert_allclose(fixed, expected, atol=1e-6)


@both
def test_many_parameters_take_another_way_to_the_same_answer(method, monkeypatch):
    prediction, y = calibration_set(k=4, n=500, shift=0.3)
    exact = type(method)().fit(prediction, y).transform(prediction).mean
    monkeypatch.setattr(_multinomial, "_MOST_EXACT", 0)
    other = type(method)().fit(prediction, y).transform(prediction).mean
    np.testing.assert_allclose(other, exact, atol=1e-7)


@both
def test_part_of_the_rows_begins_and_all_of_them_decide(method, monkeypatch):
    prediction, y = calibration_set(k=3, n=999, shift=0.3)
    whole = type(method)().fit(prediction, y).transform(prediction).mean
    monkeypatch.setattr(_multinomial, "_FEW_ROWS", 50)
    other = type(method)().fit(prediction, y).transform(prediction).mean
    np.testing.assert_allclose(other, whole, atol=1e-7)


@both
def test_hundreds_of_classes(method):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(100, 0.1), size=2000)
    y = draw(p, rng)
    wrong = softmax(2 * np.log(np.maximum(p, 1e-9)))
    fixed = type(method)().fit_transform(wrong, y)
    best = caveat.TemperatureScaling().fit_transform(np.maximum(wrong, 1e-30), y)
    assert log_loss(fixed, y) < log_loss(best, y) + 1e-3


@both
def test_zeros_do_no_harm(method):
    """A true class of probability 0, which is an error for temperature scaling."""
    p = np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]] * 10)
    y = np.array([0, 1, 2, 2] * 10)
    fixed = type(method)().fit_transform(p, y).mean
    assert fixed.min() > 0
    certain = type(method)().fit_transform(np.eye(3)[[0, 1, 2] * 5], [0, 1, 2] * 5).mean
    assert certain.min() > 0


def test_matrix_repairs_what_a_vector_cannot():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 3)) * 2
    y = draw(softmax(logits), rng)
    # Rows that sum to 1 keep what adds to all logits, so that the inverse is in reach.
    mixed = logits @ np.array([[0.5, 0.5, 0], [0, 1, 0], [0.3, 0, 0.7]]).T
    prediction, half = caveat.Categorical(softmax(mixed)), np.arange(20_000) < 10_000
    losses = {
        kind: log_loss(
            kind().fit(prediction.take(half), y[half]).transform(prediction.take(~half)), y[~half]
        )
        for kind in (
            caveat.TemperatureScaling,
            caveat.StructuredVectorScaling,
            caveat.StructuredMatrixScaling,
        )
    }
    ideal = log_loss(caveat.Categorical(softmax(logits[~half])), y[~half])
    matrix, vector, temperature = (
        losses[kind]
        for kind in (
            caveat.StructuredMatrixScaling,
            caveat.StructuredVectorScaling,
            caveat.TemperatureScaling,
        )
    )
    assert matrix < ideal + 0.002
    assert vector > ideal + 0.02
    assert temperature >= vector - 1e-3


@both
def test_calibrated_predictions_are_not_hurt_beyond_noise(method):
    """The cost stays below that of the parameters without a pull, (number) / (2n) each."""
    costs = []
    for seed in range(20):
        train, y = calibration_set(k=5, n=400, factor=1.0, seed=seed)
        test, truth = calibration_set(k=5, n=10_000, factor=1.0, seed=1000 + seed)
        fixed = type(method)().fit(train, y).transform(test)
        costs.append(log_loss(fixed, truth) - log_loss(test, truth))
    free = 9 if isinstance(method, caveat.StructuredVectorScaling) else 24
    assert np.mean(costs) < free / (2 * 400)
    dirichlet = caveat.DirichletCalibration(regularization=1e-6)
    assert np.mean(costs) < log_loss(dirichlet.fit(train, y).transform(test), truth) - log_loss(
        test, truth
    )


def test_descent_shortens_steps_that_go_too_far():
    """A first curvature that is far too small, on a function whose minimum is known."""
    target = np.array([1.0, -2.0])

    def function(x):
        return float(np.cosh(x - target).sum()), np.sinh(x - target)

    found = descend(function, np.zeros(2), lambda gradient: gradient * 10)
    np.testing.assert_allclose(found, target, atol=1e-7)


def test_scaling_with_one_class_weighted_to_nothing():
    """Weights may be tiny; the problem stays the same for their proportions."""
    rng = np.random.default_rng(0)
    logits = np.log(rng.dirichlet(np.ones(3), size=50)).T
    codes, penalty = rng.integers(0, 3, size=50), np.full((3, 2), 0.1)
    one = fit_scaling(logits, codes, np.ones(50), penalty)
    tiny = fit_scaling(logits, codes, np.full(50, 1e-9), penalty)
    np.testing.assert_allclose(one, tiny, atol=1e-9)


def test_logits_of_any_size():
    """Products beyond the range of exponentials give the loss of the difference."""
    features = np.array([[1.0, 2.0], [-1.0, 1.0], [1.0, 1.0]])
    codes, weight = np.array([1, 0]), np.array([0.5, 0.5])
    matrix = np.array([[1000.0, 0, 0], [0, 1000.0, 0]])
    value, gradient = _multinomial.likelihood(matrix, features, codes, weight)
    assert value == pytest.approx(0.5 * 2000)
    assert np.isfinite(gradient).all()
    small, _ = _multinomial.likelihood(matrix / 1000, features, codes, weight)
    assert small == pytest.approx(0.5 * np.log1p(np.exp(2)) + 0.5 * np.log1p(np.exp(-1)))
