"""Tables of rows, and their form in a terminal, a notebook and a file."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from difflib import get_close_matches
from enum import Enum
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from .._renamed import missing_method
from ..exceptions import UnknownNameError
from ..metrics import METRICS
from ..metrics.entry import Place
from .rows import Row

_MOST_NAMES = 30
"""The most values that an error message lists."""


SomeRow = TypeVar("SomeRow")
ShownTable = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""A title, a header, and lines of text."""


class RowTable(Generic[SomeRow]):
    """Rows that can be filtered and written: the base of all results with a table."""

    rows: tuple[SomeRow, ...]
    row_type: ClassVar[Any]
    """The dataclass of the rows."""

    def __iter__(self) -> Iterator[SomeRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, **wanted: Any) -> list[SomeRow]:
        """Return the rows whose fields have these values, as in ``select(target="price")``.

        A metric may be named by an alias, such as ``"ece"``. A field that the rows do not have, or
        a text that no row has in that field, is an error with suggestions; a metric that exists but
        was not measured gives no rows.
        """
        meant = {field: self._meant(field, value) for field, value in wanted.items()}
        return [
            row
            for row in self.rows
            if all(getattr(row, field) in values for field, values in meant.items())
        ]

    def matching(self, **wanted: Any) -> list[SomeRow]:
        """Return the rows whose fields have exactly these values; there may be none."""
        if any(np.ndim(value) for value in wanted.values()):
            return []  # fields are single values
        return [
            row for row in self.rows if all(getattr(row, k) == value for k, value in wanted.items())
        ]

    def _meant(self, field: str, value: Any) -> tuple[Any, ...]:
        """Return the values of a field that a user means; raise if no row has the text."""
        if not self.rows:
            return (value,)
        names = columns_of(type(self.rows[0]))
        if field not in names:
            raise UnknownNameError(f"rows have no field {field!r}; {_suggestion(field, names)}")
        known = dict.fromkeys(getattr(row, field) for row in self.rows)
        if not isinstance(value, str) or not value or value in known:
            return (value,)
        aliases: list[str] = []
        if field == "metric":
            aliases = [
                alias for entry in METRICS.values() for alias in (entry.name, *entry.aliases)
            ]
            if value in aliases:
                return tuple(entry.name for entry in METRICS.find(value))
        there = [str(name) for name in known if name != ""]
        raise UnknownNameError(
            f"no row has {field}={value!r}; {_suggestion(value, there, aliases)}"
        )

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(map(cells, self.rows), columns=columns_of(self.row_type))

    def to_json(self) -> str:
        """Return the rows as JSON, one object a row; NaN and infinities become null and text."""
        return json.dumps([plain_row(row) for row in self.rows])


class Tabulated:
    """Results that are shown as tables, in a terminal and in a notebook."""

    def _heading(self) -> str:
        """Return a line above the tables, or nothing."""
        return ""

    if TYPE_CHECKING:

        def _tables(self) -> Sequence[ShownTable]: ...

    def _lines(self) -> Iterable[str]:
        """Return lines below the tables."""
        return ()

    def __repr__(self) -> str:
        tables = [terminal_table(*table).rstrip("\n") for table in self._tables()]
        heading = [self._heading()] if self._heading() else []
        return "\n".join([*heading, *tables, *self._lines()]) + "\n"

    def _repr_html_(self) -> str:
        heading = f"<p>{escape(self._heading())}</p>" if self._heading() else ""
        return heading + html_tables(self._tables(), self._lines())


class Plottable:
    """Results that can be drawn."""

    if not TYPE_CHECKING:  # pragma: no branch
        __getattr__ = missing_method

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw a chart in matplotlib Axes; see `caveat.plot`.

        Parameters
        ----------
        kind : str, optional
            The name of a chart; by default the first that the result has.
        **options
            Options of that chart, and ``ax=``.

        Returns
        -------
        Axes
        """
        from ..charts import plot

        return plot(self, kind, **options)


class Drawable(Plottable):
    """Results that can be drawn, and written as a page."""

    def report(self, path: Any, **options: Any) -> Any:
        """Write one HTML page; see `caveat.report.write_report`."""
        from ..report import write_report

        result: Any = self
        return write_report(result, path, **options)


def _suggestion(name: str, there: Sequence[str], aliases: Sequence[str] = ()) -> str:
    """Return the closest match, and the known names."""
    near = get_close_matches(name, [*there, *aliases], n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    shown = [repr(word) for word in there[:_MOST_NAMES]]
    more = f" and {len(there) - _MOST_NAMES} more" if len(there) > _MOST_NAMES else ""
    return f"{guess}there are {', '.join(shown) or 'none'}{more}"


def columns_of(row_type: Any) -> list[str]:
    """Return the columns of a table of rows: those that the class lists, or else its fields."""
    return list(getattr(row_type, "columns", ())) or [field.name for field in fields(row_type)]


def cells(row: Any) -> dict[str, Any]:
    """Return the columns of a row by name."""
    result = {name: getattr(row, name) for name in columns_of(type(row))}
    return {k: value.value if isinstance(value, Enum) else value for k, value in result.items()}


def plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value


def plain_row(row: Any) -> dict[str, Any]:
    """Return the columns of a row in a form that JSON can hold."""
    return {key: plain(value) for key, value in cells(row).items()}


def number(value: float) -> str:
    """Return a value with three significant digits; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:.3g}"


def interval_words(low: float, high: float) -> str:
    """Return an interval in words; nothing for NaN.

    Examples
    --------
    >>> interval_words(0.1, 0.25), interval_words(2, float("inf")), interval_words(0, float("inf"))
    ('0.1 to 0.25', '2 or more', 'any')
    """
    if np.isnan(low):
        return ""
    if np.isinf(high):
        return "any" if low == 0 or np.isinf(low) else f"{number(low)} or more"
    return f"{number(high)} or less" if np.isinf(low) else f"{number(low)} to {number(high)}"


def bracket(row: Row) -> str:
    """Return the interval of a row in words; nothing if it has none."""
    return interval_words(row.low, row.high)


WITHOUT_CHANCE = "without chance"
"""The header of the column with `Row.estimate`: binned errors without their bias."""

ARROWS = {"lower": "less is better", "higher": "more is better", "target": "near the target"}


def headline_rows(rows: Iterable[Any], place: Place = "headline") -> list[Any]:
    """Return the rows of the metrics that a short table shows, in the order of the metrics."""
    order = {name: i for i, name in enumerate(METRICS.shown(place))}
    chosen = [row for row in rows if row.metric in order and row.one_class is None]
    return sorted(chosen, key=lambda row: order[row.metric])


def html_table(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return an HTML table with every cell escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = [
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
        for cells in body
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def html_tables(tables: Iterable[ShownTable], lines: Iterable[str] = ()) -> str:
    """Return tables under their titles, and paragraphs below them."""
    result = [f"<p>{escape(title)}</p>{html_table(head, body)}" for title, head, body in tables]
    return "".join([*result, *(f"<p>{escape(line)}</p>" for line in lines)])


def terminal_table(title: str, header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table for the terminal; text from data is never parsed as markup."""
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
