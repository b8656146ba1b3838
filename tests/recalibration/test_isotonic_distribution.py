import pickle
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import InvalidValueError, OptionError
from caveat.recalibration.isotonic_distribution import IsotonicDistribution

RNG = np.random.default_rng(12)
MEAN, STD = RNG.normal(size=(50, 2)), RNG.gamma(2.0, size=(50, 2)) + 0.1
Y = MEAN + STD * RNG.standard_t(3, size=(50, 2)) * [2.0, 0.3] + STD * [0.5, -0.2]
PREDICTION = caveat.Gaussian.from_std(MEAN, STD, targets=["a", "b"])


def standard(count):
    return caveat.Gaussian(np.zeros(count), 1.0)


def curve_of(isotonic, target=0):
    """R as a function of u, from what was learned."""
    u = np.r_[0.0, norm.cdf(isotonic.residuals_[target]), 1.0]
    heights = np.r_[0.0, isotonic.probabilities_[target], 1.0]
    return lambda values: np.interp(values, u, heights)


def literal_moments(residuals):
    """Mean and variance of R(Phi(z)), by the truncated Gaussians' closed form with 60 digits."""
    points, counts = np.unique(residuals, return_counts=True)
    heights = np.r_[0.0, (np.cumsum(counts) - counts / 2) / len(residuals), 1.0]
    ends = [-mpmath.inf, *(mpmath.mpf(float(p)) for p in points), mpmath.inf]
    first = second = mpmath.mpf(0)
    with mpmath.workdps(60):
        for i, (low, high) in enumerate(pairwise(ends)):
            share = mpmath.mpf(float(heights[i + 1])) - mpmath.mpf(float(heights[i]))
            # In the upper tail, one minus the other function has no digits left.
            sign = -1 if low > 0 else 1
            if sign < 0:
                low, high = -high, -low
            inside = mpmath.ncdf(high) - mpmath.ncdf(low)
            densities = [mpmath.npdf(e) if mpmath.isfinite(e) else 0 for e in (low, high)]
            scaled = [e * d if d else 0 for e, d in zip((low, high), densities, strict=True)]
            first += sign * share * (densities[0] - densities[1]) / inside
            second += share * (1 + (scaled[0] - scaled[1]) / inside)
        return float(first), float(second - first**2)


def test_curve_is_an_isotonic_regression_of_the_observed_shares():
    isotonic = IsotonicDistribution().fit(PREDICTION, Y)
    for target in range(2):
        u = norm.cdf(Y[:, target], MEAN[:, target], STD[:, target])
        shares = (u[:, None] >= u).mean(axis=1)
        grid = np.linspace(u.min(), u.max(), 300)
        kuleshov = IsotonicRegression(out_of_bounds="clip").fit(u, shares).predict(grid)
        # His curve counts a sample fully where it stands, ours by half, so that both tails count.
        np.testing.assert_allclose(
            curve_of(isotonic, target)(grid), kuleshov - 0.5 / 50, atol=1e-12
        )


def test_equals_netcal():
    netcal = pytest.importorskip("netcal.regression")
    isotonic = IsotonicDistribution().fit(PREDICTION, Y)
    peer = netcal.IsotonicRegression().fit((MEAN, STD), Y)
    points, _, probabilities = peer.transform((MEAN, STD), t=200)
    for target in range(2):
        residuals = isotonic.residuals_[target]
        scores = (points[..., target] - MEAN[:, target]) / STD[:, target]
        inside = (scores >= residuals[0]) & (scores <= residuals[-1])
        found = curve_of(isotonic, target)(norm.cdf(scores[inside]))
        # netcal counts a sample fully where it stands, and keeps 1e-7 away from 0 and 1.
        np.testing.assert_allclose(found, probabilities[..., target][inside] - 0.5 / 50, atol=2e-7)


def test_quantiles_equal_uncertainty_toolbox():
    toolbox = pytest.importorskip("uncertainty_toolbox.recalibration")
    isotonic = IsotonicDistribution(output="quantiles").fit(PREDICTION, Y)
    u = np.r_[0.0, norm.cdf(isotonic.residuals_[0]), 1.0]
    model = toolbox.iso_recal(u, np.r_[0.0, isotonic.probabilities_[0], 1.0])
    found = isotonic.transform(standard_two(1))
    np.testing.assert_allclose(
        norm.cdf(found.values[0, 0, 0]), model.predict(found.levels), rtol=1e-9
    )


def standard_two(count):
    return caveat.Gaussian(np.zeros((count, 2)), 1.0, targets=["a", "b"])


@pytest.mark.parametrize(
    "residuals",
    [
        [0.3],
        [0.0],
        [-2.0, -1.0, -0.5],
        [1.0, 2.0, 3.0, 4.0],
        [0.0, 0.0, 1.0],
        [7.0] * 5,
        [-40.0, 0.1, 1e-9, 60.0, 60.001],
        [1000.0, 1000.5, 1003.0],
        [-1e-12, 1e-12],
        [-12.0, -11.0, 5.0, 30.0],
        Y[:, 0],
    ],
)
def test_moments_equal_the_closed_form(residuals):
    residuals = np.asarray(residuals)
    isotonic = IsotonicDistribution().fit(standard(len(residuals)), residuals)
    mean, variance = literal_moments(residuals)
    assert isotonic.shift_[0] == pytest.approx(mean, rel=1e-12, abs=1e-13)
    assert isotonic.scale_[0] ** 2 == pytest.approx(variance, rel=1e-12)


def test_moments_equal_a_numeric_integral_of_the_distribution_function():
    isotonic = IsotonicDistribution().fit(PREDICTION, Y)
    repaired = isotonic.transform(PREDICTION)
    curve, mean, std = curve_of(isotonic, 1), MEAN[7, 1], STD[7, 1]
    knots = mean + std * isotonic.residuals_[1]
    edges = np.r_[mean - 40 * std, knots[0] - 8 * std, knots, knots[-1] + 8 * std, mean + 40 * std]
    edges = np.unique(np.r_[edges, 0.0])

    def integral(function):
        return sum(quad(function, a, b, epsabs=1e-13, epsrel=1e-12)[0] for a, b in pairwise(edges))

    # E[X] and E[X^2] from the distribution function alone, split at 0.
    below = integral(lambda x: curve(norm.cdf(x, mean, std)) if x < 0 else 0.0)
    above = integral(lambda x: 1 - curve(norm.cdf(x, mean, std)) if x > 0 else 0.0)
    second = integral(
        lambda x: (
            2
            * abs(x)
            * (curve(norm.cdf(x, mean, std)) if x < 0 else 1 - curve(norm.cdf(x, mean, std)))
        )
    )
    assert repaired.mean[0, 7, 1] == pytest.approx(above - below, rel=1e-9)
    assert repaired.variance[0, 7, 1] == pytest.approx(second - (above - below) ** 2, rel=1e-8)


def test_every_prediction_is_shifted_and_stretched_alike():
    isotonic = IsotonicDistribution().fit(PREDICTION, Y)
    new = caveat.Gaussian([[1.0, 2.0], [3.0, 4.0]], [[4.0, 9.0], [0.0, 1.0]], targets=["a", "b"])
    repaired = isotonic.transform(new)
    np.testing.assert_allclose(
        repaired.mean[0], new.mean[0] + np.sqrt(new.variance[0]) * isotonic.shift_, rtol=1e-14
    )
    np.testing.assert_allclose(repaired.variance[0], new.variance[0] * isotonic.scale_**2)
    assert repaired.variance[0, 1, 0] == 0


def test_a_bias_is_repaired_so_errors_of_the_mean_change():
    y = MEAN + 1.5 * STD + 0.1 * STD * RNG.normal(size=MEAN.shape)
    repaired = IsotonicDistribution().fit_transform(PREDICTION, y)
    assert np.abs(repaired.mean[0] - y).mean() < 0.2 * np.abs(MEAN - y).mean()


def test_calibrated_predictions_hardly_change():
    prediction, y = standard(20_000), np.random.default_rng(1).normal(size=20_000)
    isotonic = IsotonicDistribution().fit(prediction, y)
    # Standard errors of a mean and of a standard deviation, five of them.
    assert abs(isotonic.shift_[0]) < 5 / np.sqrt(20_000)
    assert abs(isotonic.scale_[0] - 1) < 5 / np.sqrt(2 * 20_000)


def test_perfect_shares_change_nothing():
    # u at the middles of equal shares: R is the identity.
    residuals = norm.ppf((np.arange(40) + 0.5) / 40)
    isotonic = IsotonicDistribution().fit(standard(40), residuals)
    assert isotonic.shift_[0] == pytest.approx(0, abs=1e-14)
    assert isotonic.scale_[0] == pytest.approx(1, rel=1e-14)


def test_reversing_the_sign_reverses_the_result():
    repaired = IsotonicDistribution().fit_transform(PREDICTION, Y)
    mirrored = caveat.Gaussian(-MEAN, STD**2, targets=["a", "b"])
    other = IsotonicDistribution().fit_transform(mirrored, -Y)
    np.testing.assert_allclose(other.mean, -repaired.mean, rtol=1e-12)
    np.testing.assert_allclose(other.variance, repaired.variance, rtol=1e-12)


def test_the_curve_is_as_close_to_the_truth_as_promised():
    # Dvoretzky-Kiefer-Wolfowitz: at most 20 % of curves are farther than this from the truth.
    count, sets = 40, 300
    epsilon = np.sqrt(np.log(2 / 0.2) / (2 * count))
    grid = np.linspace(0, 1, 2001)
    truth = norm.cdf(norm.ppf(grid) / 2)  # y is twice as wide as predicted
    worst = [
        np.abs(curve_of(IsotonicDistribution().fit(standard(count), y))(grid) - truth).max()
        for y in 2 * np.random.default_rng(2).normal(size=(sets, count))
    ]
    assert (np.array(worst) > epsilon + 0.5 / count).sum() <= binom.ppf(1 - 1e-6, sets, 0.2)


class TestQuantiles:
    def test_levels(self):
        isotonic = IsotonicDistribution(output="quantiles").fit(PREDICTION, Y)
        np.testing.assert_allclose(isotonic.transform(PREDICTION).levels, np.arange(1, 20) / 20)
        isotonic.set_params(levels=[0.1, 0.9]).fit(PREDICTION, Y)
        assert isotonic.transform(PREDICTION).levels.tolist() == [0.1, 0.9]
        start = PREDICTION.to_quantiles([0.1587, 0.5, 0.8413])
        found = IsotonicDistribution(output="quantiles").fit_transform(start, Y)
        np.testing.assert_array_equal(found.levels, start.levels)

    def test_are_where_the_curve_reaches_the_level(self):
        levels = np.r_[0.001, np.arange(1, 100) / 100, 0.999]
        isotonic = IsotonicDistribution(output="quantiles", levels=levels).fit(PREDICTION, Y)
        values = isotonic.transform(PREDICTION).values[0]
        for target in range(2):
            u = norm.cdf(values[..., target, :], MEAN[:, [target]], STD[:, [target]])
            np.testing.assert_allclose(
                curve_of(isotonic, target)(u), np.broadcast_to(levels, u.shape), atol=1e-12
            )

    def test_at_a_knot_is_the_residual_itself(self):
        isotonic = IsotonicDistribution(output="quantiles", levels=[0.125, 0.375, 0.625, 0.875])
        isotonic.fit(standard(4), [-50.0, 0.0, 3.0, 1000.0])
        found = isotonic.transform(standard(1)).values.ravel()
        np.testing.assert_allclose(found, [-50.0, 0.0, 3.0, 1000.0], rtol=1e-12, atol=1e-15)

    def test_far_out_keep_their_digits(self):
        isotonic = IsotonicDistribution(output="quantiles", levels=[0.5, 0.75])
        found = isotonic.fit(standard(2), [100.0, 101.0]).transform(standard(1)).values.ravel()
        with mpmath.workdps(40):
            # Tails on a scale of exp(-5000): only logarithms can add them.
            tails = [mpmath.ncdf(-z) for z in (100, 101)]
            middle = mpmath.log((tails[0] + tails[1]) / 2)
            assert float(mpmath.log(mpmath.ncdf(-mpmath.mpf(float(found[0]))))) == pytest.approx(
                float(middle), rel=1e-13
            )
        assert found[1] == pytest.approx(101.0, rel=1e-14)

    @settings(max_examples=60, deadline=None)
    @given(
        residuals=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=12),
        levels=st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=5, unique=True),
    )
    def test_increase_and_stay_between_neighbors(self, residuals, levels):
        levels = sorted(levels)
        isotonic = IsotonicDistribution(output="quantiles", levels=levels)
        isotonic.fit(standard(len(residuals)), residuals)
        found = isotonic.transform(standard(1)).values.ravel()
        assert (np.diff(found) >= 0).all()
        ends = np.r_[-np.inf, isotonic.residuals_[0], np.inf]
        place = np.searchsorted(isotonic.probabilities_[0], levels)
        assert (found >= ends[place]).all()
        assert (found <= ends[place + 1]).all()
        assert np.isfinite([isotonic.shift_[0], isotonic.scale_[0]]).all()


def test_members_count_as_the_gaussian_with_their_moments():
    means, variances = RNG.normal(size=(4, 50, 2)), RNG.gamma(2.0, size=(4, 50, 2))
    several = caveat.Gaussian(means, variances)
    one = caveat.Gaussian(*several.moments())
    assert IsotonicDistribution().fit_transform(several, Y) == IsotonicDistribution().fit_transform(
        one, Y
    )


def test_quantiles_go_through_the_gaussian_of_their_interval():
    levels = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]
    prediction = caveat.Quantiles(levels, np.sort(RNG.normal(size=(50, 2, 5)), axis=-1))
    for level in (0.6827, 0.9545):
        found = IsotonicDistribution(level=level).fit_transform(prediction, Y)
        assert found == IsotonicDistribution().fit_transform(prediction.to_gaussian(level), Y)


def test_weights_are_repetitions_and_the_order_does_not_matter():
    y = np.round(Y)  # with ties
    prediction = standard_two(50)
    weight = RNG.integers(0, 4, size=50)
    rows = np.repeat(np.arange(50), weight)
    weighted = IsotonicDistribution().fit(prediction, y, sample_weight=weight)
    repeated = IsotonicDistribution().fit(prediction.take(rows), y[rows])
    for target in range(2):
        np.testing.assert_array_equal(weighted.residuals_[target], repeated.residuals_[target])
        np.testing.assert_allclose(
            weighted.probabilities_[target], repeated.probabilities_[target], rtol=1e-14
        )
    fractions = RNG.random(50)
    order = RNG.permutation(50)
    first = IsotonicDistribution().fit(prediction, y, sample_weight=fractions)
    second = IsotonicDistribution().fit(prediction, y[order], sample_weight=fractions[order])
    assert first.shift_.tolist() == second.shift_.tolist()
    assert first.scale_.tolist() == second.scale_.tolist()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"level": 0}, OptionError, "level must be a number strictly between 0 and 1; got 0"),
        (
            {"output": "mean"},
            OptionError,
            "output must be one of 'gaussian', 'quantiles'; got 'mean'",
        ),
        ({"levels": [0.5, 0.2]}, OptionError, "levels must increase"),
    ],
)
def test_options(options, error, text):
    with pytest.raises(error, match=text):
        IsotonicDistribution(**options).fit(PREDICTION, Y)


def test_a_sample_without_variance():
    with pytest.raises(InvalidValueError, match="predicted variance of sample 1 is 0"):
        IsotonicDistribution().fit(caveat.Gaussian([0.0, 0.0], [1.0, 0.0]), [1.0, 1.0])


def test_is_an_estimator():
    isotonic = IsotonicDistribution(levels=[0.1, 0.9]).fit(PREDICTION, Y)
    assert clone(isotonic).get_params() == {
        "level": 0.6827,
        "levels": [0.1, 0.9],
        "output": "gaussian",
    }
    copy = pickle.loads(pickle.dumps(isotonic))
    assert copy.transform(PREDICTION) == isotonic.transform(PREDICTION)
    pipeline = make_pipeline(IsotonicDistribution(), IsotonicDistribution()).fit(PREDICTION, Y)
    assert isinstance(pipeline.transform(PREDICTION), caveat.Gaussian)


def test_groups():
    groups = np.arange(50) % 2
    isotonic = IsotonicDistribution(output="quantiles").fit(PREDICTION, Y, groups=groups)
    found = isotonic.transform(PREDICTION, groups=groups)
    rows = groups == 1
    alone = IsotonicDistribution(output="quantiles").fit_transform(PREDICTION.take(rows), Y[rows])
    assert found.take(rows) == alone
