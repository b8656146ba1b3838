"""The Brier score in parts."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._validation import FloatArray
from .._inputs import count, labeled
from ..batch import Batch
from ..sums import UNBIASED, Sums, over, square_sum
from ._bin_sums import shaped_gaps, width_part
from ._binned import shared_width
from ._kinds import CALIBRATION_ERROR

__all__ = [
    "BrierDecomposition",
    "brier_calibration_error",
    "brier_decomposition",
    "brier_refinement_loss",
]


PARAMETERS = {
    "References": """\
.. [1] M. H. DeGroot, S. E. Fienberg. The Comparison and Evaluation of Forecasters. Journal of
   the Royal Statistical Society D, 32(1/2), 1983."""
}


@dataclass(frozen=True)
class BrierDecomposition:
    """The Brier score in two parts, and the second of these in three.

    ``calibration + refinement`` is the Brier score, and ``uncertainty - resolution + within_bins``
    is the refinement, both up to rounding.

    Attributes
    ----------
    calibration : float
        Squared difference between mean forecast and observed frequency within bins; 0 is best.
    refinement : float
        Variance, within bins, of what happened minus its forecast: what no correction that shifts
        whole bins can repair.
    uncertainty : float
        The refinement of always forecasting the observed frequencies of the classes.
    resolution : float
        How much of that the bins explain: the variance of the observed frequency between bins.
    within_bins : float
        What bins of finite width leave: the variance of the forecasts within a bin less twice
        their covariance with what happened. 0 where all forecasts of a bin are equal; negative
        where differences within a bin tell something.
    """

    calibration: float
    refinement: float
    uncertainty: float
    resolution: float
    within_bins: float


def brier_decomposition(
    y_true: Any,
    probabilities: Any,
    *,
    classes: Any = None,
    bins: int = 15,
    sample_weight: Any = None,
) -> BrierDecomposition:
    r"""Split the Brier score into calibration and refinement, exactly.

    Cut the forecasts :math:`p_{ik}` of each class :math:`k` into bins of equal width on [0, 1].
    With :math:`y_{ik} = [y_i = k]` and bars for means over the :math:`n_{kb}` samples of a bin,

    .. math::
        \text{calibration} &= \sum_k \sum_b \frac{n_{kb}}{N} (\bar p_{kb} - \bar y_{kb})^2, \\
        \text{refinement} &= \sum_k \sum_b \frac{n_{kb}}{N} \operatorname{Var}_{kb}(y - p)
        = \sum_k \sum_b \frac{n_{kb}}{N} \left[ \bar y_{kb} (1 - \bar y_{kb})
        + \operatorname{Var}_{kb}(p) - 2 \operatorname{Cov}_{kb}(p, y) \right].

    Parameters
    ----------
    bins : int, default=15
        Bins for each class: :math:`[b/B, (b+1)/B)`, the last one closed.

    Returns
    -------
    ``calibration``, ``refinement``, and the parts of the latter.

    Notes
    -----
    The sum of both parts is the Brier score (``brier_loss``) for any number of bins, because the
    refinement keeps the terms within bins [2]_. Without these, as often written, it is so only
    where all forecasts in a bin are equal; then the refinement is the mean of
    :math:`\bar y (1 - \bar y)` and the split is that of [1]_. Cutting each bin into smaller ones
    moves loss from refinement to calibration, never back; with one sample in every bin all of it is
    calibration. A bin of few samples adds its sampling noise to the calibration.

    References
    ----------
    .. [1] M. H. DeGroot, S. E. Fienberg. The Comparison and Evaluation of Forecasters. Journal of
       the Royal Statistical Society D, 32(1/2), 1983.
    .. [2] D. B. Stephenson, C. A. S. Coelho, I. T. Jolliffe. Two Extra Components in the Brier
       Score Decomposition. Weather and Forecasting, 23(4), 2008.

    Examples
    --------
    >>> split = brier_decomposition([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    >>> split.calibration, split.refinement
    (0.125, 0.25)
    """
    number = count(bins, "bins")
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    parts = ("mass", "predicted", "happened", "square")
    weight, forecast, happened, square = shared_width(data, number, parts)
    total = float(weight[0].sum())
    frequency = happened.sum(axis=1, keepdims=True) / total
    used = weight > 0
    n = np.where(used, weight, 1.0)
    gap = forecast - happened
    calibration = float(over(gap**2, weight).sum()) / total
    refinement = float(_refinement(gap, square, weight))
    resolution = float(np.sum(weight * (happened / n - frequency) ** 2)) / total
    uncertainty = float(np.sum(frequency * (1 - frequency)))
    return BrierDecomposition(
        calibration=calibration,
        refinement=refinement,
        uncertainty=uncertainty,
        resolution=resolution,
        within_bins=refinement - uncertainty + resolution,
    )


def _refinement(gap: FloatArray, square: FloatArray, weight: FloatArray) -> FloatArray:
    """Variances of the residuals within the bins, (..., classes, bins)."""
    # Rounding can make the variance of equal residuals slightly negative.
    within = np.maximum(square - over(gap**2, weight), 0.0)
    return within.sum(axis=(-2, -1)) / weight[..., 0, :].sum(axis=-1)


def _calibration_sums(batch: Batch, *, classes: Any = None, bins: int = 15) -> Sums:
    part, _ = width_part(batch, bins, "classwise", classes, ("gap", "mass"))
    return Sums([part], lambda sums: shaped_gaps(sums[:, 0], sums[:, 1], 2), square_sum)


def _refinement_sums(batch: Batch, *, classes: Any = None, bins: int = 15) -> Sums:
    part, _ = width_part(batch, bins, "classwise", classes, ("gap", "square", "mass"))
    return Sums([part], lambda sums: _refinement(*np.moveaxis(sums, 1, 0)), UNBIASED)


def brier_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    classes: Any = None,
    bins: int = 15,
    sample_weight: Any = None,
) -> float:
    r"""Part of the Brier score that comes from forecasts which miss the observed frequencies.

    .. math:: \sum_k \sum_b \frac{n_{kb}}{N} (\bar p_{kb} - \bar y_{kb})^2

    over bins of equal width of the forecasts of each class, as in :func:`brier_decomposition`.

    Returns
    -------
    From 0 (frequencies as forecast in each bin) to 2; lower is better. Added to
    :func:`brier_refinement_loss` with the same bins it gives ``brier_loss``. Not proper.

    Examples
    --------
    >>> brier_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.125
    """
    return brier_decomposition(
        y_true, probabilities, classes=classes, bins=bins, sample_weight=sample_weight
    ).calibration


def brier_refinement_loss(
    y_true: Any,
    probabilities: Any,
    *,
    classes: Any = None,
    bins: int = 15,
    sample_weight: Any = None,
) -> float:
    r"""Part of the Brier score that is left when each bin of forecasts is right on average.

    .. math:: \sum_k \sum_b \frac{n_{kb}}{N} \operatorname{Var}_{kb}(y - p)

    over bins of equal width of the forecasts of each class, as in :func:`brier_decomposition`.

    Returns
    -------
    From 0 (forecasts tell the classes apart) to 2; lower is better. Added to
    :func:`brier_calibration_error` with the same bins it gives ``brier_loss``. Not proper.

    Examples
    --------
    >>> brier_refinement_loss([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    0.25
    """
    return brier_decomposition(
        y_true, probabilities, classes=classes, bins=bins, sample_weight=sample_weight
    ).refinement


BRIER_PART = partial(CALIBRATION_ERROR, unit="", range=(0.0, 2.0), cells="class")

ENTRIES = [
    BRIER_PART(
        function=brier_calibration_error,
        says="The squared difference between similar forecasts and the frequency of the class "
        "among them.",
        cannot_see="Whether the forecasts tell samples apart: the base rate for everyone gets 0. "
        "Errors within a bin that cancel.",
        aliases=("brier_calibration",),
        sums=_calibration_sums,
    ),
    BRIER_PART(
        function=brier_refinement_loss,
        says="How much of the Brier score is left once each bin of forecasts is right on average.",
        cannot_see="Whether the probabilities mean what they say; and how much of it is noise in "
        "the data that no model could remove.",
        aliases=("brier_refinement",),
        sums=_refinement_sums,
    ),
]
