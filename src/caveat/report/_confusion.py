"""The pages of measures of uncertainty, and of the kinds of uncertainty."""

from typing import Any

from ..charts import CHARTS, Chart
from ..confusion import MeasureComparison, UncertaintyExplanation
from ..results.tables import ShownTable, number
from ..results.words import counted, most_of
from ._evaluation import title_line
from .content import Cell, Figure, Names, Page, Said, Sentences, Table, page_sections


def measures_page(result: MeasureComparison, title: str | None, source: str) -> Page:
    """Return the page of a comparison of measures."""
    what = f"{counted(len(result.wrong), 'prediction')}, {int(result.wrong.sum()):,} wrong"
    about = title_line(what, source, f"{100 * result.confidence:g} % intervals")
    heading = title or "Which measure of uncertainty finds the wrong predictions?"
    classes = [row for row in result.rows if row.one_class]
    body = [
        [
            row.one_class, row.measure, f"{row.right:,}", f"{row.wrong:,}",
            *(number(value) or "none" for value in (row.right_mean, row.wrong_mean, row.detection)),
        ]
        for row in classes
    ]  # fmt: skip
    header = ("class", "measure", "right", "wrong", "mean, right", "mean, wrong", "error detection")
    tables = result.tables() + ([("By true class", header, body)] if classes else [])
    return _page("Measures", heading, about, result, tables)


def explanation_page(result: UncertaintyExplanation, title: str | None, source: str) -> Page:
    """Return the page of the kinds of uncertainty."""
    what = f"{counted(len(result.geometric), 'prediction')}, {counted(result.models, 'model')}"
    candidates = result.candidates()
    rows = candidates[:50]
    body = [
        [
            str(row), f"{result.geometric[row]:.3g}", f"{result.homophily[row]:.3g}",
            ", ".join(map(str, result.hesitates_between(int(row)))),
            "" if result.unlike is None else f"{result.unlike[row]:.0%}",
        ]
        for row in rows
    ]  # fmt: skip
    header = ("sample", "geometric", "homophily", "hesitates between", "nearer to neighbors")
    tables = result.tables()
    if body:
        name = "Candidates: outliers, wrong labels, unknown classes"
        name += most_of("worst", len(rows), len(candidates))
        tables.append((name, header, body))
    heading = title or "What kind of mistakes are to be expected?"
    return _page("Confusion", heading, title_line(what, source), result, tables)


def _page(kind: str, heading: str, about: str, result: Any, tables: list[ShownTable]) -> Page:
    names = Names()
    verdict = result.verdict()
    said = [Said(one.level, one.text) for one in verdict.statements]
    figures: list[Any] = [
        Figure(names("chart"), one)
        for entry in CHARTS.of(result)
        if entry.applies(result)
        for options in entry.views(result)
        for one in _each(entry.function(result, **options))
    ]
    verdicts: list[Any] = [Sentences("Verdict", said)]
    blocks = {"verdict": verdicts, "numbers": shown_tables(tables), "charts": figures}
    words = "verdict | Verdict | open\nnumbers | Numbers\ncharts | Charts"
    return Page(kind, heading, about, page_sections(words, blocks))


def _each(made: Any) -> tuple[Chart, ...]:
    """Return the charts that a function of the table made, one or several."""
    return (made,) if isinstance(made, Chart) else tuple(made)


def shown_tables(tables: list[ShownTable]) -> list[Any]:
    """Return tables of text for a page; all but the first are folded."""
    return [
        Table(name, header, [[Cell(str(text)) for text in line] for line in body], title=name,
              heads=True, folded=name if number else "")
        for number, (name, header, body) in enumerate(tables)
    ]  # fmt: skip
