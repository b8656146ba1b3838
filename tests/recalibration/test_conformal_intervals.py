import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import (
    InvalidValueError,
    OptionError,
    UnsupportedPredictionError,
)
from caveat.recalibration.conformal_quantiles import ConformalQuantiles
from caveat.recalibration.conformal_residuals import ConformalResiduals
from caveat.recalibration.variance_scaling import VarianceScaling

from .conformal_examples import (
    LEVELS,
    MEAN,
    NEW,
    NEW_QUANTILES,
    PREDICTION,
    QUANTILES,
    RNG,
    STD,
    Y,
    kth,
)


class TestResiduals:
    @pytest.mark.parametrize("coverage", [0.5, 0.6827, 0.9, 0.98])
    @pytest.mark.parametrize("normalize", [False, True])
    def test_equals_the_definition(self, coverage, normalize):
        conformal = ConformalResiduals(coverage, normalize=normalize).fit(PREDICTION, Y)
        found = conformal.transform(NEW)
        unit, new_unit = (STD, np.sqrt(NEW.variance[0])) if normalize else (1.0, 1.0)
        margin = kth(np.abs(Y - MEAN) / unit, coverage) * new_unit
        np.testing.assert_allclose(found.lower, NEW.mean[0] - margin, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(found.upper, NEW.mean[0] + margin, rtol=1e-13, atol=1e-13)
        assert found.coverage == coverage
        assert found.targets.tolist() == ["a", "b"]
        assert conformal.margins_.shape == (1, 2, 1)
        assert conformal.edges_.shape == (2, 0)

    @pytest.mark.parametrize("normalize", [False, True])
    def test_asymmetric_takes_half_on_each_side(self, normalize):
        conformal = ConformalResiduals(0.8, normalize=normalize, symmetric=False)
        found = conformal.fit(PREDICTION, Y).transform(NEW)
        unit, new_unit = (STD, np.sqrt(NEW.variance[0])) if normalize else (1.0, 1.0)
        residual = (Y - MEAN) / unit
        np.testing.assert_allclose(found.lower, NEW.mean[0] - kth(-residual, 0.9) * new_unit)
        np.testing.assert_allclose(found.upper, NEW.mean[0] + kth(residual, 0.9) * new_unit)
        assert conformal.too_few_ == ()
        few = conformal.fit(PREDICTION.take(slice(8)), Y[:8])
        assert few.too_few_ == ("8 calibration samples, at least 9 are needed",)
        assert (few.transform(NEW).upper == np.inf).all()

    def test_a_bias_larger_than_the_noise_moves_both_ends(self):
        found = ConformalResiduals(0.8, symmetric=False).fit_transform(
            PREDICTION, MEAN + 5 + 0.1 * Y
        )
        assert (found.lower > MEAN).all()

    def test_members_count_by_their_mixture(self):
        several = caveat.Gaussian(RNG.normal(size=(3, 101, 2)), RNG.gamma(2.0, size=(3, 101, 2)))
        one = caveat.Gaussian(*several.moments())
        for options in ({}, {"normalize": True}, {"bins": 3}):
            conformal = ConformalResiduals(**options)
            assert conformal.fit_transform(several, Y) == conformal.fit_transform(one, Y)

    def test_variances_of_zero(self):
        points = caveat.Gaussian(MEAN, 0.0)
        assert ConformalResiduals().fit(points, Y).margins_.shape == (1, 2, 1)
        with pytest.raises(
            InvalidValueError, match="predicted variance of sample 0, target 0 is 0"
        ):
            ConformalResiduals(normalize=True).fit(points, Y)
        found = (
            ConformalResiduals(normalize=True).fit(caveat.Gaussian(MEAN, 1.0), Y).transform(points)
        )
        np.testing.assert_array_equal(found.lower, found.upper)
        weight = np.ones(101)
        weight[5] = 0
        mixed = caveat.Gaussian(MEAN, np.where(np.arange(101) == 5, 0.0, 1.0)[:, None] * STD**2)
        kept = np.arange(101) != 5
        np.testing.assert_array_equal(
            ConformalResiduals(normalize=True).fit(mixed, Y, sample_weight=weight).margins_,
            ConformalResiduals(normalize=True).fit(PREDICTION.take(kept), Y[kept]).margins_,
        )

    def test_a_score_that_overflows(self):
        prediction = caveat.Gaussian(np.full(20, -1e75), 5e-324)
        with pytest.raises(InvalidValueError, match="the standardized residual of sample 0 is"):
            ConformalResiduals(normalize=True).fit(prediction, np.full(20, 1e75))


class TestQuantiles:
    def test_equals_the_definition(self):
        found = ConformalQuantiles(0.9).fit(QUANTILES, Y).transform(NEW_QUANTILES)
        lower, upper = QUANTILES.values[0, ..., 0], QUANTILES.values[0, ..., 2]
        margin = kth(np.maximum(lower - Y, Y - upper), 0.9)
        np.testing.assert_allclose(
            found.lower, NEW_QUANTILES.values[0, ..., 0] - margin, rtol=1e-14
        )
        np.testing.assert_allclose(
            found.upper, NEW_QUANTILES.values[0, ..., 2] + margin, rtol=1e-14
        )

    def test_asymmetric_takes_half_on_each_side(self):
        conformal = ConformalQuantiles(0.9, symmetric=False).fit(QUANTILES, Y)
        found = conformal.transform(NEW_QUANTILES)
        lower, upper = QUANTILES.values[0, ..., 0], QUANTILES.values[0, ..., 2]
        np.testing.assert_allclose(
            found.lower, NEW_QUANTILES.values[0, ..., 0] - kth(lower - Y, 0.95), rtol=1e-14
        )
        np.testing.assert_allclose(
            found.upper, NEW_QUANTILES.values[0, ..., 2] + kth(Y - upper, 0.95), rtol=1e-14
        )
        assert conformal.margins_.shape == (1, 2, 2)

    def test_all_three_kinds_of_start(self):
        several = caveat.Quantiles(LEVELS, np.sort(RNG.normal(size=(4, 101, 2, 3)), axis=-1))
        for prediction in (PREDICTION, QUANTILES, several):
            from_interval = ConformalQuantiles(0.9).fit(prediction.interval(0.9), Y)
            found = ConformalQuantiles(0.9).fit_transform(prediction, Y)
            expected = from_interval.transform(prediction.interval(0.9))
            np.testing.assert_allclose(found.lower, expected.lower, rtol=1e-14)
            np.testing.assert_allclose(found.upper, expected.upper, rtol=1e-14)

    def test_any_interval_may_be_the_start(self):
        start = PREDICTION.interval(0.5)
        found = ConformalQuantiles(0.9).fit_transform(start, Y)
        assert found.coverage == 0.9
        inside = (found.lower <= Y) & (found.upper >= Y)
        assert (inside.sum(axis=0) == math.ceil(102 * 0.9)).all()

    def test_symmetric_keeps_midpoints(self):
        found = ConformalQuantiles(0.9).fit(PREDICTION, Y).transform(NEW)
        np.testing.assert_allclose((found.lower + found.upper) / 2, NEW.mean[0], atol=1e-13)

    @pytest.mark.parametrize("symmetric", [True, False])
    def test_ends_that_would_cross_meet_halfway(self, symmetric):
        start = caveat.Interval([-10.0] * 40, [10.0] * 40, coverage=0.9)
        conformal = ConformalQuantiles(0.9, symmetric=symmetric)
        conformal.fit(start, np.linspace(-1, 2, 40))
        assert (conformal.margins_ < 0).all()
        narrow = caveat.Interval([-3.0, -20.0], [4.0, 30.0], coverage=0.9)
        found = conformal.transform(narrow)
        lower = -3.0 - conformal.margins_[0, 0, 0]
        upper = 4.0 + conformal.margins_[0, 0, -1]
        assert lower > upper
        assert found.lower[0] == found.upper[0] == pytest.approx((lower + upper) / 2)
        if symmetric:
            assert found.lower[0] == pytest.approx(0.5)
        assert found.lower[1] < found.upper[1]

    def test_infinite_intervals(self):
        start = caveat.Interval(np.r_[-np.inf, np.zeros(20)], np.ones(21), coverage=0.9)
        with pytest.raises(InvalidValueError, match="lower of sample 0 is -inf"):
            ConformalQuantiles(0.9).fit(start, np.zeros(21))
        conformal = ConformalQuantiles(0.9).fit(start.take(slice(1, 21)), np.zeros(20))
        assert conformal.transform(start).lower[0, 0] == -np.inf
        binned = ConformalQuantiles(0.9, bins=1).fit(start.take(slice(1, 21)), np.zeros(20))
        assert binned.transform(start).lower[0, 0] == -np.inf

    def test_missing_levels(self):
        with pytest.raises(
            OptionError, match=r"central interval of 0\.8 needs the quantile at 0\.1"
        ):
            ConformalQuantiles(0.8).fit(QUANTILES, Y)


class TestPeers:
    """MAPIE and crepes on the same numbers; each peer model predicts a column of its input."""

    @staticmethod
    def mapie(kind, X, y, models, coverage, **options):
        regression = pytest.importorskip("mapie.regression")
        fitted = getattr(regression, kind)(models, confidence_level=coverage, prefit=True)
        bounds = fitted.conformalize(X, y).predict_interval(X, **options)[1]
        return bounds[:, 0, 0], bounds[:, 1, 0]

    @pytest.mark.parametrize("coverage", [0.5, 0.6827, 0.8, 0.9, 0.95])
    def test_split_equals_mapie(self, coverage):
        X, y = PREDICTION.mean[0], Y[:, 0]
        lower, upper = self.mapie("SplitConformalRegressor", X, y, Column(0), coverage)
        found = ConformalResiduals(coverage).fit_transform(caveat.Gaussian(X[:, 0], 1.0), y)
        np.testing.assert_allclose(found.lower[:, 0], lower, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.upper[:, 0], upper, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("symmetric", [True, False])  # MAPIE's default is False
    def test_quantiles_equal_mapie(self, symmetric):
        X, y = QUANTILES.values[0, :, 0], Y[:, 0]
        models = [Column(0), Column(2), Column(1)]
        lower, upper = self.mapie(
            "ConformalizedQuantileRegressor", X, y, models, 0.9, symmetric_correction=symmetric
        )
        prediction = caveat.Quantiles(LEVELS, X)
        found = ConformalQuantiles(0.9, symmetric=symmetric).fit_transform(prediction, y)
        np.testing.assert_allclose(found.lower[:, 0], lower, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.upper[:, 0], upper, rtol=1e-12, atol=1e-12)

    def test_mapie_refuses_nine_samples_that_suffice(self):
        pytest.importorskip("mapie")
        X, y = np.zeros((9, 1)), np.arange(1.0, 10.0)
        with pytest.raises(ValueError, match="too low"):
            self.mapie("SplitConformalRegressor", X, y, Column(0), 0.9)
        found = ConformalResiduals(0.9).fit(caveat.Gaussian(X, 1.0), y)
        assert found.margins_.item() == 9

    @pytest.mark.parametrize("normalize", [False, True])
    @pytest.mark.parametrize("bins", [None, 4])
    def test_equals_crepes(self, normalize, bins):
        crepes = pytest.importorskip("crepes")
        # 101 samples, or 25 and 26 in a bin: (n + 1) x 0.91 is never whole, where crepes is off.
        found = ConformalResiduals(0.91, normalize=normalize, bins=bins).fit(PREDICTION, Y)
        codes = new_codes = None
        if bins is not None:
            codes = np.searchsorted(found.edges_[0], np.sqrt(PREDICTION.variance[0, :, 0]))
            new_codes = np.searchsorted(found.edges_[0], np.sqrt(NEW.variance[0, :, 0]))
        sigmas, new_sigmas = (
            (STD[:, 0], np.sqrt(NEW.variance[0, :, 0])) if normalize else (None, None)
        )
        peer = crepes.ConformalRegressor().fit((Y - MEAN)[:, 0], sigmas=sigmas, bins=codes)
        bounds = peer.predict_int(
            NEW.mean[0, :, 0], sigmas=new_sigmas, bins=new_codes, confidence=0.91
        )
        interval = found.transform(NEW)
        np.testing.assert_allclose(interval.lower[:, 0], bounds[:, 0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(interval.upper[:, 0], bounds[:, 1], rtol=1e-12, atol=1e-12)

    def test_crepes_takes_one_rank_too_many(self):
        crepes = pytest.importorskip("crepes")
        for count, rank in ((19, 18), (99, 90)):
            residuals = np.arange(1.0, count + 1)
            peer = crepes.ConformalRegressor().fit(residuals)
            assert peer.predict_int(np.zeros(1), confidence=0.9)[0, 1] == rank + 1
            found = ConformalResiduals(0.9).fit(caveat.Gaussian(np.zeros(count), 1.0), residuals)
            assert found.margins_.item() == rank


class Column(RegressorMixin, BaseEstimator):
    """A model that predicts one column of its input."""

    def __init__(self, column=0):
        self.column = column
        self.fitted_ = True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, self.column]


@pytest.mark.parametrize("kind", [ConformalResiduals, ConformalQuantiles])
class TestBoth:
    def test_order_of_samples_does_not_matter(self, kind):
        y = np.round(Y)
        rounded = caveat.Gaussian(np.round(MEAN), np.round(STD) + 1)
        order, weight = RNG.permutation(101), RNG.random(101)
        for options in ({}, {"symmetric": False}, {"bins": 2}, {"joint": True, "coverage": 0.7}):
            for w in (None, weight):
                first = kind(**options).fit(rounded, y, sample_weight=w)
                second = kind(**options).fit(
                    rounded.take(order), y[order], sample_weight=None if w is None else w[order]
                )
                np.testing.assert_array_equal(first.margins_, second.margins_)
                np.testing.assert_array_equal(first.edges_, second.edges_)

    def test_groups_are_fitted_alone(self, kind):
        groups = np.array(["x", "y"])[np.arange(101) % 2]
        conformal = kind(0.8).fit(PREDICTION, Y, groups=groups)
        found = conformal.transform(PREDICTION, groups=groups)
        for group in "xy":
            rows = groups == group
            alone = kind(0.8).fit_transform(PREDICTION.take(rows), Y[rows])
            assert found.take(rows) == alone

    def test_a_small_group_does_not_sink_the_others(self, kind):
        groups = np.where(np.arange(101) < 3, "z", "x")
        conformal = kind(0.8).fit(PREDICTION, Y, groups=groups)
        assert conformal.too_few_ == ("group 'z': 3 calibration samples, at least 4 are needed",)
        found = conformal.transform(PREDICTION, groups=groups)
        assert (found.lower[:3] == -np.inf).all()
        assert (found.upper[:3] == np.inf).all()
        alone = kind(0.8).fit_transform(PREDICTION.take(slice(3, None)), Y[3:])
        assert found.take(slice(3, None)) == alone
        assert repr(found) == (
            "Interval: 101 samples x 2 targets ('a', 'b'), coverage 0.8, 3 infinite"
        )

    @pytest.mark.parametrize("joint", [False, True])
    @pytest.mark.parametrize("symmetric", [False, True])
    def test_one_sample_is_enough_for_nothing(self, kind, joint, symmetric):
        conformal = kind(0.8, joint=joint, symmetric=symmetric)
        conformal.fit(PREDICTION.take([0]), Y[:1])
        assert np.isinf(conformal.margins_).all()
        assert len(conformal.too_few_) == 1
        found = conformal.transform(NEW)
        assert (found.lower == -np.inf).all()
        assert (found.upper == np.inf).all()

    def test_the_prediction_is_left_alone(self, kind):
        before = pickle.dumps(PREDICTION)
        kind(bins=3).fit_transform(PREDICTION, Y)
        assert pickle.dumps(PREDICTION) == before

    def test_is_an_estimator(self, kind):
        conformal = kind(0.8, bins=2, joint=True).fit(PREDICTION, Y)
        assert clone(conformal).get_params() == conformal.get_params()
        copy = pickle.loads(pickle.dumps(conformal))
        assert copy.transform(NEW) == conformal.transform(NEW)
        for name in ("margins_", "edges_"):
            assert isinstance(getattr(conformal, name), np.ndarray)
        pipeline = make_pipeline(VarianceScaling(), kind(0.8)).fit(PREDICTION, Y)
        expected = kind(0.8).fit_transform(VarianceScaling().fit_transform(PREDICTION, Y), Y)
        assert pipeline.transform(PREDICTION) == expected

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"coverage": 1}, "coverage must be a number strictly between 0 and 1; got 1"),
            ({"coverage": "high"}, "got 'high'"),
            ({"bins": 0}, "bins must be a whole number of at least 1; got 0"),
            ({"bins": 2.0}, "whole number of at least 1; got 2.0"),
            ({"bins": True}, "whole number of at least 1; got True"),
            ({"joint": 1}, "joint must be True, False or 'copula'; got 1"),
            ({"symmetric": "no"}, "symmetric must be True or False; got 'no'"),
        ],
    )
    def test_options(self, kind, options, text):
        with pytest.raises(OptionError, match=text):
            kind(**options).fit(PREDICTION, Y)

    def test_minimum_size(self, kind):
        assert kind(0.9).fit(PREDICTION.take(slice(9)), Y[:9])
        few = kind(0.9).fit(PREDICTION.take(slice(8)), Y[:8])
        weighted = kind(0.9).fit(PREDICTION.take(slice(9)), Y[:9], sample_weight=[0, *[1] * 8])
        for conformal in (few, weighted):
            assert conformal.too_few_ == ("8 calibration samples, at least 9 are needed",)
            assert np.isinf(conformal.margins_).all()


def test_an_infinite_margin_needs_no_deviation():
    # An infinite number of deviations of 0 is infinite here, not undefined.
    few = ConformalResiduals(0.9, normalize=True).fit(PREDICTION.take(slice(3)), Y[:3])
    found = few.transform(caveat.Gaussian([[0.0, 1.0]], 0.0, targets=["a", "b"]))
    assert (found.lower == -np.inf).all()
    assert (found.upper == np.inf).all()


def test_an_infinite_start():
    start = caveat.Interval([-np.inf, np.inf, 0.0], [np.inf, np.inf, 1.0], coverage=0.9)
    calibration = caveat.Interval(np.zeros(9), np.ones(9), coverage=0.9)
    y = np.arange(9.0)
    found = ConformalQuantiles(0.9).fit(calibration, y).transform(start)
    assert found.lower[:, 0].tolist() == [-np.inf, np.inf, -7.0]
    assert found.upper[:, 0].tolist() == [np.inf, np.inf, 8.0]
    few = ConformalQuantiles(0.9).fit(calibration.take(slice(8)), y[:8]).transform(start)
    assert (few.lower == -np.inf).all()
    assert (few.upper == np.inf).all()


def test_type_of_prediction():
    with pytest.raises(UnsupportedPredictionError, match="repairs a Gaussian; got a Quantiles"):
        ConformalResiduals().fit(QUANTILES, Y)
    with pytest.raises(OptionError, match="normalize must be True or False; got None"):
        ConformalResiduals(normalize=None).fit(PREDICTION, Y)


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConformalResiduals(joint=True, bins=2).fit_transform(PREDICTION, MEAN)
