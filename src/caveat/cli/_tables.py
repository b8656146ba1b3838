"""Evaluations and comparisons as tables in a terminal."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..results.judgments import Contrast
from ._console import clean, console, say, show_table

if TYPE_CHECKING:
    from ..results.rows import Row

_MOST_GROUPS = 12
MARKS = {"good": ("+", "green"), "bad": ("!", "red"), "unsure": ("?", "yellow"), "info": ("·", "")}


def show_verdict(evaluation: Any) -> None:
    """Print the statements of an evaluation's verdict, and what to do next."""
    from ..evaluation.verdict import verdict

    made = verdict(evaluation)
    show_statements(made.statements)
    say(f"Next: {made.next_step}", style="bold")


def show_statements(statements: Iterable[Any]) -> None:
    """Print statements, the summary first, each with a mark for its level."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    for i, statement in enumerate(statements):
        mark, style = MARKS[statement.level]
        text = Text(clean(statement.text), style="bold" if i == 0 else "")
        grid.add_row(Text(f" {mark}", style=f"bold {style}"), text)
    console().print(grid)


def title(row: Any, targets: Sequence[str]) -> str:
    """Return the metric in words, with its option, and its target if there are several."""
    option = f"({row.option})" if row.option else ""
    target = f"of {row.target}" if len(targets) > 1 else ""
    return " ".join(part for part in (row.metric.replace("_", " "), option, target) if part)


def headline(rows: Iterable[Any], everything: bool, place: Any = "headline") -> list[Any]:
    """Return the most important rows, or all if none of these is there."""
    from ..results.tables import headline_rows

    result = list(rows)
    return result if everything else headline_rows(result, place) or result


def show_rows(evaluation: Any, everything: bool) -> None:
    """Print the numbers over all samples."""
    from ..results.tables import ARROWS, WITHOUT_CHANCE, bracket, number

    rows = evaluation.matching(group="")
    chosen = headline(rows, everything)
    freed = [WITHOUT_CHANCE] if any(row.estimate == row.estimate for row in chosen) else []
    targets = list(dict.fromkeys(row.target for row in rows))
    show_table(
        f"Over all samples, with {evaluation.confidence:.0%} intervals",
        ["metric", "value", *freed, "interval", "better"],
        [
            [
                title(row, targets),
                number(row.value),
                *([number(row.estimate)] if freed else []),
                bracket(row),
                ARROWS[row.direction],
            ]
            for row in chosen
        ],
    )
    if freed:
        say(
            f"{WITHOUT_CHANCE}: binned errors are above 0 by chance alone; this estimate, which "
            "the sentences give, is free of that bias",
            style="dim",
        )
    if len(chosen) < len(rows):
        say(f"{len(rows) - len(chosen)} more with --all", style="dim")
    notes = dict.fromkeys(row.note for row in chosen if row.note)
    for note in notes:
        say(f"note: {note}", style="dim")


def show_groups(evaluation: Any) -> None:
    """Print a table for each attribute: its groups by a few metrics."""
    attributes: dict[str, dict[str, list[Row]]] = {}
    for row in evaluation.rows:
        if not row.overall and row.contrast is Contrast.NONE:
            attributes.setdefault(row.attribute, {}).setdefault(row.category, []).append(row)
    for name, groups in attributes.items():
        words = "By true class" if name == evaluation.true_class else f"By {name}"
        _show_attribute(words, name, groups)


def _show_attribute(title: str, name: str, groups: dict[str, list["Row"]]) -> None:
    from ..metrics import METRICS

    rows = [row for result in groups.values() for row in result]
    names = list(dict.fromkeys(row.metric for row in rows))
    usual = [metric for metric in METRICS.shown("groups") if metric in names]
    if "positive_calibration_error" in usual and "expected_calibration_error" in usual:
        usual.remove("expected_calibration_error")
    metrics = usual[:3] or names[:3]
    body = []
    for value, result in list(groups.items())[:_MOST_GROUPS]:
        cells = [next((row for row in result if row.metric == m), None) for m in metrics]
        body.append([value, f"{result[0].samples:,}", *map(_cell, cells)])
    show_table(title, [name, "samples", *(m.replace("_", " ") for m in metrics)], body)
    for value, result in list(groups.items())[:_MOST_GROUPS]:
        for row in result:
            if row.note and row.metric in METRICS.shown("groups") and METRICS[row.metric].note:
                say(f"{value}: {row.note}", style="dim")
    if len(groups) > _MOST_GROUPS:
        say(
            f"{len(groups) - _MOST_GROUPS} more groups in the file that --output writes",
            style="dim",
        )


def _cell(row: "Row | None") -> str:
    from ..results.tables import bracket, number

    if row is None or not number(row.value):
        return "-"
    return f"{number(row.value)} ({bracket(row)})" if bracket(row) else number(row.value)


def show_comparison(comparison: Any, everything: bool) -> None:
    """Print the techniques side by side over all samples."""
    from ..results.tables import number

    rows = comparison.matching(group="")
    chosen = headline(rows, everything, "compared")
    targets = list(dict.fromkeys(row.target for row in rows))
    body: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in chosen:
        mark = " *" if row.best else " ~" if row.tied else ""
        key = (row.metric, row.option, row.target)
        body.setdefault(key, {"": title(row, targets)})[row.technique] = number(row.value) + mark
    names = comparison.techniques
    show_table(
        "Over all samples: * is best, ~ cannot be distinguished from it",
        ["metric", *names],
        [[cells[""], *(cells.get(name, "-") for name in names)] for cells in body.values()],
    )
