"""The page of an audit: what it says in plain words first, then what that rests on."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .. import charts
from ..charts.fairness import PARTS, measure_label
from ..evaluation import Evaluation
from ..exceptions import OptionError
from ..fairness import ConsistencyRow, FairnessAudit, FairnessRow, Paragraph
from ..fairness.meanings import MEANINGS, measure_says
from ..fairness.measures import MEASURES
from ..results.tables import interval_words, number
from ._evaluation import MOST_TARGETS, title_line
from ._words import definition
from .content import (
    Cell,
    Chooser,
    Definition,
    Definitions,
    Figure,
    Names,
    Page,
    Said,
    Section,
    Sentences,
    Step,
    Table,
    Target,
    Text,
    before_notes,
    page_sections,
)

MOST_GROUPS = 10
"""A table of more columns cannot be read; the largest groups are shown, the others counted."""

MOST_LINES, MOST_ROWS = 60, 300
_TITLE = "Who does the model know less about?"


def audit_page(audit: FairnessAudit, title: str | None, source: str) -> Page:
    """Return the page of an audit."""
    what = f"{audit.samples:,} samples, by {', '.join(audit.attributes)}"
    about = title_line(what, source, _sure(audit))
    return Page("Fairness audit", title or _TITLE, about, _sections(audit))


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
            for block in (*([Text(part.lead)] if part.lead else []), *part.blocks)
        ],
    )
    return before_notes(page, section)


def _sections(audit: FairnessAudit) -> list[Section]:
    names = Names()
    blocks = {
        "verdict": _verdict(audit),
        "ratios": _ratios(audit, names),
        "groups": [_groups(audit, attribute) for attribute in audit.attributes],
        "uncertainty": _distributions(audit, names),
        "individuals": _individuals(audit, names),
        "method": [Definitions(_method_notes(audit), _definitions(audit))],
    }
    return page_sections(_WORDS, blocks)


_WORDS = """
verdict | In plain words | In words | open
ratios | Between groups | Ratios
    Each measure of one group over that of another.
groups | Group by group | Groups
    Every number with its interval: where it could be as well, were other samples of the same kind
    drawn.
uncertainty | How sure is it of each group? | Uncertainty
    The mean hides who is behind it: here is the spread within each group.
individuals | Are those who are alike treated alike? | Individuals
    Each sample is compared with its nearest neighbors, whatever their group.
method | How this audit was made | Method
"""


def _sure(audit: FairnessAudit) -> str:
    if all(np.isnan(row.low) for row in audit.rows):
        return "no intervals: nothing here says how sure a number is"
    return f"{100 * audit.confidence:g} % intervals"


def _verdict(audit: FairnessAudit) -> list[Any]:
    answer = audit.verdict()
    said = [Said(answer.level, answer.summary, called=answer.headline)]
    said += [
        Said(part.level, f"{part.name}: {part.text}", _behind(part), part.headline)
        for part in answer
    ]
    return [Sentences("Verdict", said), Step(answer.next_step)]


def _behind(paragraph: Paragraph) -> Table | None:
    """Return the rows that a paragraph rests on."""
    caption = "The rows behind this paragraph"
    groups = [row for row in paragraph.rows if isinstance(row, FairnessRow)]
    alike = [row for row in paragraph.rows if isinstance(row, ConsistencyRow)]
    if groups:
        return _ratio_table(groups, caption)
    return _consistency_table(alike, caption) if alike else None


def _ratios(audit: FairnessAudit, names: Names) -> list[Any]:
    blocks: list[Any] = [
        Figure(names("audit-chart"), charts.ratios(audit, attribute))
        for attribute in audit.attributes
    ]
    for attribute in audit.attributes:
        rows = [row for row in audit.matching(attribute=attribute) if row.kind != "group"]
        caption = f"All ratios and differences by {attribute}"
        blocks.append(_ratio_table(rows, caption, folded=f"{caption} ({len(rows)})"))
    return blocks


def _ratio_table(rows: Sequence[FairnessRow], caption: str, folded: str = "") -> Table:
    """Return ratios and differences as a table, each with what its interval lets one say."""
    body = []
    several = any(_differs(row) for row in rows)
    for row in rows[:MOST_ROWS]:
        measure = measure_label(row) + (f", {row.statistic}" if row.statistic else "")
        flags = "" if row.flag is None else _flags(row)
        body.append(
            [
                Cell(measure),
                Cell(f"{row.group} / {row.reference}"),
                Cell(row.kind),
                Cell(number(row.value) or "undefined", row.value),
                Cell(interval_words(row.low, row.high) or "none", row.low),
                *([_deciding(row)] if several else []),
                Cell(flags),
                Cell(row.verdict + (f" ({row.note})" if row.note else "")),
            ]
        )
    decides = ["interval for all comparisons"] if several else []
    header = ["measure", "groups", "kind", "value", "interval", *decides]
    header += ["beyond the threshold", "verdict"]
    more = f"The first {MOST_ROWS} of {len(rows)} rows." if len(rows) > MOST_ROWS else ""
    return Table(caption, header, body, more=more, sortable=True, heads=True, folded=folded)


def _differs(row: FairnessRow) -> bool:
    """Whether the verdict rests on a wider interval than that of the one number."""
    known = not np.isnan(row.verdict_low)
    return known and (row.low, row.high) != (row.verdict_low, row.verdict_high)


def _deciding(row: FairnessRow) -> Cell:
    words = interval_words(row.verdict_low, row.verdict_high)
    return Cell(words or "none", row.verdict_low)


def _flags(row: FairnessRow) -> str:
    """Say which of the two flags of a ratio are up, which look at its value only."""
    if row.flag == row.symmetric_flag:
        return "yes" if row.flag else "no"
    return "by its distance from 1 only" if row.flag else "on the log scale only"


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
        [_name(next(iter(result.values()))), *(_value(result.get(group)) for group in shown)]
        for result in lines.values()
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
    return Cell(measure_label(row), says=measure_says(row.measure))


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
            for part in PARTS:
                with suppress(OptionError):  # nobody has a finite uncertainty
                    chart = charts.distributions(audit, part, attribute, target.name)
                    blocks.append(Figure(names("audit-chart"), chart, target.key))
    return blocks


def _individuals(audit: FairnessAudit, names: Names) -> list[Any]:
    alike = audit.consistency
    if alike is None:
        return []
    varied = [name for name in alike.differences if alike.spread[name]]
    blocks: list[Any] = [
        Figure(names("audit-chart"), charts.consistency(alike, quantity, attribute))
        for attribute in audit.attributes
        for quantity in varied
    ]
    constant = [name for name in alike.differences if name not in varied]
    if constant:
        words = f"All samples have the same {', '.join(constant)}: its consistency has no scale."
        blocks.append(Text(words))
    caption = "All consistencies, raw and scaled"
    opened = f"{caption} ({len(alike.rows)})"
    return [*blocks, _consistency_table(alike.rows, caption, folded=opened)]


def _consistency_table(rows: Sequence[ConsistencyRow], caption: str, folded: str = "") -> Table:
    """Return consistencies as a table, raw and in units of the spread."""
    body = [
        [
            Cell(row.quantity),
            Cell(row.label),
            Cell(number(row.consistency) or "none", row.consistency),
            Cell(interval_words(row.low, row.high) or "none", row.low),
            Cell(number(row.scaled) or "none", row.scaled),
            Cell(interval_words(row.scaled_low, row.scaled_high) or "none", row.scaled_low),
            Cell(f"{row.samples:,}", row.samples),
            Cell(row.note),
        ]
        for row in rows[:MOST_ROWS]
    ]
    header = ["of", "samples of", "raw", "interval", "scaled", "interval", "samples", "note"]
    more = f"The first {MOST_ROWS} of {len(rows)} rows." if len(rows) > MOST_ROWS else ""
    return Table(caption, header, body, more=more, sortable=True, heads=True, folded=folded)


def _definitions(audit: FairnessAudit) -> list[Definition]:
    """Return the definition of every measure that the audit has."""
    names = dict.fromkeys(row.measure for row in audit.rows)
    result = [_definition(name) for name in names]
    return [*result, _definition("consistency")] if audit.consistency is not None else result


def _definition(name: str) -> Definition:
    if name not in MEANINGS:
        return definition(name)
    title, says, blind = MEANINGS[name]
    return Definition(title, MEASURES[name].symbol if name in MEASURES else "", says, blind)


def _method_notes(audit: FairnessAudit) -> list[str]:
    """Return how the audit was made, and how far it can be relied upon."""
    low, high = audit.fair_band
    notes = [
        f"Audited: {audit.description}. Uncertainty is split by the method "
        f"{audit.decomposition!r} of caveat.decompose.",
        f"A ratio is within the threshold from {low:.3g} to {high:.3g}, which is the same "
        "whichever group is on top. There is a gap if its interval does not hold 1; the gap is "
        "beyond the threshold if the whole interval lies outside, and within if it lies inside. "
        "Otherwise the data cannot show it.",
        "The interval that decides holds for all comparisons of an attribute at once: all pairs "
        "of groups in all measures, or those with the privileged group. Of equal groups, some gap "
        f"is claimed in about {100 * (1 - audit.confidence):.3g} % of audits of an attribute.",
        _references(audit),
        "Intervals come from resampling the samples, or whole clusters of them. Nothing is said of "
        "fewer than 10 independent samples.",
        "The split into aleatoric and epistemic uncertainty is the model's own account: an "
        "over-confident model is over-confident about it too. Look at the calibration error of "
        "each group first.",
        "Where base rates differ, not all measures of fairness can be equal at once. Which of them "
        "matters is for people to decide.",
    ]
    if audit.consistency is not None:
        notes.append(f"{audit.consistency.description}. In these means every sample counts alike.")
    return notes


def _references(audit: FairnessAudit) -> str:
    if not audit.privileged:
        return (
            "Groups are compared with the one that is best off by each measure: the highest share, "
            "accuracy or true positive rate, the lowest error or uncertainty. A group in which a "
            "rate is 0 is left out of that choice where there are others."
        )
    named = ", ".join(f"{name}: {value}" for name, value in audit.privileged.items())
    return f"Groups are compared with the privileged one ({named})."
