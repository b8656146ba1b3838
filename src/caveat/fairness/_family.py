"""The confidence of one comparison at which all comparisons of an attribute hold at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist

import numpy as np

from .._validation import FloatArray
from ._rates import Key, Rate
from .measures import MEASURES, ODDS

DRAWS = 2000
"""Joint draws of the noise: the 95 % quantile of the largest deviation is known to some 1 %."""

MOST_PAIRS = 5000
"""With more pairs of groups the draws take long and gain little over Bonferroni's bound."""

COMPARED = {measure.of for measure in MEASURES.values()} | {measure.of for _, measure in ODDS}


def joint_noise(resamples: int, seed: int) -> FloatArray | None:
    """Return the normal weights of each resample in each joint draw, (resamples, draws)."""
    if not resamples:
        return None
    rng = np.random.default_rng([seed, DRAWS])
    return rng.standard_normal((resamples, DRAWS)) / np.sqrt(resamples)


@dataclass
class Family:
    r"""The comparisons of one attribute: all pairs of its groups in all rates, or some of them.

    A single comparison is judged at the confidence of the audit. For a family the confidence of
    each comparison is raised to :math:`2 \Phi(c) - 1`, where c is the quantile of
    :math:`\max_k |Z_k|`: standard normal deviations, one for each comparison, with the correlations
    of the differences of rates in the joint resamples (single-step max-t). Comparisons that say the
    same, as those of true positive and false negative rates, cost nothing.
    """

    rates: Sequence[dict[Key, Rate]]
    privileged: int | None
    confidence: float
    noise: FloatArray | None
    """What `joint_noise` returns; None without resamples."""
    _largest: dict[tuple[Key, bool], FloatArray] = field(default_factory=dict)
    _levels: dict[tuple[tuple[Key, ...], bool], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        every = dict.fromkeys(key for rates in self.rates for key in rates)
        self.keys = tuple(key for key in every if key[0] in COMPARED)
        self._rng = np.random.default_rng(DRAWS)
        self._defined = {
            key: [i for i, rates in enumerate(self.rates) if np.isfinite(rates[key].value)]
            for key in self.keys
        }

    def size(self, keys: Sequence[Key], chosen: bool) -> int:
        """Return the number of comparisons in some rates: of all pairs if the data chose one."""
        return sum(self._number(key, chosen) for key in keys)

    def _number(self, key: Key, chosen: bool) -> int:
        number = len(self._defined[key])
        if chosen:
            return number * (number - 1) // 2
        return number - 1 if self.privileged in self._defined[key] else 0

    def level(self, keys: tuple[Key, ...], chosen: bool) -> float:
        """Return the confidence of each comparison in some rates at which all of them hold.

        If the data chose the pair, all pairs count; otherwise those with the privileged group.
        """
        if (keys, chosen) not in self._levels:
            self._levels[keys, chosen] = self._level(keys, chosen)
        return self._levels[keys, chosen]

    def _level(self, keys: tuple[Key, ...], chosen: bool) -> float:
        number = self.size(keys, chosen)
        if number < 2 or self.noise is None:
            return self.confidence
        bound = bonferroni(self.confidence, number)
        if max(self._number(key, chosen) for key in keys) > MOST_PAIRS:
            return bound
        largest = np.max([self._deviations(key, chosen) for key in keys], axis=0)
        quantile = float(np.quantile(largest, self.confidence, method="higher"))
        return min(max(2 * NormalDist().cdf(quantile) - 1, self.confidence), bound)

    def _pairs(self, key: Key, chosen: bool) -> list[tuple[int, int]]:
        """Return the pairs of groups in which a rate is defined."""
        pairs = combinations(self._defined[key], 2)
        return [pair for pair in pairs if chosen or self.privileged in pair]

    def _deviations(self, key: Key, chosen: bool) -> FloatArray:
        """Return the largest standardized deviation of any pair in each joint draw."""
        if (key, chosen) not in self._largest:
            draws = self._draws([rates[key] for rates in self.rates])
            result = np.zeros(DRAWS)
            for i, j in self._pairs(key, chosen):
                apart = draws[i] - draws[j]
                spread = float(np.sqrt(np.mean(apart**2)))
                if spread > 0:  # one of them varies
                    np.maximum(result, np.abs(apart) / spread, out=result)
            self._largest[key, chosen] = result
        return self._largest[key, chosen]

    def _draws(self, rates: Sequence[Rate]) -> FloatArray:
        """Return normal deviations of a rate in all groups, correlated as its resamples are.

        A share of 0 or 1 does not vary in resamples; it gets noise as wide as its interval.
        """
        assert self.noise is not None
        draws = np.stack([self._deviation(rate) for rate in rates]) @ self.noise
        for result, rate in zip(draws, rates, strict=True):
            if rate.at_an_end:
                ends = rate.interval(self.confidence)
                result += (ends.high - ends.low) * self._rng.standard_normal(DRAWS)
        return np.asarray(draws)

    def _deviation(self, rate: Rate) -> FloatArray:
        """Return the deviation of each resample from the mean; 0 where it is undefined."""
        assert self.noise is not None
        if rate.replicates is None or rate.constant:
            return np.zeros(len(self.noise))
        values = rate.replicates.values
        values = np.where(np.isfinite(values), values, np.nan)
        return np.nan_to_num(values - np.nanmean(values))


def bonferroni(confidence: float, number: int) -> float:
    """Return the confidence of each of several comparisons at which all of them hold."""
    return 1 - (1 - confidence) / number
