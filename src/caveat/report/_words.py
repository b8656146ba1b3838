"""Names of metrics and numbers as a person would say them."""

import numpy as np

from ..metrics import METRICS
from ..results.rows import Row
from ..results.tables import ARROWS, WITHOUT_CHANCE, bracket, number
from .content import Cell, Definition, Table


def share(value: float) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> share(0.0732), share(0.00041), share(0.5)
    ('7.3 %', '0.041 %', '50.0 %')
    """
    percent = 100 * value
    return f"{percent:.2g} %" if 0 < percent < 0.1 else f"{percent:.1f} %"


def label(row: Row) -> str:
    """Return what a row is of: the metric and its option.

    Examples
    --------
    >>> label(Row(metric="interval_coverage", value=0.8, samples=9, coverage=0.9))
    'Interval coverage, coverage 0.9'
    >>> label(Row(metric="positive_calibration_error", value=0.1, samples=9, one_class="ill"))
    'Calibration error of class=ill against the rest'
    """
    if row.one_class is not None:
        return f"Calibration error of {row.option} against the rest"
    kind = "level" if row.coverage is None else "coverage"
    return METRICS[row.metric].title + (
        "" if np.isnan(row.promised) else f", {kind} {row.promised:g}"
    )


def metric_cell(row: Row) -> Cell:
    """Return the cell that names a row's metric and says what it tells."""
    metric = METRICS[row.metric]
    return Cell(label(row), short=metric.short, says=metric.says)


def rows_table(rows: list[Row], caption: str, folded: str = "") -> Table:
    """Return the table of some rows of an evaluation."""
    groups = not all(row.overall for row in rows)
    targets = len({row.target for row in rows}) > 1
    header = ["measure", *(["group"] if groups else []), *(["target"] if targets else [])]
    freed = any(row.estimate == row.estimate for row in rows)
    body = []
    for row in rows:
        cells = [metric_cell(row)]
        cells += [Cell(row.group or "all samples")] if groups else []
        cells += [Cell(row.target)] if targets else []
        said = [Cell(bracket(row) or "none", row.low), Cell(ARROWS[row.direction]), Cell(row.note)]
        cells.append(Cell(number(row.value) or "undefined", row.value))
        cells += [Cell(number(row.estimate), row.estimate)] if freed else []
        body.append([*cells, *said])
    noted = any(row.note for row in rows)
    header += ["value", *([WITHOUT_CHANCE] if freed else []), "interval", "better"]
    header += ["note"] if noted else []
    if not noted:
        body = [cells[:-1] for cells in body]
    return Table(caption, header, body, sortable=True, heads=True, folded=folded)


def definition(metric: str) -> Definition:
    """Return what a metric says and what it cannot see."""
    entry = METRICS[metric]
    return Definition(METRICS[metric].title, ", ".join(entry.aliases), entry.says, entry.cannot_see)
