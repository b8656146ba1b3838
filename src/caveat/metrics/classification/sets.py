"""Sets of classes: how often they hold the true class, and how large they are."""

from typing import Any

import numpy as np

from ..._validation import FloatArray
from ...predictions import PredictionSet
from .._inputs import average, check_length, codes_of, weights
from .._per_sample import mean_or_scores
from ..means import mean_of, share_of
from ._kinds import LOSS

__all__ = ["mean_set_size", "set_coverage"]


PARAMETERS = {
    "References": """\
.. [1] A. N. Angelopoulos, S. Bates. A Gentle Introduction to Conformal Prediction and
   Distribution-Free Uncertainty Quantification. arXiv:2107.07511, 2021."""
}


@mean_or_scores
def set_coverage(
    y_true: Any,
    membership: Any,
    *,
    classes: Any = None,
    per_sample: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Share of samples whose set of classes holds the true one.

    .. math:: \frac{1}{N} \sum_{i=1}^{N} [y_i \in S_i]

    Returns
    -------
    Neither higher nor lower is better: it should be the nominal coverage that the sets were made
    for.

    Examples
    --------
    >>> set_coverage([0, 1, 2, 1], [[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 1, 1]])
    0.75
    """
    codes, sets, weight = _read(y_true, membership, classes, sample_weight)
    covered = sets[np.arange(len(sets)), codes].astype(np.float64)
    return covered if per_sample else average(covered, weight)


@mean_or_scores
def mean_set_size(
    y_true: Any,
    membership: Any,
    *,
    classes: Any = None,
    per_sample: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    r"""Mean number of classes in a set.

    .. math:: \frac{1}{N} \sum_{i=1}^{N} |S_i|

    Parameters
    ----------
    y_true : array of shape (samples,)
        True classes: checked, but not used; they are there so that
        this is called like any other metric.

    Returns
    -------
    From 0 to the number of classes; lower is better among sets of the same coverage.

    Examples
    --------
    >>> mean_set_size([0, 1, 2, 1], [[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 1, 1]])
    1.75
    """
    _, sets, weight = _read(y_true, membership, classes, sample_weight)
    sizes = np.count_nonzero(sets, axis=1).astype(np.float64)
    return sizes if per_sample else average(sizes, weight)


def _read(
    y_true: Any, membership: Any, classes: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, FloatArray | None]:
    """Return true classes as positions, membership and weights, checked."""
    if not isinstance(membership, PredictionSet):
        # Only its checks are needed; the nominal coverage is not used.
        sets = PredictionSet(membership, coverage=0.5, classes=classes)
    elif classes is None:
        sets = membership
    else:
        sets = PredictionSet(membership.membership, coverage=membership.coverage, classes=classes)
    numbered = np.array_equal(sets.classes, np.arange(len(sets.classes)))
    codes = codes_of(y_true, sets.classes, named=not numbered)
    check_length(codes, len(sets), "y_true", "membership")
    return codes, sets.membership, weights(sample_weight, len(sets))


ENTRIES = [
    LOSS(
        function=set_coverage,
        direction="target",
        range=(0.0, 1.0),
        optimum=None,
        says="How often the set of classes holds the true one; it should be as often as promised.",
        cannot_see="How large the sets are: all classes for everyone always cover; and whether "
        "some classes or groups are covered less than others.",
        sums=share_of(set_coverage),
        unit="share",
        shown=("headline", "compared", "groups", "shift", "calibration"),
    ),
    LOSS(
        function=mean_set_size,
        optimum=None,
        says="How many classes a set holds on average; fewer are more useful at the same coverage.",
        cannot_see="Whether the true class is in the set: empty sets are the smallest.",
        aliases=("set_size",),
        sums=mean_of(mean_set_size),
        shown=("headline", "compared", "groups", "shift", "skill"),
    ),
]
