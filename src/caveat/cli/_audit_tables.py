"""Audits as tables in a terminal; every number comes from their rows."""

from collections.abc import Sequence
from typing import Any

from ..results.judgments import BY_WEIGHT, Judgment, Pairing, Part
from ..results.words import SHORT, VERDICTS, Statement
from ._console import say, show_table
from ._tables import show_statements

_MOST_GROUPS, _MOST_LINES = 6, 40
_WITH_INTERVALS = 2
"""More groups than these leave no room for intervals in 80 columns."""

_SHORTER = SHORT | {
    Judgment.BEYOND: "gap beyond",
    Judgment.SMALL: "gap within",
    Judgment.WITHIN: "within",
}
"""The few words of a verdict that the narrow table has room for."""


def show_audit(result: Any) -> None:
    """Print what was audited, what it says in plain words, and the numbers of each attribute."""
    say(result.description, style="bold")
    show_audit_verdict(result.verdict())
    for attribute in result.attributes:
        _show_ratios(result, attribute)
        _show_groups(result, attribute)
    if result.consistency is not None:
        _show_consistency(result.consistency)
    matches = {row.judgment for row in result.matching(kind="ratio")}
    for judgment in BY_WEIGHT:
        if judgment in matches:
            say(f"{_SHORTER[judgment]}: {VERDICTS[judgment]}", style="dim")


def show_audit_verdict(reading: Any) -> None:
    """Print the paragraphs, the summary first, each with a mark for its level."""
    said = [Statement(part.level, f"{part.name}: {part.text}") for part in reading]
    show_statements([Statement(reading.level, reading.summary), *said])


def _show_ratios(result: Any, attribute: str) -> None:
    """Print the ratios: to the privileged group, or else of more than two the worst pairs."""
    from ..fairness.shown import farthest
    from ..results.tables import interval_words, number

    comparison = result.comparison(attribute)
    rows = result.matching(attribute=attribute, kind="ratio", comparison=comparison)
    # The first of equalized odds is equal opportunity, which has a line of its own.
    rows = [row for row in rows if row.part is not Part.Y1]
    classes = _classes(rows)
    low, high = result.fair_band
    body = [
        [
            _words(row, classes),
            f"{row.group} / {row.reference}",
            number(row.value) or "-",
            interval_words(row.verdict_low, row.verdict_high),
            _SHORTER.get(row.judgment, row.verdict),
        ]
        for row in farthest(result, rows)
    ]
    pairs = "worst pairs, " if comparison is Pairing.WORST else ""
    of = f", class {classes[0]}" if len(classes) == 1 else ""
    several = f"{result.confidence:.0%} intervals for all comparisons"
    sure = f"{several}, threshold from {low:.3g} to {high:.3g}"
    show_table(
        f"By {attribute}{of}: {pairs}{sure}",
        ["ratio of", "groups", "", "interval", "verdict"],
        body,
        left=(0, 1, 4),
    )
    _more(len(rows) - len(body), "ratios, closer to 1 or undefined,")


def _classes(rows: Sequence[Any]) -> list[str]:
    """The classes that some rows are of; targets of numbers are always named."""
    return list(dict.fromkeys(row.one_class for row in rows if row.one_class))


def _words(row: Any, classes: Sequence[str]) -> str:
    """What a row is of; the class is named if there are several."""
    label = "" if [row.label] == classes else row.label
    words = " ".join(filter(None, (row.measure.replace("_", " "), label)))
    return f"{words} ({row.statistic})" if row.part is Part.Y0 else words


def _show_groups(result: Any, attribute: str) -> None:
    """Print the rates of each group, with intervals if there is room."""
    from ..results.tables import interval_words, number

    groups = result.groups(attribute)
    shown = groups[:_MOST_GROUPS]
    wide = len(shown) <= _WITH_INTERVALS
    rows = [r for r in result.matching(attribute=attribute, kind="group") if r.quantile is None]
    classes = _classes(rows)
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        text = f"{row.samples:,}" if row.measure == "samples" else number(row.value) or "-"
        ends = interval_words(row.low, row.high) if wide else ""
        lines.setdefault(_words(row, classes), {})[row.group] = f"{text} ({ends})" if ends else text
    body = [[name, *(cells.get(group, "-") for group in shown)] for name, cells in lines.items()]
    of = f", class {classes[0]}" if len(classes) == 1 else ""
    show_table(f"Groups of {attribute}{of}", ["", *shown], body[:_MOST_LINES])
    _more(len(body) - _MOST_LINES, "lines")
    _more(len(groups) - len(shown), "groups")


def _show_consistency(alike: Any) -> None:
    """Print how consistent each group is: scaled, as the raw values are all close to 1."""
    from ..results.tables import number

    names = list(alike.differences)
    lines: dict[str, dict[str, Any]] = {}
    for row in alike.rows:
        if not row.outcome:
            lines.setdefault(row.label, {})[row.quantity] = row
    body = [
        [label, f"{cells[names[0]].samples:,}", *(number(cells[n].scaled) or "-" for n in names)]
        for label, cells in lines.items()
    ]
    show_table(
        f"Individuals and their {alike.neighbors} nearest neighbors: 1 is the same, 0 is one "
        "standard deviation away",
        ["", "samples", *names],
        body[:_MOST_LINES],
    )
    _more(len(body) - _MOST_LINES, "groups")


def _more(number: int, what: str) -> None:
    if number > 0:
        say(f"{number} more {what} with --json, or in the file of --output", style="dim")
