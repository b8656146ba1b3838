"""Which ratios of an audit its charts and tables show, and these tables."""

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np

from ..results.judgments import Judgment, MeasurePart, Pairing
from ..results.rows import FairnessRow
from ..results.tables import ShownTable, interval_words, number
from ..results.words import SHORT
from ._findings import place

if TYPE_CHECKING:
    from ._result import FairnessAudit

MOST = 40
"""More ratios, lines or groups than this cannot be read in one chart or table."""

_MOST_GROUPS = 6
"""More columns than this do not fit into a table."""


def ratio_rows(
    audit: "FairnessAudit", attribute: str, comparison: str | None = None
) -> list[FairnessRow]:
    """Return the ratios of one attribute; of equalized odds the one that sums them up."""
    wanted = comparison or audit.comparison(attribute)
    return [
        row
        for row in audit.matching(attribute=attribute, kind="ratio", comparison=wanted)
        if row.measure != "equalized_odds" or row.part is MeasurePart.FARTHER
    ]


def farthest(audit: "FairnessAudit", rows: Sequence[FairnessRow]) -> list[FairnessRow]:
    """Return the ratios to show, in their order: of many, those farthest from 1.

    A ratio that is undefined counts as far where the difference shows a gap, or has no interval
    that could; other undefined ones come last.
    """
    if len(rows) <= MOST:
        return list(rows)
    apart = {
        (row.attribute, *place(row))
        for row in audit.matching(kind="difference")
        if row.value and row.judgment in (Judgment.DIFFERENT, Judgment.NOT_JUDGED)
    }
    far = sorted(range(len(rows)), key=lambda i: -_distance(rows[i], apart))[:MOST]
    return [rows[i] for i in sorted(far)]


def _distance(row: FairnessRow, apart: Set[tuple[str, ...]]) -> float:
    if not np.isnan(row.value):
        return abs(float(np.log(row.value)))
    return np.inf if (row.attribute, *place(row)) in apart else -1.0


def ratio_table(
    audit: "FairnessAudit", attribute: str, words: Mapping[Judgment, str] = SHORT
) -> tuple[ShownTable, list[str]]:
    """Return the ratios to the privileged group, or of the worst pairs, and what was left out."""
    comparison = audit.comparison(attribute)
    every = audit.matching(attribute=attribute, kind="ratio", comparison=comparison)
    # The first of equalized odds is equal opportunity, which has a line of its own.
    rows = [row for row in every if row.part is not MeasurePart.Y1]
    shown, classes = farthest(audit, rows), _classes(rows)
    body = [
        [
            _line_name(row, classes),
            f"{row.group} / {row.reference}",
            number(row.value) or "-",
            interval_words(row.verdict_low, row.verdict_high),
            words.get(row.judgment, row.verdict),
        ]
        for row in shown
    ]
    pairs = "worst pairs, " if comparison is Pairing.WORST else ""
    low, high = audit.fair_band
    title = (
        f"By {attribute}{_one_class(classes)}: {pairs}{audit.confidence:.0%} intervals for all "
        f"comparisons, threshold from {low:.3g} to {high:.3g}"
    )
    header = ["ratio of", "groups", "", "interval", "verdict"]
    left = len(rows) - len(shown)
    return (title, header, body), _left_out({"ratios, closer to 1 or undefined,": left})


def group_table(
    audit: "FairnessAudit", attribute: str, most_intervals: int = _MOST_GROUPS
) -> tuple[ShownTable, list[str]]:
    """Return the rates of each group, with intervals if the groups are few, and what was left out.

    There is a line for each rate and a column for each group.
    """
    groups = audit.groups(attribute)
    shown = groups[:_MOST_GROUPS]
    rows = [r for r in audit.matching(attribute=attribute, kind="group") if r.quantile is None]
    classes = _classes(rows)
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        text = f"{row.samples:,}" if row.measure == "samples" else number(row.value) or "-"
        ends = interval_words(row.low, row.high) if len(shown) <= most_intervals else ""
        cell = f"{text} ({ends})" if ends else text
        lines.setdefault(_line_name(row, classes), {})[row.group] = cell
    body = [[name, *(cells.get(group, "-") for group in shown)] for name, cells in lines.items()]
    title = f"Groups of {attribute}{_one_class(classes)}"
    left = _left_out({"lines": len(body) - MOST, "groups": len(groups) - len(shown)})
    return (title, ["", *shown], body[:MOST]), left


def _left_out(numbers: Mapping[str, int]) -> list[str]:
    return [f"{number} more {what}" for what, number in numbers.items() if number > 0]


def _classes(rows: Sequence[FairnessRow]) -> list[str]:
    """Return the classes that some rows are of; targets of numbers are always named."""
    return list(dict.fromkeys(row.one_class for row in rows if row.one_class))


def _one_class(classes: Sequence[str]) -> str:
    return f", class {classes[0]}" if len(classes) == 1 else ""


def _line_name(row: FairnessRow, classes: Sequence[str]) -> str:
    """Return what a row is of; the class is named if there are several."""
    label = "" if [row.label] == classes else row.label
    words = " ".join(filter(None, (row.measure.replace("_", " "), label)))
    return f"{words} ({row.statistic})" if row.part is MeasurePart.Y0 else words
