import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import caveat
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError

RNG = np.random.default_rng(1)
MEAN, VARIANCE = RNG.normal(size=(4, 6, 2)), RNG.gamma(2.0, size=(4, 6, 2))


class TestGaussian:
    def test_shapes(self):
        assert caveat.Gaussian(MEAN[0, :, 0], VARIANCE[0, :, 0]).mean.shape == (1, 6, 1)
        assert caveat.Gaussian(MEAN[0], VARIANCE[0]).mean.shape == (1, 6, 2)
        assert caveat.Gaussian(MEAN, VARIANCE).mean.shape == (4, 6, 2)
        assert caveat.Gaussian.from_members(MEAN[..., 0], VARIANCE[..., 0]).mean.shape == (4, 6, 1)
        assert caveat.Gaussian.from_members(MEAN, VARIANCE).mean.shape == (4, 6, 2)

    def test_one_variance_for_all(self):
        prediction = caveat.Gaussian(MEAN[0], 2.0)
        assert (prediction.variance == 2.0).all()
        assert (caveat.Gaussian.from_members(MEAN[..., 0]).variance == 0).all()
        assert (caveat.Gaussian.from_std(MEAN[0], 3.0).variance == 9).all()

    @pytest.mark.parametrize("mean", [MEAN[0, :, 0], MEAN[0], MEAN])
    def test_from_std_squares(self, mean):
        std = np.abs(mean) + 0.5
        expected = caveat.Gaussian(mean, std**2)
        assert caveat.Gaussian.from_std(mean, std) == expected

    def test_moments_are_those_of_the_mixture(self):
        mean, variance = caveat.Gaussian(MEAN, VARIANCE).moments()
        np.testing.assert_allclose(mean, MEAN.mean(axis=0), rtol=1e-14)
        second = (VARIANCE + MEAN**2).mean(axis=0)
        np.testing.assert_allclose(variance, second - mean**2, rtol=1e-12)

    def test_a_frame_of_truths_goes_by_its_names(self):
        prediction = caveat.Gaussian(MEAN[0], 2.0, targets=["a", "b"])
        frame = pd.DataFrame(MEAN[0], columns=["a", "b"])
        for one in (frame, frame[["b", "a"]], frame.set_axis(["c", "d"], axis=1)):
            np.testing.assert_array_equal(prediction.align(one), MEAN[0])

    def test_interval_is_the_gaussian_one(self):
        mean, variance = caveat.Gaussian(MEAN, VARIANCE).moments()
        interval = caveat.Gaussian(MEAN, VARIANCE).interval(0.9)
        low, high = norm.interval(0.9, mean, np.sqrt(variance))
        np.testing.assert_allclose(interval.lower, low, rtol=1e-12)
        np.testing.assert_allclose(interval.upper, high, rtol=1e-12)
        assert interval.coverage == 0.9

    def test_quantiles_keep_members(self):
        levels = [0.1, 0.5, 0.8]
        quantiles = caveat.Gaussian(MEAN, VARIANCE).to_quantiles(levels)
        expected = norm.ppf(levels, MEAN[..., None], np.sqrt(VARIANCE)[..., None])
        np.testing.assert_allclose(quantiles.values, expected, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize(
        ("build", "error", "text"),
        [
            (lambda: caveat.Gaussian([1.0, 2.0], [1.0]), ShapeError, "same shape"),
            (
                lambda: caveat.Gaussian(np.ones((1, 1, 1, 1)), 1.0),
                ShapeError,
                r"got \(1, 1, 1, 1\)",
            ),
            (lambda: caveat.Gaussian(5.0, 1.0), ShapeError, r"mean must have shape .*got \(\)"),
            (
                lambda: caveat.Gaussian([1.0, 2.0], [1.0, -1.0]),
                InvalidValueError,
                r"variance of sample 1 is -1, below 0; variances cannot be negative; standard",
            ),
            (
                lambda: caveat.Gaussian.from_std([1.0, 2.0], [1.0, -1.0]),
                InvalidValueError,
                "std of sample 1 is -1, below 0",
            ),
            (
                lambda: caveat.Gaussian.from_std([1.0], -1.0),
                InvalidValueError,
                "std is -1, below 0",
            ),
            (
                lambda: caveat.Gaussian([np.inf], [1.0]),
                InvalidValueError,
                "mean of sample 0 is inf",
            ),
            (
                lambda: caveat.Gaussian([1.0], [np.nan]),
                InvalidValueError,
                "variance of sample 0 is",
            ),
            (lambda: caveat.Gaussian.from_members([1.0, 2.0]), ShapeError, r"from_members.*\(2,\)"),
            (lambda: caveat.Gaussian(MEAN, VARIANCE, targets=["a"]), LabelError, "2 labels"),
            (lambda: caveat.Gaussian([1.0], 1.0).interval(1.0), OptionError, "strictly between"),
            (lambda: caveat.Gaussian([1.0], 1.0).interval("x"), OptionError, "got 'x'"),
            (lambda: caveat.Gaussian([1.0], 1.0).to_quantiles(0.5), ShapeError, "one axis"),
        ],
    )
    def test_errors(self, build, error, text):
        with pytest.raises(error, match=text):
            build()

    def test_large_finite_means_are_fine(self):
        assert len(caveat.Gaussian([1e75, 1e75], 1e150)) == 2

    def test_repr(self):
        assert repr(caveat.Gaussian(MEAN, VARIANCE)) == (
            "Gaussian: 4 members x 6 samples x 2 targets (0, 1)"
        )


class TestQuantiles:
    LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
    VALUES = np.sort(RNG.normal(size=(3, 6, 2, 5)), axis=-1)

    def test_shapes(self):
        assert caveat.Quantiles(self.LEVELS, self.VALUES[0, :, 0]).values.shape == (1, 6, 1, 5)
        assert caveat.Quantiles(self.LEVELS, self.VALUES[0]).values.shape == (1, 6, 2, 5)
        assert caveat.Quantiles(self.LEVELS, self.VALUES).values.shape == (3, 6, 2, 5)

    def test_to_gaussian_uses_midpoint_and_width(self):
        gaussian = caveat.Quantiles(self.LEVELS, self.VALUES).to_gaussian(0.9)
        low, high = self.VALUES[..., 0], self.VALUES[..., 4]
        np.testing.assert_allclose(gaussian.mean, (low + high) / 2, rtol=1e-14)
        std = (high - low) / (2 * norm.ppf(0.95))
        np.testing.assert_allclose(gaussian.variance, std**2, rtol=1e-12)

    def test_the_midpoint_is_not_the_median(self):
        skewed = caveat.Quantiles([0.1, 0.5, 0.9], [[0.0, 1.0, 10.0]])
        assert skewed.to_gaussian(0.8).mean.item() == 5.0

    @given(st.floats(-5, 5), st.floats(0.01, 10), st.floats(0.05, 0.99))
    def test_a_gaussian_comes_back(self, mean, std, coverage):
        levels = [(1 - coverage) / 2, (1 + coverage) / 2]
        gaussian = caveat.Gaussian.from_std([mean], [std])
        back = gaussian.to_quantiles(levels).to_gaussian(coverage)
        np.testing.assert_allclose(back.mean, gaussian.mean, atol=1e-12)
        np.testing.assert_allclose(back.variance, gaussian.variance, rtol=1e-10)

    def test_interval_averages_members(self):
        interval = caveat.Quantiles(self.LEVELS, self.VALUES).interval(0.5)
        np.testing.assert_allclose(interval.lower, self.VALUES[..., 1].mean(axis=0))
        np.testing.assert_allclose(interval.upper, self.VALUES[..., 3].mean(axis=0))

    def test_levels_that_people_type(self):
        one_sigma = caveat.Quantiles([0.1587, 0.8413], [[-1.0, 1.0]])
        assert one_sigma.to_gaussian(0.6827).variance.item() == pytest.approx(1, abs=1e-3)

    def test_sort(self):
        messy = caveat.Quantiles([0.9, 0.1], [[1.0, 2.0], [4.0, 3.0]], sort=True)
        np.testing.assert_array_equal(messy.levels, [0.1, 0.9])
        np.testing.assert_array_equal(messy.values[0, :, 0], [[1.0, 2.0], [3.0, 4.0]])

    @pytest.mark.parametrize(
        ("levels", "values", "error", "text"),
        [
            ((0.1, 0.9), [[1.0, 2.0], [2.0, 1.0]], InvalidValueError,
             r"quantile of sample 1 is 2, above the next, 1; quantiles of one sample must not "
             "cross; pass sort=True"),
            ((0.1, 0.5, 0.9), [[1.0, 2.0]], ShapeError, r"got \(1, 1, 1, 2\) for levels of shape"),
            ((0.1, 0.9), [1.0, 2.0], ShapeError, r"values must have shape \(samples, levels\)"),
            ((0.9, 0.1), [[1.0, 2.0]], OptionError, "levels must increase and not repeat"),
            ((0.5, 0.5), [[1.0, 2.0]], OptionError, "levels must increase and not repeat"),
            ((0.1, 1.0), [[1.0, 2.0]], OptionError, "every one of levels must be a number strictly between"),
            ((0.1, 0.9), [[1.0, np.nan]], InvalidValueError, "values of sample 0, level 1 is nan"),
        ],
    )  # fmt: skip
    def test_errors(self, levels, values, error, text):
        with pytest.raises(error, match=text):
            caveat.Quantiles(levels, values)

    def test_wrong_level(self):
        quantiles = caveat.Quantiles(self.LEVELS, self.VALUES)
        with pytest.raises(
            OptionError, match=r"of 0\.8 needs the quantile at 0\.1; the levels are 0"
        ):
            quantiles.to_gaussian(0.8)
        with pytest.raises(OptionError, match="strictly between 0 and 1; got 90"):
            quantiles.interval(90)


class TestInterval:
    def test_to_gaussian(self):
        gaussian = caveat.Interval([1.0, -2.0], [3.0, 4.0], coverage=0.9545).to_gaussian()
        np.testing.assert_allclose(gaussian.mean.ravel(), [2.0, 1.0])
        np.testing.assert_allclose(np.sqrt(gaussian.variance).ravel(), [0.5, 1.5], rtol=1e-5)

    def test_infinite_ends_are_intervals_but_no_gaussians(self):
        interval = caveat.Interval([-np.inf, 0.0], [1.0, np.inf], coverage=0.9)
        with pytest.raises(
            InvalidValueError,
            match=r"interval of sample 0 is infinite, .* for 2 of 2 samples\. Convert the others",
        ):
            interval.to_gaussian()
        assert repr(interval) == "Interval: 2 samples x 1 target (0), coverage 0.9, 2 infinite"
        with pytest.raises(InvalidValueError, match="interval of sample 1 is infinite"):
            caveat.Interval([0.0, 0.0], [1.0, np.inf], coverage=0.9).to_gaussian()

    @pytest.mark.parametrize(
        ("lower", "upper", "coverage", "error", "text"),
        [
            ([2.0, 5.0], [3.0, 4.0], 0.9, InvalidValueError,
             "lower of sample 1 is 5, above upper 4; swap"),
            ([1.0], [2.0, 3.0], 0.9, ShapeError, "same shape"),
            (np.ones((1, 1, 1)), np.ones((1, 1, 1)), 0.9, ShapeError, r"got \(1, 1, 1\)"),
            ([np.nan], [1.0], 0.9, InvalidValueError, "lower of sample 0 is nan"),
            ([1.0], [np.nan], 0.9, InvalidValueError, "upper of sample 0 is nan"),
            ([1.0], [2.0], 90, OptionError, "coverage must be a number strictly between 0 and 1"),
            ([1.0], [2.0], None, OptionError, "got None"),
            ([], [], 0.9, ShapeError, "lower is empty"),
        ],
    )  # fmt: skip
    def test_errors(self, lower, upper, coverage, error, text):
        with pytest.raises(error, match=text):
            caveat.Interval(lower, upper, coverage=coverage)
