"""Ensembles of any estimator: several fits that differ by seed, by rows, or by both."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY
from pickle import PicklingError
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils import assert_all_finite, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from .._arrays import as_array, with_text_names
from .._constructors import declared
from .._defaults import MEMBERS
from .._random import generator
from .._validation import as_class_labels, as_weights, check_flags, check_integer
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from ._data import forget
from ._fitting import fit_many
from ._join import join_members
from ._problem import Problem
from .interface import PredictsClasses, PredictsIntervals, Savable, target_names, with_target_names
from .sklearn_models import one_member

_TRIES = 1000
"""Bootstrap samples that are drawn before one without a spread is taken."""

_COMPARED = 100
"""Samples on which members are compared."""


@declared()
class Ensemble(Savable, BaseEstimator):
    """Several fits of one estimator.

    Parameters
    ----------
    estimator : estimator
        Copied, and not changed itself. If a classifier gives no probabilities, its members vote.
    members : int
        Number of fits.
    resample : bool
        Whether each member learns from a bootstrap sample: as many rows, drawn with replacement
        (again where all have the same label). Without it members differ by their ``random_state``
        alone, also those of the steps of a pipeline; an estimator without one is refused.
    random_state : int, Generator or None
        Decides the seeds and the bootstrap samples of the members.
    n_jobs : int
        Processes for estimators that are not networks of caveat.

    Attributes
    ----------
    estimators_ : list of fitted estimators
        The members.
    """

    estimator: Any
    members: int = MEMBERS
    _: KW_ONLY
    resample: bool = False
    random_state: Any = None
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = own.input_tags, own.classifier_tags
        # Classes of several targets would be several predictions.
        tags.target_tags.multi_output = own.target_tags.multi_output and is_regressor(
            self.estimator
        )
        return tags

    @abstractmethod
    def _targets(self, y: Any, weight: np.ndarray | None) -> np.ndarray:
        """Return checked targets."""
        ...

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the members; networks of caveat train in lock-step, others by joblib.

        Parameters
        ----------
        X : array of shape (samples, ...)
        y : array of shape (samples,) or (samples, targets)
        sample_weight : array of shape (samples,), optional
            For estimators that take it.

        Returns
        -------
        self
        """
        forget(self)
        seeds = self._check_settings(sample_weight)
        X, y = with_text_names(_samples(X)), y if y is None else _samples(y)
        validate_data(self, X, y, skip_check_array=True)
        check_consistent_length(X, y)
        if not len(y):
            raise ShapeError("X has no samples; an ensemble needs at least two")
        if sample_weight is not None and not np.any(_samples(sample_weight)):
            raise InvalidValueError(
                "sample_weight is zero for every sample; one at least must count"
            )
        weight = as_weights(sample_weight, len(y))
        y = self._targets(y, weight)
        draw = generator(self.random_state)
        problems = [
            Problem(
                X,
                y,
                rows=self._rows(y, weight, draw) if self.resample else None,
                sample_weight=weight,
                parameters={name: int(draw.integers(2**31)) for name in seeds},
                name=f"member {i}" if self.members > 1 else "",
            )
            for i in range(self.members)
        ]
        self.estimators_ = fit_many(clone(self.estimator), problems, n_jobs=self.n_jobs)
        self._warn_if_identical(X, seeds)
        return self

    def _check_settings(self, sample_weight: Any) -> list[str]:
        """Return the names of the settings that are seeds, also those of parts."""
        check_integer(self.members, "members")
        check_flags(resample=self.resample)
        name = type(self.estimator).__name__
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "get_params"):
            raise OptionError(f"estimator must be an estimator to copy; got {self.estimator!r}")
        kind, fits = ("regressor", is_regressor)
        if isinstance(self, ClassifierMixin):
            kind, fits = ("classifier", is_classifier)
        if not fits(self.estimator):
            raise OptionError(
                f"estimator of an {type(self).__name__} must be a {kind}; got a {name}"
            )
        if sample_weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise OptionError(f"sample_weight was given, and fit of {name} does not take it")
        seeds = [
            parameter
            for parameter in self.estimator.get_params(deep=True)
            if parameter == "random_state" or parameter.endswith("__random_state")
        ]
        if not seeds and not self.resample and self.members > 1:
            raise OptionError(
                f"{name} has no random_state, so {self.members} members fitted to the same samples "
                "would be identical; pass resample=True to fit each to its own bootstrap sample"
            )
        return sorted(seeds)

    def _rows(
        self, y: np.ndarray, weight: np.ndarray | None, draw: np.random.Generator
    ) -> np.ndarray:
        """Return a bootstrap sample, drawn again where its labels are all the same."""
        varies = not _is_constant(y, None, weight)
        rows = draw.integers(len(y), size=len(y))
        # With many targets there may be no sample in which each of them varies.
        for _ in range(_TRIES if varies else 0):
            if not _is_constant(y, rows, weight):
                break
            rows = draw.integers(len(y), size=len(y))
        return rows

    def _warn_if_identical(self, X: Any, seeds: Sequence[str]) -> None:
        if self.members < 2 or self.resample:
            return
        rows = X.iloc[:_COMPARED] if hasattr(X, "iloc") else X[:_COMPARED]
        pair = self.estimators_[:2]
        first, second = (one_member(part, rows) for part in pair)
        # Models that memorize their samples agree on them, however much they differ.
        if first == second and len({_fingerprint(part, seeds) for part in pair}) == 1:
            warnings.warn(
                f"members of {type(self.estimator).__name__} are exactly the same although their "
                "random_state differs, so they show no uncertainty; pass resample=True",
                stacklevel=3,
            )

    def _parts(self, X: Any) -> Any:
        """Return the samples, checked, as each member takes them."""
        check_is_fitted(self)
        X = with_text_names(_samples(X), self)
        if X.ndim == 1 and hasattr(self, "n_features_in_"):
            raise ShapeError(
                f"X must have shape (samples, {self.n_features_in_}); got {X.shape}. Reshape your "
                "data: X.reshape(1, -1) if it is one sample"
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def predict_distribution(self, X: Any) -> Any:
        """Return the members' predictions, stacked.

        An estimator of caveat keeps the members it has; any other is one member. A regressor
        without a spread of its own has variance 0.
        """
        X = self._parts(X)
        parts = [one_member(part, X) for part in self.estimators_]
        return join_members(parts, getattr(self, "classes_", None))


@declared()
class EnsembleClassifier(ClassifierMixin, Ensemble, PredictsClasses):
    """Several fits of one classifier, ours or scikit-learn's, as members of one prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        A member whose sample lacks a class gives it probability 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from caveat.estimators import EnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EnsembleClassifier(GaussianNB(), members=5, resample=True, random_state=0)
    >>> model.fit(X, y).predict_distribution(X)
    Categorical: 5 members x 150 samples x 3 classes (0, 1, 2)
    """

    def _targets(self, y: Any, weight: np.ndarray | None) -> np.ndarray:
        y = column_or_1d(as_class_labels(y), warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if _is_constant(y, None, weight):
            raise LabelError(
                "y has one class; a classifier cannot learn from data with fewer than two classes"
            )
        return y


@declared()
class EnsembleRegressor(RegressorMixin, Ensemble, PredictsIntervals):
    """Several fits of one regressor, ours or scikit-learn's, as members of one prediction.

    Attributes
    ----------
    targets_ : ndarray of shape (targets,)
        Names of the targets, where ``y`` was a frame or a series with a name.

    Notes
    -----
    Members that predict points have variance 0: the spread of the ensemble is then how much they
    differ, and its intervals leave out the noise of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from caveat.estimators import EnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = EnsembleRegressor(LinearRegression(), members=5, resample=True, random_state=0)
    >>> model.fit(X, y).predict_distribution(X)
    Gaussian: 5 members x 442 samples x 1 target (0)
    """

    def _targets(self, y: Any, weight: np.ndarray | None) -> np.ndarray:
        names = target_names(y, 1 if len(y.shape) == 1 else y.shape[1])
        if names is not None:
            self.targets_ = names
        if not get_tags(self.estimator).target_tags.multi_output:
            return column_or_1d(y, warn=True)
        return np.asarray(y)

    def predict_distribution(self, X: Any) -> Any:
        """Return the members' predictions, stacked: Gaussian or Quantiles."""
        return with_target_names(super().predict_distribution(X), self)

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean over members of what they predict: (samples,), or (samples, targets)."""
        X = self._parts(X)
        return np.mean([part.predict(X) for part in self.estimators_], axis=0)


def _is_constant(y: np.ndarray, rows: np.ndarray | None, weight: np.ndarray | None) -> bool:
    """Whether the labels of the rows, or those of a target, are all the same.

    Rows without a weight do not count.
    """
    counted = np.arange(len(y)) if rows is None else rows
    if weight is not None:
        counted = counted[weight[counted] > 0]
    labels = y[counted]
    return not len(labels) or bool((labels == labels[:1]).all(axis=0).any())


def _samples(X: Any) -> Any:
    """Return samples of which rows can be taken; a frame stays, for the names of its columns."""
    X = as_array(X)
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def _fingerprint(model: Any, seeds: Sequence[str]) -> Any:
    """Return a hash that is the same for models that differ in nothing but their seeds."""
    import joblib

    try:
        return joblib.hash(deepcopy(model).set_params(**dict.fromkeys(seeds)))
    except (AttributeError, PicklingError, TypeError):
        return id(model)  # it holds something without content to compare, such as a lambda
