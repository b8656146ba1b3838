"""Columns of a table as numbers: categories, missing values, and values that fit did not see.

What is learned of the columns is a list of plain dicts, so that it can be written to a file. The
network gets first the numbers, with missing ones in the center of their column; then a 1 for each
missing number, of columns where fit saw some; then a 1 for the category of each column with few of
them; and last the code of each column with many, which the network embeds. A category that fit did
not see is 0 in all of these.
"""

from datetime import date, time, timedelta
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from .._arrays import column_numbers, holds_numbers, is_frame
from ..exceptions import InvalidValueError

MOST_ONE_HOT = 16
"""Categories of a column up to which each gets an input of its own; more are embedded."""

NUMBER, ONE_HOT, EMBEDDED = "number", "one-hot", "embedded"

Column = dict[str, Any]


def learn_columns(X: Any, rows: Any = slice(None)) -> list[Column] | None:
    """Return what each column holds; None where all are numbers, and none is missing.

    The type of a column, and whether it may have gaps, are those of the whole table; categories and
    centers are learned from some rows alone.
    """
    if is_frame(X):
        columns = [_learn(X.iloc[:, i], name, rows) for i, name in enumerate(X.columns)]
        plain = all(column["kind"] == NUMBER and not column["gaps"] for column in columns)
        return None if plain else columns
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f" or not X.size:
        return None
    # The least of a column is missing if anything is.
    if not np.isnan(X.min()):
        return None
    if len(X[rows]) and np.isnan(X[rows]).all():
        raise InvalidValueError("X holds no value: all are NaN, which stands for a missing one")
    return [_number(X[:, i], i, rows) for i in range(X.shape[1])]


def encode(columns: list[Column], X: Any) -> np.ndarray:
    """Return a table as numbers; its columns are those that were learned, in the same order."""
    names = [column["name"] for column in columns]
    if is_frame(X) and list(X.columns) != names and set(X.columns) == set(names):
        wanted, given = (", ".join(map(repr, each)) for each in (names, X.columns))
        raise InvalidValueError(f"columns of X must be {wanted}, in this order; got {given}")
    pick = (lambda i: X.iloc[:, i]) if is_frame(X) else (lambda i: np.asarray(X)[:, i])
    parts: dict[str, list[np.ndarray]] = {NUMBER: [], "missing": [], ONE_HOT: [], EMBEDDED: []}
    for i, column in enumerate(columns):
        if column["kind"] == NUMBER:
            numbers = _numbers(pick(i), column["name"])
            missing = np.isnan(numbers)
            # Files of earlier versions do not say whether there may be gaps.
            if missing.any() and not column.get("gaps", column["missing"]):
                raise new_gap(column["name"], int(missing.argmax()))
            parts[NUMBER].append(np.where(missing, column["center"], numbers))
            if column["missing"]:
                parts["missing"].append(missing)
            continue
        codes = _codes(column, pick(i))
        if column["kind"] == EMBEDDED:
            parts[EMBEDDED].append(codes)
        else:
            parts[ONE_HOT] += [codes == code for code in range(1, size_of(column))]
    arrays = [np.asarray(part, dtype=np.float64) for each in parts.values() for part in each]
    return np.stack(arrays, axis=1)


def new_gap(name: Any, sample: int) -> InvalidValueError:
    """Return the error for a missing number in a column of which no gap is known."""
    return InvalidValueError(
        f"column {name!r} is NaN in sample {sample}, and fit saw no missing value in it; fill it "
        "in, or fit with samples that lack it"
    )


def refuse_text(X: Any) -> None:
    """Raise if a table of numbers holds text, and say where."""
    framed = is_frame(X)
    table = X.to_numpy(dtype=object) if framed else np.asarray(X, dtype=object)
    for place in np.ndindex(table.shape[:2] if table.ndim == 2 else (0,)):
        if isinstance(table[place], str):
            sample, column = place
            name = X.columns[column] if framed else column
            raise InvalidValueError(
                f"column {name!r} must hold numbers; got {table[place]!r} in sample {sample}"
                + ("" if framed else "; pass a DataFrame, whose columns may hold categories")
            )


def count_numbers(columns: list[Column]) -> int:
    """Return how many of the inputs are numbers of the table."""
    return sum(column["kind"] == NUMBER for column in columns)


def embedded_sizes(columns: list[Column] | None) -> list[int]:
    """Return how many codes there are for each column that is embedded."""
    return [size_of(column) for column in columns or [] if column["kind"] == EMBEDDED]


def size_of(column: Column) -> int:
    """Return the number of codes of a column of categories: 0 is a value that fit did not see."""
    return 1 + len(column["values"]) + int(column["missing"])


def _learn(values: Any, name: Any, rows: Any) -> Column:
    from pandas import Period

    if getattr(values.dtype, "kind", "O") in "mM":
        raise _of_dates(name)
    if holds_numbers(values):
        return _number(_numbers(values, name), name, rows)
    values = values.iloc[rows]
    known = values.dropna()
    try:
        distinct = sorted(known.unique().tolist(), key=lambda value: (str(type(value)), str(value)))
    except TypeError:
        first = known.iloc[0]
        raise InvalidValueError(
            f"column {name!r} must hold numbers or categories; got a {type(first).__name__}"
        ) from None
    if any(isinstance(value, date | time | timedelta | Period) for value in distinct):
        raise _of_dates(name)
    missing = len(known) < len(values)
    few = len(distinct) + missing <= MOST_ONE_HOT
    kind = ONE_HOT if few else EMBEDDED
    return {"name": name, "kind": kind, "missing": missing, "values": distinct}


def _of_dates(name: Any) -> InvalidValueError:
    return InvalidValueError(
        f"column {name!r} holds dates or durations; turn them into numbers, such as days since a "
        "day"
    )


def _number(numbers: np.ndarray, name: Any, rows: Any) -> Column:
    gaps = np.isnan(numbers)
    missing = gaps[rows]
    known = numbers[rows][~missing]
    return {
        "name": name,
        "kind": NUMBER,
        "missing": bool(missing.any()),
        "gaps": bool(gaps.any()),
        "center": float(np.median(known)) if len(known) else 0.0,
    }


def _numbers(values: Any, name: Any) -> np.ndarray:
    numbers = column_numbers(values, name)
    assert_all_finite(numbers, allow_nan=True, input_name=f"column {name!r}")
    return numbers


def _codes(column: Column, values: Any) -> np.ndarray:
    """Return the code of each value: from 1 on, the last of all for a missing one."""
    import pandas

    values = pandas.Series(np.asarray(values, dtype=object))
    codes = pandas.Index(column["values"], dtype=object).get_indexer(values) + 1
    last = size_of(column) - 1
    missing = values.isna().to_numpy()
    codes[missing] = last if column["missing"] else 0
    return codes
