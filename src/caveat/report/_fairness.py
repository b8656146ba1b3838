"""The page of an audit: what it says in plain words first, then what that rests on."""

from typing import Any

import numpy as np

from ..evaluation import Evaluation
from ..exceptions import OptionError
from ..fairness import ConsistencyRow, FairnessAudit, FairnessRow, Paragraph
from ..results.tables import interval_words, number
from . import _fairness_charts as charts
from ._consistency_charts import consistency_chart, consistency_table
from ._evaluation import MOST_TARGETS
from ._fairness_words import definitions_of, measure_says, method_notes
from .content import (
    Cell,
    Chooser,
    Definitions,
    Names,
    Page,
    Said,
    Section,
    Sentences,
    Table,
    Target,
    Text,
)

MOST_GROUPS = 10
"""A table of more columns cannot be read; the largest groups are shown, the others counted."""

MOST_LINES = 60
_TITLE = "Who does the model know less about?"
_PARTS = ("predictive", "aleatoric", "epistemic")


def audit_page(audit: FairnessAudit, title: str | None) -> Page:
    """Return the page of an audit."""
    about = f"{audit.description}, by {', '.join(audit.attributes)}. {_sure(audit)}"
    kept = [section for section in _sections(audit) if section.blocks]
    return Page("Fairness audit", title or _TITLE, about, kept)


def with_audit(page: Page, evaluation: Evaluation, audit: FairnessAudit) -> Page:
    """Return the page of an evaluation with all of an audit as one section, before the notes."""
    if evaluation.description != audit.description:
        raise OptionError(
            f"audit is of another prediction than the evaluation: {audit.description}, not "
            f"{evaluation.description}"
        )
    section = Section(
        "fairness",
        _TITLE,
        "Fairness",
        "Groups by what is predicted of them, and by how uncertain that is.",
        [
            block
            for part in _sections(audit)
            if part.blocks
            for block in (*([Text(part.lead)] if part.lead else []), *part.blocks)
        ],
    )
    return Page(
        page.eyebrow, page.title, page.about, [*page.sections[:-1], section, page.sections[-1]]
    )


def _sections(audit: FairnessAudit) -> list[Section]:
    names = Names()
    return [
        _reading(audit),
        Section(
            "ratios",
            "Between groups",
            "Ratios",
            "Each measure of one group over that of another.",
            _ratios(audit, names),
        ),
        Section(
            "groups",
            "Group by group",
            "Groups",
            "Every number with its interval: where it could be as well, were other samples of the "
            "same kind drawn.",
            [_groups(audit, attribute) for attribute in audit.attributes],
        ),
        Section(
            "uncertainty",
            "How sure is it of each group?",
            "Uncertainty",
            "The mean hides who is behind it: here is the spread within each group.",
            _distributions(audit, names),
        ),
        Section(
            "individuals",
            "Are those who are alike treated alike?",
            "Individuals",
            "Each sample is compared with its nearest neighbors, whatever their group.",
            _individuals(audit, names),
        ),
        Section(
            "method",
            "How this audit was made",
            "Method",
            "",
            [Definitions(method_notes(audit), definitions_of(audit))],
        ),
    ]


def _sure(audit: FairnessAudit) -> str:
    if all(np.isnan(row.low) for row in audit.rows):
        return "No intervals: nothing here says how sure a number is."
    return f"Intervals have {100 * audit.confidence:g} % confidence."


def _reading(audit: FairnessAudit) -> Section:
    reading = audit.reading()
    said = [Said(reading.level, reading.summary, called=reading.headline)]
    said += [
        Said(part.level, f"{part.name}: {part.text}", _behind(part), part.headline)
        for part in reading
    ]
    return Section("verdict", "In plain words", "In words", "", [Sentences("Reading", said)])


def _behind(paragraph: Paragraph) -> Table | None:
    """Return the rows that a paragraph rests on."""
    caption = "The rows behind this paragraph"
    groups = [row for row in paragraph.rows if isinstance(row, FairnessRow)]
    alike = [row for row in paragraph.rows if isinstance(row, ConsistencyRow)]
    if groups:
        return charts.ratio_table(groups, caption)
    return consistency_table(alike, caption) if alike else None


def _ratios(audit: FairnessAudit, names: Names) -> list[Any]:
    blocks: list[Any] = []
    for attribute in audit.attributes:
        rows = [row for row in audit.matching(attribute=attribute) if row.kind != "group"]
        caption = f"All ratios and differences by {attribute}"
        blocks.append(charts.ratios(audit, attribute, names))
        blocks.append(charts.ratio_table(rows, caption, folded=f"{caption} ({len(rows)})"))
    return blocks


def _groups(audit: FairnessAudit, attribute: str) -> Table:
    """Return a line for each rate and a column for each group."""
    rows = audit.matching(attribute=attribute, kind="group")
    sizes = {row.group: row.samples for row in rows}
    largest = sorted(sizes, key=lambda group: -sizes[group])[:MOST_GROUPS]
    shown = [group for group in sizes if group in largest]
    lines: dict[tuple[str, str], dict[str, FairnessRow]] = {}
    for row in rows:
        if row.quantile is None:
            lines.setdefault((row.measure, row.label), {})[row.group] = row
    body = [
        [_name(next(iter(found.values()))), *(_value(found.get(group)) for group in shown)]
        for found in lines.values()
    ]
    more = []
    if len(shown) < len(sizes):
        more.append(f"The {len(shown)} largest of {len(sizes)} groups.")
    if len(body) > MOST_LINES:
        more.append(f"The first {MOST_LINES} of {len(body)} lines.")
    return Table(
        f"Every measure of each group by {attribute}",
        ["measure", *shown],
        body[:MOST_LINES],
        title=f"By {attribute}",
        more=" ".join(more),
        heads=True,
    )


def _name(row: FairnessRow) -> Cell:
    return Cell(charts.measure_label(row), says=measure_says(row.measure))


def _value(row: FairnessRow | None) -> Cell:
    if row is None or np.isnan(row.value):
        return Cell("undefined", np.nan)
    text = f"{row.samples:,}" if row.measure == "samples" else number(row.value)
    return Cell(text, row.value, range=interval_words(row.low, row.high))


def _distributions(audit: FairnessAudit, names: Names) -> list[Any]:
    labels = list(
        dict.fromkeys(row.label for row in audit.matching(measure="predictive_uncertainty"))
    )
    targets = [Target()]
    blocks: list[Any] = []
    if len(labels) > 1:
        shown = labels[:MOST_TARGETS]
        targets = [Target(str(i), name) for i, name in enumerate(shown, start=1)]
        choices = [(target.key, str(target.name)) for target in targets]
        blocks.append(Chooser(names("audit-chooser"), "Target", "target", choices))
    for target in targets:
        for attribute in audit.attributes:
            found = [charts.distribution(audit, attribute, part, names, target) for part in _PARTS]
            blocks += [chart for chart in found if chart is not None]
    return blocks


def _individuals(audit: FairnessAudit, names: Names) -> list[Any]:
    alike = audit.consistency
    if alike is None:
        return []
    blocks: list[Any] = []
    for attribute in audit.attributes:
        for quantity in alike.differences:
            chart = consistency_chart(alike, quantity, attribute, names)
            blocks += [chart] if chart is not None else []
    constant = [name for name in alike.differences if not alike.spread[name]]
    if constant:
        words = f"All samples have the same {', '.join(constant)}: its consistency has no scale."
        blocks.append(Text(words))
    caption = "All consistencies, raw and scaled"
    opened = f"{caption} ({len(alike.rows)})"
    return [*blocks, consistency_table(alike.rows, caption, folded=opened)]
