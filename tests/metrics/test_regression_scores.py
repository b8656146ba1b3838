import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp
from sklearn.metrics import mean_pinball_loss

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import (
    coverage_ratio,
    gaussian_negative_log_likelihood_loss,
    interval_coverage,
    interval_loss,
    mean_interval_width,
    mixture_negative_log_likelihood_loss,
    pinball_loss,
)


def generic(samples=70_001, seed=0):
    """More than two blocks of samples, far from 0, with variances over some decades."""
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(80, 10, samples), rng.lognormal(1, 1.5, samples)
    y = mean + np.sqrt(variance) * rng.standard_t(4, samples)
    return y, mean, variance, rng.gamma(1.0, size=samples)


def mixture(members=5, samples=3_000, seed=1):
    rng = np.random.default_rng(seed)
    means = rng.normal(3, 2, (members, samples))
    return rng.normal(3, 3, samples), means, rng.lognormal(0, 1, (members, samples))


@pytest.fixture(scope="module")
def uct():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("uncertainty_toolbox", reason="a peer, in the test extra")


@pytest.fixture(scope="module")
def scoringrules():
    return pytest.importorskip("scoringrules", reason="a peer, in the test extra")


class TestGaussianLikelihood:
    def test_scipy(self):
        y, mean, variance, w = generic()
        each = -stats.norm.logpdf(y, mean, np.sqrt(variance))
        np.testing.assert_allclose(
            gaussian_negative_log_likelihood_loss(y, mean, variance, per_sample=True),
            each,
            rtol=1e-12,
            atol=1e-13,
        )
        assert gaussian_negative_log_likelihood_loss(y, mean, variance) == pytest.approx(
            each.mean(), rel=1e-12
        )
        assert gaussian_negative_log_likelihood_loss(
            y, mean, variance, sample_weight=w
        ) == pytest.approx(np.average(each, weights=w), rel=1e-12)

    def test_uncertainty_toolbox(self, uct):
        y, mean, variance, _ = generic()
        theirs = uct.nll_gaussian(mean, np.sqrt(variance), y, scaled=True)
        assert gaussian_negative_log_likelihood_loss(y, mean, variance) == pytest.approx(
            theirs, rel=1e-9
        )

    def test_squares_that_overflow_alone_do_not(self):
        loss = gaussian_negative_log_likelihood_loss([1e75], [0.0], [1e150])
        with mpmath.workdps(30):
            exact = mpmath.log(2 * mpmath.pi * mpmath.mpf(1e150)) / 2 + mpmath.mpf(1e75) ** 2 / (
                2 * mpmath.mpf(1e150)
            )
        assert loss == pytest.approx(float(exact), rel=1e-12)

    def test_a_density_of_zero_is_infinite_unless_it_does_not_count(self):
        y, mean, variance = [1e75, 0.0], [0.0, 0.0], [1e-200, 1.0]
        assert gaussian_negative_log_likelihood_loss(y, mean, variance) == np.inf
        counted = gaussian_negative_log_likelihood_loss(y, mean, variance, sample_weight=[0, 2])
        assert counted == gaussian_negative_log_likelihood_loss([0.0], [0.0], [1.0])

    def test_a_point_has_no_density(self):
        with pytest.raises(InvalidValueError, match="variance of sample 1 is 0: a point has no"):
            gaussian_negative_log_likelihood_loss([0.0, 0.0], [0.0, 0.0], [1.0, 0.0])
        with pytest.raises(InvalidValueError, match="variance of sample 0 is -1, below 0"):
            gaussian_negative_log_likelihood_loss([0.0], [0.0], [-1.0])


class TestMixtureLikelihood:
    def test_scipy(self):
        y, means, variances = mixture()
        logs = stats.norm.logpdf(y, means, np.sqrt(variances))
        expected = -logsumexp(logs, axis=0, b=1 / len(means))
        np.testing.assert_allclose(
            mixture_negative_log_likelihood_loss(y, means, variances, per_sample=True),
            expected,
            rtol=1e-12,
            atol=1e-14,
        )
        w = np.random.default_rng(0).random(len(y))
        assert mixture_negative_log_likelihood_loss(
            y, means, variances, sample_weight=w
        ) == pytest.approx(np.average(expected, weights=w), rel=1e-12)

    def test_one_member_is_a_gaussian(self):
        y, mean, variance, _ = generic(samples=500)
        assert mixture_negative_log_likelihood_loss(y, [mean], [variance]) == pytest.approx(
            gaussian_negative_log_likelihood_loss(y, mean, variance), rel=1e-13
        )

    def test_never_above_the_mean_of_the_members(self):
        y, means, variances = mixture()
        each = [
            gaussian_negative_log_likelihood_loss(y, m, v, per_sample=True)
            for m, v in zip(means, variances, strict=True)
        ]
        together = mixture_negative_log_likelihood_loss(y, means, variances, per_sample=True)
        assert (together <= np.mean(each, axis=0) + 1e-12).all()

    def test_one_member_that_knows_is_enough(self):
        # Densities of 0 beside one that is not: exp of the logarithms alone would underflow.
        loss = mixture_negative_log_likelihood_loss([1e4], [[0.0], [1e4 + 50]], [[1.0], [1.0]])
        expected = np.log(2) + 50**2 / 2 + np.log(2 * np.pi) / 2
        assert loss == pytest.approx(expected, rel=1e-14)

    def test_so_far_out_that_no_member_has_a_density(self):
        assert (
            mixture_negative_log_likelihood_loss([1e75], [[0.0], [1.0]], [[1e-200], [1e-200]])
            == np.inf
        )

    def test_input(self):
        ones = np.ones((2, 3))
        with pytest.raises(ShapeError, match=r"means must have shape \(members, samples\); got"):
            mixture_negative_log_likelihood_loss([0.0] * 3, np.ones(3), np.ones(3))
        with pytest.raises(ShapeError, match="the axis of members is the first"):
            mixture_negative_log_likelihood_loss([0.0] * 3, ones.T, ones.T)
        with pytest.raises(ShapeError, match="means and variances must have the same shape"):
            mixture_negative_log_likelihood_loss([0.0] * 3, ones, ones[:1])
        bad = ones.copy()
        bad[1, 2] = np.nan
        with pytest.raises(InvalidValueError, match="means of sample 2, member 1 is nan"):
            mixture_negative_log_likelihood_loss([0.0] * 3, bad, ones)
        with pytest.raises(InvalidValueError, match="variances of sample 2, member 1 is 0: a"):
            mixture_negative_log_likelihood_loss([0.0] * 3, ones, np.nan_to_num(bad))
        with pytest.raises(InvalidValueError, match="variances of sample 0, member 0 is -1"):
            mixture_negative_log_likelihood_loss([0.0] * 3, ones, -ones)


class TestPinball:
    @pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_scikit_learn(self, level, weighted):
        y, value, _, w = generic()
        w = w if weighted else None
        assert pinball_loss(y, value, level=level, sample_weight=w) == pytest.approx(
            mean_pinball_loss(y, value, alpha=level, sample_weight=w), rel=1e-12
        )

    def test_least_at_the_quantile(self):
        y = np.random.default_rng(0).gamma(2.0, size=999)
        grid = np.sort(y)
        losses = [pinball_loss(y, np.full_like(y, q), level=0.3) for q in grid]
        assert grid[np.argmin(losses)] == np.quantile(y, 0.3, method="inverted_cdf")

    @pytest.mark.parametrize("level", [0, 1, np.nan, "half", None])
    def test_level(self, level):
        with pytest.raises(OptionError, match="level must be a number strictly between 0 and 1"):
            pinball_loss([1.0], [1.0], level=level)

    def test_names_its_argument(self):
        with pytest.raises(ShapeError, match="value has 2 samples, y_true has 1"):
            pinball_loss([1.0], [1.0, 2.0], level=0.5)


class TestIntervals:
    def test_scoringrules(self, scoringrules):
        y, mean, variance, w = generic()
        lower, upper = mean - np.sqrt(variance), mean + 2 * np.sqrt(variance)
        theirs = scoringrules.interval_score(y, lower, upper, 0.2)
        np.testing.assert_allclose(
            interval_loss(y, lower, upper, coverage=0.8, per_sample=True), theirs, rtol=1e-9
        )
        assert interval_loss(y, lower, upper, coverage=0.8, sample_weight=w) == pytest.approx(
            np.average(theirs, weights=w), rel=1e-12
        )

    def test_uncertainty_toolbox(self, uct):
        # Theirs is the mean over some coverages of the score of Gaussian central intervals.
        y, mean, variance, _ = generic(samples=2_000)
        deviation = np.sqrt(variance)
        theirs = uct.interval_score(mean, deviation, y, start_p=0.1, end_p=0.9, resolution=9)
        ours = []
        for coverage in np.linspace(0.1, 0.9, 9):
            half = stats.norm.ppf((1 + coverage) / 2) * deviation
            ours.append(interval_loss(y, mean - half, mean + half, coverage=coverage))
        assert np.mean(ours) == pytest.approx(theirs, rel=1e-9)

    def test_twice_the_pinball_losses_of_the_ends_over_alpha(self):
        y, mean, variance, _ = generic()
        lower, upper = mean - np.sqrt(variance), mean + 2 * np.sqrt(variance)
        ends = pinball_loss(y, lower, level=0.1) + pinball_loss(y, upper, level=0.9)
        assert interval_loss(y, lower, upper, coverage=0.8) == pytest.approx(
            2 / 0.2 * ends, rel=1e-12
        )

    def test_weighted_interval_score_of_scoringrules_without_numba_is_not_one(self, scoringrules):
        # It adds the median where the formula has its absolute error; ours put together is right.
        rng = np.random.default_rng(0)
        y, middle = rng.normal(5, 1, 50), rng.normal(5, 1, 50)
        lower, upper = middle[:, None] - [1.0, 2.0], middle[:, None] + [1.0, 2.0]
        alpha = np.array([0.5, 0.1])
        levels = [*(alpha / 2), 0.5, *(1 - alpha / 2)]
        quantiles = [*lower.T, middle, *upper.T]
        expected = (
            2
            * sum(
                pinball_loss(y, q, level=level) for q, level in zip(quantiles, levels, strict=True)
            )
            / (2 * len(alpha) + 1)
        )
        ends = zip(lower.T, upper.T, alpha, strict=True)
        ours = sum(a / 2 * interval_loss(y, low, up, coverage=1 - a) for low, up, a in ends)
        ours = (ours + 0.5 * np.abs(y - middle).mean()) / (len(alpha) + 0.5)
        assert ours == pytest.approx(expected, rel=1e-12)
        theirs = scoringrules.weighted_interval_score(
            y, middle, lower, upper, alpha, backend="numpy"
        )
        assert np.mean(theirs) != pytest.approx(expected, rel=1e-2)

    def test_coverage_and_width(self):
        y, mean, variance, w = generic()
        lower, upper = mean - np.sqrt(variance), mean + 2 * np.sqrt(variance)
        inside = np.array([low <= t <= up for low, t, up in zip(lower, y, upper, strict=True)])
        np.testing.assert_array_equal(interval_coverage(y, lower, upper, per_sample=True), inside)
        assert interval_coverage(y, lower, upper) == pytest.approx(inside.mean(), rel=1e-14)
        expected = np.average(inside, weights=w)
        assert interval_coverage(y, lower, upper, sample_weight=w) == pytest.approx(expected)
        assert coverage_ratio(y, lower, upper, coverage=0.6827, sample_weight=w) == pytest.approx(
            expected / 0.6827, rel=1e-12
        )
        assert mean_interval_width(y, lower, upper) == pytest.approx(
            3 * np.sqrt(variance).mean(), rel=1e-12
        )
        np.testing.assert_array_equal(
            mean_interval_width(y, lower, upper, per_sample=True), upper - lower
        )

    def test_one_and_two_sigma_of_a_gaussian(self):
        # Quantiles of the Gaussian itself: the ratio of the report is 1 to the grid's resolution.
        y = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
        for sigmas, nominal in ((1, 0.6827), (2, 0.9545)):
            ends = np.full(len(y), float(sigmas))
            assert coverage_ratio(y, -ends, ends, coverage=nominal) == pytest.approx(1, abs=2e-4)

    def test_ends_belong_to_the_interval(self):
        assert interval_coverage([1.0, 2.0], [1.0, 1.0], [2.0, 2.0]) == 1.0

    def test_infinite_ends(self):
        y = [0.0, 0.0, 0.0]
        lower, upper = [-np.inf, -1.0, -1.0], [1.0, np.inf, 1.0]
        assert interval_coverage(y, lower, upper) == 1.0
        assert mean_interval_width(y, lower, upper) == np.inf
        assert mean_interval_width(y, lower, upper, sample_weight=[0, 0, 1]) == 2.0
        assert interval_loss(y, lower, upper, coverage=0.9) == np.inf
        assert interval_loss(y, lower, upper, coverage=0.9, sample_weight=[0, 0, 1]) == 2.0

    def test_both_ends_at_one_infinity(self):
        width = mean_interval_width([0.0], [np.inf], [np.inf])
        assert width == 0.0
        assert interval_loss([0.0], [np.inf], [np.inf], coverage=0.9) == np.inf
        assert interval_loss([0.0], [-np.inf], [-np.inf], coverage=0.9) == np.inf

    def test_input(self):
        with pytest.raises(InvalidValueError, match="lower of sample 1 is 2, above upper 1; swap"):
            interval_coverage([0.0, 0.0], [0.0, 2.0], [1.0, 1.0])
        with pytest.raises(InvalidValueError, match="upper of sample 0 is nan"):
            mean_interval_width([0.0], [0.0], [np.nan])
        with pytest.raises(InvalidValueError, match="y_true of sample 0 is inf"):
            interval_coverage([np.inf], [0.0], [np.inf])
        with pytest.raises(ShapeError, match="upper has 1 samples, y_true has 2"):
            interval_loss([0.0, 0.0], [0.0, 0.0], [1.0], coverage=0.9)
        for metric in (interval_loss, coverage_ratio):
            with pytest.raises(OptionError, match="coverage must be a number strictly between"):
                metric([0.0], [0.0], [1.0], coverage=1.0)


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10), st.floats(0, 5)), min_size=1),
    st.floats(0.01, 0.99),
)
def test_a_loss_is_never_below_the_width(rows, coverage):
    y, lower, width = np.array(rows).T
    upper = lower + width
    loss = interval_loss(y, lower, upper, coverage=coverage)
    assert loss >= mean_interval_width(y, lower, upper) - 1e-12
    if interval_coverage(y, lower, upper) == 1:
        assert loss == mean_interval_width(y, lower, upper)
