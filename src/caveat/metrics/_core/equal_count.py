"""Equal-count bins and ranks: sums over the smallest keys, without a sort of all of them.

Let the samples stand in increasing order of a key and let G(t) be the sum of a value over the first
t units of weight. Samples with equal keys stand in every order at once, so G is the expected sum
over these orders: a straight line across each group of ties. A bin that ends inside a sample takes
the fraction of it that is inside. With this definition neither the order of the rows nor the
difference between a weight of two and a row that is there twice can change a result.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._blocks import row_blocks
from ..._validation import FloatArray

SMALL = 8192
"""Up to this many samples a plain sort is faster than cells."""

_CELL_BITS = 14
_CELLS = 2**_CELL_BITS
_SAMPLE = 4096
_BLOCK = 2**16


def cumulative_sums(
    key: FloatArray,
    values: Sequence[NDArray[Any]],
    shares: FloatArray,
    weight: FloatArray | None = None,
    *,
    whole: bool = False,
) -> FloatArray:
    """Return G at some shares of the weight, of shape (values, shares).

    With ``whole``, at the end of a group of ties that is nearest to each share; the weight below it
    comes first, (1 + values, shares).

    Exact. Samples are counted in some thousand cells by their keys; only those in a cell where a
    share ends are sorted. Linear in the number of samples unless many of them crowd in few cells,
    and at worst one sort of all of them.
    """
    if len(key) <= SMALL:
        return _sorted_sums(key, values, shares, weight, whole)
    cells, mass, totals = _counted(key, values, weight)
    ends = np.cumsum(mass)
    targets = shares * ends[-1]
    inside = np.zeros(_CELLS, dtype=bool)
    inside[np.minimum(np.searchsorted(ends, targets), _CELLS - 1)] = True
    blocks = row_blocks(len(cells), 1, _BLOCK)
    rows = np.concatenate([b.start + np.flatnonzero(inside.take(cells[b])) for b in blocks])
    rows = rows[np.argsort(key[rows])]
    last = _ends_of_ties(key[rows])
    cell_of = cells[rows][last]
    first = np.flatnonzero(np.r_[True, cell_of[1:] != cell_of[:-1]])
    # Between two cells that were hit lies a gap: a point at the start of each closes it.
    hit = cell_of[first]
    points = _with_gaps(_running(rows, last, None, weight), first, ends[hit] - mass[hit])
    targets = nearest(points, targets) if whole else targets
    sums = np.empty((len(values), len(shares)))
    for i, value in enumerate(values):
        starts = np.cumsum(totals[i])[hit] - totals[i][hit]
        heights = _with_gaps(_running(rows, last, value, weight), first, starts)
        sums[i] = np.interp(targets, points, heights)
    return np.vstack([targets, sums]) if whole else sums


def bin_sums(
    key: FloatArray, values: Sequence[NDArray[Any]], bins: int, weight: FloatArray | None = None
) -> FloatArray:
    """Return the sums over bins of equal weight in the order of the key, (values, bins)."""
    return np.diff(cumulative_sums(key, values, np.linspace(0, 1, bins + 1), weight), axis=1)


def bin_ends(
    key: FloatArray, bins: int, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest key in each of the bins of equal weight."""
    order = np.argsort(key)
    running = np.arange(1.0, len(key) + 1) if weight is None else np.cumsum(weight[order])
    cuts = np.minimum(
        np.arange(bins + 1) * running[-1] / bins, running[-1]
    )  # may exceed it by rounding
    first = np.searchsorted(running, cuts[:-1], side="right")
    last = np.searchsorted(running, cuts[1:], side="left")
    return key[order[first]], key[order[last]]


def nearest(points: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the increasing point that is nearest to each target, the lower of two."""
    above = np.clip(np.searchsorted(points, targets), 1, len(points) - 1)
    low, high = points[above - 1], points[above]
    return np.where(targets - low <= high - targets, low, high)


def _counted(
    key: FloatArray, values: Sequence[NDArray[Any]], weight: FloatArray | None
) -> tuple[NDArray[np.uint16], FloatArray, FloatArray]:
    """Return the cell of each sample, and the weight and the sums of the values in each cell."""
    cells_of = _best_map(key)
    cells, mass = np.empty(len(key), dtype=np.uint16), np.zeros(_CELLS)
    totals = np.zeros((len(values), _CELLS))
    for rows in row_blocks(len(key), 1, _BLOCK):
        block = cells_of(key[rows])
        cells[rows] = block
        counts = None if weight is None else weight[rows]
        mass += np.bincount(block, weights=counts, minlength=_CELLS)
        for total, value in zip(totals, values, strict=True):
            weighted = value[rows] if counts is None else value[rows] * counts
            total += np.bincount(block, weights=weighted, minlength=_CELLS)
    return cells, mass, totals


def _best_map(key: FloatArray) -> Callable[[FloatArray], NDArray[np.int64]]:
    """Return a numbering of keys by cells: equal keys, equal cells, and order is kept.

    Cells are equally wide either in the keys or in their bits (which is nearly in their logarithms)
    and reach over the middle of the keys; the first and the last cell take what lies outside. A few
    keys tell which of the two spreads the samples better.
    """
    sample = np.sort(key[:: max(1, len(key) // _SAMPLE)])
    edge = len(sample) // 64
    middle = sample[edge], sample[len(sample) - 1 - edge]
    maps = [_by_bits(middle), _by_value(middle)]
    crowds = [np.square(np.bincount(cells_of(sample))).sum() for cells_of in maps]
    return maps[int(np.argmin(crowds))]


def _by_bits(middle: tuple[float, float]) -> Callable[[FloatArray], NDArray[np.int64]]:
    low, high = (int(end) for end in _ordered_bits(np.array(middle)))
    shift = max(0, (high - low).bit_length() - _CELL_BITS)

    def cells_of(key: FloatArray) -> NDArray[np.int64]:
        cells = _ordered_bits(key) >> shift
        # Shifted first, since the span of keys of both signs may not fit in 63 bits.
        np.clip(cells, low >> shift, (low >> shift) + _CELLS - 1, out=cells)
        cells -= low >> shift
        return cells

    return cells_of


def _by_value(middle: tuple[float, float]) -> Callable[[FloatArray], NDArray[np.int64]]:
    with np.errstate(over="ignore", divide="ignore"):
        factor = _CELLS / np.float64(middle[1] - middle[0])
    if not 0 < factor < np.inf:  # a single value, or the whole range of doubles
        return lambda key: np.zeros(len(key), dtype=np.int64)

    def cells_of(key: FloatArray) -> NDArray[np.int64]:
        with np.errstate(over="ignore"):
            place = key - middle[0]
            place *= factor
        np.clip(place, 0, _CELLS - 1, out=place)
        return place.astype(np.int64)

    return cells_of


def _ordered_bits(key: FloatArray) -> NDArray[np.int64]:
    """Return whole numbers in the order of the keys."""
    bits = (key + 0.0).view(np.int64)  # a negative zero equals zero but has other bits
    if bits.min() < 0:
        np.subtract(np.int64(-(2**63)), bits, out=bits, where=bits < 0)
    return bits


def _ends_of_ties(ordered: FloatArray) -> NDArray[np.intp]:
    """Return the position of the last sample of each group of equal keys."""
    return np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])


def _running(
    rows: NDArray[np.intp],
    last: NDArray[np.intp],
    value: NDArray[Any] | None,
    weight: FloatArray | None,
) -> FloatArray:
    """Running sums of the value (None: of ones) at the end of each group of ties in ``rows``."""
    if value is None and weight is None:
        return np.asarray(last + 1, dtype=np.float64)
    factors = [array[rows] for array in (value, weight) if array is not None]
    return np.cumsum(np.prod(factors, axis=0))[last]


def _with_gaps(running: FloatArray, first: NDArray[np.intp], starts: FloatArray) -> FloatArray:
    """Lift each cell's running sums to where the cell starts, and put that start before them."""
    begins = np.r_[0.0, running[first[1:] - 1]]
    lengths = np.diff(np.r_[first, len(running)])
    lifted = running + np.repeat(starts - begins, lengths)
    return np.insert(lifted, first, starts)


def _sorted_sums(
    key: FloatArray,
    values: Sequence[NDArray[Any]],
    shares: FloatArray,
    weight: FloatArray | None,
    whole: bool,
) -> FloatArray:
    rows = np.argsort(key)
    last = _ends_of_ties(key[rows])
    points = np.r_[0.0, _running(rows, last, None, weight)]
    heights = [np.r_[0.0, _running(rows, last, value, weight)] for value in values]
    targets = nearest(points, shares * points[-1]) if whole else shares * points[-1]
    sums = [np.interp(targets, points, height) for height in heights]
    return np.array([targets, *sums] if whole else sums)
