"""Estimators by name on one table: trained on its splits, asked for all measures, compared."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..datasets import RawTable, load_mixed, load_uci
from ..evaluation import Comparison, compare, evaluate
from ..exceptions import FileFormatError, OptionError
from ..experiments.checkpoint import Folder, mark_of
from ..predictions import Gaussian, Quantiles
from ..predictions.files import load_prediction
from ..results.tables import interval_words
from .study import Task
from .summary import NAN

PUBLISHED = "published splits"
"""The source of numbers on splits that papers print numbers of."""
RANDOM = "random splits"
MEASURES = {
    "rmse": ("root_mean_squared_error",),
    "nll": ("gaussian_negative_log_likelihood_loss", "negative_log_likelihood_loss"),
    "mixture_nll": ("mixture_negative_log_likelihood_loss",),
    "crps": ("gaussian_crps_loss", "quantile_crps_loss"),
    "brier": ("brier_loss",),
    "ece": ("expected_calibration_error",),
    "aurc": ("area_under_risk_coverage_error",),
}
METRICS = tuple(name for names in MEASURES.values() for name in names)
LEVELS_CRPS = "levels_crps"
"""The CRPS at the levels of boosted trees, of Gaussians too: the one that all can be asked."""
SPLITS = {"quick": 3, "paper": 20}
"""Splits of each table; of the published ones, as many as there are."""
RANDOM_SPLITS = {"quick": 2, "paper": 5}
ROWS = {"quick": 2000, "paper": None}
"""Rows of the tables without published splits."""
_HELD_OUT = 0.2
MIXED = ("adult", "compas", "california")
"""Tables without published splits."""


def network_names() -> dict[str, str]:
    """Return the estimators that train networks for numbers, by name, with their class.

    Examples
    --------
    >>> network_names()["mc-dropout"]
    'MCDropout'
    """
    from .. import estimators

    result = {}
    for name in estimators.__all__:
        stem = name.removesuffix("Regressor")
        value = getattr(estimators, name)
        if stem != name and issubclass(value, estimators.NetworkEstimator):
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", stem).lower()
            result[words.replace("drop-connect", "dropconnect")] = stem
    return result


def known_estimators() -> tuple[str, ...]:
    """Return all names that the option ``estimators`` takes."""
    from ..selection import CANDIDATES

    return (*dict.fromkeys((*network_names(), *CANDIDATES)), "auto")


def make(name: str, task: str, settings: Mapping[str, Any], seed: int) -> Any:
    """Return an estimator with its defaults that is not fitted."""
    from .. import estimators, selection
    from ..selection.trials import seeded

    networks, numbers = network_names(), task == "regression"
    if name in networks:
        kind = "Regressor" if numbers else "Classifier"
        made = getattr(estimators, networks[name] + kind, None)
        if made is None:
            raise OptionError(f"{name} is for numbers alone")
        model = made()
        known = model.get_params()
        return model.set_params(**{k: v for k, v in settings.items() if k in known})
    if name == "auto":
        model = selection.AutoRegressor() if numbers else selection.AutoClassifier()
        return seeded(model, seed)
    return seeded(selection.CANDIDATES[name].make(numbers), seed)


@dataclass(frozen=True)
class Outcome:
    """What a folder keeps of an estimator on one table."""

    values: dict[str, list[float]]
    reason: str = ""


@dataclass(eq=False)
class Runner:
    """Measures estimators on tables; what is finished is kept in the folder of the study."""

    task: Task
    settings: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    details: dict[str, Comparison] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seed = int(self.task.rng.integers(2**31))

    def table(self, name: str) -> tuple[RawTable, str]:
        """Return a table with the splits that are used, and the source of its numbers."""
        scale, repeats = self.task.scale, self.task.repeats
        if name not in MIXED:
            data = load_uci(name)
            return replace(data, splits=data.splits[: repeats or SPLITS[scale]]), PUBLISHED
        data = load_mixed(name)
        rng = np.random.default_rng(self.seed)
        most = self.task.options["rows"] or ROWS[scale]
        rows = rng.permutation(len(data))[:most]
        held = round(_HELD_OUT * len(rows))
        splits = []
        for _ in range(repeats or RANDOM_SPLITS[scale]):
            order = rng.permutation(rows)
            splits.append((np.sort(order[held:]), np.sort(order[:held])))
        return replace(data, splits=tuple(splits)), RANDOM

    def measured(
        self, name: str, estimators: Sequence[str]
    ) -> tuple[str, dict[tuple[str, str], FloatArray]]:
        """Return the source of the numbers on one table, and an array over splits of each."""
        data, source = self.table(name)
        values: dict[tuple[str, str], FloatArray] = {}
        predictions: dict[str, Any] = {}
        for estimator in estimators:
            outcome, first = self._one(name, data, estimator)
            if outcome.reason:
                self.notes.append(f"{name}: {estimator} was not measured: {outcome.reason}")
                continue
            predictions[estimator] = first
            for measure, numbers in outcome.values.items():
                values[estimator, measure] = np.array(numbers, dtype=np.float64)
        if len(predictions) > 1:
            self._compare(name, predictions, data.y[data.splits[0][1]])
        return source, values

    def _compare(self, name: str, predictions: Mapping[str, Any], y: Any) -> None:
        """Compare predictions of the first split, and those of numbers at the same levels, too."""
        options: dict[str, Any] = {"random_state": self.seed, "confidence": self.task.confidence}
        self.details[name] = compare(predictions, y, metrics=METRICS, **options)
        said = proper_scores(self.details[name])
        levels = {key: at_levels(one) for key, one in predictions.items()}
        levels = {key: one for key, one in levels.items() if one is not None}
        if len({type(predictions[key]) for key in levels}) > 1:
            both = compare(levels, y, metrics=MEASURES["crps"], **options)
            self.details[f"{name}, ten quantiles"] = both
            said = proper_scores(both)
        self.notes.append(f"{name}, first split: {'; '.join(said)}.")

    def _one(self, name: str, data: RawTable, estimator: str) -> tuple[Outcome, Any]:
        """Return the numbers of an estimator, and its prediction of the first split."""
        try:
            model = make(estimator, data.task, self.settings, self.seed)
        except OptionError as error:
            return Outcome({}, str(error)), None
        folder = self._folder(name, data, estimator, model)
        finished = self._finished(folder)
        if finished is not None:
            return finished
        try:
            predictions = self._predictions(data, model, folder)
        except Exception as error:  # the other estimators are still there
            return Outcome({}, f"{type(error).__name__}: {error}"), None
        from ..selection.trials import as_one_member

        scores = [
            scores_of(prediction, data.y[test])
            for prediction, (_, test) in zip(predictions, data.splits, strict=True)
        ]
        values = {key: [one.get(key, NAN) for one in scores] for key in scores[0]}
        outcome, first = Outcome(values), as_one_member(predictions[0])
        if folder is not None:
            first.save(folder.path / "first.npz")
            folder.save("values", outcome)
        return outcome, first

    def _folder(self, name: str, data: RawTable, estimator: str, model: Any) -> Folder | None:
        place = self.task.place(f"{name}-{estimator}")
        if place is None:
            return None
        settings = sorted(model.get_params(deep=False).items(), key=lambda item: item[0])
        arrays = data.X, data.y, data.splits
        return Folder(place, mark_of(arrays, type(model).__name__, repr(settings), self.seed))

    def _finished(self, folder: Folder | None) -> tuple[Outcome, Any] | None:
        known = {} if folder is None else folder.load(["values"], lambda given: Outcome(**given))
        if folder is None or not known:
            return None
        try:
            return known["values"], load_prediction(folder.path / "first.npz")
        except (FileFormatError, OSError):
            return None

    def _predictions(self, data: RawTable, model: Any, folder: Folder | None) -> list[Any]:
        """Train on every split, networks in lock-step, and return predictions of the test rows."""
        from sklearn.utils import _safe_indexing

        from ..estimators import NetworkEstimator, Problem, fit_many, member_predictions
        from ..selection.encoding import fits_table

        X, network = data.X, isinstance(model, NetworkEstimator)
        fitting = fits_table(model, X)
        options: dict[str, Any] = {"n_jobs": self.task.options["n_jobs"]}
        if network:
            options = {"progress": self.task.progress}
            options["checkpoint"] = None if folder is None else folder.networks
        problems = [
            Problem(X, data.y, rows=train, random_state=i if network else None)
            for i, (train, _) in enumerate(data.splits)
        ]
        models = fit_many(fitting, problems, **options)
        return [
            member_predictions(fitted, _safe_indexing(X, test))
            for fitted, (_, test) in zip(models, data.splits, strict=True)
        ]


def proper_scores(comparison: Comparison) -> list[str]:
    """Say which technique is best by each proper score of a comparison."""
    proper = [m for m in (*MEASURES["brier"], *MEASURES["crps"]) if comparison.matching(metric=m)]
    said = []
    for metric in proper:
        rows = [row for row in comparison.matching(metric=metric) if row.key.overall]
        best = min(rows, key=lambda row: row.value)
        tied = [row.technique for row in rows if row.tied and row is not best]
        others = f"; not distinguished from it: {', '.join(tied)}" if tied else ""
        interval = interval_words(best.low, best.high)
        said.append(f"by {metric} {best.technique} is best ({best.value:.3g}, {interval}){others}")
    return said


def at_levels(prediction: Any) -> Quantiles | None:
    """Return the quantiles of one distribution of numbers at the levels of boosted trees.

    None if it is of classes, or lacks some of the levels.
    """
    from ..selection.candidates import LEVELS
    from ..selection.trials import as_one_member, quantiles_at, shared_levels

    one = as_one_member(prediction)
    if isinstance(one, Quantiles) and not shared_levels(LEVELS, one.levels).all():
        return None
    return quantiles_at(one, LEVELS) if isinstance(one, Gaussian | Quantiles) else None


def scores_of(prediction: Any, y: Any) -> dict[str, float]:
    """Return the measures that a prediction can be asked."""
    rows = evaluate(prediction, y, metrics=METRICS, resamples=0).rows
    values = {row.metric: row.value for row in rows if not row.group and row.one_class is None}
    scores = {
        measure: float(values[name])
        for measure, names in MEASURES.items()
        for name in names
        if name in values
    }
    levels = at_levels(prediction)
    if levels is not None:
        (row,) = evaluate(levels, y, metrics=("quantile_crps_loss",), resamples=0).rows
        scores[LEVELS_CRPS] = float(row.value)
    return scores
