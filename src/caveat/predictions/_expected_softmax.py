"""The mean of the softmax of independent Gaussian logits, by one-dimensional integrals."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._validation import FloatArray
from .categorical import softmax

ERROR = 1e-5
"""The largest error of a probability."""

_HERMITE, _GUMBEL = "hermite", "gumbel"
# Up to which standard deviation a rule is used, and its nodes.
_RULES = ((0.5, _HERMITE, 5), (1.2, _HERMITE, 9), (1.7, _HERMITE, 14), (3.0, _GUMBEL, 10))
_LAST = (np.inf, _GUMBEL, 5)
_STEP = 0.75  # in units of the narrowest class, whose own is 1 with little noise
_REACH = 4.7  # standard deviations that are not negligible
_LEFT, _RIGHT = 3.2, 14.0  # how far a Gumbel variable is from its mode, but for one in 10^6
_FEWEST, _MOST, _GROWTH = 16, 4096, 1.2  # points of integration, and from one group to the next
# Where each class ends a piece of the integral, in units of its own, if one step cannot suit all.
_ENDS = np.array([-4.7, -3.6, -2.7, -1.8, -0.9, 0.0, 0.9, 1.8, 2.7, 3.6, 4.7, 7.0, 10.0, 14.0])
_NODES = 6
_ELEMENTS = 2**16


def expected_softmax(mean: FloatArray, std: FloatArray) -> FloatArray:
    r"""Return the mean softmax of independent Gaussian logits, of shape (rows, classes).

    A softmax is the chance that a logit is the largest once independent Gumbel variables are added
    to all of them. So with :math:`F_j` the distribution function of the sum of the j-th Gaussian
    and a Gumbel variable, and :math:`f_j` its density,

    .. math:: \mathrm{E}\,\mathrm{softmax}_k = \int f_k(x) \prod_{j \ne k} F_j(x)\,dx,

    for any number of classes one integral, which the trapezoidal rule gives from some 30 points; if
    the noises differ by orders of magnitude, it is summed from pieces. :math:`F_j` is a mean over
    the Gaussian (by Gauss-Hermite nodes) or, where that is wide, over the Gumbel variable (by the
    Gauss nodes of its distribution). A row's result depends on that row alone, and on the order of
    its classes in the last digits only.
    """
    result = np.empty(mean.shape)
    top = mean.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # a logit that is 1e308 below another has no chance
        mean = mean - top
    certain = ~std.any(axis=1)
    result[certain] = softmax(mean[certain])
    lower = (mean + np.euler_gamma - np.hypot(_LEFT, _REACH * std)).max(axis=1)
    upper = (mean + np.hypot(_RIGHT, _REACH * std)).max(axis=1)
    steps = (upper - lower) / (_STEP * np.maximum(1.0, std.min(axis=1) / 2))
    for rows, points in _by_points(steps, ~certain & (steps <= _MOST)):
        for part in row_blocks(len(rows), mean.shape[1] * points, _ELEMENTS):
            some = rows[part]
            x = np.linspace(lower[some], upper[some], points, axis=1)
            result[some] = _densities(x, mean[some], std[some]).sum(axis=2)
    for row in np.flatnonzero(~certain & (steps > _MOST)):
        result[row] = _pieces(lower[row], upper[row], mean[row], std[row])
    return result / result.sum(axis=1, keepdims=True)


def _by_points(
    steps: FloatArray, wanted: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Yield the rows that are integrated with the same number of points, and that number."""
    size = np.ceil(np.log(np.maximum(steps / _FEWEST, 1.0)) / np.log(_GROWTH))
    for exponent in np.unique(size[wanted]).tolist():
        points = 1 + int(np.ceil(_FEWEST * _GROWTH**exponent))
        yield np.flatnonzero(wanted & (size == exponent)), points


def _pieces(lower: float, upper: float, mean: FloatArray, std: FloatArray) -> FloatArray:
    """Return the integrals of one row by Gauss-Legendre nodes between the ends of its classes."""
    ends = mean + np.hypot(1.0, std) * _ENDS[:, None]
    ends = np.unique(np.clip(ends, lower, upper))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    width = np.diff(ends)[:, None]
    x, weight = ends[:-1, None] + width * (nodes + 1) / 2, width * weights
    total = np.zeros(len(mean))
    for part in row_blocks(x.size, len(mean), _ELEMENTS):
        density = _densities(x.ravel()[None, part], mean[None], std[None])[0]
        total += density @ weight.ravel()[part]
    return total


def _densities(x: FloatArray, mean: FloatArray, std: FloatArray) -> FloatArray:
    """Return what is integrated, (rows, classes, points), at the points x (rows, points)."""
    shape = (*mean.shape, x.shape[1])
    below, density = np.empty(shape), np.empty(shape)
    least = -1.0
    for most, kind, nodes in (*_RULES, _LAST):
        chosen = (std > least) & (std <= most)
        if chosen.any():
            rows, classes = np.nonzero(chosen)
            distance = x[rows] - mean[rows, classes][:, None]
            of = _with_hermite if kind == _HERMITE else _with_gumbel
            below[rows, classes], density[rows, classes] = of(
                distance, std[rows, classes][:, None], nodes
            )
        least = most
    # The product over all other classes: of those before and of those behind.
    density[:, 1:] *= np.cumprod(below[:, :-1], axis=1)
    density[:, :-1] *= np.cumprod(below[:, :0:-1], axis=1)[:, ::-1]
    return density


def _with_hermite(t: FloatArray, std: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return F and f of a Gumbel variable that is moved by each node of the Gaussian."""
    below, density = np.zeros(t.shape), np.zeros(t.shape)
    rate = np.exp(-t)
    for place, weight in zip(*_hermite(nodes), strict=True):
        y = rate * np.exp(std * place)
        np.minimum(y, 700.0, out=y)  # exp(-700) is 0 for our purposes, and inf * 0 is avoided
        chance = np.exp(-y)
        chance *= weight
        below += chance
        y *= chance
        density += y
    return below, density


def _with_gumbel(t: FloatArray, std: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return F and f of a Gaussian that is moved by each node of the Gumbel variable."""
    from scipy.special import ndtr

    below, density = np.zeros(t.shape), np.zeros(t.shape)
    scaled = t / std
    for place, weight in zip(*_gumbel(nodes), strict=True):
        z = scaled - place / std
        below += weight * ndtr(z)
        z *= z
        z *= -0.5
        np.exp(z, out=z)
        density += weight * z
    density /= std * np.sqrt(2 * np.pi)
    return below, density


@lru_cache
def _hermite(nodes: int) -> tuple[FloatArray, FloatArray]:
    places, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return places, weights / weights.sum()


@lru_cache
def _gumbel(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return the Gauss nodes and weights of the Gumbel distribution, by the Stieltjes procedure."""
    x = np.linspace(-5.0, 45.0, 20_001)
    mass = np.exp(-x - np.exp(-x))
    mass /= mass.sum()
    centers, norms = [], [1.0]
    before, now = np.zeros(len(x)), np.ones(len(x))
    for _ in range(nodes):
        centers.append(float(mass @ (x * now**2)))
        rest = (x - centers[-1]) * now - norms[-1] * before
        norms.append(float(np.sqrt(mass @ rest**2)))
        before, now = now, rest / norms[-1]
    off_diagonal = norms[1:-1]
    matrix = np.diag(centers) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    places, vectors = np.linalg.eigh(matrix)
    return places, vectors[0] ** 2
