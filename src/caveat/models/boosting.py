"""Boosted trees: XGBoost, LightGBM, CatBoost."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from .._validation import check_integer
from ..estimators.sklearn_models import by_interface, check_model
from ..exceptions import OptionError
from ..predictions import Categorical, Gaussian, Quantiles
from .fitted import check_fitted

# Objectives of XGBoost (before the colon) and of LightGBM whose predictions are means.
_OF_MEANS = (
    "reg", "count",
    "regression", "regression_l1", "huber", "fair", "poisson", "mape", "gamma", "tweedie",
)  # fmt: skip

VIRTUAL_ENSEMBLES = 10
"""Virtual ensembles of CatBoost, as many as its own functions take by default."""


def from_xgboost(model: Any, X: Any) -> Any:
    """Read an estimator, or a ``Booster`` with a ``DMatrix`` or an array."""
    native = not hasattr(model, "get_booster")
    booster = model if native else model.get_booster()
    settings = json.loads(booster.save_config())["learner"]["objective"]
    objective = settings["name"]
    if objective == "reg:quantileerror":
        levels = json.loads(settings["quantile_loss_param"]["quantile_alpha"])
        values = _of_booster(model, X) if native else model.predict(X)
        return several_quantiles(type(model).__name__, levels, values)
    if not native:
        check_model(model)
        return by_interface(model, X)
    return _boosted(objective.split(":"), lambda raw: _of_booster(model, X, raw))


def _of_booster(booster: Any, X: Any, raw: bool = False) -> Any:
    """Predict a ``DMatrix`` or an array with a booster of XGBoost."""
    if hasattr(X, "num_row"):
        return booster.predict(X, output_margin=raw)
    return booster.inplace_predict(X, predict_type="margin" if raw else "value")


def from_lightgbm(model: Any, X: Any) -> Any:
    """Read an estimator, or a ``Booster`` with an array."""
    if hasattr(model, "fit"):
        check_model(model)
        return by_interface(model, X)
    objective = model.dump_model(num_iteration=1).get("objective", "none").split()
    return _boosted(objective, lambda raw: model.predict(X, raw_score=raw))


def _boosted(objective: list[str], predict: Callable[[bool], Any]) -> Any:
    """Read what a booster gives, or its raw scores; it knows no labels."""
    kind, words = objective[0], set(objective)
    if words & {"softprob", "softmax", "multiclass"}:
        return Categorical.from_logits(predict(True))
    if "logistic" in words or (kind == "binary" and "sigmoid" in objective[1]):
        return Categorical.from_binary(predict(False))
    if kind in _OF_MEANS:
        return Gaussian(predict(False), 0.0)
    raise OptionError(
        f"this booster was trained for the objective {':'.join(objective)}, which gives neither "
        "probabilities nor a mean; pass what it predicts to caveat.Categorical or caveat.Quantiles"
    )


def from_catboost(model: Any, X: Any, *, members: int | None = None) -> Any:
    """Read a model of CatBoost; its virtual ensembles are members."""
    check_fitted(model)
    settings = model.get_all_params()
    loss, _, rest = settings["loss_function"].partition(":")
    name = type(model).__name__
    if loss in ("Quantile", "MultiQuantile"):
        levels = dict(part.partition("=")[::2] for part in rest.split(";")).get("alpha", "0.5")
        return several_quantiles(name, [float(a) for a in levels.split(",")], model.predict(X))
    virtual = loss in ("Logloss", "CrossEntropy", "MultiClass", "RMSE", "RMSEWithUncertainty")
    if members is not None:
        check_integer(members, "members")
        if not virtual:
            raise OptionError(f"a {name} with the loss {loss} has no virtual ensembles as members")
    elif virtual and settings.get("posterior_sampling"):
        members = VIRTUAL_ENSEMBLES
    classes = model.classes_
    if members is None and len(classes):
        probabilities = model.predict(X, prediction_type="Probability")
        return Categorical(probabilities, classes=classes)
    if members is None:
        values = np.asarray(model.predict(X))
        values = values.reshape(1, len(values), -1)
    else:
        values = model.virtual_ensembles_predict(
            X, prediction_type="VirtEnsembles", virtual_ensembles_count=members
        )
        values = np.asarray(values).swapaxes(0, 1)
    if loss == "RMSEWithUncertainty":
        return Gaussian.from_members(values[..., 0], values[..., 1])
    if not len(classes):
        return Gaussian.from_members(values)
    if values.shape[-1] == 1:
        return Categorical.from_binary(expit(values[..., 0]), classes=classes)
    return Categorical.from_logits(values, classes=classes)


def several_quantiles(name: str, levels: list[float], values: Any) -> Quantiles:
    """Read one column for each level; one level alone is no distribution."""
    if len(levels) < 2:
        raise OptionError(
            f"this {name} predicts one quantile, at {levels[0]:g}; train it for several levels, "
            "or pass one model for each as a dict, such as {0.05: low, 0.5: median, 0.95: high}"
        )
    return Quantiles(levels, values, sort=True)
