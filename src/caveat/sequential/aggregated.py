"""Many step sizes at once, weighted by how well each would have done lately."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_integer, check_number
from ..exceptions import OptionError
from .adaptive import long_run_words
from .base import SequentialConformal

STEPS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)


class AggregatedConformal(SequentialConformal):
    r"""Adaptive conformal inference that finds its own step size, again and again.

    Dynamically tuned adaptive conformal inference (DtACI) [1]_. Each step size :math:`\gamma_k` has
    a level :math:`\alpha^k_t` of its own, updated as in `AdaptiveConformal`. They are averaged with
    weights that fall with the pinball loss of each level, and a part of the weight is spread over
    all, so that any of them can come back. To this average a slow correction :math:`\delta_t` is
    added, which the paper does not have and which makes the promise certain:

    .. math:: \alpha_t = \sum_k p^k_t \alpha^k_t + \delta_t, \qquad
       \delta_{t+1} = \delta_t + \gamma_0 (\alpha - \text{missed}_t), \quad \delta_1 = 0.

    Parameters
    ----------
    steps : sequence of float, default=(0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
        The step sizes, above 0.
    horizon : int, default=100
        Over how many samples to be as good as the best step size; it sets how fast weights move.
    correction : float, default=0.005
        The step size :math:`\gamma_0` of the correction; 0 for the method of the paper.

    Notes
    -----
    **Requires** what `AdaptiveConformal` does: the order of time, and nothing else.

    **Promises**, with certainty, for every series and at all times T at once,

    .. math:: \Big| \frac1T \sum_{t \le T} \text{missed}_t - \alpha \Big| \le
       \frac{1 + B (\gamma_{\max} + \gamma_0)}{T \gamma_0},

    where B is the longest block: if :math:`\delta_t` is below
    :math:`-1 - B \gamma_{\max}`, the level is below 0, nothing is missed and :math:`\delta` rises;
    likewise above. With ``correction=0`` nothing is certain: the average of the levels has, over
    every stretch of about ``horizon`` samples, nearly the pinball loss of the best sequence of
    levels that changes little [1]_, from which long-run coverage follows only if steps and weights
    move less and less.

    **Cannot** promise coverage at a given time or for a kind of samples. After a change it recovers
    sooner than a small step and, in quiet times, varies less than a large one.

    References
    ----------
    .. [1] Gibbs & Candès, Conformal inference for online prediction with arbitrary distribution
       shifts, JMLR 25, 2024, arXiv:2208.08401.
    .. [2] Zaffran, Féron, Goude, Josse & Dieuleveut, Adaptive conformal predictions for time
       series, ICML 2022, which aggregates both ends (AgACI), without a promise.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> rng = np.random.default_rng(0)
    >>> scale = np.where(np.arange(2000) < 1000, 1.0, 3.0)
    >>> y = rng.normal(size=2000) * scale
    >>> prediction = caveat.Gaussian(np.zeros(2000), 1.0)
    >>> run = caveat.AggregatedConformal(0.9).run(prediction, y, time="rows")
    >>> run.coverage.round(2)
    array([0.9])
    """

    _arrays: ClassVar[tuple[str, ...]] = ("_experts", "_weights", "_delta")
    steps: Sequence[float] = STEPS
    horizon: int = 100
    correction: float = 0.005

    def _begin(self, targets: int) -> None:
        if np.ndim(self.steps) != 1 or len(self.steps) == 0:
            raise OptionError(f"steps must be one step size or more; got {self.steps!r}")
        for step in self.steps:
            check_number(step, "steps", closed="neither")
        check_integer(self.horizon, "horizon")
        check_number(self.correction, "correction")
        alpha, number = 1 - float(self.coverage), len(self.steps)
        self._experts = np.full((targets, number), alpha)
        self._weights = np.full((targets, number), 1 / number)
        self._delta = np.zeros(targets)
        self._sizes, self._eta = np.array(self.steps, dtype=np.float64), self._rate()

    def _rate(self) -> float:
        """Return the learning rate of the paper."""
        alpha, number, span = 1 - float(self.coverage), len(self.steps), self.horizon
        spread = (1 - alpha) ** 2 * alpha**3 + (1 - alpha) ** 3 * alpha**2
        return math.sqrt(3 / span * (math.log(number * span) + 2) / spread)

    def _levels(self) -> FloatArray:
        return np.asarray((self._weights * self._experts).sum(axis=1) + self._delta)

    def _learn(self, missed: NDArray[np.bool_], scores: FloatArray) -> None:
        alpha, spread = 1 - float(self.coverage), 1 / (2 * self.horizon)
        apart = self._largest(scores)[..., None] - self._experts
        # The pinball loss of each level, when another one would just have covered.
        loss = (alpha * apart - np.minimum(apart, 0.0)).sum(axis=0)
        own = (apart <= 0).sum(axis=0)
        weights = self._weights * np.exp(self._eta * (loss.min(axis=1, keepdims=True) - loss))
        weights *= (1 - spread) / weights.sum(axis=1, keepdims=True)
        self._weights = weights + spread / len(self.steps)
        self._experts = self._experts + self._sizes * (alpha * len(missed) - own)
        self._delta = self._delta + self.correction * (alpha * len(missed) - missed.sum(axis=0))

    def _bound(self) -> float | None:
        if self.correction == 0:
            return None
        reach = 1 + self._longest * (max(self.steps) + self.correction)
        return float(reach / (self._samples * self.correction))

    def _words(self) -> str:
        if self.correction > 0:
            return long_run_words(self)
        return (
            f"The levels follow the best of {len(self.steps)} step sizes. Without a correction no "
            "coverage is promised with certainty."
        )
