"""Isotonic regression of the true class on its probability."""

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_choice
from ._classes import ClassMap, Codes, class_shares, normalized, one_vs_rest


class IsotonicCalibration(ClassMap):
    r"""Replace each class's probability by an increasing step-like function of it.

    .. math::

        q_{ik} = \frac{g_k(p_{ik})}{\sum_j g_j(p_{ij})}, \qquad
        g_k = \operatorname*{arg\,min}_{g \text{ increasing}}
        \sum_i w_i \bigl(g(p_{ik}) - [y_i = k]\bigr)^2

    one class against the rest; for two classes :math:`g` is fitted once, on the second, and the
    first gets the complement. Least squares say what :math:`g_k` is at the calibration samples and
    not what it is between them: there it is a straight line, or with ``between="steps"`` the value
    at the nearest sample, so that it is piecewise constant. Beyond the outermost samples it is
    constant. A row in which every :math:`g_k` is 0 becomes the base rates of the calibration
    samples.

    Parameters
    ----------
    between : {"lines", "steps"}, default="lines"
        What :math:`g_k` is between two calibration samples. Steps give no more values than the
        calibration samples have; each jumps halfway between two samples, so that swapping two
        classes swaps their probabilities.

    Attributes
    ----------
    thresholds_, values_ : lists of ndarrays
        Where :math:`g_k` bends and its values there; one pair for each class, for two classes one.
    base_rates_ : ndarray of shape (classes,)

    Notes
    -----
    **Requires** some hundred calibration samples of each class, since it fits as many steps as the
    data allow; any monotone miscalibration will do.

    **Promises** least squares among increasing functions, and at the same time least negative
    log-likelihood. For two classes the ranking of the samples is kept (different scores may become
    equal), the mean probability on the calibration samples is the base rate, and a second fit on
    its own result changes nothing.

    **Cannot** separate what the model has ranked wrongly. It says 0 and 1 at the ends, where the
    calibration samples were all of one kind: one exception later makes a logarithmic loss
    infinite. A class that no calibration sample has gets probability 0. For more than two classes
    the normalization may undo part of the repair and change which class is on top.

    References
    ----------
    Zadrozny and Elkan, Transforming classifier scores into accurate multiclass probability
    estimates, KDD 2002.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.1, 0.3, 0.5, 0.7, 0.9])
    >>> isotonic = caveat.IsotonicCalibration().fit(prediction, [0, 1, 0, 1, 1])
    >>> isotonic.transform(prediction).mean[:, 1]
    array([0. , 0.5, 0.5, 1. , 1. ])

    Between samples, the two readings differ:

    >>> new = caveat.Categorical.from_binary([0.15, 0.25])
    >>> isotonic.transform(new).mean[:, 1]
    array([0.125, 0.375])
    >>> steps = caveat.IsotonicCalibration(between="steps").fit(prediction, [0, 1, 0, 1, 1])
    >>> steps.transform(new).mean[:, 1]
    array([0. , 0.5])
    """

    between: str = "lines"

    def _check_options(self) -> None:
        check_choice(self.between, "between", ("lines", "steps"))

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        classes = p.shape[1]
        self.base_rates_ = class_shares(codes, classes, weight)
        curves = [isotonic_curve(p[:, k], codes == k, weight) for k in one_vs_rest(classes)]
        self.thresholds_ = [thresholds for thresholds, _ in curves]
        self.values_ = [values for _, values in curves]

    def _map(self, p: FloatArray) -> FloatArray:
        curves = zip(one_vs_rest(p.shape[1]), self.thresholds_, self.values_, strict=True)
        between = np.interp if self.between == "lines" else _nearest
        return normalized([between(p[:, k], x, g) for k, x, g in curves], self.base_rates_)


def _nearest(score: FloatArray, thresholds: FloatArray, values: FloatArray) -> FloatArray:
    """Return the value at the nearest threshold."""
    return values[np.searchsorted((thresholds[1:] + thresholds[:-1]) / 2, score, side="right")]


def isotonic_curve(
    score: FloatArray, hit: NDArray[np.bool_], weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return the bends of the increasing least-squares fit and its values there.

    Only exactly equal scores are merged.
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(score)
    ordered = score[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    hits = hit[order].astype(np.float64)
    if weight is None:
        mass = np.diff(np.r_[first, len(score)]).astype(np.float64)
    else:
        weight = weight[order]
        mass, hits = np.add.reduceat(weight, first), hits * weight
    share = np.add.reduceat(hits, first) / mass
    values = np.clip(isotonic_regression(share, weights=mass).x, 0.0, 1.0)
    bend = np.ones(len(values), dtype=bool)
    bend[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    return ordered[first][bend], values[bend]
