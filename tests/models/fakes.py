"""Objects with the interface of other packages, for where those are not installed.

Each does what `test_packages.py` shows the package itself to do: the same methods, arguments and
shapes; the module is what an adapter is found by.
"""

import json
from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

SAMPLES = 4
X = np.arange(8.0).reshape(SAMPLES, 2)
PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]])
MEAN = np.array([1.0, 2.0, 3.0, 4.0])
STD = np.array([0.5, 1.0, 1.5, 2.0])


def of(module, *bases):
    """Return a decorator that moves a class to a module, as if it were defined there."""

    def move(kind):
        return type(kind.__name__, (kind, *bases), {"__module__": module})

    return move


# ------------------------------------------------------------------------------ boosted trees


@of("xgboost.core")
class Booster:
    def __init__(self, objective, values, margin=None, levels=None):
        self.objective, self.values, self.margin, self.levels = objective, values, margin, levels

    def save_config(self):
        settings = {"name": self.objective}
        if self.levels is not None:
            settings["quantile_loss_param"] = {"quantile_alpha": json.dumps(self.levels)}
        return json.dumps({"learner": {"objective": settings}})

    def predict(self, data, output_margin=False):
        assert hasattr(data, "num_row"), "Expecting data to be a DMatrix object"
        return self.margin if output_margin else self.values

    def inplace_predict(self, data, predict_type="value"):
        return self.margin if predict_type == "margin" else self.values


DMATRIX = SimpleNamespace(num_row=lambda: SAMPLES)


@of("xgboost.sklearn", RegressorMixin, BaseEstimator)
class XGBRegressor:
    def __init__(self, booster=None):
        self.booster = booster

    def fit(self, X, y):
        return self

    def get_booster(self):
        if self.booster is None:
            raise NotFittedError("need to call fit or load_model beforehand")
        return self.booster

    def predict(self, X):
        return self.booster.values


class _Classifier:
    """A classifier with the interface of scikit-learn."""

    classes_ = np.array(["a", "b", "c"])

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return PROBABILITIES

    def predict(self, X):
        return self.classes_[PROBABILITIES.argmax(axis=1)]


LGBMClassifier = type(
    "LGBMClassifier",
    (ClassifierMixin, _Classifier, BaseEstimator),
    {"__module__": "lightgbm.sklearn"},
)


@of("lightgbm.sklearn", RegressorMixin, BaseEstimator)
class LGBMRegressor:
    objective = "quantile"

    def fit(self, X, y):
        return self

    def predict(self, X):
        return MEAN


@of("lightgbm.basic")
class LightBooster:
    def __init__(self, objective, values, margin):
        self.objective, self.values, self.margin = objective, values, margin

    def dump_model(self, num_iteration=None):
        return {"objective": self.objective} if self.objective else {}

    def predict(self, X, raw_score=False):
        return self.margin if raw_score else self.values


@of("catboost.core")
class CatBoost:
    def __init__(self, loss, raw=None, values=None, classes=(), posterior=False, fitted=True):
        self.loss, self.raw, self.values, self.fitted = loss, raw, values, fitted
        self.classes_, self.posterior = np.array(classes), posterior

    def fit(self, X, y):
        return self

    def is_fitted(self):
        return self.fitted

    def get_all_params(self):
        return {"loss_function": self.loss, "posterior_sampling": self.posterior}

    def predict(self, X, prediction_type=None):
        assert prediction_type in (None, "Probability")
        return self.values

    def virtual_ensembles_predict(self, X, prediction_type, virtual_ensembles_count):
        assert prediction_type == "VirtEnsembles"
        members = [self.raw + k for k in range(virtual_ensembles_count)]
        return np.stack(members, axis=1)  # (samples, members, columns)


# ------------------------------------------------------------------------------ distributions


class Distn:
    """NGBoost answers None to attributes that a distribution lacks."""

    def __init__(self, **params):
        self.params = params

    def __getattr__(self, name):
        return self.__dict__.get("params", {}).get(name)

    def predict(self):
        return self.mean()

    def fit(self):
        raise AssertionError("a distribution is no model")


class ClassificationDistn(Distn):
    def class_probs(self):
        return self.probs.T


def ngboost_distribution(name, base=Distn, **params):
    methods = {"__module__": "ngboost.distns", "ppf": lambda self, level: self.scale * level}
    return type(name, (base,), methods)(**params)


@of("ngboost.api", BaseEstimator)
class NGBRegressor:
    def __init__(self, distribution=None):
        self.distribution = distribution
        self.base_models = [] if distribution is None else [1]

    def fit(self, X, y):
        return self

    def pred_dist(self, X):
        return self.distribution

    def predict(self, X):
        return MEAN


class Frame:
    """What adapters need of a frame of pandas."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def to_numpy(self):
        return self.values


class _SkproDistribution:
    ndim, columns = 2, ["dose"]

    def __init__(self, shift=0.0, **fields):
        self.shift = shift
        self.__dict__.update(fields)

    def mean(self):
        import pandas as pd

        return pd.DataFrame({"dose": MEAN + self.shift})

    def var(self):
        import pandas as pd

        return pd.DataFrame({"dose": STD**2})

    def quantile(self, levels):
        return Frame(MEAN[:, None] + np.array(levels))


def skpro_distribution(name, **fields):
    kind = type(name, (_SkproDistribution,), {"__module__": "skpro.distributions.base"})
    return kind(**fields)


@of("skpro.regression.base")
class Probabilistic:
    def __init__(self, distribution=None):
        self.is_fitted = distribution is not None
        self.distribution = distribution

    def predict_proba(self, X):
        return self.distribution


# ------------------------------------------------------------------------- quantiles and sets


@of("quantile_forest._quantile_forest", RegressorMixin, BaseEstimator)
class RandomForestQuantileRegressor:
    def fit(self, X, y):
        self.trees_ = []
        return self

    def predict(self, X, quantiles=None):
        if not hasattr(self, "trees_"):
            raise NotFittedError
        return MEAN[:, None] + np.array([0.5] if quantiles is None else quantiles)


@of("tabpfn.regressor", RegressorMixin, BaseEstimator)
class TabPFNRegressor:
    def fit(self, X, y):
        return self

    def predict(self, X, *, output_type="mean", quantiles=None):
        assert output_type == "quantiles"
        assert all(isinstance(level, float) for level in quantiles)
        return [MEAN + level for level in quantiles]


TabPFNClassifier = type(
    "TabPFNClassifier",
    (ClassifierMixin, _Classifier, BaseEstimator),
    {"__module__": "tabpfn.classifier"},
)


class BarDistribution:
    def icdf(self, logits, left_prob):
        return MEAN + left_prob


@of("mapie.regression.regression")
class SplitConformalRegressor:
    def __init__(self, alphas, ready=True):
        self.ready = ready
        if len(alphas) == 1:
            self._alpha = alphas[0]  # as ConformalizedQuantileRegressor has it
        else:
            self._alphas = alphas
        self.widths = np.array([1 - alpha for alpha in alphas])

    def predict_interval(self, X):
        if not self.ready:
            raise ValueError("Incorrect method order: call conformalize first.")
        ends = np.stack([MEAN[:, None] - self.widths, MEAN[:, None] + self.widths], axis=1)
        return MEAN, ends


@of("mapie.classification")
class SplitConformalClassifier:
    def __init__(self, alphas):
        self._alphas = alphas
        self._mapie_classifier = SimpleNamespace(classes_=np.array(["a", "b", "c"]))

    def predict_set(self, X):
        sets = np.stack([alpha < PROBABILITIES for alpha in self._alphas], axis=-1)
        return PROBABILITIES.argmax(axis=1), sets


@of("mapie.regression.time_series_regression")
class TimeSeriesRegressor:
    def predict(self, X, confidence_level=None):
        raise AssertionError


# ----------------------------------------------------------------------------------- networks


@of("transformers.modeling_outputs", dict)
class SequenceClassifierOutput:
    def __init__(self, logits):
        self.logits = logits


@of("transformers.trainer_utils", tuple)
class PredictionOutput:
    @property
    def predictions(self):
        return self[0]


class Module:
    training = True

    def train(self, mode=True):
        self.training = mode
        return self

    def eval(self):
        return self.train(False)


@of("transformers.models.bert", Module)
class Bert:
    def __init__(self, logits, labels, problem_type=None):
        self.logits = logits
        self.config = SimpleNamespace(id2label=dict(enumerate(labels)), problem_type=problem_type)

    def __call__(self, input_ids):
        assert not self.training
        return SequenceClassifierOutput(self.logits)


@of("transformers.trainer")
class Trainer:
    def __init__(self, model):
        self.model = model

    def predict(self, dataset):
        return PredictionOutput((self.model.logits, None, {}))


class Criterion:
    alpha = 0.2


@of("chemprop.models.model", Module)
class MPNN:
    def __init__(self, predictor, outputs):
        self.predictor = type(predictor, (), {"criterion": Criterion()})()
        self.outputs = outputs

    def predict_step(self, batch, place):
        assert not self.training
        import torch

        return torch.as_tensor(self.outputs[batch])
