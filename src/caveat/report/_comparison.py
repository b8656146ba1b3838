"""The page of a comparison: which technique to use, then all of them side by side."""

from contextlib import suppress
from typing import Any

import numpy as np

from .. import charts
from ..charts import CHARTS
from ..evaluation import Comparison
from ..evaluation.recommend import Recommendation
from ..exceptions import CaveatError
from ..metrics import METRICS
from ..results.rows import ComparedRow, Key
from ..results.tables import headline_rows, number
from ._evaluation import described, evaluation_sections, targets_of, tiles_of, title_line
from ._words import metric_cell
from .content import (
    Cell,
    Figure,
    Names,
    Page,
    Said,
    Sentences,
    Step,
    Table,
    Target,
    Technique,
    Tiles,
    page_sections,
    with_chooser,
)

RowsByTechnique = dict[tuple[str, Key], ComparedRow]
"""The rows of techniques, by name and by what they are of."""

_SIDE_BY_SIDE = 4
"""So many measures fit beside each other with their intervals."""
_TITLE = "Which of these predictions to trust?"


def comparison_page(comparison: Comparison, title: str | None, source: str) -> Page:
    """Return the page of a comparison."""
    names = Names()
    first = next(iter(comparison.evaluations.values()))
    targets = targets_of(first)
    answer = _recommendation(comparison)
    blocks = {
        "verdict": _recommended(comparison, answer),
        "numbers": with_chooser(_side_by_side(comparison, targets), targets, names),
        "trade-off": with_chooser(_trade_off(comparison, answer, targets, names), targets, names),
        "curves": with_chooser(_overlays(comparison, targets, names), targets, names),
        "techniques": _each(comparison, names),
    }
    techniques = f"{len(comparison.techniques)} techniques: {', '.join(comparison.techniques)}"
    paired = "different samples" if comparison.different_samples else "paired differences"
    sure = f"{100 * comparison.confidence:g} % intervals, {paired}"
    about = title_line(f"{described(first, members=False)}, {techniques}", source, sure)
    return Page("Comparison", title or _TITLE, about, page_sections(_WORDS, blocks))


_WORDS = """
verdict | Recommendation | open
numbers | Side by side
    Over all samples; ↑ more is better, ↓ less is better. “best” has the best value; “tied” cannot
    be distinguished from it, allowing for the number of techniques.
trade-off | Reliable and good? | Trade-off
    The most reliable uncertainty is not always that of the best predictions: one number for
    everybody is perfectly calibrated, and knows nothing. A proper score sees both, so it decides
    first.
curves | The same curves of all | Curves
    Bands are left out here, so that lines can be seen; each technique has them below.
techniques | Each technique by itself | Each technique
    Open one to see its whole evaluation.
"""


def _recommendation(comparison: Comparison) -> Recommendation | str:
    """Return the recommendation for what these predictions express, or why there is none."""
    try:
        return comparison.recommend()
    except CaveatError as error:
        return f"No recommendation: {error}"


def _recommended(comparison: Comparison, answer: Recommendation | str) -> list[Any]:
    if isinstance(answer, str):
        said = [Said("unsure", answer)]
    else:
        level = "good" if answer.technique is not None else "unsure"
        table = _decided(answer)
        called = "Clear choice" if answer.technique is not None else "No clear one"
        said = [Said(level, answer.verdict, table, called)]
        said += [Said("info", caution) for caution in answer.cautions]
        said.append(Said("info", _looked_at(comparison, answer)))
    blocks: list[Any] = [Sentences("Recommendation", said[:1])]
    if not isinstance(answer, str):
        blocks += _first_screen(comparison, answer)
    elif comparison.different_samples:
        blocks.append(Step("See what changed between the samples: caveat drift."))
    else:
        blocks.append(Step("Choose by the metrics in the table that matter to you."))
    kept = Sentences("What to keep in mind", said[1:], details=True)
    return [*blocks, kept] if said[1:] else blocks


def _first_screen(comparison: Comparison, answer: Recommendation) -> list[Any]:
    """Return the numbers of the technique that is recommended, and what to do next."""
    if answer.technique is None:
        apart = " or ".join(answer.tied)
        samples = len(next(iter(comparison.evaluations.values())).truth)
        return [
            Step(
                f"Take the simpler or cheaper of {apart}, or evaluate more samples: {samples:,} "
                "are too few to distinguish them."
            )
        ]
    chosen = comparison.evaluations[answer.technique]
    tiles = [
        (f"{name} of {answer.technique}", value, between)
        for name, value, between in tiles_of(chosen, free=False)
    ]
    result: list[Any] = [Tiles(tiles)] if tiles else []
    return [*result, Step(f"Use {answer.technique}. {chosen.verdict().next_step}")]


def _decided(answer: Recommendation) -> Table:
    """Return both numbers of each technique: the proper score, and the reliability."""
    metrics = {answer.skill: answer.skills, answer.primary: answer.values}
    rows = [
        [
            Cell(name),
            *(Cell(number(result[name]), result[name]) for result in metrics.values()),
            Cell(_standing(name, answer)),
        ]
        for name in answer.values
    ]
    header = ["technique", *(_compared_by(metric) for metric in metrics), "standing"]
    return Table("The numbers that decided: less is better", header, rows, heads=True)


def _compared_by(metric: str) -> str:
    """Return what the numbers of a recommendation are: a target's are distances from it."""
    entry = METRICS[metric]
    if entry.direction == "target":
        return f"distance of {_lower(entry.title)} from {entry.optimum:g}"
    return entry.title


def _standing(name: str, answer: Recommendation) -> str:
    if name in answer.worse_in_skill:
        front = ", on the front" if name in answer.pareto else ""
        return f"clearly worse by the proper score{front}"
    if name not in answer.tied:
        return "clearly less reliable"
    if answer.technique is not None:
        return "chosen"
    return "tied"


def _looked_at(comparison: Comparison, answer: Recommendation) -> str:
    """Return the metrics that decided, and the others of this comparison to look at."""
    others = {row.metric for row in comparison.rows} - {answer.primary, answer.skill}
    beside = " and ".join(_named(name) for name in answer.supporting if name in others)
    first = "" if answer.primary == answer.skill else f"{_named(answer.skill)} first, then by "
    return f"Decided by {first}{_named(answer.primary)}." + (
        f" Look at {beside} as well." if beside else ""
    )


def _named(metric: str) -> str:
    return _lower(METRICS[metric].title) + (
        f" ({METRICS[metric].short})" if METRICS[metric].short else ""
    )


def _lower(name: str) -> str:
    """Return a title inside a sentence; abbreviations and names of persons keep their capitals."""
    return name if name[:2].isupper() or " " not in name else name[0].lower() + name[1:]


def _side_by_side(comparison: Comparison, targets: list[Target]) -> list[Any]:
    blocks: list[Any] = []
    for target in targets:
        rows = [r for r in comparison.matching(group="") if target.has(r)]
        result = {(r.technique, r.key): r for r in rows}
        measures = list({r.key: r for r in rows}.values())
        headline = headline_rows(measures, "compared")
        if headline:
            blocks.append(_wide_table(comparison, result, headline, target))
        blocks.append(_long_table(comparison, result, measures, target))
    return blocks


def _wide_table(
    comparison: Comparison, result: RowsByTechnique, headline: list[ComparedRow], target: Target
) -> Table:
    """The headline numbers: techniques and measures, whichever are fewer side by side."""
    names = comparison.techniques
    if len(headline) > max(len(names), _SIDE_BY_SIDE):
        body = [
            [Cell(_heading(row)), *(_value(result.get((t, row.key))) for t in names)]
            for row in headline
        ]
        header = ["measure", *names]
    else:
        body = [[Cell(t), *(_value(result.get((t, row.key))) for row in headline)] for t in names]
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
    comparison: Comparison, result: RowsByTechnique, measures: list[ComparedRow], target: Target
) -> Table:
    """A row for each metric, a column for each technique: all numbers."""
    body = [
        [metric_cell(row), *(_value(result.get((t, row.key))) for t in comparison.techniques)]
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
) -> list[Any]:
    blocks: list[Any] = []
    if not isinstance(answer, str):
        for target in targets:
            # A target without a spread has no reliability, and one score no trade-off.
            with suppress(CaveatError):
                chart = charts.trade_off(comparison, target.name)
                blocks.append(Figure(names("chart"), chart, target.key))
    return blocks


def _overlays(comparison: Comparison, targets: list[Target], names: Names) -> list[Any]:
    blocks: list[Any] = []
    for entry in CHARTS.of(next(iter(comparison.evaluations.values()))):
        if not (entry.section and entry.overlays):
            continue
        for target in targets if entry.of_target else [Target()]:
            given = {"target": target.name} if entry.of_target else {}
            result = {
                name: entry.function(evaluation, **given)
                for name, evaluation in comparison.evaluations.items()
                if entry.name in charts.available(evaluation, target.name)
            }
            if result:
                chart = charts.overlay(result, next(iter(result.values())).read)
                blocks.append(Figure(names("chart"), chart, target.key))
    return blocks


def _each(comparison: Comparison, names: Names) -> list[Any]:
    return [
        Technique(name, described(evaluation), evaluation_sections(evaluation, names, f"t{i}-"))
        for i, (name, evaluation) in enumerate(comparison.evaluations.items())
    ]
