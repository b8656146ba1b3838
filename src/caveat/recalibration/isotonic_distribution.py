"""Regression: recalibration of the predictive distribution function."""

from typing import Any

import numpy as np

from .._blocks import row_blocks
from .._validation import FloatArray, as_floats, check_choice
from ..predictions import Gaussian, Quantiles
from ..predictions.quantiles import check_levels
from ._residuals import GaussianMap, gaussian_of

_DECAY = 40.0
_FEW_NODES, _MANY_NODES = 6, 40


class IsotonicDistribution(GaussianMap):
    r"""Map predicted probabilities to observed ones, and compute mean and variance of the result.

    For each target let :math:`u_i = F_i(y_i)` be the predicted probability of what is at most the
    truth, :math:`F_i` the Gaussian with the prediction's mean and variance, and let

    .. math:: R(u) = \frac{1}{n} \Big( \#\{i: u_i < u\} + \tfrac{1}{2} \#\{i: u_i = u\} \Big)

    at each distinct :math:`u_i`, with R(0) = 0, R(1) = 1 and straight lines between these points.
    The recalibrated distribution function is :math:`R(F(\cdot))`. Shares that grow with u are
    their own isotonic regression, so none has to be solved.

    Since every F is a Gaussian, the recalibrated distributions differ by a shift and a stretch
    only: with m and :math:`v^2` the mean and variance of :math:`R(\Phi(\cdot))`, a prediction
    :math:`(\mu, \sigma^2)` becomes :math:`(\mu + m \sigma, v^2 \sigma^2)`. Between two
    neighboring points :math:`R(\Phi(\cdot))` is a truncated Gaussian; its moments are integrated
    by Gauss-Legendre quadrature with a relative error below 1e-12. The tails beyond the smallest
    and the largest :math:`u_i` are the Gaussian's own, with the mass of half a sample each.

    Parameters
    ----------
    output : {"gaussian", "quantiles"}, default="gaussian"
        The moments of the recalibrated distribution, or its quantiles.
    levels : array of shape (levels,), optional
        Levels of the quantiles; by default those of the prediction, or 0.05, 0.1, ..., 0.95.

    Attributes
    ----------
    residuals_ : list of ndarrays
        The distinct standardized residuals :math:`\Phi^{-1}(u_i)` of each target, in order.
    probabilities_ : list of ndarrays
        R there.
    shift_, scale_ : ndarrays of shape (targets,)
        m and v.

    Notes
    -----
    **Requires** a `Gaussian` whose total variances are above 0 (several members are taken as the
    Gaussian with their mixture's mean and variance), or `Quantiles` with the levels
    (1 - level) / 2 and (1 + level) / 2; calibration samples that the model was not trained on.

    **Promises** that without ties R differs from the true distribution function of u by more than
    :math:`\varepsilon + 1 / (2n)` with a probability of at most
    :math:`2 \exp(-2 n \varepsilon^2)`, whatever that distribution is. Reversing the sign of
    targets and predictions reverses the result. The mean moves by a multiple of the predicted
    standard deviation, so errors of the mean change, too.

    **Cannot** promise calibration for single samples, only over all of them; cannot learn more of
    the tails than the largest residuals show; and ``output="gaussian"`` keeps two moments of a
    distribution that need not be Gaussian.

    References
    ----------
    Kuleshov, Fenner, Ermon, Accurate uncertainties for deep learning using calibrated regression
    (2018).

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> isotonic = caveat.IsotonicDistribution().fit(prediction, [1.0, 2.0, 3.0, 4.0])
    >>> isotonic.probabilities_
    [array([0.125, 0.375, 0.625, 0.875])]
    >>> isotonic.transform(prediction).mean.ravel().round(2)
    array([2.23, 2.23, 2.23, 2.23])
    """

    output: str = "gaussian"
    levels: Any = None

    def _fit(self, prediction: Any, y: FloatArray, weight: FloatArray | None) -> None:
        check_choice(self.output, "output", ("gaussian", "quantiles"))
        if self.levels is not None:
            check_levels(as_floats(self.levels, "levels")[0])
        curves = [_curve(*known) for known in self._residuals(prediction, y, weight)]
        self.residuals_ = [points for points, _ in curves]
        self.probabilities_ = [heights for _, heights in curves]
        moments = np.array([_moments(points, heights) for points, heights in curves])
        self.shift_, self.scale_ = moments[:, 0], np.sqrt(moments[:, 1])

    def _transform(self, prediction: Any) -> Gaussian | Quantiles:
        mean, variance = gaussian_of(prediction, self.level).moments()
        deviation = np.sqrt(variance)
        targets = prediction.targets
        if self.output == "gaussian":
            return Gaussian(
                mean + deviation * self.shift_, variance * self.scale_**2, targets=targets
            )
        levels = self._levels(prediction)
        scores = np.array(
            [
                _quantiles(points, heights, levels)
                for points, heights in zip(self.residuals_, self.probabilities_, strict=True)
            ]
        )
        values = mean[..., None] + deviation[..., None] * scores
        return Quantiles(levels, values, targets=targets)

    def _levels(self, prediction: Any) -> FloatArray:
        if self.levels is not None:
            return as_floats(self.levels, "levels")[0]
        if isinstance(prediction, Quantiles):
            return prediction.levels
        return np.arange(1, 20) / 20


def _curve(column: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the distinct residuals and, at each, the share below it plus half of that equal."""
    if weight is None:
        points, mass = np.unique(column, return_counts=True)
    else:
        # The weights break ties, so that not even a rounding depends on the order of the rows.
        order = np.lexsort((weight, column))
        ordered = column[order]
        first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        points, mass = ordered[first], np.add.reduceat(weight[order], first)
    ends = np.cumsum(mass)
    return points, (ends - mass / 2) / ends[-1]


def _moments(points: FloatArray, heights: FloatArray) -> tuple[float, float]:
    """Return mean and variance of the distribution function R(Phi(z))."""
    ends, reached = np.r_[-np.inf, points, np.inf], np.r_[0.0, heights, 1.0]
    place = int(np.searchsorted(points, 0.0))
    if place == len(points) or points[place] != 0:
        # Split the piece around 0, so that the density falls or rises throughout each piece.
        share = _share_below_zero(ends[place], ends[place + 1])
        height = reached[place] + share * (reached[place + 1] - reached[place])
        ends, reached = np.insert(ends, place + 1, 0.0), np.insert(reached, place + 1, height)
    mass = np.diff(reached)
    right = ends[:-1] >= 0
    near = np.where(right, ends[:-1], -ends[1:])
    far = np.where(right, ends[1:], -ends[:-1])
    offset, variance = _truncated(near, far - near)
    location = np.where(right, near + offset, -near - offset)
    mean = float(mass @ location)
    return mean, float(mass @ (variance + (location - mean) ** 2))


def _share_below_zero(low: float, high: float) -> float:
    """Return how much of the Gaussian between ``low`` < 0 and ``high`` > 0 lies below 0."""
    from scipy.special import erf

    below, above = erf(np.array([-low, high]) / np.sqrt(2))
    return below / (below + above)


def _truncated(near: FloatArray, length: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of s in (0, length) under a Gaussian density in near + s.

    That density is proportional to exp(-near s - s^2 / 2), and cut where it has fallen to
    exp(-40). Six nodes are exact to rounding where it falls by less than a tenth.
    """
    reach = 2 * _DECAY / (near + np.hypot(near, np.sqrt(2 * _DECAY)))
    width = np.minimum(length, reach)
    steep = width * (near + width / 2) > 0.1
    mean, variance = np.empty(len(near)), np.empty(len(near))
    for rows, nodes in ((~steep, _FEW_NODES), (steep, _MANY_NODES)):
        mean[rows], variance[rows] = _quadrature(near[rows], width[rows], nodes)
    return mean, variance


def _quadrature(near: FloatArray, width: FloatArray, nodes: int) -> tuple[FloatArray, FloatArray]:
    abscissas, weights = np.polynomial.legendre.leggauss(nodes)
    abscissas, weights = (abscissas[:, None] + 1) / 2, weights[:, None]
    mean, variance = np.empty(len(near)), np.empty(len(near))
    for rows in row_blocks(len(near), nodes):
        steps = abscissas * width[rows]
        density = weights * np.exp(-steps * (near[rows] + steps / 2))
        density /= density.sum(axis=0)
        mean[rows] = (density * steps).sum(axis=0)
        steps -= mean[rows]
        variance[rows] = (density * steps**2).sum(axis=0)
    return mean, variance


def _quantiles(points: FloatArray, heights: FloatArray, levels: FloatArray) -> FloatArray:
    """Return where R(Phi(z)) reaches the levels."""
    from scipy.special import log_ndtr, ndtri_exp

    ends, reached = np.r_[-np.inf, points, np.inf], np.r_[0.0, heights, 1.0]
    place = np.searchsorted(heights, levels)
    low, high = ends[place], ends[place + 1]
    share = (levels - reached[place]) / (reached[place + 1] - reached[place])
    # Logarithms of the smaller tail keep their digits, however far out the piece is.
    mirror = low + high > 0
    low, high = np.where(mirror, -high, low), np.where(mirror, -low, high)
    share = np.where(mirror, 1 - share, share)
    with np.errstate(divide="ignore"):
        logarithm = np.logaddexp(np.log1p(-share) + log_ndtr(low), np.log(share) + log_ndtr(high))
    values = np.clip(ndtri_exp(logarithm), low, high)
    # Within a piece as narrow as a rounding error, neighbors could swap.
    return np.maximum.accumulate(np.where(mirror, -values, values))
