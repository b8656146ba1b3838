"""Intervals from the latest residuals, block by block, as EnbPI makes them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_flags
from ..predictions import Gaussian
from .base import SequentialConformal
from .history import History


class BlockConformal(SequentialConformal):
    r"""The shortest interval that holds the asked share of the latest residuals.

    The part of EnbPI [1]_ that comes after the model: with the latest residuals
    :math:`\varepsilon = y - \mu` (over :math:`\sigma` with ``normalize``) the interval is

    .. math:: [\mu + Q(\beta),\ \mu + Q(1 - \alpha + \beta)],

    where :math:`\beta \in [0, \alpha]` makes it shortest. All samples of a block have the residuals
    from before the block; after it, its residuals replace the oldest ones. The level stays as it
    is, so intervals are calmer than those of `AdaptiveConformal`, and never infinite once there are
    enough residuals.

    Parameters
    ----------
    shortest : bool, default=True
        For a `Gaussian`: choose :math:`\beta`. Otherwise, and for `Quantiles` and an `Interval`,
        both ends move by the same.

    Notes
    -----
    **Requires** samples in the order of time, and residuals of samples that the model was not
    trained on: give out-of-fold or out-of-bag predictions to ``warm_up``, as EnbPI does.

    **Promises** the coverage approximately, for a long window, if the residuals are stationary and
    strongly mixing and the model is consistent [1]_. With ``shortest=False`` and exchangeable
    residuals, the coverage of each sample is at least the one asked for, at any window.

    **Cannot** promise anything if the distribution of residuals changes: coverage is off until the
    window has moved on. `AdaptiveConformal` and `AggregatedConformal` promise the long run for
    every series.

    References
    ----------
    .. [1] Xu & Xie, Conformal prediction interval for dynamic time-series, ICML 2021,
       arXiv:2010.09107.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> rng = np.random.default_rng(0)
    >>> y = rng.exponential(size=1500)                              # a skewed noise
    >>> prediction = caveat.Gaussian(np.ones(1500), 1.0)
    >>> method = caveat.BlockConformal(0.9)
    >>> method.warm_up(prediction.take(slice(500)), y[:500])
    BlockConformal()
    >>> run = method.run(prediction.take(slice(500, None)), y[500:], time="rows", block=24)
    >>> run.coverage.round(1)
    array([0.9])
    >>> run.interval.lower.min().round(1), run.interval.upper.max().round(1)
    (np.float64(0.0), np.float64(2.5))
    """

    shortest: bool = True

    def _begin(self, targets: int) -> None:
        check_flags(shortest=self.shortest)
        self._targets = targets

    @property
    def _signed(self) -> bool:
        return bool(self.shortest) and self._signature[0] == Gaussian.__name__

    def _levels(self) -> FloatArray:
        return np.full(self._targets, 1 - float(self.coverage))

    def _learn(self, missed: NDArray[np.bool_], scores: FloatArray) -> None:
        pass  # the level stays

    def _bound(self) -> float | None:
        return None

    def _words(self) -> str:
        return (
            f"About {100 * self.coverage:.10g} % of the samples are covered, if the residuals of "
            "the window and those to come have one distribution. Nothing is promised after a "
            "change."
        )

    def _scores_of(
        self, lower: FloatArray, upper: FloatArray, unit: FloatArray, y: FloatArray
    ) -> FloatArray:
        if self._signed:
            return np.asarray((y - lower) / unit)
        return super()._scores_of(lower, upper, unit, y)

    def _margins(self) -> FloatArray:
        if not self._signed:
            return super()._margins()
        return np.array([_shortest(history, self.coverage) for history in self._histories])

    def _misses(self, scores: FloatArray, margins: FloatArray) -> NDArray[np.bool_]:
        if not self._signed:
            return super()._misses(scores, margins)
        return (scores < -margins[:, 0]) | (scores > margins[:, 1])


def _shortest(history: History, coverage: float) -> tuple[Any, Any]:
    """Return how far the shortest interval with ceil((n + 1) c) residuals goes down and up."""
    values = np.array(history.sorted)
    number = int(np.ceil((len(values) + 1) * coverage - 1e-9))
    if number > len(values):
        return np.inf, np.inf
    widths = values[number - 1 :] - values[: len(values) - number + 1]
    first = int(np.argmin(widths))
    return -values[first], values[first + number - 1]
