"""Joint regions of several targets: each holds what full conformal prediction accepts."""

import math

import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError, ShapeError, UnsupportedPredictionError
from caveat.recalibration import region_volumes
from caveat.recalibration._conformal import learn_margins

from .conformal_examples import MEAN, NEW, PREDICTION, STD, Y, kth

RNG = np.random.default_rng(4)


class TestCopula:
    def test_holds_what_ranks_with_the_new_sample_accept(self):
        """Brute force: the box holds every new score that the exact procedure accepts."""
        scores = np.abs(RNG.standard_t(3, size=(40, 2)) * [1.0, 30.0])
        box = learn_margins([scores], None, 0.8, joint="copula")[1][0, :, 0]
        assert np.isfinite(box).all()
        accepted = []
        for new in np.abs(RNG.standard_t(3, size=(3000, 2)) * [1.5, 45.0]):
            everything = np.vstack([scores, new])
            largest = (everything[:, None] <= everything).sum(axis=0).max(axis=1)
            if largest[-1] <= kth(largest[:-1], 0.8):
                accepted.append(new)
        assert len(accepted) > 1000
        assert (np.array(accepted) <= box).all()

    def test_is_one_rank_for_all_targets(self):
        conformal = caveat.ConformalResiduals(0.8, joint="copula").fit(PREDICTION, Y)
        scores = np.abs(Y - MEAN)
        ranks = scores.argsort(axis=0).argsort(axis=0) + 1
        rank = kth(ranks.max(axis=1), 0.8) + 1
        expected = np.sort(scores, axis=0)[rank - 1]
        np.testing.assert_allclose(conformal.margins_[0, :, 0], expected)

    def test_units_do_not_matter_and_weights_are_repetitions(self):
        scale = np.array([1000.0, 0.001])
        scaled = caveat.Gaussian(MEAN * scale, (STD * scale) ** 2)
        weight = RNG.integers(0, 4, size=101)
        rows = np.repeat(np.arange(101), weight)
        for kind in (caveat.ConformalResiduals, caveat.ConformalQuantiles):
            for options in ({}, {"symmetric": False}, {"bins": 2}):
                conformal = kind(0.7, joint="copula", **options)
                first = conformal.fit(PREDICTION, Y).margins_
                second = conformal.fit(scaled, Y * scale).margins_
                np.testing.assert_allclose(second, first * scale[:, None], rtol=1e-9)
                weighted = conformal.fit(PREDICTION, Y, sample_weight=weight).margins_
                repeated = conformal.fit(PREDICTION.take(rows), Y[rows]).margins_
                np.testing.assert_allclose(weighted, repeated, rtol=1e-12)

    def test_of_one_target_is_the_ordinary_one(self):
        one = caveat.Gaussian(MEAN[:, :1], 1.0)
        copula = caveat.ConformalResiduals(joint="copula").fit(one, Y[:, :1])
        plain = caveat.ConformalResiduals().fit(one, Y[:, :1])
        np.testing.assert_array_equal(copula.margins_, plain.margins_)

    def test_too_few_for_ranks(self):
        few = PREDICTION.take(slice(10))
        conformal = caveat.ConformalResiduals(0.9, joint="copula").fit(few, Y[:10])
        assert np.isinf(conformal.margins_).all()
        assert conformal.too_few_ == (
            "10 calibration samples are too few for the ranks of 2 targets; joint=True needs fewer",
        )


class TestEllipsoids:
    def test_holds_what_the_matrix_with_the_new_sample_accepts(self):
        """Brute force: the region holds every new residual that the exact procedure accepts."""
        residual = RNG.standard_t(5, size=(30, 2)) @ [[1.0, 3.0], [0.0, 2.0]] + [5.0, 0.0]
        start = caveat.Gaussian(np.zeros((30, 2)), 1.0)
        region = caveat.ConformalEllipsoids(0.8).fit(start, residual).transform(start.take([0]))
        accepted, inside = [], []
        for new in RNG.standard_t(5, size=(3000, 2)) @ [[1.5, 4.5], [0.0, 3.0]] + [5.0, 0.0]:
            rows = np.column_stack([np.ones(31), np.vstack([residual, new])])
            leverage = np.einsum("ij,ij->i", rows @ np.linalg.inv(rows.T @ rows), rows)
            accepted.append(leverage[-1] <= kth(leverage[:-1], 0.8))
            inside.append(region.contains(new[None])[0])
        accepted, inside = np.array(accepted), np.array(inside)
        assert accepted.sum() > 500
        assert inside[accepted].all()
        assert inside.mean() < accepted.mean() + 0.15  # and is not much larger

    @pytest.mark.parametrize("normalize", [False, True])
    def test_region_is_where_the_leverage_is_small(self, normalize):
        conformal = caveat.ConformalEllipsoids(0.9, normalize=normalize).fit(PREDICTION, Y)
        found = conformal.transform(NEW)
        residual = (Y - MEAN) / (STD if normalize else 1.0)
        rows = np.column_stack([np.ones(101), residual])
        inverse = np.linalg.inv(rows.T @ rows)
        q = kth(np.einsum("ij,jk,ik->i", rows, inverse, rows), 0.9)
        truth = NEW.mean[0] + 6 * RNG.normal(size=(30, 2))
        scale = np.sqrt(NEW.variance[0]) if normalize else 1.0
        new = np.column_stack([np.ones(30), (truth - NEW.mean[0]) / scale])
        leverage = np.einsum("ij,jk,ik->i", new, inverse, new)
        expected = leverage <= q / (1 - q)
        assert 3 < expected.sum() < 27
        np.testing.assert_array_equal(found.contains(truth), expected)

    def test_one_target_is_an_interval(self):
        one = caveat.Gaussian(MEAN[:, :1], 1.0)
        found = caveat.ConformalEllipsoids(0.9).fit(one, Y[:, :1]).transform(one)
        box = found.bounding_box()
        np.testing.assert_allclose(found.volumes(), (box.upper - box.lower)[:, 0])

    def test_too_few(self):
        conformal = caveat.ConformalEllipsoids(0.9).fit(PREDICTION.take(slice(8)), Y[:8])
        assert conformal.too_few_ == ("8 calibration samples, at least 9 are needed",)
        found = conformal.transform(NEW)
        assert repr(found).endswith("30 infinite")
        assert found.contains(1e70 * np.ones((30, 2))).all()
        assert np.isinf(found.volumes()).all()
        assert np.isinf(found.bounding_box().upper).all()
        conformal = caveat.ConformalEllipsoids(0.5).fit(PREDICTION.take(slice(3)), Y[:3])
        assert conformal.too_few_ == ("3 calibration samples, at least 4 are needed",)
        groups = np.repeat(["a", "b"], [95, 6])
        conformal = caveat.ConformalEllipsoids(0.9).fit(PREDICTION, Y, groups=groups)
        assert conformal.too_few_ == ("group 'b': 6 calibration samples, at least 9 are needed",)
        assert repr(conformal.transform(PREDICTION, groups=groups)).endswith("6 infinite")

    def test_single_samples_that_determine_it(self):
        # Two samples far out in directions of their own have a leverage of 1.
        y = np.zeros((12, 3)) + RNG.normal(size=(12, 3)) * 1e-9
        y[0], y[1], y[2] = [1e9, 0, 0], [0, 1e9, 0], [0, 0, 1e9]
        conformal = caveat.ConformalEllipsoids(0.92).fit(caveat.Gaussian(np.zeros((12, 3)), 1.0), y)
        assert conformal.too_few_ == (
            "12 calibration samples for 3 targets: single samples determine the ellipsoid, and "
            "more are needed",
        )
        assert np.isinf(np.diag(conformal.factor_)).all()

    def test_dependent_targets_are_refused(self):
        with pytest.raises(InvalidValueError, match="depend on each other exactly, or one is cons"):
            caveat.ConformalEllipsoids().fit(PREDICTION, MEAN + (Y - MEAN)[:, :1])
        with pytest.raises(InvalidValueError, match="span no ellipsoid"):
            caveat.ConformalEllipsoids().fit(PREDICTION, MEAN + [[0.0, 1.0]] * (Y - MEAN))


class TestType:
    FACTOR = np.array([[[2.0, 0.0], [1.0, 3.0]]])

    def test_volume_and_box(self):
        region = caveat.Ellipsoid([[1.0, -1.0]], self.FACTOR, coverage=0.9, targets=["a", "b"])
        u = RNG.normal(size=(20_000, 2))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        edge = u @ self.FACTOR[0].T + [1.0, -1.0]
        box = region.bounding_box()
        assert (edge <= box.upper[0] + 1e-12).all()
        np.testing.assert_allclose(edge.max(axis=0), box.upper[0], rtol=1e-4)
        assert region.volumes()[0] == pytest.approx(math.pi * 6)
        many = caveat.concat([region] * 3).take([0, 1, 2])
        outside = 1.001 * (edge[:3] - [1.0, -1.0]) + [1.0, -1.0]
        assert many.contains(edge[:3] * (1 - 1e-13)).all()
        assert not many.contains(outside).any()
        ball = caveat.Ellipsoid(np.zeros((1, 3)), 2 * np.eye(3)[None], coverage=0.9)
        assert ball.volumes()[0] == pytest.approx(4 / 3 * math.pi * 8)

    def test_bad_input(self):
        with pytest.raises(ShapeError, match=r"factor \(samples, targets, targets\); got \(1, 2\)"):
            caveat.Ellipsoid([[1.0, 2.0]], [[1.0, 2.0]], coverage=0.9)
        for bad in (
            [[1.0, 0.5], [0.0, 1.0]],
            [[0.0, 0.0], [1.0, 1.0]],
            [[np.inf, 0.0], [0.0, 1.0]],
            [[np.inf, 0.0], [2.0, np.inf]],
        ):
            with pytest.raises(InvalidValueError, match="factor of sample 0 must be lower triang"):
                caveat.Ellipsoid([[1.0, 2.0]], [bad], coverage=0.9)


class TestComparison:
    def test_rows(self):
        y = RNG.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=600)
        start = caveat.Gaussian(np.zeros((600, 2)), 1.0)
        first, second = start.take(slice(300)), start.take(slice(300, None))
        rows = caveat.compare_regions(first, y[:300], second, y[300:])
        assert rows[0].name == "ellipsoid"
        assert rows[0].ratio == 1
        assert all(row.ratio == pytest.approx(row.volume / rows[0].volume) for row in rows)
        assert all(0.83 < row.coverage < 0.97 for row in rows)
        box = next(row for row in rows if row.name == "box").recalibrator.transform(second)
        assert np.median(region_volumes(box)) == next(r for r in rows if r.name == "box").volume
        without = caveat.compare_regions(first, y[:300], second)
        assert all(np.isnan(row.coverage) for row in without)

    def test_infinite_regions_come_last(self):
        start = caveat.Gaussian(np.zeros((12, 2)), 1.0)
        rows = caveat.compare_regions(start, RNG.normal(size=(12, 2)), start)
        assert rows[-1].name == "copula box"
        assert rows[-1].ratio == np.inf

    def test_volumes(self):
        box = caveat.Interval([[0.0, -np.inf], [0, 0]], [[0.0, np.inf], [2, 3]], coverage=0.5)
        assert region_volumes(box).tolist() == [0.0, 6.0]
        with pytest.raises(UnsupportedPredictionError, match="volume is that of an Interval or an"):
            region_volumes(PREDICTION)
        with pytest.raises(UnsupportedPredictionError, match="compare_regions takes a Gaussian"):
            caveat.compare_regions(PREDICTION, Y, box)


def test_summary():
    groups = np.repeat(["a", "b"], [95, 6])
    text = caveat.ConformalEllipsoids(0.9).fit(PREDICTION, Y, groups=groups).summary()
    assert text.splitlines()[:4] == [
        "Promised in each group: at least 90 % of new samples like the calibration samples are "
        "covered, all targets together, on average over calibration samples and new samples.",
        "From: group 'a': 95 calibration samples.",
        "From: group 'b': 6 calibration samples.",
        "Too few: group 'b': 6 calibration samples, at least 9 are needed.",
    ]
