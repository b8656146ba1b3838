"""One column of a file as numbers, labels, groups or names; errors name the column and the row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._groups import value_name
from ..exceptions import InvalidValueError, ShapeError
from .dialect import number_pattern

Label = str | int | float | bool


LISTED = "_prob"
"""How chemprop ends the name of a column with probabilities of several classes, as one text."""


class MissingError(InvalidValueError):
    """A value that must be known is missing."""


@dataclass(frozen=True)
class Labels:
    """The distinct labels of a column, sorted, and which of them each row has."""

    values: tuple[Label, ...]
    codes: NDArray[np.intp]


def numbers(column: Any, name: str, *, missing: bool = False) -> NDArray[Any]:
    """Return a column as floats; a column of lists of one length gets a second axis.

    float32 is kept: the tolerance of row sums of probabilities depends on the precision.
    """
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        if column.dtype.kind not in "fiu":
            raise InvalidValueError(f"{name!r} must be numbers; got an array of {column.dtype}")
        return _no_nan(column, name, missing)
    column = _plain(column)
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(column, name)
    if column.null_count and not missing:
        _refuse_missing(np.asarray(column.is_null()), name, "number")
    if pa.types.is_decimal(kind) or column.null_count == len(column):
        column, kind = column.cast(pa.float64()), pa.float64()
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        split = _split(column) if name.endswith(LISTED) else None
        if split is None:
            raise _not_numbers(column, name)
        return _lists(split, name)
    return _no_nan(column.to_numpy(), name, missing)


def labels(column: Any, name: str) -> Labels:
    """Return the labels of a column: text unchanged, whole numbers as int however written."""
    if isinstance(column, np.ndarray):
        if column.ndim != 2 or column.shape[1] != 1:
            raise ShapeError(f"{name!r} must have one label a row; got shape {column.shape}")
        import pyarrow as pa

        column = pa.chunked_array([pa.array(column[:, 0])])
    column = text_checked(_plain(column), name)
    encoded = _encoded(column)
    values = encoded.dictionary.to_pylist()
    missing = [v is None or v == "" or (isinstance(v, float) and np.isnan(v)) for v in values]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    if any(missing) or encoded.indices.null_count:
        gone = np.flatnonzero(missing)
        _refuse_missing(~np.isfinite(codes) | np.isin(codes, gone), name, "label")
    uniform = _uniform(values)
    order = sorted(range(len(values)), key=uniform.__getitem__)
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return _merged([uniform[i] for i in order], places[codes.astype(np.intp, copy=False)])


def group(column: Any, name: str) -> Any:
    """Return a column as a pandas Series of groups; a missing value stays missing."""
    import pandas as pd
    import pyarrow as pa

    column = _one_axis(column, name)
    kind = column.type
    if not column.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return pd.Series(column.to_numpy(), name=name)
    if pa.types.is_floating(kind):
        return pd.Series(column.to_numpy(), name=name)
    encoded = _encoded(text_checked(column, name))
    known = encoded.dictionary.to_pylist()
    words = [None if v is None or v == "" else value_name(v) for v in known]
    codes = np.nan_to_num(encoded.indices.to_numpy(zero_copy_only=False), nan=len(words))
    shared = np.array([*words, None], dtype=object)  # one object for each value, not for each row
    return pd.Series(shared[codes.astype(np.intp)], dtype=object, name=name)


def identifiers(column: Any, name: str) -> NDArray[Any]:
    """Return a column as names of samples or of clusters: whole numbers or text."""
    import pyarrow as pa

    column = _one_axis(column, name)
    if pa.types.is_integer(column.type) and not column.null_count:
        return column.to_numpy()
    values = text_checked(column, name).to_pylist()
    missing = np.array([value is None or value == "" or value != value for value in values])
    if missing.any():
        _refuse_missing(missing, name, "name")
    return np.array([value_name(value) for value in values])


def missing_rows(column: Any) -> NDArray[np.bool_]:
    """Return which rows have no value: null, NaN or empty text, also within a list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, np.ndarray):
        bad = np.isnan(column) if column.dtype.kind == "f" else np.zeros(column.shape, dtype=bool)
        return np.asarray(bad.any(axis=_beside_rows(bad)))
    column = _plain(column).combine_chunks()
    gone = np.asarray(column.is_null(nan_is_null=True))
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        entries = np.asarray(pc.list_flatten(column).is_null(nan_is_null=True))
        gone = gone.copy()
        gone[pc.list_parent_indices(column).to_numpy()[entries]] = True
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        gone = gone | np.asarray(pc.fill_null(pc.equal(column, ""), False))
    return gone


def take_rows(column: Any, rows: NDArray[np.intp]) -> Any:
    """Return these rows of a column, or of an array with members before its rows."""
    if isinstance(column, np.ndarray):
        return column.take(rows, axis=_row_axis(column))
    return column.take(rows)


def whole(value: Label) -> Label:
    """Return the whole number that a label stands for (1.0, "1", "1.0"), or the label itself."""
    if isinstance(value, bool):
        return value
    try:
        as_float = float(value)
    except ValueError:
        return value
    # Beyond 2 ** 53 a float does not tell whole numbers apart.
    return int(as_float) if abs(as_float) < 2**53 and as_float == int(as_float) else value


def _merged(values: list[Label], codes: NDArray[np.intp]) -> Labels:
    """Convert labels that are all whole numbers ("1", "1.0", 1.0) to int, sorted as numbers."""
    numbers = [whole(value) for value in values]
    written = all(
        isinstance(n, int) and (not isinstance(v, str) or v in (str(n), f"{n}.0"))
        for n, v in zip(numbers, values, strict=True)
    )
    if not written or any(isinstance(value, bool) for value in values):
        return Labels(tuple(values), codes)
    distinct, places = np.unique(np.array(numbers, dtype=np.int64), return_inverse=True)
    return Labels(tuple(int(n) for n in distinct), places.astype(np.intp)[codes])


def _uniform(values: list[Any]) -> list[Any]:
    """Labels that can be sorted and shown: dates and decimals become text."""
    if all(isinstance(v, bool | int | float | str) for v in values):
        return values
    return [value_name(v) for v in values]


def _encoded(column: Any) -> Any:
    """Arrow's dictionary of a column: distinct values, and the place of each row's."""
    encoded = column.dictionary_encode().unify_dictionaries()
    return encoded.combine_chunks() if encoded.num_chunks != 1 else encoded.chunk(0)


def _plain(column: Any) -> Any:
    """Undo an encoding as a dictionary (pandas categories)."""
    import pyarrow as pa

    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _one_axis(column: Any, name: str) -> Any:
    if isinstance(column, np.ndarray):
        raise ShapeError(f"{name!r} must have one value a row; got shape {column.shape}")
    return _plain(column)


def text_checked(column: Any, name: str) -> Any:
    """Return a column; raise if it holds lists, records or bytes."""
    import pyarrow as pa

    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise InvalidValueError(
            f"column {name!r} is not UTF-8 text; store it as text, or name the encoding of a "
            "CSV with encoding="
        )
    if pa.types.is_nested(column.type):
        raise ShapeError(f"column {name!r} must have one value a row, not lists or records")
    return column


def _split(column: Any) -> Any:
    """Return texts such as ``0.2,0.3,0.5`` as lists of numbers; None if they are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        # Single precision: six digits are written, and sums of rows are as rough as these.
        return pc.split_pattern(column, ",").cast(pa.list_(pa.float32()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _lists(column: Any, name: str) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        _refuse_missing(np.asarray(column.is_null()), name, "list")
    lengths = pc.list_value_length(column).to_numpy()
    if len(set(lengths[:1])) and (lengths != lengths[0]).any():
        row = int(np.argmax(lengths != lengths[0]))
        raise ShapeError(
            f"column {name!r} must have lists of one length; data row {row + 1} has {lengths[row]} "
            f"entries, the first has {lengths[0]}"
        )
    flat = pc.list_flatten(column)
    shape = len(column), int(lengths[0]) if len(lengths) else 0
    missing = np.asarray(flat.is_null(nan_is_null=True)).reshape(shape)
    if missing.any():
        _refuse_missing(np.any(missing, axis=1), name, "number")
    values = numbers(flat if isinstance(flat, pa.ChunkedArray) else pa.chunked_array([flat]), name)
    return values.reshape(shape[0], shape[1], *values.shape[1:])


def _no_nan(array: NDArray[Any], name: str, missing: bool = False) -> NDArray[Any]:
    if array.dtype.kind != "f":
        return array.astype(np.float64)
    bad = np.isnan(array)
    if bad.any() and not missing:
        _refuse_missing(bad.any(axis=_beside_rows(bad)), name, "number")
    return array


def _row_axis(array: NDArray[Any]) -> int:
    return {1: 0, 2: 0}.get(array.ndim, 1)  # members come before the rows


def _beside_rows(array: NDArray[Any]) -> tuple[int, ...]:
    return tuple(i for i in range(array.ndim) if i != _row_axis(array))


def _refuse_missing(bad: NDArray[np.bool_], name: str, what: str) -> None:
    raise MissingError(missing_message(bad, name, what))


def missing_message(bad: NDArray[np.bool_], name: str, what: str) -> str:
    """Return that a column has no label (number, list, name, group) in these rows."""
    row, count = int(np.argmax(bad)) + 1, int(np.count_nonzero(bad))
    text = "; keep_na=True takes NA and the like in a CSV as text"
    return (
        f"column {name!r} has no {what} in data row {row} ({count} of {len(bad)} rows have none); "
        f"remove or fill such rows first{text if what not in ('number', 'list') else ''}"
    )


def _not_numbers(column: Any, name: str) -> InvalidValueError:
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return InvalidValueError(f"column {name!r} holds {column.type} values, not numbers")
    for row, value in enumerate(column.to_pylist(), start=1):
        if not _is_number(value):
            return InvalidValueError(
                f"column {name!r} must be numbers; data row {row} holds the text "
                f"{value[:40]!r}{number_advice([value])}"
            )
    return InvalidValueError(
        f"column {name!r} holds numbers written as text; store them as numbers (in a CSV, "
        "decimal='.' reads decimal points)"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def number_advice(values: Sequence[str]) -> str:
    """Return advice on text that is numbers with commas or percent signs; empty if it is not."""
    texts = [value.strip() for value in values]
    if all(re.fullmatch(r"[+-]?[\d.,]*\d[\d.,]*\s*%", text) for text in texts):
        return "; remove the percent signs, and add percent=True for probabilities"
    marks = [
        mark
        for mark, other in ((",", "."), (".", ","))
        if all(re.fullmatch(number_pattern(mark, other), text) for text in texts)
    ]
    if len(marks) == 1:
        words = {",": "commas", ".": "points"}[marks[0]]
        return f"; for decimal {words} add decimal={marks[0]!r}"
    return "; say with decimal=',' or decimal='.' how to read it" if marks else ""
