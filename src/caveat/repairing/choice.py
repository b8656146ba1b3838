"""Choose a repair by its cross-validated proper score, or none."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._arrays import to_numpy
from .._random import RandomState, generator
from .._renamed import suggests_parameters
from .._validation import FloatArray, as_column, as_weights, check_integer
from ..evaluation.answers import Answer
from ..exceptions import CaveatError
from ..metrics import METRICS, roc_auc_score
from ..predictions.given import as_prediction
from ..recalibration import (
    Recalibrator,
)
from ..resampling import confidence_interval, interval_of
from ..resampling.intervals import interval_at
from .candidates import candidates_of, check_supported, measures_of
from .changes import Change, changes_of
from .folds import cross_fitted, fold_numbers
from .result import AS_IT_IS, CandidateRow, Repair, group_labels, name_words, words
from .scores import CONFIDENCE, Scorer, finite, gain_of, mean_score

__all__ = ["repair"]

LEAST_SAMPLES = 50
"""With fewer samples, nothing is repaired."""
LEAST_CLUSTERS = 10
_MOST_ABSENT = 5

_REVERSED = 4.0
"""Standard errors below one half from which on an area under the ROC curve is no chance."""


@suggests_parameters
def repair(
    prediction: Any,
    y: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    classes: Any = None,
    candidates: Sequence[str | Recalibrator] | None = None,
    folds: int = 5,
    random_state: RandomState = None,
) -> Repair:
    r"""Choose a repair of a prediction by its cross-validated proper score, or leave it.

    Every candidate is fitted on all folds but one and repairs the remaining one, in turn. The
    result is compared with the prediction as it is, on the same samples: by the log loss of
    classes (the Brier score if the log loss is infinite), the CRPS of Gaussians and quantiles, or
    the interval score. A candidate is considered if the interval of its gain lies above 0, at a
    confidence that allows for the number of candidates (Bonferroni), and if its calibration error
    is not larger beyond chance. Of these, the simplest is chosen whose score is within one standard
    error of the best one's, by the difference on the same samples, and fitted on all samples. If
    there is none, the answer is to leave the prediction as it is.

    Parameters
    ----------
    prediction : Categorical, GaussianLogits, Gaussian, Quantiles, Interval or array
        Predictions of samples that the model was not trained on; an array as in `evaluate`.
    y : array of shape (samples,) or (samples, targets)
        True labels or values.
    groups : array, Series, dict of arrays or frame, optional
        Each candidate is also tried with its own fit for each group (each combination of groups).
    cluster : array of shape (samples,), optional
        Samples that belong together, such as those of a patient: a fold holds whole clusters, and
        intervals resample them.
    classes : sequence of labels, optional
        The classes of an array.
    candidates : list of str or recalibrators, optional
        Names from `caveat.recalibration.RECALIBRATORS`, or recalibrators with settings of your own,
        from simple to complex. By default, temperature scaling, Platt scaling, beta calibration,
        splines and Venn-Abers for two classes; temperature scaling, structured vector and matrix
        scaling (the latter up to 100 classes), splines and Venn-Abers for more; one factor on the
        spread and the isotonic distribution for numbers; the conformal correction for intervals.
    folds : int, default=5
    random_state : int or Generator, optional
        Seed of the folds and the resamples.

    Returns
    -------
    Repair
        With ``why``, a table of the candidates, ``transform`` and ``save``.

    Notes
    -----
    **Requires** samples that the model was not trained on, independent but for their clusters.
    Below 50 samples, or 10 clusters, or with samples of one class
    only, nothing is repaired.

    **Promises** that a calibrated prediction is left as it is in at least 95 % of all data sets.
    Folds share most of their training samples, so the promise is checked by simulation.

    **Cannot** improve how well samples are told apart, nor hold after the data have shifted.
    Repairs of classes act on the mean over members, so that the result has one; name a recalibrator
    with ``members="each"`` to keep them.

    Several targets count alike: the gain is the mean of the gains relative to the scores as they
    are.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=1000)
    >>> y = (rng.random(1000) < 1 / (1 + np.exp(-z))).astype(int)
    >>> p = 1 / (1 + np.exp(-3 * z))  # three times as sure as it should be
    >>> fixed = caveat.repair(p, y, random_state=0)
    >>> fixed.chosen
    'TemperatureScaling'
    >>> fixed.transform(p)
    Categorical: 1 member x 1000 samples x 2 classes (0, 1)
    >>> caveat.repair(1 / (1 + np.exp(-z)), y, random_state=0).why[:9]
    'Leave it:'
    """
    prediction = as_prediction(prediction, y, classes)
    check_supported(prediction)
    folds = check_integer(folds, "folds", 2)
    rng = generator(random_state)
    task = _Task(
        prediction,
        _truth(prediction, y),
        group_labels(groups, len(prediction)),
        as_weights(sample_weight, len(prediction)),
        None if cluster is None else as_column(cluster, "cluster", len(prediction)),
        folds,
        rng,
    )
    tried = candidates_of(prediction, candidates)
    few = task.too_few()
    if few:
        return task.left(few, [])
    if task.ranks_in_reverse():
        one, other = prediction.classes.tolist()
        warnings.warn(
            f"the probabilities of class={other} are higher where class={one} is true: check which "
            "class they are of (in a file, positive= names it); a repair turns them over",
            stacklevel=3,
        )
    return _chosen(task, tried)


def _truth(prediction: Any, y: Any) -> NDArray[Any]:
    """Return labels as they are, or true values in the order of the targets."""
    if hasattr(prediction, "targets"):
        return np.asarray(prediction.align(y, missing=True))
    return to_numpy(y, "y").array


@dataclass
class _Task:
    """What all candidates share."""

    prediction: Any
    y: NDArray[Any]
    groups: NDArray[Any] | None
    weight: FloatArray | None
    cluster: NDArray[Any] | None
    folds: int
    rng: np.random.Generator
    measure: str = ""
    calibration: str = ""

    def __post_init__(self) -> None:
        self.measure, self.calibration = measures_of(self.prediction)
        seed = int(self.rng.integers(2**63))
        self.scorer = Scorer(self.prediction, self.y, self.weight, self.cluster, seed)
        strata = self.prediction.align(self.y) if hasattr(self.prediction, "classes") else None
        self.fold = fold_numbers(
            len(self.prediction), self.folds, self.rng, self.cluster, [strata, self.groups]
        )

    def too_few(self) -> str:
        """Return why the samples are too few to choose; empty if they are enough."""
        samples = len(self.prediction)
        if samples < max(LEAST_SAMPLES, self.folds):
            return (
                f"{samples} samples are too few to choose a repair; "
                f"{max(LEAST_SAMPLES, self.folds)} are needed"
            )
        clusters = samples if self.cluster is None else len(np.unique(self.cluster))
        least = max(LEAST_CLUSTERS, self.folds)
        if clusters < least:
            return f"{clusters} clusters are too few to choose a repair; {least} are needed"
        classes = getattr(self.prediction, "classes", None)
        if classes is not None and len(self.absent()) == len(classes) - 1:
            (only,) = set(classes.tolist()) - set(self.absent())
            return f"all samples are of class={only}, which tells nothing of the others"
        return ""

    def absent(self) -> list[Any]:
        """Return the classes that no sample is of."""
        classes = getattr(self.prediction, "classes", None)
        if classes is None:
            return []
        truth = self.prediction.align(self.y)
        counted = np.bincount(truth, weights=self.weight, minlength=len(classes))
        return [label for label, count in zip(classes.tolist(), counted, strict=True) if not count]

    def ranks_in_reverse(self) -> bool:
        """Return whether of two classes the wrong one has the higher probabilities."""
        if len(getattr(self.prediction, "classes", ())) != 2:
            return False
        truth = self.prediction.align(self.y)
        pairs = np.prod(np.bincount(truth, minlength=2), dtype=float)
        area = roc_auc_score(truth, self.prediction.mean[:, 1], sample_weight=self.weight)
        return bool(area < 0.5 - _REVERSED * np.sqrt((len(truth) + 1) / (12 * pairs)))

    def measured(self, prediction: Any) -> dict[str, list[Answer]]:
        """Return the answers by metric, one for each target."""
        wanted = [name for name in (self.measure, self.calibration) if name]
        return self.scorer.measured(prediction, wanted)

    def cross_fitted(self, recalibrator: Recalibrator, by_group: bool) -> Any:
        """Return predictions of each fold, repaired by what the other folds say."""
        groups = self.groups if by_group else None
        return cross_fitted(
            recalibrator, self.prediction, self.y, self.fold, groups=groups, weight=self.weight
        )

    def fitted(self, recalibrator: Recalibrator, by_group: bool) -> Recalibrator:
        """Return the recalibrator, fitted on all samples."""
        groups = self.groups if by_group else None
        return clone(recalibrator).fit(
            self.prediction, self.y, groups=groups, sample_weight=self.weight
        )

    def left(self, why: str, rows: list[CandidateRow]) -> Repair:
        """Return the answer to leave the prediction as it is."""
        return self.result(f"Leave it: {why}.", None, False, rows)

    def result(
        self,
        why: str,
        fitted: Recalibrator | None,
        by_group: bool,
        rows: list[CandidateRow],
        changes: tuple[Change, ...] = (),
    ) -> Repair:
        """Return an answer."""
        classes = getattr(self.prediction, "classes", None)
        return Repair(
            tuple(rows),
            why,
            fitted,
            by_group,
            self.measure,
            self.calibration,
            classes=None if classes is None else tuple(classes.tolist()),
            samples=len(self.prediction),
            confidence=CONFIDENCE,
            changes=changes,
        )


@dataclass
class _Trial:
    """A candidate with its scores."""

    recalibrator: Recalibrator
    by_group: bool
    row: CandidateRow
    answers: dict[str, list[Answer]]
    worse: bool
    changes: tuple[Change, ...]

    @property
    def words(self) -> str:
        return name_words(self.row.candidate) + " by group" * self.by_group


def _chosen(task: _Task, candidates: list[Recalibrator]) -> Repair:
    """Try the candidates and return the choice."""
    base = task.measured(task.prediction)
    if task.measure == "negative_log_likelihood_loss" and not finite(base[task.measure]):
        task.measure = "brier_loss"
        base = task.measured(task.prediction)
    ways = [False] if task.groups is None else [False, True]
    number = len(candidates) * len(ways)
    trials: list[_Trial] = []
    rows = [
        CandidateRow(
            candidate=AS_IT_IS,
            score=mean_score(base[task.measure], base[task.measure]),
            gain=0.0,
            calibration=_error(task, base),
            calibration_gain=0.0,
        )
    ]
    for by_group in ways:
        for recalibrator in candidates:
            name = type(recalibrator).__name__
            try:
                made = task.cross_fitted(recalibrator, by_group)
                answers = task.measured(made)
            except CaveatError as error:
                rows.append(CandidateRow(candidate=name, by_group=by_group, note=str(error)))
                continue
            changes = changes_of(task.prediction, made, task.y, task.weight)
            trial = _tried(task, recalibrator, by_group, base, answers, number, changes)
            trials.append(trial)
            rows.append(trial.row)
    best = _best(trials, task.measure, base[task.measure])
    if best is None:
        return task.left(_why_left(task, trials, rows), rows)
    rows = [
        row if row is not best.row else CandidateRow(**{**vars(row), "chosen": True})
        for row in rows
    ]
    fitted = task.fitted(best.recalibrator, best.by_group)
    why = _why(task, best.row, best.words, rows[0])
    if absent := task.absent():
        shown = ", ".join(map(str, absent[:_MOST_ABSENT])) + ", ..." * (len(absent) > _MOST_ABSENT)
        why += f" No sample is of class={shown}: how likely these are cannot be judged."
    return task.result(why, fitted, best.by_group, rows, best.changes)


def _tried(
    task: _Task,
    recalibrator: Recalibrator,
    by_group: bool,
    base: dict[str, list[Answer]],
    answers: dict[str, list[Answer]],
    number: int,
    changes: tuple[Change, ...],
) -> _Trial:
    before, after = base[task.measure], answers[task.measure]
    score, start = mean_score(after, before), mean_score(before, before)
    gain = start - score
    level = 1 - (1 - CONFIDENCE) / number
    interval = interval_at(gain, gain_of(before, after, before), level, CONFIDENCE)
    worse = False
    error = _error(task, answers)
    if task.calibration:
        old, new = base[task.calibration], answers[task.calibration]
        change = gain_of(old, new, [])
        worse = interval_of(change.center, change, CONFIDENCE).high < 0
    row = CandidateRow(
        candidate=type(recalibrator).__name__,
        by_group=by_group,
        score=score,
        gain=gain,
        low=interval.low,
        high=interval.high,
        calibration=error,
        calibration_gain=_error(task, base) - error,
        note="its calibration error is larger" if worse else "",
    )
    return _Trial(recalibrator, by_group, row, answers, worse, changes)


def _best(trials: list[_Trial], measure: str, base: list[Answer]) -> _Trial | None:
    """Return the simplest trial within one standard error of the best."""
    useful = [trial for trial in trials if trial.row.low > 0 and not trial.worse]
    if not useful:
        return None
    best = max(useful, key=lambda trial: trial.row.gain)

    def as_good(trial: _Trial) -> bool:
        lead = gain_of(trial.answers[measure], best.answers[measure], base)
        return trial is best or lead.center <= float(np.std(lead.values))

    return next(trial for trial in useful if as_good(trial))


def _error(task: _Task, answers: dict[str, list[Answer]]) -> float:
    """Return the calibration error without the part that chance adds; the mean over targets."""
    errors = []
    for answer in answers.get(task.calibration, []):
        metric = METRICS[task.calibration]
        interval = confidence_interval(metric, answer.value, answer.replicates, CONFIDENCE)
        errors.append(answer.value if interval.estimate is None else interval.estimate)
    return float(np.mean(errors)) if errors else float("nan")


def _interval_text(row: CandidateRow) -> str:
    return f"({CONFIDENCE:.0%} interval {row.low:.2g} to {row.high:.2g})".replace("%", " %")


def _why(task: _Task, row: CandidateRow, name: str, base: CandidateRow) -> str:
    relative = " relative to that as it is" if _targets(task) > 1 else ""
    text = (
        f"{name[0].upper()}{name[1:]} lowers the {words(task.measure)} by {row.gain:.2g} "
        f"{_interval_text(row)}{relative}"
    )
    if not task.calibration:
        return f"{text}."
    verb = "falls" if row.calibration < base.calibration else "goes"
    return (
        f"{text}, and the {words(task.calibration)} {verb} from {base.calibration:.2g} to "
        f"{row.calibration:.2g}, on samples that it was not fitted on."
    )


def _targets(task: _Task) -> int:
    return len(getattr(task.prediction, "targets", ("",)))


def _why_left(task: _Task, trials: list[_Trial], rows: list[CandidateRow]) -> str:
    if not trials:
        reasons = "; ".join(f"{row.candidate}: {row.note}" for row in rows[1:])
        return f"no repair could be fitted ({reasons})"
    defined = [trial for trial in trials if np.isfinite(trial.row.gain)]
    if not defined:
        return f"every repair makes the {words(task.measure)} infinite"
    gaining = [trial for trial in defined if trial.row.low > 0]
    best = max(gaining or defined, key=lambda trial: trial.row.gain)
    change = f"{'lowers' if best.row.gain >= 0 else 'raises'} it by {abs(best.row.gain):.2g}"
    if best.row.gain < 0:
        change = f"{change} on samples that it was not fitted on"
    else:
        change = f"{change} {_interval_text(best.row)}"
    if gaining:
        return (
            f"{best.words} lowers the {words(task.measure)} by {best.row.gain:.2g} "
            f"{_interval_text(best.row)} but makes the {words(task.calibration)} larger"
        )
    return (
        f"no repair lowers the {words(task.measure)} by more than chance; the best, {best.words}, "
        f"{change}"
    )
