"""The base class of regression predictions: named targets and the target axis."""

from typing import Any

import numpy as np

from .._validation import FloatArray, LabelArray, as_floats, check_size
from ..exceptions import InvalidValueError, ShapeError
from ._container import Container


class WithTargets(Container):
    """A prediction of one or more numbers, each with a name."""

    targets: LabelArray

    def align(self, y: Any, *, missing: bool = False) -> FloatArray:
        """Return the true values, (samples, targets), from (samples,) if there is one target.

        A frame whose columns have the names of the targets may have them in another order. With
        ``missing``, some true values of several targets may be unknown (NaN).
        """
        truth, columns, _ = as_floats(y, "y")
        truth = truth[:, None] if truth.ndim == 1 else truth
        if truth.ndim == 2 and len(truth) != len(self):
            raise ShapeError(f"y has {len(truth)} samples, the prediction has {len(self)}")
        if truth.shape != (len(self), len(self.targets)):
            raise ShapeError(
                f"y must have shape (samples, targets) with {len(self.targets)} targets; got "
                f"{truth.shape}"
            )
        names = self.targets.tolist()
        if columns is not None and columns != names and set(columns) == set(names):
            truth = np.take(truth, [columns.index(name) for name in names], axis=1)
        unknown = np.isnan(truth)
        if not missing or len(self.targets) == 1 or not unknown.any():
            check_size(truth, "y", ("sample", "target"))
            return truth
        if unknown.all(axis=0).any():
            name = self.targets[unknown.all(axis=0)][0]
            raise InvalidValueError(f"no true value of target {str(name)!r} is known; leave it out")
        check_size(np.where(unknown, 0.0, truth), "y", ("sample", "target"))
        return truth


def with_axes(array: FloatArray, name: str) -> FloatArray:
    """(samples,), (samples, targets) or (members, samples, targets) as the last of these."""
    if array.ndim == 1:
        return array[None, :, None]
    if array.ndim == 2:
        return array[None]
    if array.ndim == 3:
        return array
    raise ShapeError(
        f"{name} must have shape (samples,), (samples, targets) or (members, samples, targets); "
        f"got {array.shape}"
    )
