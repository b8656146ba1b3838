"""Adapters by the exact interfaces of the packages, which need not be installed."""

import subprocess
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, softmax
from sklearn.ensemble import BaggingRegressor, RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import caveat
from caveat.exceptions import LabelError, OptionError, ShapeError, UnknownNameError
from caveat.models.table import LEVELS

from . import fakes
from .fakes import MEAN, PROBABILITIES, STD, X

LOGITS = np.log(PROBABILITIES)
THREE = [0.1, 0.5, 0.9]
ABC = ["a", "b", "c"]


def close(prediction, **arrays):
    for name, expected in arrays.items():
        np.testing.assert_allclose(getattr(prediction, name), expected, rtol=1e-12)


class TestXGBoost:
    def test_boosters(self):
        for data in (X, fakes.DMATRIX):
            booster = fakes.Booster("multi:softmax", PROBABILITIES.argmax(axis=1), LOGITS)
            close(caveat.from_model(booster, data, classes=ABC), mean=PROBABILITIES)
            booster = fakes.Booster("binary:logistic", expit(MEAN))
            close(caveat.from_model(booster, data), mean=np.stack([expit(-MEAN), expit(MEAN)], 1))
            booster = fakes.Booster("reg:squarederror", MEAN)
            close(caveat.from_model(booster, data), mean=MEAN[None, :, None], variance=0)
            booster = fakes.Booster("reg:quantileerror", MEAN[:, None] - [0, 1], levels=[0.1, 0.9])
            values = caveat.from_model(booster, data).values[0, :, 0]
            np.testing.assert_array_equal(values, MEAN[:, None] - [1, 0])
        with pytest.raises(OptionError, match="objective binary:hinge, which gives neither"):
            caveat.from_model(fakes.Booster("binary:hinge", MEAN), X)

    def test_estimators(self):
        model = fakes.XGBRegressor(fakes.Booster("reg:squarederror", MEAN))
        close(caveat.from_model(model, X), mean=MEAN[None, :, None], variance=0)
        model = fakes.XGBRegressor(
            fakes.Booster("reg:quantileerror", MEAN[:, None] + THREE, levels=THREE)
        )
        prediction = caveat.from_model(model, X, targets=["price"])
        close(prediction, levels=THREE, values=(MEAN[:, None] + THREE)[None, :, None])
        one = fakes.XGBRegressor(fakes.Booster("reg:quantileerror", MEAN, levels=[0.9]))
        with pytest.raises(
            OptionError,
            match=r"^this XGBRegressor predicts one quantile, at 0\.9; train it for several levels, "
            r"or pass one model for each as a dict, such as \{0\.05: low, 0\.5: median, 0\.95: high\}$",
        ):
            caveat.from_model(one, X)
        with pytest.raises(OptionError, match=r"^this XGBRegressor is not fitted; call its fit"):
            caveat.from_model(fakes.XGBRegressor(), X)


class TestLightGBM:
    def test_estimators(self):
        prediction = caveat.from_model(fakes.LGBMClassifier(), X)
        close(prediction, mean=PROBABILITIES)
        assert prediction.classes.tolist() == ABC
        with pytest.raises(OptionError, match=r"LGBMRegressor predicts one quantile, at 0\.9"):
            caveat.from_model(fakes.LGBMRegressor(), X)

    def test_boosters(self):
        several = fakes.LightBooster("multiclass num_class:3", PROBABILITIES, LOGITS)
        close(caveat.from_model(several, X), mean=PROBABILITIES)
        two = fakes.LightBooster("binary sigmoid:1", expit(MEAN), MEAN)
        close(caveat.from_model(two, X), mean=np.stack([expit(-MEAN), expit(MEAN)], 1))
        with pytest.raises(OptionError, match="objective none"):
            caveat.from_model(fakes.LightBooster(None, MEAN, MEAN), X)


class TestCatBoost:
    def test_classes(self):
        raw = LOGITS
        one = fakes.CatBoost("MultiClass", raw, PROBABILITIES, ABC)
        close(caveat.from_model(one, X), probabilities=PROBABILITIES[None])
        model = fakes.CatBoost("MultiClass", raw, PROBABILITIES, ABC, posterior=True)
        assert caveat.from_model(model, X).members == 10
        shifted = np.array([raw, raw + 1])  # a softmax does not see what is added to all
        close(caveat.from_model(model, X, members=2), probabilities=softmax(shifted, -1))
        binary = fakes.CatBoost("Logloss", MEAN[:, None], None, ["no", "yes"])
        prediction = caveat.from_model(binary, X, members=2)
        close(
            prediction,
            probabilities=np.stack([expit([-MEAN, -MEAN - 1]), expit([MEAN, MEAN + 1])], -1),
        )
        assert prediction.classes.tolist() == ["no", "yes"]

    def test_numbers(self):
        both = np.stack([MEAN, STD**2], axis=1)
        model = fakes.CatBoost("RMSEWithUncertainty", both, both)
        close(
            caveat.from_model(model, X), mean=MEAN[None, :, None], variance=STD[None, :, None] ** 2
        )
        members = caveat.from_model(model, X, members=2)
        close(members, variance=np.stack([STD**2, STD**2 + 1])[..., None])
        points = fakes.CatBoost("RMSE", MEAN[:, None], MEAN)
        close(caveat.from_model(points, X), mean=MEAN[None, :, None], variance=0)

    def test_quantiles(self):
        model = fakes.CatBoost("MultiQuantile:alpha=0.1,0.5,0.9", None, MEAN[:, None] + THREE)
        close(caveat.from_model(model, X), levels=THREE)
        with pytest.raises(OptionError, match=r"one quantile, at 0\.5"):
            caveat.from_model(fakes.CatBoost("Quantile", None, MEAN), X)
        with pytest.raises(OptionError, match=r"one quantile, at 0\.7"):
            caveat.from_model(fakes.CatBoost("Quantile:delta=1e-06;alpha=0.7", None, MEAN), X)

    def test_errors(self):
        with pytest.raises(OptionError, match="the loss Poisson has no virtual ensembles"):
            caveat.from_model(fakes.CatBoost("Poisson", None, MEAN), X, members=3)
        with pytest.raises(OptionError, match="members must be a whole number"):
            caveat.from_model(fakes.CatBoost("RMSE", None, MEAN), X, members=0)
        with pytest.raises(OptionError, match="this CatBoost is not fitted"):
            caveat.from_model(fakes.CatBoost("RMSE", fitted=False), X)


class TestNGBoost:
    def test_gaussian(self):
        dist = fakes.ngboost_distribution("Normal", loc=MEAN, scale=STD)
        expected = caveat.Gaussian.from_std(MEAN, STD)
        assert caveat.from_model(fakes.NGBRegressor(dist), X) == expected
        assert caveat.from_model(dist) == expected

    def test_others(self):
        dist = fakes.ngboost_distribution("LogNormal", scale=STD)
        prediction = caveat.from_model(fakes.NGBRegressor(dist), X, levels=THREE)
        close(prediction, values=(STD[:, None] * THREE)[None, :, None])
        assert caveat.from_model(dist).levels.tolist() == list(LEVELS)
        assert LEVELS[:3] == (0.025, 0.05, 0.1)
        assert LEVELS[-3:] == (0.9, 0.95, 0.975)
        cov = np.tile(np.array([[4.0, 1.0], [1.0, 9.0]]), (4, 1, 1))
        dist = fakes.ngboost_distribution("MVN", loc=np.stack([MEAN, STD], axis=1), cov=cov)
        close(caveat.from_model(dist), variance=np.tile([4.0, 9.0], (1, 4, 1)))
        dist = fakes.ngboost_distribution(
            "Categorical", fakes.ClassificationDistn, probs=PROBABILITIES.T
        )
        close(caveat.from_model(dist, classes=ABC), mean=PROBABILITIES)

    def test_wherever_a_distribution_is_asked_for(self):
        """A regressor with its own distribution must not have variance 0."""
        dist = fakes.ngboost_distribution("Normal", loc=MEAN, scale=STD)
        model = make_pipeline(StandardScaler().fit(X), fakes.NGBRegressor(dist))
        expected = caveat.Gaussian.from_std(MEAN, STD)
        assert caveat.from_model(model, X) == expected
        assert caveat.from_sklearn(model).predict_distribution(X) == expected
        assert caveat.estimators.member_predictions(fakes.NGBRegressor(dist), X) == expected

    def test_not_fitted(self):
        with pytest.raises(OptionError, match="this NGBRegressor is not fitted"):
            caveat.from_model(fakes.NGBRegressor(), X)


class TestSkpro:
    def test_gaussian(self):
        dist = fakes.skpro_distribution("Normal")
        expected = caveat.Gaussian.from_std(MEAN, STD, targets=["dose"])
        assert caveat.from_model(fakes.Probabilistic(dist), X) == expected
        assert caveat.from_model(dist) == expected

    def test_others(self):
        dist = fakes.skpro_distribution("Laplace")
        prediction = caveat.from_model(dist, levels=THREE)
        close(prediction, values=(MEAN[:, None] + THREE)[None, :, None])
        assert prediction.targets.tolist() == ["dose"]

    def test_mixtures(self):
        parts = [fakes.skpro_distribution("Normal", shift=shift) for shift in (0.0, 2.0)]
        mixture = fakes.skpro_distribution("Mixture", distributions=parts, weights=None)
        close(caveat.from_model(mixture), mean=np.stack([MEAN, MEAN + 2])[..., None])
        weighted = fakes.skpro_distribution("Mixture", distributions=parts, weights=[0.1, 0.9])
        assert isinstance(caveat.from_model(weighted), caveat.Quantiles)

    def test_errors(self):
        with pytest.raises(OptionError, match="of one number; give it an axis"):
            caveat.from_model(fakes.skpro_distribution("Normal", ndim=0))
        with pytest.raises(OptionError, match="this Probabilistic is not fitted"):
            caveat.from_model(fakes.Probabilistic(), X)


class TestScipy:
    def test_distributions(self):
        prediction = caveat.from_model(stats.norm(MEAN, STD), targets=["dose"])
        assert prediction == caveat.Gaussian.from_std(MEAN, STD, targets=["dose"])
        gamma = stats.gamma(MEAN, scale=STD)
        prediction = caveat.from_model(gamma, levels=THREE)
        np.testing.assert_allclose(gamma.cdf(prediction.values[0, :, 0, 2]), 0.9)

    def test_new_classes(self):
        kind = type(
            "Uniform",
            (),
            {"__module__": "scipy.stats._new", "icdf": lambda self, level: STD * level},
        )
        close(
            caveat.from_model(kind(), levels=[0.2, 0.4]),
            values=np.outer(STD, [0.2, 0.4])[None, :, None],
        )


class TestQuantiles:
    def test_forest(self):
        model = fakes.RandomForestQuantileRegressor().fit(X, MEAN)
        prediction = caveat.from_model(model, X, levels=[0.9, 0.1])
        close(prediction, levels=[0.1, 0.9], values=(MEAN[:, None] + [0.1, 0.9])[None, :, None])
        pipeline = make_pipeline(StandardScaler(), model).fit(X, MEAN)
        assert caveat.from_model(pipeline, X, levels=THREE).levels.tolist() == THREE
        with pytest.raises(OptionError, match="not fitted"):
            caveat.from_model(fakes.RandomForestQuantileRegressor(), X)

    def test_tabpfn(self):
        prediction = caveat.from_model(fakes.TabPFNRegressor(), X, levels=THREE)
        close(prediction, values=(MEAN[:, None] + THREE)[None, :, None])
        close(caveat.from_model(fakes.TabPFNClassifier(), X), mean=PROBABILITIES)

    def test_bars(self):
        output = {"logits": LOGITS, "criterion": fakes.BarDistribution(), "mean": MEAN}
        close(
            caveat.from_model(output, levels=THREE), values=(MEAN[:, None] + THREE)[None, :, None]
        )
        # A row with the probabilities 0.7, 0.2 and 0.1 in bars of width 1, 2 and 4.
        output = {"logits": LOGITS, "borders": [0.0, 1.0, 3.0, 7.0]}
        values = caveat.from_model(output, levels=[0.35, 0.8, 0.95]).values[0, 0, 0]
        np.testing.assert_allclose(values, [0.5, 2.0, 5.0])
        with pytest.raises(OptionError, match=r"got \(4, 3\) and \(3,\)"):
            caveat.from_model({"logits": LOGITS, "borders": [0.0, 1.0, 2.0]})


class TestMapie:
    def test_intervals(self):
        prediction = caveat.from_model(fakes.SplitConformalRegressor([0.1]), X)
        close(prediction, lower=MEAN[:, None] - 0.9, upper=MEAN[:, None] + 0.9, coverage=0.9)
        several = fakes.SplitConformalRegressor([0.2, 0.1])
        close(caveat.from_model(several, X), levels=[0.05, 0.1, 0.9, 0.95])
        close(caveat.from_model(several, X, coverage=0.8), lower=MEAN[:, None] - 0.8, coverage=0.8)

    def test_sets(self):
        prediction = caveat.from_model(fakes.SplitConformalClassifier([0.15]), X)
        np.testing.assert_array_equal(prediction.membership, PROBABILITIES > 0.15)
        assert prediction.classes.tolist() == ABC
        assert prediction.coverage == 0.85
        with pytest.raises(OptionError, match=r"one of those of the model, 0\.8, 0\.9; got None"):
            caveat.from_model(fakes.SplitConformalClassifier([0.2, 0.1]), X)

    def test_outputs(self):
        point, ends = fakes.SplitConformalRegressor([0.2, 0.1]).predict_interval(X)
        prediction = caveat.from_model((point, ends), coverage=[0.8, 0.9])
        assert prediction == caveat.from_model(ends, coverage=[0.8, 0.9])
        close(prediction.interval(0.9), lower=MEAN[:, None] - 0.9, upper=MEAN[:, None] + 0.9)
        close(caveat.from_model(ends[..., 0], coverage=0.8), upper=MEAN[:, None] + 0.8)
        sets = fakes.SplitConformalClassifier([0.15]).predict_set(X)
        prediction = caveat.from_model(sets, coverage=0.85, classes=ABC)
        assert prediction == caveat.from_model(fakes.SplitConformalClassifier([0.15]), X)
        assert prediction == caveat.from_model(sets[1][..., 0], coverage=0.85, classes=ABC)
        with pytest.raises(OptionError, match=r"got \(4, 2, 2\) and 1 coverages"):
            caveat.from_model(ends, coverage=0.8)

    def test_errors(self):
        with pytest.raises(OptionError, match="gives no prediction: Incorrect method order"):
            caveat.from_model(fakes.SplitConformalRegressor([0.1], ready=False), X)
        with pytest.raises(OptionError, match="neither predict_interval nor predict_set"):
            caveat.from_model(fakes.TimeSeriesRegressor(), X)


class TestHuggingFace:
    def test_outputs(self):
        for output in (
            fakes.SequenceClassifierOutput(LOGITS),
            fakes.PredictionOutput((LOGITS, None, {})),
            fakes.PredictionOutput(((LOGITS, MEAN), None, {})),
        ):
            close(caveat.from_model(output, classes=ABC), mean=PROBABILITIES)

    def test_models(self):
        model = fakes.Bert(LOGITS, ABC)
        for prediction in (
            caveat.from_model(model, {"input_ids": 0}),
            caveat.from_model(fakes.Trainer(model), [0]),
        ):
            close(prediction, mean=PROBABILITIES)
            assert prediction.classes.tolist() == ABC
        assert model.training, "a model is left as it was"
        for without in (model, fakes.Trainer(model)):
            with pytest.raises(OptionError, match="X is missing"):
                caveat.from_model(without)

    def test_one_label(self):
        number = caveat.from_model(fakes.SequenceClassifierOutput(MEAN[:, None]))
        close(number, mean=MEAN[None, :, None], variance=0)

    def test_errors(self):
        several = fakes.Bert(LOGITS, ABC, problem_type="multi_label_classification")
        with pytest.raises(OptionError, match="labels that do not exclude each other"):
            caveat.from_model(several, {"input_ids": 0})
        with pytest.raises(ShapeError, match=r"\(samples, labels\); got \(1, 4, 3\)"):
            caveat.from_model(fakes.SequenceClassifierOutput(LOGITS[None]))


class TestChemprop:
    def test_numbers(self):
        pytest.importorskip("torch")
        loader = [0, 1]  # two batches

        def read(kind, *columns, **options):
            values = np.stack(columns, axis=-1) if len(columns) > 1 else columns[0]
            return caveat.from_model(fakes.MPNN(kind, [values[:3], values[3:]]), loader, **options)

        mean, variance = MEAN[:, None], STD[:, None] ** 2
        close(read("MveFFN", mean, variance), mean=mean[None], variance=variance[None])
        evidence = read("EvidentialFFN", mean, np.full((4, 1), 2.0), mean + 1, variance)
        close(evidence, variance=(variance / mean * 1.5)[None])
        interval = read("QuantileFFN", mean, variance)
        close(interval, lower=mean - variance / 2, upper=mean + variance / 2, coverage=0.8)
        close(read("RegressionFFN", mean), mean=mean[None], variance=0)
        with pytest.raises(OptionError, match="what a SpectralFFN of chemprop gives"):
            read("SpectralFFN", mean)

        p = PROBABILITIES[:, :2]
        close(read("BinaryClassificationFFN", p, task=1), mean=np.stack([1 - p[:, 1], p[:, 1]], 1))
        close(
            read("BinaryDirichletFFN", p[:, :1], p[:, :1]), mean=np.stack([1 - p[:, 0], p[:, 0]], 1)
        )
        close(read("MulticlassClassificationFFN", PROBABILITIES[:, None]), mean=PROBABILITIES)
        with pytest.raises(OptionError, match="has 2 tasks; choose one, such as task=0"):
            read("BinaryClassificationFFN", p)
        with pytest.raises(OptionError, match="task must be at most 1; got 2"):
            read("BinaryClassificationFFN", p, task=2)


def test_torch_modules_go_to_nn():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 3)
    prediction = caveat.from_model(module, X, head="logits", classes=ABC)
    assert prediction == caveat.nn.predict(module, X, head="logits", classes=ABC)
    own = caveat.nn.layers.MeanVarianceHead(2, 1)
    assert caveat.from_model(own, X, head="mean-std") == caveat.nn.predict(own, X, head="mean-std")
    tensor = torch.as_tensor(PROBABILITIES)
    close(caveat.from_model(tensor, kind="probabilities"), mean=PROBABILITIES)


class TestScikitLearn:
    y = np.array(["yes", "no", "no", "yes"])

    def test_members_and_names(self):
        forest = RandomForestClassifier(5, random_state=0).fit(X, self.y)
        prediction = caveat.from_model(forest, X)
        assert prediction == caveat.from_sklearn(forest).predict_distribution(X)
        assert prediction.classes.tolist() == ["no", "yes"]
        assert prediction.members == 5

    def test_frames_keep_their_names(self):
        frame = pd.DataFrame(X, columns=["a", "b"])
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, self.y)
        close(caveat.from_model(model, frame), mean=model.predict_proba(frame))

    def test_spread(self):
        model = BayesianRidge().fit(X, MEAN**2)
        mean, std = model.predict(X, return_std=True)
        close(
            caveat.from_model(model, X, targets=["dose"]),
            mean=mean[None, :, None],
            variance=std[None, :, None] ** 2,
        )

    def test_cross_validated(self):
        rng = np.random.default_rng(0)
        data, labels = rng.normal(size=(40, 2)), np.tile(self.y, 10)
        p = cross_val_predict(LogisticRegression(), data, labels, method="predict_proba")
        prediction = caveat.from_model(p, kind="probabilities", classes=np.unique(labels))
        close(prediction, mean=p)
        assert prediction.classes.tolist() == ["no", "yes"]

    def test_ensembles_of_models_of_others(self):
        """Bagging asks each part by its own adapter."""
        model = BaggingRegressor(fakes.RandomForestQuantileRegressor(), 3, random_state=0)
        prediction = caveat.from_model(model.fit(X, MEAN), X)
        assert repr(prediction).startswith("Quantiles: 3 members x 4 samples")

    def test_a_dict_of_levels(self):
        models = {level: LinearRegression().fit(X, MEAN + level) for level in THREE}
        assert caveat.from_model(models, X).levels.tolist() == THREE
        with pytest.raises(OptionError, match="X is missing"):
            caveat.from_model(models)
        with pytest.raises(OptionError, match="got the keys low, high"):
            caveat.from_model({"low": models[0.1], "high": models[0.9]}, X)

    def test_errors(self):
        with pytest.raises(
            OptionError, match="this LogisticRegression is not fitted; call its fit"
        ):
            caveat.from_model(LogisticRegression(), X)
        fitted = LogisticRegression().fit(X, self.y)
        with pytest.raises(OptionError, match="X is missing: a LogisticRegression is a model"):
            caveat.from_model(fitted)
        with pytest.raises(
            OptionError,
            match=r"no option 'levels' for a LogisticRegression; it takes classes, targets$",
        ):
            caveat.from_model(fitted, X, levels=THREE)
        with pytest.raises(OptionError, match="targets was given, and the prediction is a Cat"):
            caveat.from_model(fitted, X, targets=["a"])
        with pytest.raises(LabelError, match="classes must be 2 labels"):
            caveat.from_model(fitted, X, classes=ABC)


class TestArrays:
    def test_kinds(self):
        close(caveat.from_model(PROBABILITIES, kind="probabilities"), mean=PROBABILITIES)
        close(caveat.from_model(PROBABILITIES.tolist(), kind="probabilities"), mean=PROBABILITIES)
        frame = pd.DataFrame(PROBABILITIES, columns=ABC)
        assert caveat.from_model(frame, kind="probabilities").classes.tolist() == ABC
        close(caveat.from_model(LOGITS, kind="logits", classes=ABC), mean=PROBABILITIES)
        two = np.stack([expit(-MEAN), expit(MEAN)], axis=1)
        close(caveat.from_model(MEAN, kind="logits"), mean=two)
        close(caveat.from_model(expit(MEAN), kind="probabilities"), mean=two)
        close(caveat.from_model(MEAN, kind="mean"), mean=MEAN[None, :, None], variance=0)
        close(caveat.from_model(MEAN[:, None] + THREE, levels=THREE), levels=THREE)

    def test_tables_of_arrow(self):
        polars = pytest.importorskip("polars")
        table = polars.DataFrame(dict(zip(ABC, PROBABILITIES.T, strict=True)))
        for same in (table, table.to_arrow()):
            assert caveat.from_model(same, kind="probabilities").classes.tolist() == ABC

    def test_pairs(self):
        """The predictions and uncertainties of chemprop, or mean and deviation of anybody."""
        expected = caveat.Gaussian.from_std(MEAN, STD)
        assert caveat.from_model((MEAN, STD), kind="mean-std") == expected
        assert caveat.from_model((MEAN, STD**2), kind="mean-variance") == expected
        with pytest.raises(OptionError, match="takes a pair of arrays; got 3"):
            caveat.from_model((MEAN, STD, STD), kind="mean-std")

    def test_members(self):
        prediction = caveat.from_model([PROBABILITIES, PROBABILITIES[::-1]], kind="probabilities")
        close(prediction, probabilities=np.stack([PROBABILITIES, PROBABILITIES[::-1]]))

    def test_nothing_is_guessed(self):
        with pytest.raises(
            OptionError,
            match=r'^an array does not say what it holds; pass kind="probabilities" or kind="logits" '
            r'for classes, kind="mean" for numbers without a spread, kind="mean-std" or '
            r'kind="mean-variance" for a pair of arrays, levels=\[0\.05, 0\.5, 0\.95\] '
            r"for quantiles, coverage=0\.9 for intervals; got kind=None$",
        ):
            caveat.from_model(PROBABILITIES)
        with pytest.raises(OptionError, match="got kind='percent'"):
            caveat.from_model(PROBABILITIES, kind="percent")
        with pytest.raises(OptionError, match="a ndarray is an output: pass it alone"):
            caveat.from_model(PROBABILITIES, MEAN, kind="probabilities")


class TestSeveralModels:
    def test_members(self):
        models = [LogisticRegression(C=c).fit(X, ["a", "b", "b", "a"]) for c in (0.1, 1, 10)]
        prediction = caveat.from_model(models, X)
        close(prediction, probabilities=[model.predict_proba(X) for model in models])
        assert caveat.from_model(tuple(models), X) == prediction

    def test_classes_that_not_all_know(self):
        models = [
            LogisticRegression().fit(X, ["c", "b", "b", "c"]),
            LogisticRegression().fit(X, ["a", "b", "b", "a"]),
        ]
        prediction = caveat.from_model(models, X)
        assert prediction.classes.tolist() == ABC
        assert (prediction.probabilities[0, :, 0] == 0).all()

    def test_numbers(self):
        models = [BayesianRidge().fit(X, MEAN * k + STD**3) for k in (1, 2)]
        assert caveat.from_model(models, X, targets=["dose"]).members == 2

    def test_none(self):
        with pytest.raises(OptionError, match="model is an empty list; give one model at least"):
            caveat.from_model([], X)


class Thermometer:
    def read(self, X):
        return X[:, 0], 0.5


class TestRegister:
    name = f"{__name__}.Thermometer"

    @pytest.fixture
    def registered(self):
        def adapt(model, X, *, scale=1.0):
            mean, std = model.read(X)
            return caveat.Gaussian.from_std(mean * scale, std)

        caveat.models.register(self.name, adapt)
        yield
        caveat.models.unregister(self.name)

    @pytest.mark.usefixtures("registered")
    def test_one_of_your_own(self):
        close(caveat.from_model(Thermometer(), X), mean=X[None, :, :1], variance=0.25)
        close(caveat.from_model(Thermometer(), X, scale=2.0), mean=2 * X[None, :, :1])
        with pytest.raises(
            OptionError,
            match="no option 'levels' for a Thermometer; it takes classes, targets, scale",
        ):
            caveat.from_model(Thermometer(), X, levels=THREE)
        kind = type("Better", (Thermometer,), {"__module__": "elsewhere"})
        close(caveat.from_model(kind(), X), variance=0.25)

    @pytest.mark.usefixtures("registered")
    def test_the_last_wins(self):
        caveat.models.register(self.name, lambda output: caveat.Gaussian(MEAN, 1.0))
        close(caveat.from_model(Thermometer()), variance=1)
        caveat.models.unregister(self.name)
        close(caveat.from_model(Thermometer(), X), variance=0.25)

    def test_a_name_is_no_prefix(self):
        """mylib is not mylibrary."""
        caveat.models.register(self.name[:-1], lambda output: caveat.Gaussian(MEAN, 1.0))
        with pytest.raises(OptionError, match="no adapter reads"):
            caveat.from_model(Thermometer())
        caveat.models.unregister(self.name[:-1])

    def test_what_is_no_prediction(self):
        caveat.models.register(self.name, lambda model, X: model.read(X))
        with pytest.raises(
            OptionError, match=r"must return a prediction, such as .*; it returned a tuple"
        ):
            caveat.from_model(Thermometer(), X)
        caveat.models.unregister(self.name)

    def test_errors(self):
        for package in ("", 3, "a..b"):
            with pytest.raises(OptionError, match="package must be the name of a package or class"):
                caveat.models.register(package, print)
        with pytest.raises(OptionError, match="adapt must be a function"):
            caveat.models.register("mylib", 3)
        with pytest.raises(
            UnknownNameError, match=r"no adapter for 'mylib'; known are caveat\.est"
        ):
            caveat.models.unregister("mylib")


class TestUnknown:
    def test_what_was_tried_and_what_to_do(self):
        with pytest.raises(OptionError) as caught:
            caveat.from_model(Thermometer(), X)
        text = str(caught.value)
        assert text.startswith(
            f"no adapter reads a {__name__}.Thermometer, and it has neither predict_"
        )
        for part in ("sklearn, xgboost, lightgbm", "caveat.Gaussian(mean, variance)"):
            assert part in text
        assert f'caveat.models.register("{__name__}", lambda model, X: ...)' in text

    def test_a_class(self):
        with pytest.raises(OptionError, match="got the class LogisticRegression"):
            caveat.from_model(LogisticRegression, X)

    def test_usual_methods_are_enough(self):
        model = type("Model", (fakes._Classifier,), {})()
        prediction = caveat.from_model(model, X)
        close(prediction, mean=PROBABILITIES)
        assert prediction.classes.tolist() == ABC
        kind = type("Own", (), {"predict_distribution": lambda self, X: prediction})
        assert caveat.from_model(kind(), X) == prediction

    def test_levels(self):
        with pytest.raises(OptionError, match="every one of levels"):
            caveat.from_model(stats.norm(MEAN, STD), levels=[0.5, 1.5])
        close(caveat.from_model(stats.expon(MEAN), levels=0.5), levels=[0.5])

    def test_errors_of_the_model_are_its_own(self):
        class Broken:
            def predict_distribution(self, X):
                raise ZeroDivisionError("own")

        with pytest.raises(ZeroDivisionError, match="own"):
            caveat.from_model(Broken(), X)


def test_predictions_and_estimators_of_caveat():
    prediction = caveat.Categorical(PROBABILITIES)
    assert caveat.from_model(prediction) == prediction
    named = caveat.from_model(prediction, classes=ABC)
    assert named.classes.tolist() == ABC
    model = caveat.EnsembleRegressor(LinearRegression(), members=2, resample=True, random_state=0)
    fitted = model.fit(X, MEAN)
    assert caveat.from_model(fitted, X) == fitted.predict_distribution(X)
    with pytest.raises(OptionError, match="this EnsembleRegressor is not fitted"):
        caveat.from_model(caveat.EnsembleRegressor(LinearRegression(), resample=True), X)


def test_gaussians_are_those_that_were_said():
    """A sceptic's check: 90 % intervals of an adapter are the quantiles of the distribution."""
    interval = caveat.from_model(stats.norm(MEAN, STD)).interval(0.9)
    np.testing.assert_allclose(interval.upper[:, 0], MEAN + NormalDist().inv_cdf(0.95) * STD)


def test_the_page_names_every_package():
    from caveat.models.table import packages

    words = {
        "quantile_forest": "quantile-forest",
        "sklearn": "scikit-learn",
        "torch.Tensor": "torch",
    }
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8").lower()
    roots = {words.get(name, name.partition(".")[0]) for name in packages()}
    missing = [name for name in roots - {"builtins", "pathlib", "pyarrow"} if name not in page]
    assert missing == []


def test_nothing_is_imported_that_is_not_in_use():
    """Reading an array, and a model of scikit-learn, imports none of the other packages."""
    code = (
        "import sys, caveat; from sklearn.dummy import DummyClassifier as D;"
        "caveat.from_model([[0.2, 0.8]], kind='probabilities');"
        "caveat.from_model(D().fit([[0], [1]], [0, 1]), [[0]]);"
        "others = {'xgboost', 'lightgbm', 'catboost', 'ngboost', 'skpro', 'tabpfn', 'mapie',"
        "'quantile_forest', 'gpytorch', 'chemprop', 'transformers', 'torch'};"
        "print(sorted(others & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stderr
