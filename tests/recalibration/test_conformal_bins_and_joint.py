import math

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError
from caveat.recalibration._conformal import learn_margins
from caveat.recalibration.conformal_quantiles import ConformalQuantiles
from caveat.recalibration.conformal_residuals import ConformalResiduals

from .conformal_examples import MEAN, NEW, PREDICTION, RNG, STD, Y, kth


class TestBins:
    def test_equals_one_fit_for_each_bin(self):
        conformal = ConformalResiduals(0.8, normalize=True, bins=4).fit(PREDICTION, Y)
        found = conformal.transform(NEW)
        assert conformal.edges_.shape == (2, 3)
        assert conformal.margins_.shape == (4, 2, 1)
        for target in range(2):
            edges = np.sort(STD[:, target])[[math.ceil(101 * i / 4) - 1 for i in (1, 2, 3)]]
            np.testing.assert_allclose(conformal.edges_[target], edges, rtol=1e-14)
            bins = np.searchsorted(edges * (1 + 1e-14), STD[:, target])
            assert np.bincount(bins).tolist() == [26, 25, 25, 25]
            new_std = np.sqrt(NEW.variance[0, :, target])
            new_bins = np.searchsorted(edges, new_std)
            assert set(new_bins) == {0, 1, 2, 3}
            scores = np.abs(Y - MEAN)[:, target] / STD[:, target]
            margins = np.array([kth(scores[bins == b], 0.8) for b in range(4)])[new_bins] * new_std
            np.testing.assert_allclose(
                found.upper[:, target], NEW.mean[0, :, target] + margins, rtol=1e-13
            )

    def test_quantiles_bin_by_width(self):
        found = ConformalQuantiles(0.8, bins=3).fit(PREDICTION, Y)
        by_residuals = ConformalResiduals(0.8, bins=3).fit(PREDICTION, Y)
        z = 2 * 1.2815515655446004
        np.testing.assert_allclose(found.edges_, by_residuals.edges_ * z, rtol=1e-12)

    def test_equal_spreads_share_a_bin(self):
        spread = np.repeat([1.0, 2.0, 3.0], [60, 30, 11])
        prediction = caveat.Gaussian.from_std(MEAN[:, 0], spread)
        conformal = ConformalResiduals(0.8, bins=5).fit(prediction, Y[:, 0])
        assert conformal.edges_.tolist() == [[1.0, 2.0, np.inf, np.inf]]
        scores = np.abs(Y - MEAN)[:, 0]
        expected = [kth(scores[spread == s], 0.8) for s in (1.0, 2.0, 3.0)]
        np.testing.assert_allclose(conformal.margins_[:3, 0, 0], expected)
        # Wider than anything seen, or between what was seen: the bin above.
        new = caveat.Gaussian.from_std([0.0] * 4, [0.5, 1.5, 2.5, 99.0])
        np.testing.assert_allclose(
            conformal.transform(new).upper[:, 0], np.array(expected)[[0, 1, 2, 2]]
        )

    def test_constant_spread_is_one_bin(self):
        prediction = caveat.Gaussian(MEAN, 1.0, targets=["a", "b"])
        conformal = ConformalResiduals(bins=10).fit(prediction, Y)
        assert np.isinf(conformal.edges_).all()
        np.testing.assert_array_equal(
            conformal.margins_[0], ConformalResiduals().fit(prediction, Y).margins_[0]
        )
        assert np.isfinite(conformal.transform(NEW).upper).all()

    def test_one_bin_is_none(self):
        one = ConformalResiduals(bins=1).fit(PREDICTION, Y)
        np.testing.assert_array_equal(
            one.margins_, ConformalResiduals().fit(PREDICTION, Y).margins_
        )
        assert one.edges_.shape == (2, 0)

    def test_a_bin_with_too_few_samples(self):
        conformal = ConformalResiduals(bins=12).fit(PREDICTION.take(slice(24)), Y[:24])
        assert np.isinf(conformal.margins_).all()
        assert len(conformal.too_few_) == 12
        assert conformal.too_few_[0] == "bin 0 of 12: 2 calibration samples, at least 9 are needed"
        # One heavy sample counts for nine and leaves two bins, of which the first has 7 samples.
        weight = np.r_[np.ones(12), 9.0]
        spread = caveat.Gaussian.from_std(np.zeros(13), np.arange(1.0, 14.0))
        conformal = ConformalResiduals(bins=3).fit(spread, np.arange(13.0), sample_weight=weight)
        assert conformal.margins_[:2, 0, 0].tolist() == [np.inf, 12.0]
        assert conformal.too_few_ == ("bin 0 of 2: 7 calibration samples, at least 9 are needed",)
        found = conformal.transform(spread.take([0, 12]))
        assert found.upper[:, 0].tolist() == [np.inf, 12.0]

    def test_weights_are_repetitions(self):
        weight = RNG.integers(0, 4, size=101)
        rows = np.repeat(np.arange(101), weight)
        for options in ({}, {"normalize": True}, {"joint": True}, {"symmetric": False}):
            conformal = ConformalResiduals(0.7, bins=3, **options)
            weighted = conformal.fit(PREDICTION, Y, sample_weight=weight)
            edges, margins = weighted.edges_, weighted.margins_
            repeated = conformal.fit(PREDICTION.take(rows), Y[rows])
            np.testing.assert_array_equal(edges, repeated.edges_)
            np.testing.assert_allclose(margins, repeated.margins_, rtol=1e-14)


class TestJoint:
    def test_of_one_target_is_the_ordinary_one(self):
        prediction, y = caveat.Gaussian(MEAN[:, :1], STD[:, :1] ** 2), Y[:, :1]
        for kind in (ConformalResiduals, ConformalQuantiles):
            for symmetric in (True, False):
                joint = kind(joint=True, symmetric=symmetric).fit(prediction, y)
                plain = kind(symmetric=symmetric).fit(prediction, y)
                np.testing.assert_array_equal(joint.margins_, plain.margins_)

    def test_normalized_is_the_largest_score(self):
        conformal = ConformalResiduals(0.9, normalize=True, joint=True).fit(PREDICTION, Y)
        expected = kth((np.abs(Y - MEAN) / STD).max(axis=1), 0.9)
        np.testing.assert_allclose(conformal.margins_, np.full((1, 2, 1), expected))

    def test_covers_whatever_the_median_with_the_new_sample_is(self):
        """Brute force: the box holds every new residual that the exact procedure accepts."""
        residual = np.abs(RNG.standard_t(3, size=(25, 2)) * [1.0, 30.0])
        box = learn_margins([residual], None, 0.8, joint=True, sizes=residual)[1][0, :, 0]
        accepted = []
        for new in np.abs(RNG.standard_t(3, size=(4000, 2)) * [1.5, 45.0]):
            everything = np.vstack([residual, new])
            ratio = (everything / np.sort(everything, axis=0)[12]).max(axis=1)
            if ratio[-1] <= kth(ratio[:-1], 0.8):
                accepted.append(new)
        assert len(accepted) > 2000
        assert (np.array(accepted) <= box).all()

    def test_units_do_not_matter(self):
        scale = np.array([1000.0, 0.001])
        scaled = caveat.Gaussian(MEAN * scale, (STD * scale) ** 2)
        for kind in (ConformalResiduals, ConformalQuantiles):
            for options in ({}, {"symmetric": False}, {"bins": 2}):
                first = kind(0.8, joint=True, **options).fit(PREDICTION, Y)
                second = kind(0.8, joint=True, **options).fit(scaled, Y * scale)
                np.testing.assert_allclose(
                    second.margins_, first.margins_ * scale[:, None], rtol=1e-10
                )

    def test_negative_margins(self):
        start = caveat.Interval(MEAN - 50 * STD, MEAN + 50 * STD, coverage=0.9)
        conformal = ConformalQuantiles(0.9, joint=True).fit(start, Y)
        assert (conformal.margins_ < 0).all()
        found = conformal.transform(start)
        inside = ((found.lower <= Y) & (found.upper >= Y)).all(axis=1)
        assert inside.sum() >= math.ceil(102 * 0.9)

    def test_bins_use_the_geometric_mean(self):
        conformal = ConformalResiduals(0.7, normalize=True, joint=True, bins=3).fit(PREDICTION, Y)
        width = np.sqrt(STD.prod(axis=1))
        edges = np.sort(width)[[33, 67]]
        assert conformal.edges_.shape == (1, 2)
        np.testing.assert_allclose(conformal.edges_[0], edges, rtol=1e-12)
        codes = np.searchsorted(edges * (1 + 1e-12), width)
        score = (np.abs(Y - MEAN) / STD).max(axis=1)
        expected = [kth(score[codes == code], 0.7) for code in range(3)]
        np.testing.assert_allclose(conformal.margins_[:, 0, 0], expected)
        np.testing.assert_allclose(conformal.margins_[:, 1, 0], expected)
        margin = np.array(expected)[codes, None] * STD
        np.testing.assert_allclose(conformal.transform(PREDICTION).upper, MEAN + margin)

    def test_a_spread_of_zero_has_the_lowest_bin(self):
        variance = np.where(np.arange(101)[:, None] < 40, [[0.0, 1.0]], [[1.0, 1.0]])
        conformal = ConformalResiduals(0.7, joint=True, bins=2)
        conformal.fit(caveat.Gaussian(MEAN, variance), Y)
        assert conformal.edges_.tolist() == [[np.inf]]  # more than half have a spread of 1

    def test_perfect_targets_need_no_margin(self):
        y = np.column_stack([Y[:, 0], MEAN[:, 1]])
        conformal = ConformalResiduals(0.9, joint=True).fit(PREDICTION, y)
        assert conformal.margins_[0, 1, 0] == 0
        assert conformal.margins_[0, 0, 0] >= kth(np.abs(Y - MEAN)[:, 0], 0.9)
        everything = ConformalResiduals(0.9, joint=True).fit(PREDICTION, MEAN)
        np.testing.assert_array_equal(everything.margins_, 0.0)

    def test_a_median_of_zero_is_no_unit(self):
        y = Y.copy()
        y[:60, 1] = MEAN[:60, 1]
        with pytest.raises(
            InvalidValueError, match="scores of target number 1 by a median that is 0"
        ):
            ConformalResiduals(0.9, joint=True).fit(PREDICTION, y)
        with pytest.raises(InvalidValueError, match="use joint=False, or normalize=True"):
            ConformalResiduals(0.4, joint=True).fit(PREDICTION.take([0]), Y[:1])
