"""Two classes at one threshold: sensitivity at a given specificity, and the reverse."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._docstrings import entries_of
from ..._validation import check_number
from ...exceptions import OptionError
from .._core.confusion import matthews
from .._core.roc import false_where_true, roc_points, true_where_false
from .._inputs import labeled, require_two_classes, second_class
from ..batch import Batch
from ..sums import Sums
from ._kinds import DECISION_SCORE
from .areas import second_class_sums

__all__ = [
    "OperatingPoint",
    "operating_point",
    "sensitivity_at_specificity_score",
    "specificity_at_sensitivity_score",
]

PARAMETERS = entries_of("""\
sensitivity : float
    Required sensitivity, from 0 to 1.
specificity : float
    Required specificity, from 0 to 1.
""") | {
    "References": """\
.. [1] T. Fawcett. An introduction to ROC analysis. Pattern Recognition Letters, 27(8), 2006."""
}

# Above the rounding of sums of weights, far below any difference between two thresholds.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class OperatingPoint:
    """One threshold for the probability of the second class, and the rates there.

    Attributes
    ----------
    threshold : float
        The second class is predicted where its probability is at least this; infinite where it is
        best never predicted.
    sensitivity : float
        Share of the samples of the second class for which it is predicted.
    specificity : float
        Share of the samples of the first class for which it is predicted.
    mcc : float
        The Matthews correlation of true and predicted classes.
    """

    threshold: float
    sensitivity: float
    specificity: float
    mcc: float


def operating_point(
    y_true: Any,
    probabilities: Any,
    *,
    sensitivity: float | None = None,
    specificity: float | None = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> OperatingPoint:
    r"""Find the threshold with the best specificity at a sensitivity, or the reverse.

    With :math:`\hat y_i(t) = [p_i \ge t]` and :math:`p` the probability of the second class,

    .. math::
        \text{sensitivity}(t) = \frac{\sum_i [p_i \ge t, y_i = 1]}{\sum_i [y_i = 1]}, \qquad
        \text{specificity}(t) = \frac{\sum_i [p_i < t, y_i = 0]}{\sum_i [y_i = 0]}.

    Among the thresholds with at least the sensitivity asked for, this is the one with the highest
    specificity, and if several have it, with the highest sensitivity among these; and the same with
    both words exchanged.

    Parameters
    ----------
    y_true : array of shape (samples,)
        The true classes; the second is the positive one.
    sensitivity, specificity : float, optional
        Required rate, from 0 to 1; give one of the two.

    Returns
    -------
    ``threshold``, ``sensitivity``, ``specificity`` and ``mcc`` there. All NaN where only one class
    occurs. The ``mcc`` is 0 where one class is predicted for all samples.

    Notes
    -----
    Candidates are the distinct probabilities, and infinity. "At least" is meant, not "above", with
    room for rounding (1e-12) in sums of weights. The threshold is chosen on the very samples it is
    judged on; choose it on other data to know what to expect of it.

    Examples
    --------
    >>> point = operating_point([0, 0, 1, 1, 1], [0.2, 0.5, 0.4, 0.7, 0.9], sensitivity=0.9)
    >>> point.threshold, point.sensitivity, point.specificity, round(point.mcc, 4)
    (0.4, 1.0, 0.5, 0.6124)
    """
    if (sensitivity is None) == (specificity is None):
        raise OptionError(
            "give sensitivity= or specificity=, one of the two; got "
            f"{'neither' if sensitivity is None else 'both'}"
        )
    name = "sensitivity" if specificity is None else "specificity"
    least = check_number(sensitivity if specificity is None else specificity, name, 0, 1)
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    require_two_classes(data, "a threshold")
    threshold, false, true = roc_points(data.codes == 1, second_class(data), data.weight)
    if not min(false[-1], true[-1]) > 0:
        return OperatingPoint(*[float("nan")] * 4)
    threshold, false, true = np.r_[np.inf, threshold], np.r_[0.0, false], np.r_[0.0, true]
    occurs = np.array([false[-1], true[-1]])
    if specificity is None:
        first = np.argmax(true / occurs[1] >= least - _ROUNDING)
        place = np.searchsorted(false, false[first], side="right") - 1
    else:
        last = np.flatnonzero((occurs[0] - false) / occurs[0] >= least - _ROUNDING)[-1]
        place = np.searchsorted(true, true[last], side="left")
    right = np.array([occurs[0] - false[place], true[place]])
    predicted = np.array([right[0] + (occurs[1] - right[1]), right[1] + false[place]])
    return OperatingPoint(
        threshold=float(threshold[place]),
        sensitivity=float(right[1] / occurs[1]),
        specificity=float(right[0] / occurs[0]),
        mcc=float(matthews(right, occurs, predicted)),
    )


def specificity_at_sensitivity_score(
    y_true: Any,
    probabilities: Any,
    *,
    sensitivity: float = 0.8,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Best specificity of a threshold whose sensitivity is high enough.

    .. math:: \max_t \; \text{specificity}(t) \quad \text{where} \quad
        \text{sensitivity}(t) \ge s

    over all thresholds :math:`t`; see :func:`operating_point` for these and for the Matthews
    correlation at that threshold.

    Returns
    -------
    NaN where only one class occurs.

    Notes
    -----
    Between two thresholds nothing is interpolated: the
    sensitivity at the threshold found may well be above the one asked for.

    Examples
    --------
    >>> y_true, probabilities = [0, 0, 1, 1, 1], [0.2, 0.5, 0.4, 0.7, 0.9]
    >>> specificity_at_sensitivity_score(y_true, probabilities, sensitivity=0.6)
    1.0
    """
    return operating_point(
        y_true, probabilities, sensitivity=sensitivity, classes=classes, sample_weight=sample_weight
    ).specificity


def sensitivity_at_specificity_score(
    y_true: Any,
    probabilities: Any,
    *,
    specificity: float = 0.8,
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Best sensitivity of a threshold whose specificity is high enough.

    .. math:: \max_t \; \text{sensitivity}(t) \quad \text{where} \quad
        \text{specificity}(t) \ge s

    over all thresholds :math:`t`; see :func:`operating_point` for these and for the Matthews
    correlation at that threshold.

    Returns
    -------
    NaN where only one class occurs.

    Notes
    -----
    Between two thresholds nothing is interpolated: the
    specificity at the threshold found may well be above the one asked for.

    Examples
    --------
    >>> y_true, probabilities = [0, 0, 1, 1, 1], [0.2, 0.5, 0.4, 0.7, 0.9]
    >>> sensitivity_at_specificity_score(y_true, probabilities, specificity=0.5)
    1.0
    """
    return operating_point(
        y_true, probabilities, specificity=specificity, classes=classes, sample_weight=sample_weight
    ).sensitivity


def _specificity_sums(batch: Batch, *, sensitivity: float = 0.8, classes: Any = None) -> Sums:
    false = partial(false_where_true, sensitivity, not batch.exact)
    return second_class_sums(batch, lambda *counts: 1 - false(*counts), classes)


def _sensitivity_sums(batch: Batch, *, specificity: float = 0.8, classes: Any = None) -> Sums:
    true = partial(true_where_false, 1 - specificity, not batch.exact)
    return second_class_sums(batch, true, classes)


AT_RATE = partial(
    DECISION_SCORE,
    cannot_see="Calibration, and every other threshold; how the threshold does on new data.",
    unit="share",
    within_class=False,
    two_classes=True,
)

ENTRIES = [
    AT_RATE(
        function=specificity_at_sensitivity_score,
        says="The highest specificity among thresholds with the required sensitivity.",
        aliases=("specificity_at_sensitivity",),
        sums=_specificity_sums,
    ),
    AT_RATE(
        function=sensitivity_at_specificity_score,
        says="The highest sensitivity among thresholds with the required specificity.",
        aliases=("sensitivity_at_specificity",),
        sums=_sensitivity_sums,
    ),
]
