"""Which of some intervals holds each key."""

import numpy as np
from numpy.typing import NDArray

from ..._blocks import row_blocks
from ..._validation import FloatArray

_GRID = 2**16
"""Equal steps between the first and the last edge."""
_FEW = 4
"""Edges in one step up to which keys are compared with each of them."""


def places(key: FloatArray, edges: FloatArray) -> NDArray[np.uint16]:
    """Return how many of the increasing edges are at or below each key, which is not NaN.

    A table of equal steps says how many edges come before a key's own step, and the key is compared
    with the edges inside it: exactly what ``np.searchsorted`` returns, ten times as fast for
    hundreds of edges.
    """
    index = np.empty(len(key), dtype=np.uint16)
    with np.errstate(all="ignore"):
        scale = _GRID / (edges[-1] - edges[0]) if len(edges) else 0.0
    if not 0 < scale < np.inf:
        index[:] = np.searchsorted(edges, key, side="right")
        return index
    held = np.bincount(_steps(edges, edges[0], scale), minlength=_GRID + 1)
    before = np.cumsum(held) - held
    next_edge, crowded = np.append(edges, np.nan), held > _FEW  # no key reaches NaN
    for rows in row_blocks(len(key), 1):
        keys = key[rows]
        step = _steps(keys, edges[0], scale)
        place = before.take(step)
        for _ in range(min(_FEW, held.max())):
            place += keys >= next_edge.take(place)
        if crowded.any():
            many = np.flatnonzero(crowded.take(step))
            place[many] = np.searchsorted(edges, keys[many], side="right")
        index[rows] = place
    return index


def _steps(key: FloatArray, low: float, scale: float) -> NDArray[np.intp]:
    """Return the step of each key; it never falls as the key grows, also after rounding."""
    with np.errstate(over="ignore"):
        step = key - low
        step *= scale
    return np.clip(step, 0, _GRID, out=step).astype(np.intp)
