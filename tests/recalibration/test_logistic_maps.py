"""Beta calibration, quadratic scaling and monotone splines: oracles, and what each is made for."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import caveat
from caveat.exceptions import OptionError
from caveat.recalibration._logistic import newton
from caveat.recalibration.spline_calibration import _integrals

from .class_data import calibration_set, log_loss


def platt_targets(hit, weight):
    ones, zeros = weight[hit].sum(), weight[~hit].sum()
    return np.where(hit, (ones + 1) / (ones + 2), 1 / (zeros + 2))


def soft_regression(columns, hit, weight):
    """Logistic regression on targets between 0 and 1: each sample counts as both kinds."""
    target = platt_targets(hit, weight)
    rows = np.vstack([columns, columns])
    kinds = np.repeat([1, 0], len(columns))
    counted = np.r_[weight * target, weight * (1 - target)]
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    model.fit(rows, kinds, sample_weight=counted)
    return model.coef_[0], model.intercept_[0]


@pytest.mark.parametrize("k", [2, 3])
def test_quadratic_is_a_logistic_regression(k):
    prediction, y = calibration_set(k=k, n=500)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    fitted = caveat.QuadraticScaling().fit(prediction, y, sample_weight=weight)
    for number, label in enumerate([1] if k == 2 else range(k)):
        x = logit(prediction.mean[:, label])
        slopes, level = soft_regression(np.column_stack([x**2, x]), y == label, weight)
        found = fitted.curvature_[number], fitted.slope_[number], fitted.intercept_[number]
        np.testing.assert_allclose(found, [*slopes, level], rtol=1e-4, atol=1e-5)


def test_beta_is_a_logistic_regression_where_no_slope_is_negative():
    prediction, y = calibration_set(k=2, n=500)
    p, weight = prediction.mean[:, 1], np.ones(len(y))
    fitted = caveat.BetaCalibration().fit(prediction, y)
    slopes, level = soft_regression(np.column_stack([np.log(p), -np.log1p(-p)]), y == 1, weight)
    assert slopes.min() > 0
    found = fitted.lower_slope_[0], fitted.upper_slope_[0], fitted.intercept_[0]
    np.testing.assert_allclose(found, [*slopes, level], rtol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_beta_is_the_best_of_all_slopes_that_are_not_negative(seed):
    """Labels that fall with the probability on one side, or on both: a bound is active."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, size=200)
    truth = expit(rng.normal() * np.log(p) - rng.normal() * np.log1p(-p))
    hit = rng.random(200) < truth
    fitted = caveat.BetaCalibration().fit(caveat.Categorical.from_binary(p), hit.astype(int))
    columns = np.column_stack([np.log(p), -np.log1p(-p), np.ones(200)])
    target = platt_targets(hit, np.ones(200))

    def loss(c):
        z = columns @ c
        return (np.logaddexp(0, z) - target * z).sum(), columns.T @ (expit(z) - target)

    best = minimize(
        loss, np.zeros(3), jac=True, method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )  # fmt: skip
    found = np.r_[fitted.lower_slope_, fitted.upper_slope_, fitted.intercept_]
    assert found[:2].min() >= 0
    assert loss(found)[0] <= best.fun * (1 + 1e-9)
    np.testing.assert_allclose(columns @ found, columns @ best.x, atol=1e-3)


def test_bounds_are_active_in_some_of_these():
    """Whether the cases above are cases at all."""
    bounded = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.02, 0.98, size=200)
        truth = expit(rng.normal() * np.log(p) - rng.normal() * np.log1p(-p))
        y = (rng.random(200) < truth).astype(int)
        fitted = caveat.BetaCalibration().fit(caveat.Categorical.from_binary(p), y)
        bounded += min(fitted.lower_slope_[0], fitted.upper_slope_[0]) == 0
    assert 2 <= bounded <= 7


def test_classes_the_wrong_way_round():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, size=2000)
    y = (rng.random(2000) < 1 - p).astype(int)
    prediction = caveat.Categorical.from_binary(p)
    for constant in (caveat.BetaCalibration(), caveat.SplineCalibration()):
        fixed = constant.fit_transform(prediction, y).mean[:, 1]
        np.testing.assert_allclose(fixed, fixed[0], atol=1e-6)
        np.testing.assert_allclose(fixed[0], (y.sum() + 0) / 2000, atol=1e-3)
    fixed = caveat.QuadraticScaling().fit_transform(prediction, y).mean[:, 1]
    np.testing.assert_allclose(fixed, 1 - p, atol=0.06)


def test_closed_form_of_two_normal_distributions():
    """Logits N(m1, s1²) and N(m0, s0²): log-odds are a parabola whose numbers are known."""
    rng = np.random.default_rng(0)
    n, m1, s1, m0, s0 = 100_000, 1.5, 1.0, -0.5, 1.5
    y = rng.integers(0, 2, size=n)
    z = np.where(y == 1, rng.normal(m1, s1, n), rng.normal(m0, s0, n))
    fitted = caveat.QuadraticScaling().fit(caveat.Categorical.from_binary(expit(z)), y)
    expected = [
        (1 / s0**2 - 1 / s1**2) / 2,
        m1 / s1**2 - m0 / s0**2,
        (m0 / s0) ** 2 / 2 - (m1 / s1) ** 2 / 2 + np.log(s0 / s1),
    ]
    found = np.r_[fitted.curvature_, fitted.slope_, fitted.intercept_]
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_closed_form_of_two_beta_distributions():
    rng = np.random.default_rng(0)
    n, (a1, b1), (a0, b0) = 100_000, (3.0, 1.2), (1.5, 2.0)
    y = rng.integers(0, 2, size=n)
    p = np.where(y == 1, rng.beta(a1, b1, n), rng.beta(a0, b0, n))
    fitted = caveat.BetaCalibration().fit(caveat.Categorical.from_binary(p), y)
    found = np.r_[fitted.lower_slope_, fitted.upper_slope_]
    np.testing.assert_allclose(found, [a1 - a0, b0 - b1], atol=0.05)


def test_spline_is_the_minimum_that_scipy_finds():
    prediction, y = calibration_set(k=2, n=400, factor=2.5)
    fitted = caveat.SplineCalibration(smoothness=0.3).fit(prediction, y)
    x, knots = logit(prediction.mean[:, 1]), fitted.knots_[0]
    target = platt_targets(y == 1, np.ones(len(y)))
    grid = np.linspace(min(x.min(), knots[0]), max(x.max(), knots[-1]), 200_001)

    def curve(c):
        """Integrate the slope on a fine grid."""
        slope = np.interp(grid, knots, c[:-1])
        area = np.r_[0, np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(grid))]
        area -= np.interp(knots[0], grid, area)
        return c[-1] + np.interp(x, grid, area)

    def loss(c):
        z = curve(c)
        return (np.logaddexp(0, z) - target * z).sum() + 0.15 * (np.diff(c[:-1]) ** 2).sum()

    found = np.r_[fitted.slopes_[0], fitted.intercept_]
    bounds = [(0, None)] * 6 + [(None, None)]
    best = minimize(loss, np.r_[np.ones(6), 0.0], bounds=bounds, method="L-BFGS-B",
                    options={"maxfun": 100_000, "ftol": 1e-13, "gtol": 1e-8})  # fmt: skip
    assert loss(found) <= best.fun + 1e-6
    np.testing.assert_allclose(curve(found), curve(best.x), atol=5e-3)
    np.testing.assert_allclose(
        logit(fitted.transform(prediction).mean[:, 1]), curve(found), atol=1e-6
    )


def test_smooth_splines_are_lines():
    prediction, y = calibration_set(k=3, n=500)
    smooth = caveat.SplineCalibration(smoothness=1e9).fit_transform(prediction, y).mean
    platt = caveat.PlattScaling().fit_transform(prediction, y).mean
    np.testing.assert_allclose(smooth, platt, atol=1e-5)


def test_integrals_of_hats_against_quadrature():
    knots = np.array([-1.0, 0.5, 2.0])
    score = np.array([-3.0, -1.0, -0.2, 0.5, 1.9, 2.0, 4.0])
    grid = np.linspace(-5, 5, 2_000_001)
    for j in range(3):
        hat = np.interp(grid, knots, np.eye(3)[j])
        area = np.r_[0, np.cumsum((hat[1:] + hat[:-1]) / 2 * np.diff(grid))]
        expected = np.interp(score, grid, area) - np.interp(knots[0], grid, area)
        np.testing.assert_allclose(_integrals(score, knots)[:, j], expected, atol=1e-5)


def test_fewer_knots_than_asked_for():
    prediction = caveat.Categorical.from_binary([0.2] * 50 + [0.8] * 50)
    y = [0] * 35 + [1] * 15 + [1] * 40 + [0] * 10
    fitted = caveat.SplineCalibration().fit(prediction, y)
    assert len(np.unique(fitted.knots_)) == 2
    fixed = fitted.transform(prediction).mean[:, 1]
    # With the targets of 55 + 1 and 45 + 1: the mean target of each half.
    up, down = 56 / 57, 1 / 47
    np.testing.assert_allclose(fixed[0], (15 * up + 35 * down) / 50, atol=1e-6)
    np.testing.assert_allclose(fixed[-1], (40 * up + 10 * down) / 50, atol=1e-6)
    # So rare that no quantile sees the other value: one knot, and a line.
    rare = caveat.Categorical.from_binary([0.2] * 99 + [0.8])
    one = caveat.SplineCalibration().fit(rare, [0] * 60 + [1] * 40)
    assert len(np.unique(one.knots_)) == 1
    platt = caveat.PlattScaling().fit_transform(rare, [0] * 60 + [1] * 40)
    np.testing.assert_allclose(one.transform(rare).mean, platt.mean, atol=1e-8)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(
    "method", [caveat.BetaCalibration(), caveat.QuadraticScaling(), caveat.SplineCalibration()]
)
def test_what_is_calibrated_stays_nearly_so(method, k):
    train, y = calibration_set(k=k, n=3000, factor=1.0, seed=1)
    test, truth = calibration_set(k=k, n=20_000, factor=1.0, seed=2)
    fixed = method.fit(train, y).transform(test)
    assert log_loss(fixed, truth) < log_loss(test, truth) + 0.005


@pytest.mark.parametrize("method", [caveat.BetaCalibration(), caveat.SplineCalibration()])
def test_ranking_is_never_reversed(method):
    prediction, y = calibration_set(k=2, n=300)
    method.fit(prediction, y)
    grid = caveat.Categorical.from_binary(np.linspace(0, 1, 501))
    assert np.diff(method.transform(grid).mean[:, 1]).min() >= -1e-12


def test_newton_follows_a_bound_and_leaves_it():
    """A coefficient that starts at its bound and must not stay there."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=300), rng.normal(size=300), np.ones(300)])
    target = expit(x @ [1.0, -0.5, 0.2])
    found = newton(x, target, np.ones(300), positive=np.array([True, True, False]))
    free = newton(x[:, [0, 2]], target, np.ones(300))
    np.testing.assert_allclose(found, [free[0], 0.0, free[1]], atol=1e-9)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (caveat.BetaCalibration(eps=0.0), "eps must be a number above 0 and at most 0.1; got 0.0"),
        (caveat.QuadraticScaling(eps=1), "eps must be a number above 0 and at most 0.1; got 1"),
        (caveat.SplineCalibration(knots=1), "knots must be a whole number of at least 2; got 1"),
        (caveat.SplineCalibration(smoothness=-1), "smoothness must be a number of at least 0"),
        (caveat.ScalingBinning(bins=0), "bins must be a whole number of at least 1; got 0"),
        (caveat.StructuredMatrixScaling(regularization=0), "regularization must be a number above"),
        (caveat.StructuredVectorScaling(eps=2), "eps must be a number above 0 and at most 0.1"),
    ],
)
def test_bad_options(method, message):
    with pytest.raises(OptionError, match=message):
        method.fit(*calibration_set(n=10))


def test_scaling_binning_has_few_values_which_are_means_of_the_sigmoid():
    prediction, y = calibration_set(k=2, n=1000)
    fitted = caveat.ScalingBinning(bins=8).fit(prediction, y)
    platt = caveat.PlattScaling().fit_transform(prediction, y).mean[:, 1]
    fixed = fitted.transform(prediction).mean[:, 1]
    values, place, counts = np.unique(fixed, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(counts, 125)
    np.testing.assert_allclose(values, np.bincount(place, platt) / counts, atol=1e-12)
    np.testing.assert_allclose(fixed.mean(), platt.mean(), atol=1e-12)


def test_scaling_binning_varies_less_than_histogram_binning():
    """The reason for it: 200 sets of 100 samples; the mean squared distance to the truth."""
    errors = np.zeros(2)
    for seed in range(200):
        prediction, y = calibration_set(k=2, n=100, seed=seed, factor=1.7)
        truth = expit(logit(prediction.mean[:, 1]) / 1.7)
        for number, method in enumerate(
            (caveat.ScalingBinning(bins=10), caveat.HistogramBinning(bins=10))
        ):
            fixed = method.fit_transform(prediction, y).mean[:, 1]
            errors[number] += ((fixed - truth) ** 2).mean() / 200
    assert errors[0] < 0.6 * errors[1]
