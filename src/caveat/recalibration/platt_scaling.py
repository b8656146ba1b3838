"""A logistic regression of the true class on the logit of its probability."""

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._validation import FloatArray, check_choice, check_number
from ..exceptions import InvalidValueError
from ..predictions.categorical import softmax
from ._classes import ClassMap, Codes, one_vs_rest

_RIDGE = 1e-12


class PlattScaling(ClassMap):
    r"""Stretch and shift the logit of each class's probability.

    .. math::

        q_{ik} = \frac{g_k(p_{ik})}{\sum_j g_j(p_{ij})}, \qquad
        g_k(p) = \frac{1}{1 + \exp(-a_k \operatorname{logit}(p) - b_k)}

    where :math:`a_k, b_k` minimize the log loss against the targets :math:`t_{ik}`, one class
    against the rest. For two classes this is done once, for the second, and the first gets the
    complement. The score is the logit, so that :math:`a = 1, b = 0` leaves probabilities as they
    are; a sigmoid of the probability itself could not.

    Parameters
    ----------
    smoothing : bool, default=True
        Platt's targets: with :math:`n_+` samples of the class and :math:`n_-` others,
        :math:`t = (n_+ + 1) / (n_+ + 2)` and :math:`1 / (n_- + 2)` in place of 1 and 0. The fit
        then exists for every calibration set.
    eps : float, default=1e-12
        The least :math:`p` and the least :math:`1 - p` of which a logarithm is taken; smaller ones
        count as this one.

    Attributes
    ----------
    slope_, intercept_ : ndarrays of shape (classes,), for two classes (1,)
        :math:`a_k` and :math:`b_k`.

    Notes
    -----
    **Requires** a miscalibration that is nearly a straight line in logits; then some dozen
    calibration samples of each class are enough.

    **Promises** the least log loss of all such maps, a convex problem with one minimum. For two
    classes the ranking of the samples is kept if the slope is positive; it is negative if and only
    if the calibration samples say that the model has its classes the wrong way round. With all
    calibration scores equal the slope is left at 1.

    **Cannot** follow any other shape. For more than two classes the normalization may undo part of
    the repair and change which class is on top.

    References
    ----------
    Platt, Probabilistic outputs for support vector machines, Advances in Large Margin Classifiers,
    1999. Lin, Lin and Weng, A note on Platt's probabilistic outputs for support vector machines,
    Machine Learning 68, 2007.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.9] * 4 + [0.1] * 4)
    >>> platt = caveat.PlattScaling(smoothing=False).fit(prediction, [1, 1, 1, 0, 0, 0, 0, 1])
    >>> platt.slope_.round(6), platt.transform(prediction).mean[0].round(6)
    (array([0.5]), array([0.25, 0.75]))
    """

    def __init__(
        self, *, smoothing: bool = True, eps: float = 1e-12, members: str = "mean"
    ) -> None:
        self.smoothing = smoothing
        self.eps = eps
        self.members = members

    def _check_options(self) -> None:
        check_choice(self.smoothing, "smoothing", (True, False))
        check_number(self.eps, "eps", 0, 0.1, "right")

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        weight = np.ones(len(p)) if weight is None else weight
        lines = [
            fit_sigmoid(self._logit(p, k), codes == k, weight, self.smoothing)
            for k in one_vs_rest(p.shape[1])
        ]
        self.slope_, self.intercept_ = np.array(lines).T.copy()

    def _map(self, p: FloatArray) -> FloatArray:
        lines = zip(one_vs_rest(p.shape[1]), self.slope_, self.intercept_, strict=True)
        scores = [a * self._logit(p, k) + b for k, a, b in lines]
        if len(scores) == 1:
            scores = [-scores[0], scores[0]]
        # Normalized as logarithms, so that a row of tiny numbers is not a row of zeros.
        return softmax(-np.logaddexp(0, -np.stack(scores, axis=1)))

    def _logit(self, p: FloatArray, k: int) -> FloatArray:
        rest = p[:, 0] if p.shape[1] == 2 else 1 - p[:, k]
        return np.log(np.maximum(p[:, k], self.eps)) - np.log(np.maximum(rest, self.eps))


def fit_sigmoid(
    score: FloatArray, hit: NDArray[np.bool_], weight: FloatArray, smoothing: bool
) -> tuple[float, float]:
    """Return slope and intercept of the logistic regression of ``hit`` on ``score``."""
    ones, zeros = float(weight[hit].sum()), float(weight[~hit].sum())
    if smoothing:
        target = np.where(hit, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    else:
        _check_overlap(score, hit)
        target = hit.astype(np.float64)
    if np.ptp(score) == 0:
        share = target @ weight / weight.sum()
        return 1.0, float(np.log(share / (1 - share)) - score[0])
    center = score @ weight / weight.sum()
    scale = np.sqrt((score - center) ** 2 @ weight / weight.sum())
    slope, level = _newton((score - center) / scale, target, weight)
    slope /= scale
    return float(slope), float(level - slope * center)


def _newton(score: FloatArray, target: FloatArray, weight: FloatArray) -> FloatArray:
    """Minimize the log loss over slope and level, from the best constant."""
    total = weight.sum()
    share = target @ weight / total
    now = np.array([0.0, np.log(share / (1 - share))])
    loss, gradient, hessian = _derivatives(now, score, target, weight)
    while True:
        step = -np.linalg.solve(hessian + _RIDGE * total * np.eye(2), gradient)
        # Newton may overshoot where the sigmoid is flat; halving ends, since the loss is convex.
        bound = loss * (1 + 1e-14)
        while (new := _derivatives(now + step, score, target, weight))[0] > bound:
            step /= 2
        now = now + step
        # Where the loss is flat to rounding, one more Newton step, just taken, is exact.
        if new[0] >= loss:
            return now
        loss, gradient, hessian = new


def _derivatives(
    line: FloatArray, score: FloatArray, target: FloatArray, weight: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the log loss, its gradient and its matrix of second derivatives, in one pass."""
    loss, gradient, hessian = 0.0, np.zeros(2), np.zeros((2, 2))
    for rows in row_blocks(len(score), 1):
        x, t, w = score[rows], target[rows], weight[rows]
        logit = line[0] * x + line[1]
        small = np.exp(-np.abs(logit))  # at most 1, whatever the sign
        loss += float((np.maximum(logit, 0) - t * logit + np.log(1 + small)) @ w)
        p = np.where(logit >= 0, 1.0, small) / (1 + small)
        residual, spread = w * (p - t), w * p * (1 - p)
        moments = spread.sum(), spread @ x, (spread * x) @ x
        gradient += (residual @ x, residual.sum())
        hessian += ((moments[2], moments[1]), (moments[1], moments[0]))
    return loss, gradient, hessian


def _check_overlap(score: FloatArray, hit: NDArray[np.bool_]) -> None:
    """Raise if the classes are separable, so that a steeper sigmoid is always better."""
    if hit.any() and not hit.all():
        low, high = score[~hit], score[hit]
        apart = low.max() <= high.min() or high.max() <= low.min()
        if not apart or np.ptp(score) == 0:
            return
    raise InvalidValueError(
        "the calibration samples of a class are separated from the others by its probability, or "
        "there are none of one kind, so without smoothing no slope is the best; use smoothing=True"
    )
