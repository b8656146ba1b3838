"""Uncertainty as closeness to the uniform distribution, for any distance on the simplex."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._registry import Registry
from ..._validation import FloatArray, check_integer
from ...exceptions import InvalidValueError, OptionError, ShapeError
from ._common import (
    Kernel,
    by_blocks,
    check_alpha,
    is_moderate,
    mean_probabilities,
    sum_squares,
)
from .entropies import renyi_kernel, shannon_kernel

__all__ = ["DISTANCES", "geometric_uncertainty"]

DistanceFunction = Callable[[FloatArray, FloatArray], Any]

# How far beyond a vertex rounding can put a sample: ten times what rows in single precision may
# be off 1.
_ROUNDING = 1e-4

_SINGLE_ORDER = 8  # the largest order that is computed in single precision


def geometric_uncertainty(
    probabilities: Any,
    distance: str | DistanceFunction = "fisher-rao",
    *,
    order: int | None = None,
    alpha: float = 2.0,
) -> FloatArray:
    r"""How close the prediction is to a random guess, in a distance of choice.

    .. math:: GU_{n|d}(p) = 1 - \left(\frac{d(p, u)}{d(e, u)}\right)^n

    with :math:`u = (1/C, \dots, 1/C)` and :math:`e = (1, 0, \dots, 0)`. The distances are

    - Fisher-Rao, :math:`2 \arccos \sum_c \sqrt{p_c u_c}`;
    - Euclidean; with order 2 this is the scaled Gini impurity;
    - Kullback-Leibler, :math:`\sum_c p_c \log(p_c / u_c)`; with order 1 the scaled Shannon entropy;
    - Rényi, :math:`\frac{1}{\alpha - 1} \log \sum_c p_c^\alpha u_c^{1 - \alpha}`; with order 1 the
      scaled Rényi entropy.

    Parameters
    ----------
    distance : str or callable, default="fisher-rao"
        "fisher-rao", "euclidean", "kullback-leibler" or "renyi". A callable gets p of shape
        (n, classes), read-only and some of the samples at a time, and u of shape (classes,); it
        returns the n distances of the rows of p from u. It must be largest at the vertices of the
        simplex, and there the same for all.
    order : int, optional
        The exponent n, at least 1; the uncertainty increases with it. By default 2 for Fisher-Rao
        and Euclidean, 1 for the others.
    alpha : float, default=2
        Order of the Rényi divergence, from 0 to infinity; of no effect on the other distances.

    Returns
    -------
    ndarray of shape (samples,)
        From 0 (certain) to 1 (uniform). What rounding puts outside is clipped, and nothing else.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Definition 1.

    Examples
    --------
    >>> p = [[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]]
    >>> geometric_uncertainty(p).round(3)
    array([0.   , 0.438, 1.   ])
    >>> geometric_uncertainty(p, "kullback-leibler")
    array([0. , 0.5, 1. ])
    >>> geometric_uncertainty(p, lambda p, u: abs(p - u).sum(axis=1)).round(3)
    array([0.   , 0.333, 1.   ])
    """
    alpha = check_alpha(alpha, infinity=True)
    kernel, default_order = _resolve(distance, alpha)
    exponent = default_order if order is None else check_integer(order, "order")
    # Rounding grows with the order, and a callable expects double precision.
    double = callable(distance) or exponent > _SINGLE_ORDER or not is_moderate(alpha)
    p = mean_probabilities(probabilities, double=double)
    vertex = np.eye(1, p.shape[1])
    farthest = float(kernel(vertex, np.empty_like(vertex))[0])
    if callable(distance):
        distances = by_blocks(kernel, p)
        _check_distances(distances, farthest)
        return _closeness(distances, farthest, exponent)

    def uncertainty(block: FloatArray, scratch: FloatArray) -> FloatArray:
        return _closeness(kernel(block, scratch), farthest, exponent)

    return by_blocks(uncertainty, p)


def _closeness(distances: FloatArray, farthest: float, order: int) -> FloatArray:
    """Definition 1, in place."""
    distances /= farthest
    distances **= order
    np.subtract(1.0, distances, out=distances)
    return distances.clip(0.0, 1.0, out=distances)


def _fisher_rao(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    # Both roots lie on the unit sphere, where the angle is twice the arcsine of half the chord;
    # unlike the arccosine of their product it is accurate near 0, and no rounding makes it NaN. The
    # distance is twice the angle.
    np.sqrt(block, out=scratch)
    scratch -= math.sqrt(1 / block.shape[1])
    half_chord = np.sqrt(sum_squares(scratch, scratch) / 4)
    return 4 * np.arcsin(half_chord, out=half_chord)


def _euclidean(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    np.subtract(block, 1 / block.shape[1], out=scratch)
    return np.sqrt(sum_squares(scratch, scratch))


def _kullback_leibler(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    return math.log(block.shape[1]) - shannon_kernel(block, scratch)


def _renyi_divergence(block: FloatArray, scratch: FloatArray, alpha: float) -> FloatArray:
    return math.log(block.shape[1]) - renyi_kernel(alpha)(block, scratch)


class Distance(NamedTuple):
    """A distance from the uniform distribution and the order it is used with by default."""

    name: str
    aliases: tuple[str, ...]
    kernel: Callable[..., FloatArray]
    order: int


DISTANCES: Registry[Distance] = Registry(
    "distance",
    [
        Distance("fisher-rao", ("fr",), _fisher_rao, 2),
        Distance("euclidean", ("l2",), _euclidean, 2),
        Distance("kullback-leibler", ("kl",), _kullback_leibler, 1),
        Distance("renyi", ("rényi",), _renyi_divergence, 1),
    ],
)
"""The distances that have a name."""


def _resolve(distance: Any, alpha: float) -> tuple[Kernel, int]:
    """Return the kernel of a distance and its order by default."""
    if callable(distance):
        return partial(_by_callable, distance=distance), 1
    if not isinstance(distance, str):
        raise OptionError(
            f"distance must be a callable or one of {', '.join(DISTANCES)}; got {distance!r}"
        )
    entry = DISTANCES[distance]
    return partial(entry.kernel, alpha=alpha), entry.order


def _by_callable(block: FloatArray, scratch: FloatArray, distance: DistanceFunction) -> FloatArray:
    """Kernel of a distance that knows nothing of scratch space."""
    classes = block.shape[1]
    values = np.asarray(distance(block, np.full(classes, 1 / classes)), dtype=np.float64)
    if values.shape != (len(block),):
        raise ShapeError(
            f"distance must return one number for each of the {len(block)} rows it was given; got "
            f"shape {values.shape}"
        )
    return values


def _check_distances(values: FloatArray, farthest: float) -> None:
    """Raise if the distances of a callable are invalid."""
    if not 0 < farthest < math.inf:
        raise InvalidValueError(
            "distance of a vertex of the simplex from the uniform distribution must be positive "
            f"and finite; got {farthest:g}"
        )
    bad = ~((values >= 0) & (values <= farthest * (1 + _ROUNDING)))
    if bad.any():
        sample = int(np.argmax(bad))
        raise InvalidValueError(
            f"distance of sample {sample} from the uniform distribution is {values[sample]:g}, "
            f"outside 0 to {farthest:g}, that of a vertex of the simplex; pass a distance that is "
            "largest at the vertices"
        )
