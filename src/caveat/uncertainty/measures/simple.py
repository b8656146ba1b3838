"""Measures of the probabilities alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray
from ._common import (
    by_blocks,
    by_class,
    largest,
    mean_probabilities,
    measure,
    sum_classes,
    sum_squares,
)

__all__ = [
    "binary_variance",
    "confused_classes",
    "gini_impurity",
    "least_confidence",
    "margin",
]

# Above the rounding of a mean over members, far below any difference between two models.
_ROUNDING = 1e-12

_FEW = 64
"""Classes up to which the two largest are found class by class."""


def least_confidence(probabilities: Any, *, scaled: bool = True) -> FloatArray:
    r"""Probability that the most probable class is not the right one.

    .. math:: \frac{1 - \max_c p_c}{1 - 1/C}

    Without scaling the maximum is :math:`1 - 1/C`.

    References
    ----------
    .. [1] B. Settles. Active Learning Literature Survey. Computer Sciences Technical Report 1648,
       University of Wisconsin-Madison, 2009.

    Examples
    --------
    >>> least_confidence([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]])
    array([0. , 0.5, 1. ])
    """
    p = mean_probabilities(probabilities)
    return measure(lambda *block: 1 - largest(*block), p, 1 - 1 / p.shape[1], scaled)


def margin(probabilities: Any) -> FloatArray:
    r"""How close the second most probable class comes to the first.

    .. math:: 1 - (p_{(1)} - p_{(2)})

    with :math:`p_{(1)} \ge p_{(2)}` the two largest probabilities.

    Returns
    -------
    ndarray of shape (samples,)
        From 0 (certain) to 1 (the two most probable classes tie, whatever the others are). What
        rounding puts outside is clipped.

    References
    ----------
    .. [1] B. Settles. Active Learning Literature Survey. Computer Sciences Technical Report 1648,
       University of Wisconsin-Madison, 2009.

    Examples
    --------
    >>> margin([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.5, 0.5, 0.0]])
    array([0. , 0.5, 1. ])
    """
    return measure(_margin, mean_probabilities(probabilities), 1.0, scaled=False)


def _margin(block: FloatArray, scratch: FloatArray) -> FloatArray:
    if block.shape[1] > _FEW:
        np.copyto(scratch, block)
        scratch.partition(block.shape[1] - 2, axis=1)
        return 1 - (scratch[:, -1] - scratch[:, -2])
    columns = by_class(block, scratch)
    first, second = np.maximum(columns[0], columns[1]), np.minimum(columns[0], columns[1])
    lower = np.empty_like(first)
    for column in columns[2:]:
        np.minimum(first, column, out=lower)
        np.maximum(second, lower, out=second)
        np.maximum(first, column, out=first)
    first -= second
    return np.subtract(1, first, out=first)


def gini_impurity(probabilities: Any, *, scaled: bool = True) -> FloatArray:
    r"""Probability that two labels drawn independently differ (Gini-Simpson index).

    .. math:: \frac{C}{C - 1} \Bigl(1 - \sum_c p_c^2\Bigr)

    It is the geometric uncertainty of order 2 in the Euclidean distance. Without scaling the
    maximum is :math:`1 - 1/C`.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Remark 1.

    Examples
    --------
    >>> gini_impurity([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5]])
    array([0.  , 0.75, 1.  ])
    """
    p = mean_probabilities(probabilities)
    return measure(lambda *block: 1 - sum_squares(*block), p, 1 - 1 / p.shape[1], scaled)


def binary_variance(probabilities: Any, *, scaled: bool = True) -> FloatArray:
    r"""Variance of the event that the most probable class is the right one.

    .. math:: 4 \, p_{\max} (1 - p_{\max})

    With more than two classes this is no measure of uncertainty over all of them: it sees the
    largest probability alone, so that (0.51, 0.49, 0, 0) and (0.51, 0.19, 0.15, 0.15) coincide, and
    it is not largest at the uniform distribution but where :math:`p_{\max} = 1/2`, so that the more
    uncertain (0.35, 0.25, 0.25, 0.15) gets no more than (0.65, 0.35, 0, 0).

    Parameters
    ----------
    scaled : bool, default=True
        Divide by the maximum, 1/4.

    Returns
    -------
    ndarray of shape (samples,)
        From 0 (certain) to 1 (:math:`p_{\max} = 1/2`); without scaling to 1/4. What rounding puts
        outside is clipped.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Section IV.A.

    Examples
    --------
    >>> binary_variance([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    array([0.  , 1.  , 0.75])
    """
    return measure(_binary_variance, mean_probabilities(probabilities), 1 / 4, scaled)


def _binary_variance(block: FloatArray, scratch: FloatArray) -> FloatArray:
    top = largest(block, scratch)
    return top * (1 - top)


def confused_classes(probabilities: Any) -> NDArray[np.intp]:
    r"""Count the classes that are more probable than in a random guess.

    .. math:: \#\{c : p_c > 1/C\}

    The inequality is strict: the uniform distribution confuses 0 classes in this sense.

    Returns
    -------
    ndarray of int of shape (samples,)
        From 1 (one class stands out) to :math:`C - 1`; 0 for the uniform distribution alone. A
        class that exceeds :math:`1/C` by rounding alone is not counted.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Section IV.A.

    Examples
    --------
    >>> confused_classes([[1.0, 0, 0, 0], [0.35, 0.3, 0.3, 0.05], [0.25, 0.25, 0.25, 0.25]])
    array([1, 3, 0])
    """
    return by_blocks(_confused, mean_probabilities(probabilities, double=True)).astype(np.intp)


def _confused(block: FloatArray, scratch: FloatArray) -> FloatArray:
    # A uniform row that came in single precision sums to a little more than 1, all of it rounding.
    guess = np.maximum(sum_classes(block), 1.0) / block.shape[1] * (1 + _ROUNDING)
    np.greater(block, guess[:, None], out=scratch)
    return sum_classes(scratch)
