"""The samples a person should look at first."""

from typing import Any

from ..results.tables import number
from .content import Cell, Table, Target

_LISTS = {
    "most_uncertain": ("Most uncertain", "Where the model says itself that it does not know."),
    "most_confidently_wrong": (
        "Most confidently wrong",
        "Errors at the least uncertainty: look for mislabeled samples, and for a kind of sample "
        "that the model has not learned.",
    ),
}
_HEADER = ("id", "truth", "predicted", "uncertainty", "error")


def samples_tables(extremes: Any, target: Target) -> list[Table]:
    """Return the most uncertain samples, and those that are wrong and do not know it."""
    tables = [_table(getattr(extremes, name), *_LISTS[name], target) for name in _LISTS]
    return [table for table in tables if table.rows]


def _table(samples: list[Any], title: str, read: str, target: Target) -> Table:
    rows = [
        [
            Cell(sample.id),
            _said(sample.truth),
            _said(sample.predicted),
            Cell(number(sample.uncertainty), sample.uncertainty),
            _error(sample),
        ]
        for sample in samples
    ]
    of = f" ({target.name})" if target.name is not None else ""
    return Table(
        f"{title} samples{of}",
        _HEADER,
        rows,
        title=title + of,
        read=read,
        target=target.key,
        sortable=True,
        heads=True,
        narrow=True,
    )


def _said(value: str | float) -> Cell:
    return Cell(value) if isinstance(value, str) else Cell(number(value), value)


def _error(sample: Any) -> Cell:
    if isinstance(sample.truth, str):
        return Cell("wrong" if sample.error else "right")
    return Cell(number(sample.error), sample.error)
