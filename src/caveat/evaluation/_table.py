"""Tidy rows of results, and how they look in a terminal, a notebook and a file."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One number, what it is of, and how sure it is.

    Attributes
    ----------
    metric : str
    option : str
        Options that tell rows of one metric apart, such as ``coverage=0.9545``.
    scale : {"global", "local", "adaptive"}
        Over all samples; over all, by bins of predicted uncertainty; for one group.
    group : str
        Empty for all; ``sex=f`` for a group; ``sex: gap`` and ``sex: ratio`` between groups.
    target : str
        Empty for classification.
    value, low, high : float
        The value and its confidence interval; NaN where there is none.
    estimate : float
        For binned errors, which chance alone makes positive: the value freed of that bias.
    direction : {"lower", "higher", "target"}
    samples : int
    note : str
        What was converted, what is undefined, how the interval was made.
    """

    metric: str
    option: str
    scale: str
    group: str
    target: str
    value: float
    low: float
    high: float
    estimate: float
    direction: str
    samples: int
    note: str


COLUMNS = tuple(field.name for field in fields(Row))


class RowTable:
    """Rows that can be filtered, printed and written."""

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, **wanted: str) -> list[Row]:
        """Return the rows whose fields have these values, e.g. ``select(scale="global")``."""
        return [
            row for row in self.rows if all(getattr(row, k) == value for k, value in wanted.items())
        ]

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(COLUMNS))

    def to_json(self) -> str:
        """Return the rows as JSON, one object a row; NaN and infinities become null and text."""
        return json.dumps([{k: plain(v) for k, v in asdict(row).items()} for row in self.rows])


def plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value


def number(value: float) -> str:
    """Return a value for a reader: three digits that count."""
    return "" if np.isnan(value) else f"{value:.3g}"


def bracket(row: Row) -> str:
    """Return the interval for a reader, or nothing."""
    return "" if np.isnan(row.low) else f"{number(row.low)} to {number(row.high)}"


ARROWS = {"lower": "less is better", "higher": "more is better", "target": "near the target"}


def html_table(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return an HTML table with every cell escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = [
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
        for cells in body
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def terminal_table(title: str, header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table for the terminal; text from data is not taken for markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title))
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", overflow="fold")
    for cells in body:
        table.add_row(*(Text(str(cell)) for cell in cells))
    console = Console(width=120, no_color=True)
    with console.capture() as capture:
        console.print(table)
    return capture.get()
