"""Calibration without bins: residuals smoothed by a kernel whose width follows from them."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..._validation import FloatArray, check_choice, check_number
from .._core.equal_width import add_sums, bin_of
from .._curves import ReliabilityCurve
from .._inputs import count
from ..batch import Batch
from ..sums import Part, Sums, absolute_mean, split
from ._bin_sums import event
from ._binned import total_weight, width_edges
from ._events import EventSource, events, read
from ._kinds import CALIBRATION_ERROR

__all__ = ["smooth_calibration_error", "smooth_reliability_curve"]

_CELLS = 2**13
"""Cells of the grid; the error bound in the docstring below is that of this number."""
_NARROWEST = 2.0**-10
"""The least bandwidth: 16 cells."""
_TOLERANCE = 1e-13
"""Relative error of the fixed point, far below that of the grid."""
_VANISHED = 8.7
"""exp(-x^2 / 2) is below the precision of 1 beyond this x."""
_MOST_STEPS = 200
"""Each step at least halves where the fixed point may be, and secants do far better."""
_TINY = 1e-300

_COARSE = 2**10
"""Cells of the grid of resamples."""
_NODES = 2**8
"""Points at which smoothed resamples are evaluated..."""
_WIDE = 2.0**-6
"""...where the bandwidth is at least four times their distance."""
_STEPS = 8


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
    kind : {"top-label", "positive"}, default="top-label"
        Which event: the most probable class is the true one, or the second of two classes is.
    bandwidth : float, optional
        Return :math:`\mathrm{smECE}_\sigma` at this :math:`\sigma`, at least 1/1024, instead of
        the fixed point.

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
    >>> p = [0.1, 0.4, 0.6, 0.9]
    >>> round(smooth_calibration_error([0, 1, 0, 1], p, kind="positive"), 6)
    0.142281
    """
    check_choice(kind, "kind", ("top-label", "positive"))
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    (residuals,) = _transforms(source, kind, ("residual",))
    return _error(
        residuals, None if bandwidth is None else check_number(bandwidth, "bandwidth", _NARROWEST)
    )


def _error(residuals: FloatArray, bandwidth: float | None) -> float:
    if bandwidth is not None:
        return float(_fine_level(residuals, bandwidth))
    return float(_fixed_points(residuals[None], _fine_level, _MOST_STEPS)[0])


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
    points : int, default=100
        Number of equal cells of [0, 1] over which the weights of the kernel are summed.
    kind : {"top-label", "positive"}, default="top-label"
    bandwidth : float, optional
        At least 1/1024; by default the smooth calibration error itself, and no less than that.

    Returns
    -------
    ``weight`` is the kernel's weight in the cell, in samples; ``low`` and ``high`` bound the cell.
    Cells whose weight is below 1e-9 of the mean one are left out.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran. Smooth ECE: Principled Reliability Diagrams via Kernel
       Smoothing. ICLR 2024.

    Examples
    --------
    >>> curve = smooth_reliability_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9], kind="positive")
    >>> int(curve.weight.sum().round(9)), len(curve.predicted)
    (4, 100)
    """
    points = count(points, "points")
    check_choice(kind, "kind", ("top-label", "positive"))
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    mass, predicted, observed = _transforms(source, kind, ("mass", "predicted", "observed"))
    if bandwidth is None:
        sigma = max(_error(predicted - observed, None), _NARROWEST)
    else:
        sigma = check_number(bandwidth, "bandwidth", _NARROWEST)
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


def _transforms(source: EventSource, kind: str, what: Iterable[str]) -> list[FloatArray]:
    """Return the cosine transforms of measures on [0, 1], divided by the total weight.

    A cell's sum S and first moment T of a value say how linear weights share it between the
    cell's two ends.
    """
    from scipy.fft import dct

    values: dict[str, Callable[[FloatArray, Any], Any]] = {
        "residual": lambda p, hit: p - hit,
        "mass": lambda p, hit: None,
        "predicted": lambda p, hit: p,
        "observed": lambda p, hit: hit,
    }
    chosen = [values[name] for name in what]
    sums = np.zeros((2 * len(chosen), _CELLS))
    for rows, p, hit in events(source, kind):
        measures = [measure(p, hit) for measure in chosen]
        moments = [p if measure is None else measure * p for measure in measures]
        both = [part for pair in zip(measures, moments, strict=True) for part in pair]
        add_sums(sums, p, both, source.weights(rows))
    sums /= total_weight(source)
    total, moment = np.moveaxis(sums.reshape(-1, 2, _CELLS), 1, 0)
    return list(dct(_on_nodes(total, moment * _CELLS - np.arange(_CELLS) * total), type=1))


def _on_nodes(total: FloatArray, upper: FloatArray) -> FloatArray:
    """Divide each cell, (..., cells), between its ends; halve what the transform counts twice.

    ``upper`` is the part that belongs to the upper end.
    """
    nodes = np.zeros((*total.shape[:-1], total.shape[-1] + 1))
    nodes[..., :-1] = total - upper
    nodes[..., 1:] += upper
    nodes[..., 1:-1] /= 2
    return nodes


def _damped(transform: FloatArray, sigma: Any, nodes: int = _CELLS) -> FloatArray:
    """Return the frequencies, (..., frequencies), that Gaussians of width ``sigma`` leave."""
    width = np.minimum(sigma, _VANISHED)  # wider kernels leave only the mean, too
    narrowest = float(np.nanmin(width, initial=_VANISHED))
    last = min(nodes, math.ceil(_VANISHED / (math.pi * narrowest)))
    place = np.reshape(width, (-1, 1) if np.ndim(width) else ()) * np.arange(last + 1)
    return np.asarray(transform[..., : last + 1] * np.exp(-0.5 * (math.pi * place) ** 2))


def _smoothed(transform: FloatArray, sigma: Any, nodes: int) -> FloatArray:
    """Return the smoothed residuals at equally spaced points of [0, 1]."""
    from scipy.fft import dct

    return np.asarray(dct(_damped(transform, sigma, nodes), type=1, n=nodes + 1, axis=-1))


def _level(transform: FloatArray, sigma: Any, nodes: int) -> FloatArray:
    """Return smECE at bandwidths: the absolute integral, straight lines between the points."""
    values = _smoothed(transform, sigma, nodes)
    size = np.abs(values)
    left, right = size[..., :-1], size[..., 1:]
    crossed = values[..., :-1] * values[..., 1:] < 0
    lost = np.divide(left * right, left + right, out=np.zeros_like(left), where=crossed)
    trapezia = size.sum(axis=-1) - (size[..., 0] + size[..., -1]) / 2
    return (trapezia - lost.sum(axis=-1)) / nodes


def _fixed_points(
    transform: FloatArray, level: Callable[..., FloatArray], steps: int
) -> FloatArray:
    """Return the bandwidths that equal their level; if one is too narrow, the level there.

    The level falls with the bandwidth, so the fixed point lies between any bandwidth and its
    level, and in logarithms their difference falls at least as fast as the bandwidth grows: secants
    find it.
    """
    narrow = level(transform, _NARROWEST)
    low = np.full(len(transform), math.log(_NARROWEST))
    high = np.maximum(np.log(np.maximum(narrow, _TINY)), low)
    last, last_excess = low, high - low
    place = (low + 2 * high) / 3  # noise alone has the level sigma^(-1/2)
    for _ in range(steps):
        if not (high - low > _TOLERANCE).any():
            break
        excess = np.log(np.maximum(level(transform, np.exp(place)), _TINY)) - place
        low = np.maximum(low, np.minimum(place, place + excess))
        high = np.minimum(high, np.maximum(place, place + excess))
        rise, run = excess - last_excess, place - last
        slope = np.divide(rise, run, out=np.full_like(rise, -1.0), where=run != 0)
        last, last_excess = place, excess
        place = place - excess / np.minimum(slope, -1.0)
        place = np.where((place >= low) & (place <= high), place, (low + high) / 2)
    return np.where(narrow > _NARROWEST, np.exp(place), narrow)


def _fine_level(transform: FloatArray, sigma: Any) -> FloatArray:
    return _level(transform, sigma, _CELLS)


def _coarse_level(transform: FloatArray, sigma: Any) -> FloatArray:
    wide = np.nanmin(sigma, initial=np.inf) >= _WIDE
    return _level(transform, sigma, _NODES if wide else _COARSE)


def _sums(
    batch: Batch, *, kind: str = "top-label", bandwidth: float | None = None, classes: Any = None
) -> Sums:
    """Smooth a thousand resamples together, on a coarser grid.

    Its error is about (width of a cell / bandwidth)^2 / 12 of the value and the same in every
    resample. The interval's gaps are the residuals smoothed at the bandwidth of the sample: since
    the error falls with the bandwidth, a resample exceeds the observed error just where its
    residuals at that bandwidth do.
    """
    p, hit = event(batch, kind, classes)
    widths: list[float] = []  # the bandwidth of the sample itself, which comes first

    def make() -> Any:
        residual, index = p - hit, bin_of(p, _COARSE)
        # Where a row stands for many samples, its square is theirs.
        square = batch.kept(("square", kind), lambda: residual**2)
        upper = (square + residual * hit) * _COARSE - residual * index
        return batch.matrix(index, _COARSE, [None, residual, upper])

    def reduce(sums: FloatArray) -> FloatArray:
        from scipy.fft import dct

        mass, total, upper = np.moveaxis(split(sums, _COARSE), 1, 0)
        nodes = _on_nodes(total, upper) / mass.sum(axis=1, keepdims=True)
        transform = dct(nodes, type=1, axis=1)
        if bandwidth:
            values = _coarse_level(transform, bandwidth)
        else:
            values = _fixed_points(transform, _coarse_level, _STEPS)
        if not widths:
            widths.append(bandwidth or max(float(np.nan_to_num(values[0])), _NARROWEST))
        return np.column_stack([values, _smoothed(transform, widths[0], _NODES)])

    def finish(read: FloatArray) -> FloatArray:
        # Ends of the interval hold half a cell.
        gaps = read[:, 1:].copy()
        gaps[:, [0, -1]] /= 2
        return gaps * ((_NODES + 1) / _NODES)

    return Sums([Part(make, reduce)], finish, absolute_mean, value=lambda read: read[:, 0])


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
    CALIBRATION_ERROR(
        function=smooth_calibration_error,
        says="How far the probability of the predicted class is from its accuracy, smoothed over "
        "similar probabilities instead of cut into bins.",
        cannot_see="The probabilities of the other classes: always predicting the base rate of the "
        "most probable class gives 0.",
        aliases=("smece", "smooth_ece"),
        curve=smooth_reliability_curve,
        sums=_sums,
        cells="top",
        short="smECE",
        shown=("headline", "compared"),
        serves={"probability": "supporting", "entropy": "supporting"},
    )
]
