"""Conversion of array-like objects to numpy, without importing the libraries they come from.

numpy arrays, nested lists, arrays of xarray, pandas objects, torch tensors on any device, and
anything with the Arrow PyCapsule interface (polars, pyarrow, duckdb, ...).
"""

from collections import Counter
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .exceptions import InvalidValueError, ShapeError


class Loaded(NamedTuple):
    """An array, the names of its columns if it was a frame, and the precision it was held in."""

    array: NDArray[Any]
    columns: list[Any] | None
    precision: str


def to_numpy(value: Any, name: str) -> Loaded:
    """Return ``value`` as a numpy array; missing values become NaN, as masked ones do.

    A float64 array comes back as it is, without a copy.
    """
    root = type(value).__module__.partition(".")[0]
    if root == "torch":
        return _from_torch(value)
    if root == "pandas" and hasattr(value, "columns"):
        columns = [_from_series(value.iloc[:, i]) for i in range(value.shape[1])]
        return _from_columns(columns, list(value.columns), name)
    if root == "pandas" and hasattr(value, "array"):
        return _loaded(_from_series(value))
    if hasattr(value, "tocsr"):
        raise InvalidValueError(f"{name} is sparse; pass {name}.toarray()")
    if isinstance(value, np.ma.MaskedArray):
        return _loaded(_from_masked(value))
    if not _is_array(value) and (
        hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    ):
        return _from_arrow(value, name)
    try:
        return _loaded(np.asarray(value))
    except ValueError:
        raise ShapeError(
            f"{name} must be a rectangular array; got nested sequences of unequal lengths"
        ) from None


def as_array(value: Any) -> Any:
    """Return tensors and masked arrays as arrays, and anything else as it is.

    Frames stay, for the names of their columns.
    """
    masked = isinstance(value, np.ma.MaskedArray)
    of_torch = type(value).__module__.partition(".")[0] == "torch"
    return to_numpy(value, "X").array if masked or of_torch else value


def _is_array(value: Any) -> bool:
    """Whether something is an array as numpy has it; tables and columns of Arrow are not."""
    return all(hasattr(value, part) for part in ("__array__", "ndim", "dtype"))


def _from_masked(value: Any) -> NDArray[Any]:
    array, mask = np.asarray(value), np.ma.getmaskarray(value)
    if not mask.any():
        return array
    kind = array.dtype.kind
    if kind != "f":
        array = array.astype(np.float64 if kind in "iub" else object)
    missing: Any = np.nan if kind in "fiub" else None
    return np.where(mask, missing, array)


def _loaded(array: NDArray[Any], columns: list[Any] | None = None) -> Loaded:
    return Loaded(array, columns, array.dtype.name)


def missing_among(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are None, NaN, NaT or NA of pandas."""
    if values.dtype != object:
        return np.asarray(values != values)
    return np.array(list(map(is_missing, values.ravel())), dtype=bool).reshape(values.shape)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA of pandas."""
    # NaN is not equal to itself; pandas.NA answers with itself, which has no truth value.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _from_torch(tensor: Any) -> Loaded:
    tensor = tensor.detach().cpu()
    precision = str(tensor.dtype).removeprefix("torch.")
    if precision == "bfloat16":  # numpy has no such type; its values are exact in float32
        tensor = tensor.float()
    return Loaded(tensor.resolve_conj().resolve_neg().numpy(), None, precision)


def _from_series(series: Any) -> NDArray[Any]:
    kind = series.dtype
    if kind.kind in "iufb":  # nullable columns would come as objects
        if not series.hasnans:
            return series.to_numpy()
        own = getattr(kind, "numpy_dtype", kind) if kind.kind == "f" else float
        return series.to_numpy(dtype=own, na_value=np.nan)
    return series.to_numpy(dtype=object)


def _from_arrow(value: Any, name: str) -> Loaded:
    import pyarrow as pa

    # A stream without batches, and a series without rows, have no chunk to combine.
    if hasattr(value, "__arrow_c_stream__"):
        chunked = pa.chunked_array(value)
        column = chunked.combine_chunks() if len(chunked) else pa.array([], type=chunked.type)
    else:
        column = pa.array(value)
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        return _from_columns([_from_arrow_column(part) for part in column.flatten()], names, name)
    return _loaded(_from_arrow_column(column))


def _from_arrow_column(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        return _from_arrow_column(column.flatten()).reshape(len(column), size)
    return column.to_numpy(zero_copy_only=False)


def _from_columns(columns: list[NDArray[Any]], names: list[Any], name: str) -> Loaded:
    if not columns:
        raise ShapeError(f"{name} is a frame without columns")
    return _loaded(np.stack(columns, axis=-1), names)


def holds_numbers(column: Any) -> bool:
    """Whether a column of a frame holds numbers, whatever its type; categoricals do not.

    A column without any value counts as one of numbers.
    """
    kind = getattr(column.dtype, "kind", "O")
    if kind != "O":
        return kind in "biufc"
    return not hasattr(column, "cat") and len(column) > 0 and all(map(_is_number, column.dropna()))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal | np.bool_)


def column_numbers(column: Any, name: Any) -> NDArray[np.float64]:
    """Return a column of numbers as floats; missing ones become NaN."""
    try:
        if getattr(column.dtype, "kind", "O") in "cmM":  # pandas and numpy would convert these
            raise TypeError
        if hasattr(column, "to_numpy"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        known = column.dropna() if hasattr(column, "dropna") else column
        values = [value for value in known if not _is_number(value)]
        raise InvalidValueError(
            f"column {name!r} must hold numbers; got values such as {values[0]!r}"
        ) from None


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas."""
    return hasattr(X, "columns") and type(X).__module__.startswith("pandas")


def with_text_names(X: Any, fitted: Any = None) -> Any:
    """Return a frame with names of columns that scikit-learn accepts: all text, or no text.

    Names of both kinds become text; for a model that was fitted without names, there are none.
    """
    if not is_frame(X):
        return X
    names = list(X.columns)
    if len({isinstance(name, str) for name in names}) > 1:
        if fitted is not None and not hasattr(fitted, "feature_names_in_"):
            return X.to_numpy()
        names = [str(name) for name in names]
        X = X.set_axis(names, axis=1)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidValueError(f"X has more than one column {twice[0]!r}; give each its own name")
    return X
