import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.risk_control import set_losses

T = np.linspace(0, 1, 101)


def losses(samples=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random((samples, 6)) ** 2
    return set_losses(p, rng.random((samples, 6)) < p, T)


def by_brute_force(array, risk, weight=None, new=1.0):
    """The loosest (here: largest) threshold such that it and all stricter ones pass."""
    w = np.ones(len(array)) if weight is None else weight
    best = np.nan
    for k, t in enumerate(T):
        if (w @ array[:, k] + new) / (w.sum() + new) > risk:
            return best
        best = t
    return best


class TestThreshold:
    @pytest.mark.parametrize("risk", [0.05, 0.1, 0.3])
    def test_by_brute_force(self, risk):
        control = caveat.ConformalRiskControl(risk).fit(losses(), T)
        assert control.threshold_ == by_brute_force(losses(), risk)
        np.testing.assert_allclose(control.curve_.loss, losses().mean(axis=0))
        np.testing.assert_allclose(control.curve_.corrected, (losses().sum(axis=0) + 1) / 301)
        assert control.curve_.to_frame().shape == (101, 3)

    def test_that_of_mapie(self):
        from mapie.risk_control.methods import find_best_predict_param, get_r_hat_plus

        array = losses()
        _, corrected = get_r_hat_plus(array, T, "crc", None, None, None)
        theirs = find_best_predict_param(T, corrected, np.array([0.1]))
        assert caveat.ConformalRiskControl(0.1).fit(array, T).threshold_ == theirs[0]

    def test_coverage_is_that_of_conformal_sets(self):
        """The loss "not in the set" gives the sets of split conformal prediction."""
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(4), 400)
        y = (p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1).clip(max=3)
        prediction = caveat.Categorical(p)
        sets = caveat.ConformalSets(0.9).fit(prediction, y).transform(prediction).membership
        levels = np.unique(p)
        control = caveat.ConformalRiskControl(0.1).fit(
            set_losses(p, y, levels, loss="missed"), levels
        )
        np.testing.assert_array_equal(p >= control.threshold_, sets)

    def test_losses_that_rise_and_losses_that_fall(self):
        rising = caveat.ConformalRiskControl(0.1).fit(losses(), T)
        falling = caveat.ConformalRiskControl(0.1).fit(losses()[:, ::-1], -T[::-1])
        assert falling.threshold_ == -rising.threshold_

    def test_bound_is_a_unit(self):
        large = caveat.ConformalRiskControl(5.0, bound=50.0).fit(50 * losses(), T)
        small = caveat.ConformalRiskControl(0.1).fit(losses(), T)
        assert large.threshold_ == small.threshold_
        np.testing.assert_allclose(large.curve_.corrected, 50 * small.curve_.corrected)

    def test_equality_passes_whatever_the_rounding(self):
        control = caveat.ConformalRiskControl(0.1).fit(np.zeros((9, 2)), [0.0, 1.0])
        assert not np.isnan(control.threshold_)

    def test_guarantee(self):
        words = caveat.ConformalRiskControl(0.1).fit(losses(), T).guarantee_
        assert words == (
            "On average over calibration sets, the expected loss of a new sample is at most 0.1, "
            "for samples drawn as the calibration samples were. The loss that one calibration set "
            "gives may well be higher."
        )


class TestOutOfReach:
    @pytest.mark.parametrize(("risk", "least"), [(0.1, 9), (0.05, 19), (0.01, 99), (0.3, 3)])
    def test_too_few_samples(self, risk, least):
        with pytest.raises(InvalidValueError, match=f"even if each loss were 0: at least {least} "):
            caveat.ConformalRiskControl(risk).fit(np.zeros((least - 1, 2)), [0, 1])
        caveat.ConformalRiskControl(risk).fit(np.zeros((least, 2)), [0, 1])

    def test_no_threshold(self):
        control = caveat.ConformalRiskControl(0.1).fit(np.full((20, 2), 0.08), [0, 1])
        assert np.isnan(control.threshold_)
        assert control.needed_ == pytest.approx(45)  # (1 - 0.1) / (0.1 - 0.08)
        assert "about 45 samples are needed; without any loss it takes 9." in control.guarantee_
        enough = caveat.ConformalRiskControl(0.1).fit(np.full((45, 2), 0.08), [0, 1])
        assert enough.needed_ is None
        never = caveat.ConformalRiskControl(0.1).fit(np.full((20, 2), 0.2), [0, 1])
        assert never.needed_ == np.inf
        assert "no number of samples would do" in never.guarantee_


class TestShift:
    def test_by_brute_force(self):
        rng = np.random.default_rng(1)
        ratio, new = rng.random(300) * 3, rng.random(50) * 2 + 0.01
        control = caveat.ConformalRiskControl(0.1).fit(losses(), T, shift=ratio)
        expected = [by_brute_force(losses(), 0.1, ratio, w) for w in new]
        np.testing.assert_array_equal(control.threshold_for(shift=new), expected)
        assert control.threshold_ == by_brute_force(losses(), 0.1, ratio, ratio.max())
        assert control.effective_samples_ == pytest.approx(ratio.sum() ** 2 / (ratio**2).sum())
        assert "weighted by their likelihood ratios" in control.guarantee_

    def test_a_sample_far_out_gets_nothing(self):
        control = caveat.ConformalRiskControl(0.1)
        control.fit(losses(), T, shift=np.ones(300))
        assert np.isnan(control.threshold_for(shift=[1e6])[0])

    def test_weights_that_degenerate(self):
        ratio = np.full(300, 1e-6)
        ratio[0] = 1
        with pytest.raises(InvalidValueError, match=r"1\.001 effective calibration samples cannot"):
            caveat.ConformalRiskControl(0.1).fit(losses(), T, shift=ratio)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.inf, "ratio of calibration sample 3 is inf; it must be 0 or more and finite"),
            (np.nan, "ratio of calibration sample 3 is nan"),
            (-1, "ratio of calibration sample 3 is -1; it must be 0 or more and finite"),
        ],
    )
    def test_refused_ratios(self, value, message):
        ratio = np.ones(300)
        ratio[3] = value
        with pytest.raises(InvalidValueError, match=message):
            caveat.ConformalRiskControl(0.1).fit(losses(), T, shift=ratio)

    def test_ratios_of_zero(self):
        control = caveat.ConformalRiskControl(0.1)
        with pytest.raises(InvalidValueError, match="ratio of every calibration sample is 0"):
            control.fit(losses(), T, shift=np.zeros(300))
        some = np.arange(300) % 2
        control.fit(losses(), T, shift=some)
        assert control.threshold_ == by_brute_force(losses()[1::2], 0.1)
        with pytest.raises(
            InvalidValueError, match="ratio of test sample 1 is 0; it must be above 0 and finite"
        ):
            control.threshold_for(shift=[1, 0])
        with pytest.raises(
            InvalidValueError, match="test sample 0 is inf; it must be above 0 and finite"
        ):
            control.threshold_for(shift=[np.inf, 1])
        for size in (1e-80, 1e80):
            with pytest.raises(InvalidValueError, match="sums of such ratios are not exact; scale"):
                control.fit(losses(), T, shift=np.full(300, size))
        with pytest.raises(ShapeError, match="shift must be one likelihood ratio for each of 300"):
            control.fit(losses(), T, shift=[1, 2])


class TestGroups:
    GROUP = np.where(np.arange(300) < 100, "a", "b")

    def test_each_by_itself(self):
        array = losses()
        control = caveat.ConformalRiskControl(0.1).fit(array, T, groups=self.GROUP)
        rows = self.GROUP == "a"
        for part, name in ((array[rows], "a"), (array[~rows], "b")):
            assert control.groups_[name].threshold_ == by_brute_force(part, 0.1)
        expected = [control.groups_[name].threshold_ for name in "bab"]
        np.testing.assert_array_equal(control.threshold_for(groups=["b", "a", "b"]), expected)
        np.testing.assert_array_equal(control.threshold_for(groups={"g": list("bab")}), expected)
        assert control.guarantee_.startswith("For each group by itself: a: On average over")

    def test_with_ratios(self):
        ratio = np.random.default_rng(0).random(300) + 0.5
        control = caveat.ConformalRiskControl(0.1)
        control.fit(losses(), T, groups=self.GROUP, shift=ratio)
        found = control.threshold_for(groups=["a", "b"], shift=[0.5, 2.0])
        rows = self.GROUP == "a"
        assert found[0] == by_brute_force(losses()[rows], 0.1, ratio[rows], 0.5)
        assert found[1] == by_brute_force(losses()[~rows], 0.1, ratio[~rows], 2.0)

    def test_a_group_without_samples(self):
        control = caveat.ConformalRiskControl(0.1).fit(losses(), T, groups=self.GROUP)
        with pytest.raises(OptionError, match="group 'c' had no samples in fit, so nothing can be"):
            control.threshold_for(groups=["a", "c"])
        few = np.where(np.arange(300) < 5, "few", "many")
        with pytest.raises(InvalidValueError, match="group 'few': 5 calibration samples cannot"):
            control.fit(losses(), T, groups=few)

    def test_refused(self):
        plain = caveat.ConformalRiskControl(0.1).fit(losses(), T)
        with pytest.raises(OptionError, match="threshold_for is for groups and likelihood ratios"):
            plain.threshold_for()
        with pytest.raises(OptionError, match="groups were given to threshold_for but not to fit"):
            plain.threshold_for(groups=["a"])
        with pytest.raises(OptionError, match="shift was given to threshold_for but no"):
            plain.threshold_for(shift=[1.0])
        grouped = caveat.ConformalRiskControl(0.1).fit(losses(), T, groups=self.GROUP)
        with pytest.raises(OptionError, match="fit was given groups, so threshold_for needs them"):
            grouped.threshold_for()
        shifted = caveat.ConformalRiskControl(0.1).fit(losses(), T, shift=np.ones(300))
        with pytest.raises(OptionError, match="fit was given shift, so threshold_for"):
            shifted.threshold_for()


class TestInput:
    def test_not_monotone(self):
        array = losses()
        array[7, 40] = 1.0
        array[7, 41] = 0.0
        with pytest.raises(InvalidValueError, match="losses of sample 7, threshold 40 and the nex"):
            caveat.ConformalRiskControl(0.1).fit(array, T)
        with pytest.raises(InvalidValueError, match="sample 7, threshold 59 and the next"):
            caveat.ConformalRiskControl(0.1).fit(array[:, ::-1], T)

    def test_refused(self):
        control = caveat.ConformalRiskControl(0.1)
        with pytest.raises(
            ShapeError, match=r"losses must have shape \(samples, thresholds\): the"
        ):
            control.fit(np.zeros(5), T)
        with pytest.raises(ShapeError, match=r"shape \(samples, thresholds\); got \(3, 4, 5\)"):
            control.fit(np.zeros((3, 4, 5)), T)
        with pytest.raises(ShapeError, match="thresholds must be one number for each of 101 colu"):
            control.fit(losses(), T[1:])
        with pytest.raises(InvalidValueError, match="losses of sample 0, threshold 0 is 2, above"):
            control.fit(np.full((20, 2), 2.0), [0, 1])
        with pytest.raises(InvalidValueError, match="losses of sample 0, threshold 0 is -1, below"):
            control.fit(np.full((20, 2), -1.0), [0, 1])
        with pytest.raises(InvalidValueError, match="losses of sample 0, threshold 0 is nan"):
            control.fit(np.full((20, 2), np.nan), [0, 1])
        for risk in (0, 1, np.nan, "low"):
            with pytest.raises(OptionError, match="risk must be a number strictly between 0 and 1"):
                caveat.ConformalRiskControl(risk).fit(losses(), T)
        with pytest.raises(OptionError, match="bound must be a number above 0"):
            caveat.ConformalRiskControl(0.1, bound=0).fit(losses(), T)
        with pytest.raises(NotFittedError, match=r"call fit\(losses, thresholds\) first"):
            caveat.ConformalRiskControl(0.1).threshold_for(shift=[1.0])

    def test_clone_and_pickle(self):
        control = caveat.ConformalRiskControl(0.1).fit(losses(), T)
        assert clone(control).get_params() == control.get_params()
        assert pickle.loads(pickle.dumps(control)).threshold_ == control.threshold_


def test_a_shift_may_be_estimated():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(300, 1)), rng.normal(0.5, 1, size=(50, 1))
    ratio = caveat.likelihood_ratio(old, new, random_state=0)
    control = caveat.ConformalRiskControl(0.2).fit(losses(), T, shift=ratio)
    by_arrays = caveat.ConformalRiskControl(0.2).fit(losses(), T, shift=ratio.calibration)
    np.testing.assert_array_equal(
        control.threshold_for(shift=ratio), by_arrays.threshold_for(shift=ratio.test)
    )
