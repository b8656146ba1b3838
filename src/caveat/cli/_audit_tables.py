"""Audits as tables in a terminal."""

from typing import TYPE_CHECKING, Any

from ..results.judgments import BY_WEIGHT, Judgment
from ..results.words import SHORT, VERDICTS, Statement
from ._console import say, show_table
from ._tables import show_statements

if TYPE_CHECKING:
    from ..results.tables import ShownTable

_MOST_LINES = 40
_WITH_INTERVALS = 2
"""With more groups there is no room for intervals in 80 columns."""

_SHORTER = SHORT | {
    Judgment.BEYOND: "gap beyond",
    Judgment.SMALL: "gap within",
    Judgment.WITHIN: "within",
}
"""Verdicts that fit into the narrow table."""


def show_audit(result: Any) -> None:
    """Print what was audited, what it says in plain words, and the numbers of each attribute."""
    from ..fairness.shown import group_table, ratio_table

    say(result.description, style="bold")
    show_audit_verdict(result.verdict())
    for attribute in result.attributes:
        _show(ratio_table(result, attribute, _SHORTER), (0, 1, 4))
        _show(group_table(result, attribute, _WITH_INTERVALS), (0,))
    if result.consistency is not None:
        _show_consistency(result.consistency)
    matches = {row.judgment for row in result.matching(kind="ratio")}
    for judgment in BY_WEIGHT:
        if judgment in matches:
            say(f"{_SHORTER[judgment]}: {VERDICTS[judgment]}", style="dim")


def show_audit_verdict(verdict: Any) -> None:
    """Print the paragraphs, the summary first, each with a mark for its level."""
    said = [Statement(part.level, f"{part.name}: {part.text}") for part in verdict]
    show_statements([Statement(verdict.level, verdict.summary), *said])
    say(f"Next: {verdict.next_step}", style="bold")


def _show(shown: "tuple[ShownTable, list[str]]", left: tuple[int, ...]) -> None:
    """Print a table, and where to find what it leaves out."""
    table, left_out = shown
    show_table(*table, left=left)
    for words in left_out:
        say(f"{words} with --json, or in the file of --output", style="dim")


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
    title = (
        f"Individuals and their {alike.neighbors} nearest neighbors: 1 is the same, 0 is one "
        "standard deviation away"
    )
    left = [f"{len(body) - _MOST_LINES} more groups"] if len(body) > _MOST_LINES else []
    _show(((title, ["", "samples", *names], body[:_MOST_LINES]), left), (0,))
