"""Groups of samples: an array, a Series, a dict of arrays or a frame, the same everywhere."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import missing_among, to_numpy
from .exceptions import OptionError, ShapeError

MISSING = "(missing)"
MOST_VALUES = 1000


@dataclass(frozen=True)
class Attribute:
    """One attribute of the samples: which of its values each sample has.

    Attributes
    ----------
    name : str
    values : tuple of str
        The distinct values as text, in their own order; a missing value comes last.
    codes : ndarray of shape (samples,)
        The position in ``values`` of each sample's value.
    parts : tuple of str
        The names of the attributes that it combines, which are in its values; empty for one.
    """

    name: str
    values: tuple[str, ...]
    codes: NDArray[np.intp]
    parts: tuple[str, ...] = ()

    def rows(self) -> list[NDArray[np.intp]]:
        """Return the samples of each value; of some there may be none."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.values)))
        return np.split(order, ends[:-1])

    def by_value(self) -> dict[str, NDArray[np.intp]]:
        """Return the samples of each value that has some."""
        pairs = zip(self.values, self.rows(), strict=True)
        return {value: rows for value, rows in pairs if len(rows)}


def attributes(groups: Any, length: int) -> list[Attribute]:
    """Return the attributes in ``groups``: one for an array, one for each column of a frame."""
    if isinstance(groups, list) and groups and isinstance(groups[0], Attribute):
        return groups
    if isinstance(groups, Mapping) or _is_frame(groups):
        # Column by column: in one array, whole numbers would become floats.
        given = list(groups if isinstance(groups, Mapping) else groups.columns)
        _check_distinct(given)
        columns = {str(name): _column(groups[name], str(name)) for name in given}
    elif type(groups).__module__.startswith("pyarrow") and hasattr(groups, "column_names"):
        _check_distinct(groups.column_names)
        pairs = zip(groups.column_names, groups.columns, strict=True)
        columns = {str(name): _column(column, str(name)) for name, column in pairs}
    else:
        array, names, _ = to_numpy(groups, "groups")
        if array.ndim == 1:
            columns = {str(getattr(groups, "name", None) or "group"): _as_meant(array, groups)}
        elif array.ndim == 2 and names is not None:
            columns = {str(name): array[:, i] for i, name in enumerate(names)}
        else:
            raise ShapeError(
                "groups must be one value for each sample, a dict of such arrays or a frame; got "
                f"shape {array.shape}"
            )
    if not columns:
        raise ShapeError("groups is empty: it names no attribute")
    return [_attribute(name, column, length) for name, column in columns.items()]


def _check_distinct(names: Iterable[Any]) -> None:
    twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if twice:
        raise ShapeError(f"groups has more than one column {twice[0]!r}; give each its own name")


def _column(value: Any, name: str) -> NDArray[Any]:
    return _as_meant(np.asarray(to_numpy(value, name).array), value)


def _as_meant(array: NDArray[Any], value: Any) -> NDArray[Any]:
    """Return whole numbers and booleans that missing values have turned into floats."""
    dtype = getattr(value, "dtype", getattr(value, "type", ""))
    kind = re.match(r"u?int\d|bool", str(dtype).lower())
    if kind is None or array.dtype.kind != "f":
        return array
    known = array == array
    values = np.full(len(array), None, dtype=object)
    exact = bool if kind[0] == "bool" else int  # of any size, as no type of numpy is
    values[known] = [exact(number) for number in array[known].tolist()]
    return values


def _is_frame(groups: Any) -> bool:
    root = type(groups).__module__.partition(".")[0]
    return root in ("pandas", "polars") and hasattr(groups, "columns")


def combined(groups: Any, length: int) -> Attribute:
    """Return one attribute whose values are the combinations that occur of all in ``groups``."""
    parts = attributes(groups, length)
    if len(parts) == 1:
        return parts[0]
    rows = np.stack([part.codes for part in parts], axis=1)
    distinct, codes = np.unique(rows, axis=0, return_inverse=True)
    names = tuple(part.name for part in parts)
    values = tuple(
        combination(names, [part.values[i] for part, i in zip(parts, row, strict=True)])
        for row in distinct
    )
    return Attribute(" x ".join(names), values, codes.reshape(-1), names)


def combination(names: Iterable[str], values: Iterable[Any]) -> str:
    """Return how a combination of groups is called."""
    return ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))


def _attribute(name: str, column: NDArray[Any], length: int) -> Attribute:
    if column.ndim != 1 or len(column) != length:
        raise ShapeError(
            f"groups[{name!r}] must be one value for each of {length} samples; got shape "
            f"{column.shape}"
        )
    missing = missing_among(column)
    known = column[~missing]
    if known.dtype == object:
        known = _plain(known)
    if missing.any() and known.dtype.kind == "U":  # a value named like the missing group joins it
        missing[~missing] = known == MISSING
        known = known[known != MISSING]
    distinct, inverse = np.unique(known, return_inverse=True)
    if len(distinct) > MOST_VALUES:
        raise OptionError(
            f"groups[{name!r}] has {len(distinct)} different values; cut it into a few bins first, "
            "with pandas.qcut for example"
        )
    codes = np.full(length, len(distinct), dtype=np.intp)
    codes[~missing] = inverse
    values = [value_name(value) for value in plain_values(distinct)]
    return Attribute(name, (*values, MISSING) if missing.any() else tuple(values), codes)


def _plain(known: NDArray[Any]) -> NDArray[Any]:
    """Return text, or whole numbers and booleans unchanged, which sort as numbers."""
    if {type(value) for value in known} in ({bool}, {int}):
        return known
    return np.array([value_name(value) for value in known], dtype=str)


def value_name(value: Any) -> str:
    """Return a value as text: 1.0 is "1", as the same numbers may be floats in another file."""
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    # Beyond 2 ** 53 a float does not tell whole numbers apart.
    whole = isinstance(value, float) and abs(value) < 2**53 and value == int(value)
    return str(int(value)) if whole else str(value)


def plain_values(values: NDArray[Any]) -> list[Any]:
    """Return values of Python: 0.1 in single precision is the 0.1 of another file in double."""
    short = values.dtype.kind == "f" and values.dtype.itemsize < 8
    return [float(str(value)) for value in values] if short else list(values.tolist())


def value_names(values: NDArray[Any]) -> NDArray[np.str_]:
    """Return values as text, see `value_name`."""
    if values.dtype.kind != "f":
        return values.astype(str)
    distinct, inverse = np.unique(values, return_inverse=True)
    return np.array([value_name(value) for value in plain_values(distinct)], dtype=str)[inverse]
