import pickle

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import caveat
from caveat.exceptions import InvalidValueError, OptionError, UnsupportedPredictionError
from caveat.recalibration.variance_scaling import VarianceScaling

RNG = np.random.default_rng(11)
MEAN, STD = RNG.normal(size=(60, 2)), RNG.gamma(2.0, size=(60, 2)) + 0.1
Y = MEAN + STD * RNG.normal(size=(60, 2)) * [2.0, 0.3]
PREDICTION = caveat.Gaussian.from_std(MEAN, STD, targets=["a", "b"])
LEVELS = [0.0228, 0.1587, 0.5, 0.8413, 0.9772]


def ensemble(members=5):
    return caveat.Gaussian(
        RNG.normal(size=(members, 60, 2)), RNG.gamma(2.0, size=(members, 60, 2)), targets=["a", "b"]
    )


def test_the_factor_is_the_most_likely_one():
    scaling = VarianceScaling().fit(PREDICTION, Y)
    for target in range(2):
        best = minimize_scalar(
            lambda s, t=target: -norm.logpdf(Y[:, t], MEAN[:, t], s * STD[:, t]).sum(),
            bounds=(0.01, 10.0),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert scaling.scale_[target] == pytest.approx(best.x, rel=1e-6)
    np.testing.assert_allclose(scaling.scale_**2, (((Y - MEAN) / STD) ** 2).mean(axis=0))


def test_equals_netcal():
    netcal = pytest.importorskip("netcal.regression")
    peer = netcal.VarianceScaling().fit((MEAN, STD), Y)
    scaled = VarianceScaling().fit(PREDICTION, Y).transform(PREDICTION)
    np.testing.assert_allclose(np.sqrt(scaled.variance[0]), peer.transform((MEAN, STD)), rtol=1e-12)


def test_means_stay_and_scaling_twice_changes_nothing():
    scaled = VarianceScaling().fit(PREDICTION, Y).transform(PREDICTION)
    np.testing.assert_array_equal(scaled.mean, PREDICTION.mean)
    np.testing.assert_allclose(VarianceScaling().fit(scaled, Y).scale_, 1.0, rtol=1e-12)


def test_members_are_stretched_about_the_mean_of_the_mixture():
    prediction = ensemble()
    scaling = VarianceScaling().fit(prediction, Y)
    scaled = scaling.transform(prediction)
    (mean, variance), (new_mean, new_variance) = prediction.moments(), scaled.moments()
    assert scaled.members == 5
    np.testing.assert_allclose(new_mean, mean, atol=1e-14)
    np.testing.assert_allclose(new_variance, variance * scaling.scale_**2, rtol=1e-12)
    np.testing.assert_allclose(scaling.scale_**2, ((Y - mean) ** 2 / variance).mean(axis=0))
    for method in ("aleatoric", "epistemic"):
        before, after = (getattr(p.decompose(), method) for p in (prediction, scaled))
        np.testing.assert_allclose(after, before * scaling.scale_**2, rtol=1e-10)


def test_quantiles_go_through_the_gaussian_of_their_interval():
    values = np.sort(RNG.normal(size=(3, 60, 2, 5)), axis=-1)
    prediction = caveat.Quantiles(LEVELS, values)
    for level in (0.6827, 0.9545):
        scaling = VarianceScaling(level=level).fit(prediction, Y)
        expected = VarianceScaling().fit(prediction.to_gaussian(level), Y)
        np.testing.assert_array_equal(scaling.scale_, expected.scale_)
        scaled = scaling.transform(prediction)
        assert scaled == expected.transform(prediction.to_gaussian(level)).to_quantiles(LEVELS)
        assert scaled.members == 3
    gaussian = PREDICTION.to_quantiles(LEVELS)
    np.testing.assert_allclose(
        VarianceScaling().fit(gaussian, Y).scale_, VarianceScaling().fit(PREDICTION, Y).scale_, 1e-3
    )


def test_weights_are_repetitions():
    weight = RNG.integers(0, 4, size=60)
    weighted = VarianceScaling().fit(PREDICTION, Y, sample_weight=weight)
    rows = np.repeat(np.arange(60), weight)
    repeated = VarianceScaling().fit(PREDICTION.take(rows), Y[rows])
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-13)


def test_groups_have_their_own_factor():
    groups = np.arange(60) % 3
    scaled = (
        VarianceScaling().fit(PREDICTION, Y, groups=groups).transform(PREDICTION, groups=groups)
    )
    for group in range(3):
        rows = groups == group
        alone = VarianceScaling().fit(PREDICTION.take(rows), Y[rows])
        assert scaled.take(rows) == alone.transform(PREDICTION.take(rows))


def test_a_sample_without_variance():
    variance = PREDICTION.variance.copy()
    variance[0, 17, 1] = 0
    prediction = caveat.Gaussian(MEAN, variance[0])
    with pytest.raises(
        InvalidValueError, match=r"variance of sample 17, target 1 is 0.*add a floor"
    ):
        VarianceScaling().fit(prediction, Y)
    weight = np.ones(60)
    weight[17] = 0  # not there
    kept = np.arange(60) != 17
    expected = VarianceScaling().fit(PREDICTION.take(kept), Y[kept])
    found = VarianceScaling().fit(prediction, Y, sample_weight=weight)
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-13)
    assert found.transform(prediction).variance[0, 17, 1] == 0


def test_perfect_means_leave_no_variance():
    scaled = VarianceScaling().fit_transform(PREDICTION, MEAN)
    assert (scaled.variance == 0).all()


def test_a_residual_too_many_deviations_out():
    prediction = caveat.Gaussian([0.0, 0.0], [1.0, 5e-324])
    with pytest.raises(
        InvalidValueError,
        match=r"residual of sample 1 is 4.4\d+e\+236: the predicted variance is close",
    ):
        VarianceScaling().fit(prediction, [1.0, 1e75])


def test_other_errors():
    with pytest.raises(OptionError, match="level must be a number strictly between 0 and 1; got 2"):
        VarianceScaling(level=2).fit(PREDICTION, Y)
    with pytest.raises(OptionError, match=r"needs the quantile at 0\.25"):
        VarianceScaling(level=0.5).fit(PREDICTION.to_quantiles(LEVELS), Y)
    with pytest.raises(
        UnsupportedPredictionError, match="repairs a Gaussian or a Quantiles; got a Int"
    ):
        VarianceScaling().fit(PREDICTION.interval(0.9), Y)


def test_is_an_estimator():
    scaling = VarianceScaling(level=0.9).fit(PREDICTION, Y)
    assert clone(scaling).get_params() == {"level": 0.9}
    copy = pickle.loads(pickle.dumps(scaling))
    assert copy.transform(PREDICTION) == scaling.transform(PREDICTION)
    pipeline = make_pipeline(VarianceScaling()).fit(PREDICTION, Y)
    assert pipeline.transform(PREDICTION) == scaling.transform(PREDICTION)
