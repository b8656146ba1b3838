"""The charts of all studies: a data file says which, these functions make them from the rows.

An entry of ``charts`` in a data file has a ``name``, a ``kind``, a ``title``, how to ``read`` it,
and the rows it is about (``where``). With ``each``, there is a chart for every value of these
columns. The kinds are

``printed``
    Our means with an ``interval`` ("mean", or "run": the range of one more run) beside the printed
    numbers, a row for each; ``label`` is its name, ``axis`` that of the numbers, ``fair`` a shaded
    range of ratios.
``lines``
    Means over the column ``x``, a line for each value of ``lines``; with ``diagonal``, that of
    calibrated uncertainties.
``against``
    The mean of the measure ``y`` over that of the measure ``x``, a line for each value of
    ``lines``.
``runs``
    A stroke for each run, a diamond for their mean.
``sweeps``
    Both sweeps of each disentanglement experiment.
``planes``
    Uncertainty over the plane of two features.
``reliability``
    Confidence against accuracy, from the ``detail`` of this name.
``scatter``
    Samples of two features by class and group, from the ``detail`` of this name.
``techniques``
    A diagram of each of some techniques; see `caveat.studies._technique_charts`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import charts
from ..charts import Axis, Band, Chart, Image, Line, Points, Rule, Span
from ..charts.layout import label_lines, literal, padded, ratio_axis, row_axis
from ..charts.marks import Mark
from ..experiments import Disentanglement
from ._plane import Plane
from ._technique_charts import technique_charts

if TYPE_CHECKING:
    from .result import StudyResult

Spec = Mapping[str, Any]


def charts_of(result: "StudyResult") -> dict[str, list[Chart]]:
    """Return the charts that a result has, by name; several under one name belong together."""
    specs = result.study.paper.charts
    made = {spec["name"]: list(_KINDS[spec["kind"]](result, spec)) for spec in specs}
    return {name: results for name, results in made.items() if results}


def _groups(result: "StudyResult", spec: Spec) -> Iterator[tuple[str, list[Any]]]:
    """Yield the title and the rows of each chart."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for row in result.rows:
        wanted = spec["where"].items()
        if row.runs and all(getattr(row, k) in np.atleast_1d(v).tolist() for k, v in wanted):
            key = tuple(str(getattr(row, name)) for name in spec.get("each", ()))
            groups.setdefault(key, []).append(row)
    for key, rows in groups.items():
        yield ", ".join([spec["title"], *map(result.study.paper.word, key)]), rows


def _names(result: "StudyResult", spec: Spec, rows: list[Any]) -> list[str]:
    word = result.study.paper.word
    return [
        spec["label"].format(**{k: word(v) for k, v in vars(row).items() if isinstance(v, str)})
        for row in rows
    ]


def _columns(rows: list[Any], *names: str) -> list[Any]:
    return [np.array([getattr(row, name) for row in rows], dtype=np.float64) for name in names]


def _printed(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    ends = ("mean_low", "mean_high") if spec["interval"] == "mean" else ("low", "high")
    said = {"mean": "interval of the mean", "run": "range of one more run"}[spec["interval"]]
    for title, rows in _groups(result, spec):
        names = _names(result, spec, rows)
        axis, places = row_axis([label_lines([name], 30) for name in names])
        y = np.array(places)
        mean, low, high, paper, spread = _columns(rows, "mean", *ends, "paper", "paper_spread")
        known = np.isfinite(paper)
        printed = [name for name, there in zip(names, known, strict=True) if there]
        fair = spec.get("fair")
        ours = Points(
            x=mean, y=y, low=low, high=high, text=names, color="blue", marker="circle",
            label=f"ours, {said}", says="{text}: {x:.3g}", main=True,
        )  # fmt: skip
        theirs = Points(
            x=paper[known], y=y[known] + 0.5, low=(paper - spread)[known], text=printed,
            high=(paper + spread)[known], color="orange", marker="cross", label="paper",
            says="{text}: {x:.3g} printed",
        )  # fmt: skip
        marks: list[Mark] = [ours, theirs] if known.any() else [ours]
        if fair:
            span = Span(low=fair[0], high=fair[1], color="green", label="fair in the paper")
            marks = [span, Rule(x=1.0), *marks]
        numbers = [*mean, *low, *high, *paper[known]]
        x = ratio_axis(numbers, spec["axis"], fair) if fair else Axis(
            label=spec["axis"], ends=padded(numbers, (paper + spread)[known], [0.0])
        )  # fmt: skip
        yield Chart(
            title=title, read=spec["read"], x=x, y=axis, marks=tuple(marks),
            numbers={"": names, "paper": paper, "ours": mean, "low": low, "high": high},
            confidence=result.confidence,
        )  # fmt: skip


def _lines(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    word = result.study.paper.word
    for title, rows in _groups(result, spec):
        marks: list[Mark] = []
        numbers: dict[str, list[Any]] = {k: [] for k in ("", spec["axis"], "mean", "low", "high")}
        for value in dict.fromkeys(getattr(row, spec["lines"]) for row in rows):
            some = [row for row in rows if getattr(row, spec["lines"]) == value]
            some.sort(key=lambda row: float(getattr(row, spec["x"])))
            x, mean, low, high = _columns(some, spec["x"], "mean", "mean_low", "mean_high")
            name = word(value)
            marks.append(
                Line(x=x, y=mean, label=name, main=True, says=f"{literal(name)}: {{y:.3g}}")
            )
            if np.isfinite(low).all():
                marks.append(Band(x=x, low=low, high=high, main=True))
            for key, column in zip(numbers, ([name] * len(x), x, mean, low, high), strict=True):
                numbers[key].extend(column)
        if spec.get("diagonal"):
            marks.append(_calibrated(x))
        ticks = sorted({*numbers[spec["axis"]]}) if spec.get("log") else ()
        yield Chart(
            title=title, read=spec["read"], y=Axis(label=spec.get("value", "")), marks=tuple(marks),
            x=Axis(label=spec["axis"], log=bool(ticks), ticks=tuple((t, f"{t:g}") for t in ticks)),
            numbers=numbers, confidence=result.confidence,
        )  # fmt: skip


def _calibrated(x: Any) -> Line:
    ends = np.array([0.0, float(np.max(x))])
    return Line(x=ends, y=ends, label="calibrated", color="gray", dash="dash")


def _against(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    """Yield charts of one measure over another, a point for each setting."""
    word = result.study.paper.word
    for title, rows in _groups(result, spec):
        marks: list[Mark] = []
        numbers: dict[str, list[Any]] = {k: [] for k in ("", spec["axis"], spec["value"])}
        for value in dict.fromkeys(getattr(row, spec["lines"]) for row in rows):
            some = [row for row in rows if getattr(row, spec["lines"]) == value]
            by_setting = {(row.measure, row.setting): row.mean for row in some}
            settings = dict.fromkeys(row.setting for row in some)
            x, y = (
                np.array([by_setting[spec[side], setting] for setting in settings])
                for side in ("x", "y")
            )
            name = word(value)
            says = f"{literal(name)}: {{y:.3g}}"
            marks.append(Line(x=x, y=y, label=name, main=True, says=says))
            columns: tuple[Any, ...] = ([name] * len(x), x, y)
            for key, column in zip(numbers, columns, strict=True):
                numbers[key].extend(column)
        marks.append(_calibrated(numbers[spec["axis"]]))
        yield Chart(
            title=title, read=spec["read"], marks=tuple(marks), numbers=numbers,
            x=Axis(label=spec["axis"]), y=Axis(label=spec["value"]),
        )  # fmt: skip


def _runs(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    for title, rows in _groups(result, spec):
        by_name: dict[str, list[float]] = {}
        for name, row in zip(_names(result, spec, rows), rows, strict=True):
            place = {key: getattr(row, key) for key in ("source", "measure", *row.factors)}
            by_name.setdefault(name, []).extend(result.table.rows(**place)["value"])
        axis, places = row_axis([label_lines([name], 30) for name in by_name])
        means = [float(np.mean(values)) for values in by_name.values()]
        counts = [len(values) for values in by_name.values()]
        x, y = np.concatenate(list(by_name.values())), np.repeat(places, counts)
        names = np.repeat(list(by_name), counts).tolist()
        yield Chart(
            title=title, read=spec["read"], y=axis, x=Axis(label=spec["axis"], ends=padded(x, [0])),
            marks=(
                Points(x=x, y=y, text=names, color="blue", marker="bar", size=9, label="one run"),
                Points(
                    x=means, y=places, text=list(by_name), color="orange", marker="diamond",
                    label="mean", main=True, says="{text}: {x:.3g}",
                ),
            ),
            numbers={"": names, "run": x},
        )  # fmt: skip


def _sweeps(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    word = result.study.paper.word
    for name, detail in result.details.items():
        method, _, split = name.partition(", ")
        if isinstance(detail, Disentanglement) and split:
            for chart in charts.sweeps(detail, split):
                short = chart.title.partition(";")[0].lower()
                yield replace(chart, title=f"{word(method)}, {word(split)}: {short}")


def _planes(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    groups: dict[tuple[str, str], list[Plane]] = {}
    for plane in result.details.values():
        if isinstance(plane, Plane):
            groups.setdefault((plane.figure, plane.decomposition), []).append(plane)
    for (figure, split), planes in groups.items():
        for part in ("aleatoric", "epistemic"):
            title = f"{figure}: {part} by {result.study.paper.word(split)}"
            yield _tiles(planes, part, title, spec["read"])


def _tiles(planes: list[Plane], part: str, title: str, read: str) -> Chart:
    """Return the planes of several levels side by side, with one scale of colors."""
    x1, x2 = planes[0].x1, planes[0].x2
    gap = np.full((len(x2), 1), np.nan)
    tiles = np.hstack([values for p in planes for values in (getattr(p, part)[0], gap)])[::-1, :-1]
    wide = len(x1) / (len(x1) + 1)
    marks: list[Mark] = [Image(values=tiles, x=(0.0, len(planes) - 1 + wide), y=(x2[0], x2[-1]))]
    for label, color, marker in zip(np.unique(planes[0].y), ("orange", "sky"), "xx", strict=False):
        places = [k + wide * (p.X[p.y == label, 0] - x1[0]) / (x1[-1] - x1[0])
                  for k, p in enumerate(planes)]  # fmt: skip
        heights = np.concatenate([p.X[p.y == label, 1] for p in planes])
        marks.append(
            Points(x=np.concatenate(places), y=heights, label=f"samples of class {label}",
                   color=color, marker=marker, size=3)
        )  # fmt: skip
    changed = {"size": "training samples used", "noise": "labels permuted"}[planes[0].kind]
    levels = [f"{plane.level:.0%}" for plane in planes]
    return Chart(
        title=f"{title}, up to {np.nanmax(tiles):.2g}", read=read, marks=tuple(marks),
        x=Axis(
            label=f"{changed}; in each tile the first feature", ends=(0.0, len(planes) - 1 + wide),
            ticks=tuple((k + wide / 2, level) for k, level in enumerate(levels)),
        ),
        y=Axis(label="second feature", ends=(x2[0], x2[-1])),
        numbers={changed: levels, "mean": [float(p.mean(part).mean()) for p in planes]},
    )  # fmt: skip


def _reliability(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    if spec["detail"] in result.details:
        chart = charts.reliability(result.details[spec["detail"]], "confidence")
        yield replace(chart, title=spec["title"])


def _scatter(result: "StudyResult", spec: Spec) -> Iterator[Chart]:
    if spec["detail"] not in result.details:
        return
    shown = result.details[spec["detail"]]
    marks: list[Mark] = []
    numbers: dict[str, list[Any]] = {"group": [], "class": [], "samples": []}
    for group, color in zip(np.unique(shown.group), ("orange", "blue"), strict=True):
        for label, marker in zip(np.unique(shown.y), ("cross", "circle"), strict=True):
            member = (shown.group == group) & (shown.y == label)
            x, y = shown.X[member].T
            name = f"group {group}, class {label}"
            marks.append(Points(x=x, y=y, color=color, marker=marker, size=4, label=name))
            for key, value in zip(numbers, (str(group), str(label), len(x)), strict=True):
                numbers[key].append(value)
    yield Chart(
        title=spec["title"], read=spec["read"], marks=tuple(marks), numbers=numbers,
        x=Axis(label="first feature"), y=Axis(label="second feature"),
    )  # fmt: skip


_KINDS = {
    "printed": _printed, "lines": _lines, "against": _against, "runs": _runs, "sweeps": _sweeps,
    "planes": _planes, "reliability": _reliability, "scatter": _scatter,
    "techniques": technique_charts,
}  # fmt: skip
