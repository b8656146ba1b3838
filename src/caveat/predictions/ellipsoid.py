"""Regression: joint regions of several targets."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_floats, check_fraction, check_size
from ..exceptions import InvalidValueError, ShapeError
from ._container import named
from ._targets import WithTargets
from .interval import Interval


class Ellipsoid(WithTargets):
    r"""Ellipsoids that hold all targets of a sample at once, with one nominal coverage.

    The region of a sample is :math:`\{c + A u : |u| \le 1\}` with its center :math:`c` and a lower
    triangular matrix :math:`A`. An infinite region has infinite entries on the diagonal of
    :math:`A` and zeros elsewhere.

    Parameters
    ----------
    center : array of shape (samples, targets)
        Or a frame, whose columns name the targets.
    factor : array of shape (samples, targets, targets)
        :math:`A`, lower triangular with a diagonal above 0.
    coverage : float
        The share of samples meant to be inside, strictly between 0 and 1.

    Attributes
    ----------
    center : ndarray of shape (samples, targets)
    factor : ndarray of shape (samples, targets, targets)
    coverage : float
    targets : ndarray of shape (targets,)

    Examples
    --------
    >>> import caveat
    >>> disk = caveat.Ellipsoid([[0.0, 0.0]], [[[2.0, 0.0], [0.0, 2.0]]], coverage=0.9)
    >>> disk
    Ellipsoid: 1 sample x 2 targets (0, 1), coverage 0.9
    >>> disk.contains([[1.0, 1.5]]), disk.volumes().round(2)
    (array([ True]), array([12.57]))
    >>> disk.bounding_box().upper
    array([[2., 2.]])
    """

    _arrays: ClassVar[dict[str, int]] = {"center": 0, "factor": 0}
    _shared: ClassVar[tuple[str, ...]] = ("coverage", "targets")
    center: FloatArray
    factor: FloatArray
    coverage: float

    def __init__(self, center: Any, factor: Any, *, coverage: float, targets: Any = None) -> None:
        middle, columns, _ = as_floats(center, "center")
        matrix, _, _ = as_floats(factor, "factor")
        if middle.ndim != 2 or matrix.shape != (*middle.shape, middle.shape[1]):
            raise ShapeError(
                "center must have shape (samples, targets) and factor (samples, targets, targets); "
                f"got {middle.shape} and {matrix.shape}"
            )
        check_size(middle, "center", ("sample", "target"))
        check_size(matrix, "factor", ("sample", "target", "target"), infinite=True)
        diagonal = np.diagonal(matrix, axis1=1, axis2=2)
        bad = (diagonal <= 0).any(axis=1) | np.triu(matrix, 1).any(axis=(1, 2))
        infinite = np.isinf(matrix).any(axis=(1, 2))
        alone = np.isinf(diagonal).all(axis=1) & ~np.tril(matrix, -1).any(axis=(1, 2))
        bad |= infinite & ~alone
        if bad.any():
            raise InvalidValueError(
                f"factor of sample {int(bad.argmax())} must be lower triangular with a diagonal "
                "above 0; an infinite region has infinity on the diagonal and zeros elsewhere"
            )
        names = named(targets, columns, "targets", middle.shape[1])
        self._store(
            center=middle,
            factor=matrix,
            coverage=check_fraction(coverage, "coverage"),
            targets=names,
        )

    def contains(self, y: Any) -> NDArray[np.bool_]:
        """Return for each sample whether the true values are inside, (samples,)."""
        gap = self.align(y) - self.center
        steps = np.empty_like(gap)
        for t in range(gap.shape[1]):  # forward substitution, all samples at once
            known = np.einsum("st,st->s", self.factor[:, t, :t], steps[:, :t])
            steps[:, t] = (gap[:, t] - known) / self.factor[:, t, t]
        inside: NDArray[np.bool_] = (steps**2).sum(axis=1) <= 1 + 1e-12
        return inside

    def volumes(self) -> FloatArray:
        """Return the volume of each region, (samples,); infinite where it is unbounded."""
        size = len(self.targets)
        ball = math.pi ** (size / 2) / math.gamma(size / 2 + 1)
        return np.asarray(ball * np.diagonal(self.factor, axis1=1, axis2=2).prod(axis=1))

    def bounding_box(self) -> Interval:
        """Return the smallest boxes around the regions, as intervals of each target."""
        reach = np.sqrt((self.factor**2).sum(axis=2))
        return Interval(
            self.center - reach, self.center + reach, coverage=self.coverage, targets=self.targets
        )

    def _infinite(self) -> NDArray[np.bool_]:
        infinite: NDArray[np.bool_] = np.isinf(self.factor[:, 0, 0])
        return infinite
