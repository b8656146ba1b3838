"""Tables 2, 4, 5 and 6 of the disentanglement paper over several data sets, with their averages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray
from ..experiments import Disentanglement
from ..experiments.error import TERMS
from ..results.words import counted
from . import disentanglement
from .disentanglement import METHODS
from .paper import Paper
from .study import Key, Measured, Study, StudyRow, Task
from .summary import Summary

AVERAGE = "average"
TOGETHER = "theorem 3.2", "part_correlation"
"""Where the correlation of both parts is discussed, and its name."""


def _content() -> dict[str, Any]:
    place = files(__package__).joinpath("data", "disentanglement-averages.json")
    return dict(json.loads(place.read_text(encoding="utf-8")))


def read_paper() -> Paper:
    """Return the paper's tables with the data set as a column, and their averages."""
    own, base = _content(), disentanglement.PAPER
    tables: list[Mapping[str, Any]] = [
        {**table, "rows": ["data", "decomposition"]}
        for table in base.tables
        if table["source"] in own["averages"]
    ]
    sections = {table["source"]: table["section"] for table in tables}
    for source, measures in own["averages"].items():
        for measure, lines in measures.items():
            tables.append({
                "source": source, "section": sections[source], "columns": "method",
                "rows": ["data", "decomposition"], "names": [*METHODS],
                "fixed": {"measure": measure},
                "cells": [[AVERAGE, split, *cells] for split, cells in lines.items()],
            })  # fmt: skip
    return replace(
        base, title=own["title"], datasets={name: base.datasets[name] for name in own["datasets"]},
        notes=(*own["notes"], *base.notes), tables=tuple(tables), claims=tuple(own["claims"]),
        charts=tuple(own["charts"]), titles={**base.titles, **own["titles"]},
        words={**base.words, **own["words"]},
    )  # fmt: skip


PAPER = read_paper()
SOURCES = tuple(dict.fromkeys(table["source"] for table in PAPER.tables))


@dataclass(frozen=True)
class AveragesRow(StudyRow):
    """One number of the tables; ``data`` is the data set, or "average"."""

    factors: ClassVar[tuple[str, ...]] = ("data", "method", "decomposition")
    data: str = ""
    method: str = ""
    decomposition: str = ""


def measure(task: Task) -> Measured:
    """Run the disentanglement study on each data set."""
    results = {
        name: disentanglement.measure(
            replace(task, dataset=name, checkpoint=task.place(name), options=_options(task))
        )
        for name in task.dataset
    }
    values: dict[Key, FloatArray] = {}
    summaries: dict[Key, Summary] = {}
    for name, result in results.items():
        own, curves = numbers_of(name, result)
        values |= own
        summaries |= curves
    means, of_curves = averages_of(values, summaries, task.confidence)
    trainings = [
        detail.cost.trainings
        for result in results.values()
        for detail in {id(d): d for d in result.details.values()}.values()
        if isinstance(detail, Disentanglement)
    ]
    fair = {
        name: {source for source in SOURCES if result.judged(source)}
        for name, result in results.items()
    }
    everywhere = set.intersection(*fair.values()) if len(results) == len(PAPER.datasets) else set()
    return Measured(
        ", ".join(results), f"{counted(len(results), 'data set')}: {', '.join(results)}",
        counted(sum(trainings), "training"), max(result.repeats for result in results.values()),
        values | means, summaries | of_curves, judged=lambda source: source in everywhere,
        notes=tuple(f"{name}: {note}" for name, result in results.items()
                    for note in (*PAPER.datasets[name].get("notes", ()), *result.notes)),
        details={f"{name}, {key}": detail for name, result in results.items()
                 for key, detail in result.details.items()},
    )  # fmt: skip


def _options(task: Task) -> dict[str, Any]:
    """Return the options of the study of one data set: without what these tables do not show."""
    return {"target": None, "dropout_rates": (), **task.options}


def numbers_of(name: str, result: Measured) -> tuple[dict[Key, FloatArray], dict[Key, Summary]]:
    """Return the numbers of one data set that the tables have, and the correlation of both parts.

    Of the two ways to scale a table, that by the classes learned from is taken.
    """
    values: dict[Key, FloatArray] = {}
    summaries: dict[Key, Summary] = {}
    for key, numbers in result.values.items():
        source, method, split, setting, measure = key
        table = source.removesuffix(", scaled within")
        if table in SOURCES and not setting:
            mine = table, name, method, split, measure
            values[mine] = numbers
            if key in result.summaries:
                summaries[mine] = result.summaries[key]
            if table == "table 2":
                curve = result.details[f"{method}, {split}"].curve("size", split)
                values[TOGETHER[0], name, method, split, TOGETHER[1]] = curve.part_correlation[
                    :, -1
                ]
    return values, summaries


def averages_of(
    values: Mapping[Key, FloatArray], summaries: Mapping[Key, Summary], confidence: float
) -> tuple[dict[Key, FloatArray], dict[Key, Summary]]:
    """Return the averages over data sets, and the summaries of those of mean curves."""
    groups: dict[Key, list[Key]] = {}
    for key in values:
        source, _, *rest = key
        if source in SOURCES:
            groups.setdefault((source, AVERAGE, *rest), []).append(key)
    means: dict[Key, FloatArray] = {}
    of_curves: dict[Key, Summary] = {}
    for key, members in groups.items():
        name = key[-1]
        unsigned = name in TERMS and TERMS[name].ideal == 0
        size = np.abs if unsigned else np.asarray
        runs = min(len(values[member]) for member in members)
        means[key] = np.mean([size(values[member][:runs]) for member in members], axis=0)
        if members[0] in summaries:
            parts = [summaries[member] for member in members]
            numbers = [float(size(part.mean)) for part in parts]
            of_curves[key] = _mean_of(numbers, parts, confidence, 0.0 if unsigned else -1.0)
    return means, of_curves


def _mean_of(
    numbers: list[float], parts: list[Summary], confidence: float, lowest: float
) -> Summary:
    """Return the mean of independent numbers with their errors."""
    from scipy.special import ndtri

    mean = float(np.mean(numbers))
    error = float(np.sqrt(np.sum([part.spread**2 for part in parts])) / len(parts))
    reach = float(ndtri(0.5 + confidence / 2)) * error
    low, high = max(lowest, mean - reach), min(1.0, mean + reach)
    return Summary(mean, low, high, error, runs=min(part.runs for part in parts))


def limits(measure: str) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a measure."""
    return (-1.0, 1.0) if measure == TOGETHER[1] else disentanglement.limits(measure)


_SHARED = ("methods", "decompositions", "data", "detection", "protocol", "settings")

AVERAGES = Study(
    name="disentanglement-averages",
    paper=PAPER,
    row=AveragesRow,
    measure=measure,
    printed="means",
    several=True,
    limits=limits,
    options=tuple(o for o in disentanglement.DISENTANGLEMENT.options if o.name in _SHARED),
    explanation="tables 5 and 6: correlations of mean curves, with a bootstrap standard error",
)
