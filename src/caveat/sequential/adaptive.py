"""Adaptive conformal inference: the level follows what was missed."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_number
from .base import SequentialConformal


class AdaptiveConformal(SequentialConformal):
    r"""Intervals whose share of misses comes to what was asked for, whatever the series does.

    Adaptive conformal inference [1]_. The interval at time t is the conformal one of the latest
    scores at the miscoverage :math:`\alpha_t`, and

    .. math:: \alpha_{t+1} = \alpha_t + \gamma (\alpha - \text{missed}_t), \qquad
       \alpha_1 = \alpha = 1 - \text{coverage}.

    The score of a `Gaussian` is :math:`|y - \mu|`, or :math:`|y - \mu| / \sigma` with
    ``normalize``; that of `Quantiles` and of an `Interval` is by how much the truth is outside.

    Parameters
    ----------
    step : float, default=0.005
        The size :math:`\gamma` of a step, above 0. A large one adapts fast, with intervals that
        vary more and are infinite at times; a small one needs longer to keep the promise.

    Notes
    -----
    **Requires** samples in the order of time, the interval of each asked for before its truth is
    known, and a model that is not trained on it. Nothing else: no exchangeable samples, no
    stationary series, no model that is any good. Each target has a state of its own.

    **Promises**, with certainty and for every series, that after any number T of samples

    .. math:: \Big| \frac1T \sum_{t \le T} \text{missed}_t - \alpha \Big| \le
       \frac{\max(\alpha, 1 - \alpha) + B \gamma}{T \gamma},

    where B is the longest block (1 if the truth of each sample is known before the next one); for
    longer blocks, at their ends. It holds at all times at once, so also at a time that was chosen
    by looking. ``bound_`` has its value now.

    **Cannot** promise coverage at a given time, after a change, or for a kind of samples: a series
    that alternates between infinite and empty intervals keeps the promise. Look at
    ``run(...).local_coverage(100)``. A level of 0 or less gives an infinite interval; one of 1 or
    more an empty one, shown as a point and counted as missed.

    References
    ----------
    .. [1] Gibbs & Candès, Adaptive conformal inference under distribution shift, NeurIPS 2021,
       arXiv:2106.00170.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> rng = np.random.default_rng(0)
    >>> scale = np.where(np.arange(2000) < 1000, 1.0, 3.0)          # the noise triples
    >>> y = rng.normal(size=2000) * scale
    >>> prediction = caveat.Gaussian(np.zeros(2000), 1.0)
    >>> run = caveat.AdaptiveConformal(0.9, step=0.02).run(prediction, y, time="rows")
    >>> run.coverage.round(2)
    array([0.9])
    >>> live = caveat.AdaptiveConformal(0.9, step=0.02)
    >>> for t in range(100):
    ...     interval = live.interval(prediction.take([t]))
    ...     covered = live.update(prediction.take([t]), y[[t]])
    >>> bool(np.all(interval.upper == run.interval.upper[99]))
    True
    """

    _arrays: ClassVar[tuple[str, ...]] = ("_level",)
    step: float = 0.005

    def _begin(self, targets: int) -> None:
        check_number(self.step, "step", closed="neither")
        self._level = np.full(targets, 1 - float(self.coverage))

    def _levels(self) -> FloatArray:
        return self._level

    def _learn(self, missed: NDArray[np.bool_], scores: FloatArray) -> None:
        alpha = 1 - float(self.coverage)
        self._level = self._level + self.step * (alpha * len(missed) - missed.sum(axis=0))

    def _series(
        self, scores: FloatArray, size: int
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        # Plain numbers, one target after another: several times faster than arrays of one entry.
        alpha, step = 1 - float(self.coverage), float(self.step)
        levels, limits, misses = [], [], []
        for target, column in enumerate(scores.T.tolist()):
            history, level = self._histories[target], float(self._level[target])
            for start in range(0, len(column), size):
                block = column[start : start + size]
                limit = history.quantile(level)
                missed = [score > limit or limit == -math.inf for score in block]
                levels += [level] * len(block)
                limits += [limit] * len(block)
                misses += missed
                level += step * (alpha * len(block) - sum(missed))
                for score in block:
                    history.add(score)
            self._level[target] = level
        shape = scores.shape[::-1]
        made = (np.array(each).reshape(shape).T for each in (levels, limits, misses))
        level_, limit_, missed_ = made
        self._count(missed_, min(size, len(scores)))
        return level_, np.repeat(limit_[..., None], 2, axis=2), missed_

    def _bound(self) -> float | None:
        alpha = 1 - float(self.coverage)
        reach = max(alpha, 1 - alpha) + self._longest * self.step
        return float(reach / (self._samples * self.step))

    def _words(self) -> str:
        return long_run_words(self)


def long_run_words(method: Any) -> str:
    """Return the promise of a long run, with its bound now."""
    words = (
        f"In the long run {100 * method.coverage:.10g} % of the samples are covered, whatever the "
        "series does"
    )
    bound = method.bound_
    if bound is None:
        return f"{words}."
    reached = f"after {method.samples_:,} samples the share is within {bound:.3g} of it"
    if bound >= max(method.coverage, 1 - method.coverage):  # as any share is
        return f"{words}. There are too few samples yet to bound their share."
    return f"{words}: {reached}, with certainty. Nothing is promised for a given time."
