"""Estimators with their defaults on public tables, beside what papers print for their kind."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray, check_integer
from ..datasets import RawTable, load_mixed, load_uci
from ..evaluation import Comparison, compare, evaluate
from ..exceptions import FileFormatError, OptionError
from ..experiments.checkpoint import Folder, mark_of
from ..predictions.files import load_prediction
from ..results.tables import interval_words
from ..results.words import counted
from .paper import Paper, printed_number
from .study import Key, Label, Measured, Option, Said, Study, StudyRow, Table, Task, check_known
from .summary import NAN

PRINTED = Paper.read("tables")
"""All printed numbers, by the kind of the method."""

KINDS = {
    "deep-ensemble": "ensembles",
    "anchored-ensemble": "ensembles",
    "bootstrap": "ensembles",
    "batch-ensemble": "ensembles",
    "mc-dropout": "dropout",
    "concrete-dropout": "dropout",
    "dropconnect": "dropout",
    "bayes-by-backprop": "mean field",
    "flipout": "mean field",
}
"""Which printed methods an estimator is compared with; others have none of their kind."""

PUBLISHED = "published splits"
"""The source of numbers on splits that papers print numbers of."""
RANDOM = "random splits"
OTHERS = ("linear", "forest", "boosting", "catboost", "quantile-forest")
"""Models of others that are measured beside the estimators."""
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
SPLITS = {"quick": 3, "paper": 20}
"""Splits of each table; of the published ones, as many as there are."""
RANDOM_SPLITS = {"quick": 2, "paper": 5}
ROWS = {"quick": 2000, "paper": None}
"""Rows of the tables without published splits."""
_HELD_OUT = 0.2
_MIXED = ("adult", "compas", "california")


@dataclass(frozen=True)
class TablesRow(StudyRow):
    """One number of one estimator on one table.

    ``reference`` says where the printed number stands, the best of the estimator's ``kind``;
    ``behind`` by how much ours is above it, in standard errors of the difference: negative where
    ours is better.
    """

    factors: ClassVar[tuple[str, ...]] = ("table", "estimator")
    table: str = ""
    estimator: str = ""
    kind: str = ""
    reference: str = ""
    behind: float = NAN


@dataclass(frozen=True)
class _Best:
    """The best printed number of a kind: its text, its standard error and where it stands."""

    text: str
    error: float
    reference: str

    @property
    def value(self) -> float:
        return float(self.text)


def splits_of(table: str) -> int:
    """Return how many splits of a table are published."""
    return 5 if table == "protein" else 20


def _best() -> dict[tuple[str, str, str], _Best]:
    """Return the least printed number by kind, table and measure."""
    result: dict[tuple[str, str, str], _Best] = {}
    for cell, text, spread in PRINTED.cells(""):
        share = splits_of(cell["table"]) ** -0.5 if cell["spread"] == "standard deviation" else 1.0
        one = _Best(text, float(spread) * share, cell["source"])
        key = cell["kind"], cell["table"], cell["measure"]
        known = result.get(key)
        if known is None or (one.value, one.error) < (known.value, known.error):
            result[key] = one
    return result


BEST = _best()


def _bounds() -> Paper:
    """Return the paper with one table: the best printed number of each estimator's kind."""
    names = sorted({measure for _, _, measure in BEST})
    tables = list(dict.fromkeys(table for _, table, _ in BEST))
    cells = []
    for table in tables:
        for estimator, kind in KINDS.items():
            best = [BEST.get((kind, table, name)) for name in names]
            cells.append(
                [table, estimator, *(f"{b.text} ± {b.error:.4f}" if b else "" for b in best)]
            )
    bounds = {
        "source": PUBLISHED, "section": "", "rows": ["table", "estimator"], "columns": "measure",
        "names": names, "cells": cells,
    }  # fmt: skip
    return replace(PRINTED, tables=(bounds,))


PAPER = _bounds()


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
    from ..selection.auto import seeded

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
class _Outcome:
    """What a folder keeps of an estimator on one table."""

    values: dict[str, list[float]]
    reason: str = ""


@dataclass(eq=False)
class _Runner:
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
        if name not in _MIXED:
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

    def measured(self, name: str, estimators: Sequence[str]) -> dict[Key, FloatArray]:
        """Return the numbers of all estimators on one table, an array over splits each."""
        data, source = self.table(name)
        values: dict[Key, FloatArray] = {}
        predictions: dict[str, Any] = {}
        for estimator in estimators:
            outcome, first = self._one(name, data, estimator)
            if outcome.reason:
                self.notes.append(f"{name}: {estimator} was not measured: {outcome.reason}")
                continue
            predictions[estimator] = first
            for measure, numbers in outcome.values.items():
                key = TABLES.key(source, measure, table=name, estimator=estimator)
                values[key] = np.array(numbers, dtype=np.float64)
        if len(predictions) > 1:
            self.details[name] = compare(
                predictions, data.y[data.splits[0][1]], metrics=METRICS, random_state=self.seed,
                confidence=self.task.confidence,
            )  # fmt: skip
        return values

    def _one(self, name: str, data: RawTable, estimator: str) -> tuple[_Outcome, Any]:
        """Return the numbers of an estimator, and its prediction of the first split."""
        try:
            model = make(estimator, data.task, self.settings, self.seed)
        except OptionError as error:
            return _Outcome({}, str(error)), None
        folder = self._folder(name, data, estimator, model)
        finished = self._finished(folder)
        if finished is not None:
            return finished
        try:
            predictions = self._predictions(data, model, folder)
        except Exception as error:  # the other estimators are still there
            return _Outcome({}, f"{type(error).__name__}: {error}"), None
        from ..selection.auto import as_one_member

        scores = [
            scores_of(prediction, data.y[test])
            for prediction, (_, test) in zip(predictions, data.splits, strict=True)
        ]
        values = {key: [one.get(key, NAN) for one in scores] for key in scores[0]}
        outcome, first = _Outcome(values), as_one_member(predictions[0])
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

    def _finished(self, folder: Folder | None) -> tuple[_Outcome, Any] | None:
        known = {} if folder is None else folder.load(["values"], lambda given: _Outcome(**given))
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


def compared(item: tuple[str, Comparison]) -> str:
    """Say which estimator has the best proper score on the test rows of the first split."""
    name, comparison = item
    proper = [m for m in (*MEASURES["brier"], *MEASURES["crps"]) if comparison.matching(metric=m)]
    said = []
    for metric in proper:
        rows = [row for row in comparison.matching(metric=metric) if row.key.overall]
        best = min(rows, key=lambda row: row.value)
        tied = [row.technique for row in rows if row.tied and row is not best]
        others = f"; not distinguished from it: {', '.join(tied)}" if tied else ""
        interval = interval_words(best.low, best.high)
        said.append(f"by {metric} {best.technique} is best ({best.value:.3g}, {interval}){others}")
    return f"{name}, first split: {'; '.join(said)}."


def scores_of(prediction: Any, y: Any) -> dict[str, float]:
    """Return the measures that a prediction can be asked."""
    rows = evaluate(prediction, y, metrics=METRICS, resamples=0).rows
    values = {row.metric: row.value for row in rows if not row.group and row.one_class is None}
    return {
        measure: float(values[name])
        for measure, names in MEASURES.items()
        for name in names
        if name in values
    }


def measure(task: Task) -> Measured:
    """Train estimators with their defaults on the splits of tables."""
    options, names = task.options, tables_of(task.dataset)
    if options["rows"] is not None:
        check_integer(options["rows"], "rows", 20)
    estimators = estimators_of(options["estimators"])
    runner = _Runner(task, options["settings"] or {})
    values: dict[Key, FloatArray] = {}
    for name in names:
        values |= runner.measured(name, estimators)
    # The published experiment has all splits, and the settings are the defaults.
    whole = task.scale == "paper" and task.repeats is None and not options["settings"]
    notes = [PAPER.notes_where["mixed"]] if {*names} & {*_MIXED} else []
    repeats = max((len(numbers) for numbers in values.values()), default=0)
    title = PAPER.datasets[names[0]]["title"] if len(names) == 1 else counted(len(names), "table")
    words = f"{counted(len(estimators), 'estimator')} with their defaults"
    return Measured(
        ", ".join(task.dataset), title, words, repeats, values,
        judged=lambda source: whole and source == PUBLISHED,
        notes=(*notes, *runner.notes, *map(compared, runner.details.items())),
        details=runner.details,
    )  # fmt: skip


def tables_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return tables by name, with those of groups in their place."""
    parts = [PAPER.datasets[name].get("tables", [name]) for name in names]
    return tuple(dict.fromkeys(table for part in parts for table in part))


def estimators_of(given: Any) -> tuple[str, ...]:
    """Return the names of estimators; by default all networks, and models of others."""
    if given is None:
        return (*network_names(), *OTHERS)
    names = [given] if isinstance(given, str) else list(given)
    check_known(names, known_estimators(), "there is no estimator")
    return tuple(dict.fromkeys(names))


def behind(
    fields: dict[str, Any], values: FloatArray, paper: float, confidence: float
) -> dict[str, Any]:
    """Return where the printed number stands, and how far ours is above it."""
    kind = KINDS.get(fields["estimator"], "")
    best = BEST.get((kind, fields["table"], fields["measure"]))
    if best is None or fields["source"] != PUBLISHED:
        return {"kind": kind}
    error = (
        np.hypot(best.error, values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else NAN
    )
    return {
        "kind": kind, "reference": best.reference,
        "behind": float((values.mean() - best.value) / error) if error > 0 else NAN,
    }  # fmt: skip


def no_default_is_worse(table: Table) -> Iterator[Said]:
    """Whether each default is within two standard errors of the best printed of its kind."""
    outcomes: dict[str, list[float]] = {}
    for (name, estimator, what), rows in _complete(table):
        best = BEST.get((KINDS.get(estimator, ""), name, what))
        if best is not None:
            number = printed_number(best.text)
            most = number.value + (number.value - number.low)
            error = np.hypot(best.error, rows.std(ddof=1) / np.sqrt(len(rows)))
            outcomes.setdefault(estimator, []).append(float(rows.mean() - most <= 2 * error))
    for estimator, results in outcomes.items():
        text = (
            f"{estimator}: no more than two standard errors worse than the best printed of its "
            "kind (a run is a table and a measure)"
        )
        yield "best of its kind", text, results


def ahead_of_deep_ensembles(table: Table) -> Iterator[Said]:
    """On how many tables the mean NLL of an estimator is below that printed for deep ensembles."""
    outcomes: dict[str, list[float]] = {}
    for (name, estimator, what), rows in _complete(table):
        if what == "nll" and ("ensembles", name, "nll") in BEST:
            ahead = rows.mean() < BEST["ensembles", name, "nll"].value
            outcomes.setdefault(estimator, []).append(float(ahead))
    for estimator, results in outcomes.items():
        text = f"{estimator}: a lower mean NLL than printed for deep ensembles (a run is a table)"
        yield "Lakshminarayanan et al. 2017, table 1", text, results


def _complete(table: Table) -> Iterator[tuple[tuple[str, str, str], FloatArray]]:
    """Yield the numbers of each table, estimator and measure that has all published splits."""
    rows = table.rows(source=PUBLISHED)
    for (name, estimator, what), part in rows.groupby(
        ["table", "estimator", "measure"], sort=False
    ):
        values = part["value"].to_numpy()
        if len(values) == splits_of(str(name)) and np.isfinite(values).all():
            yield (str(name), str(estimator), str(what)), values


def labels(row: TablesRow) -> Label:
    """Return in which table a row is shown, what it is, and what follows its numbers."""
    title = f"{row.table}, {row.source}: {PAPER.word(row.measure)}"
    return title, {"estimator": row.estimator}, {"printed in": row.reference}


def limits(measure: str) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a measure."""
    return (-np.inf, np.inf) if measure.endswith("nll") else (0.0, np.inf)


TABLES = Study(
    name="tables",
    paper=PAPER,
    row=TablesRow,
    measure=measure,
    printed="bounds",
    claims=(no_default_is_worse, ahead_of_deep_ensembles),
    labels=labels,
    options=(
        Option("estimators", None, "Names of estimators; by default all networks and some others."),
        Option("rows", None, "Rows of tables without published splits, at most."),
        Option("n_jobs", None, "Processes for models that are not networks."),
        Option("settings", None, "Other settings of the networks that have them, a dict.", False),
    ),
    limits=limits,
    extra=behind,
    several=True,
    explanation="paper: the best printed number among methods of the same kind, with its standard "
    "error",
)  # fmt: skip
