"""Distances between classes in each channel: one sort of a channel serves all pairs of classes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..._blocks import row_blocks
from ..._validation import FloatArray, LabelArray, shorten
from ...exceptions import InvalidValueError

Codes = NDArray[np.intp]

# Below this fraction of the two squared norms their difference has lost too many digits.
_CANCELED = 1e-4

_MANY = 100
"""Classes, from which on tails of the distribution functions are faster than their products."""

_SPARE_BITS = 7
"""Bits of a value that may be given up for its class: a relative change of 2e-14 at most."""

_ALL_BUT_SIGN = np.int64(2**63 - 1)


def energy_by_channel(
    X: FloatArray, codes: Codes, classes: int, weights: FloatArray | None
) -> Iterator[FloatArray]:
    """Yield energy distances by sums over the gaps between neighboring values."""
    for column in X.T:
        steps = _Steps.of(column, codes, classes, weights)
        yield _energy(steps)


def wasserstein_by_channel(
    X: FloatArray, codes: Codes, classes: int, weights: FloatArray | None
) -> Iterator[FloatArray]:
    """Yield Wasserstein distances, by quantiles or by distribution functions."""
    from scipy.spatial.distance import squareform

    quantiles = None if weights is not None else _QuantileGrid.of(codes, classes)
    for column in X.T:
        if quantiles is not None:
            yield squareform(quantiles.distances(column))
        else:
            steps = _Steps.of(column, codes, classes, weights)
            yield squareform(_wasserstein(steps))


def bhattacharyya_by_channel(
    X: FloatArray, codes: Codes, labels: LabelArray, weights: FloatArray | None
) -> Iterator[FloatArray]:
    """Yield Bhattacharyya distances of the normal distributions with the classes' moments."""
    means, variances = moments(X, codes, len(labels), weights)
    constant = variances <= (1e-12 * np.abs(X).max(axis=0)) ** 2
    if constant.any():
        channel, code = np.argwhere(constant.T)[0]
        raise InvalidValueError(
            f"channel {channel} is constant in class {shorten(labels[[code]])}, and the "
            "Bhattacharyya distance needs some spread in each class; leave the channel out, or use "
            "distance='energy'"
        )
    for mean, variance in zip(means.T, variances.T, strict=True):
        middle = (variance[:, None] + variance) / 2
        shapes = np.log(middle) - (np.log(variance)[:, None] + np.log(variance)) / 2
        apart = (mean[:, None] - mean) ** 2 / middle
        yield np.maximum(apart / 8 + shapes / 2, 0.0)


def moments(
    X: FloatArray, codes: Codes, classes: int, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the means and population variances of the classes, each (classes, channels)."""
    means, variances = np.empty((classes, X.shape[1])), np.empty((classes, X.shape[1]))
    for code in range(classes):
        member = codes == code
        own = None if weights is None else weights[member]
        means[code] = np.average(X[member], axis=0, weights=own)
        variances[code] = np.average((X[member] - means[code]) ** 2, axis=0, weights=own)
    return means, variances


class _Steps:
    """The distribution functions of all classes in one channel: steps at its sorted values."""

    def __init__(self, gaps: FloatArray, codes: Codes, heights: NDArray, totals: NDArray) -> None:
        self.gaps, self.codes, self.heights, self.totals = gaps, codes, heights, totals

    @classmethod
    def of(
        cls, column: FloatArray, codes: Codes, classes: int, weights: FloatArray | None
    ) -> "_Steps":
        totals = np.bincount(codes, weights, minlength=classes)
        bits = (classes - 1).bit_length()
        if weights is None and bits <= _SPARE_BITS:
            values, own = _sorted_with_codes(column, codes, bits)
            # Integers: a running sum of doubles takes several times as long.
            return cls(np.diff(values), own, np.ones(len(own), np.int64), totals)
        channel = column.copy()  # next to each other in memory
        order = np.argsort(channel)
        heights = np.ones(len(order), np.int64) if weights is None else weights[order]
        return cls(np.diff(channel[order]), codes[order], heights, totals)

    def blocks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield gaps between sorted values and the functions there, (classes, gaps)."""
        below = np.zeros(len(self.totals), dtype=self.heights.dtype)
        for part in row_blocks(len(self.gaps), len(self.totals)):
            sums = np.zeros((len(self.totals), part.stop - part.start), dtype=self.heights.dtype)
            places = self.codes[part] * sums.shape[1] + np.arange(sums.shape[1])
            sums.ravel()[places] = self.heights[part]
            sums[:, 0] += below
            np.cumsum(sums, axis=1, out=sums)
            below = sums[:, -1]
            functions = sums.astype(np.float64)
            functions /= self.totals[:, None]
            yield self.gaps[part], functions


def _sorted_with_codes(column: FloatArray, codes: Codes, bits: int) -> tuple[FloatArray, Codes]:
    """Sort the values of a channel together with the classes of the samples.

    The class takes the place of the last ``bits`` bits of a value, so that one sort of integers
    does both: with a hundred classes a value keeps 46 of its 53 bits.
    """
    keys = column.copy().view(np.int64)
    keys ^= (keys >> 63) & _ALL_BUT_SIGN  # integers in the order of the values
    keys &= -1 << bits
    keys |= codes
    keys.sort()
    own = keys & ((1 << bits) - 1)
    keys ^= own
    keys ^= (keys >> 63) & _ALL_BUT_SIGN
    return keys.view(np.float64), own


def _energy(steps: _Steps) -> FloatArray:
    """Energy distances: the distribution functions as points of a Hilbert space."""
    products = _products(steps) if len(steps.totals) <= _MANY else _tail_products(steps)
    norms = np.diag(products)
    sums = norms[:, None] + norms
    squares = sums - (products + products.T)
    close = np.triu(squares < _CANCELED * sums, 1)
    if close.any():
        _recompute(squares, np.argwhere(close), steps)
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(2 * squares)


def _products(steps: _Steps) -> FloatArray:
    """Products of the distribution functions, less the function of all samples."""
    shares = steps.totals / steps.totals.sum()
    products = np.zeros((len(shares), len(shares)))
    for widths, functions in steps.blocks():
        functions -= shares @ functions
        products += (functions * widths) @ functions.T
    return products


def _tail_products(steps: _Steps) -> FloatArray:
    r"""The same for many classes, with work that grows with their number, not its square.

    :math:`\int G_i F_j` is the mean, over the samples b of class j, of the integral of
    :math:`G_i` from b on.
    """
    classes, samples = len(steps.totals), len(steps.codes)
    order = np.argsort(steps.codes, kind="stable")
    starts = np.searchsorted(steps.codes[order], np.arange(classes))
    weights = steps.heights[order] / steps.totals[steps.codes[order]]
    whole = np.cumsum(steps.heights) / steps.totals.sum()
    gaps = np.append(steps.gaps, 0.0)
    products = np.empty((classes, classes))
    for part in row_blocks(classes, samples):
        sums = np.zeros((part.stop - part.start, samples), dtype=steps.heights.dtype)
        own = np.flatnonzero((steps.codes >= part.start) & (steps.codes < part.stop))
        sums[steps.codes[own] - part.start, own] = steps.heights[own]
        np.cumsum(sums, axis=1, out=sums)
        functions = sums / steps.totals[part, None] - whole
        functions *= gaps
        tails = np.cumsum(functions[:, ::-1], axis=1)[:, ::-1]
        products[part] = np.add.reduceat(tails[:, order] * weights, starts, axis=1)
    return products - (products @ (steps.totals / steps.totals.sum()))[:, None]


def _recompute(squares: FloatArray, pairs: Codes, steps: _Steps) -> None:
    """Write what cancellation spoilt, from the differences themselves."""
    i, j = pairs.T
    squares[i, j] = 0.0
    for widths, functions in steps.blocks():
        for first, second in pairs:
            difference = functions[first] - functions[second]
            squares[first, second] += np.square(difference, out=difference) @ widths
    squares[j, i] = squares[i, j]


def _wasserstein(steps: _Steps) -> FloatArray:
    """Wasserstein distances of the pairs in the order of `scipy.spatial.distance.pdist`."""
    from scipy.spatial.distance import pdist

    classes = len(steps.totals)
    distances = np.zeros(classes * (classes - 1) // 2)
    for widths, functions in steps.blocks():
        distances += pdist(functions * widths, "cityblock")
    return distances


class _QuantileGrid:
    """Quantile functions of all classes on the levels at which one of them has a step.

    Classes of equal size have their steps at the same levels, so that the grid is as long as one of
    them, not as all together.
    """

    def __init__(self, rows: Codes, starts: Codes, places: Codes, widths: FloatArray) -> None:
        self.rows, self.starts, self.places, self.widths = rows, starts, places, widths

    @classmethod
    def of(cls, codes: Codes, classes: int) -> "_QuantileGrid | None":
        """Return the grid, or None if it would be as long as the samples."""
        sizes = np.bincount(codes, minlength=classes)
        if np.unique(sizes).sum() >= len(codes):
            return None
        # k / n is the same double for equal fractions, so that steps at one level are found.
        steps = {size: np.arange(1, size + 1) / size for size in np.unique(sizes)}
        levels = np.unique(np.concatenate([*steps.values()]))
        places = np.array([np.searchsorted(steps[size], levels) for size in sizes])
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(np.argsort(codes, kind="stable"), starts, places, np.diff(levels, prepend=0.0))

    def distances(self, column: FloatArray) -> FloatArray:
        """Return the distances of the pairs in the order of `scipy.spatial.distance.pdist`."""
        from scipy.spatial.distance import pdist

        values = column[self.rows]
        for start, stop in zip(self.starts[:-1], self.starts[1:], strict=True):
            values[start:stop].sort()
        classes = len(self.places)
        result = np.zeros(classes * (classes - 1) // 2)
        for part in row_blocks(len(self.widths), classes):
            quantiles = values[self.starts[:-1, None] + self.places[:, part]]
            result += pdist(quantiles * self.widths[part], "cityblock")
        return result
