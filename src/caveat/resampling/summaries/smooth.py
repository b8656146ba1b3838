"""The smooth calibration error of every resample at once, on a grid.

The metric itself uses a finer grid; here a thousand resamples are smoothed together. The error of
the grid is about (width of a cell / bandwidth)^2 / 12 of the value and the same in every resample.
"""

import math
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...metrics._core.equal_width import bin_of
from ..prepared import Prepared
from ._parts import Part, Summary, absolute_mean, split
from .bins import event

_CELLS = 2**10
_NARROWEST = 2.0**-10
_STEPS = 8
_TINY = 1e-300
_NODES = 256
_WIDE = 2.0**-6
"""From this bandwidth on, four cells of the coarser grid of nodes, that one is fine enough."""


def smooth_calibration_error(
    prepared: Prepared,
    *,
    kind: str = "top-label",
    bandwidth: float | None = None,
    classes: Any = None,
) -> Summary:
    """Kernel-smoothed residuals, at the bandwidth that equals the error.

    The interval's gaps are the residuals smoothed at the bandwidth of the sample: since the error
    falls with the bandwidth, a resample exceeds the observed error just where its residuals at
    that bandwidth do.
    """
    p, hit = event(prepared, kind, classes)
    found: list[float] = []  # the bandwidth of the sample itself, which comes first

    def make() -> Any:
        residual, index = p - hit, bin_of(p, _CELLS)
        return prepared.matrix(index, _CELLS, [None, residual, residual * (p * _CELLS - index)])

    def reduce(sums: FloatArray) -> FloatArray:
        from scipy.fft import dct

        transform = dct(_on_nodes(sums), type=1, axis=1)
        values = _level(transform, bandwidth) if bandwidth else _fixed_points(transform)
        if not found:
            found.append(bandwidth or max(float(np.nan_to_num(values[0])), _NARROWEST))
        return np.column_stack([values, _smoothed(transform, found[0], _NODES)])

    def finish(read: FloatArray) -> FloatArray:
        # Ends of the interval hold half a cell.
        gaps = read[:, 1:].copy()
        gaps[:, [0, -1]] /= 2
        return gaps * ((_NODES + 1) / _NODES)

    return Summary([Part(make, reduce)], finish, norm=absolute_mean, value=lambda read: read[:, 0])


def _on_nodes(sums: FloatArray) -> FloatArray:
    """Share each cell between its ends, halve what the transform counts twice; for unit weight."""
    mass, total, upper = np.moveaxis(split(sums, _CELLS), 1, 0)
    nodes = np.zeros((len(sums), _CELLS + 1))
    nodes[:, :-1] = total - upper
    nodes[:, 1:] += upper
    nodes[:, 1:-1] /= 2
    nodes /= mass.sum(axis=1, keepdims=True)
    return nodes


def _smoothed(transform: FloatArray, sigma: Any, nodes: int) -> FloatArray:
    """Return the smoothed residuals at equally spaced points of [0, 1]."""
    from scipy.fft import dct

    width = np.reshape(sigma, (-1, 1)) * (math.pi * np.arange(nodes + 1))
    return np.asarray(dct(transform[:, : nodes + 1] * np.exp(-0.5 * width**2), type=1, axis=1))


def _level(transform: FloatArray, sigma: Any) -> FloatArray:
    """Integrate the absolute smoothed residuals; straight lines between the points."""
    wide = np.nanmin(sigma, initial=np.inf) >= _WIDE
    values = _smoothed(transform, sigma, _NODES if wide else _CELLS)
    size = np.abs(values)
    left, right = size[:, :-1], size[:, 1:]
    crossed = values[:, :-1] * values[:, 1:] < 0
    lost = np.divide(left * right, left + right, out=np.zeros_like(left), where=crossed)
    return ((left + right).sum(axis=1) / 2 - lost.sum(axis=1)) / crossed.shape[1]


def _fixed_points(transform: FloatArray) -> FloatArray:
    """Return the bandwidth that equals its level, by secants in the logarithm.

    The level falls with the bandwidth, so the fixed point lies between a bandwidth and its level.
    """
    narrow = _level(transform, _NARROWEST)
    low = np.full(len(transform), math.log(_NARROWEST))
    high = np.maximum(np.log(narrow), low)
    last, last_excess = low, high - low
    place = (low + 2 * high) / 3  # noise alone has the level sigma^(-1/2)
    for _ in range(_STEPS):
        excess = np.log(np.maximum(_level(transform, np.exp(place)), _TINY)) - place
        low = np.maximum(low, np.minimum(place, place + excess))
        high = np.minimum(high, np.maximum(place, place + excess))
        slope = np.minimum(_slope(excess - last_excess, place - last), -1.0)
        last, last_excess = place, excess
        place = place - excess / slope
        place = np.where((place >= low) & (place <= high), place, (low + high) / 2)
    return np.where(narrow > _NARROWEST, np.exp(place), narrow)


def _slope(rise: FloatArray, run: FloatArray) -> FloatArray:
    return np.divide(rise, run, out=np.full_like(rise, -1.0), where=run != 0)
