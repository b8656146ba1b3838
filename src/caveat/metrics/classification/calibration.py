"""Calibration in bins of predicted probability: ECE, its maximum, and the curve behind them."""

from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._curves import ReliabilityCurve
from .._inputs import count, option
from ..batch import Batch
from ..sums import Sums
from ._bin_sums import count_parts, norm_of, shaped_gaps, width_part
from ._binned import binned, check_options, curves, total_weight
from ._events import read
from ._kinds import CALIBRATION_ERROR

__all__ = ["expected_calibration_error", "maximum_calibration_error", "reliability_curve"]


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
    where [2]_ speaks of squares in words, that is ``norm=2``.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes. The members of a
        Categorical are averaged.
    bins : int, default=15
    kind : {"top-label", "positive", "classwise"}, default="top-label"
        Which event. "top-label": the most probable class (the first of equals) is the true one, at
        its probability. "positive": the second of two classes is the true one; elsewhere this is
        called binary ECE. "classwise": each class in turn is the true one, and the mean of the
        classes' values is returned, whatever the norm.
    norm : {1, 2, "max"}, default=1
        The weighted mean of the absolute differences, the root of the weighted mean of their
        squares, or the largest of them.
    binning : {"equal-width", "equal-count"}, default="equal-width"
        Bins :math:`[(m-1)/M, m/M)` of which the last is closed, or bins with the same weight. In
        the second case samples with equal probabilities are spread over the bins they reach in
        every order at once, and a bin that ends inside a sample takes the fraction inside: neither
        the order of the rows nor a remainder of samples / bins changes the result.
    classes : sequence of labels, optional
        The labels of the columns; by default 0, 1, ..., a frame's columns or the Categorical's.
    sample_weight : array of shape (samples,), optional
        A weight of 2 equals a row that is there twice.

    Returns
    -------
    float
        From 0 (best) to 1. The value of a perfectly calibrated model is above 0 in a finite sample,
        the more so the more bins; see `debiased_calibration_error`.

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
    >>> from caveat.metrics import expected_calibration_error
    >>> p = [[0.75, 0.25], [0.75, 0.25], [0.0, 1.0], [0.0, 1.0]]
    >>> expected_calibration_error([0, 1, 1, 1], p)
    0.125
    >>> expected_calibration_error([0, 1, 1, 1], [0.25, 0.25, 1, 1], kind="positive", norm="max")
    0.25
    """
    bins = count(bins, "bins")
    check_options(kind, binning)
    option(norm, "norm", (1, 2, "max"))
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
    """Return the gaps of a reading in bins; of equal-count bins, in those of the samples."""
    if binning == "equal-width":
        part, readings = width_part(batch, bins, kind, classes, ("gap", "mass"))

        def finish(sums: FloatArray) -> FloatArray:
            return shaped_gaps(sums[:, 0], sums[:, 1], norm)

        return Sums([part], finish, norm_of(norm, readings))
    parts = count_parts(batch, bins, kind, classes)
    size = norm_of(norm, len(parts))

    def gaps(read: tuple[FloatArray, ...], first: int) -> FloatArray:
        found = np.moveaxis(np.stack(read, axis=2), 1, 0)
        return shaped_gaps(found[first], found[first + 1], norm)

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

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    bins : int, default=15
    kind : {"top-label", "positive", "classwise"}, default="top-label"
        Which event; see `expected_calibration_error`. Classwise, the mean of the classes' maxima.
    binning : {"equal-width", "equal-count"}, default="equal-width"
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    float
        From 0 (best) to 1.

    References
    ----------
    .. [1] M. Pakdaman Naeini, G. Cooper, M. Hauskrecht. Obtaining Well Calibrated Probabilities
       Using Bayesian Binning. AAAI 2015.

    Examples
    --------
    >>> from caveat.metrics import maximum_calibration_error
    >>> maximum_calibration_error([0, 1, 1, 1], [[0.75, 0.25], [0.75, 0.25], [0, 1], [0, 1]])
    0.25
    """
    return expected_calibration_error(
        y_true,
        probabilities,
        bins=bins,
        kind=kind,
        norm="max",
        binning=binning,
        classes=classes,
        sample_weight=sample_weight,
    )


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
    y_true : array of shape (samples,)
        The true classes: 0, 1, ... or the labels in ``classes``.
    probabilities : array of shape (samples, classes) or (samples,), or Categorical
        One dimension is the probability of the second of two classes.
    bins : int, default=15
    kind : {"top-label", "positive", "classwise"}, default="top-label"
        Which event; see `expected_calibration_error`.
    binning : {"equal-width", "equal-count"}, default="equal-width"
        Equal-width bins without samples are left out. The edges of equal-count bins are the
        smallest and the largest probability in the bin.
    classes : sequence of labels, optional
    sample_weight : array of shape (samples,), optional

    Returns
    -------
    ReliabilityCurve, or dict of them by class if ``kind="classwise"``
        ``predicted`` and ``observed`` are the means over the bin, ``weight`` its samples. The
        expected calibration error is ``average(abs(predicted - observed), weights=weight)``.

    Examples
    --------
    >>> from caveat.metrics import reliability_curve
    >>> curve = reliability_curve([0, 1, 1, 1], [0.25, 0.25, 1.0, 1.0], kind="positive", bins=4)
    >>> curve.predicted, curve.observed, curve.weight
    (array([0.25, 1.  ]), array([0.5, 1. ]), array([2., 2.]))
    """
    bins = count(bins, "bins")
    check_options(kind, binning)
    source = read(y_true, probabilities, kind, classes=classes, sample_weight=sample_weight)
    found = curves(source, kind, bins, binning)
    if kind == "classwise":
        return dict(zip(source.classes.tolist(), found, strict=True))
    return found[0]


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
        short="MCE",
    ),
]
