import itertools
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import (
    ensemble_crps_loss,
    gaussian_crps_loss,
    mixture_crps_loss,
    pinball_loss,
    quantile_crps_loss,
)


def generic(samples=70_001, seed=0):
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(80, 10, samples), rng.lognormal(1, 1.5, samples)
    y = mean + np.sqrt(variance) * rng.standard_t(4, samples)
    return y, mean, variance, rng.gamma(1.0, size=samples)


def ensemble(members=7, samples=11_000, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(50, 3, samples), rng.normal(50, 2, (members, samples))


@pytest.fixture(scope="module")
def scoringrules():
    return pytest.importorskip("scoringrules", reason="a peer, in the test extra")


@pytest.fixture(scope="module")
def properscoring():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("properscoring", reason="a peer, in the test extra")


class TestGaussian:
    def test_scoringrules(self, scoringrules):
        y, mean, variance, w = generic()
        theirs = scoringrules.crps_normal(y, mean, np.sqrt(variance), backend="numpy")
        np.testing.assert_allclose(
            gaussian_crps_loss(y, mean, variance, per_sample=True), theirs, rtol=1e-9
        )
        assert gaussian_crps_loss(y, mean, variance) == pytest.approx(theirs.mean(), rel=1e-12)
        assert gaussian_crps_loss(y, mean, variance, sample_weight=w) == pytest.approx(
            np.average(theirs, weights=w), rel=1e-12
        )

    def test_properscoring(self, properscoring):
        y, mean, variance, _ = generic(samples=2_000)
        theirs = properscoring.crps_gaussian(y, mean, np.sqrt(variance))
        np.testing.assert_allclose(
            gaussian_crps_loss(y, mean, variance, per_sample=True), theirs, rtol=1e-9
        )

    def test_uncertainty_toolbox(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            uct = pytest.importorskip("uncertainty_toolbox", reason="a peer, in the test extra")
        y, mean, variance, _ = generic(samples=2_000)
        theirs = uct.crps_gaussian(mean, np.sqrt(variance), y, scaled=True)
        assert gaussian_crps_loss(y, mean, variance) == pytest.approx(theirs, rel=1e-9)

    @pytest.mark.parametrize("score", [0.0, 1e-9, 0.3, 2.0, 9.0, 40.0])
    def test_many_digits(self, score):
        with mpmath.workdps(40):
            z = mpmath.mpf(score)
            exact = z * (2 * mpmath.ncdf(z) - 1) + 2 * mpmath.npdf(z) - 1 / mpmath.sqrt(mpmath.pi)
            exact = float(3 * exact)
        assert gaussian_crps_loss([3 * score], [0.0], [9.0]) == pytest.approx(exact, rel=1e-14)

    def test_a_point_has_the_absolute_error(self):
        y, mean = [0.0, 3.0, 1e-30], [1.0, 3.0, 0.0]
        each = gaussian_crps_loss(y, mean, [0.0] * 3, per_sample=True)
        np.testing.assert_allclose(each, [1.0, 0.0, 1e-30], rtol=1e-12, atol=1e-150)

    @given(st.floats(0, 1e-6))
    def test_the_point_is_the_limit(self, variance):
        assert gaussian_crps_loss([2.0], [1.0], [variance]) == pytest.approx(
            1 - np.sqrt(variance / np.pi), rel=1e-12
        )

    def test_negative_variance(self):
        with pytest.raises(InvalidValueError, match="square standard deviations first"):
            gaussian_crps_loss([0.0], [0.0], [-1.0])


class TestMixture:
    def test_the_integral(self):
        rng = np.random.default_rng(0)
        y, means = rng.normal(size=4), rng.normal(0, 2, (3, 4))
        variances = rng.lognormal(0, 1, (3, 4))
        for i, score in enumerate(mixture_crps_loss(y, means, variances, per_sample=True)):
            parts = list(zip(means[:, i], np.sqrt(variances[:, i]), strict=True))

            def gap(x, parts=parts, truth=y[i]):
                cdf = mpmath.fsum(mpmath.ncdf((x - m) / s) for m, s in parts) / len(parts)
                return (cdf - (x >= truth)) ** 2

            knots = sorted([-40, 40, y[i], *means[:, i]])
            with mpmath.workdps(15):
                exact = mpmath.quad(gap, knots)
            assert score == pytest.approx(float(exact), rel=1e-10)

    def test_scoringrules(self, scoringrules):
        rng = np.random.default_rng(3)
        y, means = rng.normal(size=9_000), rng.normal(0, 2, (6, 9_000))
        variances = rng.lognormal(0, 1, (6, 9_000))
        theirs = scoringrules.crps_mixnorm(
            y, means, np.sqrt(variances), np.full_like(means, 1 / 6), m_axis=0, backend="numpy"
        )
        np.testing.assert_allclose(
            mixture_crps_loss(y, means, variances, per_sample=True), theirs, rtol=1e-9, atol=1e-12
        )

    def test_one_member_is_a_gaussian(self):
        y, mean, variance, _ = generic(samples=500)
        np.testing.assert_allclose(
            mixture_crps_loss(y, [mean], [variance], per_sample=True),
            gaussian_crps_loss(y, mean, variance, per_sample=True),
            rtol=1e-13,
        )

    def test_equal_members_are_one(self):
        y, mean, variance, _ = generic(samples=500)
        np.testing.assert_allclose(
            mixture_crps_loss(y, [mean] * 4, [variance] * 4, per_sample=True),
            gaussian_crps_loss(y, mean, variance, per_sample=True),
            rtol=1e-11,
        )

    def test_points_are_an_ensemble(self):
        y, x = ensemble()
        np.testing.assert_allclose(
            mixture_crps_loss(y, x, np.zeros_like(x), per_sample=True),
            ensemble_crps_loss(y, x, per_sample=True),
            rtol=1e-11,
            atol=1e-13,
        )

    def test_more_members_than_a_block_has_numbers(self):
        rng = np.random.default_rng(0)
        means = rng.normal(size=(200, 3))
        theirs = mixture_crps_loss([0.0] * 3, means, np.ones_like(means), per_sample=True)
        each = [mixture_crps_loss([0.0], means[:, [i]], np.ones((200, 1))) for i in range(3)]
        np.testing.assert_allclose(theirs, each, rtol=1e-12)


class TestEnsemble:
    def test_all_pairs(self):
        y, x = ensemble(members=5, samples=40)
        for fair, pairs in ((False, 25), (True, 20)):
            expected = [
                np.mean(np.abs(x[:, i] - y[i]))
                - sum(abs(a - b) for a, b in itertools.product(x[:, i], x[:, i])) / (2 * pairs)
                for i in range(40)
            ]
            np.testing.assert_allclose(
                ensemble_crps_loss(y, x, fair=fair, per_sample=True), expected, rtol=1e-11
            )

    @pytest.mark.parametrize("members", [2, 7, 50])
    def test_scoringrules(self, scoringrules, members):
        # Theirs are biased as "nrg" and "qd", fair as "pwm" and "fair".
        y, x = ensemble(members, samples=1_500)
        estimators = {"qd": False, "nrg": False, "pwm": True, "fair": True}
        for estimator, fair in estimators.items():
            theirs = scoringrules.crps_ensemble(y, x.T, estimator=estimator, backend="numpy")
            np.testing.assert_allclose(
                ensemble_crps_loss(y, x, fair=fair, per_sample=True), theirs, rtol=1e-9, atol=1e-11
            )

    def test_scoringrules_by_neighbors_depends_on_the_order_of_members(self, scoringrules):
        y, x = ensemble(samples=300)
        shuffled = x[np.random.default_rng(0).permutation(len(x))]
        akr = [
            scoringrules.crps_ensemble(y, z.T, estimator="akr", backend="numpy").mean()
            for z in (x, shuffled)
        ]
        assert akr[0] != pytest.approx(akr[1], rel=1e-3)
        assert ensemble_crps_loss(y, x) == pytest.approx(ensemble_crps_loss(y, shuffled), rel=1e-13)

    def test_properscoring(self, properscoring):
        y, x = ensemble(samples=400)
        np.testing.assert_allclose(
            ensemble_crps_loss(y, x, per_sample=True),
            properscoring.crps_ensemble(y, x.T),
            rtol=1e-9,
        )

    def test_weights(self):
        y, x = ensemble()
        w = np.random.default_rng(0).random(len(y))
        each = ensemble_crps_loss(y, x, per_sample=True)
        assert ensemble_crps_loss(y, x, sample_weight=w) == pytest.approx(
            np.average(each, weights=w), rel=1e-12
        )

    def test_one_member_has_the_absolute_error(self):
        y, x = ensemble(members=1)
        assert ensemble_crps_loss(y, x) == pytest.approx(np.abs(y - x[0]).mean(), rel=1e-13)
        with pytest.raises(OptionError, match="fair=True needs two members at least"):
            ensemble_crps_loss(y, x, fair=True)

    def test_far_from_zero(self):
        y, x = ensemble(samples=50)
        shift = 2.0**40  # exact in what is left of the digits: the values are cut to match
        y, x = np.round(y * 256) / 256, np.round(x * 256) / 256
        np.testing.assert_array_equal(
            ensemble_crps_loss(y + shift, x + shift, per_sample=True),
            ensemble_crps_loss(y, x, per_sample=True),
        )

    def test_approaches_the_distribution_it_was_drawn_from(self):
        # An ensemble of the Gaussian's own quantiles, at the rate 1 / members of the midpoint rule.
        y = np.linspace(-2, 2, 9)
        x = stats.norm.ppf((np.arange(4_000) + 0.5) / 4_000)[:, None] * np.ones(9)
        np.testing.assert_allclose(
            ensemble_crps_loss(y, x, per_sample=True),
            gaussian_crps_loss(y, np.zeros(9), np.ones(9), per_sample=True),
            atol=1 / 4_000,
        )


class TestQuantiles:
    def test_midpoint_levels_are_an_ensemble(self):
        y, x = ensemble()
        levels = (np.arange(7) + 0.5) / 7
        np.testing.assert_allclose(
            quantile_crps_loss(y, levels, np.sort(x, axis=0).T, per_sample=True),
            ensemble_crps_loss(y, x, per_sample=True),
            rtol=1e-11,
            atol=1e-13,
        )

    def test_scoringrules(self, scoringrules):
        # Theirs weighs all levels alike, which is ours where their cells are equally long.
        y, x = ensemble(members=9)
        values, levels = np.sort(x, axis=0).T, (np.arange(9) + 0.5) / 9
        theirs = scoringrules.crps_quantile(y, values, levels, backend="numpy")
        np.testing.assert_allclose(
            quantile_crps_loss(y, levels, values, per_sample=True), theirs, rtol=1e-9, atol=1e-12
        )
        tenths = np.arange(1, 10) / 10
        theirs = scoringrules.crps_quantile(y, values, tenths, backend="numpy").mean()
        assert quantile_crps_loss(y, tenths, values) != pytest.approx(theirs, rel=1e-3)

    def test_uneven_levels(self):
        y, x = ensemble(members=3, samples=200)
        levels, cells = [0.1, 0.2, 0.7], [0.15, 0.3, 0.55]
        expected = 2 * sum(
            cell * pinball_loss(y, q, level=level)
            for level, cell, q in zip(levels, cells, x, strict=True)
        )
        assert quantile_crps_loss(y, levels, x.T) == pytest.approx(expected, rel=1e-12)

    def test_the_median_alone_has_the_absolute_error(self):
        y, x = ensemble(members=1)
        assert quantile_crps_loss(y, [0.5], x.T) == pytest.approx(np.abs(y - x[0]).mean())

    def test_converges_to_the_gaussian(self):
        y, mean, variance, _ = generic(samples=500)
        levels = np.arange(1, 1_000) / 1_000
        values = mean[:, None] + np.sqrt(variance)[:, None] * stats.norm.ppf(levels)
        assert quantile_crps_loss(y, levels, values) == pytest.approx(
            gaussian_crps_loss(y, mean, variance), rel=2e-3
        )

    def test_weights(self):
        y, x = ensemble()
        levels, w = np.arange(1, 8) / 8, np.random.default_rng(0).random(len(y))
        each = quantile_crps_loss(y, levels, x.T, per_sample=True)
        assert quantile_crps_loss(y, levels, x.T, sample_weight=w) == pytest.approx(
            np.average(each, weights=w), rel=1e-12
        )

    def test_input(self):
        with pytest.raises(OptionError, match="levels must increase and not repeat"):
            quantile_crps_loss([0.0], [0.5, 0.5], [[0.0, 0.0]])
        with pytest.raises(ShapeError, match=r"\(samples, levels\), here \(1, 2\); got \(2, 1\)"):
            quantile_crps_loss([0.0], [0.1, 0.5], [[0.0], [0.0]])
        with pytest.raises(InvalidValueError, match="values of sample 0, level 1 is inf"):
            quantile_crps_loss([0.0], [0.1, 0.5], [[0.0, np.inf]])


values = st.floats(-100, 100)


@given(values, st.lists(st.tuples(values, st.floats(0, 50)), min_size=1, max_size=6), values)
def test_between_nothing_and_the_mean_distance(y, parts, shift):
    means, variances = np.array(parts).T[:, :, None]
    score = mixture_crps_loss([y], means, variances)
    # The second half of E|X - y| - E|X - X'| / 2 is never negative, nor is the integral.
    alone = [gaussian_crps_loss([y], m, v) for m, v in zip(means, variances, strict=True)]
    assert -1e-10 <= score <= np.mean(alone) + 1e-10  # mixing never hurts on average
    moved = mixture_crps_loss([y + shift], means + shift, variances)
    assert moved == pytest.approx(score, rel=1e-9, abs=1e-10)


@given(values, st.lists(values, min_size=2, max_size=8), st.floats(0.1, 10))
def test_scale_and_fairness(y, members, factor):
    x = np.array(members)[:, None]
    score = ensemble_crps_loss([y], x)
    assert ensemble_crps_loss([factor * y], factor * x) == pytest.approx(
        factor * score, rel=1e-9, abs=1e-9
    )
    assert ensemble_crps_loss([y], x, fair=True) <= score + 1e-10
