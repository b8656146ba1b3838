"""Predictions from batches of columns: roles are recognized once, and each batch is built alike."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._groups import MISSING, MOST_VALUES, Attribute, plain_values, value_name
from ..exceptions import LabelError, OptionError
from ._attributes import Attributes
from ._build import BuildOptions, PredictionColumns, match
from ._columns import labels, text_checked
from ._recognize import Choice
from .read import PredictionTable, _table, find_roles, read_predictions

__all__ = ["BatchPlan", "plan_batches"]

WRITTEN = ("delimiter", "decimal", "encoding", "keep_na")
"""Options that say how a text file is written."""

_NEAR = 4096
"""Whole numbers in so narrow a range are places already."""

_DECIMAL = re.compile(r"[+-]?(\d+\.\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class BatchPlan:
    """Which columns of a source are needed, and how a prediction is built from them.

    Attributes
    ----------
    made : PredictionColumns
    wanted : Attributes
    choice : Choice
        The roles of all columns that are needed, but for the groups.
    options : dict
        Options of the prediction, such as ``percent``.
    names : tuple of str
        The columns to read.
    classes : tuple of labels or None
        The classes of all batches, once they are known.
    recognized : tuple of str
        How each column is used, in plain sentences.
    """

    made: PredictionColumns
    wanted: Attributes
    choice: Choice
    options: Mapping[str, Any]
    names: tuple[str, ...]
    classes: tuple[Any, ...] | None = None
    recognized: tuple[str, ...] = ()

    @property
    def target(self) -> str | None:
        """The column of labels; None without, and for numbers."""
        return self.wanted.target[0] if self.wanted.target and self._labels else None

    @property
    def _labels(self) -> bool:
        return self.made.is_classification

    @property
    def text(self) -> list[str]:
        """The columns that a text file is to give as they are written."""
        return [*self.wanted.text(self._labels), *self.wanted.group]

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        targets = () if self._labels else self.wanted.target
        return [*self.made.names, *targets, *filter(None, [self.wanted.weight])]

    @property
    def names_classes(self) -> bool:
        """Whether the columns say which classes there are; one column names one of two."""
        return len(_named_classes(self.made)) > 1

    def counted(self) -> tuple[str, str, tuple[Any, ...]] | None:
        """Return the column of probabilities, the target and the classes, if that is all.

        None if there is more than one probability of two classes for each row.
        """
        plain = not (self.wanted.weight or self.wanted.cluster or self.wanted.id)
        layout = self.made.layouts.get("probability")
        if not (plain and self.target and layout and len(layout.names) == 1):
            return None
        classes = self.classes or ()
        return (layout.names[0], self.target, classes) if len(classes) == 2 else None

    def counted_classes(self) -> tuple[tuple[str, ...], str] | None:
        """Return the columns of the classes, in their order, and the target, if that is all.

        None if there are two classes, members, or numbers that are no probabilities yet.
        """
        plain = not (self.wanted.weight or self.wanted.cluster or self.wanted.id)
        layout = self.made.layouts.get("probability")
        changed = self.options.get("percent") or self.options.get("normalize")
        if not (plain and self.target and layout and self.classes) or changed:
            return None
        names = tuple(layout.names)
        whole = len(names) == len(self.classes) == len(layout.labels["class"])
        return (names, self.target) if whole and len(names) > 2 else None

    def table(self, columns: Mapping[str, Any]) -> PredictionTable:
        """Return the prediction and the rest of one batch, without the groups.

        Parameters
        ----------
        columns : dict of str to Arrow column
        """
        source = _Columns({n: columns[n] for n in self.names if n not in self.wanted.group})
        given = BuildOptions(**{**self.options, "classes": self.classes})
        # Every true value must be known; the groups, which need not, are not among these columns.
        return _table(source, source, self.choice, given, "error", loaded=False)

    def resolved(self, columns: Mapping[str, Any]) -> "BatchPlan":
        """Return the plan with the classes of all batches.

        Parameters
        ----------
        columns : dict of str to Arrow column
            Some rows, whose target has all labels once.
        """
        if self.classes is not None and self.made.is_classification:
            _check_classes(self.made, self.classes)
        names = tuple(name for name in self.names if name != self.wanted.id)  # rows may come twice
        table = replace(self, choice=replace(self.choice, id=None), names=names).table(columns)
        known = getattr(table.prediction, "classes", None)
        notes = list(table.recognized)
        if self.wanted.group:
            notes.append(f"{', '.join(map(repr, self.wanted.group))}: group")
        classes = None if known is None else tuple(known.tolist())
        return replace(self, classes=classes, recognized=tuple(notes))

    def codes(self, column: Any) -> NDArray[np.integer] | None:
        """Return the place of each label among the classes; None where that is not all.

        Parameters
        ----------
        column : Arrow column of the target
        """
        import pyarrow as pa

        if column.null_count:
            return None
        classes = self.classes or ()
        if classes == tuple(range(len(classes))):  # also False and True
            if pa.types.is_boolean(column.type):
                return as_numpy(column.cast(pa.int8()))
            if pa.types.is_integer(column.type):
                return as_numpy(column)
        encoded = _encoded(column)
        values = pa.chunked_array([encoded.dictionary])
        known = np.array(classes)
        try:
            own = labels(values, self.target or "")
            spelled = match(BuildOptions(truth=own, target=self.target or ""), known)
        except ValueError:
            return None
        places = (np.asarray(spelled)[:, None] == known).argmax(axis=1).astype(np.int8)
        return np.asarray(places[encoded.indices.to_numpy()])


class _Columns:
    """Columns that were read already, as a source."""

    saved = None

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns, self.names = columns, list(columns)
        self.notes: list[str] = []

    def read(self, names: Sequence[str], text: Sequence[str] = ()) -> dict[str, Any]:
        """Return these columns."""
        return {name: self.columns[name] for name in names}


def plan_batches(names: Sequence[str], **options: Any) -> BatchPlan:
    """Recognize the columns of a source by their names.

    Parameters
    ----------
    names : sequence of str
        All columns.
    **options
        As in `read_predictions`, but for those of files.
    """
    group = options.pop("group", ()) or ()
    classes = options.pop("classes", None)
    roles = {field.name for field in fields(Choice)}
    named = {name: options.pop(name) for name in list(options) if name in roles}
    choice = Choice(**named, group=(group,) if isinstance(group, str) else tuple(group))
    made, wanted, choice = find_roles(choice, names)
    if not wanted.named_id:  # samples are numbered by their place
        wanted, choice = replace(wanted, id=None), replace(choice, id=None)
    needed = {*made.names, *wanted.names}
    return BatchPlan(
        made,
        wanted,
        replace(choice, group=()),
        options,
        tuple(name for name in names if name in needed),
        None if classes is None else tuple(np.asarray(classes).tolist()),
    )


def batch_options() -> set[str]:
    """Return the options of `read_predictions` that sources of batches take as well."""
    known = inspect.signature(read_predictions).parameters
    return set(known) - {"path", "target_file", "missing", "need_truth"}


def _check_classes(made: PredictionColumns, classes: Sequence[Any]) -> None:
    named = _named_classes(made)
    if len(named) > 1:
        raise OptionError(f"classes= goes with columns that do not name them, as {named[0]!r} does")
    if len(set(classes)) < len(classes):
        raise LabelError(f"classes= names a class twice: {list(classes)}")


def _named_classes(made: PredictionColumns) -> list[str]:
    return [label for label in made.layouts[made.kind].labels["class"] if label]


def group_attribute(column: Any, name: str, written: bool = False) -> Attribute:
    """Return the groups of a batch: which of its values each row has.

    Parameters
    ----------
    column : Arrow column
    name : str
    written : bool, default=False
        Whether numbers come as text, as a text file has them.
    """
    words, codes = _numbered(column) or _listed(text_checked(column, name), written)
    values = tuple(dict.fromkeys(words))
    if len(values) > MOST_VALUES:
        raise OptionError(
            f"group={name!r} has {len(values)} different values; cut it into a few bins first"
        )
    if len(values) < len(words):
        places = {value: place for place, value in enumerate(values)}
        codes = np.array([places[word] for word in words])[codes]
    return Attribute(name, values, codes)


def _numbered(column: Any) -> tuple[list[str], NDArray[Any]] | None:
    """Return the values and the place of each row's, for whole numbers that lie near each other."""
    import pyarrow as pa

    if column.null_count or not len(column) or not pa.types.is_integer(column.type):
        return None
    numbers = as_numpy(column)
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= _NEAR or high >= 2**63:
        return None
    codes = np.subtract(numbers, low, dtype=np.int64, casting="unsafe")
    held = np.bincount(codes) > 0
    words = [str(low + place) for place in np.flatnonzero(held).tolist()]
    return words, codes if held.all() else (np.cumsum(held) - 1)[codes]


def _listed(column: Any, written: bool) -> tuple[list[str], NDArray[Any]]:
    """Return the values and the place of each row's, by Arrow's dictionary."""
    import pyarrow as pa

    encoded = _encoded(column)
    known = encoded.dictionary
    if pa.types.is_floating(known.type):
        values = plain_values(known.to_numpy(zero_copy_only=False))
    else:
        values = known.to_pylist()
    words = [_word(value, written) for value in values]
    if encoded.indices.null_count:
        return [*words, MISSING], encoded.indices.fill_null(len(words)).to_numpy()
    return words, encoded.indices.to_numpy()


def _word(value: Any, written: bool) -> str:
    if value is None or value == "" or value != value:
        return MISSING
    if not (written and isinstance(value, str)):
        return value_name(value)
    if re.fullmatch(r"[+-]?\d+", value):
        return str(int(value))
    return value_name(float(value)) if _DECIMAL.fullmatch(value) else value


def as_numpy(column: Any) -> NDArray[Any]:
    """Return numbers without a copy, if they lie together.

    Parameters
    ----------
    column : Arrow column without missing values
    """
    return np.asarray((column.chunk(0) if column.num_chunks == 1 else column).to_numpy())


def _encoded(column: Any) -> Any:
    """Return Arrow's dictionary of a column, one for all its rows."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    joined = column.unify_dictionaries().combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
