"""The base class of recalibrators of class probabilities, and one-vs-rest helpers."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._validation import FloatArray, check_choice
from ..predictions import Categorical, GaussianLogits
from ._base import Recalibrator

Codes = NDArray[np.intp]


class ClassMap(Recalibrator):
    """A map of each row of probabilities to another one, the same for all samples.

    A subclass learns and maps rows of shape (rows, classes). Here members become rows, and logits
    with noise become probabilities.

    Parameters
    ----------
    members : {"mean", "each"}
        Calibrate the mean over members, so that the result has one member; or each member, by one
        map learned from all members, of which each counts 1/M of a sample.
    """

    takes = (Categorical, GaussianLogits)
    members: str = "mean"

    def _fit(self, prediction: Any, y: Codes, weight: FloatArray | None) -> None:
        check_choice(self.members, "members", ("mean", "each"))
        self._check_options()
        self._learn(*calibration_rows(as_probabilities(prediction), y, weight, self.members))

    def _transform(self, prediction: Any) -> Categorical:
        return map_rows(as_probabilities(prediction), self.members, self._map)

    def _check_options(self) -> None:
        """Raise on invalid options other than ``members``."""

    @abstractmethod
    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        """Learn from rows and the positions of their true classes."""
        ...

    @abstractmethod
    def _map(self, p: FloatArray) -> FloatArray:
        """Return repaired rows."""
        ...


def as_probabilities(prediction: Categorical | GaussianLogits) -> Categorical:
    """Average the softmax of logits over their noise."""
    if isinstance(prediction, GaussianLogits):
        return prediction.to_categorical()
    return prediction


def calibration_rows(
    prediction: Categorical, y: Codes, weight: FloatArray | None, members: str
) -> tuple[FloatArray, Codes, FloatArray | None]:
    """Return the (rows, classes) to learn from: the means, or all members with equal shares.

    Samples of weight 0 are dropped; each of M members of a sample counts 1/M.
    """
    count = prediction.members
    if members == "mean" or count == 1:
        p = prediction.mean
    else:
        p = prediction.probabilities.reshape(-1, len(prediction.classes))
        y = np.tile(y, count)
        weight = np.tile(np.ones(len(prediction)) if weight is None else weight, count) / count
    if weight is not None and not weight.all():
        present = weight > 0
        p, y, weight = p[present], y[present], weight[present]
    return p, y, weight


def map_rows(
    prediction: Categorical, members: str, function: Callable[[FloatArray], FloatArray]
) -> Categorical:
    """Apply a map of (rows, classes) to the mean over members, or to each member."""
    p = prediction.mean[None] if members == "mean" else prediction.probabilities
    mapped = np.empty(p.shape)
    for old, new in zip(p, mapped, strict=True):
        for rows in row_blocks(*old.shape):
            new[rows] = function(old[rows])
    return Categorical._trusted({"probabilities": mapped, "classes": prediction.classes})


def one_vs_rest(classes: int) -> Sequence[int]:
    """Return the classes to fit: all, or only the second of two."""
    return (1,) if classes == 2 else range(classes)


def class_shares(codes: Codes, classes: int, weight: FloatArray | None) -> FloatArray:
    """Return how often each class is true, of the calibration samples."""
    counts = np.bincount(codes, weights=weight, minlength=classes).astype(np.float64)
    return counts / counts.sum()


def normalized(scores: Sequence[FloatArray], base_rates: FloatArray) -> FloatArray:
    """Join the scores of :func:`one_vs_rest` to rows that sum to 1; zeros become base rates."""
    if len(scores) == 1:
        return np.stack([1 - scores[0], scores[0]], axis=1)
    p = np.stack(scores, axis=1)
    sums = p.sum(axis=1)
    empty = sums == 0
    p[empty], sums[empty] = base_rates, 1.0
    p /= sums[:, None]
    return p
