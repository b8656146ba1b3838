"""Adapters against the packages themselves: what they give, and what we read of it.

A package that is not installed is skipped; `test_adapters.py` has the same interfaces without it.
docs/models.md names the versions with which all of these ran.
"""

import os

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import caveat
from caveat.exceptions import FileFormatError, InvalidValueError, OptionError

# What other packages warn of is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")

X_NUMBERS, Y_NUMBERS = load_diabetes(return_X_y=True)
X_FLOWERS, CODES = load_iris(return_X_y=True)
FLOWERS = np.array(["setosa", "versicolor", "virginica"])[CODES]
X_TUMORS, TUMORS = load_breast_cancer(return_X_y=True)
LEVELS = [0.1, 0.5, 0.9]
TREES = {"n_estimators": 8, "n_jobs": 1}


class TestXGBoost:
    xgboost = staticmethod(lambda: pytest.importorskip("xgboost"))

    def test_classifier(self):
        model = self.xgboost().XGBClassifier(**TREES).fit(X_FLOWERS, CODES)
        prediction = caveat.from_model(model, X_FLOWERS, classes=np.unique(FLOWERS))
        assert prediction.classes.tolist() == ["setosa", "versicolor", "virginica"]
        # They are in single precision, of which rows of sum 1 in double are made.
        np.testing.assert_allclose(prediction.mean, model.predict_proba(X_FLOWERS), rtol=1e-6)

    def test_booster_of_classes(self):
        xgboost = self.xgboost()
        model = xgboost.XGBClassifier(**TREES).fit(X_FLOWERS, CODES)
        for X in (X_FLOWERS, xgboost.DMatrix(X_FLOWERS)):
            prediction = caveat.from_model(model.get_booster(), X)
            np.testing.assert_allclose(
                prediction.mean, model.predict_proba(X_FLOWERS), rtol=1e-5, atol=1e-7
            )

    def test_booster_of_two_classes(self):
        xgboost = self.xgboost()
        data = xgboost.DMatrix(X_TUMORS, TUMORS)
        booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, data, 5)
        prediction = caveat.from_model(booster, data, classes=["malignant", "benign"])
        np.testing.assert_array_equal(prediction.mean[:, 1], booster.predict(data))

    def test_several_quantiles(self):
        xgboost = self.xgboost()
        model = xgboost.XGBRegressor(
            **TREES, objective="reg:quantileerror", quantile_alpha=LEVELS
        ).fit(X_NUMBERS, Y_NUMBERS)
        values = np.sort(model.predict(X_NUMBERS), axis=1)
        for which, X in (
            (model, X_NUMBERS),
            (model.get_booster(), X_NUMBERS),
            (model.get_booster(), xgboost.DMatrix(X_NUMBERS)),
        ):
            prediction = caveat.from_model(which, X)
            assert prediction.levels.tolist() == LEVELS
            np.testing.assert_array_equal(prediction.values[0, :, 0], values)

    def test_one_quantile_is_refused(self):
        model = self.xgboost().XGBRegressor(
            **TREES, objective="reg:quantileerror", quantile_alpha=0.9
        )
        with pytest.raises(OptionError, match=r"one quantile, at 0\.9"):
            caveat.from_model(model.fit(X_NUMBERS, Y_NUMBERS), X_NUMBERS)

    def test_points(self):
        model = self.xgboost().XGBRegressor(**TREES).fit(X_NUMBERS, Y_NUMBERS)
        for which in (model, model.get_booster()):
            prediction = caveat.from_model(which, X_NUMBERS)
            np.testing.assert_allclose(
                prediction.mean[0, :, 0], model.predict(X_NUMBERS), rtol=1e-6
            )

    def test_an_objective_that_is_no_prediction(self):
        xgboost = self.xgboost()
        data = xgboost.DMatrix(X_TUMORS, TUMORS)
        booster = xgboost.train({"objective": "binary:hinge", "nthread": 1}, data, 2)
        with pytest.raises(OptionError, match="objective binary:hinge"):
            caveat.from_model(booster, data)

    def test_not_fitted(self):
        with pytest.raises(OptionError, match="this XGBClassifier is not fitted"):
            caveat.from_model(self.xgboost().XGBClassifier(), X_FLOWERS)


class TestLightGBM:
    lightgbm = staticmethod(lambda: pytest.importorskip("lightgbm"))

    def test_classifier_with_text(self):
        model = self.lightgbm().LGBMClassifier(**TREES, verbose=-1).fit(X_FLOWERS, FLOWERS)
        prediction = caveat.from_model(model, X_FLOWERS)
        assert prediction.classes.tolist() == ["setosa", "versicolor", "virginica"]
        np.testing.assert_array_equal(prediction.mean, model.predict_proba(X_FLOWERS))
        booster = caveat.from_model(model.booster_, X_FLOWERS, classes=model.classes_)
        np.testing.assert_allclose(booster.mean, prediction.mean, atol=1e-12)

    def test_booster_of_two_classes(self):
        lightgbm = self.lightgbm()
        settings = {"objective": "binary", "verbose": -1, "num_threads": 1}
        booster = lightgbm.train(settings, lightgbm.Dataset(X_TUMORS, TUMORS), 5)
        prediction = caveat.from_model(booster, X_TUMORS)
        np.testing.assert_array_equal(prediction.mean[:, 1], booster.predict(X_TUMORS))

    def test_points(self):
        model = self.lightgbm().LGBMRegressor(**TREES, verbose=-1).fit(X_NUMBERS, Y_NUMBERS)
        for which in (model, model.booster_):
            prediction = caveat.from_model(which, X_NUMBERS)
            np.testing.assert_array_equal(prediction.mean[0, :, 0], model.predict(X_NUMBERS))

    def test_quantiles(self):
        models = {
            level: self.lightgbm()
            .LGBMRegressor(**TREES, verbose=-1, objective="quantile", alpha=level)
            .fit(X_NUMBERS, Y_NUMBERS)
            for level in LEVELS
        }
        with pytest.raises(OptionError, match=r"one quantile, at 0\.9"):
            caveat.from_model(models[0.9], X_NUMBERS)
        prediction = caveat.from_model(models, X_NUMBERS)
        values = np.sort([model.predict(X_NUMBERS) for model in models.values()], axis=0)
        np.testing.assert_array_equal(prediction.values[0, :, 0], values.T)
        with pytest.raises(OptionError, match=r"trained for the quantile at 0\.1"):
            caveat.from_model({0.2: models[0.1], 0.9: models[0.9]}, X_NUMBERS)

    def test_not_fitted(self):
        with pytest.raises(OptionError, match="this LGBMClassifier is not fitted"):
            caveat.from_model(self.lightgbm().LGBMClassifier(), X_FLOWERS)


class TestCatBoost:
    def fit(self, kind, X, y, **settings):
        catboost = pytest.importorskip("catboost")
        model = getattr(catboost, kind)(
            iterations=30, verbose=0, allow_writing_files=False, thread_count=1, random_seed=0,
            **settings,
        )  # fmt: skip
        return model.fit(X, y)

    def test_one_member_without_posterior_sampling(self):
        model = self.fit("CatBoostClassifier", X_FLOWERS, FLOWERS)
        prediction = caveat.from_model(model, X_FLOWERS)
        assert prediction.classes.tolist() == ["setosa", "versicolor", "virginica"]
        np.testing.assert_allclose(
            prediction.probabilities[0], model.predict_proba(X_FLOWERS), atol=1e-12
        )

    @pytest.mark.parametrize(("X", "y"), [(X_FLOWERS, FLOWERS), (X_TUMORS, TUMORS)])
    def test_virtual_ensembles_of_classes(self, X, y):
        model = self.fit("CatBoostClassifier", X, y, posterior_sampling=True)
        prediction = caveat.from_model(model, X)
        assert prediction.members == 10
        raw = model.virtual_ensembles_predict(
            X, prediction_type="VirtEnsembles", virtual_ensembles_count=10
        )
        if raw.shape[-1] == 1:
            np.testing.assert_allclose(prediction.probabilities[..., 1], expit(raw[..., 0]).T)
        else:
            np.testing.assert_allclose(prediction.probabilities, softmax(raw, -1).swapaxes(0, 1))
        # Its own words for the two kinds of uncertainty are ours.
        data, total = model.virtual_ensembles_predict(
            X, prediction_type="TotalUncertainty", virtual_ensembles_count=10
        ).T
        split = caveat.decompose(prediction)
        np.testing.assert_allclose(split.aleatoric, data, atol=1e-9)
        np.testing.assert_allclose(split.total, total, atol=1e-9)

    def test_mean_and_variance(self):
        model = self.fit(
            "CatBoostRegressor", X_NUMBERS, Y_NUMBERS, loss_function="RMSEWithUncertainty"
        )
        prediction = caveat.from_model(model, X_NUMBERS, targets=["progress"])
        mean, variance = model.predict(X_NUMBERS, prediction_type="RMSEWithUncertainty").T
        assert repr(prediction) == "Gaussian: 1 member x 442 samples x 1 target ('progress')"
        np.testing.assert_array_equal(prediction.mean[0, :, 0], mean)
        np.testing.assert_array_equal(prediction.variance[0, :, 0], variance)

        members = caveat.from_model(model, X_NUMBERS, members=3)
        mean, knowledge, data = model.virtual_ensembles_predict(
            X_NUMBERS, prediction_type="TotalUncertainty", virtual_ensembles_count=3
        ).T
        np.testing.assert_allclose(members.mean.mean(axis=0)[:, 0], mean)
        np.testing.assert_allclose(members.mean.var(axis=0)[:, 0], knowledge)
        np.testing.assert_allclose(members.variance.mean(axis=0)[:, 0], data)

    def test_points(self):
        model = self.fit("CatBoostRegressor", X_NUMBERS, Y_NUMBERS)
        prediction = caveat.from_model(model, X_NUMBERS)
        np.testing.assert_array_equal(prediction.mean[0, :, 0], model.predict(X_NUMBERS))
        assert caveat.from_model(model, X_NUMBERS, members=4).members == 4

    def test_several_targets(self):
        y = np.column_stack([Y_NUMBERS, -Y_NUMBERS])
        model = self.fit("CatBoostRegressor", X_NUMBERS, y, loss_function="MultiRMSE")
        prediction = caveat.from_model(model, X_NUMBERS)
        np.testing.assert_array_equal(prediction.mean[0], model.predict(X_NUMBERS))
        with pytest.raises(OptionError, match="the loss MultiRMSE has no virtual ensembles"):
            caveat.from_model(model, X_NUMBERS, members=4)

    def test_quantiles(self):
        model = self.fit(
            "CatBoostRegressor", X_NUMBERS, Y_NUMBERS,
            loss_function="MultiQuantile:alpha=0.1,0.5,0.9",
        )  # fmt: skip
        prediction = caveat.from_model(model, X_NUMBERS)
        assert prediction.levels.tolist() == LEVELS
        np.testing.assert_array_equal(
            prediction.values[0, :, 0], np.sort(model.predict(X_NUMBERS), axis=1)
        )
        one = self.fit("CatBoostRegressor", X_NUMBERS, Y_NUMBERS, loss_function="Quantile")
        with pytest.raises(OptionError, match=r"one quantile, at 0\.5"):
            caveat.from_model(one, X_NUMBERS)
        both = caveat.from_model({0.5: one, 0.4: one}, X_NUMBERS)
        np.testing.assert_array_equal(both.values[0, :, 0, 1], one.predict(X_NUMBERS))

    def test_not_fitted(self):
        catboost = pytest.importorskip("catboost")
        with pytest.raises(OptionError, match="this CatBoostClassifier is not fitted"):
            caveat.from_model(catboost.CatBoostClassifier(), X_FLOWERS)


class TestNGBoost:
    def fit(self, distribution=None, y=Y_NUMBERS):
        ngboost = pytest.importorskip("ngboost")
        distns = pytest.importorskip("ngboost.distns")
        kind = getattr(distns, distribution or "Normal")
        if distribution == "MultivariateNormal":
            kind = kind(2)
        return ngboost.NGBRegressor(Dist=kind, n_estimators=8, verbose=False).fit(X_NUMBERS, y)

    @pytest.mark.parametrize("distribution", ["Normal", "NormalFixedVar", "NormalFixedMean"])
    def test_gaussian(self, distribution):
        model = self.fit(distribution)
        prediction = caveat.from_model(model, X_NUMBERS)
        params = model.pred_dist(X_NUMBERS).params
        np.testing.assert_allclose(prediction.mean[0, :, 0], params["loc"])
        np.testing.assert_allclose(np.sqrt(prediction.variance[0, :, 0]), params["scale"])
        assert prediction == caveat.from_model(model.pred_dist(X_NUMBERS))

    @pytest.mark.parametrize("distribution", ["LogNormal", "Laplace", "Exponential", "Poisson"])
    def test_others_are_quantiles(self, distribution):
        model = self.fit(distribution, np.round(Y_NUMBERS))
        prediction = caveat.from_model(model, X_NUMBERS, levels=LEVELS)
        dist = model.pred_dist(X_NUMBERS)
        for place, level in enumerate(LEVELS):
            np.testing.assert_allclose(prediction.values[0, :, 0, place], dist.ppf(level))
        assert len(caveat.from_model(model, X_NUMBERS).levels) == 21

    def test_several_targets(self):
        noise = np.random.default_rng(0).normal(scale=50, size=len(Y_NUMBERS))
        model = self.fit("MultivariateNormal", np.column_stack([Y_NUMBERS, noise]))
        prediction = caveat.from_model(model, X_NUMBERS)
        dist = model.pred_dist(X_NUMBERS)
        np.testing.assert_array_equal(prediction.mean[0], dist.mean())
        np.testing.assert_array_equal(prediction.variance[0, :, 1], dist.cov[:, 1, 1])

    def test_classes(self):
        ngboost = pytest.importorskip("ngboost")
        distns = pytest.importorskip("ngboost.distns")
        model = ngboost.NGBClassifier(Dist=distns.k_categorical(3), n_estimators=5, verbose=False)
        prediction = caveat.from_model(
            model.fit(X_FLOWERS, CODES), X_FLOWERS, classes=np.unique(FLOWERS)
        )
        np.testing.assert_array_equal(prediction.mean, model.predict_proba(X_FLOWERS))

    def test_in_a_pipeline_a_search_and_bagging(self):
        ngboost = pytest.importorskip("ngboost")
        model = ngboost.NGBRegressor(n_estimators=5, verbose=False, random_state=0)
        pipeline = make_pipeline(StandardScaler(), model).fit(X_NUMBERS, Y_NUMBERS)
        dist = pipeline[-1].pred_dist(pipeline[:-1].transform(X_NUMBERS))
        for prediction in (
            caveat.from_model(pipeline, X_NUMBERS),
            caveat.from_sklearn(pipeline).predict_distribution(X_NUMBERS),
        ):
            np.testing.assert_allclose(prediction.variance[0, :, 0], dist.scale**2)
        search = GridSearchCV(model, {"learning_rate": [0.01]}, cv=2).fit(X_NUMBERS, Y_NUMBERS)
        prediction = caveat.from_model(search, X_NUMBERS)
        assert prediction == caveat.from_model(search.best_estimator_, X_NUMBERS)
        assert (prediction.variance > 0).all()

    def test_not_fitted(self):
        ngboost = pytest.importorskip("ngboost")
        with pytest.raises(OptionError, match="this NGBRegressor is not fitted"):
            caveat.from_model(ngboost.NGBRegressor(), X_NUMBERS)


class TestSkpro:
    X, y = load_diabetes(return_X_y=True, as_frame=True)

    def model(self, **settings):
        pytest.importorskip("skpro")
        from skpro.regression.residual import ResidualDouble

        return ResidualDouble(LinearRegression(), **settings)

    def test_gaussian(self):
        model = self.model().fit(self.X, self.y.to_frame("progress"))
        prediction = caveat.from_model(model, self.X)
        distribution = model.predict_proba(self.X)
        assert prediction.targets.tolist() == ["progress"]
        np.testing.assert_array_equal(prediction.mean[0], distribution.mean())
        np.testing.assert_array_equal(prediction.variance[0], distribution.var())
        assert prediction == caveat.from_model(distribution)

    def test_others_are_quantiles(self):
        model = self.model(dist="Laplace").fit(self.X, self.y.to_frame("progress"))
        prediction = caveat.from_model(model, self.X, levels=LEVELS)
        assert prediction.targets.tolist() == ["progress"]
        np.testing.assert_array_equal(
            prediction.values[0, :, 0], model.predict_quantiles(self.X, LEVELS)
        )

    def test_several_targets(self):
        pytest.importorskip("skpro")
        from skpro.distributions import Laplace

        prediction = caveat.from_model(
            Laplace(mu=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], scale=1.0), levels=LEVELS
        )
        np.testing.assert_allclose(prediction.median(), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def test_mixtures_of_gaussians_are_members(self):
        pytest.importorskip("skpro")
        from skpro.distributions import Mixture, Normal

        index, columns = pd.RangeIndex(3), pd.Index(["a"])
        parts = [
            Normal(mu=[[m], [m], [m + 1]], sigma=s, index=index, columns=columns)
            for m, s in ((1.0, 1.0), (2.0, 0.5))
        ]
        mixture = Mixture(parts, index=index, columns=columns)
        prediction = caveat.from_model(mixture)
        assert prediction.mean[..., 0].tolist() == [[1.0, 1.0, 2.0], [2.0, 2.0, 3.0]]
        mean, variance = prediction.moments()
        np.testing.assert_allclose(mean, mixture.mean())
        np.testing.assert_allclose(variance, mixture.var())

    def test_one_number_is_refused(self):
        pytest.importorskip("skpro")
        from skpro.distributions import Normal

        with pytest.raises(OptionError, match="of one number"):
            caveat.from_model(Normal(mu=1, sigma=2))

    def test_not_fitted(self):
        with pytest.raises(OptionError, match="this ResidualDouble is not fitted"):
            caveat.from_model(self.model(), self.X)


def test_quantile_forest():
    package = pytest.importorskip("quantile_forest")
    model = package.RandomForestQuantileRegressor(n_estimators=10, random_state=0)
    model.fit(X_NUMBERS, Y_NUMBERS)
    prediction = caveat.from_model(model, X_NUMBERS, levels=LEVELS)
    expected = model.predict(X_NUMBERS, quantiles=LEVELS)
    np.testing.assert_array_equal(prediction.values[0, :, 0], expected)
    pipeline = make_pipeline(StandardScaler(), model).fit(X_NUMBERS, Y_NUMBERS)
    assert caveat.from_model(pipeline, X_NUMBERS, levels=LEVELS).levels.tolist() == LEVELS

    model.fit(X_NUMBERS, np.column_stack([Y_NUMBERS, -Y_NUMBERS]))
    prediction = caveat.from_model(model, X_NUMBERS, targets=["up", "down"])
    expected = model.predict(X_NUMBERS, quantiles=prediction.levels.tolist())
    np.testing.assert_array_equal(prediction.values[0], expected)
    with pytest.raises(OptionError, match="not fitted"):
        caveat.from_model(package.ExtraTreesQuantileRegressor(), X_NUMBERS)


class TestMapie:
    def regressor(self, level):
        regression = pytest.importorskip("mapie.regression")
        model = LinearRegression().fit(X_NUMBERS[:200], Y_NUMBERS[:200])
        return regression.SplitConformalRegressor(model, confidence_level=level, prefit=True)

    def test_intervals(self):
        model = self.regressor(0.9).conformalize(X_NUMBERS[200:], Y_NUMBERS[200:])
        prediction = caveat.from_model(model, X_NUMBERS)
        point, ends = model.predict_interval(X_NUMBERS)
        np.testing.assert_array_equal(prediction.lower, ends[:, 0])
        np.testing.assert_array_equal(prediction.upper, ends[:, 1])
        assert prediction.coverage == 0.9
        assert prediction == caveat.from_model((point, ends), coverage=0.9)
        assert prediction == caveat.from_model(ends[..., 0], coverage=0.9)

    def test_several_levels(self):
        model = self.regressor([0.8, 0.9]).conformalize(X_NUMBERS[200:], Y_NUMBERS[200:])
        prediction = caveat.from_model(model, X_NUMBERS)
        ends = model.predict_interval(X_NUMBERS)[1]
        assert prediction.levels.tolist() == [0.05, 0.1, 0.9, 0.95]
        for place, level in enumerate([0.8, 0.9]):
            both = [
                prediction.interval(level),
                caveat.from_model(model, X_NUMBERS, coverage=level),
            ]
            for interval in both:
                np.testing.assert_allclose(interval.lower[:, 0], ends[:, 0, place])
                np.testing.assert_allclose(interval.upper[:, 0], ends[:, 1, place])
        with pytest.raises(OptionError, match=r"one of those of the model, 0\.8, 0\.9; got 0\.7"):
            caveat.from_model(model, X_NUMBERS, coverage=0.7)

    def test_conformalized_quantiles(self):
        from sklearn.linear_model import QuantileRegressor

        regression = pytest.importorskip("mapie.regression")
        model = regression.ConformalizedQuantileRegressor(
            QuantileRegressor(solver="highs", alpha=0), confidence_level=0.8
        )
        model.fit(X_NUMBERS[:200], Y_NUMBERS[:200]).conformalize(X_NUMBERS[200:], Y_NUMBERS[200:])
        prediction = caveat.from_model(model, X_NUMBERS)
        np.testing.assert_array_equal(
            prediction.upper[:, 0], model.predict_interval(X_NUMBERS)[1][:, 1, 0]
        )
        assert prediction.coverage == 0.8

    @pytest.mark.parametrize("cross", [False, True])
    def test_sets(self, cross):
        classification = pytest.importorskip("mapie.classification")
        inner = LogisticRegression(max_iter=5000)
        levels = [0.8, 0.95]
        if cross:
            model = classification.CrossConformalClassifier(inner, confidence_level=levels, cv=3)
            model.fit_conformalize(X_FLOWERS, FLOWERS)
        else:
            inner.fit(X_FLOWERS[::2], FLOWERS[::2])
            model = classification.SplitConformalClassifier(
                inner, confidence_level=levels, prefit=True
            ).conformalize(X_FLOWERS[1::2], FLOWERS[1::2])
        with pytest.raises(OptionError, match=r"one of those of the model, 0\.8, 0\.95"):
            caveat.from_model(model, X_FLOWERS)
        prediction = caveat.from_model(model, X_FLOWERS, coverage=0.95)
        np.testing.assert_array_equal(
            prediction.membership, model.predict_set(X_FLOWERS)[1][..., 1]
        )
        assert prediction.coverage == 0.95
        assert prediction.classes.tolist() == ["setosa", "versicolor", "virginica"]

    def test_out_of_order(self):
        with pytest.raises(OptionError, match="call conformalize before calling predict_interval"):
            caveat.from_model(self.regressor(0.9), X_NUMBERS)

    def test_what_has_no_interval(self):
        regression = pytest.importorskip("mapie.regression")
        with pytest.raises(OptionError, match="neither predict_interval nor predict_set"):
            caveat.from_model(regression.TimeSeriesRegressor(), X_NUMBERS)


class TestTabPFN:
    """Its weights are downloaded; its distribution of bars is here."""

    def test_bars(self):
        torch = pytest.importorskip("torch")
        pytest.importorskip("tabpfn")
        from tabpfn.architectures.shared.bar_distribution import (
            BarDistribution,
            FullSupportBarDistribution,
        )

        logits = torch.randn(6, 40, generator=torch.Generator().manual_seed(0)).double()
        borders = torch.linspace(-2, 2, 41).double()
        full = FullSupportBarDistribution(borders)
        prediction = caveat.from_model({"logits": logits, "criterion": full}, levels=LEVELS)
        for place, level in enumerate(LEVELS):
            at = torch.as_tensor(prediction.values[0, :, 0, place])[:, None]
            np.testing.assert_allclose(full.cdf(logits, at)[:, 0], level, atol=1e-9)
        # Without tails the borders are enough.
        bars = BarDistribution(borders)
        by_us = caveat.from_model({"logits": logits, "borders": borders}, levels=LEVELS)
        for place, level in enumerate(LEVELS):
            np.testing.assert_allclose(
                by_us.values[0, :, 0, place], bars.icdf(logits, level), atol=1e-6
            )

    def test_the_interface_is_the_one_that_the_fake_has(self):
        tabpfn = pytest.importorskip("tabpfn")
        import inspect

        taken = inspect.signature(tabpfn.TabPFNRegressor.predict).parameters
        assert {"output_type", "quantiles"} <= set(taken)
        with pytest.raises(OptionError, match="this TabPFNRegressor is not fitted"):
            caveat.from_model(tabpfn.TabPFNRegressor(), X_NUMBERS)


class TestTorchDistributions:
    torch = staticmethod(lambda: pytest.importorskip("torch"))

    def test_gaussians(self):
        torch = self.torch()
        d = torch.distributions
        mean, std = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.5, 1.0], [2.0, 3.0]])
        normal = d.Normal(mean, std)
        expected = caveat.Gaussian.from_std(mean, std)
        assert caveat.from_model(normal) == expected
        assert caveat.from_model(d.Independent(normal, 1)) == expected
        full = d.MultivariateNormal(mean, torch.diag_embed(std**2))
        np.testing.assert_allclose(caveat.from_model(full).variance, expected.variance, rtol=1e-6)

    def test_classes(self):
        d = self.torch().distributions
        logits = self.torch().tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
        prediction = caveat.from_model(d.Categorical(logits=logits), classes=["a", "b", "c"])
        np.testing.assert_allclose(prediction.mean, softmax(logits.numpy(), -1), rtol=1e-6)
        two = caveat.from_model(d.Bernoulli(logits=logits[0]))
        np.testing.assert_allclose(two.mean[:, 1], expit(logits[0].numpy()), rtol=1e-6)

    def test_others_are_quantiles(self):
        torch = self.torch()
        laplace = torch.distributions.Laplace(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
        prediction = caveat.from_model(laplace, levels=LEVELS)
        np.testing.assert_allclose(
            laplace.cdf(torch.as_tensor(prediction.values[0, :, 0, 2])), 0.9, rtol=1e-6
        )
        lognormal = torch.distributions.LogNormal(torch.zeros(2), torch.ones(2))
        np.testing.assert_allclose(
            np.log(caveat.from_model(lognormal, levels=[0.5, 0.9]).values[0, :, 0, 0]), 0, atol=1e-6
        )
        with pytest.raises(OptionError, match="torch has no quantiles of a StudentT"):
            caveat.from_model(torch.distributions.StudentT(torch.ones(2)))

    def test_gpytorch(self):
        torch, gpytorch = self.torch(), pytest.importorskip("gpytorch")
        mean = torch.tensor([1.0, 2.0, 3.0])
        one = gpytorch.distributions.MultivariateNormal(mean, torch.diag(mean**2))
        assert caveat.from_model(one) == caveat.Gaussian.from_std(mean, mean)
        several = gpytorch.distributions.MultitaskMultivariateNormal.from_independent_mvns(
            [one] * 2
        )
        assert caveat.from_model(several, targets=["a", "b"]).mean.shape == (1, 3, 2)
        batch = gpytorch.distributions.MultivariateNormal(
            mean.expand(2, 3), torch.diag(mean).expand(2, 3, 3)
        )
        with pytest.raises(OptionError, match=r"batch of \(2,\)"):
            caveat.from_model(batch)
        assert caveat.from_model([one, one]).members == 2


class TestHuggingFace:
    def model(self, labels, **settings):
        pytest.importorskip("torch")
        transformers = pytest.importorskip("transformers")
        config = transformers.BertConfig(
            hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
            vocab_size=20, id2label=dict(enumerate(labels)), **settings,
        )  # fmt: skip
        return transformers.BertForSequenceClassification(config)

    @property
    def tokens(self):
        return {"input_ids": pytest.importorskip("torch").arange(20).reshape(4, 5)}

    def test_classes(self):
        model = self.model(["negative", "neutral", "positive"])
        prediction = caveat.from_model(model, self.tokens)
        assert prediction.classes.tolist() == ["negative", "neutral", "positive"]
        output = model.eval()(**self.tokens)
        np.testing.assert_allclose(prediction.mean, output.logits.softmax(-1).detach(), rtol=1e-5)
        from transformers.trainer_utils import PredictionOutput

        logits = output.logits.detach().numpy()
        for given in (
            output,
            PredictionOutput(logits, None, None),
            PredictionOutput((logits, logits), None, None),
        ):
            assert caveat.from_model(given, classes=prediction.classes) == prediction

    def test_trainer(self, tmp_path):
        pytest.importorskip("accelerate")
        transformers = pytest.importorskip("transformers")
        model = self.model(["no", "yes"])
        settings = transformers.TrainingArguments(
            str(tmp_path), report_to=[], use_cpu=True, disable_tqdm=True
        )
        trainer = transformers.Trainer(model, settings)
        rows = [{"input_ids": row} for row in self.tokens["input_ids"]]
        prediction = caveat.from_model(trainer, rows)
        assert prediction.classes.tolist() == ["no", "yes"]
        np.testing.assert_allclose(
            prediction.mean, caveat.from_model(model, self.tokens).mean, rtol=1e-5
        )

    def test_one_label_is_a_number(self):
        prediction = caveat.from_model(self.model(["score"]), self.tokens)
        assert repr(prediction) == "Gaussian: 1 member x 4 samples x 1 target (0)"

    def test_several_labels_at_once_are_refused(self):
        model = self.model(["a", "b"], problem_type="multi_label_classification")
        with pytest.raises(OptionError, match="labels that do not exclude each other"):
            caveat.from_model(model, self.tokens)


class TestChemprop:
    def network(self, predictor, **settings):
        pytest.importorskip("chemprop")
        import torch
        from chemprop import data, models, nn

        torch.manual_seed(0)
        points = [data.MoleculeDatapoint.from_smi(s) for s in ("CCO", "CCN", "c1ccccc1", "CC")]
        loader = data.build_dataloader(
            data.MoleculeDataset(points), batch_size=3, shuffle=False, num_workers=0
        )
        head = getattr(nn, predictor)(**settings)
        model = models.MPNN(nn.BondMessagePassing(), nn.MeanAggregation(), head)
        with torch.no_grad():
            raw = torch.cat([model.eval()(*batch[:3]) for batch in loader]).double().numpy()
        return model, loader, raw

    def test_mean_and_variance(self):
        model, loader, raw = self.network("MveFFN", n_tasks=2)
        prediction = caveat.from_model(model, loader, targets=["logS", "logP"])
        np.testing.assert_array_equal(prediction.mean[0], raw[..., 0])
        np.testing.assert_array_equal(prediction.variance[0], raw[..., 1])
        assert caveat.from_model([model, model], loader).members == 2

    def test_evidence(self):
        model, loader, raw = self.network("EvidentialFFN")
        prediction = caveat.from_model(model, loader)
        mean, v, alpha, beta = np.moveaxis(raw, -1, 0)
        np.testing.assert_array_equal(prediction.mean[0], mean)
        aleatoric, epistemic = beta / (alpha - 1), beta / (alpha - 1) / v
        np.testing.assert_allclose(prediction.variance[0], aleatoric + epistemic)

    def test_interval(self):
        model, loader, raw = self.network("QuantileFFN")
        prediction = caveat.from_model(model, loader)
        assert prediction.coverage == pytest.approx(0.9)
        np.testing.assert_allclose((prediction.lower + prediction.upper) / 2, raw[..., 0])
        np.testing.assert_allclose(prediction.upper - prediction.lower, abs(raw[..., 1]))

    def test_points_and_what_no_prediction_holds(self):
        model, loader, raw = self.network("RegressionFFN")
        np.testing.assert_array_equal(caveat.from_model(model, loader).mean[0], raw)
        model, loader, _ = self.network("SpectralFFN", n_tasks=3)
        with pytest.raises(OptionError, match="a SpectralFFN of chemprop"):
            caveat.from_model(model, loader)

    @pytest.mark.parametrize("kind", ["BinaryClassificationFFN", "BinaryDirichletFFN"])
    def test_two_classes(self, kind):
        model, loader, raw = self.network(kind, n_tasks=2)
        raw = raw[..., 0] if raw.ndim == 3 else raw
        with pytest.raises(OptionError, match="has 2 tasks; choose one, such as task=0"):
            caveat.from_model(model, loader)
        prediction = caveat.from_model(model, loader, task=1)
        np.testing.assert_array_equal(prediction.mean[:, 1], raw[:, 1])

    @pytest.mark.parametrize("kind", ["MulticlassClassificationFFN", "MulticlassDirichletFFN"])
    def test_classes(self, kind):
        model, loader, raw = self.network(kind, n_classes=3)
        prediction = caveat.from_model(model, loader)
        np.testing.assert_allclose(prediction.mean, raw[:, 0], rtol=1e-6)


class TestChempropCheckpoints:
    """Files of chemprop with SMILES: what chemprop itself predicts with a data loader."""

    smiles = ("CCO", "CCN", "c1ccccc1", "CC")

    def network(self, predictor="MveFFN", seed=0, features="V2", **settings):
        pytest.importorskip("chemprop")
        import torch
        from chemprop import data, featurizers, models, nn
        from chemprop.featurizers.atom import get_multi_hot_atom_featurizer
        from chemprop.featurizers.bond import RIGRBondFeaturizer

        torch.manual_seed(seed)
        more = {"bond_featurizer": RIGRBondFeaturizer()} if features == "RIGR" else {}
        make = featurizers.SimpleMoleculeMolGraphFeaturizer(
            get_multi_hot_atom_featurizer(features), **more
        )
        points = [data.MoleculeDatapoint.from_smi(text) for text in self.smiles]
        loader = data.build_dataloader(
            data.MoleculeDataset(points, make), batch_size=4, shuffle=False, num_workers=0
        )
        passing = nn.BondMessagePassing(d_v=make.atom_fdim, d_e=make.bond_fdim, d_h=8)
        head = getattr(nn, predictor)(input_dim=8 + settings.pop("more", 0), **settings)
        return models.MPNN(passing, nn.MeanAggregation(), head), loader

    def save(self, path, model, names=None):
        from chemprop.models import save_model

        save_model(path, model, names)
        return path

    @pytest.mark.parametrize("features", ["V2", "V1", "ORGANIC", "RIGR"])
    def test_one_file(self, features, tmp_path, monkeypatch):
        # A loader of chemprop leaves out a last batch of one molecule, unless it is told not to.
        monkeypatch.setattr("caveat.models.chemprop._BATCH", 3)
        model, loader = self.network(features=features)
        path = self.save(tmp_path / "best.pt", model, ["logS"])
        wanted = caveat.from_model(model, loader)
        for given in (path, str(path)):
            prediction = caveat.from_model(given, list(self.smiles))
            assert prediction.targets.tolist() == ["logS"]
            np.testing.assert_allclose(prediction.mean, wanted.mean, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(prediction.variance, wanted.variance, rtol=1e-5, atol=1e-7)
        series = pd.Series(self.smiles)
        np.testing.assert_allclose(
            caveat.from_model(model, series).mean, wanted.mean, rtol=1e-5, atol=1e-7
        )

    def test_an_ensemble_is_a_folder_or_a_list(self, tmp_path):
        models = [self.network(seed=seed)[0] for seed in range(3)]
        loader = self.network()[1]
        paths = []
        for i, model in enumerate(models):
            (tmp_path / f"model_{i}").mkdir()
            paths.append(self.save(tmp_path / f"model_{i}" / "best.pt", model, ["logS"]))
        (tmp_path / "model_0" / "last.ckpt").write_bytes(paths[0].read_bytes())
        wanted = caveat.from_model(models, loader)
        for given in (tmp_path, paths, [str(path) for path in paths]):
            prediction = caveat.from_model(given, self.smiles)
            assert prediction.members == 3
            np.testing.assert_allclose(prediction.mean, wanted.mean, rtol=1e-5, atol=1e-7)
        one = caveat.from_model(tmp_path / "model_0" / "last.ckpt", self.smiles)
        np.testing.assert_allclose(one.mean[0], wanted.mean[0], rtol=1e-5, atol=1e-7)
        (tmp_path / "none").mkdir()
        with pytest.raises(OptionError, match=r"no checkpoint of chemprop: no \.pt"):
            caveat.from_model(tmp_path / "none", self.smiles)

    def test_classes_and_intervals(self, tmp_path):
        model, loader = self.network("BinaryClassificationFFN", n_tasks=2)
        path = self.save(tmp_path / "toxic.pt", model, ["liver", "heart"])
        prediction = caveat.from_model(path, self.smiles, task=1, classes=["no", "yes"])
        np.testing.assert_allclose(
            prediction.mean, caveat.from_model(model, loader, task=1).mean, rtol=1e-5, atol=1e-7
        )
        model, loader = self.network("QuantileFFN")
        path = self.save(tmp_path / "quantile.pt", model)
        prediction = caveat.from_model(path, self.smiles)
        np.testing.assert_allclose(
            prediction.lower, caveat.from_model(model, loader).lower, rtol=1e-5, atol=1e-7
        )

    def test_errors(self, tmp_path):
        import torch
        from chemprop import models, nn

        model, _ = self.network()
        path = self.save(tmp_path / "best.pt", model)
        with pytest.raises(
            InvalidValueError, match=r"1 of 2 .* row 1 \('C\('\): not a valid SMILES"
        ):
            caveat.from_model(path, ["CC", "C("])
        with pytest.raises(OptionError, match="X is missing"):
            caveat.from_model(path)
        with pytest.raises(FileNotFoundError, match="there is no file"):
            caveat.from_model(tmp_path / "other.pt", ["CC"])
        with pytest.raises(OptionError, match=r"caveat\.load\(path\)"):
            caveat.from_model("model.safetensors", ["CC"])
        (tmp_path / "text.pt").write_text("no checkpoint")
        with pytest.raises(FileFormatError, match="no checkpoint of chemprop 2"):
            caveat.from_model(tmp_path / "text.pt", ["CC"])

        class Evil:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "owned"),)

        torch.save({"hyper_parameters": Evil()}, tmp_path / "evil.pt")
        with pytest.raises(OptionError, match=r"would run .*mkdir, which is no part of a network"):
            caveat.from_model(tmp_path / "evil.pt", ["CC"])
        assert not (tmp_path / "owned").exists()
        wide, _ = self.network(more=5)
        with pytest.raises(OptionError, match="takes 5 descriptors beside the molecule"):
            caveat.from_model(wide, ["CC"])
        passing = nn.AtomMessagePassing(d_v=11, d_h=8)
        odd = models.MPNN(passing, nn.MeanAggregation(), nn.MveFFN(input_dim=8))
        with pytest.raises(OptionError, match="takes 11 features of atoms and bonds"):
            caveat.from_model(odd, ["CC"])
        passing = nn.MulticomponentMessagePassing([nn.BondMessagePassing(d_h=4)] * 2, 2)
        two = models.MulticomponentMPNN(passing, nn.MeanAggregation(), nn.MveFFN(input_dim=8))
        with pytest.raises(OptionError, match="models of one molecule"):
            caveat.from_model(self.save(tmp_path / "two.pt", two), ["CC"])
