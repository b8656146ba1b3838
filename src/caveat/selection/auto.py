"""Choose a model by its cross-validated proper score, within a time budget."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_array, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import as_array, with_text_names
from .._constructors import declared
from .._random import RandomState, generator
from .._validation import as_class_labels, as_column, as_weights, check_integer, check_number
from ..estimators import member_predictions, save
from ..estimators.interface import (
    PredictsClasses,
    PredictsIntervals,
    target_names,
    with_target_names,
)
from ..evaluation.answers import Answer
from ..exceptions import LabelError, OptionError, ShapeError
from ..experiments.checkpoint import Folder, check_seed, mark_of
from ..metrics import METRICS
from ..predictions import Quantiles
from ..repairing.candidates import measures_of
from ..repairing.folds import fold_numbers
from ..repairing.result import words
from ..repairing.scores import CONFIDENCE, Scorer, finite, gain_of, mean_score
from ..resampling import confidence_interval
from ..results.words import joined
from .candidates import makers_of
from .result import Tried, TriedRow
from .trials import Trial, Trials, compare_alike, words_of

LOG_LOSS, BRIER = "negative_log_likelihood_loss", "brier_loss"


@declared()
class AutoModel(BaseEstimator):
    """A model that is chosen among several; see `AutoClassifier`.

    Parameters
    ----------
    candidates : list of str, or dict of str to estimator, optional
        What is tried, from cheap to expensive: names in ``caveat.selection.CANDIDATES``, or
        estimators of your own by name (None for one that is known by that name). By default a
        linear model, a random forest, boosted trees, CatBoost if it is installed, a deep ensemble
        and MC dropout, which chooses its rate for numbers.
    time_budget : float, optional
        Seconds after which no further candidate is tried, once one could be fitted. The one that is
        running is finished, and the chosen one is fitted to all samples after that.
    folds : int
        Folds of the cross-validation; networks of all folds train in lock-step.
    random_state : int, Generator or None
        Decides the folds, the seeds of the candidates that have none of their own, and the
        resamples behind the intervals.
    checkpoint : path, optional
        A folder from which a fit that was killed continues; needs an integer as ``random_state``.
    n_jobs : int, optional
        Processes for candidates that are not networks of caveat.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    model_ : fitted estimator
        The chosen candidate, fitted to all samples.
    chosen_ : str
        Its name.
    tried_ : Tried
        A row for each candidate with its score, its interval, its seconds, and the reason if it
        was left out.
    """

    candidates: Any = None
    _: KW_ONLY
    time_budget: float | None = None
    folds: int = 5
    random_state: RandomState = None
    checkpoint: Any = None
    n_jobs: int | None = None
    verbose: bool = False

    _numbers = False

    def _truth(self, y: Any) -> NDArray[Any]:
        """Return the checked target."""
        raise NotImplementedError

    def _measures(self, prediction: Any) -> list[str]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, cluster: Any = None) -> Self:
        """Try the candidates, and fit the chosen one to all samples.

        Parameters
        ----------
        X : array or frame of shape (samples, features)
            A frame may have categories and missing values; candidates that take numbers alone get
            them encoded.
        y : array of shape (samples,), for numbers also (samples, targets)
        sample_weight : array of shape (samples,), optional
            Candidates whose ``fit`` does not take it are left out.
        cluster : array of shape (samples,), optional
            Samples that belong together; a fold holds whole clusters.

        Returns
        -------
        self
        """
        makers = makers_of(self.candidates, self._numbers)
        folds = check_integer(self.folds, "folds", 2)
        if self.time_budget is not None:
            check_number(self.time_budget, "time_budget", 0)
        check_seed(self.checkpoint, self.random_state)
        if y is None:
            raise LabelError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if issparse(X):
            raise OptionError("sparse X is not supported; pass X.toarray()")
        X, y = indexable(with_text_names(as_array(X)), as_array(y))
        validate_data(self, X, skip_check_array=True)
        truth = self._truth(y)
        samples = len(truth)
        weight = as_weights(sample_weight, samples)
        units = None if cluster is None else as_column(cluster, "cluster", samples)
        count = samples if units is None else len(np.unique(units))
        if count < folds:
            what = "samples" if units is None else "clusters"
            raise ShapeError(f"folds={folds} needs as many {what}; got n_{what} = {count}")
        rng = generator(self.random_state)
        strata = None if self._numbers else truth
        fold = fold_numbers(samples, folds, rng, units, [strata])
        seed = int(rng.integers(2**62))
        seeds = {name: int(rng.integers(2**31)) for name in makers}
        folder = None
        if self.checkpoint is not None:
            settings = [(name, words_of(make)) for name, make in makers.items()]
            mark = mark_of((X, truth, weight, fold), type(self).__name__, settings, seeds)
            folder = Folder(self.checkpoint, mark)
        work = Trials(X, truth, fold, weight, self.n_jobs, folder)
        trials = self._try_all(work, makers, seeds)
        self._choose(trials, work, units, seed)
        self.model_ = work.prepared(makers[self.chosen_], seeds[self.chosen_])
        self.model_.fit(X, truth, **({} if weight is None else {"sample_weight": weight}))
        return self

    def _try_all(self, work: Trials, makers: Any, seeds: Mapping[str, int]) -> list[Trial]:
        from rich.console import Console
        from rich.progress import Progress

        trials: list[Trial] = []
        used = 0.0
        with Progress(console=Console(stderr=True), disable=not self.verbose) as bar:
            task = bar.add_task("", total=len(makers))
            for name, make in makers.items():
                fitted = any(trial.prediction is not None for trial in trials)
                if fitted and self.time_budget is not None and used >= self.time_budget:
                    reason = f"not tried: the time budget of {self.time_budget:g} s was used up"
                    trials.append(Trial(name, reason=reason))
                    continue
                bar.update(task, description=f"trying {name}")
                trials.append(work.tried(name, make, seeds[name]))
                used += np.nan_to_num(trials[-1].seconds)
                bar.advance(task)
        return trials

    def _choose(self, trials: list[Trial], work: Trials, cluster: Any, seed: int) -> None:
        """Measure all candidates on the same samples, and choose."""
        given = [trial for trial in trials if trial.prediction is not None]
        if not given:
            reasons = "; ".join(f"{trial.name}: {trial.reason}" for trial in trials)
            raise OptionError(f"no candidate could be fitted ({reasons})")
        compare_alike(given)
        given = [trial for trial in given if trial.compared is not None]
        scorer = Scorer(given[0].compared, work.y, work.weight, cluster, seed)
        for trial in given:
            trial.answers = scorer.measured(trial.compared, self._measures(trial.compared))
        place = self._place(given)
        scores: dict[str, list[Answer]] = {}
        for trial in given:
            assert trial.answers is not None
            answers = list(trial.answers.values())[place]
            if finite(answers):
                scores[trial.name] = answers
            else:
                trial.reason = "its score is infinite or undefined"
        if not scores:
            raise OptionError("the score of every candidate is infinite or undefined")
        base = next(iter(scores.values()))
        means = {name: mean_score(answers, base) for name, answers in scores.items()}
        best = min(means, key=means.__getitem__)
        leads = {name: gain_of(scores[name], scores[best], base) for name in scores}
        errors = {name: float(lead.values.std(ddof=1)) for name, lead in leads.items()}
        # From cheap to expensive: the first within one standard error of the best.
        self.chosen_ = next(name for name in scores if means[name] - means[best] <= errors[name])
        self.measure_ = self._measures(given[0].compared)[place]
        rows = []
        for trial in trials:
            row = TriedRow(candidate=trial.name, seconds=trial.seconds, reason=trial.reason)
            if trial.name in scores:
                name, answers = trial.name, scores[trial.name]
                low, high = _interval(answers, self.measure_)
                row = replace(
                    row, score=means[name], low=low, high=high, behind=means[name] - means[best],
                    error=errors[name], chosen=name == self.chosen_,
                )  # fmt: skip
            rows.append(row)
        why = _why(rows, self.measure_, best, int(work.fold.max()) + 1, len(work.y))
        self.tried_ = Tried(
            tuple(rows), why, self.measure_, int(work.fold.max()) + 1, len(work.y), CONFIDENCE
        )

    def _place(self, trials: list[Trial]) -> int:
        """Return which of the measures decides."""
        return 0

    def summary(self) -> str:
        """Say what was tried, what was chosen and why, and what was left out."""
        check_is_fitted(self)
        return str(self.tried_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = tags.input_tags
        takes.allow_nan = takes.categorical = takes.string = True
        tags.target_tags.multi_output = self._numbers
        tags.non_deterministic = self.time_budget is not None
        return tags

    def predict_distribution(self, X: Any) -> Any:
        """Return the prediction of the chosen model, member by member.

        Parameters
        ----------
        X : array or frame of shape (samples, features)
        """
        check_is_fitted(self)
        shape = getattr(X, "shape", ())
        if len(shape) == 1:
            raise ShapeError(
                f"X must have shape (samples, {self.n_features_in_}); got {shape}. Reshape "
                "your data: X.reshape(1, -1) if it is one sample"
            )
        X = with_text_names(as_array(X), self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return member_predictions(self.model_, X)

    def save(self, path: Any, *, recalibrator: Any = None) -> None:
        """Write the chosen model to one file, if it is a network of caveat or an ensemble of them.

        `caveat.load` gives back the chosen model, without the table of candidates. Other models
        are refused; pickle or skops keep them.

        Parameters
        ----------
        path : str or path
        recalibrator : Recalibrator, optional
            As in `caveat.estimators.save`.
        """
        check_is_fitted(self)
        save(self.model_, path, recalibrator=recalibrator)


@declared()
class AutoClassifier(ClassifierMixin, AutoModel, PredictsClasses):
    r"""Choose a classifier by its cross-validated log loss: networks, forests and boosted trees.

    Candidates are tried from cheap to expensive until the time is up. Each predicts every sample by
    a fit on the other folds. The cheapest is chosen whose score is within one standard error of the
    best, by the difference on the same samples, and fitted to all samples. If the log loss of a
    candidate is infinite (it gave probability 0 to what happened), the Brier score decides for all.

    Attributes
    ----------
    measure_ : str
        The score that decided.
    classes_ : ndarray of shape (classes,)

    Notes
    -----
    **Requires** samples that are independent but for their clusters.

    **Cannot** tell apart candidates whose scores differ by less than their noise: it then answers
    with the cheaper one. The score of the chosen candidate is a little too good, as it was chosen
    by it; evaluate on samples that `fit` has not seen.

    Examples
    --------
    >>> import caveat
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = caveat.AutoClassifier(["linear", "forest"], random_state=0).fit(X, y)
    >>> model.chosen_
    'linear'
    >>> model.predict_distribution(X)
    Categorical: 1 member x 178 samples x 3 classes (0, 1, 2)
    >>> [row.candidate for row in model.tried_]
    ['linear', 'forest']
    """

    def _truth(self, y: Any) -> NDArray[Any]:
        y = column_or_1d(as_class_labels(y), warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, counts = np.unique(y, return_counts=True)
        if len(self.classes_) < 2:
            raise LabelError("y has one class; a classifier cannot learn from fewer than two")
        if counts.min() < 2:
            rare = self.classes_[counts.argmin()]
            raise LabelError(
                f"class {rare.item() if hasattr(rare, 'item') else rare!r} has one sample; "
                "cross-validation needs two of each class at least"
            )
        return y

    def _measures(self, prediction: Any) -> list[str]:
        return [LOG_LOSS, BRIER]

    def _place(self, trials: list[Trial]) -> int:
        return int(any(not finite((trial.answers or {})[LOG_LOSS]) for trial in trials))


@declared()
class AutoRegressor(RegressorMixin, AutoModel, PredictsIntervals):
    """Choose a regressor by its cross-validated CRPS: networks, forests and boosted trees.

    Several targets count alike: scores are relative to those of the first candidate. Boosted trees
    predict ten quantiles of one target; where they are tried, all candidates are compared by their
    quantiles at these levels. See `AutoClassifier` for how the choice is made.

    Attributes
    ----------
    measure_ : str
        The score that decided.
    targets_ : ndarray of shape (targets,)
        Names of the targets, where ``y`` was a frame or a series with a name.

    Examples
    --------
    >>> import caveat
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = caveat.AutoRegressor(["linear", "forest"], random_state=0).fit(X, y)
    >>> model.chosen_
    'linear'
    >>> model.predict_interval(X[:2]).coverage
    0.9
    """

    _numbers = True

    def _truth(self, y: Any) -> NDArray[Any]:
        truth = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        if truth.ndim == 2 and truth.shape[1] == 1:
            truth = column_or_1d(truth, warn=True)
        self.__dict__.pop("targets_", None)
        names = target_names(y, 1 if truth.ndim == 1 else truth.shape[1])
        if names is not None:
            self.targets_ = names
        return truth

    def _measures(self, prediction: Any) -> list[str]:
        return [measures_of(prediction)[0]]

    def predict_distribution(self, X: Any) -> Any:
        """Return the prediction of the chosen model, member by member."""
        return with_target_names(super().predict_distribution(X), self)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the mean, or the median of quantiles: (samples,), or (samples, targets).

        Parameters
        ----------
        X : array or frame of shape (samples, features)
        """
        prediction = self.predict_distribution(X)
        quantiles = isinstance(prediction, Quantiles)
        center = prediction.median() if quantiles else prediction.moments()[0]
        return np.asarray(center[:, 0] if center.shape[1] == 1 else center)


def _interval(answers: list[Answer], measure: str) -> tuple[float, float]:
    """Return the interval of a score; none for a mean over targets."""
    (first, *others) = answers
    if others or first.replicates is None:
        return np.nan, np.nan
    interval = confidence_interval(METRICS[measure], first.value, first.replicates, CONFIDENCE)
    return interval.low, interval.high


def _why(rows: list[TriedRow], measure: str, best: str, folds: int, samples: int) -> str:
    by_name = {row.candidate: row for row in rows}
    (chosen,) = (row for row in rows if row.chosen)
    count = sum(not row.reason for row in rows)
    name = words(measure)
    interval = "" if np.isnan(chosen.low) else (
        f" ({CONFIDENCE:.0%} interval {chosen.low:.3g} to {chosen.high:.3g})".replace("%", " %")
    )  # fmt: skip
    text = (
        f"Chose {chosen.candidate} among {count} candidate{'s' * (count > 1)}: its {name} on "
        f"samples that it was not fitted on is {chosen.score:.3g}{interval}; {folds} folds of "
        f"{samples:,} samples."
    )
    if chosen.candidate != best:
        text += (
            f" {best} has {by_name[best].score:.3g}, which is lower by less than one standard "
            f"error ({chosen.behind:.2g} ± {chosen.error:.2g}); {chosen.candidate} is cheaper."
        )
    left = [f"{row.candidate} ({row.reason})" for row in rows if row.reason]
    return text + (f" Not compared: {joined(left)}." if left else "")
