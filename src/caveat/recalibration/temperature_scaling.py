"""Temperature scaling: one temperature, or one for each predicted class."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._blocks import row_blocks
from .._random import RandomState, generator
from .._validation import FloatArray, check_choice, check_number, position
from ..exceptions import InvalidValueError
from ..predictions import Categorical, GaussianLogits
from ..predictions.categorical import softmax
from ..predictions.gaussian_logits import check_draws
from ._base import Recalibrator
from ._classes import Codes, calibration_rows, map_rows

LOWEST, HIGHEST = 1e-3, 1e3
"""Temperatures stay between these."""

# The logarithm of a probability of 0: its power is 0 at every temperature, and 0 times it is 0.
_LOG_ZERO = -1e100
_NOISE_ELEMENTS = 2**18
_POINTS = 256
_FIRST_ROWS = 20_000
_TOLERANCE = 1e-6  # of the last step, relative; the error is about its square


class TemperatureScaling(Recalibrator):
    r"""Divide the logits by a temperature, which keeps the ranking of the classes.

    .. math::

        q_i = \mathrm{softmax}(z_i / T), \qquad
        T = \operatorname*{arg\,min}_{10^{-3} \le T \le 10^3} -\sum_i w_i \log q_{i, y_i}

    Above 1 it softens, below 1 it sharpens. On a Categorical the logits are
    :math:`z_i = \log p_i`, so that :math:`q_{ik} \propto p_{ik}^{1/T}`: a probability of 0 stays 0,
    and a row that gives one class everything stays as it is at every temperature.

    On GaussianLogits both the mean and the standard deviation of each logit are divided by
    :math:`T`, and :math:`q_i` is the softmax averaged over 256 points that fill the noise evenly
    (a lattice), which gives :math:`T` to 1 % with few classes and to 4 % with ten or more; all
    members are kept.

    Parameters
    ----------
    per_class : bool, default=False
        A temperature :math:`T_c` for each *predicted* class, learned from the samples for which
        the model predicts it. A row is still divided by one number, so the ranking of its classes
        is kept; a number for each logit would not keep it. The predicted class is the most
        probable one (of GaussianLogits the one with the largest mean logit), the first of equals.
    shrinkage : float, default=1.0
        Used with ``per_class``. Each class minimizes

        .. math:: -\sum_{i: \hat y_i = c} w_i \log q_{i, y_i} + \tfrac{s}{2} (T / T_c - 1)^2

        where :math:`T` is the common temperature. The pull fades as samples are added, gives a
        class that is never predicted :math:`T`, and keeps one whose few samples are all right
        from becoming certain.
    members : {"mean", "each"}, default="mean"
        The likelihood to raise: that of the mean over members, or the mean of the members' log
        likelihoods. From a Categorical the first gives a result of one member; the second scales
        every member by the same rule, and their mean then tends to be less confident than its
        hits allow.
    draws : int, optional
        Average over the random draws of ``GaussianLogits.sample(draws, random_state)`` instead.
    random_state : int, Generator or None, default=0
        For the draws.

    Attributes
    ----------
    temperature_ : float
        The common temperature.
    class_temperatures_ : ndarray of shape (classes,)
        Those of the predicted classes; without ``per_class`` all the same.

    Notes
    -----
    **Requires** a few hundred calibration samples, and a positive probability for every true class:
    a true class of probability 0 is an error, since no temperature gives it any other.

    **Promises** the least negative log-likelihood among all temperatures between 0.001 and 1000 on
    a Categorical, a convex problem; on GaussianLogits, whose average over noise need not be convex,
    a local minimum. The classes of each row (of GaussianLogits their mean logits) keep their
    ranking, so accuracy stays as it is; what differs by less than rounding may become equal. With
    members kept that holds for each member, not for their mean. A ``temperature_`` of exactly
    0.001 or 1000 means that the best one lies beyond: below 0.001 when the true class is on top of
    every row, so that more confidence always pays; above 1000 when the probabilities say nothing
    about the labels. One that cannot matter, since all rows are uniform, is 1.

    **Cannot** change which class is predicted, nor repair a class that is too confident where
    another one is too timid; ``per_class`` can do the second, for predicted classes.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks, ICML 2017.
    Frenkel and Goldberger, Network calibration by class-based temperature scaling, EUSIPCO 2021.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical.from_binary([0.9] * 4 + [0.1] * 4)
    >>> scaling = caveat.TemperatureScaling().fit(prediction, [1, 1, 1, 0, 0, 0, 0, 1])
    >>> round(scaling.temperature_, 6)
    2.0
    >>> scaling.transform(prediction).mean[0].round(6)
    array([0.25, 0.75])
    """

    takes = (Categorical, GaussianLogits)

    per_class: bool = False
    shrinkage: float = 1.0
    members: str = "mean"
    draws: int | None = None
    random_state: RandomState = 0

    def _fit(self, prediction: Any, y: Codes, weight: FloatArray | None) -> None:
        check_choice(self.members, "members", ("mean", "each"))
        check_choice(self.per_class, "per_class", (False, True))
        pull = check_number(self.shrinkage, "shrinkage")
        if self.draws is not None:
            check_draws(self.draws)
        loss: Powers | _NoisyLogits
        if isinstance(prediction, Categorical):
            _check_possible(prediction, y, weight, self.members)
            loss = Powers(*calibration_rows(prediction, y, weight, self.members))
        else:
            loss = self._noisy_logits(prediction, y, weight)
        common = best_power(loss)
        self.temperature_ = _temperature(common)
        self.class_temperatures_ = np.full(len(prediction.classes), self.temperature_)
        if self.per_class:
            predicted = loss.predicted()
            for c in range(len(prediction.classes)):
                beta = _shrunk(loss.take(predicted == c), common, pull)
                self.class_temperatures_[c] = _temperature(beta)

    def _noisy_logits(
        self, prediction: GaussianLogits, y: Codes, weight: FloatArray | None
    ) -> "_NoisyLogits":
        mean, std = prediction.mean, np.sqrt(prediction.variance)
        if self.members == "each":
            count, shape = prediction.members, (1, -1, len(prediction.classes))
            weight = np.ones(len(prediction)) if weight is None else weight
            mean, std = mean.reshape(shape), std.reshape(shape)
            y, weight = np.tile(y, count), np.tile(weight, count) / count
        classes = len(prediction.classes)
        if self.draws is None:
            noise = np.broadcast_to(_lattice(classes), (len(mean), _POINTS, classes))
        else:
            shape = (len(mean), self.draws, classes)
            noise = generator(self.random_state).standard_normal(shape)
        return _NoisyLogits(mean, std, noise, y, weight)

    def _transform(self, prediction: Any) -> Any:
        if isinstance(prediction, Categorical):
            return map_rows(prediction, self.members, self._powers)
        mean = prediction.mean if self.members == "each" else prediction.mean.mean(axis=0)
        beta = self._inverse(mean)
        fields = {"mean": prediction.mean * beta, "variance": prediction.variance * beta**2}
        return GaussianLogits(**fields, classes=prediction.classes)

    def _powers(self, p: FloatArray) -> FloatArray:
        return softmax(_logarithm(p) * self._inverse(p))

    def _inverse(self, scores: FloatArray) -> Any:
        """Return 1/T, for each row if it depends on the class on top of (..., classes) scores."""
        if not self.per_class:
            return 1 / self.temperature_
        return 1 / self.class_temperatures_[scores.argmax(axis=-1)][..., None]


def _lattice(classes: int) -> FloatArray:
    """Return Gaussian noise (points, classes) that fills the space evenly: Roberts's sequence."""
    from scipy.special import ndtri

    ratio = 2.0
    for _ in range(50):  # the root of x^(d+1) = x + 1, the golden ratio for one class
        ratio = (1 + ratio) ** (1 / (classes + 1))
    steps = ratio ** -np.arange(1.0, classes + 1)
    half = ndtri((0.5 + np.arange(1, _POINTS // 2 + 1)[:, None] * steps) % 1.0)
    return np.concatenate([half, -half])


Derivatives = Callable[[float], tuple[float, float]]


@dataclass(frozen=True)
class Powers:
    """The negative log-likelihood of p^beta, convex in beta = 1/T.

    With ``logs``, ``p`` holds the logarithms, which are finite.
    """

    p: FloatArray
    y: Codes
    weight: FloatArray | None
    logs: bool = False

    def take(self, rows: Any) -> Self:
        """Return the loss of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, p=self.p[rows], y=self.y[rows], weight=weight)

    def predicted(self) -> Codes:
        """Return the class on top of each row."""
        return self.p.argmax(axis=1)

    def derivatives(self, beta: float) -> tuple[float, float]:
        """First and second derivative: mean and variance, under p^beta, of log p - log p_y."""
        slope = curvature = 0.0
        classes = self.p.shape[1]
        ones = np.ones(classes)
        # A row has a class of at least 1/K, whose power is safe while K^-beta is not 0.
        small = beta * np.log(classes) > 600
        for rows in row_blocks(*self.p.shape):
            gap = self.p[rows].copy() if self.logs else _logarithm(self.p[rows])
            power = gap * beta
            if small:
                power -= power.max(axis=1, keepdims=True)
            np.exp(power, out=power)
            gap -= np.take_along_axis(gap, self.y[rows, None], axis=1)
            # Products with ones: several times faster than sums over a short last axis.
            total = power @ ones
            power *= gap
            first = power @ ones / total
            power *= gap
            second = power @ ones / total - first**2
            weight = np.ones(len(first)) if self.weight is None else self.weight[rows]
            slope += float(first @ weight)
            curvature += float(second @ weight)
        return slope, curvature


@dataclass(frozen=True)
class _NoisyLogits:
    """The negative log-likelihood of the softmax of beta (mean + std noise), averaged over noise.

    Arrays are (members, rows, classes), the noise (members, draws, classes).
    """

    mean: FloatArray
    std: FloatArray
    noise: FloatArray
    y: Codes
    weight: FloatArray | None

    def take(self, rows: Any) -> Self:
        weight = None if self.weight is None else self.weight[rows]
        mean, std = self.mean[:, rows], self.std[:, rows]
        return replace(self, mean=mean, std=std, y=self.y[rows], weight=weight)

    def predicted(self) -> Codes:
        return self.mean.mean(axis=0).argmax(axis=1)

    def derivatives(self, beta: float) -> tuple[float, float]:
        """First and second derivative in beta; a mixture, so the second may be negative."""
        slope = curvature = 0.0
        for rows in row_blocks(len(self.y), self.noise.size, _NOISE_ELEMENTS):
            first, second = self._block(beta, rows)
            weight = np.ones(len(first)) if self.weight is None else self.weight[rows]
            slope += float(first @ weight)
            curvature += float(second @ weight)
        return slope, curvature

    def _block(self, beta: float, rows: slice) -> tuple[FloatArray, FloatArray]:
        mean, std = self.mean[:, None, rows], self.std[:, None, rows]
        gap = mean + std * self.noise[:, :, None]
        gap = gap.reshape(-1, *gap.shape[2:])  # (members x draws, rows, classes)
        gap -= np.take_along_axis(gap, self.y[None, rows, None], axis=2)
        power = gap * beta
        top = power.max(axis=2, keepdims=True)
        power -= top
        np.exp(power, out=power)
        total = power.sum(axis=2)
        power *= gap
        first = power.sum(axis=2) / total
        power *= gap
        spread = power.sum(axis=2) / total - first**2
        # Each draw's share in the averaged likelihood 1 / (total e^top) of the true class.
        share = -np.log(total) - top[..., 0]
        share -= share.max(axis=0)
        np.exp(share, out=share)
        share /= share.sum(axis=0)
        slope = (share * first).sum(axis=0)
        return slope, (share * (spread - first**2)).sum(axis=0) + slope**2


def minimize(derivatives: Derivatives, start: float) -> float:
    """Return the beta = 1/T in its bounds where the slope changes sign, by safeguarded Newton.

    A step that leaves the bracket of the minimum, or that is not down to half of the step
    before, is replaced: by the bound on that side if it was not tried yet, else by the geometric
    middle. So a minimum at a bound takes three passes, and no case takes long.
    """
    lower, upper = 1 / HIGHEST, 1 / LOWEST
    bounds, tried = (lower, upper), set()
    beta, before = start, np.inf
    while before > _TOLERANCE * beta:
        slope, curvature = derivatives(beta)
        if slope == 0 or beta == bounds[0 if slope > 0 else 1]:
            return beta
        tried.add(beta)
        if slope > 0:
            upper, ahead = beta, lower
        else:
            lower, ahead = beta, upper
        step = abs(slope) / curvature if curvature > 0 else np.inf
        target = beta - np.copysign(step, slope)
        if step > max(before / 2, _TOLERANCE * beta) or not lower <= target <= upper:
            target = float(np.sqrt(lower * upper)) if ahead in tried else ahead
        beta, before = target, abs(target - beta)
    return beta


def best_power(loss: "Powers | _NoisyLogits") -> float:
    """Return 1/T of all rows."""
    # From the answer of every so-many-th row two or three passes over all rows are enough.
    sparse = loss.take(slice(None, None, max(1, len(loss.y) // _FIRST_ROWS)))
    return minimize(loss.derivatives, minimize(sparse.derivatives, 1.0))


def _shrunk(loss: "Powers | _NoisyLogits", common: float, pull: float) -> float:
    """Return the beta of one predicted class, pulled towards the common one."""

    def derivatives(beta: float) -> tuple[float, float]:
        slope, curvature = loss.derivatives(beta)
        slope += pull * (beta / common - 1) / common
        return slope, curvature + pull / common**2

    return minimize(derivatives, common)


def _temperature(beta: float) -> float:
    return float(min(max(1 / beta, LOWEST), HIGHEST))


def _logarithm(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    return np.maximum(logits, _LOG_ZERO, out=logits)


def _check_possible(
    prediction: Categorical, y: Codes, weight: FloatArray | None, members: str
) -> None:
    p = prediction.mean[None] if members == "mean" else prediction.probabilities
    impossible = np.take_along_axis(p, y[None, :, None], axis=2)[..., 0] == 0
    if weight is not None:
        impossible &= weight > 0
    if impossible.any():
        (_, sample), where = position(impossible, ("member", "sample"))
        label = prediction.classes[y[sample]].item()
        raise InvalidValueError(
            f"the true class {label!r}{where} has probability 0, and no temperature changes that; "
            "raise such zeros first, for example with "
            "Categorical(numpy.maximum(p, 1e-12), normalize=True)"
        )
