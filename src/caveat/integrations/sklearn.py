"""Metrics as scorers of scikit-learn, for cross-validation and searches."""

import inspect
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

from sklearn.base import is_classifier
from sklearn.utils.metadata_routing import MetadataRequest

from ..estimators import member_predictions
from ..evaluation.questions import questions
from ..exceptions import OptionError, UnknownNameError, UnsupportedPredictionError
from ..metrics import METRICS, Metric
from ..predictions import Categorical

__all__ = ["Scorer", "scorer"]

_NOT_PREDICTED = frozenset({"membership", "lower", "upper"})
"""Inputs that no estimator of scikit-learn predicts."""

_NOT_OPTIONS = frozenset({"classes", "per_sample", "sample_weight"})
"""Parameters of metrics that the scorer sets itself."""


@dataclass(repr=False)
class Scorer:
    """A metric as a function of an estimator; made by `scorer`.

    Attributes
    ----------
    metric : str
        The full name of the metric.
    options : dict
        Options of the metric.
    request : bool, str or None
        Whether scikit-learn passes weights on, or under which name; see `set_score_request`.
    """

    metric: str
    options: dict[str, Any]
    request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the metric of an estimator's predictions, where greater is better.

        Parameters
        ----------
        estimator : fitted estimator
        X : array of shape (samples, features)
        y : array of shape (samples,)
            The true classes, as the estimator knows them, or the true values.
        sample_weight : array of shape (samples,), optional

        Returns
        -------
        float
            The metric, or minus the metric if lower is better.
        """
        metric = METRICS[self.metric]
        value = float(_value(metric, self.options, estimator, X, y, sample_weight))
        return value if metric.direction == "higher" else 0.0 - value  # a negation would give -0.0

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"caveat.scorer({self.metric!r}{options})"

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Say whether weights are passed on, where routing of metadata is on in scikit-learn.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to get them, False to ignore them, a text to get those of this name; None for an
            error if there are any.

        Returns
        -------
        Scorer
        """
        self.request = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what scikit-learn asks for where routing of metadata is on."""
        routing = MetadataRequest(owner=self)
        routing.score.add_request(param="sample_weight", alias=self.request)
        return routing

    def __sklearn_clone__(self) -> "Scorer":
        return deepcopy(self)

    def _accept_sample_weight(self) -> bool:
        """Answer searches that are fitted with weights, where routing of metadata is off."""
        return True


def scorer(metric: str, **options: Any) -> Scorer:
    """Return a metric as a scorer for ``cross_val_score``, ``GridSearchCV`` and the like.

    Greater is better, as scikit-learn wants it: a metric of which less is better is negated.

    Parameters
    ----------
    metric : str
        The name of a metric, or its abbreviation.
    **options
        Options of the metric, such as ``bins=10``.

    Returns
    -------
    Scorer
        ``scorer(estimator, X, y, sample_weight=None) -> float``. It can be pickled and cloned.

    Notes
    -----
    What is asked of the estimator depends on the metric:

    ==========================================  ===================================================
    metric                                      estimator
    ==========================================  ===================================================
    of probabilities (``"ece"``, ``"brier"``)   ``predict_proba``; classes are its ``classes_``
    of a mean (``"rmse"``, ``"mae"``)           ``predict``
    of a quantile (``"pinball"``)               ``predict``
    of a mean and a variance (``"crps"``)       `member_predictions`: ``predict(return_std=True)``,
                                                trees of a forest, members of an ensemble
    of errors and uncertainties (``"aurc"``)    classifier: ``predict_proba``, by its entropy;
                                                regressor: `member_predictions`
    ==========================================  ===================================================

    Pipelines and searches are asked for what their last step or their best estimator gives. Values
    are those of `caveat.evaluate` for the same samples.

    A metric that has no better or worse (direction "target"), such as the coverage of an interval,
    is no score and is refused. So are metrics of sets, of intervals and of samples from elsewhere.
    A metric of your own must be registered in every process that computes scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> import caveat
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000)
    >>> scores = cross_val_score(model, X, y, scoring=caveat.scorer("brier"))
    >>> print(f"{scores.mean():.3f}")
    -0.065
    >>> caveat.scorer("ece", bins=10)
    caveat.scorer('expected_calibration_error', bins=10)
    """
    matches = METRICS.find(metric)
    if len(matches) > 1:
        meanings = " and ".join(f"{entry.name} ({entry.task})" for entry in matches)
        raise UnknownNameError(f"{metric!r} is short for {meanings}; use a full name")
    _check(matches[0])
    _check_options(matches[0], options)
    return Scorer(matches[0].name, options)


def _check(metric: Metric) -> None:
    """Raise if no score can be made of a metric."""
    if metric.direction == "target":
        raise OptionError(
            f"{metric.name} is neither better when greater nor when lower, so it is no score; "
            "caveat.evaluate measures it"
        )
    if metric.task == "detection":
        raise OptionError(
            f"{metric.name} compares samples with others from elsewhere, which a scorer is not "
            "given; caveat.experiments has the experiments for it"
        )
    if _NOT_PREDICTED & set(metric.inputs):
        raise OptionError(
            f"{metric.name} needs {' and '.join(metric.inputs)}, which estimators of scikit-learn "
            "do not predict; pass a PredictionSet or an Interval to caveat.evaluate"
        )


def _check_options(metric: Metric, options: dict[str, Any]) -> None:
    """Raise on options that the metric does not have, or that it needs and are missing."""
    first, *parameters = inspect.signature(metric.function).parameters.values()
    taken = {first.name, *metric.inputs} | _NOT_OPTIONS
    known = {part.name: part for part in parameters if part.name not in taken}
    has = f"it has {', '.join(known)}" if known else "it has none"
    for name in options:
        if name not in known and not any(part.kind is part.VAR_KEYWORD for part in parameters):
            raise OptionError(f"{metric.name} has no option {name!r}; {has}")
    for name, part in known.items():
        if part.kind is part.KEYWORD_ONLY and part.default is part.empty and name not in options:
            raise OptionError(f"{metric.name} needs {name}=")


def _value(
    metric: Metric, options: dict[str, Any], estimator: Any, X: Any, y: Any, weight: Any
) -> float:
    """Return the metric of an estimator's predictions."""
    name = type(estimator).__name__
    if metric.task == "regression" and is_classifier(estimator):
        raise UnsupportedPredictionError(
            f"{metric.name} is of predicted numbers, and {name} predicts classes"
        )
    if metric.inputs in (("mean",), ("value",)):
        return metric.function(y, estimator.predict(X), **options, sample_weight=weight)
    if metric.task == "classification" or is_classifier(estimator):
        prediction: Any = _probabilities(metric, estimator, X)
    else:
        prediction = member_predictions(estimator, X)
    try:
        asked, _ = questions(prediction, y, [metric.name])
    except OptionError:
        raise UnsupportedPredictionError(
            f"{metric.name} is not defined for what {name} predicts: {_described(prediction)}"
        ) from None
    if len(asked) > 1:
        what = "two classes" if metric.two_classes else "one target"
        raise UnsupportedPredictionError(
            f"{metric.name} is one number for {what} only; {name} predicts {prediction!r}"
        )
    return replace(asked[0], options={**asked[0].options, **options}).answer(weight)


def _probabilities(metric: Metric, estimator: Any, X: Any) -> Categorical:
    if not hasattr(estimator, "predict_proba"):
        raise UnsupportedPredictionError(
            f"{metric.name} is of probabilities, and {type(estimator).__name__} has no "
            "predict_proba; a classifier without it can be wrapped in "
            "sklearn.calibration.CalibratedClassifierCV"
        )
    classes = estimator.classes_
    if isinstance(classes, list):
        raise UnsupportedPredictionError(
            f"{type(estimator).__name__} predicts classes of {len(classes)} targets; fit one model "
            "for each target"
        )
    return Categorical(estimator.predict_proba(X), classes=classes)


def _described(prediction: Any) -> str:
    """Return a prediction in words, and what may be missing."""
    if isinstance(prediction, Categorical):
        return repr(prediction)
    return (
        f"{prediction!r}. Metrics of a spread need a regressor with predict(return_std=True), or "
        "an ensemble whose members differ for every sample"
    )
