"""Random divisions of pooled samples into two sides, by samples or by clusters."""

from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_column
from ..exceptions import ShapeError

_BLOCK = 2**20
"""About how many numbers a block of divisions holds."""

Codes = NDArray[np.intp]
Sides = NDArray[np.bool_]


def cluster_pair(cluster: Any, sizes: tuple[int, int]) -> Codes:
    """Return the number of the cluster of each sample of either side, one after the other."""
    if not isinstance(cluster, tuple | list) or len(cluster) != 2:
        raise ShapeError(
            "cluster must be a pair of arrays, for the calibration and for the test samples; got "
            f"a {type(cluster).__name__}"
        )
    names = ("cluster of calibration", "cluster of test")
    parts = [as_column(*one) for one in zip(cluster, names, sizes, strict=True)]
    codes: Codes = np.unique(np.concatenate(parts), return_inverse=True)[1].reshape(-1)
    return codes


def shares_of(sides: Sides) -> FloatArray:
    """Return the weight of each sample: those of the first side add up to 1, the others to -1."""
    first = np.count_nonzero(sides, axis=-1, keepdims=True)
    return np.where(sides, 1 / first, -1 / (sides.shape[-1] - first))


def smallest_p_value(sides: Sides, codes: Codes) -> float:
    """Return the smallest p-value that divisions of whole clusters can give; 0 if any can be."""
    first, second = (np.unique(codes[one]) for one in (sides, ~sides))
    if len(np.intersect1d(first, second)):
        return 0.0
    a, b = len(first), len(second)
    return (2 if a == b else 1) / comb(a + b, a)  # exchanged sides are as far apart


def divisions(
    sides: Sides, codes: Codes | None, resamples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield weights of random divisions, as many in a block as the memory of one allows.

    Samples change sides one by one. With ``codes``, clusters that are on one side alone change it
    as a whole, and samples of a cluster that is on both change it within that cluster.
    """
    step = max(1, _BLOCK // len(sides))
    divided = None if codes is None else _Clusters(sides, codes)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        if divided is None:
            block = np.tile(shares_of(sides), (count, 1))
            yield rng.permuted(block, axis=1, out=block)
        else:
            yield shares_of(divided.draw(count, rng))


class _Clusters:
    """The clusters of both sides: which change sides as a whole, and which within."""

    def __init__(self, sides: Sides, codes: Codes) -> None:
        shared = np.isin(codes, np.intersect1d(codes[sides], codes[~sides]))
        self.sides, self.codes = sides, codes
        self.apart, self.within = np.flatnonzero(~shared), np.flatnonzero(shared)
        _, first, self.number = np.unique(codes[self.apart], return_index=True, return_inverse=True)
        self.whole = sides[self.apart][first]
        self.by_cluster = sides[self.within][np.argsort(codes[self.within], kind="stable")]

    def draw(self, count: int, rng: np.random.Generator) -> Sides:
        """Return the sides of all samples in so many divisions."""
        drawn = np.empty((count, len(self.sides)), dtype=bool)
        whole = rng.permuted(np.tile(self.whole, (count, 1)), axis=1)
        drawn[:, self.apart] = whole[:, self.number.reshape(-1)]
        # A random order within each cluster: the whole part of the key is the cluster.
        keys = self.codes[self.within] + rng.random((count, len(self.within)))
        places = self.within[np.argsort(keys, axis=1)]
        np.put_along_axis(drawn, places, self.by_cluster[None], axis=1)
        return drawn
