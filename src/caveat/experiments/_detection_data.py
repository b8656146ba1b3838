"""Samples and labels of the detection of left-out classes, checked before anything trains."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import LabelError, OptionError, ShapeError
from ._inputs import as_inputs, check_length, checked_labels
from ._models import check_model, words_for

_HELD_OUT = 5
"""One sample of each class in so many is for testing."""


@dataclass(frozen=True, eq=False)
class Split:
    """Which rows are learned from, and the samples to tell apart."""

    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    """The class of every row, to learn from or not."""
    held: Any
    held_rows: NDArray[np.intp] | None
    """The rows of ``held`` to tell apart; None for all."""
    held_codes: NDArray[np.intp]

    def samples(self) -> Any:
        """Return the samples to tell apart."""
        from sklearn.utils import _safe_indexing

        return self.held if self.held_rows is None else _safe_indexing(self.held, self.held_rows)


@dataclass(frozen=True, eq=False)
class Labeled:
    """All samples, their classes, and those to tell apart if they were given."""

    X: Any
    y: np.ndarray
    classes: np.ndarray
    codes: NDArray[np.intp]
    test: tuple[Any, NDArray[np.intp]] | None

    def splits(self, repeats: int, rng: np.random.Generator) -> list[Split]:
        """Return a split for each repeat: the given one, or one that is drawn."""
        if self.test is not None:
            every = np.arange(len(self.codes))
            return [Split(every, self.codes, self.test[0], None, self.test[1])] * repeats
        return [self._drawn(rng) for _ in range(repeats)]

    def _drawn(self, rng: np.random.Generator) -> Split:
        held = np.zeros(len(self.codes), dtype=bool)
        for code in range(len(self.classes)):
            members = rng.permutation(np.flatnonzero(self.codes == code))
            held[members[: max(1, len(members) // _HELD_OUT)]] = True
        rows = np.flatnonzero(held)
        return Split(np.flatnonzero(~held), self.codes, self.X, rows, self.codes[rows])


def take_labeled(model: Any, X: Any, y: Any, test: Any) -> Labeled:
    """Return checked samples; refuse what cannot be trained or told apart."""
    from sklearn.base import is_regressor

    check_model(model)
    if hasattr(model, "__sklearn_tags__") and is_regressor(model):
        raise OptionError(f"model must be a classifier; got {words_for(model)}")
    X, labels = as_inputs(X), checked_labels(y, "classification", "y")
    check_length(X, labels, "X", "y")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 3:
        raise LabelError(
            f"y has {len(classes)} classes; without one of them two must be left to learn from, so "
            "that three are needed"
        )
    counts = np.bincount(codes)
    if test is None and counts.min() < 2:
        raise LabelError(
            f"class {classes.tolist()[counts.argmin()]!r} has one sample, and both training and "
            "testing need one; leave the class out, or pass test=(X, y)"
        )
    given = None if test is None else _held(test, X, classes)
    return Labeled(X, labels, classes, codes.reshape(-1), given)


def _held(test: Any, X: Any, classes: np.ndarray) -> tuple[Any, NDArray[np.intp]]:
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise OptionError(f"test must be a pair (X, y) of samples; got a {type(test).__name__}")
    samples, labels = as_inputs(test[0]), checked_labels(test[1], "classification", "y of test")
    check_length(samples, labels, "X of test", "y of test")
    if samples.shape[1:] != X.shape[1:]:
        raise ShapeError(
            f"samples of test have shape {samples.shape[1:]}, those of X {X.shape[1:]}"
        )
    strange, absent = np.setdiff1d(labels, classes), np.setdiff1d(classes, labels)
    if len(strange):
        raise LabelError(
            f"test has the class {strange.tolist()[0]!r}, which y has not; leave its samples out"
        )
    if len(absent):
        raise LabelError(
            f"test has no sample of class {absent.tolist()[0]!r}, which is to be found when it was "
            "left out"
        )
    return samples, np.searchsorted(classes, labels)
