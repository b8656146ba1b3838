"""Predictions of fitted models of scikit-learn: one member, or one for each tree or part."""

import inspect
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _is_fitted, check_is_fitted, validate_data

from .._arrays import with_text_names
from .._constructors import declared
from .._parallel import map_threads
from .._validation import check_fraction
from ..exceptions import OptionError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian, Quantiles
from ._join import as_member, as_probabilities, join_members, places_of
from .interface import PredictsIntervals

_FORESTS = (
    ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor,
)  # fmt: skip
_BAGS = (BaggingClassifier, BaggingRegressor)
_VOTES = (VotingClassifier, VotingRegressor)


@declared()
class Wrapped(BaseEstimator, PredictsIntervals):
    """A fitted model with ``predict_distribution``; made by `from_sklearn`.

    It is an estimator of scikit-learn: `sklearn.base.clone` gives one whose model is not fitted,
    and `fit` fits a copy of the model, as searches and cross-validation do.

    Parameters
    ----------
    model : estimator, or dict of level to estimator
        The model to wrap.

    Attributes
    ----------
    model_ : fitted estimator, or dict of level to fitted estimator
        The copy that `fit` fitted; before, predictions are those of ``model`` itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from caveat.estimators import from_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> wrapped = from_sklearn(LogisticRegression(max_iter=1000).fit(X, y))
    >>> wrapped.predict_distribution(X)
    Categorical: 1 member x 150 samples x 3 classes (0, 1, 2)
    """

    model: Any

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of the model; ``model`` stays what it is.

        Parameters
        ----------
        X : array of shape (samples, ...)
        y : array of shape (samples,)
        **fit_params
            What the model's own ``fit`` takes, such as ``sample_weight``.

        Returns
        -------
        Wrapped
        """
        X = with_text_names(X)
        if isinstance(self.model, Mapping):
            copies = {level: clone(part) for level, part in self.model.items()}
            fitted: Any = {level: part.fit(X, y, **fit_params) for level, part in copies.items()}
            _check_levels(fitted)
        else:
            fitted = clone(self.model).fit(X, y, **fit_params)
            check_model(fitted)
        self.model_ = fitted
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The classes that the model knows."""
        return np.asarray(innermost(self._fitted)[0].classes_)

    @property
    def _fitted(self) -> Any:
        return getattr(self, "model_", self.model)

    def __sklearn_is_fitted__(self) -> bool:
        models = self._fitted.values() if isinstance(self._fitted, Mapping) else [self._fitted]
        return all(_is_fitted(model) for model in models)

    def __sklearn_clone__(self) -> "Wrapped":
        if isinstance(self.model, Mapping):
            return Wrapped({level: clone(part) for level, part in self.model.items()})
        return Wrapped(clone(self.model))

    def __sklearn_tags__(self) -> Any:
        if isinstance(self.model, Mapping):
            return get_tags(next(iter(self.model.values())))
        return get_tags(self.model)

    def predict_distribution(self, X: Any) -> Any:
        """Return the prediction, member by member: see `member_predictions`."""
        return member_predictions(self._fitted, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return what the model itself predicts; for quantiles, the median."""
        model = self._fitted
        if isinstance(model, Mapping):
            if 0.5 not in model:
                raise OptionError(
                    "predict needs the model of the median; there is none at level 0.5"
                )
            model = model[0.5]
        return np.asarray(model.predict(with_text_names(X, model)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, averaged over members: (samples, classes)."""
        prediction = as_probabilities(self.predict_distribution(X))
        if not isinstance(prediction, Categorical):
            raise UnsupportedPredictionError(
                f"predict_proba is for models of classes; this one gives a "
                f"{type(prediction).__name__}"
            )
        return np.array(prediction.mean)

    def score(self, X: Any, y: Any) -> float:
        """Return the model's own score: accuracy or R², if it has no other; for quantiles R².

        Parameters
        ----------
        X : array of shape (samples, ...)
        y : array of shape (samples,)
        """
        if isinstance(self._fitted, Mapping):
            return float(r2_score(y, self.predict(X)))
        return float(self._fitted.score(with_text_names(X, self._fitted), y))


def from_sklearn(model: Any) -> Wrapped:
    """Wrap a fitted model of scikit-learn, so that it has ``predict_distribution``.

    Parameters
    ----------
    model : fitted estimator, or dict of level to fitted regressor
        The model; `member_predictions` lists what its members are. A dict holds one
        regressor for each quantile level, such as ``{0.05: low, 0.5: median, 0.95: high}``.

    Returns
    -------
    Wrapped
        With ``predict``, ``predict_proba``, ``predict_distribution``, ``predict_interval`` and
        ``score``. The model is not copied.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> from_sklearn(forest).predict_distribution(X)
    Gaussian: 20 members x 442 samples x 1 target (0)
    """
    if isinstance(model, Mapping):
        _check_levels(model)
    else:
        check_model(model)
    return Wrapped(model)


def member_predictions(model: Any, X: Any) -> Any:
    """Return the prediction of a fitted model, member by member.

    ===========================================  ==================================================
    model                                        members
    ===========================================  ==================================================
    random forest, extra trees                   the trees
    bagging, voting                              the estimators; without probabilities, their votes
    other classifier with ``predict_proba``      one
    regressor with ``predict(return_std=True)``  one, with that spread
    model of a library with an adapter           those of `caveat.from_model`
    other regressor                              one, with a variance of 0
    dict of level to regressor                   one, of quantiles; those that cross are sorted
    pipeline, grid search                        those of its last step, of its best estimator
    estimator of caveat                          its own
    ===========================================  ==================================================

    The mean over members is what ``predict_proba`` or ``predict`` of the model gives.

    Parameters
    ----------
    model : fitted estimator, or dict of level to fitted regressor
    X : array of shape (samples, features)

    Returns
    -------
    Categorical, GaussianLogits, Gaussian or Quantiles

    See Also
    --------
    caveat.from_model : The same for models and outputs of many libraries.

    Notes
    -----
    ``return_std`` gives one standard deviation for all uncertainty. It belongs to a single member,
    so `caveat.decompose` counts it as aleatoric.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> prediction = member_predictions(forest, X)
    >>> prediction
    Categorical: 20 members x 150 samples x 3 classes (0, 1, 2)
    >>> bool(np.allclose(prediction.mean, forest.predict_proba(X)))
    True
    """
    if isinstance(model, Mapping):
        return _quantiles(_check_levels(model), X)
    check_model(model)
    X = with_text_names(X, model)
    model, X = innermost(model, X)
    if isinstance(model, _FORESTS):
        return _trees(model, X)
    if isinstance(model, _BAGS):
        return _bagged(model, X)
    if isinstance(model, _VOTES):
        hard = getattr(model, "voting", None) == "hard"
        return _encoded(model, [one_member(part, X, votes=hard) for part in model.estimators_])
    return one_member(model, X)


def one_member(model: Any, X: Any, *, votes: bool = False) -> Any:
    """Return the prediction of a model as a whole; an estimator of ours keeps its members.

    Without probabilities, or with ``votes``, the class that is predicted has probability 1.
    """
    model, X = innermost(model, X)
    if hasattr(model, "predict_distribution") and not votes:
        return model.predict_distribution(X)
    own = None if votes else _own_adapter(model)
    return by_interface(model, X, votes=votes) if own is None else own(model, X)


def _own_adapter(model: Any) -> Any:
    """Return what reads the distribution of a model of another library; None for scikit-learn."""
    from ..models.table import own_adapter

    return own_adapter(model)


def by_interface(model: Any, X: Any, *, votes: bool = False) -> Any:
    """Return one member by the methods of scikit-learn, whatever library the model is from."""
    if is_classifier(model):
        if hasattr(model, "predict_proba") and not votes:
            return as_member(model.predict_proba(X), model.classes_)
        codes = places_of(model.predict(X), model.classes_)
        return as_member(np.eye(len(model.classes_))[codes], model.classes_)
    if "return_std" in inspect.signature(model.predict).parameters:
        return Gaussian.from_std(*model.predict(X, return_std=True))
    return Gaussian(model.predict(X), 0.0)


def join_predictions(predictions: list[Any]) -> Any:
    """Join predictions of several models, as the members of one.

    Classes that not all of them know are sorted.
    """
    if not all(hasattr(prediction, "classes") for prediction in predictions):
        return join_members(predictions)
    classes = [prediction.classes for prediction in predictions]
    if not all(np.array_equal(classes[0], other) for other in classes):
        return join_members(predictions, np.unique(np.concatenate(classes)))
    return join_members(predictions, classes[0])


def innermost(model: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the estimator at the end of pipelines and searches, and the samples as it sees them.

    Without samples nothing is transformed.
    """
    if hasattr(model, "best_estimator_"):
        return innermost(model.best_estimator_, X)
    if not isinstance(model, Pipeline):
        return model, X
    for _, step in model.steps[:-1]:
        if X is not None and step is not None and step != "passthrough":
            X = step.transform(X)
    return innermost(model.steps[-1][1], X)


def _trees(model: Any, X: Any) -> Categorical | Gaussian:
    """Return one member for each tree."""
    X = validate_data(
        model, X, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False, reset=False
    )
    classes = is_classifier(model)
    columns = len(model.classes_) if classes else model.n_outputs_
    values = np.zeros((len(model.estimators_), X.shape[0], columns))

    def fill(place: int) -> None:
        tree = model.estimators_[place]
        # All trees see the same samples: the first checks them for the others.
        if classes:
            # A tree knows classes by their number, as a float, and only those it was given.
            values[place][:, tree.classes_.astype(np.intp)] = tree.predict_proba(
                X, check_input=place == 0
            )
        else:
            values[place] = tree.predict(X, check_input=place == 0).reshape(-1, columns)

    fill(0)
    map_threads(fill, range(1, len(values)))
    return Categorical(values, classes=model.classes_) if classes else Gaussian(values, 0.0)


def _bagged(model: Any, X: Any) -> Any:
    X = validate_data(
        model, X, dtype=None, accept_sparse=["csr", "csc"], ensure_all_finite=False, reset=False
    )
    parts = []
    for part, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        everything = np.array_equal(columns, np.arange(X.shape[1]))
        parts.append(one_member(part, X if everything else X[:, columns]))
    return _encoded(model, parts)


def _encoded(model: Any, parts: list[Any]) -> Any:
    """Join parts that know the classes of their model by numbers."""
    if not is_classifier(model):
        return join_members(parts)
    named = [
        part._trusted(
            {**part._fields(), "classes": np.asarray(model.classes_)[part.classes.astype(np.intp)]}
        )
        for part in parts
    ]
    return join_members(named, model.classes_)


def _quantiles(models: dict[float, Any], X: Any) -> Quantiles:
    columns = [model.predict(with_text_names(X, model)) for model in models.values()]
    values = np.stack([np.asarray(column) for column in columns], axis=-1)
    return Quantiles(list(models), values, sort=True)


def _check_levels(models: Mapping[float, Any]) -> dict[float, Any]:
    if not models:
        raise OptionError("model is an empty dict; give a fitted regressor for each level")
    for level, model in models.items():
        check_fraction(level, "every level of model")
        _check_fitted(model)
        trained = _quantile_of(model)
        if trained is not None and abs(trained - level) > 1e-9:
            raise OptionError(
                f"the model given for level {level:g} was trained for the quantile at {trained:g}"
            )
    return dict(models)


def _quantile_of(model: Any) -> float | None:
    """Return the level of a model of one quantile; None for others."""
    inner = innermost(model)[0]
    if type(inner).__name__ == "QuantileRegressor":
        return float(inner.quantile)
    if getattr(inner, "loss", None) == "quantile":
        return float(inner.quantile if hasattr(inner, "quantile") else inner.alpha)
    if getattr(inner, "objective", None) == "quantile":  # LightGBM, with its default
        return float(getattr(inner, "alpha", 0.9))
    return None


def check_model(model: Any) -> None:
    """Raise if the model type is unsupported or its output would be misread."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise OptionError(
            f"model must be a fitted estimator, or a dict of level to estimator; got {model!r}"
        )
    _check_fitted(model)
    inner = innermost(model)[0]
    name = type(inner).__name__
    if hasattr(inner, "predict_distribution"):
        return
    if getattr(inner, "refit", True) is False and hasattr(inner, "cv_results_"):
        raise OptionError(f"this {name} kept no model; fit it with refit=True")
    known = hasattr(inner, "__sklearn_tags__")
    if not known or not (is_classifier(inner) or is_regressor(inner)):
        if not isinstance(inner, str) and _own_adapter(inner) is not None:
            return
        raise OptionError(f"model must be a classifier or a regressor; got a {name}")
    level = _quantile_of(inner)
    if level is not None:
        raise OptionError(
            f"this {name} predicts one quantile, at {level:g}; pass all of them as a dict, such as "
            "{0.05: low, 0.5: median, 0.95: high}"
        )
    _check_votes(inner)
    if is_classifier(inner):
        _check_classes(inner, name)


def _check_fitted(model: Any) -> None:
    """Raise if a model is not fitted; adapters of other libraries find out themselves."""
    if _own_adapter(innermost(model)[0]) is None:
        check_is_fitted(model)


def _check_votes(model: Any) -> None:
    if not isinstance(model, _VOTES) or model.weights is None:
        return
    names = [part for _, part in model.estimators]
    used = {weight for part, weight in zip(names, model.weights, strict=True) if part != "drop"}
    if len(used) > 1:
        raise OptionError(
            f"this {type(model).__name__} weighs its estimators by {list(model.weights)}, and the "
            "members of a prediction count alike; fit it with weights=None"
        )


def _check_classes(model: Any, name: str) -> None:
    if isinstance(model.classes_, list):
        raise OptionError(
            f"this {name} predicts classes of {len(model.classes_)} targets; fit one model for "
            "each target"
        )
    if len(model.classes_) < 2:
        raise OptionError(f"this {name} saw one class alone; a prediction is about two at least")
    hard = isinstance(model, VotingClassifier) and model.voting == "hard"
    if not hard and not hasattr(model, "predict_proba"):
        raise OptionError(
            f"{name} gives no probabilities, only classes or scores of no fixed scale; calibrate "
            f"it: from_sklearn(sklearn.calibration.CalibratedClassifierCV({name}(...)).fit(X, y))"
        )
