"""Detection of wrong predictions and of out-of-distribution samples by a score."""

from functools import partial
from typing import Any

from ..._validation import check_number
from .._core.roc import (
    CurveStatistic,
    area_of,
    false_where_true,
    precision_of,
    roc_part,
    roc_points,
)
from .._core.sharing import shared_order
from ..batch import Batch
from ..sums import UNBIASED, Sums
from ._checked import detected
from ._kinds import DETECTION, SCORE

__all__ = [
    "detection_average_precision_score",
    "detection_roc_auc_score",
    "error_detection_auroc_score",
    "false_positive_rate_at_true_positive_rate_error",
]

PARAMETERS = {
    "References": """\
.. [1] D. Hendrycks, K. Gimpel. A Baseline for Detecting Misclassified and Out-of-Distribution
   Examples in Neural Networks. ICLR, 2017."""
}


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

    Returns
    -------
    From 0 to 1 (all wrong predictions are more uncertain than all right ones), 0.5 for chance, as
    with a constant uncertainty; higher is better. NaN where all predictions are right or all are
    wrong: there is nothing to tell apart.

    Examples
    --------
    >>> error_detection_auroc_score([False, True, False, True], [0.1, 0.3, 0.4, 0.5])
    0.75
    """
    checked = detected(
        wrong, uncertainty, sample_weight, flag_name="wrong", score_name="uncertainty"
    )
    return float(area_of(*roc_points(*checked, order_of=shared_order)[1:]))


def detection_roc_auc_score(is_out: Any, score: Any, *, sample_weight: Any = None) -> float:
    r"""Probability that an out-of-distribution sample scores higher than an in-distribution one.

    .. math:: P(s_{\mathrm{out}} > s_{\mathrm{in}}) + \tfrac12 P(s_{\mathrm{out}} = s_{\mathrm{in}})

    which is the area under the receiver operating characteristic.

    Returns
    -------
    From 0 to 1 (perfect order), 0.5 for chance, as with a constant score; higher is better. NaN
    where all samples are inside or all are outside.

    Examples
    --------
    >>> detection_roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    return _read(area_of, is_out, score, sample_weight)


def detection_average_precision_score(
    is_out: Any, score: Any, *, sample_weight: Any = None
) -> float:
    r"""Area under the precision-recall curve of out-of-distribution detection, as a sum of steps.

    .. math:: \sum_j (R_j - R_{j-1}) P_j

    with precision :math:`P_j` and recall :math:`R_j` where the score is at least the :math:`j`-th
    highest distinct one.

    Returns
    -------
    From 0 to 1 (perfect order); higher is better. Chance, and a constant score, get the share of
    out-of-distribution samples. NaN where there are none, 1 where there are no others.

    Notes
    -----
    Points of the curve are not joined by lines, which would be too optimistic: the definition is
    scikit-learn's.

    Examples
    --------
    >>> round(detection_average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    return _read(precision_of, is_out, score, sample_weight)


def false_positive_rate_at_true_positive_rate_error(
    is_out: Any, score: Any, *, true_positive_rate: float = 0.95, sample_weight: Any = None
) -> float:
    r"""Share of in-distribution samples flagged when 95 % of the out-of-distribution ones are.

    .. math:: P(s_{\mathrm{in}} \ge t), \qquad
              t = \max \{ t : P(s_{\mathrm{out}} \ge t) \ge \mathrm{TPR} \}

    Parameters
    ----------
    true_positive_rate : float, default=0.95
        Share of out-of-distribution samples to flag, above 0 and at most 1.

    Returns
    -------
    1 for a constant score. NaN where all samples are inside or all are outside.

    Notes
    -----
    The threshold is the highest score at which the rate is reached or exceeded, and all samples
    with that score are flagged: nothing is interpolated, so the value is one that a threshold can
    have. Part of the literature takes in-distribution samples as the positives; pass
    ``~is_out`` and ``-score`` for that.

    References
    ----------
    .. [1] S. Liang, Y. Li, R. Srikant. Enhancing the Reliability of Out-of-distribution Image
       Detection in Neural Networks. ICLR, 2018.

    Examples
    --------
    >>> false_positive_rate_at_true_positive_rate_error([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    """
    rate = check_number(true_positive_rate, "true_positive_rate", 0, 1, "right")
    return _read(partial(false_where_true, rate, False), is_out, score, sample_weight)


def _read(statistic: CurveStatistic, is_out: Any, score: Any, sample_weight: Any) -> float:
    checked = detected(is_out, score, sample_weight, flag_name="is_out", score_name="score")
    return float(statistic(*roc_points(*checked)[1:]))


def _sums(statistic: CurveStatistic, score: str, batch: Batch) -> Sums:
    positive, key, _ = detected(
        batch.truth, batch.inputs[score], None, flag_name="truth", score_name=score
    )
    part = roc_part(batch, positive, lambda: key, score, statistic)
    return Sums([part], lambda read: read[:, 0], UNBIASED)


def _false_positive_sums(batch: Batch, *, true_positive_rate: float = 0.95) -> Sums:
    statistic = partial(false_where_true, true_positive_rate, not batch.exact)
    return _sums(statistic, "score", batch)


_ORDER_ONLY = "Calibration: any increasing transformation of the score gives the same value"

ENTRIES = [
    SCORE(
        function=error_detection_auroc_score,
        says="How often a wrong prediction is more uncertain than a right one; 0.5 is chance.",
        cannot_see=f"{_ORDER_ONLY}; how many predictions are wrong: a model with few errors, all "
        "of them hard to tell, scores low.",
        aliases=("auroc_error",),
        sums=partial(_sums, area_of, "uncertainty"),
        shown=("headline", "compared", "shift", "ranking"),
    ),
    DETECTION(
        function=detection_roc_auc_score,
        says="How often an out-of-distribution sample scores higher than an in-distribution one; "
        "0.5 is chance.",
        cannot_see=f"{_ORDER_ONLY}; how many false alarms there are when out-of-distribution "
        "samples are rare.",
        aliases=("ood_auc",),
        sums=partial(_sums, area_of, "score"),
    ),
    DETECTION(
        function=detection_average_precision_score,
        says="How many of the samples with the highest scores are out of distribution, over all "
        "depths; their share is chance.",
        cannot_see=f"{_ORDER_ONLY}. It cannot be compared between data with different shares of "
        "out-of-distribution samples.",
        aliases=("ood_ap",),
        sums=partial(_sums, precision_of, "score"),
    ),
    DETECTION(
        function=false_positive_rate_at_true_positive_rate_error,
        direction="lower",
        optimum=0.0,
        says="How many in-distribution samples are flagged when 95 % of the out-of-distribution "
        "samples are.",
        cannot_see="Every threshold but one; calibration of the score.",
        aliases=("fpr95",),
        sums=_false_positive_sums,
        short="FPR95",
        unit="share",
    ),
]
