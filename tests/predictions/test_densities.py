"""Kernel densities of intervals and regions of highest density, against sampling and closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import gaussian_kde, norm

import caveat
from caveat.exceptions import InvalidValueError, OptionError
from caveat.predictions.kernel_density import bandwidth, unit_cdf

LEVELS = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]


def test_the_cdf_is_an_integral():
    h = bandwidth(50)
    for x in (-0.5, 0.0, 0.3, 1.2):
        mean = quad(lambda u, x=x: norm.cdf((x - u) / h), 0, 1)[0]
        assert unit_cdf(np.array(x), h) == pytest.approx(mean, abs=1e-9)


def test_quantiles_are_those_of_a_density_of_many_points():
    """Many estimates of 100 points each, whose average the quantiles are of."""
    rng = np.random.default_rng(0)
    interval = caveat.Interval([10.0], [14.0], coverage=0.9)
    values = interval.to_quantiles(LEVELS).values[0, 0, 0]
    count = 400
    found = np.zeros(len(LEVELS))
    for _ in range(count):
        points = 10 + 4 * rng.random(100)
        # scipy's bandwidth is Scott's factor times the spread of the points themselves.
        density = gaussian_kde(points, bandwidth(100) * 4 / points.std(ddof=1))
        found += [density.integrate_box_1d(-np.inf, value) for value in values]
    # The mean of 40,000 points: a standard error of at most 0.5 / 200.
    np.testing.assert_allclose(found / count, LEVELS, atol=4 * 0.5 / np.sqrt(count * 100))


def test_moments_of_the_density():
    levels = (np.arange(4000) + 0.5) / 4000
    made = caveat.Interval([-1.0], [5.0], coverage=0.5).to_quantiles(levels, samples=30)
    values = made.values[0, 0, 0]
    assert values.mean() == pytest.approx(2.0, abs=1e-9)
    expected = 36 * (1 + 30 ** (-2 / 5)) / 12
    assert values.var() == pytest.approx(expected, rel=2e-3)  # the ends have few levels


def test_targets_are_kept():
    interval = caveat.Interval([[0.0, 5.0]], [[1.0, 9.0]], coverage=0.9, targets=["a", "b"])
    made = interval.to_quantiles([0.5])
    np.testing.assert_allclose(made.values[0, 0, :, 0], [0.5, 7.0])
    assert made.targets.tolist() == ["a", "b"]
    flat = caveat.Interval([2.0], [2.0], coverage=0.9).to_quantiles(LEVELS).values
    np.testing.assert_allclose(flat, 2.0)


def test_intervals_without_a_density():
    with pytest.raises(InvalidValueError, match=r"no density has such an interval.*to_quantiles"):
        caveat.Interval([0.0], [np.inf], coverage=0.9).to_quantiles([0.5])
    with pytest.raises(OptionError, match="samples must be a whole number"):
        caveat.Interval([0.0], [1.0], coverage=0.9).to_quantiles([0.5], samples=1)


@pytest.mark.parametrize("coverage", [0.1, 0.6827, 0.9545, 0.999])
def test_one_member_has_its_central_interval(coverage):
    prediction = caveat.Gaussian([[1.0, 2.0], [3.0, 4.0]], [[1.0, 4.0], [1e-8, 1e8]])
    central = prediction.interval(coverage)
    made = prediction.highest_density_width(coverage)
    np.testing.assert_allclose(made, central.upper - central.lower, rtol=2e-3)


def test_modes_that_are_apart():
    """Far apart, a point has the density of its own mode: thresholds are found by themselves."""
    narrow, wide, coverage = 1.0, 3.0, 0.9
    prediction = caveat.Gaussian.from_members([[0.0], [1000.0]], [[narrow**2], [wide**2]])

    def half(threshold, std):
        peak = norm.pdf(0) / std / 2
        return std * np.sqrt(2 * np.log(peak / threshold)) if threshold < peak else 0.0

    def excess(log):
        inside = [2 * norm.cdf(half(np.exp(log), s) / s) - 1 for s in (narrow, wide)]
        return np.mean(inside) - coverage

    threshold = np.exp(brentq(excess, -20, np.log(norm.pdf(0) / 2) - 1e-9))
    expected = 2 * half(threshold, narrow) + 2 * half(threshold, wide)
    made = prediction.highest_density_width(coverage)[0, 0]
    assert made == pytest.approx(expected, rel=2e-3)
    assert made < 0.05 * (prediction.interval(coverage).upper - prediction.interval(coverage).lower)


def test_modes_that_overlap():
    """Against the shortest union of cells of a fine histogram of samples."""
    rng = np.random.default_rng(0)
    mean, std = np.array([0.0, 2.5, 3.0]), np.array([1.0, 0.4, 2.0])
    prediction = caveat.Gaussian.from_members(mean[:, None], std[:, None] ** 2)
    which = rng.integers(3, size=2_000_000)
    draws = mean[which] + std[which] * rng.standard_normal(len(which))
    counts, edges = np.histogram(draws, bins=1200, range=(-10, 14))
    held = np.cumsum(np.sort(counts)[::-1]) / len(draws)
    for coverage in (0.5, 0.9):
        expected = (np.searchsorted(held, coverage) + 1) * (edges[1] - edges[0])
        made = prediction.highest_density_width(coverage)[0, 0]
        assert made == pytest.approx(expected, rel=0.02)


def test_rows_do_not_depend_on_others():
    rng = np.random.default_rng(0)
    prediction = caveat.Gaussian(rng.normal(size=(4, 500, 2)), rng.uniform(0.1, 2, (4, 500, 2)))
    made = prediction.highest_density_width(0.8)
    np.testing.assert_allclose(
        prediction.take([7, 499]).highest_density_width(0.8), made[[7, 499]], rtol=1e-12
    )


def test_points_have_no_density():
    with pytest.raises(OptionError, match="a member is a point"):
        caveat.Gaussian.from_members([[0.0], [1.0]]).highest_density_width(0.9)


def test_members_that_are_too_far_apart():
    with pytest.raises(InvalidValueError, match=r"1e\+10 standard deviations apart in row 1"):
        caveat.Gaussian.from_members([[0.0, 0.0], [1.0, 1e12]], 1.0).highest_density_width(0.9)
    one = caveat.Gaussian([1e70], [1.0]).highest_density_width(0.5)
    assert one[0, 0] == pytest.approx(2 * norm.ppf(0.75), rel=2e-3)
