"""Confidence intervals from states, by resampling the units of a state."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, generator
from .._validation import check_integer
from ..exceptions import OptionError
from ..metrics import Metric, State
from ..metrics.states import COARSE, sum_functions, widened
from ..metrics.units import UNITS
from .intervals import ConfidenceInterval, confidence_interval
from .plan import MOST, Plan, draws
from .replication import LEAST, Replicates, summed
from .spread import Spread, stacked

__all__ = ["state_interval"]


def state_interval(
    metric: Metric,
    state: State,
    confidence: float = 0.95,
    *,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> ConfidenceInterval:
    """Return the confidence interval of a metric from its state.

    The samples of a state are in 64 units, which are resampled. Unseen samples (see
    `confidence_interval`) cannot be added without the samples: with hardly any wrong predictions,
    and for the lower end of calibration errors with few samples, evaluate the samples themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.metrics import METRICS
    >>> p = np.random.default_rng(0).random(5000)
    >>> y = (np.random.default_rng(1).random(5000) < p).astype(int)
    >>> halves = [METRICS["auc"].state(y[s], p[s]) for s in (slice(2500), slice(2500, 5000))]
    >>> interval = state_interval(METRICS["auc"], sum(halves), random_state=0)
    >>> bool(interval.low < METRICS["auc"].function(y, p) < interval.high)
    True
    """
    if not isinstance(metric, Metric):
        raise OptionError(f"state_interval takes a Metric and a State of it; got {metric!r}")
    counts = unit_draws(UNITS, check_integer(resamples, "resamples", most=MOST), random_state)
    return confidence_interval(
        metric, metric.value(state), state_replicates(metric, state, counts), confidence
    )


def unit_draws(units: int, resamples: int, random_state: RandomState) -> NDArray[np.uint16]:
    """Draw how often each resample holds each unit of a state, (resamples, units)."""
    return draws(units, resamples, generator(random_state)).astype(np.uint16)


def state_replicates(
    metric: Metric, state: State, counts: NDArray[np.uint16], bits: int = COARSE
) -> Replicates:
    """Return a metric in every resample of the units of a state.

    ``counts`` are (resamples, units), and ``bits`` says how fine the cells of the units are.
    """
    plan = Plan(np.zeros(0, dtype=np.int32), counts, 1, None, 0)
    sums = sum_functions(metric, state, bits)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        matrices = [
            widened(part, *held) for part, held in zip(sums.parts, state.units, strict=True)
        ]
        held = int(np.count_nonzero(np.any(state.units[0][1] != 0, axis=1)))
        result = replace(summed(sums, matrices, plan, held), clustered=not state.plain)
        if sums.hits is not None:
            share = _share(matrices[0], state, held)
            return replace(result, share=share, hit=sums.hit)
        if sums.rests_on < LEAST:
            return replace(result, values=np.full(len(result), np.nan))
    return result


def _share(sums: Any, state: State, units: int) -> Spread:
    """Return the spread of a share, from the weight and the hits of each unit."""
    mass, hits = sums.T
    total = float(mass.sum())
    mean = float(hits.sum()) / total
    if state.plain:  # independent samples
        variance, size, kish, kish_units = mean * (1 - mean) / total, total, total, total
    else:
        apart = hits - mean * mass
        variance, size, kish = float(apart @ apart) / total**2, float(units), np.inf
        kish_units = total**2 / float(mass @ mass)
    return stacked([(mean, variance, total, size, kish, kish_units)], not state.plain)
