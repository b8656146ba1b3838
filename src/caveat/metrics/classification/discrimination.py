"""How well the classes are told apart, by the most probable class or by the order of scores."""

from functools import partial
from typing import Any, Literal

import numpy as np

from ..._validation import FloatArray, check_choice
from .._core.confusion import class_counts, matthews, most_probable, of_counts
from .._inputs import average as mean
from .._inputs import labeled, require_two_classes
from .._per_sample import mean_or_scores
from ..means import share_of
from ..sums import over
from ._kinds import DECISION_SCORE

__all__ = [
    "accuracy_score",
    "balanced_accuracy_score",
    "cohen_kappa_score",
    "f1_score",
    "matthews_correlation_score",
]


@mean_or_scores
def accuracy_score(
    y_true: Any,
    probabilities: Any,
    *,
    classes: Any = None,
    per_sample: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Share of samples whose most probable class is the true one.

    .. math:: \frac{1}{N} \sum_{i=1}^{N} [\hat y_i = y_i]

    with :math:`\hat y_i` the most probable class, the first of equals.

    References
    ----------
    .. [1] M. Sokolova, G. Lapalme. A systematic analysis of performance measures for
       classification tasks. Information Processing & Management, 45(4), 2009.

    Examples
    --------
    >>> accuracy_score([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    0.75
    """
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    right = np.empty(len(data))
    for rows, predicted in most_probable(data):
        right[rows] = predicted == data.codes[rows]
    return right if per_sample else mean(right, data.weight)


def balanced_accuracy_score(
    y_true: Any, probabilities: Any, *, classes: Any = None, sample_weight: Any = None
) -> float:
    r"""Mean over the classes of the share of their samples that were recognized.

    .. math:: \frac{1}{|K|} \sum_{k \in K} \frac{\sum_i [\hat y_i = y_i = k]}{\sum_i [y_i = k]}

    with :math:`\hat y_i` the most probable class, the first of equals, and :math:`K` the classes
    that occur.

    Returns
    -------
    From 0 to 1 (all right); higher is better. A constant prediction gets one over the number of
    classes that occur. It is not adjusted for that.

    References
    ----------
    .. [1] K. H. Brodersen, C. S. Ong, K. E. Stephan, J. M. Buhmann. The balanced accuracy and its
       posterior distribution. ICPR, 2010.

    Examples
    --------
    >>> balanced_accuracy_score([0, 0, 0, 1], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    0.5
    """
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    return float(_mean_recall(*class_counts(data)))


def _mean_recall(right: FloatArray, true: FloatArray, _: FloatArray) -> FloatArray:
    return over(right, true).sum(axis=-1) / np.count_nonzero(true > 0, axis=-1)


def f1_score(
    y_true: Any,
    probabilities: Any,
    *,
    average: Literal["macro", "micro", "weighted", "binary"] = "macro",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Harmonic mean of precision and recall.

    For class :math:`k`, with the most probable class (the first of equals) as the predicted one,

    .. math:: F_k = \frac{2\,TP_k}{2\,TP_k + FP_k + FN_k}

    Parameters
    ----------
    average : {"macro", "micro", "weighted", "binary"}, default="macro"
        The mean over classes; the same from the summed counts (which is the accuracy); the mean
        weighted by how often each class occurs; or only the second of two classes. A class that
        neither occurs nor is predicted has no :math:`F_k` and is left out of means.

    Returns
    -------
    From 0 to 1 (all right); higher is better. NaN for ``average="binary"`` where the second class
    neither occurs nor is predicted: 0/0, for which scikit-learn warns and returns 0.

    References
    ----------
    .. [1] C. J. van Rijsbergen. Information Retrieval, 2nd edition. Butterworths, 1979.

    Examples
    --------
    >>> f1_score([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.1], average="binary")
    0.6666666666666666
    """
    check_choice(average, "average", ("macro", "micro", "weighted", "binary"))
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    if average == "binary":
        require_two_classes(data, 'f1_score with average="binary"')
    return float(_f1(*class_counts(data), average))


def _f1(
    right: FloatArray, true: FloatArray, predicted: FloatArray, average: str = "macro"
) -> FloatArray:
    if average == "micro":
        return right.sum(axis=-1) / true.sum(axis=-1)
    if average == "binary":
        right, true, predicted = right[..., 1:], true[..., 1:], predicted[..., 1:]
    each = over(2 * right, true + predicted)
    share = true if average == "weighted" else true + predicted > 0
    with np.errstate(invalid="ignore"):  # no class may be defined
        return np.asarray((each * share).sum(axis=-1) / share.sum(axis=-1))


def matthews_correlation_score(
    y_true: Any, probabilities: Any, *, classes: Any = None, sample_weight: Any = None
) -> float:
    r"""Correlation between the true and the predicted classes.

    .. math:: \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}

    for two classes. For :math:`K` of them, with :math:`t_k` samples of class :math:`k`,
    :math:`p_k` predicted as it and :math:`c` right ones among :math:`N`,

    .. math::
        \frac{c N - \sum_k t_k p_k}{\sqrt{(N^2 - \sum_k p_k^2)(N^2 - \sum_k t_k^2)}}

    which is the same for two. Predicted is the most probable class, the first of equals.

    Returns
    -------
    From -1 to 1 (all right), 0 for chance; higher is better. 0 where one class is predicted for all
    samples (the limit of rare other predictions). NaN where only one class occurs: there is nothing
    to correlate with. scikit-learn returns 0 in both cases.

    References
    ----------
    .. [1] B. W. Matthews. Comparison of the predicted and observed secondary structure of T4 phage
       lysozyme. Biochimica et Biophysica Acta, 405(2), 1975.
    .. [2] J. Gorodkin. Comparing two K-category assignments by a K-category correlation
       coefficient. Computational Biology and Chemistry, 28(5-6), 2004.

    Examples
    --------
    >>> round(matthews_correlation_score([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.1]), 4)
    0.5774
    """
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    return float(matthews(*class_counts(data)))


def cohen_kappa_score(
    y_true: Any, probabilities: Any, *, classes: Any = None, sample_weight: Any = None
) -> float:
    r"""Agreement between the true and the predicted classes beyond that of independent ones.

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}, \qquad
              p_o = \frac{c}{N}, \quad p_e = \sum_k \frac{t_k}{N} \frac{p_k}{N}

    with :math:`t_k` samples of class :math:`k`, :math:`p_k` predicted as it and :math:`c` right
    ones among :math:`N`. Predicted is the most probable class, the first of equals.

    Returns
    -------
    From -1 to 1 (all right), 0 for chance; higher is better. NaN where only one class occurs and
    only that is predicted: 0/0.

    References
    ----------
    .. [1] J. Cohen. A coefficient of agreement for nominal scales. Educational and Psychological
       Measurement, 20(1), 1960.

    Examples
    --------
    >>> cohen_kappa_score([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.1])
    0.5
    """
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    return float(_kappa(*class_counts(data)))


def _kappa(right: FloatArray, true: FloatArray, predicted: FloatArray) -> FloatArray:
    total = true.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a resample of another group may be empty
        chance = (true / total * (predicted / total)).sum(axis=-1)
        wrong = 1 - right.sum(axis=-1) / total[..., 0]
    # Rounding may leave 1 - chance just above 0 where one class is all there is.
    alone = np.count_nonzero(true + predicted > 0, axis=-1) < 2
    return np.where(alone, np.nan, np.clip(1 - wrong / np.where(alone, 1.0, 1 - chance), -1.0, 1.0))


ENTRIES = [
    DECISION_SCORE(
        function=accuracy_score,
        says="The share of samples whose most probable class is the true one.",
        cannot_see="How sure the model was; and with rare classes, whether it knows them at all.",
        aliases=("accuracy",),
        sums=share_of(accuracy_score),
        unit="share",
        shown=("headline", "compared", "groups", "shift", "skill"),
    ),
    DECISION_SCORE(
        function=balanced_accuracy_score,
        says="The share of each class that is recognized, averaged over the classes.",
        cannot_see="How sure the model was; how many false alarms a rare class gets.",
        aliases=("balanced_accuracy",),
        sums=partial(of_counts, _mean_recall),
        cells="label",
        unit="share",
        shown=("headline",),
        within_class=False,
    ),
    DECISION_SCORE(
        function=f1_score,
        says="Whether a class is found where it is, and only there: precision and recall in one.",
        cannot_see="How sure the model was; samples that rightly were not taken for the class.",
        aliases=("f1",),
        sums=partial(of_counts, _f1),
        cells="label",
        within_class=False,
    ),
    DECISION_SCORE(
        function=matthews_correlation_score,
        range=(-1.0, 1.0),
        says="How strongly true and predicted classes go together; 0 is chance.",
        cannot_see="How sure the model was; which kind of error it makes.",
        aliases=("mcc",),
        sums=partial(of_counts, matthews),
        cells="label",
        short="MCC",
        within_class=False,
    ),
    DECISION_SCORE(
        function=cohen_kappa_score,
        range=(-1.0, 1.0),
        says="How much more often true and predicted classes agree than independent ones would.",
        cannot_see="How sure the model was; which kind of error it makes; and its value depends on "
        "the shares of the classes.",
        aliases=("kappa",),
        sums=partial(of_counts, _kappa),
        cells="label",
        within_class=False,
    ),
]
