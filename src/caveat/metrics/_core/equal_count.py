"""Equal-count bins and ranks: sums over the smallest keys, without a sort of all of them.

Let the samples stand in increasing order of a key and let G(t) be the sum of a value over the first
t units of weight. Samples with equal keys stand in every order at once, so G is the expected sum
over these orders: a straight line across each group of ties. A bin that ends inside a sample takes
the fraction of it that is inside. With this definition neither the order of the rows nor the
difference between a weight of two and a row that is there twice can change a result.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray

SMALL = 8192
"""Up to here a plain sort is quicker than the detour over cells."""


def cumulative_sums(
    key: FloatArray,
    values: Sequence[FloatArray],
    shares: FloatArray,
    weight: FloatArray | None = None,
) -> FloatArray:
    """Return G at some shares of the weight, of shape (values, shares).

    Exact. Samples are counted in some thousand cells by the high bits of their keys; only those
    in a cell where a share ends are sorted. Linear in the number of samples unless many of them
    share their high bits, and at worst one sort of all of them.
    """
    if len(key) <= SMALL:
        return _sorted_sums(key, values, shares, weight)
    cells, number = _cells(key)
    mass = np.bincount(cells, weights=weight, minlength=number).astype(np.float64)
    ends = np.cumsum(mass)
    targets = shares * ends[-1]
    hit = np.unique(np.minimum(np.searchsorted(ends, targets), number - 1))
    inside = np.zeros(number, dtype=bool)
    inside[hit] = True
    rows = np.flatnonzero(inside[cells])
    rows = rows[np.argsort(key[rows])]
    last = _ends_of_ties(key[rows])
    cell_of = cells[rows][last]
    first = np.flatnonzero(np.r_[True, cell_of[1:] != cell_of[:-1]])
    # Between two cells that were hit lies a gap: a point at the start of each closes it.
    before = ends[cell_of[first]] - mass[cell_of[first]]
    points = _with_gaps(_partial(rows, last, weight), first, before)
    sums = np.empty((len(values), len(shares)))
    for i, value in enumerate(values):
        weighted = value if weight is None else value * weight
        totals = np.bincount(cells, weights=weighted, minlength=number).astype(np.float64)
        starts = np.cumsum(totals) - totals
        heights = _with_gaps(_partial(rows, last, weighted), first, starts[cell_of[first]])
        sums[i] = np.interp(targets, points, heights)
    return sums


def bin_sums(
    key: FloatArray, values: Sequence[FloatArray], bins: int, weight: FloatArray | None = None
) -> FloatArray:
    """Return the sums over bins of equal weight in the order of the key, (values, bins)."""
    return np.diff(cumulative_sums(key, values, np.linspace(0, 1, bins + 1), weight), axis=1)


def _cells(key: FloatArray) -> tuple[NDArray[np.int64], int]:
    """Number the samples by the high bits of their keys: equal keys, equal cells; order is kept."""
    bits = key.view(np.int64)
    low = int(bits.min())
    if low < 0:  # negative keys, or a negative zero, which equals zero but has other bits
        bits = (key + 0.0).view(np.int64)
        bits = np.where(bits < 0, np.int64(-(2**63)) - bits, bits)  # now in the order of the keys
        low = int(bits.min())
    high = int(bits.max())
    wanted = min(18, max(12, len(key).bit_length() - 3))
    shift = max(0, (high - low).bit_length() - wanted)
    # Shifted first, since the span of keys of both signs may not fit in 63 bits.
    cells = bits >> shift
    cells -= low >> shift
    return cells, (high >> shift) - (low >> shift) + 1


def _ends_of_ties(ordered: FloatArray) -> NDArray[np.intp]:
    """Return the position of the last sample of each group of equal keys."""
    return np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])


def _partial(
    rows: NDArray[np.intp], last: NDArray[np.intp], value: FloatArray | None
) -> FloatArray:
    """Running sums at the end of each group of ties, over the rows that were sorted."""
    if value is None:
        return np.asarray(last + 1, dtype=np.float64)
    return np.cumsum(value[rows])[last]


def _with_gaps(running: FloatArray, first: NDArray[np.intp], starts: FloatArray) -> FloatArray:
    """Lift each cell's running sums to where the cell starts, and put that start before them."""
    begins = np.r_[0.0, running[first[1:] - 1]]
    lengths = np.diff(np.r_[first, len(running)])
    lifted = running + np.repeat(starts - begins, lengths)
    return np.insert(lifted, first, starts)


def _sorted_sums(
    key: FloatArray,
    values: Sequence[FloatArray],
    shares: FloatArray,
    weight: FloatArray | None,
) -> FloatArray:
    rows = np.argsort(key)
    last = _ends_of_ties(key[rows])
    points = np.r_[0.0, _partial(rows, last, weight)]
    heights = [
        np.r_[0.0, _partial(rows, last, value if weight is None else value * weight)]
        for value in values
    ]
    return np.array([np.interp(shares * points[-1], points, height) for height in heights])
