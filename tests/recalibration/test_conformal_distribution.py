"""Conformal predictive distributions against crepes, MAPIE's quantiles and the definition."""

import warnings

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, OptionError

RNG = np.random.default_rng(3)
MEAN, STD = RNG.normal(size=99), RNG.gamma(3.0, size=99)
Y = MEAN + STD * RNG.standard_t(4, size=99)
PREDICTION = caveat.Gaussian.from_std(MEAN, STD)
NEW_MEAN, NEW_STD = RNG.normal(size=40), RNG.gamma(3.0, size=40)
NEW = caveat.Gaussian.from_std(NEW_MEAN, NEW_STD)
NEW_Y = NEW_MEAN + NEW_STD * RNG.normal(size=40)


def crepes_system(normalize):
    from crepes import ConformalPredictiveSystem

    return ConformalPredictiveSystem().fit(Y - MEAN, sigmas=STD if normalize else None)


class TestPeer:
    @pytest.mark.parametrize("normalize", [False, True])
    def test_quantiles(self, normalize):
        levels = np.array([0.013, 0.05, 0.333, 0.77, 0.95, 0.987])
        conformal = caveat.ConformalDistribution(normalize=normalize).fit(PREDICTION, Y)
        found = conformal.quantiles(NEW, levels).values[0, :, 0]
        theirs = crepes_system(normalize).predict_percentiles(
            NEW_MEAN, sigmas=NEW_STD if normalize else None,
            lower_percentiles=list(100 * levels[:3]), higher_percentiles=list(100 * levels[3:]),
        )  # fmt: skip
        np.testing.assert_allclose(found, theirs, rtol=1e-10)

    @pytest.mark.parametrize("normalize", [False, True])
    def test_distribution_function(self, normalize):
        conformal = caveat.ConformalDistribution(normalize=normalize).fit(PREDICTION, Y)
        found = conformal.cdf(NEW, NEW_Y)[:, 0]
        theirs = crepes_system(normalize).predict_p(
            NEW_MEAN, NEW_Y, sigmas=NEW_STD if normalize else None, seed=0
        )
        # Theirs has a random tau, ours 1/2: without ties they differ by half a rank at most.
        assert np.abs(found - theirs).max() <= 0.5 / 100 + 1e-12
        assert np.abs(found - theirs).mean() > 0.001

    def test_score(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = crepes_system(False).evaluate(NEW_MEAN, NEW_Y, metrics=["CRPS"])["CRPS"]
        found = caveat.ConformalDistribution().fit(PREDICTION, Y).crps(NEW, NEW_Y)
        assert found.shape == (40, 1)
        assert found.mean() == pytest.approx(theirs, rel=1e-10)


class TestDefinition:
    @pytest.mark.parametrize("normalize", [False, True])
    def test_score_is_the_integral(self, normalize):
        conformal = caveat.ConformalDistribution(normalize=normalize).fit(PREDICTION, Y)
        residual = (Y - MEAN) / (STD if normalize else 1.0)
        points = NEW_MEAN[:, None] + (NEW_STD[:, None] if normalize else 1.0) * residual
        expected = np.abs(points - NEW_Y[:, None]).mean(axis=1)
        expected -= np.abs(points[:, :, None] - points[:, None]).mean(axis=(1, 2)) / 2
        np.testing.assert_allclose(conformal.crps(NEW, NEW_Y)[:, 0], expected, rtol=1e-10)

    def test_ranks(self):
        conformal = caveat.ConformalDistribution().fit(PREDICTION, Y)
        known = np.sort(Y - MEAN)
        found = conformal.quantiles(caveat.Gaussian([0.0], 1.0), [0.01, 0.111, 0.5, 0.889, 0.99])
        # 100 times the level: 1, 11.1 down, 50, 88.9 up, 99.
        np.testing.assert_allclose(found.values.ravel(), known[[0, 10, 49, 88, 98]])
        few = conformal.fit(PREDICTION.take(slice(20)), Y[:20])
        known = np.sort((Y - MEAN)[:20])
        middle = few.quantiles(caveat.Gaussian([0.0], 1.0), [0.5]).values.ravel()
        np.testing.assert_allclose(middle, known[[9, 10]].mean())  # the rank is 10.5

    def test_ties(self):
        conformal = caveat.ConformalDistribution(levels=[0.5], random_state=0)
        conformal.fit(caveat.Gaussian(np.zeros(9), 1.0), [0, 0, 0, 1, 1, 1, 1, 2, 2])
        new = caveat.Gaussian(np.zeros(4), 1.0)
        np.testing.assert_allclose(conformal.cdf(new, [-1, 0, 1, 3])[:, 0], [0.05, 0.2, 0.55, 0.95])
        many = caveat.Gaussian(np.zeros(20_000), 1.0)
        drawn = conformal.cdf(many, np.ones(20_000), smoothed=True)[:, 0]
        assert 0.3 <= drawn.min() < 0.301
        assert 0.799 < drawn.max() <= 0.8
        again = conformal.cdf(many, np.ones(20_000), smoothed=True)[:, 0]
        np.testing.assert_array_equal(again, drawn)

    def test_two_targets_weights_and_groups(self):
        y = np.stack([Y, 2 * Y], axis=1)
        prediction = caveat.Gaussian(np.stack([MEAN, 2 * MEAN], axis=1), 1.0)
        new = caveat.Gaussian(np.stack([NEW_MEAN, 2 * NEW_MEAN], axis=1), 1.0)
        counts = np.arange(99) % 3
        rows = np.repeat(np.arange(99), counts)
        conformal = caveat.ConformalDistribution()
        weighted = conformal.fit(prediction, y, sample_weight=counts)
        truth = np.stack([NEW_Y, 2 * NEW_Y], axis=1)
        values = weighted.transform(new), weighted.crps(new, truth), weighted.cdf(new, truth)
        repeated = caveat.ConformalDistribution().fit(prediction.take(rows), y[rows])
        assert values[0] == repeated.transform(new)
        np.testing.assert_allclose(values[1], repeated.crps(new, truth), rtol=1e-12)
        np.testing.assert_allclose(values[2], repeated.cdf(new, truth), rtol=1e-12)
        np.testing.assert_allclose(values[1][:, 1], 2 * values[1][:, 0])
        groups, fresh = np.arange(99) % 2, np.arange(40) % 2
        conformal.fit(prediction, y, groups=groups)
        alone = caveat.ConformalDistribution().fit(prediction.take(groups == 1), y[groups == 1])
        part = new.take(fresh == 1)
        np.testing.assert_array_equal(
            conformal.crps(new, truth, groups=fresh)[fresh == 1],
            alone.crps(part, truth[fresh == 1]),
        )
        found = conformal.quantiles(new, [0.2, 0.8], groups=fresh)
        assert found.take(fresh == 1) == alone.quantiles(part, [0.2, 0.8])

    def test_evaluation_takes_the_quantiles(self):
        found = caveat.ConformalDistribution().fit(PREDICTION, Y).transform(NEW)
        assert len(found.levels) == 19
        metrics = caveat.evaluate(found, NEW_Y, random_state=0).to_frame()["metric"]
        assert "quantile_crps_loss" in set(metrics)


class TestBadInput:
    def test_too_few(self):
        few = PREDICTION.take(slice(18))
        with pytest.raises(
            OptionError, match=r"quantile at 0\.05 needs at least 19 calibration samples; got 18"
        ):
            caveat.ConformalDistribution().fit(few, Y[:18])
        caveat.ConformalDistribution().fit(PREDICTION.take(slice(19)), Y[:19])
        with pytest.raises(
            OptionError, match=r"group 'b': the quantile at 0\.05 needs at least 19"
        ):
            caveat.ConformalDistribution().fit(
                PREDICTION, Y, groups=np.where(np.arange(99) < 10, "b", "a")
            )
        fitted = caveat.ConformalDistribution(levels=[0.5]).fit(few, Y[:18])
        with pytest.raises(OptionError, match=r"quantile at 0\.99 needs at least 99 calibration"):
            fitted.quantiles(NEW, [0.5, 0.99])

    def test_options(self):
        with pytest.raises(OptionError, match="normalize must be True or False; got 1"):
            caveat.ConformalDistribution(normalize=1).fit(PREDICTION, Y)
        with pytest.raises(OptionError, match="levels must increase"):
            caveat.ConformalDistribution(levels=[0.5, 0.1]).fit(PREDICTION, Y)
        with pytest.raises(OptionError, match="smoothed must be True or False"):
            caveat.ConformalDistribution().fit(PREDICTION, Y).cdf(NEW, NEW_Y, smoothed=2)
        with pytest.raises(InvalidValueError, match="the predicted variance of sample 0 is 0"):
            caveat.ConformalDistribution(normalize=True).fit(caveat.Gaussian(MEAN, 0.0), Y)


def test_summary():
    conformal = caveat.ConformalDistribution().fit(PREDICTION, Y)
    text = conformal.summary()
    assert text.startswith(
        "Promised: quantiles of new samples like the calibration samples are above the truth as "
        "often as their level says, on average"
    )
    assert "From: 99 calibration samples." in text
    assert "coverage after a shift between calibration and use" in text
    assert conformal.too_few_ == ()
