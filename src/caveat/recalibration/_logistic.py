"""Logistic regression of the true class on functions of its probability, by Newton's method."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from .._blocks import row_blocks
from .._validation import FloatArray, check_number
from ..predictions.categorical import softmax
from ._classes import ClassMap, Codes, one_vs_rest

_RIDGE = 1e-12


class LogisticMap(ClassMap):
    """Log-odds of each class against the rest, mapped by a curve, and normalized.

    A subclass learns one curve from the log-odds of a class, and applies the curve number i. For
    two classes there is one curve, for the second.

    Parameters
    ----------
    eps : float
        The least :math:`p` and the least :math:`1 - p` of which a logarithm is taken; smaller ones
        count as this one.
    """

    eps: float = 1e-12

    def _check_options(self) -> None:
        check_number(self.eps, "eps", 0, 0.1, "right")

    def _learn(self, p: FloatArray, codes: Codes, weight: FloatArray | None) -> None:
        weight = np.ones(len(p)) if weight is None else weight
        curves = [
            self._learn_curve(*log_sides(p, k, self.eps), codes == k, weight)
            for k in one_vs_rest(p.shape[1])
        ]
        self._keep(np.array(curves))

    def _map(self, p: FloatArray) -> FloatArray:
        return joined(
            [
                self._curve(number, *log_sides(p, k, self.eps))
                for number, k in enumerate(one_vs_rest(p.shape[1]))
            ]
        )

    @abstractmethod
    def _learn_curve(
        self, log_p: FloatArray, log_rest: FloatArray, hit: NDArray[np.bool_], weight: FloatArray
    ) -> FloatArray:
        """Return the numbers of the curve of one class."""
        ...

    @abstractmethod
    def _keep(self, curves: FloatArray) -> None:
        """Keep the numbers of all curves, one row for each."""
        ...

    @abstractmethod
    def _curve(self, number: int, log_p: FloatArray, log_rest: FloatArray) -> FloatArray:
        """Return the log-odds that a curve gives."""
        ...


def log_sides(p: FloatArray, k: int, eps: float) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of the probability of class k and of that of all others."""
    rest = p[:, 0] if p.shape[1] == 2 else 1 - p[:, k]
    return np.log(np.maximum(p[:, k], eps)), np.log(np.maximum(rest, eps))


def joined(scores: list[FloatArray]) -> FloatArray:
    """Return rows that sum to 1 from the log-odds of each class, or of the second of two."""
    if len(scores) == 1:
        scores = [-scores[0], scores[0]]
    # Normalized as logarithms, so that a row of tiny numbers is not a row of zeros.
    return softmax(-np.logaddexp(0, -np.stack(scores, axis=1)))


def smoothed_targets(hit: NDArray[np.bool_], weight: FloatArray) -> FloatArray:
    """Return Platt's targets: the shares that one more sample of each kind would leave."""
    ones, zeros = float(weight[hit].sum()), float(weight[~hit].sum())
    return np.where(hit, (ones + 1) / (ones + 2), 1 / (zeros + 2))


def fit_logistic(
    columns: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    identity: FloatArray,
    *,
    positive: bool = False,
) -> FloatArray:
    """Return the coefficients of the columns, and the intercept last, with the least log loss.

    If all rows are alike, the coefficients are ``identity``. With ``positive``, no coefficient is
    below 0.
    """
    total = weight.sum()
    if not np.ptp(columns, axis=0).any():
        share = target @ weight / total
        return np.r_[identity, np.log(share / (1 - share)) - columns[0] @ identity]
    center = weight @ columns / total
    scale = np.sqrt(weight @ (columns - center) ** 2 / total)
    scale[scale == 0] = 1.0
    design = np.column_stack([(columns - center) / scale, np.ones(len(columns))])
    limits = np.r_[np.full(len(scale), positive), False]
    result = newton(design, target, weight, positive=limits)
    slopes = result[:-1] / scale
    return np.r_[slopes, result[-1] - slopes @ center]


def newton(
    design: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    penalty: FloatArray | None = None,
    positive: NDArray[np.bool_] | None = None,
) -> FloatArray:
    """Minimize log loss plus half of c'Sc over coefficients c, some of them not below 0.

    The last column of ``design`` is that of ones. The start is the best constant. A coefficient
    that is 0 and would fall is held there for a step (Bertsekas, Projected Newton methods for
    optimization problems with simple constraints, SIAM J. Control and Optimization 20, 1982).
    """
    total = weight.sum()
    share = target @ weight / total
    size = design.shape[1]
    now = np.zeros(size)
    now[-1] = np.log(share / (1 - share))
    matrix = np.zeros((size, size)) if penalty is None else penalty
    bounded = np.zeros(size, dtype=bool) if positive is None else positive

    def derivatives(c: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        loss, gradient, hessian = _log_loss(c, design, target, weight)
        pull = matrix @ c
        return loss + 0.5 * float(pull @ c), gradient + pull, hessian + matrix

    loss, gradient, hessian = derivatives(now)
    ridge = _RIDGE * total * np.eye(size)
    while True:
        free = np.flatnonzero(~(bounded & (now <= 0) & (gradient > 0)))
        step = np.zeros(size)
        step[free] = -np.linalg.solve((hessian + ridge)[np.ix_(free, free)], gradient[free])
        # Newton may overshoot where the sigmoid is flat; halving ends, since the loss is convex.
        bound = loss + 1e-14 * abs(loss)
        while True:
            point = np.where(bounded, np.maximum(now + step, 0.0), now + step)
            new = derivatives(point)
            if new[0] <= bound:
                break
            step /= 2
        now = point
        # Where the loss is flat to rounding, one more Newton step, just taken, is exact.
        if new[0] >= loss:
            return now
        loss, gradient, hessian = new


def _log_loss(
    coefficients: FloatArray, design: FloatArray, target: FloatArray, weight: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the log loss, its gradient and its matrix of second derivatives, in one pass."""
    size = design.shape[1]
    loss, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
    for rows in row_blocks(*design.shape):
        x, t, w = design[rows], target[rows], weight[rows]
        logit = x @ coefficients
        small = np.exp(-np.abs(logit))  # at most 1, whatever the sign
        loss += float((np.maximum(logit, 0) - t * logit + np.log(1 + small)) @ w)
        p = np.where(logit >= 0, 1.0, small) / (1 + small)
        gradient += (w * (p - t)) @ x
        hessian += (x * (w * p * (1 - p))[:, None]).T @ x
    return loss, gradient, hessian
