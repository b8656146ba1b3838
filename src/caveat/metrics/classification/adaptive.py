"""Calibration of every class in ranges of equal count: ACE, and ACE above a threshold."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._parallel import map_threads
from ..._validation import FloatArray, check_number
from .._core.equal_count import bin_sums
from .._core.sharing import is_sharing, shared
from .._curves import ReliabilityCurve
from .._inputs import Labeled, count, labeled
from ..batch import Batch, names_of
from ..sums import Sums, absolute_sum, over
from ._bin_sums import column, count_part, rests
from ._binned import count_curve
from ._events import columns
from ._kinds import CALIBRATION_ERROR

__all__ = [
    "adaptive_calibration_error",
    "adaptive_reliability_curve",
    "thresholded_adaptive_calibration_error",
]


def adaptive_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    bins: int = 15,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Adaptive calibration error: calibration of every class, in ranges of equal count.

    .. math:: \mathrm{ACE} = \frac{1}{KR} \sum_{k=1}^K \sum_{r=1}^R
       \bigl|\mathrm{acc}(B_{r,k}) - \mathrm{conf}(B_{r,k})\bigr|

    where :math:`B_{r,k}` is the r-th of :math:`R` ranges with equal numbers of samples in the order
    of :math:`p_k`, :math:`\mathrm{conf}` the mean of :math:`p_k` in it and :math:`\mathrm{acc}` the
    share of samples of class :math:`k`. Every class and range counts alike.

    Elsewhere the same letters stand for the *average* calibration error, an unweighted mean over
    equal-width bins, or for equal-count bins of the top label alone, which is
    ``expected_calibration_error(..., binning="equal-count")``.

    Parameters
    ----------
    bins : int, default=15
        The number of ranges. Samples with equal probabilities are spread over the ranges they reach
        in every order at once, and a range that ends inside a sample takes the fraction inside.

    Returns
    -------
    From 0 (best) to 1; with two classes both have the same value.

    References
    ----------
    .. [1] J. Nixon, M. Dusenberry, L. Zhang, G. Jerfel, D. Tran. Measuring Calibration in Deep
       Learning. CVPR Workshops 2019.
    .. [2] European Partnership on Metrology 22HLT01 (QUMPHY), deliverable D2, 2026,
       appendix C.1.2, equation 9.

    Examples
    --------
    >>> p = [[0.75, 0.25], [0.75, 0.25], [0.0, 1.0], [0.0, 1.0]]
    >>> adaptive_calibration_error([0, 1, 1, 1], p, bins=2)
    0.125
    """
    bins = count(bins, "bins")
    source = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    return float(np.mean(_class_errors(source, 0.0, bins)))


def thresholded_adaptive_calibration_error(
    y_true: Any,
    probabilities: Any,
    *,
    threshold: float = 0.01,
    bins: int = 15,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Thresholded adaptive calibration error: ACE of the probabilities that are not tiny.

    `adaptive_calibration_error` where class :math:`k` has only the samples with
    :math:`p_k \ge \epsilon` for its ranges. With many classes most probabilities are close to 0 and
    would fill most ranges.

    Parameters
    ----------
    threshold : float, default=0.01
        :math:`\epsilon`, from 0 to 1, the default of the authors' own code; at 0 this is ACE.

    Returns
    -------
    A class that never reaches the threshold is left out of the mean over classes; NaN if none does,
    which a threshold of at most 1 / classes excludes.

    References
    ----------
    .. [1] J. Nixon, M. Dusenberry, L. Zhang, G. Jerfel, D. Tran. Measuring Calibration in Deep
       Learning. CVPR Workshops 2019.

    Examples
    --------
    >>> p = [[0.75, 0.25], [0.75, 0.25], [0.0, 1.0], [0.0, 1.0]]
    >>> thresholded_adaptive_calibration_error([0, 1, 1, 1], p, bins=2)
    0.1875
    """
    bins = count(bins, "bins")
    check_number(threshold, "threshold", 0, 1)
    source = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    errors = _class_errors(source, threshold, bins)
    return float(np.mean(errors)) if errors else float("nan")


def adaptive_reliability_curve(
    y_true: Any,
    probabilities: Any,
    *,
    threshold: float = 0.0,
    bins: int = 15,
    classes: Any = None,
    sample_weight: Any = None,
) -> dict[Any, ReliabilityCurve]:
    """Predicted probability and observed frequency of every class, in ranges of equal count.

    Parameters
    ----------
    threshold : float, default=0
        Smallest probability that counts, from 0 to 1.

    Returns
    -------
    dict of ReliabilityCurve by class
        The mean of ``abs(predicted - observed)`` over a curve, then over the classes, is the
        (thresholded) adaptive calibration error. The edges are the smallest and the largest
        probability in the range. A class that never reaches the threshold is left out.

    Examples
    --------
    >>> curves = adaptive_reliability_curve([0, 1, 1, 1], [0.25, 0.25, 1.0, 1.0], bins=2)
    >>> curves[1].predicted, curves[1].observed
    (array([0.25, 1.  ]), array([0.5, 1. ]))
    """
    bins = count(bins, "bins")
    check_number(threshold, "threshold", 0, 1)
    source = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    names = source.classes.tolist()
    return {
        names[k]: count_curve(*kept, bins)
        for k, p, hit in columns(source)
        if (kept := _from(threshold, p, hit, source.weight)) is not None
    }


_USUAL = (0.0, 0.01)
"""The thresholds of the two errors."""

Kept = tuple[FloatArray, NDArray[np.bool_], FloatArray | None]


def _class_errors(source: Labeled, threshold: float, bins: int) -> list[float]:
    """Return the error of each class that reaches the threshold.

    Where metrics share their work, the usual thresholds are computed in one pass.
    """
    thresholds = _USUAL if is_sharing() and threshold in _USUAL else (threshold,)
    arrays = (source.codes, source.probabilities, source.weight)
    errors = shared(
        ("adaptive", thresholds, bins), arrays, lambda: _all_errors(source, thresholds, bins)
    )
    return errors[threshold]


def _all_errors(
    source: Labeled, thresholds: tuple[float, ...], bins: int
) -> dict[float, list[float]]:
    def of_class(column: tuple[int, FloatArray, NDArray[np.bool_]]) -> list[float | None]:
        _, p, hit = column
        kept = [_from(threshold, p, hit, source.weight) for threshold in thresholds]
        return [None if part is None else _mean_gap(*part, bins) for part in kept]

    by_class = map_threads(of_class, columns(source))
    return {
        threshold: [error for error in errors if error is not None]
        for threshold, errors in zip(thresholds, zip(*by_class, strict=True), strict=True)
    }


def _from(
    threshold: float, p: FloatArray, hit: NDArray[np.bool_], weight: FloatArray | None
) -> Kept | None:
    """Return the samples that reach the threshold, or None if none with weight does."""
    kept = p >= threshold
    if not kept.all():
        p, hit = p[kept], hit[kept]
        weight = None if weight is None else weight[kept]
    return (p, hit, weight) if len(p) and (weight is None or weight.any()) else None


def _mean_gap(p: FloatArray, hit: NDArray[np.bool_], weight: FloatArray | None, bins: int) -> float:
    """Return the mean over the ranges of |acc - conf|: each holds 1 / bins of the weight."""
    (sums,) = bin_sums(p, [p - hit], bins, weight)
    return float(np.abs(sums).sum() / (len(p) if weight is None else weight.sum()))


def _sums(batch: Batch, *, threshold: float = 0.01, bins: int = 15, classes: Any = None) -> Sums:
    names = names_of(classes)
    parts = [
        count_part(own, partial(column, own, k, classes, threshold), bins, ("class", k, names))
        for k, own in rests(batch, classes)
    ]

    def gaps(read: tuple[FloatArray, ...], first: int) -> FloatArray:
        gap, mass = np.moveaxis(np.stack(read, axis=2), 1, 0)[first : first + 2]
        total = mass.sum(axis=2, keepdims=True)
        occurs = np.count_nonzero(total > 0, axis=1, keepdims=True)
        shaped = over(gap, total) / np.where(occurs > 0, occurs, np.nan)
        return shaped.reshape(len(gap), -1)

    return Sums(
        parts,
        lambda *read: gaps(read, 2),
        absolute_sum,
        value=lambda *read: absolute_sum(gaps(read, 0)),
    )


_SAYS = (
    "How far the probability of each class is from its frequency, on average over classes and over "
    "ranges with equal numbers of samples"
)

ENTRIES = [
    CALIBRATION_ERROR(
        function=adaptive_calibration_error,
        says=f"{_SAYS}.",
        cannot_see="How wide a range is: where samples are sparse it mixes very different "
        "probabilities, and with many classes most ranges hold probabilities near 0.",
        aliases=("ace",),
        curve=adaptive_reliability_curve,
        sums=partial(_sums, threshold=0.0),
        cells="class",
        short="ACE",
        shown=("shift",),
    ),
    CALIBRATION_ERROR(
        function=thresholded_adaptive_calibration_error,
        says=f"{_SAYS}, among the probabilities that reach a threshold.",
        cannot_see="Whatever lies below the threshold, such as a class that occurs although its "
        "probability is close to 0.",
        aliases=("tace",),
        curve=partial(adaptive_reliability_curve, threshold=0.01),
        sums=_sums,
        cells="class",
        short="TACE",
    ),
]
