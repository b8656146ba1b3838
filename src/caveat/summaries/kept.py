"""Some samples that a summary keeps: all of a few, a random sample of many."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..metrics.units import mixed
from ..predictions import Container, concat

__all__ = ["KEPT", "Kept"]

KEPT = 10_000
"""How many samples a summary keeps at most."""


@dataclass(frozen=True, eq=False)
class Kept:
    """Samples with the smallest keys, which are random numbers of 64 bits.

    Attributes
    ----------
    keys : ndarray of shape (samples,)
    prediction : any prediction type
    y : ndarray of shape (samples,) or (samples, targets), or None
    weight : ndarray of shape (samples,) or None
    cluster : ndarray of text of shape (samples,) or None
    groups : dict of str to ndarray of text
    """

    keys: NDArray[np.uint64]
    prediction: Container
    y: NDArray[Any] | None
    weight: FloatArray | None
    cluster: NDArray[Any] | None
    groups: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.keys)

    def __add__(self, other: "Kept") -> "Kept":
        joined = Kept(
            np.concatenate([self.keys, other.keys]),
            concat([self.prediction, other.prediction]),
            _joined(self.y, other.y),
            _joined(self.weight, other.weight),
            _joined(self.cluster, other.cluster),
            {name: np.concatenate([one, other.groups[name]]) for name, one in self.groups.items()},
        )
        return joined.smallest()

    def smallest(self) -> "Kept":
        """Return the samples with the smallest keys, in their order."""
        order = np.argsort(self.keys, kind="stable")[:KEPT]
        return self.take(order)

    def take(self, rows: NDArray[np.intp]) -> "Kept":
        """Return some of the samples."""
        return Kept(
            self.keys[rows],
            self.prediction.take(rows),
            None if self.y is None else self.y[rows],
            None if self.weight is None else self.weight[rows],
            None if self.cluster is None else self.cluster[rows],
            {name: values[rows] for name, values in self.groups.items()},
        )

    @property
    def nbytes(self) -> int:
        """The size of the samples in memory."""
        arrays = [getattr(self.prediction, name) for name in self.prediction._arrays]
        given = [self.keys, self.y, self.weight, self.cluster, *self.groups.values(), *arrays]
        return sum(array.nbytes for array in given if array is not None)


def first_left_out(keys: NDArray[np.uint64]) -> np.uint64:
    """Return the smallest key that is not kept; the largest number if all are."""
    if len(keys) <= KEPT:
        return np.uint64(2**64 - 1)
    return np.uint64(np.partition(keys, KEPT)[KEPT])


def candidates(keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return the rows of a batch that may be kept, and their keys.

    The keys of units are mixed once more, so that what is kept does not depend on the unit.
    """
    random = mixed(keys)
    if len(random) <= KEPT:
        return np.arange(len(random)), random
    rows = np.argpartition(random, KEPT)[:KEPT]
    return rows, random[rows]


def _joined(one: NDArray[Any] | None, other: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if one is None or other is None else np.concatenate([one, other])
