"""A model with its repair and its conformal sets or intervals, as one estimator."""

from collections.abc import Mapping
from copy import copy
from dataclasses import field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import _safe_indexing, column_or_1d, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._constructors import declared
from .._random import RandomState, generator
from .._validation import as_class_labels, as_column, as_weights, check_fraction, check_integer
from ..estimators import Wrapped, from_sklearn, save
from ..exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Gaussian, GaussianLogits, Quantiles
from ..recalibration import (
    ConformalQuantiles,
    ConformalResiduals,
    ConformalSets,
    Recalibrator,
)
from .candidates import as_recalibrator, has_spread
from .choice import repair
from .folds import cross_fitted, cross_predictions, fold_numbers, in_order
from .result import Repair, repaired

__all__ = ["Repaired"]


def _of_classes(model: "Repaired") -> bool:
    return not isinstance(model.estimator, Mapping) and is_classifier(model.estimator)


def _of_numbers(model: "Repaired") -> bool:
    return not _of_classes(model)


@declared()
class Repaired(BaseEstimator):
    r"""A model, the repair of its uncertainty and conformal sets or intervals, as one estimator.

    `fit` makes predictions of samples that the model was not trained on, chooses a repair by
    `caveat.repair`, and calibrates conformal sets (classes) or intervals (numbers) on the repaired
    predictions. What it predicts is repaired.

    Parameters
    ----------
    estimator : estimator, or dict of level to regressor
        A classifier or a regressor of scikit-learn or caveat; see `caveat.from_sklearn`.
    repair : {"auto"}, str, Recalibrator or None, default="auto"
        "auto" lets `caveat.repair` choose, and leave the model as it is; a recalibrator, or its
        name, is always applied; None repairs nothing.
    conformal : float, optional
        The coverage of `predict_set` and `predict_interval`, such as 0.9; without it, intervals are
        those of the repaired distribution, and there are no sets.
    cv : int, float or "prefit", default=5
        A number of folds: predictions are cross-fitted, and the model is then fitted on all
        samples. A share, such as 0.3: the model is fitted on the other samples, and these are held
        out. "prefit": the model is fitted already, on samples other than those of `fit`.
    random_state : int, Generator or None, optional
        Seed of folds, splits and resamples.

    Attributes
    ----------
    estimator_ : Wrapped
        The fitted model.
    repair_ : Repair, Recalibrator or None
        What was chosen, with its table and its reason; the recalibrator that was asked for; None
        without a repair, or where the model gives numbers without a spread.
    conformal_ : ConformalSets, ConformalResiduals, ConformalQuantiles or None
    classes_ : ndarray of shape (classes,)
        The classes of a classifier, in the order of `predict_proba`.

    Notes
    -----
    **Promises** the conformal coverage for new samples that are exchangeable with those of `fit`,
    if ``cv`` is a share or "prefit". With a repair as well, half of the held-out samples choose it
    and the other half calibrate the sets or intervals, so that the promise holds. With folds, all
    samples serve the model, the repair and the calibration; the coverage is then close to what was
    asked, but not guaranteed.

    **Cannot** hold after a shift of the data.

    Examples
    --------
    >>> import caveat
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = caveat.Repaired(GaussianNB(), conformal=0.9, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    >>> model.predict_set(X[:2])
    PredictionSet: 2 samples x 2 classes (0, 1), coverage 0.9
    """

    estimator: Any
    repair: Any = field(default="auto", kw_only=True)
    conformal: float | None = field(default=None, kw_only=True)
    cv: Any = field(default=5, kw_only=True)
    random_state: RandomState = field(default=None, kw_only=True)

    _learned = ("estimator_", "repair_", "conformal_")

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, cluster: Any = None) -> Self:
        """Fit the model, its repair and its sets or intervals.

        Parameters
        ----------
        sample_weight : array of shape (samples,), optional
            Passed on to the model, the repair and the calibration.
        cluster : array of shape (samples,), optional
            Samples that belong together; they are never split.
        """
        coverage = None if self.conformal is None else check_fraction(self.conformal, "conformal")
        if y is None:
            raise OptionError("fit requires y to be passed, but the target y is None")
        X, y = indexable(X, y)
        y = as_class_labels(y) if _of_classes(self) else y
        truth = np.asarray(y)
        if truth.ndim == 2 and truth.shape[1] == 1:
            truth = column_or_1d(truth, warn=True)
        if _of_classes(self):
            check_classification_targets(truth)
        # With the names of its targets; two fits that name them otherwise would not go together.
        named = y if hasattr(y, "iloc") and np.ndim(y) == truth.ndim else truth
        samples = len(truth)
        weight = as_weights(sample_weight, samples)
        units = None if cluster is None else as_column(cluster, "cluster", samples)
        rng = generator(self.random_state)
        strata = [truth if _of_classes(self) else None]
        prediction, rows = self._held_out(X, named, weight, units, strata, rng)
        truth = truth[rows]
        weight = None if weight is None else weight[rows]
        units = None if units is None else units[rows]
        if _of_classes(self):
            self.classes_ = self.estimator_.classes_
        mending = self.repair is not None and has_spread(prediction)
        crossed = not (self.cv == "prefit" or isinstance(self.cv, float))
        half = np.zeros(len(truth), dtype=np.intp)
        if mending and coverage is not None and not crossed:
            half = fold_numbers(len(truth), 2, rng, units)
        self.repair_ = None
        if mending:
            part = np.flatnonzero(half == 0)
            self.repair_ = self._repair(prediction, truth, weight, units, part, rng)
        self.conformal_ = None
        if coverage is not None:
            made = self._mended(prediction)
            if mending and crossed and self._recalibrator is not None:
                fold = fold_numbers(len(truth), self.cv, rng, units, strata)
                made = cross_fitted(self._recalibrator, prediction, truth, fold, weight=weight)
            part = np.flatnonzero(half == half.max())
            conformal = _conformal(made, coverage, int(rng.integers(2**31)))
            counted = None if weight is None else weight[part]
            self.conformal_ = conformal.fit(made.take(part), truth[part], sample_weight=counted)
        return self

    def predict_distribution(self, X: Any) -> Any:
        """Return the repaired prediction."""
        check_is_fitted(self, "estimator_")
        return self._mended(self.estimator_.predict_distribution(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, the mean, or the median of quantiles."""
        prediction = self.predict_distribution(X)
        if _of_classes(self):
            return np.asarray(self.classes_[_probabilities(prediction).argmax(axis=1)])
        if isinstance(prediction, Quantiles):
            center = prediction.median()
        else:
            center = prediction.moments()[0]
        return np.asarray(center[:, 0] if center.shape[1] == 1 else center)

    @available_if(_of_classes)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the repaired probabilities of the classes: (samples, classes)."""
        return _probabilities(self.predict_distribution(X))

    @available_if(_of_classes)
    def predict_set(self, X: Any) -> Any:
        """Return sets of classes that hold the true one as often as ``conformal`` says.

        Returns
        -------
        PredictionSet
        """
        prediction = self.predict_distribution(X)
        if self.conformal_ is None:
            raise OptionError("predict_set needs a coverage: Repaired(estimator, conformal=0.9)")
        return self.conformal_.transform(prediction)

    @available_if(_of_numbers)
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """Return prediction intervals: the conformal ones, or those of the repaired distribution.

        Parameters
        ----------
        coverage : float, default=0.9
            Only used without ``conformal``, whose coverage is chosen at `fit`.

        Returns
        -------
        Interval
        """
        prediction = self.predict_distribution(X)
        if self.conformal_ is not None:
            return self.conformal_.transform(prediction)
        if not has_spread(prediction):
            raise UnsupportedPredictionError(
                "the model gives numbers without a spread; fit with a coverage, as in "
                "Repaired(estimator, conformal=0.9)"
            )
        return prediction.interval(coverage)

    def save(self, path: Any) -> None:
        """Write the model with its calibration to one file, which `caveat.load` reads back.

        The model must be a network of caveat or an ensemble of them; of the repair the recalibrator
        is kept, without the table of candidates.
        """
        save(self, path)

    def _to_file(self) -> "Repaired":
        """Return a copy with what a file keeps."""
        if isinstance(self.estimator, Mapping):
            raise OptionError("a file holds one model, not a dict of them; save each by itself")
        kept = copy(self)
        kept.estimator, kept.repair_ = clone(self.estimator), self._recalibrator
        return kept

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of classes, or R² of numbers."""
        measure = accuracy_score if _of_classes(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    @property
    def n_features_in_(self) -> int:
        """The number of features that the model was fitted on."""
        check_is_fitted(self, "estimator_")
        model = getattr(self.estimator_, "model_", self.estimator_.model)
        return int(model.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        first = self.estimator
        if isinstance(first, Mapping):
            first = next(iter(first.values()))
        return get_tags(first)

    @property
    def _recalibrator(self) -> Recalibrator | None:
        chosen = self.repair_
        return chosen.recalibrator if isinstance(chosen, Repair) else chosen

    def _mended(self, prediction: Any) -> Any:
        """Return a prediction after the repair."""
        return (
            prediction if self._recalibrator is None else repaired(self._recalibrator, prediction)
        )

    def _held_out(
        self, X: Any, y: Any, weight: Any, cluster: Any, strata: Any, rng: np.random.Generator
    ) -> tuple[Any, NDArray[np.intp]]:
        """Fit the model; return predictions of samples that it was not trained on, and which."""
        samples = len(y)
        if isinstance(self.cv, str):
            if self.cv != "prefit":
                raise OptionError(f'cv must be folds, a share, or "prefit"; got {self.cv!r}')
            self.estimator_ = from_sklearn(self.estimator)
            return self.estimator_.predict_distribution(X), np.arange(samples)
        if isinstance(self.cv, float):
            share = check_fraction(self.cv, "cv")
            chosen = _share(share, samples, cluster, rng)
            held = np.flatnonzero(chosen)
            self.estimator_ = self._fitted(X, y, weight, np.flatnonzero(~chosen))
            return self.estimator_.predict_distribution(_safe_indexing(X, held)), held
        folds = check_integer(self.cv, "cv", 2)
        units = samples if cluster is None else len(np.unique(cluster))
        if units < folds:
            what = "sample" if cluster is None else "cluster"
            raise ShapeError(f"cv={folds} folds need as many {what}s; got {units} {what}")
        self._check_classes(y)
        fold = fold_numbers(samples, folds, rng, cluster, strata)
        self.estimator_ = self._fitted(X, y, weight, np.arange(samples))
        parts = cross_predictions(Wrapped(self.estimator), X, y, fold, weight=weight)
        for part, _ in parts:
            self._check_same_classes(part)
        return in_order(parts), np.arange(samples)

    def _fitted(self, X: Any, y: Any, weight: Any, rows: NDArray[np.intp]) -> Wrapped:
        params = {} if weight is None else {"sample_weight": weight[rows]}
        own = _safe_indexing(X, rows), _safe_indexing(y, rows)
        return Wrapped(self.estimator).fit(*own, **params)

    def _check_classes(self, y: Any) -> None:
        if not _of_classes(self):
            return
        values, counts = np.unique(y, return_counts=True)
        if counts.min() < 2:
            raise LabelError(
                f"class {values[counts.argmin()].item()!r} has one sample; cross-fitting needs two "
                "of each class at least"
            )

    def _check_same_classes(self, part: Any) -> None:
        if not _of_classes(self):
            return
        missing = set(self.estimator_.classes_.tolist()) - set(part.classes.tolist())
        if missing:
            raise LabelError(
                f"class {min(missing, key=str)!r} is in too few clusters: without those of one "
                "fold, the model has none to learn from; use fewer folds, or cv=0.3"
            )

    def _repair(
        self, prediction: Any, y: Any, weight: Any, cluster: Any, rows: Any, rng: Any
    ) -> Repair | Recalibrator:
        given, counted = prediction.take(rows), None if weight is None else weight[rows]
        if isinstance(self.repair, str) and self.repair == "auto":
            units = None if cluster is None else cluster[rows]
            return repair(given, y[rows], sample_weight=counted, cluster=units, random_state=rng)
        fitted: Recalibrator = clone(as_recalibrator(self.repair, prediction))
        return fitted.fit(given, y[rows], sample_weight=counted)


def _share(share: float, samples: int, cluster: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which samples are held out: whole clusters, and no regard to y.

    Samples that were drawn by their class would not be exchangeable with those to come.
    """
    units = samples if cluster is None else len(np.unique(cluster))
    held = fold_numbers(samples, units, rng, cluster) < round(share * units)
    if held.all() or not held.any():
        raise ShapeError(f"cv={share:g} leaves no samples on one side of {units}")
    return held


def _conformal(prediction: Any, coverage: float, seed: int) -> Recalibrator:
    """Return the conformal method for a kind of prediction."""
    if isinstance(prediction, Quantiles):
        return ConformalQuantiles(coverage)
    if isinstance(prediction, Gaussian):
        return ConformalResiduals(coverage, normalize=has_spread(prediction))
    return ConformalSets(coverage, random_state=seed)


def _probabilities(prediction: Any) -> NDArray[np.float64]:
    if isinstance(prediction, GaussianLogits):
        prediction = prediction.to_categorical()
    return np.array(prediction.mean)
