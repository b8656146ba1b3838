"""Conversion of array-like objects to numpy, without importing the libraries they come from.

numpy arrays, nested lists, pandas objects, torch tensors on any device, and anything with the
Arrow PyCapsule interface (polars, pyarrow, duckdb, ...).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .exceptions import ShapeError


class Loaded(NamedTuple):
    """An array, the names of its columns if it was a frame, and the precision it was held in."""

    array: NDArray[Any]
    columns: list[Any] | None
    precision: str


def to_numpy(value: Any, name: str) -> Loaded:
    """Return ``value`` as a numpy array; missing values become NaN.

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
    if not isinstance(value, np.ndarray) and (
        hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    ):
        return _from_arrow(value, name)
    try:
        return _loaded(np.asarray(value))
    except ValueError:
        raise ShapeError(
            f"{name} must be a rectangular array; got nested sequences of unequal lengths"
        ) from None


def _loaded(array: NDArray[Any], columns: list[Any] | None = None) -> Loaded:
    return Loaded(array, columns, array.dtype.name)


def _from_torch(tensor: Any) -> Loaded:
    tensor = tensor.detach().cpu()
    precision = str(tensor.dtype).removeprefix("torch.")
    if precision == "bfloat16":  # numpy has no such type; its values are exact in float32
        tensor = tensor.float()
    return Loaded(tensor.resolve_conj().resolve_neg().numpy(), None, precision)


def _from_series(series: Any) -> NDArray[Any]:
    if series.dtype.kind in "iufb":  # nullable columns would come as objects
        return (
            series.to_numpy(dtype=float, na_value=np.nan) if series.hasnans else series.to_numpy()
        )
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
