"""The squared calibration error without the bias of small bins."""

import math
from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._entry import Metric
from .._inputs import count
from ._binned import binned, check_options, whole_ties
from ._events import read
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
    r"""Debiased calibration error: root mean square over bins, freed of what chance adds.

    .. math:: \Bigl( \sum_m \frac{|B_m|}{N} \Bigl[
       \bigl(\mathrm{acc}(B_m) - \mathrm{conf}(B_m)\bigr)^2 -
       \frac{\mathrm{acc}(B_m) \, (1 - \mathrm{acc}(B_m))}{|B_m| - 1} \Bigr] \Bigr)^{1/2}

    In a finite sample the frequency in a bin scatters around its expectation, and the squared
    difference is too large by that scatter's variance. What is subtracted estimates it without
    bias, so the sum under the root is an unbiased estimate of the squared error of the bins.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    bins : int, default=15
    kind : {"top-label", "positive", "classwise"}, default="top-label"
        Which event; see `expected_calibration_error`. Classwise, the mean over classes is taken
        under the root, before negative values are replaced (the marginal calibration error of
        [1]_).
    binning : {"equal-count", "equal-width"}, default="equal-count"
        Equal counts, as in [1]_, leave no bin with few samples. A bin ends where the nearest group
        of equal probabilities does: bins that shared one would share its noise, which would be
        subtracted from each. So with few distinct probabilities some bins are empty.
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional
        Numbers of repetitions: a weight of 2 is two independent samples with the same prediction
        and outcome. Weights of another meaning, such as importance, must be scaled to the
        effective number of samples first, since :math:`|B_m|` is their sum.

    Returns
    -------
    float
        From 0 (best) to 1. 0 if the estimate under the root is negative, as about half of the
        time for a perfectly calibrated model. A bin with fewer than two samples tells nothing
        about its scatter and is left out, and :math:`N` counts the others; NaN if no bin is left,
        such as with equal counts and fewer than two samples for each bin.

    References
    ----------
    .. [1] A. Kumar, P. Liang, T. Ma. Verified Uncertainty Calibration. NeurIPS 2019.
    .. [2] J. Bröcker. Estimating Reliability and Resolution of Probability Forecasts through
       Decomposition of the Empirical Score. Climate Dynamics 39, 655-667, 2012.

    Examples
    --------
    >>> from caveat.metrics import debiased_calibration_error, expected_calibration_error
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
    squares = [_debiased_square(*sums) for sums in np.moveaxis(parts, 1, 0)]
    return float(np.sqrt(np.maximum(np.mean(squares), 0.0)))


def _debiased_square(gap: FloatArray, happened: FloatArray, mass: FloatArray) -> float:
    """Return the estimate of the squared error; NaN if no bin has two samples."""
    usable = mass >= 2
    if not usable.any():
        return math.nan
    gap, happened, mass = gap[usable], happened[usable], mass[usable]
    variance = happened * (mass - happened) / mass / (mass - 1)
    return float((gap**2 / mass - variance).sum() / mass.sum())


ENTRIES = [
    Metric(
        name="debiased_calibration_error",
        function=debiased_calibration_error,
        task="classification",
        inputs=("probabilities",),
        direction="lower",
        range=(0.0, 1.0),
        optimum=0.0,
        locality="local",
        proper=False,
        says="How far the probability of the predicted class is from its accuracy, as a root mean "
        "square over bins, without the part that chance alone would give.",
        cannot_see="The probabilities of the other classes, and subsets whose errors cancel within "
        "a bin.",
        aliases=("debiased_ece", "dece"),
        curve=partial(reliability_curve, binning="equal-count"),
    ),
]
