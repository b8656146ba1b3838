"""CV+, jackknife+ and cross-conformal sets against MAPIE and their definitions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, LeaveOneOut

import caveat
from caveat.exceptions import OptionError, ShapeError, UnsupportedPredictionError

RNG = np.random.default_rng(2)
X, NEW_X = RNG.normal(size=(40, 3)), RNG.normal(size=(25, 3))
Y = X @ [1.0, -1.0, 0.5] + RNG.normal(size=40)


def folds_of(cv):
    """Out-of-fold predictions, fold numbers, and what each fold's model says of new samples."""
    out, folds, new = np.empty(40), np.empty(40, dtype=int), []
    for k, (rows, rest) in enumerate(cv.split(X)):
        model = LinearRegression().fit(X[rows], Y[rows])
        out[rest], folds[rest] = model.predict(X[rest]), k
        new.append(model.predict(NEW_X))
    new = np.array(new)[:, :, None]
    return caveat.Gaussian(out, 0.0), folds, caveat.Gaussian(new, np.zeros_like(new))


class TestIntervals:
    @pytest.mark.parametrize("method", ["plus", "minmax"])
    @pytest.mark.parametrize("cv", [KFold(5), KFold(8), LeaveOneOut()], ids=str)
    def test_is_mapies(self, method, cv):
        from mapie.regression import CrossConformalRegressor

        out, folds, new = folds_of(cv)
        found = caveat.CrossConformal(0.8, method=method).fit(out, Y, folds=folds).transform(new)
        theirs = CrossConformalRegressor(
            LinearRegression(), confidence_level=0.8, method=method, cv=cv
        ).fit_conformalize(X, Y)
        ends = theirs.predict_interval(NEW_X)[1][:, :, 0]
        np.testing.assert_allclose(found.upper[:, 0], ends[:, 1], rtol=1e-10)
        np.testing.assert_allclose(found.lower[:, 0], ends[:, 0], rtol=1e-10)

    def test_leave_one_out_is_the_default(self):
        out, folds, new = folds_of(LeaveOneOut())
        by_default = caveat.CrossConformal(0.8).fit(out, Y).transform(new)
        assert by_default == caveat.CrossConformal(0.8).fit(out, Y, folds=folds).transform(new)

    def test_normalized_by_definition(self):
        out, folds, new = folds_of(KFold(5))
        std, new_std = RNG.gamma(3.0, size=40), RNG.gamma(3.0, size=(5, 25, 1))
        out = caveat.Gaussian.from_std(out.mean[0], std[:, None])
        new = caveat.Gaussian.from_std(new.mean, new_std)
        found = caveat.CrossConformal(0.8, normalize=True).fit(out, Y, folds=folds).transform(new)
        reach = np.abs(Y - out.mean[0, :, 0]) / std
        rank = math.ceil(41 * Fraction(4, 5))
        for i in range(25):
            mean, scale = new.mean[folds, i, 0], new_std[folds, i, 0]
            assert found.upper[i, 0] == pytest.approx(np.sort(mean + reach * scale)[rank - 1])
            assert found.lower[i, 0] == pytest.approx(np.sort(mean - reach * scale)[40 - rank])

    def test_ends_that_cross_are_put_in_order(self):
        means = np.array([[[-10.0]], [[10.0]]])
        out = caveat.Gaussian(np.zeros(4), 0.0)
        conformal = caveat.CrossConformal(0.2).fit(out, [0.1, 0.1, 0.1, 0.1], folds=[0, 0, 1, 1])
        found = conformal.transform(caveat.Gaussian(means, np.zeros_like(means)))
        assert found.lower[0, 0] < found.upper[0, 0]

    def test_too_few(self):
        out, folds, new = folds_of(KFold(5))
        conformal = caveat.CrossConformal(0.98).fit(out, Y, folds=folds)
        assert conformal.too_few_ == ("40 calibration samples, at least 49 are needed",)
        assert np.isinf(conformal.transform(new).upper).all()
        assert "Too few: 40 calibration samples" in conformal.summary()
        assert conformal.promised_ == 1

    def test_promises(self):
        out, folds, _ = folds_of(KFold(5))
        assert caveat.CrossConformal(0.9).fit(out, Y).promised_ == pytest.approx(0.8)
        minmax = caveat.CrossConformal(0.9, method="minmax")
        assert minmax.fit(out, Y).promised_ == 0.9
        loss = min(2 * 0.8 / 9, (1 - 5 / 40) / 6)
        assert minmax.fit(out, Y, folds=folds).promised_ == pytest.approx(0.8 - loss)
        text = caveat.CrossConformal(0.9).fit(out, Y, folds=folds).summary()
        assert "at least 65.4 % of new samples are covered; 90 % were asked for" in text
        assert "From: 40 samples in 5 folds." in text
        assert caveat.CrossConformal(0.3).fit(out, Y).promised_ == 0


class TestSets:
    P = RNG.dirichlet(np.ones(3), size=40)
    CODES = (P.cumsum(axis=1) < RNG.random((40, 1))).sum(axis=1).clip(max=2)
    NEW = RNG.dirichlet(np.ones(3), size=(4, 25))
    FOLDS = np.arange(40) % 4

    @pytest.mark.parametrize("method", ["plus", "minmax"])
    def test_by_definition(self, method):
        conformal = caveat.CrossConformal(0.7, method=method)
        conformal.fit(self.P, self.CODES, folds=self.FOLDS)
        found = conformal.transform(self.NEW)
        scores = 1 - self.P[np.arange(40), self.CODES]
        for i in range(25):
            for c in range(3):
                own = 1 - self.NEW[:, i, c]
                if method == "minmax":
                    own = np.full(4, own.min())
                below = sum(scores[j] < own[self.FOLDS[j]] for j in range(40))
                assert found.membership[i, c] == (below < 0.7 * 41)

    def test_equal_models_are_split_conformal(self):
        equal = np.repeat(self.NEW[:1], 4, axis=0)
        conformal = caveat.CrossConformal(0.7).fit(self.P, self.CODES, folds=self.FOLDS)
        split = caveat.ConformalSets(0.7).fit(self.P, self.CODES).transform(self.NEW[0])
        np.testing.assert_array_equal(conformal.transform(equal).membership, split.membership)

    def test_names(self):
        names = np.array(["a", "b", "c"])
        prediction = caveat.Categorical(self.P, classes=names)
        conformal = caveat.CrossConformal(0.7).fit(prediction, names[self.CODES], folds=self.FOLDS)
        assert conformal.transform(self.NEW).classes.tolist() == ["a", "b", "c"]


class TestBadInput:
    def test_calls(self):
        out, folds, new = folds_of(KFold(5))
        conformal = caveat.CrossConformal()
        for call in (lambda: conformal.transform(new), conformal.summary):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                call()
        with pytest.raises(
            ShapeError, match=r"fit takes one prediction of each sample.* 5 members"
        ):
            conformal.fit(new, np.zeros(25))
        with pytest.raises(UnsupportedPredictionError, match="takes a Gaussian or a Categorical"):
            conformal.fit(caveat.Interval([0.0], [1.0], coverage=0.9), [0.5])
        conformal.fit(out, Y, folds=folds)
        with pytest.raises(
            ShapeError, match=r"fit saw 5 folds, .* predictions of 5 models .* got 1"
        ):
            conformal.transform(out)
        with pytest.raises(ShapeError, match="fitted on targets"):
            conformal.transform(caveat.Gaussian(np.zeros((5, 25, 2)), np.ones((5, 25, 2))))
        assert clone(conformal).get_params() == {
            "coverage": 0.9, "method": "plus", "normalize": False
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("folds", "error", "text"),
        [
            ([0, 1], ShapeError, r"one number for each of 40 samples; got shape \(2,\)"),
            (np.full(40, 0.5), OptionError, "must be whole numbers from 0"),
            (np.arange(40) - 1, OptionError, "must be whole numbers from 0"),
            (np.arange(40) % 2 * 2, OptionError, "fold 1 has no sample; number folds from 0"),
            (np.arange(40) + 10**9, OptionError, "fold 0 has no sample"),
            (np.zeros(40, dtype=int), OptionError, "at least 2 folds; got 1"),
        ],
    )
    def test_folds(self, folds, error, text):
        out, _, _ = folds_of(KFold(5))
        with pytest.raises(error, match=text):
            caveat.CrossConformal().fit(out, Y, folds=folds)

    def test_options(self):
        out, _, _ = folds_of(KFold(5))
        with pytest.raises(OptionError, match="method must be"):
            caveat.CrossConformal(method="base").fit(out, Y)
        with pytest.raises(OptionError, match="normalize must be True or False"):
            caveat.CrossConformal(normalize="no").fit(out, Y)
