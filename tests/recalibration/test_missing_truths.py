"""Each target is repaired by the samples whose true value is known, as if it were alone."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, OptionError
from caveat.recalibration import ShiftWarning

RNG = np.random.default_rng(8)
SAMPLES = 120
MEAN, STD = RNG.normal(size=(SAMPLES, 2)), RNG.gamma(3.0, size=(SAMPLES, 2))
Y = MEAN + STD * RNG.standard_t(4, size=(SAMPLES, 2))
Y[RNG.random(SAMPLES) < 0.4, 1] = np.nan
KNOWN = ~np.isnan(Y[:, 1])
PREDICTION = caveat.Gaussian.from_std(MEAN, STD)
ALONE = [caveat.Gaussian.from_std(MEAN[:, t], STD[:, t]) for t in (0, 1)]
RATIO = RNG.gamma(5.0, size=SAMPLES)
GROUPS = {"a": RNG.integers(2, size=SAMPLES), "b": RNG.integers(2, size=SAMPLES)}
WEIGHT = RNG.integers(1, 4, size=SAMPLES)


def rows_of(given, rows):
    """Return some rows of the arguments of fit."""
    return {
        name: {key: each[rows] for key, each in value.items()}
        if isinstance(value, dict)
        else value[rows]
        for name, value in given.items()
    }


def fitted_alone(method, **given):
    """Return copies fitted to one target each, by the samples whose value is known."""
    copies = []
    for target, rows in ((0, np.ones(SAMPLES, dtype=bool)), (1, KNOWN)):
        copy = type(method)(**method.get_params())
        one, own = ALONE[target].take(rows), rows_of(given, rows)
        copies.append(copy.fit(one, Y[rows, target], **own))
    return copies


def same_ends(made, alone):
    for target, one in enumerate(alone):
        np.testing.assert_allclose(made.lower[:, target], one.lower[:, 0], rtol=1e-9)
        np.testing.assert_allclose(made.upper[:, target], one.upper[:, 0], rtol=1e-9)


INTERVALS = {
    "residuals": caveat.ConformalResiduals(0.8),
    "two sides": caveat.ConformalResiduals(0.8, symmetric=False, normalize=True),
    "quantiles": caveat.ConformalQuantiles(0.8),
}


@pytest.mark.parametrize("name", INTERVALS)
class TestIntervals:
    def test_covariate_shift(self, name):
        method = INTERVALS[name]
        made = method.fit(PREDICTION, Y, shift=RATIO).transform(PREDICTION, shift=RATIO)
        alone = fitted_alone(method, shift=RATIO)
        same_ends(
            made,
            [
                one.transform(prediction, shift=RATIO)
                for one, prediction in zip(alone, ALONE, strict=True)
            ],
        )

    def test_overlapping_groups(self, name):
        method = type(INTERVALS[name])(**INTERVALS[name].get_params()).set_params(overlapping=True)
        made = method.fit(PREDICTION, Y, groups=GROUPS).transform(PREDICTION, groups=GROUPS)
        alone = fitted_alone(method, groups=GROUPS)
        same_ends(
            made,
            [
                one.transform(prediction, groups=GROUPS)
                for one, prediction in zip(alone, ALONE, strict=True)
            ],
        )
        for group, (count, covered) in method.group_coverage_.items():
            (all_, first), (some, second) = (one.group_coverage_[group] for one in alone)
            assert count == some
            assert covered == pytest.approx((all_ * first + some * second) / (all_ + some))


class TestTooFew:
    def test_shift_counts_the_known_values(self):
        y = np.where(np.arange(SAMPLES)[:, None] < [SAMPLES, 8], MEAN, np.nan)
        method = caveat.ConformalResiduals(0.9).fit(PREDICTION, y, shift=np.ones(SAMPLES))
        assert method.too_few_ == (
            "8 calibration samples are worth 8 after weighting, at least 9 are needed",
        )
        with pytest.warns(ShiftWarning):
            made = method.transform(PREDICTION, shift=np.ones(SAMPLES))
        assert np.isfinite(made.upper[:, 0]).all()
        assert np.isinf(made.upper[:, 1]).all()

    def test_a_group_without_known_values(self):
        y = np.column_stack([Y[:, 0], np.where(GROUPS["a"] == 1, np.nan, MEAN[:, 1] + 1)])
        method = caveat.ConformalResiduals(0.9, overlapping=True)
        made = method.fit(PREDICTION, y, groups={"a": GROUPS["a"]}).transform(
            PREDICTION, groups={"a": GROUPS["a"]}
        )
        assert method.too_few_ == ("group a=1: 0 calibration samples, at least 9 are needed",)
        assert np.isinf(made.upper[GROUPS["a"] == 1, 1]).all()
        assert np.isfinite(made.upper[GROUPS["a"] == 0]).all()
        assert np.isfinite(made.upper[:, 0]).all()

    def test_a_group_without_any_known_value(self):
        group = GROUPS["a"]
        y = np.where(group[:, None] == 1, np.nan, MEAN)
        method = caveat.ConformalResiduals(0.9, overlapping=True)
        method.fit(PREDICTION, y, groups={"a": group})
        assert method.group_coverage_["a=0"] == ((group == 0).sum(), 1.0)
        count, share = method.group_coverage_["a=1"]
        assert count == 0
        assert np.isnan(share)
        assert "Group a=1: 0 calibration samples.\n" in method.summary()


@pytest.mark.parametrize("given", [{}, {"sample_weight": WEIGHT}], ids=["equal", "weighted"])
@pytest.mark.parametrize("normalize", [False, True])
class TestDistribution:
    def test_target_by_target(self, given, normalize):
        method = caveat.ConformalDistribution(normalize=normalize).fit(PREDICTION, Y, **given)
        alone = fitted_alone(method, **given)
        values = method.transform(PREDICTION).values
        full = np.where(np.isnan(Y), MEAN, Y)
        for target, one in enumerate(alone):
            np.testing.assert_allclose(
                values[..., target, :], one.transform(ALONE[target]).values[..., 0, :]
            )
            for name in ("cdf", "crps"):
                np.testing.assert_allclose(
                    getattr(method, name)(PREDICTION, full)[:, target],
                    getattr(one, name)(ALONE[target], full[:, target])[:, 0],
                )

    def test_too_few_known_values(self, given, normalize):
        y = np.where(np.arange(SAMPLES)[:, None] < [SAMPLES, 5], MEAN, np.nan)
        with pytest.raises(OptionError, match="needs at least 19 calibration samples"):
            caveat.ConformalDistribution(normalize=normalize).fit(PREDICTION, y, **given)


class TestEllipsoids:
    @pytest.mark.parametrize("given", [{}, {"sample_weight": WEIGHT}], ids=["equal", "weighted"])
    def test_samples_with_all_values(self, given):
        method = caveat.ConformalEllipsoids(0.8).fit(PREDICTION, Y, **given)
        own = {name: value[KNOWN] for name, value in given.items()}
        other = caveat.ConformalEllipsoids(0.8).fit(PREDICTION.take(KNOWN), Y[KNOWN], **own)
        np.testing.assert_allclose(method.factor_, other.factor_)
        np.testing.assert_allclose(method.shift_, other.shift_)
        assert method.samples_ == KNOWN.sum()

    def test_no_sample_with_all_values(self):
        first = np.arange(SAMPLES) < 60
        y = np.where(np.column_stack([first, ~first]), MEAN, np.nan)
        with pytest.raises(InvalidValueError, match="no sample has true values of all targets"):
            caveat.ConformalEllipsoids(0.9).fit(PREDICTION, y)


@pytest.mark.parametrize(
    "method",
    [caveat.VarianceScaling(), caveat.IsotonicDistribution(), caveat.ConformalResiduals()],
    ids=["variance", "isotonic", "conformal"],
)
def test_weights_of_zero_leave_no_value(method):
    with pytest.raises(InvalidValueError, match="no true value of target '1' is known"):
        method.fit(PREDICTION, Y, sample_weight=1.0 - KNOWN)
