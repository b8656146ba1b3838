"""Calibration in bins of predicted probability: ECE, its variants, and the curve behind them."""

from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray, check_choice
from .._curves import ReliabilityCurve
from .._inputs import count
from ..batch import Batch
from ..sums import Sums
from ._bin_sums import count_parts, norm_of, shaped_gaps, width_part
from ._binned import binned, check_options, curves, total_weight
from ._events import read
from ._kinds import CALIBRATION_ERROR

__all__ = [
    "classwise_calibration_error",
    "expected_calibration_error",
    "maximum_calibration_error",
    "positive_calibration_error",
    "reliability_curve",
]


def expected_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    kind: str = "top-label",
    norm: Any = 1,
    binning: str = "equal-width",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Expected calibration error: how far probabilities are from frequencies, on average.

    .. math:: \mathrm{ECE} = \sum_{m=1}^M \frac{|B_m|}{N}
       \bigl|\mathrm{acc}(B_m) - \mathrm{conf}(B_m)\bigr|

    over bins :math:`B_m` of the predicted probability of an event, with its mean predicted
    probability :math:`\mathrm{conf}` and the share of samples where it happened,
    :math:`\mathrm{acc}`. The absolute difference is the one of the equation of [1]_ and [2]_;
    the squares that the text of [2]_ mentions are ``norm=2``.

    Returns
    -------
    The value of a perfectly calibrated model is above 0 in a finite sample, the more so the more
    bins; see `debiased_calibration_error`.

    See Also
    --------
    reliability_curve : The same, bin by bin.
    smooth_calibration_error : Without bins.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. Cooper, M. Hauskrecht. Obtaining Well Calibrated Probabilities
       Using Bayesian Binning. AAAI 2015.
    .. [2] European Partnership on Metrology 22HLT01 (QUMPHY), deliverable D2, 2026,
       appendix C.1.1, equation 8.
    .. [3] M. Kull et al. Beyond Temperature Scaling: Obtaining Well-Calibrated Multiclass
       Probabilities with Dirichlet Calibration. NeurIPS 2019. (classwise)

    Examples
    --------
    >>> p = [[0.75, 0.25], [0.75, 0.25], [0.0, 1.0], [0.0, 1.0]]
    >>> expected_calibration_error([0, 1, 1, 1], p)
    0.125
    >>> expected_calibration_error([0, 1, 1, 1], [0.25, 0.25, 1, 1], kind="positive", norm="max")
    0.25
    """
    return binned_error(y_true, probabilities, bins, kind, norm, binning, classes, sample_weight)


def binned_error(
    y_true: Any, probabilities: Any, bins: int, kind: str, norm: Any, binning: str, classes: Any,
    sample_weight: Any,
) -> float:  # fmt: skip
    """Return the `expected_calibration_error`."""
    bins = count(bins, "bins")
    check_options(kind, binning)
    check_choice(norm, "norm", (1, 2, "max"))
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    if norm == 1:  # the weight in each bin is not needed, and costs a pass
        (gaps,) = binned(source, kind, bins, binning, ("gap",))
        return float(np.abs(gaps).sum() / (len(gaps) * total_weight(source)))
    gaps, mass = binned(source, kind, bins, binning, ("gap", "mass"))
    return float(norm_of(norm, len(gaps))(shaped_gaps(gaps, mass, norm)))


def calibration_sums(
    batch: Batch,
    *,
    bins: int = 15,
    kind: str = "top-label",
    norm: Any = 1,
    binning: str = "equal-width",
    classes: Any = None,
) -> Sums:
    """Return the gaps of an event in bins; equal-count bins are those of the samples."""
    if binning == "equal-width":
        part, event_count = width_part(batch, bins, kind, classes, ("gap", "mass"))

        def finish(sums: FloatArray) -> FloatArray:
            return shaped_gaps(sums[:, 0], sums[:, 1], norm)

        return Sums([part], finish, norm_of(norm, event_count))
    parts = count_parts(batch, bins, kind, classes)
    size = norm_of(norm, len(parts))

    def gaps(read: tuple[FloatArray, ...], first: int) -> FloatArray:
        stacked = np.moveaxis(np.stack(read, axis=2), 1, 0)
        return shaped_gaps(stacked[first], stacked[first + 1], norm)

    return Sums(parts, lambda *read: gaps(read, 2), size, value=lambda *read: size(gaps(read, 0)))


def maximum_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    kind: str = "top-label",
    binning: str = "equal-width",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Maximum calibration error: the worst bin's difference of probability and frequency.

    .. math:: \max_m \bigl|\mathrm{acc}(B_m) - \mathrm{conf}(B_m)\bigr|

    over the bins that hold samples: `expected_calibration_error` with ``norm="max"``. A bin with a
    single sample counts like any other, so prefer ``binning="equal-count"`` in small samples.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. Cooper, M. Hauskrecht. Obtaining Well Calibrated Probabilities
       Using Bayesian Binning. AAAI 2015.

    Examples
    --------
    >>> maximum_calibration_error([0, 1, 1, 1], [[0.75, 0.25], [0.75, 0.25], [0, 1], [0, 1]])
    0.25
    """
    return binned_error(y_true, probabilities, bins, kind, "max", binning, classes, sample_weight)


def reliability_curve(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    kind: str = "top-label",
    binning: str = "equal-width",
    classes: Any = None,
    sample_weight: Any = None,
) -> ReliabilityCurve | dict[Any, ReliabilityCurve]:
    """Predicted probability and observed frequency in each bin: the reliability diagram.

    Parameters
    ----------
    binning : {"equal-width", "equal-count"}, default="equal-width"
        Equal-width bins without samples are left out. The edges of equal-count bins are the
        smallest and the largest probability in the bin.

    Returns
    -------
    ReliabilityCurve, or dict of them by class if ``kind="classwise"``
        ``predicted`` and ``observed`` are the means over the bin, ``weight`` its samples. The
        expected calibration error is ``average(abs(predicted - observed), weights=weight)``.

    Examples
    --------
    >>> curve = reliability_curve([0, 1, 1, 1], [0.25, 0.25, 1.0, 1.0], kind="positive", bins=4)
    >>> curve.predicted, curve.observed, curve.weight
    (array([0.25, 1.  ]), array([0.5, 1. ]), array([2., 2.]))
    """
    bins = count(bins, "bins")
    check_options(kind, binning)
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    results = curves(source, kind, bins, binning)
    if kind == "classwise":
        return dict(zip(source.classes.tolist(), results, strict=True))
    return results[0]


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
        function=expected_calibration_error,
        says="How far the probability of the predicted class is from its accuracy, on average over "
        "bins of equal width of that probability.",
        cannot_see="The probabilities of the other classes, and subsets whose errors cancel within "
        "a bin: always predicting the base rate gives 0.",
        aliases=("ece",),
        curve=reliability_curve,
        sums=calibration_sums,
        cells="top",
        short="ECE",
        shown=("headline", "compared", "groups", "shift", "calibration"),
        serves={"probability": "calibration"},
    ),
    CALIBRATION_ERROR(
        function=maximum_calibration_error,
        says="How far the probability of the predicted class is from its accuracy in the worst of "
        "the bins.",
        cannot_see="How many samples that bin holds: a bin with a single sample may decide.",
        aliases=("mce",),
        curve=reliability_curve,
        sums=partial(calibration_sums, norm="max"),
        cells="top",
        short="MCE",
    ),
    CALIBRATION_ERROR(
        function=classwise_calibration_error,
        says="How far the probability of each class is from its frequency, on average over classes "
        "and over bins of equal width of that probability.",
        cannot_see="Subsets whose errors cancel within a bin; and with many classes, most "
        "probabilities near 0 hide what happens to the others.",
        aliases=("classwise_ece",),
        curve=partial(reliability_curve, kind="classwise"),
        sums=partial(calibration_sums, kind="classwise"),
        cells="class",
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
