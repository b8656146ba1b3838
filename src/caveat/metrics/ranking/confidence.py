"""How the error falls as the most uncertain samples are removed."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..._validation import FloatArray, check_choice
from .._core.cells import sums_below
from .._core.equal_count import cumulative_sums
from .._core.sharing import shared
from .._inputs import count
from ..batch import Batch
from ..sums import Part
from ._checked import checked_weights, errors_of, key_sums, ranked, ranked_of

__all__ = [
    "ConfidenceCurve",
    "RemovalCurve",
    "confidence_curve",
    "confidence_oracle_curve",
    "oracle_curve",
]

Aggregate = Literal["mean", "root_mean_square"]

PARAMETERS = {
    "References": """\
.. [1] G. Scalia, C. A. Grambow, B. Pernici, Y.-P. Li, W. H. Green. Evaluating Scalable
   Uncertainty Estimation Methods for Deep Learning-Based Molecular Property Prediction.
   Journal of Chemical Information and Modeling, 60(6), 2020."""
}


@dataclass(frozen=True)
class RemovalCurve:
    """An error against the share of samples that was removed.

    Attributes
    ----------
    removed : ndarray of shape (points,)
        The share of samples (of their weight) that is left out: 0, 1/points, ...
    error : ndarray of shape (points,)
        The error there.
    """

    removed: FloatArray
    error: FloatArray


@dataclass(frozen=True)
class ConfidenceCurve(RemovalCurve):
    """The error of the samples that remain when the most uncertain ones are removed.

    Attributes
    ----------
    removed : ndarray of shape (points,)
        The share of samples (of their weight) that is left out: 0, 1/points, ...
    error : ndarray of shape (points,)
        The error of the others.
    oracle : ndarray of shape (points,)
        The same if those with the largest errors were removed: no uncertainty can do better.
    random : ndarray of shape (points,)
        The same if samples were removed at random: the error of all.
    """

    oracle: FloatArray
    random: FloatArray


def confidence_curve(
    error: Any,
    uncertainty: Any,
    *,
    points: int = 100,
    aggregate: Aggregate = "mean",
    sample_weight: Any = None,
) -> ConfidenceCurve:
    r"""Error of what remains as the most uncertain samples are removed.

    .. math:: h_j = \frac{1}{|S_j|} \sum_{i \in S_j} e_i, \qquad j = 0, \dots, q - 1

    with :math:`S_j` the :math:`1 - j/q` of all samples that have the lowest uncertainty. It falls
    if the uncertainty knows where the errors are.

    Parameters
    ----------
    error : array of shape (samples,)
        Error of each prediction, not negative: absolute errors give a curve of the mean
        absolute error, squared errors of the mean squared error, 0 for right and 1 for wrong of
        the error rate.
    aggregate : {"mean", "root_mean_square"}, default="mean"
        How the errors of a set become one number. With "root_mean_square" absolute errors give a
        curve of the root mean squared error.

    Returns
    -------
    ``removed``, ``error``, and for comparison ``oracle`` and ``random``.

    Notes
    -----
    Samples with equal uncertainty are removed in every order at once: the sum of errors is its
    expected value over these orders (taken before the root). A set that ends inside a sample has
    the fraction of it that is inside. So neither the order of the rows matters, nor whether a row
    is there twice or has weight 2.

    Examples
    --------
    >>> curve = confidence_curve([1.0, 2.0, 3.0, 6.0], [0.1, 0.3, 0.2, 0.4], points=4)
    >>> curve.removed
    array([0.  , 0.25, 0.5 , 0.75])
    >>> curve.error
    array([3., 2., 2., 1.])
    >>> curve.oracle
    array([3. , 2. , 1.5, 1. ])
    """
    errors, spread, weight = ranked(error, uncertainty, sample_weight)
    curve = _remaining(errors, spread, points, aggregate, weight)
    oracle = _remaining(errors, errors, points, aggregate, weight)
    return ConfidenceCurve(_removed(curve), curve, oracle, np.full_like(curve, curve[0]))


def oracle_curve(
    error: Any, *, points: int = 100, aggregate: Aggregate = "mean", sample_weight: Any = None
) -> RemovalCurve:
    """Error of what remains as the samples with the largest errors are removed.

    The confidence curve of an uncertainty that is in the same order as the errors: the lowest
    possible for these predictions.

    Returns
    -------
    ``removed`` and ``error``.

    Examples
    --------
    >>> oracle_curve([1.0, 2.0, 3.0, 6.0], points=4).error
    array([3. , 2. , 1.5, 1. ])
    """
    errors = errors_of(error)
    weight = checked_weights(sample_weight, len(errors), "error")
    curve = _remaining(errors, errors, points, aggregate, weight)
    return RemovalCurve(_removed(curve), curve)


def confidence_oracle_curve(
    error: Any,
    uncertainty: Any,
    *,
    points: int = 100,
    aggregate: Aggregate = "mean",
    sample_weight: Any = None,
) -> RemovalCurve:
    """How far the confidence curve is above the oracle's: the confidence-oracle error.

    Also known as the sparsification error. The error of the model itself is taken out, so that
    uncertainties of different models can be compared.

    Returns
    -------
    ``removed``, and as ``error`` the difference, which is never negative; what rounding puts below
    0 is 0.

    Examples
    --------
    >>> confidence_oracle_curve([1.0, 2.0, 3.0, 6.0], [0.1, 0.3, 0.2, 0.4], points=4).error
    array([0. , 0. , 0.5, 0. ])
    """
    curve = confidence_curve(
        error, uncertainty, points=points, aggregate=aggregate, sample_weight=sample_weight
    )
    return RemovalCurve(curve.removed, np.maximum(curve.error - curve.oracle, 0.0))


def remaining_error(
    error: Any, uncertainty: Any, points: int, aggregate: Aggregate, sample_weight: Any
) -> FloatArray:
    """Return the errors of the confidence curve alone; the oracle's would double the cost."""
    errors, spread, weight = ranked(error, uncertainty, sample_weight)
    return _remaining(errors, spread, points, aggregate, weight)


def _removed(curve: FloatArray) -> FloatArray:
    return np.arange(len(curve)) / len(curve)


def _remaining(
    error: FloatArray, key: FloatArray, points: int, aggregate: Aggregate, weight: FloatArray | None
) -> FloatArray:
    """Return the error of those with the lowest keys, all of them first, the fewest last."""
    points = count(points, "points", 2)
    check_choice(aggregate, "aggregate", ("mean", "root_mean_square"))

    def compute() -> FloatArray:
        unit = error.max() if aggregate == "root_mean_square" else 1.0
        unit = unit if unit > 0 else 1.0  # squares of very small or large errors may be lost
        values = error if aggregate == "mean" else (error / unit) ** 2
        shares = np.arange(points, 0, -1) / points
        total = len(error) if weight is None else weight.sum()
        means = cumulative_sums(key, [values], shares, weight)[0] / (shares * total)
        return means if aggregate == "mean" else unit * np.sqrt(means)

    return shared(("remaining", points, aggregate), (error, key, weight), compute)


def remaining_part(batch: Batch, key: str, points: int, aggregate: Aggregate) -> Part:
    """Return the same curve as sums over cells of the key: (resamples, points)."""
    shares = np.arange(points, 0, -1) / points

    def make() -> Any:
        error = ranked_of(batch)["error"]
        return key_sums(batch, key, error if aggregate == "mean" else error**2)

    def reduce(sums: FloatArray) -> FloatArray:
        cells = sums.shape[1] // 2
        below = sums_below(sums, cells, shares)[:, 0]
        means = below / (shares * sums[:, :cells].sum(axis=1, keepdims=True))
        return means if aggregate == "mean" else np.sqrt(means)

    return Part(make, reduce, ordered=2)
