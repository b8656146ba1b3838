"""Statistics of the confidence curve: area above the oracle's, drop and monotonicity."""

from typing import Any

import numpy as np

from ..._validation import FloatArray
from ..batch import Batch
from ..sums import UNBIASED, Sums
from ._kinds import ERROR, SCORE
from .confidence import PARAMETERS as PARAMETERS
from .confidence import (
    Aggregate,
    confidence_curve,
    confidence_oracle_curve,
    remaining_error,
    remaining_part,
)

__all__ = ["confidence_oracle_area_error", "decrease_ratio_score", "error_drop_score"]

# Relative tolerance for the rounding of means that are mathematically equal.
_ROUNDING = 1e-12


def confidence_oracle_area_error(
    error: Any,
    uncertainty: Any,
    *,
    points: int = 100,
    aggregate: Aggregate = "mean",
    sample_weight: Any = None,
) -> float:
    r"""Area between the confidence curve and the oracle's (AUCO).

    .. math:: \sum_{j=0}^{q-1} \left(h_j - h_j^{\mathrm{oracle}}\right)

    Returns
    -------
    From 0 (as good an order as that of the errors themselves) upwards, in the unit of the error;
    lower is better. 0 for a single sample.

    Notes
    -----
    The sum over the points, as in the paper: with 100 points it is 100 times the mean difference.
    Ties count with their expected value over all orders, so the order of the rows does not matter.

    References
    ----------
    .. [1] G. Scalia, C. A. Grambow, B. Pernici, Y.-P. Li, W. H. Green. Evaluating Scalable
       Uncertainty Estimation Methods for Deep Learning-Based Molecular Property Prediction.
       Journal of Chemical Information and Modeling, 60(6), 2020.
    .. [2] E. Ilg et al. Uncertainty Estimates and Multi-Hypotheses Networks for Optical Flow. ECCV,
       2018.

    Examples
    --------
    >>> confidence_oracle_area_error([1.0, 2.0, 3.0, 6.0], [0.1, 0.3, 0.2, 0.4], points=4)
    0.5
    """
    curve = confidence_oracle_curve(
        error, uncertainty, points=points, aggregate=aggregate, sample_weight=sample_weight
    )
    return float(curve.error.sum())


def _oracle_area_sums(batch: Batch, *, points: int = 100, aggregate: Aggregate = "mean") -> Sums:
    parts = [remaining_part(batch, key, points, aggregate) for key in ("uncertainty", "error")]

    def finish(curve: FloatArray, oracle: FloatArray) -> FloatArray:
        return np.maximum(curve - oracle, 0.0).sum(axis=1) + 0 * curve[:, 0]

    return Sums(parts, finish, UNBIASED)


def error_drop_score(
    error: Any,
    uncertainty: Any,
    *,
    points: int = 100,
    aggregate: Aggregate = "mean",
    sample_weight: Any = None,
) -> float:
    r"""How many times lower the error of the most certain samples is than that of all.

    .. math:: h_0 / h_{q-1}

    the first point of the confidence curve over its last.

    Returns
    -------
    1 if the uncertainty says nothing, as for a single sample. Infinite if the most certain samples
    have no error at all, NaN if no sample has.

    Examples
    --------
    >>> error_drop_score([1.0, 2.0, 3.0, 6.0], [0.1, 0.3, 0.2, 0.4], points=4)
    3.0
    """
    return float(_drop(remaining_error(error, uncertainty, points, aggregate, sample_weight)))


def _drop(curve: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(curve[..., 0] / curve[..., -1])  # x / 0 is infinity and 0 / 0 is NaN


def _drop_sums(batch: Batch, *, points: int = 100, aggregate: Aggregate = "mean") -> Sums:
    part = remaining_part(batch, "uncertainty", points, aggregate)
    return Sums([part], _drop, UNBIASED, rests_on=batch.independent / points)


def decrease_ratio_score(
    error: Any,
    uncertainty: Any,
    *,
    points: int = 100,
    aggregate: Aggregate = "mean",
    sample_weight: Any = None,
) -> float:
    r"""Share of the steps along the confidence curve in which it does not rise.

    .. math:: \frac{1}{q - 1} \left|\left\{ j < q - 1 : h_j \ge h_{j+1} \right\}\right|

    It tells how noisy the curve is; use it together with a measure of how low it is.

    Returns
    -------
    A constant uncertainty, or a single sample, has a flat curve and gets 1.

    Notes
    -----
    100 points make 99 comparisons. The paper numbers its points from 1 to 99 but still divides by
    99, with which its own value of 1.0 could not be reached; its first point is the error of all.
    Two points that differ by no more than rounding (one part in 10^12) are equal.

    Examples
    --------
    >>> decrease_ratio_score([2.0, 1.0, 3.0, 6.0], [0.1, 0.2, 0.3, 0.4], points=4)
    0.6666666666666666
    """
    curve = remaining_error(error, uncertainty, points, aggregate, sample_weight)
    return float(_falls(curve))


def _falls(curve: FloatArray) -> FloatArray:
    falls = curve[..., 1:] <= curve[..., :-1] * (1 + _ROUNDING)
    return np.asarray(falls.mean(axis=-1) + 0 * curve[..., 0])


def _falls_sums(batch: Batch, *, points: int = 100, aggregate: Aggregate = "mean") -> Sums:
    return Sums([remaining_part(batch, "uncertainty", points, aggregate)], _falls, UNBIASED)


ENTRIES = [
    ERROR(
        function=confidence_oracle_area_error,
        says="How much error is kept because the most uncertain samples are not those with the "
        "largest errors.",
        cannot_see="Calibration: any increasing transformation of the uncertainty gives the same "
        "value. It has the unit of the error, so models with larger errors tend to larger values.",
        aliases=("auco",),
        curve=confidence_oracle_curve,
        sums=_oracle_area_sums,
        short="AUCO",
        shown=("shift",),
    ),
    SCORE(
        function=error_drop_score,
        range=(0.0, np.inf),
        optimum=None,
        locality="local",
        says="How many times lower the error is for the most certain percent of the samples than "
        "for all of them.",
        cannot_see="Everything between the two ends of the confidence curve; calibration; and with "
        "few samples its last percent is hardly more than one of them.",
        aliases=("error_drop",),
        curve=confidence_curve,
        sums=_drop_sums,
        shown=("shift",),
    ),
    SCORE(
        function=decrease_ratio_score,
        locality="local",
        says="How steadily the error falls as more of the most uncertain samples are removed.",
        cannot_see="How far the error falls: a constant uncertainty, whose curve is flat, gets the "
        "best value.",
        aliases=("decrease_ratio",),
        curve=confidence_curve,
        sums=_falls_sums,
        shown=("shift",),
    ),
]
