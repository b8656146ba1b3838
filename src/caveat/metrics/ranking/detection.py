"""How well a score finds what it should: wrong predictions, or samples from elsewhere."""

from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...exceptions import OptionError
from .._core.order import shared_order
from .._core.roc import area_of, area_under_roc, average_precision, roc_points
from .._entry import Metric
from ._checked import detected

__all__ = [
    "detection_average_precision_score",
    "detection_roc_auc_score",
    "error_detection_auroc_score",
    "false_positive_rate_at_true_positive_rate_error",
]

# A rate that is reached on paper may miss it by the rounding of a sum of weights.
_ROUNDING = 1e-12


def error_detection_auroc_score(
    wrong: Any, uncertainty: Any, *, sample_weight: Any = None
) -> float:
    r"""Chance that a wrong prediction is more uncertain than a right one.

    .. math:: P(u_{\mathrm{wrong}} > u_{\mathrm{right}})
              + \tfrac12 P(u_{\mathrm{wrong}} = u_{\mathrm{right}})

    which is the area under the receiver operating characteristic.

    Parameters
    ----------
    wrong : array of shape (samples,)
        Whether each prediction is wrong: booleans, or 0 and 1.
    uncertainty : array of shape (samples,)
        Any measure of it; only its order counts.
    sample_weight : array of shape (samples,), optional
        How often each sample counts.

    Returns
    -------
    float
        From 0 to 1 (all wrong predictions are more uncertain than all right ones), 0.5 for chance,
        as with a constant uncertainty; higher is better. NaN where all predictions are right or
        all are wrong: there is nothing to tell apart.

    References
    ----------
    .. [1] D. Hendrycks, K. Gimpel. A Baseline for Detecting Misclassified and Out-of-Distribution
       Examples in Neural Networks. ICLR, 2017.

    Examples
    --------
    >>> from caveat.metrics import error_detection_auroc_score
    >>> error_detection_auroc_score([False, True, False, True], [0.1, 0.3, 0.4, 0.5])
    0.75
    """
    found = detected(wrong, uncertainty, sample_weight, flag_name="wrong", score_name="uncertainty")
    return area_of(roc_points(*found, order_of=shared_order))


def detection_roc_auc_score(is_out: Any, score: Any, *, sample_weight: Any = None) -> float:
    r"""Chance that a sample from outside scores higher than one from inside.

    .. math:: P(s_{\mathrm{out}} > s_{\mathrm{in}}) + \tfrac12 P(s_{\mathrm{out}} = s_{\mathrm{in}})

    which is the area under the receiver operating characteristic.

    Parameters
    ----------
    is_out : array of shape (samples,)
        Whether each sample is out of distribution: booleans, or 0 and 1.
    score : array of shape (samples,)
        Higher where a sample is more likely to be out of distribution, as an epistemic
        uncertainty; only its order counts. Negate a confidence.
    sample_weight : array of shape (samples,), optional
        How often each sample counts.

    Returns
    -------
    float
        From 0 to 1 (perfect order), 0.5 for chance, as with a constant score; higher is better.
        NaN where all samples are inside or all are outside.

    References
    ----------
    .. [1] D. Hendrycks, K. Gimpel. A Baseline for Detecting Misclassified and Out-of-Distribution
       Examples in Neural Networks. ICLR, 2017.

    Examples
    --------
    >>> from caveat.metrics import detection_roc_auc_score
    >>> detection_roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    return area_under_roc(*_out(is_out, score, sample_weight))


def detection_average_precision_score(
    is_out: Any, score: Any, *, sample_weight: Any = None
) -> float:
    r"""Area under the precision-recall curve of finding samples from outside, as a sum of steps.

    .. math:: \sum_j (R_j - R_{j-1}) P_j

    with precision :math:`P_j` and recall :math:`R_j` where the score is at least the :math:`j`-th
    highest distinct one.

    Parameters
    ----------
    is_out : array of shape (samples,)
        Whether each sample is out of distribution: booleans, or 0 and 1. Those outside are the
        positives.
    score : array of shape (samples,)
        Higher where a sample is more likely to be out of distribution; only its order counts.
    sample_weight : array of shape (samples,), optional
        How often each sample counts.

    Returns
    -------
    float
        From 0 to 1 (perfect order); higher is better. Chance, and a constant score, get the share
        of samples from outside. NaN where there are none, 1 where there are no others.

    Notes
    -----
    Points of the curve are not joined by lines, which would be too optimistic: the definition is
    scikit-learn's.

    References
    ----------
    .. [1] D. Hendrycks, K. Gimpel. A Baseline for Detecting Misclassified and Out-of-Distribution
       Examples in Neural Networks. ICLR, 2017.

    Examples
    --------
    >>> from caveat.metrics import detection_average_precision_score
    >>> round(detection_average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    return average_precision(*_out(is_out, score, sample_weight))


def false_positive_rate_at_true_positive_rate_error(
    is_out: Any, score: Any, *, true_positive_rate: float = 0.95, sample_weight: Any = None
) -> float:
    r"""Share of samples from inside that are flagged when 95 % of those from outside are.

    .. math:: P(s_{\mathrm{in}} \ge t), \qquad
              t = \max \{ t : P(s_{\mathrm{out}} \ge t) \ge \mathrm{TPR} \}

    Parameters
    ----------
    is_out : array of shape (samples,)
        Whether each sample is out of distribution: booleans, or 0 and 1. Those outside are the
        positives.
    score : array of shape (samples,)
        Higher where a sample is more likely to be out of distribution; only its order counts.
    true_positive_rate : float, default=0.95
        The share of samples from outside that has to be flagged, above 0 and at most 1.
    sample_weight : array of shape (samples,), optional
        How often each sample counts.

    Returns
    -------
    float
        From 0 to 1; lower is better. 1 for a constant score. NaN where all samples are inside or
        all are outside.

    Notes
    -----
    The threshold is the highest score at which the rate is reached or exceeded, and all samples
    with that score are flagged: nothing is interpolated, so the value is one that a threshold can
    have. Part of the literature takes the samples from inside as the positives; pass
    ``~is_out`` and ``-score`` for that.

    References
    ----------
    .. [1] S. Liang, Y. Li, R. Srikant. Enhancing the Reliability of Out-of-distribution Image
       Detection in Neural Networks. ICLR, 2018.

    Examples
    --------
    >>> from caveat.metrics import false_positive_rate_at_true_positive_rate_error
    >>> false_positive_rate_at_true_positive_rate_error([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """
    rate = _rate(true_positive_rate)
    _, false, true = roc_points(*_out(is_out, score, sample_weight))
    return _false_at_true(false, true, rate)


def _false_at_true(false: FloatArray, true: FloatArray, rate: float) -> float:
    if not false[-1] * true[-1] > 0:
        return float("nan")
    reached = np.argmax(true / true[-1] >= rate - _ROUNDING)
    return float(false[reached] / false[-1])


def _rate(value: Any) -> float:
    try:
        rate = float(value)
    except (TypeError, ValueError):
        rate = float("nan")
    if not 0 < rate <= 1:
        raise OptionError(
            f"true_positive_rate must be a number above 0 and at most 1; got {value!r}"
        )
    return rate


def _out(is_out: Any, score: Any, sample_weight: Any) -> Any:
    return detected(is_out, score, sample_weight, flag_name="is_out", score_name="score")


_ORDER_ONLY = "Calibration: any increasing transformation of the score gives the same value"

ENTRIES = [
    Metric(
        name="error_detection_auroc_score",
        function=error_detection_auroc_score,
        task="ranking",
        inputs=("uncertainty",),
        direction="higher",
        range=(0.0, 1.0),
        optimum=1.0,
        locality="global",
        proper=False,
        says="How often a wrong prediction is more uncertain than a right one; 0.5 is chance.",
        cannot_see=f"{_ORDER_ONLY}; how many predictions are wrong: a model with few errors, all "
        "of them hard to tell, scores low.",
        aliases=("auroc_error",),
    ),
    Metric(
        name="detection_roc_auc_score",
        function=detection_roc_auc_score,
        task="detection",
        inputs=("score",),
        direction="higher",
        range=(0.0, 1.0),
        optimum=1.0,
        locality="global",
        proper=False,
        says="How often a sample from outside scores higher than one from inside; 0.5 is chance.",
        cannot_see=f"{_ORDER_ONLY}; how many false alarms there are when samples from outside are "
        "rare.",
        aliases=("ood_auc",),
    ),
    Metric(
        name="detection_average_precision_score",
        function=detection_average_precision_score,
        task="detection",
        inputs=("score",),
        direction="higher",
        range=(0.0, 1.0),
        optimum=1.0,
        locality="global",
        proper=False,
        says="How many of the samples with the highest scores are from outside, over all depths; "
        "their share is chance.",
        cannot_see=f"{_ORDER_ONLY}. It cannot be compared between data with different shares of "
        "samples from outside.",
        aliases=("ood_ap",),
    ),
    Metric(
        name="false_positive_rate_at_true_positive_rate_error",
        function=false_positive_rate_at_true_positive_rate_error,
        task="detection",
        inputs=("score",),
        direction="lower",
        range=(0.0, 1.0),
        optimum=0.0,
        locality="global",
        proper=False,
        says="How many samples from inside are flagged by mistake when 95 % of those from outside "
        "are found.",
        cannot_see="Every threshold but one; calibration of the score.",
        aliases=("fpr95",),
    ),
]
