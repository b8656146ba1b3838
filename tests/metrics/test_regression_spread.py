import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.metrics import (
    dispersion,
    error_calibration_curve,
    expected_normalized_calibration_error,
    root_mean_squared_error,
    sharpness,
)
from caveat.metrics._curves import ReliabilityCurve


def generic(samples=30_000, seed=0):
    rng = np.random.default_rng(seed)
    mean, variance = rng.normal(80, 10, samples), rng.lognormal(1, 1.5, samples)
    y = mean + variance**0.3 * rng.standard_t(5, samples)
    return y, mean, variance, rng.gamma(1.0, size=samples)


def literal(y, mean, variance, bins):
    """Equation 18 on sorted samples cut into pieces of one length."""
    order = np.argsort(variance)
    gaps = []
    for rows in np.split(order, bins):
        spread = np.sqrt(np.mean(variance[rows]))
        error = np.sqrt(np.mean((y[rows] - mean[rows]) ** 2))
        gaps.append(abs(spread - error) / spread)
    return np.mean(gaps)


def over_all_orders(y, mean, variance, bins):
    """Mean variance and squared error of bins, over every order that sorts the variances."""
    samples = len(y)
    # Each sample in as many parts as there are bins, so that no bin ends inside a part.
    sums, orders = np.zeros((2, bins)), 0
    for order in itertools.permutations(range(samples)):
        rows = np.array(order)
        if (np.diff(variance[rows]) < 0).any():
            continue
        parts = np.repeat(rows, bins).reshape(bins, samples)
        sums[0] += variance[parts].sum(axis=1)
        sums[1] += ((y - mean) ** 2)[parts].sum(axis=1)
        orders += 1
    return sums / (orders * samples)


class TestNormalisedError:
    @pytest.mark.parametrize("bins", [1, 15, 1_000])
    @pytest.mark.parametrize("samples", [3_000, 30_000])
    def test_literal(self, bins, samples):
        y, mean, variance, _ = generic(samples)
        assert expected_normalized_calibration_error(y, mean, variance, bins=bins) == pytest.approx(
            literal(y, mean, variance, bins), rel=1e-9
        )

    def test_fifteen_bins_by_default(self):
        y, mean, variance, _ = generic()
        assert expected_normalized_calibration_error(y, mean, variance) == pytest.approx(
            literal(y, mean, variance, 15), rel=1e-9
        )

    def test_netcal(self):
        """Its bins are equally wide: made to hold equally many samples here, the two agree."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            netcal = pytest.importorskip(
                "netcal.metrics", reason="heavy; in the benchmark environment"
            )
        rng = np.random.default_rng(0)
        cells = np.repeat(np.arange(15), 40)
        deviation = 1 + (cells + rng.uniform(0.1, 0.9, 600)) / 15
        deviation[[0, -1]] = 1, 2  # the ends of the outer cells
        mean = rng.normal(size=600)
        y = mean + deviation * rng.standard_t(5, 600)
        theirs = float(netcal.ENCE(15).measure((mean, deviation), y))
        ours = expected_normalized_calibration_error(y, mean, deviation**2)
        assert ours == pytest.approx(theirs, rel=1e-9)

    def test_constant_variance_has_one_gap(self):
        # Every order at once: each bin has the errors of all. Equally wide bins cannot do this.
        y, mean, _, w = generic(samples=1_000)
        variance = np.full(1_000, 9.0)
        for weight in (None, w):
            error = root_mean_squared_error(y, mean, sample_weight=weight)
            assert expected_normalized_calibration_error(
                y, mean, variance, sample_weight=weight
            ) == pytest.approx(abs(3 - error) / 3, rel=1e-12)

    @settings(max_examples=25, deadline=None)
    @given(
        st.lists(
            st.tuples(st.integers(-3, 3), st.sampled_from([1.0, 1.0, 4.0, 9.0])),
            min_size=1,
            max_size=6,
        ),
        st.integers(1, 8),
    )
    def test_ties_and_bins_that_cut_samples(self, rows, bins):
        y, variance = np.array(rows, dtype=float).T
        spread, error = over_all_orders(y, np.zeros(len(y)), variance, bins)
        curve = error_calibration_curve(y, np.zeros(len(y)), variance, bins=bins, squared=True)
        np.testing.assert_allclose(curve.predicted, spread, rtol=1e-12)
        np.testing.assert_allclose(curve.observed, error, rtol=1e-12, atol=1e-13)

    def test_the_order_of_tied_rows_does_not_matter(self):
        rng = np.random.default_rng(0)
        y, mean = rng.normal(size=2_000), np.zeros(2_000)
        variance = rng.integers(1, 5, 2_000) / 4
        by_error = np.argsort(np.abs(y))
        assert expected_normalized_calibration_error(y, mean, variance, bins=7) == pytest.approx(
            expected_normalized_calibration_error(y[by_error], mean, variance[by_error], bins=7),
            rel=1e-12,
        )

    def test_variances_of_zero(self):
        y, mean, variance = [0.0, 0.0, 1.0, 1.0], [0.0] * 4, [0.0, 0.0, 1.0, 1.0]
        assert expected_normalized_calibration_error(y, mean, variance, bins=2) == 0.0
        assert (
            expected_normalized_calibration_error([1.0, *y[1:]], mean, variance, bins=2) == np.inf
        )

    def test_one_sample(self):
        assert expected_normalized_calibration_error([3.0], [0.0], [4.0]) == pytest.approx(0.5)

    def test_bins(self):
        with pytest.raises(OptionError, match="bins must be a whole number of at least 1; got 0"):
            expected_normalized_calibration_error([0.0], [0.0], [1.0], bins=0)
        with pytest.raises(InvalidValueError, match="variance of sample 0 is -1, below 0"):
            expected_normalized_calibration_error([0.0], [0.0], [-1.0])

    def test_bins_without_error_after_large_errors(self):
        # Running sums of 1e18 and more leave nothing of the bins behind them but rounding.
        rng = np.random.default_rng(0)
        variance = np.sort(rng.random(20_000)) + 1
        y = np.where(np.arange(20_000) < 10_000, 1e9 * rng.normal(size=20_000), 0.0)
        curve = error_calibration_curve(y, np.zeros(20_000), variance, bins=20)
        assert (curve.observed >= 0).all()
        assert curve.observed[10:].max() < 1e-6 * curve.observed[0]


class TestCurve:
    def test_roots_and_squares(self):
        y, mean, variance, _ = generic(samples=3_000)
        curve = error_calibration_curve(y, mean, variance)
        squared = error_calibration_curve(y, mean, variance, squared=True)
        assert isinstance(curve, ReliabilityCurve)
        order = np.argsort(variance).reshape(15, 200)
        np.testing.assert_allclose(squared.predicted, variance[order].mean(axis=1), rtol=1e-10)
        np.testing.assert_allclose(
            squared.observed, ((y - mean) ** 2)[order].mean(axis=1), rtol=1e-10
        )
        np.testing.assert_array_equal(squared.low, variance[order].min(axis=1))
        np.testing.assert_array_equal(squared.high, variance[order].max(axis=1))
        np.testing.assert_array_equal(squared.weight, np.full(15, 200.0))
        for name in ("predicted", "observed", "low", "high"):
            np.testing.assert_allclose(getattr(curve, name) ** 2, getattr(squared, name))

    def test_the_error_is_that_of_the_curve(self):
        y, mean, variance, w = generic()
        curve = error_calibration_curve(y, mean, variance, sample_weight=w)
        gaps = np.abs(curve.predicted - curve.observed) / curve.predicted
        assert expected_normalized_calibration_error(
            y, mean, variance, sample_weight=w
        ) == pytest.approx(gaps.mean(), rel=1e-14)
        assert curve.weight.sum() == pytest.approx(w.sum())

    def test_ends_of_bins_that_cut_samples(self):
        curve = error_calibration_curve(
            [0.0] * 3, [0.0] * 3, [4.0, 1.0, 9.0], bins=2, sample_weight=[1.0, 1.0, 0.0]
        )
        np.testing.assert_array_equal(curve.low, [1.0, 2.0])
        np.testing.assert_array_equal(curve.high, [1.0, 2.0])
        curve = error_calibration_curve([0.0] * 3, [0.0] * 3, [4.0, 1.0, 9.0], bins=2)
        np.testing.assert_array_equal(curve.low, [1.0, 2.0])
        np.testing.assert_array_equal(curve.high, [2.0, 3.0])


class TestDispersion:
    def test_numpy(self):
        _, _, variance, _ = generic()
        deviation = np.sqrt(variance)
        y = np.zeros(len(variance))
        for ddof in (0, 1):
            assert dispersion(y, variance, ddof=ddof) == pytest.approx(
                np.std(deviation, ddof=ddof) / np.mean(deviation), rel=1e-12
            )
        assert dispersion(y, variance) == dispersion(y, variance, ddof=1)

    def test_weights_count_repetitions(self):
        variance, times = np.array([1.0, 5.0, 2.0]), np.array([2, 0, 3])
        deviation = np.sqrt(np.repeat(variance, times))
        assert dispersion([0.0] * 3, variance, sample_weight=times) == pytest.approx(
            np.std(deviation, ddof=1) / np.mean(deviation), rel=1e-13
        )

    @given(st.floats(1e-3, 1e3), st.integers(2, 50))
    def test_one_uncertainty_for_all(self, variance, samples):
        assert dispersion(np.zeros(samples), np.full(samples, variance)) == 0.0

    @given(st.lists(st.floats(0.01, 100), min_size=2, max_size=20), st.floats(0.01, 100))
    def test_has_no_unit(self, variances, factor):
        y, variance = np.zeros(len(variances)), np.array(variances)
        assert dispersion(y, factor * variance) == pytest.approx(
            dispersion(y, variance), rel=1e-9, abs=1e-12
        )

    def test_undefined(self):
        assert np.isnan(dispersion([0.0], [2.0]))
        assert dispersion([0.0], [2.0], ddof=0) == 0.0
        assert np.isnan(dispersion([0.0] * 2, [0.0] * 2))
        assert np.isnan(dispersion([0.0] * 2, [1.0, 2.0], sample_weight=[0.5, 0.5]))

    def test_input(self):
        with pytest.raises(OptionError, match="ddof must be one of 0, 1; got 2"):
            dispersion([0.0], [1.0], ddof=2)
        with pytest.raises(ShapeError, match="variance has 2 samples, y_true has 1"):
            dispersion([0.0], [1.0, 2.0])


class TestSharpness:
    def test_uncertainty_toolbox(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            uct = pytest.importorskip("uncertainty_toolbox", reason="a peer, in the test extra")
        y, _, variance, _ = generic()
        assert sharpness(y, variance) == pytest.approx(uct.sharpness(np.sqrt(variance)), rel=1e-9)

    def test_weights(self):
        y, _, variance, w = generic()
        assert sharpness(y, variance, sample_weight=w) == pytest.approx(
            np.sqrt(np.average(variance, weights=w)), rel=1e-12
        )

    def test_of_points(self):
        assert sharpness([1.0, 2.0], [0.0, 0.0]) == 0.0

    def test_negative_variance(self):
        with pytest.raises(InvalidValueError, match="variance of sample 1 is -2, below 0"):
            sharpness([1.0, 2.0], [0.0, -2.0])
