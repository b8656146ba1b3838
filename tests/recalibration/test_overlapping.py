"""Groups that overlap: the threshold by the definition of full conformal prediction."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

import caveat
from caveat.exceptions import OptionError, ShapeError
from caveat.recalibration import _thresholds
from caveat.recalibration._conformal import conformal_quantile
from caveat.recalibration._thresholds import group_quantiles

from .conformal_examples import MEAN, NEW, PREDICTION, Y

RNG = np.random.default_rng(8)
SEX, AGE = np.array(["f", "m"])[RNG.integers(2, size=101)], np.arange(101) % 3 == 0
GROUPS = {"sex": SEX, "old": AGE}
NEW_GROUPS = {"old": np.arange(30) % 2 == 0, "sex": np.array(["f", "m"])[np.arange(30) % 2]}


def regression(members, scores, level):
    """The primal quantile regression, as a linear program."""
    samples, groups = members.shape
    cost = np.r_[np.zeros(groups), np.full(samples, level), np.full(samples, 1 - level)]
    constraints = np.hstack([members, np.eye(samples), -np.eye(samples)])
    bounds = [(None, None)] * groups + [(0, None)] * (2 * samples)
    answer = linprog(cost, A_eq=constraints, b_eq=scores, bounds=bounds, method="highs-ds")
    return answer.x[:groups]


class TestQuantiles:
    def test_is_where_a_new_score_leaves_the_regression_with_it(self):
        flags = RNG.random((60, 2)) < [0.5, 0.3]
        members = np.hstack([flags, ~flags]).astype(float)
        scores = RNG.exponential(size=60) * (1 + flags @ [1, 2])
        patterns = np.unique(members, axis=0)
        assert len(patterns) == 4
        for pattern, limit in zip(
            patterns, group_quantiles(scores, members, 0.8, patterns), strict=True
        ):
            for step, inside in ((-0.3, True), (-1e-3, True), (1e-3, False), (0.3, False)):
                new = limit + step
                slope = regression(np.vstack([members, pattern]), np.r_[scores, new], 0.8)
                assert (new <= pattern @ slope + 1e-9) == inside

    @pytest.mark.parametrize("count", [8, 9, 10, 57, 3000])
    def test_one_group_is_the_ordinary_quantile(self, count):
        scores = RNG.normal(size=count)
        found = group_quantiles(scores, np.ones((count, 1)), 0.9, np.ones((1, 1)))
        np.testing.assert_allclose(found, conformal_quantile(scores[:, None], 0.9), rtol=1e-7)

    def test_groups_that_do_not_overlap_are_ordinary_quantiles(self):
        codes = np.repeat([0, 1, 2], [5, 30, 80])
        scores = RNG.exponential(size=115) * (codes + 1)
        found = group_quantiles(scores, np.eye(3)[codes], 0.9, np.eye(3))
        expected = [conformal_quantile(scores[codes == k][:, None], 0.9)[0] for k in range(3)]
        assert found[0] == np.inf
        np.testing.assert_allclose(found, expected, rtol=1e-7)

    @pytest.mark.parametrize("order", ["random", "sorted"])
    def test_many_rows_are_solved_by_few(self, order, monkeypatch):
        flags = RNG.random((2600, 3)) < [0.5, 0.2, 0.02]
        members = np.hstack([flags, ~flags]).astype(float)
        scores = RNG.exponential(size=2600) * (1 + flags @ [1, 2, 9])
        if order == "sorted":
            scores.sort()
        patterns = np.unique(members, axis=0)
        whole = group_quantiles(scores, members, 0.9, patterns)
        monkeypatch.setattr(_thresholds, "_MANY_ROWS", 200)
        np.testing.assert_allclose(
            group_quantiles(scores, members, 0.9, patterns), whole, rtol=1e-7
        )

    def test_scores_of_zero(self):
        found = group_quantiles(np.zeros(20), np.ones((20, 1)), 0.9, np.ones((1, 1)))
        assert 0 <= found[0] < 1e-8

    def test_equal_scores_stay_inside(self):
        # Rounding may not exclude the score that the threshold stands for.
        scores = np.repeat([0.1, 0.3, 0.7], [40, 50, 10])
        members = np.stack([np.ones(100), np.arange(100) % 2], axis=1)
        found = group_quantiles(scores, members, 0.85, np.array([[1.0, 0.0], [1.0, 1.0]]))
        assert (found >= 0.3).all()
        np.testing.assert_allclose(found, 0.3, atol=1e-6)


class TestRecalibrators:
    @pytest.mark.parametrize("symmetric", [True, False])
    @pytest.mark.parametrize("kind", [caveat.ConformalResiduals, caveat.ConformalQuantiles])
    def test_intervals(self, kind, symmetric):
        conformal = kind(0.8, symmetric=symmetric, overlapping=True)
        found = conformal.fit(PREDICTION, Y, groups=GROUPS).transform(NEW, groups=NEW_GROUPS)
        assert np.isfinite(found.upper).all()
        start = PREDICTION.interval(0.8)
        above = Y - MEAN if kind is caveat.ConformalResiduals else Y - start.upper
        below = MEAN - Y if kind is caveat.ConformalResiduals else start.lower - Y
        scores = np.maximum(above, below) if symmetric else above
        members = np.stack([SEX == "f", SEX == "m", ~AGE, AGE], axis=1).astype(float)
        old, female = NEW_GROUPS["old"], NEW_GROUPS["sex"] == "f"
        new = np.stack([female, ~female, ~old, old], axis=1).astype(float)
        level = 0.8 if symmetric else 0.9
        base = NEW.mean[0] if kind is caveat.ConformalResiduals else NEW.interval(0.8).upper
        for t in range(2):
            q = group_quantiles(scores[:, t], members, level, new)
            wide = found.upper[:, t] > found.lower[:, t]  # else the ends have crossed
            assert wide.sum() > 25
            np.testing.assert_allclose(
                found.upper[wide, t], (base[:, t] + q)[wide], rtol=1e-9, atol=1e-9
            )

    def test_every_group_is_covered_in_calibration_and_reported(self):
        conformal = caveat.ConformalResiduals(0.8, overlapping=True)
        found = conformal.fit(PREDICTION, Y, groups=GROUPS).transform(PREDICTION, groups=GROUPS)
        inside = ((found.lower <= Y) & (found.upper >= Y)).mean(axis=1)
        assert list(conformal.group_coverage_) == ["sex=f", "sex=m", "old=False", "old=True"]
        for name, rows in (("sex=f", SEX == "f"), ("old=True", AGE)):
            count, share = conformal.group_coverage_[name]
            assert count == rows.sum()
            assert share == pytest.approx(inside[rows].mean())
            assert share >= 0.8
        text = conformal.summary()
        assert f"Group old=True: {AGE.sum()} calibration samples, 0." in text
        assert "Not promised: coverage in intersections of groups" in text

    def test_sets(self):
        p = RNG.dirichlet(np.ones(3), size=101)
        y = (p.cumsum(axis=1) < RNG.random((101, 1))).sum(axis=1).clip(max=2)
        conformal = caveat.ConformalSets(0.8, overlapping=True)
        found = conformal.fit(p, y, groups=GROUPS).transform(p, groups=GROUPS)
        members = np.stack([SEX == "f", SEX == "m", ~AGE, AGE], axis=1).astype(float)
        q = group_quantiles(1 - p[np.arange(101), y], members, 0.8, members)
        np.testing.assert_array_equal(found.membership, 1 - p <= q[:, None])
        with pytest.raises(OptionError, match="not defined after a fit with overlapping groups"):
            conformal.p_values(caveat.Categorical(p))
        again = pickle.loads(pickle.dumps(conformal))
        assert again.transform(p, groups=GROUPS) == found

    def test_combinations_that_fit_did_not_see(self):
        rows = (SEX == "f") | ~AGE  # no old men
        groups = {"sex": SEX[rows], "old": AGE[rows]}
        conformal = caveat.ConformalResiduals(0.8, overlapping=True)
        conformal.fit(PREDICTION.take(rows), Y[rows], groups=groups)
        assert len(conformal.patterns_) == 3
        found = conformal.transform(
            caveat.Gaussian(np.zeros((2, 2)), 1.0, targets=["a", "b"]),
            groups={"sex": ["m", "f"], "old": [True, True]},
        )
        members = np.stack([SEX == "f", SEX == "m", ~AGE, AGE], axis=1)[rows].astype(float)
        new = np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
        for t in range(2):
            q = group_quantiles(np.abs(Y - MEAN)[rows, t], members, 0.8, new)
            np.testing.assert_allclose(found.upper[:, t], q, rtol=1e-9)

    def test_a_small_group_is_infinite_and_said(self):
        rare = np.where(np.arange(101) < 3, "rare", "usual")
        conformal = caveat.ConformalResiduals(0.9, overlapping=True)
        found = conformal.fit(PREDICTION, Y, groups={"sex": SEX, "kind": rare})
        found = found.transform(PREDICTION, groups={"sex": SEX, "kind": rare})
        assert np.isinf(found.upper[:3]).all()
        assert np.isfinite(found.upper[3:]).all()
        assert conformal.too_few_ == (
            "group kind=rare: 3 calibration samples, at least 9 are needed",
        )

    def test_bad_input(self):
        conformal = caveat.ConformalResiduals(overlapping=True)
        with pytest.raises(
            OptionError, match="overlapping=True covers each group, so fit needs gr"
        ):
            conformal.fit(PREDICTION, Y)
        with pytest.raises(OptionError, match="takes neither shift nor sample_weight"):
            conformal.fit(PREDICTION, Y, groups=GROUPS, sample_weight=np.ones(101))
        with pytest.raises(OptionError, match="takes neither shift nor sample_weight"):
            conformal.fit(PREDICTION, Y, groups=GROUPS, shift=np.ones(101))
        with pytest.raises(ShapeError, match="one value for each of 101 samples"):
            conformal.fit(PREDICTION, Y, groups={"sex": SEX[:5]})
        with pytest.raises(OptionError, match="joint cannot be combined with overlapping groups"):
            caveat.ConformalResiduals(overlapping=True, joint=True).fit(
                PREDICTION, Y, groups=GROUPS
            )
        with pytest.raises(OptionError, match="overlapping must be True or False; got 'yes'"):
            caveat.ConformalResiduals(overlapping="yes").fit(PREDICTION, Y, groups=GROUPS)
        with pytest.raises(OptionError, match="class_conditional=True cannot be combined with ove"):
            caveat.ConformalSets(overlapping=True, class_conditional=True).fit(
                [0.1, 0.9], [0, 1], groups=[0, 1]
            )
        conformal.fit(PREDICTION, Y, groups=GROUPS)
        with pytest.raises(OptionError, match="fit was given groups, so transform needs them too"):
            conformal.transform(NEW)
        with pytest.raises(OptionError, match="shift was given to transform but not to fit"):
            conformal.transform(NEW, groups=NEW_GROUPS, shift=np.ones(30))
        with pytest.raises(OptionError, match="fit was given the attributes sex, old; got sex"):
            conformal.transform(NEW, groups={"sex": NEW_GROUPS["sex"]})
        unknown = {**NEW_GROUPS, "sex": np.where(np.arange(30) == 4, "x", "f")}
        with pytest.raises(
            OptionError, match="group sex=x of sample 4 was not in fit; it knew 'f'"
        ):
            conformal.transform(NEW, groups=unknown)
