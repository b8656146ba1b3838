"""Estimators with their defaults on public tables, beside what papers print for their kind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray, check_integer
from ..results.words import counted
from ._table_runs import MIXED, PUBLISHED, Runner, known_estimators, network_names
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

OTHERS = ("linear", "forest", "boosting", "catboost", "quantile-forest")
"""Models of others that are measured beside the estimators."""


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


def measure(task: Task) -> Measured:
    """Train estimators with their defaults on the splits of tables."""
    options, names = task.options, tables_of(task.dataset)
    if options["rows"] is not None:
        check_integer(options["rows"], "rows", 20)
    estimators = estimators_of(options["estimators"])
    runner = Runner(task, options["settings"] or {})
    values: dict[Key, FloatArray] = {}
    for name in names:
        source, numbers = runner.measured(name, estimators)
        for (estimator, what), array in numbers.items():
            values[TABLES.key(source, what, table=name, estimator=estimator)] = array
    # The published experiment has all splits, and the settings are the defaults.
    whole = task.scale == "paper" and task.repeats is None and not options["settings"]
    notes = [PAPER.notes_where["mixed"]] if {*names} & {*MIXED} else []
    repeats = max((len(numbers) for numbers in values.values()), default=0)
    title = PAPER.datasets[names[0]]["title"] if len(names) == 1 else counted(len(names), "table")
    words = f"{counted(len(estimators), 'estimator')} with their defaults"
    return Measured(
        ", ".join(task.dataset), title, words, repeats, values,
        judged=lambda source: whole and source == PUBLISHED,
        notes=(*notes, *runner.notes),
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
