"""The page of a comparison: which technique to use, then all of them side by side."""

from typing import Any

import numpy as np

from .. import figures
from ..evaluation import Comparison, Evaluation
from ..evaluation.recommend import Recommendation
from ..exceptions import CaveatError
from ..metrics import METRICS
from ..predictions import Gaussian, Interval, Quantiles
from ..results.rows import ComparedRow, Key
from ..results.tables import number
from . import _charts as draw
from ._escape import for_chart
from ._evaluation import evaluation_sections, targets_of, with_chooser
from ._words import metric_cell
from .content import (
    Cell,
    Chart,
    Names,
    Page,
    Said,
    Section,
    Sentences,
    Table,
    Target,
    Technique,
    numbers_table,
)

Found = dict[tuple[str, Key], ComparedRow]
"""The rows of techniques, by name and by what they are of."""

_TITLE = "Which of these predictions to trust?"


def comparison_page(comparison: Comparison, title: str | None) -> Page:
    """Return the page of a comparison."""
    names = Names()
    first = next(iter(comparison.evaluations.values()))
    targets = targets_of(first)
    answer = recommendation(comparison)
    sections = [
        _recommended(comparison, answer),
        _side_by_side(comparison, targets, names),
        _trade_off(comparison, answer, targets, names),
        _overlays(comparison, targets, names),
        _each(comparison, names),
    ]
    about = (
        f"{len(comparison.techniques)} techniques: {', '.join(comparison.techniques)}. All predict "
        f"the same {len(first.ids):,} samples, so differences are paired; intervals have "
        f"{100 * comparison.confidence:g} % confidence."
    )
    kept = [section for section in sections if section.blocks]
    return Page("Comparison", title or _TITLE, about, kept)


def recommendation(comparison: Comparison) -> Recommendation | str:
    """Return the recommendation for how these predictions express uncertainty, or why not."""
    kinds = {type(evaluation.prediction) for evaluation in comparison.evaluations.values()}
    if kinds <= {Gaussian}:
        expressions = ["variance", "interval"]
    elif kinds & {Gaussian, Quantiles, Interval}:
        expressions = ["interval", "variance"]
    else:
        expressions = ["probability", "entropy"]
    reason = ""
    for expression in expressions:
        try:
            return comparison.recommend(expression)
        except CaveatError as error:
            reason = reason or str(error)
    return f"No recommendation: {reason}"


def _recommended(comparison: Comparison, answer: Recommendation | str) -> Section:
    if isinstance(answer, str):
        said = [Said("unsure", answer)]
    else:
        level = "good" if answer.technique is not None else "unsure"
        table = _decided(answer)
        called = "Clear choice" if answer.technique is not None else "No clear one"
        said = [Said(level, answer.verdict, table, called)]
        said += [Said("info", caution) for caution in answer.cautions]
        said.append(Said("info", _looked_at(answer)))
    blocks = [Sentences("Recommendation", said)]
    return Section("verdict", "Recommendation", "Recommendation", "", blocks)


def _decided(answer: Recommendation) -> Table:
    """Return both numbers of each technique: the proper score, and the reliability."""
    metrics = {answer.skill: answer.skills, answer.primary: answer.values}
    rows = [
        [
            Cell(name),
            *(Cell(number(found[name]), found[name]) for found in metrics.values()),
            Cell(_standing(name, answer)),
        ]
        for name in answer.values
    ]
    header = ["technique", *(METRICS[metric].title for metric in metrics), "standing"]
    return Table("The numbers that decided: less is better", header, rows, heads=True)


def _standing(name: str, answer: Recommendation) -> str:
    if name in answer.worse_in_skill:
        front = ", on the front" if name in answer.pareto else ""
        return f"clearly worse by the proper score{front}"
    if name not in answer.tied:
        return "clearly less reliable"
    if answer.technique is not None:
        return "chosen"
    return "tied"


def _looked_at(answer: Recommendation) -> str:
    beside = " and ".join(_named(name) for name in answer.supporting[1:])
    first = "" if answer.primary == answer.skill else f"{_named(answer.skill)} first, then by "
    return f"Decided by {first}{_named(answer.primary)}. Look at {beside} as well."


def _named(metric: str) -> str:
    name = METRICS[metric].title
    lower = name if name[:2].isupper() or " " not in name else name[0].lower() + name[1:]
    return lower + (f" ({METRICS[metric].short})" if METRICS[metric].short else "")


def _side_by_side(comparison: Comparison, targets: list[Target], names: Names) -> Section:
    blocks: list[Any] = []
    shown = METRICS.shown("compared")
    for target in targets:
        rows = [r for r in comparison.matching(group="") if target.has(r)]
        found = {(r.technique, r.key): r for r in rows}
        measures = list({r.key: r for r in rows}.values())
        headline = [r for r in measures if r.metric in shown and r.one_class is None]
        headline.sort(key=lambda r: shown.index(r.metric))
        if headline:
            blocks.append(_wide_table(comparison, found, headline, target))
        blocks.append(_long_table(comparison, found, measures, target))
    return Section(
        "numbers",
        "Side by side",
        "Side by side",
        "Over all samples; ↑ more is better, ↓ less is better. “best” has the best value; “tied” "
        "cannot be told from the best, allowing for the number of techniques.",
        with_chooser(blocks, targets, names),
    )


def _wide_table(
    comparison: Comparison, found: Found, headline: list[ComparedRow], target: Target
) -> Table:
    """A row for each technique: the headline numbers."""
    body = [
        [Cell(t), *(_value(found.get((t, row.key))) for row in headline)]
        for t in comparison.techniques
    ]
    header = ["technique", *(_heading(row) for row in headline)]
    caption = "Headline numbers of each technique" + (
        f", target {target.name}" if target.key else ""
    )
    return Table(caption, header, body, sortable=True, heads=True, target=target.key)


def _heading(row: ComparedRow) -> str:
    metric = METRICS[row.metric]
    arrow = {"lower": "↓", "higher": "↑"}.get(row.direction, "")
    promised = "" if np.isnan(row.promised) else f"{row.promised:g}"
    return " ".join(filter(None, (metric.short or metric.title, promised, arrow)))


def _long_table(
    comparison: Comparison, found: Found, measures: list[ComparedRow], target: Target
) -> Table:
    """A row for each metric, a column for each technique: all numbers."""
    body = [
        [metric_cell(row), *(_value(found.get((t, row.key))) for t in comparison.techniques)]
        for row in measures
    ]
    return Table(
        "All numbers of each technique" + (f", target {target.name}" if target.key else ""),
        ["measure", *comparison.techniques],
        body,
        folded=f"All {len(body)} measures",
        heads=True,
        target=target.key,
    )


def _value(row: ComparedRow | None) -> Cell:
    if row is None:
        return Cell("", np.nan)
    mark = "best" if row.best else "tied" if row.tied else ""
    between = "" if np.isnan(row.low) else f"{number(row.low)} to {number(row.high)}"
    return Cell(number(row.value) or "undefined", row.value, mark=mark, range=between)


def _trade_off(
    comparison: Comparison, answer: Recommendation | str, targets: list[Target], names: Names
) -> Section:
    blocks: list[Any] = []
    if not isinstance(answer, str) and answer.skill:
        for target in targets:
            chart = _pareto(comparison, answer, target, names)
            blocks += [chart] if chart is not None else []
    return Section(
        "trade-off",
        "Reliable and good?",
        "Trade-off",
        "The most reliable uncertainty is not always that of the best predictions: one number for "
        "everybody is perfectly calibrated, and knows nothing. A proper score sees both, so it "
        "decides first.",
        with_chooser(blocks, targets, names),
    )


def _pareto(
    comparison: Comparison, answer: Recommendation, target: Target, names: Names
) -> Chart | None:
    """Return the chart of reliability against the proper score, if all have both."""
    reliability, performance = answer.primary, answer.skill
    pairs = {}
    for technique in comparison.techniques:
        measured = [
            [
                r
                for r in comparison.matching(technique=technique, metric=m, group="")
                if target.has(r)
            ]
            for m in (reliability, performance)
        ]
        if not all(measured):
            return None  # a target without a spread has no reliability
        pairs[technique] = tuple(found[0] for found in measured)
    front = [t for t in comparison.techniques if t in answer.pareto]
    data = [
        trace
        for position, (technique, pair) in enumerate(pairs.items())
        for trace in _mark_of(position, technique, pair, technique in front)
    ]
    return Chart(
        names("chart"),
        f"{METRICS[reliability].title} against {METRICS[performance].title}",
        "Further left is more reliable, further down is better. Pale marks are beaten in both by "
        "another technique; thin lines are intervals.",
        data,
        draw.layout(METRICS[reliability].title, METRICS[performance].title, showlegend=False),
        numbers_table(
            "Reliability and performance of each technique",
            ("technique", list(pairs)),
            (METRICS[reliability].title, [pair[0].value for pair in pairs.values()]),
            (METRICS[performance].title, [pair[1].value for pair in pairs.values()]),
            ("beaten in both", ["no" if name in front else "yes" for name in pairs]),
        ),
        note=f"Not beaten in both by any other: {', '.join(front)}.",
        target=target.key,
        wide=True,
    )


def _mark_of(
    position: int, technique: str, pair: tuple[Any, ...], in_front: bool
) -> list[dict[str, Any]]:
    """Return the mark of a technique, and thin lines for its two intervals."""
    color, _, symbol = draw.style(position)
    x, y = pair
    lines = [
        draw.line([x.low, x.high], [y.value] * 2, "", color),
        draw.line([x.value] * 2, [y.low, y.high], "", color),
    ]
    names = METRICS[x.metric].title, METRICS[y.metric].title
    hover = f"%{{text}}<br>{names[0]} %{{x:.4~g}}<br>{names[1]} %{{y:.4~g}}"
    name = for_chart(technique)
    mark = draw.points([x.value], [y.value], name, color, symbol, [technique], hover)
    mark |= {"mode": "markers+text", "text": [name], "textposition": "top right"}
    mark["marker"] |= {"size": 15, "opacity": 1 if in_front else 0.45}
    return [
        *({**line, "opacity": 0.4, "line": {"color": color, "width": 1.5}} for line in lines),
        mark,
    ]


def _overlays(comparison: Comparison, targets: list[Target], names: Names) -> Section:
    charts = [
        _overlay(comparison, kind, target, names)
        for kind in _OVERLAYS
        for target in ([Target()] if kind == "reliability" else targets)
    ]
    blocks: list[Any] = [chart for chart in charts if chart is not None]
    return Section(
        "curves",
        "The same curves of all",
        "Curves",
        "Bands are left out here, so that lines can be seen; each technique has them below.",
        with_chooser(blocks, targets, names),
    )


_OVERLAYS = {
    "reliability": ("predicted", "observed", "as it should be"),
    "coverage": ("nominal", "observed", "as promised"),
    "error_calibration": ("predicted", "observed", "as it should be"),
    "confidence_curve": ("removed", "error", ""),
}
"""The arrays of a figure that are drawn over one another, and what the diagonal is."""


def _overlay(comparison: Comparison, kind: str, target: Target, names: Names) -> Chart | None:
    across, up, ideal = _OVERLAYS[kind]
    found = {
        name: _figure(kind, evaluation, target)
        for name, evaluation in comparison.evaluations.items()
        if kind in figures.available(evaluation, target.name)
    }
    if not found:
        return None
    data: list[dict[str, Any]] = []
    rows: list[tuple[str, float, float]] = []
    for name, figure in found.items():
        color, dash, symbol = draw.style(comparison.techniques.index(name))
        x, y = getattr(figure, across), getattr(figure, up)
        if len(x) > 20:
            symbol = ""
        hover = "%{x:.3~g}: %{y:.4~g}"
        data.append(draw.line(x, y, for_chart(name), color, dash=dash, symbol=symbol, hover=hover))
        rows += [(name, *pair) for pair in zip(x.tolist(), y.tolist(), strict=True)]
    if ideal:
        top = max(max(pair) for _, *pair in rows) if kind == "error_calibration" else 1.0
        data.insert(0, draw.diagonal(0, top, ideal))
    some = next(iter(found.values()))
    headings = "technique", some.x_label, some.y_label
    return Chart(
        names("chart"),
        some.title,
        "Closer to the dotted line is better." if ideal else "The faster it falls, the better.",
        data,
        draw.layout(some.x_label, some.y_label, yaxis={"rangemode": "tozero"}),
        numbers_table(some.title, *zip(headings, zip(*rows, strict=True), strict=True)),
        target=target.key,
    )


def _figure(kind: str, evaluation: Evaluation, target: Target) -> Any:
    if kind == "reliability":
        return figures.reliability(evaluation)
    return getattr(figures, kind)(evaluation, target.name)


def _each(comparison: Comparison, names: Names) -> Section:
    blocks: list[Any] = [
        Technique(name, evaluation.description, evaluation_sections(evaluation, names, f"t{i}-"))
        for i, (name, evaluation) in enumerate(comparison.evaluations.items())
    ]
    return Section(
        "techniques",
        "Each technique by itself",
        "Each technique",
        "Open one to see its whole evaluation.",
        blocks,
    )
