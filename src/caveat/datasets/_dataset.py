"""The type that every loader and generator returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import FloatArray
from ..exceptions import OptionError, ShapeError


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """Samples for learning and auditing.

    Attributes
    ----------
    X : ndarray of shape (samples, features), or (samples, channels, height, width) for images
        Numbers only: categories have one column for each value, or one for both of two. Images
        are in single precision, from 0 to 1.
    y : ndarray of shape (samples,)
        The class, from 0.
    groups : mapping of str to ndarray of shape (samples,)
        What people can be grouped by; empty where the samples are no people.
    feature_names : tuple of str
        What the columns of ``X`` are; ``race=Other`` is 1 where the race is "Other". Empty for
        images.
    description : str
        Where the rows come from and what the classes mean.
    test : ndarray of shape (samples,)
        True for the rows that are held out for testing; all False without a given split.
    classes : tuple of str
        The names of the classes, where they have names.

    Examples
    --------
    >>> from caveat.datasets import make_sd2
    >>> data = make_sd2(random_state=0)
    >>> data
    Dataset(400 samples, 2 features, groups by group, 80 held out for testing)
    >>> train, test = data.split()
    >>> len(train), len(test), data.feature_names
    (320, 80, ('x1', 'x2'))
    """

    X: NDArray[Any]
    y: NDArray[np.int64]
    groups: Mapping[str, NDArray[Any]]
    feature_names: tuple[str, ...]
    description: str
    test: NDArray[np.bool_]
    classes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        one = self.X.shape[1:]
        parts = [f"{len(self):,} samples"]
        parts.append(f"{one[0]} features" if len(one) == 1 else " x ".join(map(str, one)))
        if self.classes:
            parts.append(f"{len(self.classes)} classes")
        if self.groups:
            parts.append(f"groups by {', '.join(self.groups)}")
        held = f"{self.test.sum():,} held out for testing" if self.test.any() else "no given split"
        return f"Dataset({', '.join([*parts, held])})"

    def take(self, rows: Any) -> "Dataset":
        """Return the rows that a mask or an array of positions names."""
        rows = to_numpy(rows, "rows").array
        mask = rows.dtype == bool and rows.shape == (len(self),)
        inside = rows.dtype.kind in "iu" and bool(((-len(self) <= rows) & (rows < len(self))).all())
        if rows.ndim != 1 or not (mask or inside):
            raise ShapeError(
                f"rows must be positions, or true or false for each of {len(self)} rows; got type "
                f"{rows.dtype} of shape {rows.shape}"
            )
        groups = {name: values[rows] for name, values in self.groups.items()}
        return replace(self, X=self.X[rows], y=self.y[rows], groups=groups, test=self.test[rows])

    def split(self) -> tuple["Dataset", "Dataset"]:
        """Return the rows for training and those held out for testing."""
        if not self.test.any():
            raise OptionError(
                "this dataset has no given split; draw one, with "
                "sklearn.model_selection.train_test_split for example, and use take"
            )
        return self.take(~self.test), self.take(self.test)


def encoded(frame: Any, columns: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the columns of a frame as numbers, and a name for each column of numbers.

    Text becomes one column of zeros and ones for each of its values in alphabetic order; of two
    values only the second has one.
    """
    numbers: list[FloatArray] = []
    names: list[str] = []
    for column in columns:
        values = frame[column].to_numpy()
        if values.dtype.kind in "iuf":
            numbers.append(values.astype(np.float64))
            names.append(column)
            continue
        text = values.astype(str)
        known = np.unique(text).tolist()
        for value in known[1:] if len(known) == 2 else known:
            numbers.append((text == value).astype(np.float64))
            names.append(f"{column}={value}")
    return np.column_stack(numbers), tuple(names)
