"""Calibration without bins: the residuals are smoothed by a kernel whose width they set."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...exceptions import OptionError
from .._core.equal_width import add_sums
from .._curves import ReliabilityCurve
from .._entry import Metric
from .._inputs import count, option
from ._binned import total_weight, width_edges
from ._events import Source, events, read

__all__ = ["smooth_calibration_error", "smooth_reliability_curve"]

_CELLS = 2**13
"""Cells of the grid; the error bound in the docstring below is that of this number."""
_NARROWEST = 2.0**-10
"""The least bandwidth: 16 cells."""
_TOLERANCE = 1e-13
"""Relative error of the fixed point, far below that of the grid."""
_VANISHED = 8.7
"""exp(-x^2 / 2) is below the precision of 1 beyond this x."""


def smooth_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    kind: str = "top-label",
    bandwidth: float | None = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Smooth calibration error (smECE): calibration error without a choice of bins.

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Bigl| \frac1N \sum_i \tilde K_\sigma(f_i, t)
       (f_i - y_i) \Bigr| \, dt, \qquad \mathrm{smECE} = \sigma^* :
       \mathrm{smECE}_{\sigma^*} = \sigma^*

    with predicted probabilities :math:`f_i`, outcomes :math:`y_i` in {0, 1} and the Gaussian
    kernel :math:`\tilde K_\sigma` reflected at 0 and 1. :math:`\mathrm{smECE}_\sigma` falls with
    :math:`\sigma`, so there is one fixed point.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    kind : {"top-label", "positive"}, default="top-label"
        Which event: the most probable class is the true one, or the second of two classes is.
    bandwidth : float, optional
        Return :math:`\mathrm{smECE}_\sigma` at this :math:`\sigma`, at least 1/1024, instead of
        the fixed point.
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    float
        From 0 (best) to 1.

    Notes
    -----
    The residuals are put on a grid of :math:`h = 2^{-13}` with linear weights; there the reflected
    Gaussian is a multiplication of the cosine transform by :math:`e^{-(\pi k \sigma)^2 / 2}`, and
    the integral that of the absolute value of straight lines between the grid's points. Each of
    the two replaces a function by linear interpolation in cells of width :math:`h`, which changes
    its integral by at most :math:`h^2/8` times that of its absolute second derivative, which for
    the kernel is at most :math:`4 \varphi(1) / \sigma^2 = 0.968 / \sigma^2`. Hence

    .. math:: |\text{error of } \mathrm{smECE}_\sigma| \le 0.242 \, (h / \sigma)^2 \,
       \overline{|f - y|} \le 4 \cdot 10^{-9} / \sigma^2,

    and as :math:`\mathrm{smECE}_\sigma` falls with :math:`\sigma`, the fixed point has the same
    error: :math:`4 \cdot 10^{-7}` for a smECE of 0.1 and :math:`4 \cdot 10^{-5}` for 0.01.

    The bandwidth is not taken below :math:`2^{-10}`. A smaller fixed point is replaced by
    :math:`\mathrm{smECE}_\sigma` at that bandwidth, which is at most the fixed point.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran. Smooth ECE: Principled Reliability Diagrams via Kernel
       Smoothing. ICLR 2024.

    Examples
    --------
    >>> from caveat.metrics import smooth_calibration_error
    >>> p = [0.1, 0.4, 0.6, 0.9]
    >>> round(smooth_calibration_error([0, 1, 0, 1], p, kind="positive"), 6)
    0.142281
    """
    option(kind, "kind", ("top-label", "positive"))
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    (residuals,) = _transforms(source, kind, ("residual",))
    level = _level(residuals)
    return _fixed_point(level) if bandwidth is None else level(_check_bandwidth(bandwidth))


def smooth_reliability_curve(
    y_true: Any,
    probabilities: Any,
    *,
    points: int = 100,
    kind: str = "top-label",
    bandwidth: float | None = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> ReliabilityCurve:
    r"""Reliability diagram without bins: kernel means of probability and outcome.

    Around points :math:`t` in [0, 1] the means of :math:`f_i` and of :math:`y_i` with the weights
    :math:`\tilde K_\sigma(f_i, t)` of `smooth_calibration_error`, whose value is the mean absolute
    difference of the two by weight, as the number of points grows.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    points : int, default=100
        How many equal cells of [0, 1] the kernel's weights are summed over.
    kind : {"top-label", "positive"}, default="top-label"
    bandwidth : float, optional
        At least 1/1024; by default the smooth calibration error itself, and no less than that.
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    ReliabilityCurve
        ``weight`` is the kernel's weight in the cell, in samples; ``low`` and ``high`` bound the
        cell. Cells whose weight is below 1e-9 of the mean one are left out.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran. Smooth ECE: Principled Reliability Diagrams via Kernel
       Smoothing. ICLR 2024.

    Examples
    --------
    >>> from caveat.metrics import smooth_reliability_curve
    >>> curve = smooth_reliability_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9], kind="positive")
    >>> int(curve.weight.sum().round(9)), len(curve.predicted)
    (4, 100)
    """
    points = count(points, "points")
    option(kind, "kind", ("top-label", "positive"))
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    mass, predicted, observed = _transforms(source, kind, ("mass", "predicted", "observed"))
    if bandwidth is None:
        sigma = max(_fixed_point(_level(predicted - observed)), _NARROWEST)
    else:
        sigma = _check_bandwidth(bandwidth)
    density, *sums = _in_cells(np.stack([mass, predicted, observed]), sigma, points)
    low, high = width_edges(points)
    held = density > 1e-9
    return ReliabilityCurve(
        predicted=sums[0][held] / density[held],
        observed=sums[1][held] / density[held],
        weight=density[held] * (total_weight(source) / points),
        low=low[held],
        high=high[held],
    )


def _check_bandwidth(bandwidth: Any) -> float:
    if not isinstance(bandwidth, int | float) or not _NARROWEST <= bandwidth < math.inf:
        raise OptionError(
            f"bandwidth must be a finite number of at least 1/1024; got {bandwidth!r}"
        )
    return float(bandwidth)


def _transforms(source: Source, kind: str, what: Iterable[str]) -> list[FloatArray]:
    """Return the cosine transforms of measures on [0, 1], divided by the total weight.

    A cell's sum S and first moment T of a value say how linear weights share it between the
    cell's two ends.
    """
    from scipy.fft import dct

    values: dict[str, Callable[[FloatArray, Any], list[Any]]] = {
        "residual": lambda p, hit: _moments(p - hit, p),
        "mass": lambda p, hit: [None, p],
        "predicted": lambda p, hit: _moments(p, p),
        "observed": lambda p, hit: _moments(hit, p),
    }
    chosen = [values[name] for name in what]
    sums = np.zeros((2 * len(chosen), _CELLS))
    for rows, p, hit in events(source, kind):
        measures = [part for moments in chosen for part in moments(p, hit)]
        add_sums(sums, p, measures, source.weights(rows))
    sums /= total_weight(source)
    return [dct(_on_nodes(*pair), type=1) for pair in sums.reshape(-1, 2, _CELLS)]


def _moments(value: Any, p: FloatArray) -> list[Any]:
    return [value, value * p]


def _on_nodes(total: FloatArray, moment: FloatArray) -> FloatArray:
    """Share each cell between its ends, and halve what the transform counts twice."""
    upper = moment * _CELLS - np.arange(_CELLS) * total
    nodes = np.zeros(_CELLS + 1)
    nodes[:-1] = total - upper
    nodes[1:] += upper
    nodes[1:-1] /= 2
    return nodes


def _damped(transform: FloatArray, sigma: float) -> FloatArray:
    """Return the frequencies that a Gaussian of width ``sigma`` leaves."""
    sigma = min(sigma, _VANISHED)  # wider ones leave the mean alone, too
    last = min(_CELLS, math.ceil(_VANISHED / (math.pi * sigma)))
    frequencies = np.arange(last + 1)
    return transform[..., : last + 1] * np.exp(-0.5 * (math.pi * sigma * frequencies) ** 2)


def _level(residuals: FloatArray) -> Callable[[float], float]:
    """Return smECE at a bandwidth, as a function of the bandwidth."""
    from scipy.fft import dct

    def level(sigma: float) -> float:
        smoothed = dct(_damped(residuals, sigma), type=1, n=_CELLS + 1)
        return _absolute_integral(smoothed)

    return level


def _absolute_integral(values: FloatArray) -> float:
    """Integrate the absolute value of straight lines between equally spaced points of [0, 1]."""
    size = np.abs(values)
    trapezia = size.sum() - (size[0] + size[-1]) / 2
    (crossed,) = np.nonzero(values[:-1] * values[1:] < 0)
    left, right = size[crossed], size[crossed + 1]
    return float(trapezia - (left * right / (left + right)).sum()) / (len(values) - 1)


def _fixed_point(level: Callable[[float], float]) -> float:
    """Return the bandwidth that equals its level; if it is too narrow, the level there.

    The level falls with the bandwidth, so the fixed point lies between any bandwidth and its
    level, and in logarithms their difference falls at least as fast as the bandwidth grows.
    """
    low = math.log(_NARROWEST)
    value = level(_NARROWEST)
    if value <= _NARROWEST:
        return value
    high = math.log(value)
    last, last_excess = low, high - low
    place = (low + 2 * high) / 3  # noise alone has the level sigma^(-1/2)
    while high - low > _TOLERANCE:
        excess = math.log(max(level(math.exp(place)), 1e-300)) - place
        low, high = max(low, min(place, place + excess)), min(high, max(place, place + excess))
        slope = min((excess - last_excess) / (place - last), -1.0)
        last, last_excess = place, excess
        place -= excess / slope
        if not low <= place <= high:
            place = (low + high) / 2
    return math.exp(place)


def _in_cells(transforms: FloatArray, sigma: float, cells: int) -> FloatArray:
    """Return the mean density of smoothed measures in equal cells of [0, 1], (measures, cells)."""
    damped = _damped(transforms, sigma)
    damped[:, 1:] *= 2
    frequencies = np.arange(damped.shape[1])
    # The mean of cos(pi k t) over a cell is its value in the middle times a sinc.
    damped *= np.sinc(frequencies / (2 * cells))
    middles = (np.arange(cells) + 0.5) / cells
    return damped @ np.cos(math.pi * np.outer(frequencies, middles))


ENTRIES = [
    Metric(
        name="smooth_calibration_error",
        function=smooth_calibration_error,
        task="classification",
        inputs=("probabilities",),
        direction="lower",
        range=(0.0, 1.0),
        optimum=0.0,
        locality="local",
        proper=False,
        says="How far the probability of the predicted class is from its accuracy, smoothed over "
        "similar probabilities instead of cut into bins.",
        cannot_see="The probabilities of the other classes: always predicting the base rate of the "
        "most probable class gives 0.",
        aliases=("smece", "smooth_ece"),
        curve=smooth_reliability_curve,
    ),
]
