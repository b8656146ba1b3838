"""How much of the weight lies at or below each of some levels in [0, 1]."""

import numpy as np

from ..._validation import FloatArray

_CELLS = 4096


def shares_at_or_below(
    values: FloatArray, levels: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Return the share of ``values`` in [0, 1] that are at most each level, exactly.

    Values are counted in equal cells; only those in a cell that holds a level are compared with
    it. One pass, whatever the number of levels.
    """
    order = np.argsort(levels)
    cells = np.minimum((values * _CELLS).astype(np.int64), _CELLS - 1)
    level_cells = np.minimum((levels[order] * _CELLS).astype(np.int64), _CELLS - 1)
    mass = np.bincount(cells, weights=weight, minlength=_CELLS)
    before = np.cumsum(mass) - mass
    inside = np.zeros(_CELLS, dtype=bool)
    inside[level_cells] = True
    rows = np.flatnonzero(inside[cells])
    if weight is None:
        ordered, running = np.sort(values[rows]), np.arange(len(rows) + 1.0)
    else:
        rows = rows[np.argsort(values[rows])]
        ordered, running = values[rows], np.r_[0.0, np.cumsum(weight[rows])]
    # Within its cell a level has what is sorted there and not above it; before it, whole cells.
    first = np.searchsorted(ordered, level_cells / _CELLS)  # exact: a power of two
    place = np.searchsorted(ordered, levels[order], side="right")
    below = before[level_cells] + running[np.maximum(place, first)] - running[first]
    shares = np.empty(len(levels))
    shares[order] = below / mass.sum()
    return shares
