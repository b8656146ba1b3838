"""Errors of point predictions."""

from typing import Any

import numpy as np

from ..._validation import FloatArray, as_floats
from ...exceptions import OptionError
from .._inputs import vector
from .._per_sample import mean_or_scores
from ..batch import Batch
from ..means import mean_of, of_scores, ratio_of_means, root_mean
from ..sums import Sums
from ._checked import mean_score, points, score
from ._kinds import DISTANCE, LOSS

__all__ = ["mean_absolute_error", "mean_absolute_scaled_error", "root_mean_squared_error"]

_LOST = 1e-290


@mean_or_scores
def mean_absolute_error(
    y_true: Any, mean: Any, *, sample_weight: Any = None, per_sample: bool = False
) -> float | FloatArray:
    r"""Average distance of the prediction from the true value (MAE).

    .. math:: \frac{1}{N} \sum_n |y_n - \mu_n|

    Examples
    --------
    >>> mean_absolute_error([120.0, 131.0], [118.0, 135.0])
    3.0
    """
    y, point, weight = points(y_true, mean, sample_weight)
    return score(_absolute_error, weight, per_sample, y, point)


def _absolute_error(y: FloatArray, point: FloatArray) -> FloatArray:
    return np.abs(y - point)


def root_mean_squared_error(y_true: Any, mean: Any, *, sample_weight: Any = None) -> float:
    r"""Root of the average squared distance of the prediction from the true value (RMSE).

    .. math:: \sqrt{\frac{1}{N} \sum_n (y_n - \mu_n)^2}

    Returns
    -------
    From 0 (best) upwards, in the unit of the target; never below the mean absolute error.

    Examples
    --------
    >>> root_mean_squared_error([120.0, 131.0], [113.0, 132.0])
    5.0
    """
    y, point, weight = points(y_true, mean, sample_weight)
    square = mean_score(lambda y, point: (y - point) ** 2, weight, y, point)
    if square > _LOST:
        return float(np.sqrt(square))
    unit = float(np.abs(y - point).max()) or 1.0  # squares of very small errors would be 0
    square = mean_score(lambda y, point: ((y - point) / unit) ** 2, weight, y, point)
    return unit * float(np.sqrt(square))


def _root_sums(batch: Batch) -> Sums:
    y, point, _ = points(batch.truth, batch.inputs["mean"], None)
    return of_scores(batch, [(y - point) ** 2], root_mean)


def mean_absolute_scaled_error(
    y_true: Any,
    mean: Any,
    *,
    y_train: Any = None,
    reference_median: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Mean absolute error over that of always predicting the training median (MASE).

    .. math:: \frac{\sum_n |y_n - \mu_n|}{\sum_n |y_n - \mathrm{median}(y_\mathrm{train})|}

    Both errors are on the given, held-out samples; only the median comes from the training set.
    The measure of the same name for time series divides by the error of a naive forecast instead.

    Parameters
    ----------
    y_train : array of shape (training samples,), optional
        The targets of the training set. Give this or ``reference_median``, not both.
    reference_median : float, optional
        The median of the training targets, where they are not at hand.
    sample_weight : array of shape (samples,), optional
        Weights of the held-out samples, in both errors.

    Returns
    -------
    From 0 (best) upwards; 1 is no better than the training median. NaN if every true value equals
    that median: the reference makes no error, so there is no scale.

    References
    ----------
    .. [1] Report on developing methods on uncertainty quantification for one prototypical
       classification and one prototypical regression problem using PPG signals. 22HLT01 QUMPHY,
       deliverable D2, 2026. Section 2.2.

    Examples
    --------
    >>> mean_absolute_scaled_error([1.0, 5.0], [2.0, 4.0], y_train=[2.0, 3.0, 9.0])
    0.5
    >>> mean_absolute_scaled_error([1.0, 5.0], [2.0, 4.0], reference_median=3.0)
    0.5
    """
    y, point, weight = points(y_true, mean, sample_weight)
    median = _median(y_train, reference_median)
    error = mean_score(_absolute_error, weight, y, point)
    reference = mean_score(lambda y: np.abs(y - median), weight, y)
    return float(error / reference) if reference > 0 else float("nan")


def _scaled_sums(batch: Batch, *, y_train: Any = None, reference_median: Any = None) -> Sums:
    y, point, _ = points(batch.truth, batch.inputs["mean"], None)
    reference = np.abs(y - _median(y_train, reference_median))
    return of_scores(batch, [np.abs(y - point), reference], ratio_of_means)


def _median(y_train: Any, reference_median: Any) -> float:
    if (y_train is None) == (reference_median is None):
        raise OptionError(
            "mean_absolute_scaled_error needs the training set's median, which the held-out "
            "samples cannot tell: pass y_train= or reference_median=, one of the two"
        )
    if y_train is not None:
        return float(np.median(vector(y_train, "y_train")))
    median, _, _ = as_floats(reference_median, "reference_median")
    if median.size != 1 or not np.isfinite(median).all():
        raise OptionError(f"reference_median must be one finite number; got {reference_median!r}")
    return float(median.item())


ENTRIES = [
    DISTANCE(
        function=mean_absolute_error,
        says="How far predictions are from the true values on average, in the unit of the target.",
        cannot_see="The predicted uncertainty; whether the average hides a few large errors.",
        aliases=("mae",),
        sums=mean_of(mean_absolute_error),
        short="MAE",
        shown=("headline", "compared", "groups", "shift", "skill"),
        serves={"variance": "supporting"},
    ),
    DISTANCE(
        function=root_mean_squared_error,
        says="How far predictions are from the true values, large errors counting most.",
        cannot_see="The predicted uncertainty; whether many errors are middling or a few are huge.",
        aliases=("rmse",),
        sums=_root_sums,
        short="RMSE",
        shown=("headline", "shift"),
    ),
    LOSS(
        function=mean_absolute_scaled_error,
        says="The mean absolute error divided by that of always predicting the training median; "
        "below 1 the model has learned something.",
        cannot_see="The predicted uncertainty; whether a bad ratio is a bad model, or targets that "
        "vary little.",
        aliases=("mase",),
        sums=_scaled_sums,
        short="MASE",
    ),
]
