"""Read features and a target from a table file."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import are_few_whole, check_choice
from ..exceptions import FileFormatError, InvalidValueError, OptionError, ShapeError
from ._columns import labels, number_advice, numbers
from ._errors import naming_file
from ._patterns import expand
from ._sources import Source, open_source
from ._text import CsvSource

MOST_VALUES = 50
"""A column of text with more distinct values is a name, a date or a sentence, not a category."""

_ROW_NUMBERS = ("", "Unnamed: 0", "__index_level_0__")
"""Names that pandas gives to the column of its index."""

_TASKS = ("auto", "classification", "regression")


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features and target from a file.

    Attributes
    ----------
    X : ndarray of shape (samples, features)
    y : ndarray of shape (samples,) or None
        Labels of classes, or numbers; None without a target.
    names : tuple of str
        Names of the features.
    task : {"classification", "regression", ""}
        Empty without a target.
    recognized : tuple of str
        How each column was used, in plain sentences.
    """

    X: NDArray[np.float64]
    y: NDArray[Any] | None
    names: tuple[str, ...]
    task: str
    recognized: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.X)


def read_features(
    path: str | PathLike[str],
    target: str | None = None,
    *,
    feature: Sequence[str] = (),
    drop: Sequence[str] = (),
    task: str = "auto",
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    keep_na: bool = False,
) -> FeatureTable:
    r"""Read the features and the target of samples from a table file.

    Numbers are taken as they are. Text gets one column of zeros and ones for each of its values.
    A missing entry is an error that names the column and the row.

    Parameters
    ----------
    path : str or path
        CSV (.csv, .tsv, also .gz), Parquet, NPZ, Arrow, Feather or JSON lines.
    target : str, optional
        The column to be predicted; without one there are features alone.
    feature : list of str, default=()
        Columns, or patterns such as ``"x_*"``, to learn from; by default all but the target.
    drop : list of str, default=()
        Columns, or patterns, to leave out.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" takes text for classes, and so whole numbers with at most 20 distinct values; other
        numbers are a regression.
    delimiter, decimal, encoding : str, optional
        How a CSV file is written; by default `sniff` detects it.
    keep_na : bool, default=False
        Take ``NA``, ``null`` and the like in a text column of a CSV as text, not as missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "animals.csv")
    ...     _ = path.write_text("weight,color,kind\n4,red,cat\n30,black,dog\n5,black,cat\n")
    ...     table = read_features(path, "kind")
    >>> table.names, table.X.shape, table.y.tolist(), table.task
    (('weight', 'color=black', 'color=red'), (3, 3), ['cat', 'dog', 'cat'], 'classification')
    >>> table.recognized[0]
    "'color' is text: one column for each of 2 values"
    """
    check_choice(task, "task", _TASKS)
    source = open_source(path, delimiter, decimal, encoding, keep_na)
    with naming_file(Path(path)):
        if source.saved is not None:
            raise FileFormatError("the file is a prediction that caveat saved, not features")
        return _table(source, target, feature, drop, task)


def _table(
    source: Source, target: str | None, feature: Sequence[str], drop: Sequence[str], task: str
) -> FeatureTable:
    import pyarrow as pa

    targets = [] if target is None else [target]
    for name in targets:
        expand(name, source.names, ("target",), "target", exact=True)
        if name in feature:
            raise OptionError(f"feature={name!r} is the target")
    left = {*targets, *_matching(drop, source.names, "drop")}
    unnamed = [name for name in source.names if name in _ROW_NUMBERS and not feature]
    left |= {*unnamed}
    chosen = _matching(feature, source.names, "feature") if feature else source.names
    wanted = [name for name in dict.fromkeys(chosen) if name not in left]
    if not wanted:
        others = "".join(f" beside {name!r}" for name in targets)
        raise FileFormatError(f"no column is left to learn from{others}")
    columns = source.read([*targets, *wanted])
    samples = len(columns[(targets or wanted)[0]])
    if samples == 0:
        raise FileFormatError("there are columns, but no rows below their names")
    y, kind, words = None, "", []
    for name in targets:
        y, kind, what = _target(columns[name], name, task)
        words = [f"{name!r}: {what}"]
    notes = [
        *source.notes,
        *(f"{name!r}: left out, for it numbers the rows" for name in unnamed),
    ]
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    for name in wanted:
        if isinstance(source, CsvSource) and pa.types.is_string(columns[name].type):
            _refuse_numbers(columns[name], name)
        _append(columns[name], name, samples, parts, names, notes)
    X = np.concatenate(parts, axis=1)
    return FeatureTable(X, y, tuple(names), kind, (*notes, *words))


def _matching(patterns: Sequence[str], names: Sequence[str], argument: str) -> list[str]:
    return [
        name for pattern in patterns for name, _ in expand(pattern, names, ("class",), argument)
    ]


def _target(column: Any, name: str, task: str) -> tuple[NDArray[Any], str, str]:
    """Return the target, its task and a note on it."""
    if task == "regression" or (task == "auto" and not _few(column, name)):
        values = _finite(numbers(column, name), name)
        if values.ndim != 1:
            raise ShapeError(f"target {name!r} must have one value a row; got {values.shape}")
        return values.astype(np.float64), "regression", "target of a regression"
    encoded = labels(column, name)
    words = f"target with {len(encoded.values)} classes"
    return np.array(encoded.values)[encoded.codes], "classification", words


def _few(column: Any, name: str) -> bool:
    """Whether a target looks like classes: not numbers, or few whole ones."""
    if not _is_numeric(column):
        return True
    return are_few_whole(numbers(column, name))


def _is_numeric(column: Any) -> bool:
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        return True
    kind, test = column.type, pa.types
    if test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind):
        return True  # of numbers, one for each feature; others are refused
    return bool(test.is_floating(kind) or test.is_integer(kind) or test.is_decimal(kind))


def _append(
    column: Any,
    name: str,
    samples: int,
    parts: list[NDArray[np.float64]],
    names: list[str],
    notes: list[str],
) -> None:
    """Add the columns that one column of the file becomes."""
    if _is_numeric(column):
        values = _finite(numbers(column, name), name).astype(np.float64)
        if len(values) != samples or values.ndim > 2:
            raise ShapeError(f"{name!r} must have a row for each of {samples} samples")
        several = values.ndim == 2
        names += [f"{name}_{i}" for i in range(values.shape[1])] if several else [name]
        parts.append(values if several else values[:, None])
        return
    if len(column) != samples:
        raise ShapeError(f"{name!r} must have a row for each of {samples} samples")
    encoded = labels(column, name)
    if len(encoded.values) > MOST_VALUES:
        raise InvalidValueError(
            f"column {name!r} holds text with {len(encoded.values)} distinct values, more than the "
            f"{MOST_VALUES} that a category may have; leave it out, or turn it into numbers first"
        )
    notes.append(f"{name!r} is text: one column for each of {len(encoded.values)} values")
    names += [f"{name}={value}" for value in encoded.values]
    parts.append(np.eye(len(encoded.values))[encoded.codes])


def _refuse_numbers(column: Any, name: str) -> None:
    """Raise if text of a CSV is numbers with another decimal mark; they are no categories."""
    texts = column.drop_null().unique().to_pylist()
    advice = number_advice(texts)
    if "decimal=" in advice:
        raise InvalidValueError(f"column {name!r} holds the text {texts[0]!r}{advice}")


def _finite(values: NDArray[Any], name: str) -> NDArray[Any]:
    bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if bad.any():
        raise InvalidValueError(
            f"column {name!r} is infinite in data row {int(np.argmax(bad)) + 1}; remove or mend "
            "such rows first"
        )
    return values


__all__ = ["FeatureTable", "read_features"]
