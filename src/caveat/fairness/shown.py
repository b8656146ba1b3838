"""Which ratios of an audit its charts and tables show."""

from collections.abc import Sequence, Set

import numpy as np

from ..results.judgments import Judgment, Part
from ..results.rows import FairnessRow
from ._findings import place
from ._result import FairnessAudit

MOST = 40
"""More ratios or groups than this cannot be read in one chart or table."""


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
