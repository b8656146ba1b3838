"""The squared calibration error without the bias of small bins."""

from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._inputs import count
from ..batch import Batch
from ..sums import Sums, length, over
from ._bin_sums import count_parts, shaped_gaps, width_part
from ._binned import binned, check_options, whole_ties
from ._events import read
from ._kinds import CALIBRATION_ERROR
from .calibration import reliability_curve

__all__ = ["debiased_calibration_error"]


def debiased_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    kind: str = "top-label",
    binning: str = "equal-count",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Debiased calibration error: root mean square over bins, corrected for sampling noise.

    .. math:: \Bigl( \sum_m \frac{|B_m|}{N} \Bigl[
       \bigl(\mathrm{acc}(B_m) - \mathrm{conf}(B_m)\bigr)^2 -
       \frac{\mathrm{acc}(B_m) \, (1 - \mathrm{acc}(B_m))}{|B_m| - 1} \Bigr] \Bigr)^{1/2}

    In a finite sample the frequency in a bin scatters around its expectation, and the squared
    difference is too large by that scatter's variance. What is subtracted estimates it without
    bias, so the sum under the root is an unbiased estimate of the squared error of the bins.

    Parameters
    ----------
    kind : {"top-label", "positive", "classwise"}, default="top-label"
        Which event; see `expected_calibration_error`. Classwise, the mean over classes is taken
        under the root, before negative values are replaced (the marginal calibration error of
        [1]_).
    binning : {"equal-count", "equal-width"}, default="equal-count"
        Equal counts, as in [1]_, leave no bin with few samples. A bin ends where the nearest group
        of equal probabilities does: bins that shared one would share its noise, which would be
        subtracted from each. So with few distinct probabilities some bins are empty.
    sample_weight : array of shape (samples,), optional
        Numbers of repetitions: a weight of 2 is two independent samples with the same prediction
        and outcome. Weights of another meaning, such as importance, must be scaled to the
        effective number of samples first, since :math:`|B_m|` is their sum.

    Returns
    -------
    0 if the estimate under the root is negative, as about half of the time for a perfectly
    calibrated model. A bin with fewer than two samples tells nothing about its scatter and is left
    out, and :math:`N` counts the others; NaN if no bin is left, such as with equal counts and fewer
    than two samples for each bin.

    References
    ----------
    .. [1] A. Kumar, P. Liang, T. Ma. Verified Uncertainty Calibration. NeurIPS 2019.
    .. [2] J. Bröcker. Estimating Reliability and Resolution of Probability Forecasts through
       Decomposition of the Empirical Score. Climate Dynamics 39, 655-667, 2012.

    Examples
    --------
    >>> from caveat.metrics import expected_calibration_error
    >>> y, p = [0, 1, 1, 1], [0.125, 0.125, 0.75, 0.75]
    >>> debiased_calibration_error(y, p, kind="positive", bins=2)
    0.0
    >>> round(expected_calibration_error(y, p, kind="positive", bins=2, norm=2), 3)
    0.319
    """
    bins = count(bins, "bins")
    check_options(kind, binning)
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    if binning == "equal-width":
        parts = binned(source, kind, bins, binning, ("gap", "happened", "mass"))
    else:
        parts = whole_ties(source, kind, bins)
    return float(_debiased(*parts))


def _debiased(gap: FloatArray, happened: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the root mean square over (..., events, bins), corrected for sampling noise.

    NaN if no bin has two samples.
    """
    usable = mass >= 2
    variance = over(happened * (mass - happened), np.where(usable, mass * (mass - 1), 0.0))
    squares = np.where(usable, over(gap**2, mass) - variance, 0.0).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        squares = squares / np.where(usable, mass, 0.0).sum(axis=-1)
    return np.sqrt(np.maximum(squares.mean(axis=-1), 0.0))


def _sums(
    batch: Batch,
    *,
    bins: int = 15,
    kind: str = "top-label",
    binning: str = "equal-count",
    classes: Any = None,
) -> Sums:
    """Return the sums of the plain root mean square, whose interval has the same target."""
    if binning == "equal-width":
        part, _ = width_part(batch, bins, kind, classes, ("gap", "happened", "mass"))
        parts = [part]
    else:
        parts = count_parts(batch, bins, kind, classes, happened=True)

    def bin_sums(read: tuple[FloatArray, ...]) -> FloatArray:
        sums = read[0] if binning == "equal-width" else np.stack(read, axis=2)
        return np.moveaxis(sums, 1, 0)

    def finish(*read: FloatArray) -> FloatArray:
        gaps, _, mass = bin_sums(read)
        mass = np.where(mass >= 2, mass, 0.0)
        shaped = shaped_gaps(np.where(mass > 0, gaps, 0.0), mass, 2)
        return np.asarray(shaped / np.sqrt(gaps.shape[1]))

    return Sums(parts, finish, length, value=lambda *read: _debiased(*bin_sums(read)))


ENTRIES = [
    CALIBRATION_ERROR(
        function=debiased_calibration_error,
        says="How far the probability of the predicted class is from its accuracy, as a root mean "
        "square over bins, without the part that chance alone would give.",
        cannot_see="The probabilities of the other classes, and subsets whose errors cancel within "
        "a bin.",
        aliases=("debiased_ece", "dece"),
        curve=partial(reliability_curve, binning="equal-count"),
        sums=_sums,
        cells="top",
        short="DECE",
    )
]
