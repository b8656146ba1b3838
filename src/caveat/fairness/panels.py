"""The numbers of the charts of an audit: what both plots and report draw."""

import textwrap
from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from ..exceptions import OptionError
from ..results.judgments import Judgment, Part
from ..results.rows import FairnessRow
from ._consistency_result import Consistency, ConsistencyRow
from ._findings import place
from ._result import FairnessAudit

MOST = 40
"""More ratios or groups than this cannot be read in one chart or table."""

MOST_CONSISTENCIES = 30
"""More values of an attribute than this cannot be read either."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

_MARGIN = 1.15
"""What is left free at the ends of an axis, as a factor."""


def ratio_rows(
    audit: FairnessAudit, attribute: str, comparison: str | None = None
) -> list[FairnessRow]:
    """Return the ratios of one attribute; of equalized odds the one that sums them up."""
    rows = [
        row
        for row in audit.matching(attribute=attribute, kind="ratio")
        if row.measure != "equalized_odds" or row.part is Part.FARTHER
    ]
    wanted = comparison or audit.comparison(attribute)
    return [row for row in rows if row.comparison == wanted]


def farthest(audit: FairnessAudit, rows: Sequence[FairnessRow]) -> list[FairnessRow]:
    """Return the ratios to show, in their order: of many, those farthest from 1.

    So far is a ratio that is undefined where the difference shows a gap, or has no interval that
    could; others that are undefined come last.
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


def ratio_range(
    numbers: Sequence[float], band: tuple[float, float] = (1.0, 1.0)
) -> tuple[float, float]:
    """Return the ends of a logarithmic axis: what is finite of ratios and intervals, and a band."""
    finite = [number for number in numbers if np.isfinite(number) and number > 0]
    return min(*band, *finite) / _MARGIN, max(*band, *finite) * _MARGIN


def row_places(lines: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return where the rows of a chart are, in lines of text, and the two edges of it.

    A row is as high as its label, which has so many lines, and one line more.
    """
    ends = np.cumsum([0, *(number + 1 for number in lines)])
    return ((ends[:-1] + ends[1:]) / 2).tolist(), [0.0, float(ends[-1])]


def label_lines(parts: Sequence[str], width: int) -> list[str]:
    """Return the lines of a label: each part begins a new one, and takes six at most."""
    options: dict[str, Any] = {"max_lines": 6, "placeholder": " …", "break_on_hyphens": False}
    return [line for part in parts for line in textwrap.wrap(part, width, **options)]


def sized_lines(name: str, samples: int, width: int) -> list[str]:
    """Return the lines of a label that ends with a number of samples, however long the name."""
    *lines, last = label_lines([name], width) or [""]
    size = f"({samples:,})"
    whole = f"{last} {size}".lstrip()
    return [*lines, *([whole] if len(whole) <= width else [last, size])]


def pair_parts(row: FairnessRow, width: int) -> list[str]:
    """Return the two groups of a ratio, in one part of a label if they are short."""
    whole = f"{row.group} / {row.reference}"
    return [whole] if len(whole) <= width else [row.group, f"/ {row.reference}"]


def uncertain_groups(
    audit: FairnessAudit, attribute: str, part: str, label: str | None
) -> list[tuple[str, dict[float | None, FairnessRow]]]:
    """Return mean (None) and quantiles of an uncertainty in each group, where it is known.

    Without a label there is one target, whatever it is called.
    """
    found: dict[str, dict[float | None, FairnessRow]] = {}
    for row in audit.matching(attribute=attribute, kind="group", measure=f"{part}_uncertainty"):
        if label is None or row.label == label:
            found.setdefault(row.group, {})[row.quantile] = row
    return [(group, rows) for group, rows in found.items() if np.isfinite(rows[None].value)]


def consistency_rows(
    alike: Consistency, quantity: str, attribute: str | None, scaled: bool
) -> tuple[ConsistencyRow, list[ConsistencyRow]]:
    """Return the row of all samples, and those to draw: of groups, or else of outcomes."""
    whole, *rows = alike.matching(quantity=quantity)
    if attribute is not None:
        known = sorted({row.attribute for row in rows if row.attribute})
        if attribute not in known:
            raise OptionError(
                f"unknown attribute {attribute!r}; known are {', '.join(known) or 'none'}"
            )
        rows = [row for row in rows if row.attribute == attribute]
    rows = [row for row in rows if row.attribute] or rows or [whole]
    rows = [row for row in rows if np.isfinite(consistency_numbers(row, scaled)[0])]
    if not rows:
        raise OptionError(
            f"the consistency of {quantity!r} has no scaled value: all samples have one value; "
            "pass scaled=False"
        )
    return whole, _least(rows, scaled)


def _least(rows: list[ConsistencyRow], scaled: bool) -> list[ConsistencyRow]:
    """Leave out the most consistent groups of an attribute with many."""
    kept: set[tuple[str, str]] = set()
    for attribute in {row.attribute for row in rows}:
        of_it = [row for row in rows if row.attribute == attribute and not row.outcome]
        worst = sorted(of_it, key=lambda row: consistency_numbers(row, scaled)[0])
        kept |= {(attribute, row.group) for row in worst[:MOST_CONSISTENCIES]}
    return [row for row in rows if not row.attribute or (row.attribute, row.group) in kept]


def consistency_numbers(row: ConsistencyRow, scaled: bool) -> tuple[float, float, float]:
    """Return a consistency and its interval, raw or in units of the spread."""
    if scaled:
        return row.scaled, row.scaled_low, row.scaled_high
    return row.consistency, row.low, row.high
