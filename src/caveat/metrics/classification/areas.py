"""How well the probabilities order the samples, over all thresholds."""

from functools import partial
from typing import Any, Literal

import numpy as np

from ..._parallel import map_threads
from ..._validation import FloatArray, check_choice
from .._core.roc import CurveStatistic, area_of, precision_of, roc_part, roc_points
from .._core.sharing import is_sharing, shared
from .._inputs import Labeled, labeled, second_class
from ..batch import Batch, names_of
from ..sums import UNBIASED, Part, Sums
from ._kinds import DECISION_SCORE

__all__ = ["average_precision_score", "roc_auc_score"]


def roc_auc_score(
    y_true: Any,
    probabilities: Any,
    *,
    average: Literal["macro", "weighted"] = "macro",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Chance that a sample of a class gets a higher probability of it than a sample of another.

    .. math:: P(p_+ > p_-) + \tfrac12 P(p_+ = p_-)

    which is the area under the receiver operating characteristic. For two classes :math:`p` is the
    probability of the second; for more, the areas of each class against the rest are averaged.

    Returns
    -------
    From 0 to 1 (perfect order), 0.5 for chance; higher is better. NaN where only one class occurs.

    References
    ----------
    .. [1] T. Fawcett. An introduction to ROC analysis. Pattern Recognition Letters, 27(8), 2006.

    Examples
    --------
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    check_choice(average, "average", ("macro", "weighted"))
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    return _one_against_rest(area_of, data, average)


def average_precision_score(
    y_true: Any,
    probabilities: Any,
    *,
    average: Literal["macro", "weighted"] = "macro",
    classes: Any = None,
    sample_weight: Any = None,
) -> float:
    r"""Area under the precision-recall curve, as a sum of steps.

    .. math:: \sum_j (R_j - R_{j-1}) P_j

    with precision :math:`P_j` and recall :math:`R_j` where the probability is at least the
    :math:`j`-th highest distinct one. For two classes it is the probability of the second; for
    more, the areas of each class against the rest are averaged.

    Returns
    -------
    From 0 to 1 (perfect order); higher is better. Chance gets the share of positives. NaN where the
    second of two classes does not occur, or only one of more.

    Notes
    -----
    Points of the curve are not joined by lines, which would be too optimistic: the definition is
    scikit-learn's.

    References
    ----------
    .. [1] J. Davis, M. Goadrich. The relationship between Precision-Recall and ROC curves. ICML,
       2006.

    Examples
    --------
    >>> round(average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    check_choice(average, "average", ("macro", "weighted"))
    data = labeled(y_true, probabilities, classes=classes, sample_weight=sample_weight)
    return _one_against_rest(precision_of, data, average)


def _one_against_rest(area: CurveStatistic, data: Labeled, average: str) -> float:
    if len(data.classes) == 2:
        return float(area(*_points(data, 1, second_class(data))))
    for _ in data.blocks():  # only checks the rows: the classes are read one by one below
        pass
    mass = np.bincount(data.codes, data.weight, len(data.classes)).astype(np.float64)
    occur = np.flatnonzero(mass > 0)
    # Sorting is the costly part: where results are shared, both areas use the same points.
    wanted = (area_of, precision_of) if is_sharing() else (area,)
    arrays = (data.codes, data.probabilities, data.weight)

    def areas_of(k: int) -> dict[CurveStatistic, float]:
        points = _points(data, k, np.ascontiguousarray(data.probabilities[:, k]))
        return {area: float(area(*points)) for area in wanted}

    per_class = shared("areas", arrays, lambda: map_threads(areas_of, occur.tolist()))
    areas = np.array([by_class[area] for by_class in per_class])
    return float(_mean_of_classes(areas, mass[occur], average))


def _points(data: Labeled, k: int, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    return roc_points(data.codes == k, score, data.weight)[1:]


def _mean_of_classes(areas: FloatArray, mass: FloatArray, average: str) -> FloatArray:
    """The mean over the classes that occur, the last axis; NaN unless there are two."""
    occurs = mass > 0
    weight = mass if average == "weighted" else occurs
    mean = (np.where(occurs, areas, 0.0) * weight).sum(axis=-1) / weight.sum(axis=-1)
    return np.where(np.count_nonzero(occurs, axis=-1) < 2, np.nan, mean)


def _sums(
    statistic: CurveStatistic, batch: Batch, *, average: str = "macro", classes: Any = None
) -> Sums:
    number = len(batch.labeled(classes).classes)
    if number == 2:
        return second_class_sums(batch, statistic, classes)

    def finish(*read: FloatArray) -> FloatArray:
        areas, mass = np.moveaxis(np.stack(read, axis=1), 2, 0)
        return _mean_of_classes(areas, mass, average)

    parts = [_class_part(batch.rest(k), k, statistic, classes) for k in range(number)]
    return Sums(parts, finish, UNBIASED)


def _class_part(batch: Batch, k: int, statistic: CurveStatistic, classes: Any) -> Part:
    data = batch.labeled(classes)
    column = partial(np.ascontiguousarray, data.probabilities[:, k])
    name = ("roc", k, names_of(classes))
    return roc_part(batch, data.codes == k, column, name, statistic, bounded=True)


def second_class_sums(batch: Batch, statistic: CurveStatistic, classes: Any) -> Sums:
    """Return the sums of a statistic of the ROC curve of the second of two classes."""
    part = _class_part(batch, 1, statistic, classes)
    return Sums([part], lambda read: read[:, 0], UNBIASED)


ENTRIES = [
    DECISION_SCORE(
        function=roc_auc_score,
        says="How often a sample of a class ranks above one of another; 0.5 is chance.",
        cannot_see="Calibration: any increasing transformation of the scores gives the same value; "
        "precision where the class is rare.",
        aliases=("auc", "roc_auc", "auroc"),
        sums=partial(_sums, area_of),
        cells="class",
        shown=("headline", "compared"),
        within_class=False,
    ),
    DECISION_SCORE(
        function=average_precision_score,
        says="How pure the samples ranked highest are, over all depths; the share of positives is "
        "chance.",
        cannot_see="Calibration: any increasing transformation of the scores gives the same value; "
        "it cannot be compared between data with different shares of positives.",
        aliases=("pr_auc", "average_precision", "auprc"),
        sums=partial(_sums, precision_of),
        cells="class",
        short="AUPRC",
        within_class=False,
    ),
]
