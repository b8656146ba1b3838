"""Calibration errors of single classes: classwise, and of the positive class."""

from functools import partial
from typing import Any

from ._kinds import CALIBRATION_ERROR
from .calibration import binned_error, calibration_sums, reliability_curve

__all__ = ["classwise_calibration_error", "positive_calibration_error"]


def classwise_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    norm: Any = 1,
    binning: str = "equal-width",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Calibration error of every class against the rest, averaged over the classes.

    .. math:: \frac1K \sum_{k=1}^K \sum_{m=1}^M \frac{|B_{m,k}|}{N}
       \bigl|\mathrm{acc}(B_{m,k}) - \mathrm{conf}(B_{m,k})\bigr|

    over bins :math:`B_{m,k}` of :math:`p_k`, with its mean :math:`\mathrm{conf}` and the share
    :math:`\mathrm{acc}` of class :math:`k`: `expected_calibration_error` with
    ``kind="classwise"``. With equal counts it is the `adaptive_calibration_error`.

    References
    ----------
    .. [1] M. Kull et al. Beyond Temperature Scaling: Obtaining Well-Calibrated Multiclass
       Probabilities with Dirichlet Calibration. NeurIPS 2019.

    Examples
    --------
    >>> classwise_calibration_error([0, 1, 1, 1], [[0.75, 0.25], [0.75, 0.25], [0, 1], [0, 1]])
    0.125
    """
    return binned_error(
        y_true, probabilities, bins, "classwise", norm, binning, classes, sample_weight
    )


def positive_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    norm: Any = 1,
    binning: str = "equal-width",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Calibration error of the probability of the second of two classes.

    .. math:: \sum_{m=1}^M \frac{|B_m|}{N}
       \bigl|\mathrm{acc}(B_m) - \mathrm{conf}(B_m)\bigr|

    over bins :math:`B_m` of :math:`p_1`, with its mean :math:`\mathrm{conf}` and the share
    :math:`\mathrm{acc}` of the second class: `expected_calibration_error` with
    ``kind="positive"``, which other libraries call binary ECE. The top label folds :math:`p_1` and
    :math:`1 - p_1` into one, so the two readings differ.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. Cooper, M. Hauskrecht. Obtaining Well Calibrated Probabilities
       Using Bayesian Binning. AAAI 2015.

    Examples
    --------
    >>> positive_calibration_error([0, 1, 1, 1], [0.25, 0.25, 1.0, 1.0])
    0.125
    """
    return binned_error(
        y_true, probabilities, bins, "positive", norm, binning, classes, sample_weight
    )


ENTRIES = [
    CALIBRATION_ERROR(
        function=classwise_calibration_error,
        says="How far the probability of each class is from its frequency, on average over classes "
        "and over bins of equal width of that probability.",
        cannot_see="Subsets whose errors cancel within a bin; and with many classes, most "
        "probabilities near 0 hide what happens to the others.",
        aliases=("classwise_ece",),
        curve=partial(reliability_curve, kind="classwise"),
        sums=partial(calibration_sums, kind="classwise"),
        by_class=True,
        shown=("headline", "compared"),
    ),
    CALIBRATION_ERROR(
        function=positive_calibration_error,
        says="How far the probability of the second of two classes is from its frequency, on "
        "average over bins of equal width of that probability.",
        cannot_see="Subsets whose errors cancel within a bin: always predicting the base rate "
        "gives 0.",
        aliases=("binary_ece", "positive_ece"),
        curve=partial(reliability_curve, kind="positive"),
        sums=partial(calibration_sums, kind="positive"),
        shown=("headline", "compared", "groups", "calibration"),
        two_classes=True,
    ),
]
