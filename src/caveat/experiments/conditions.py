"""Which samples and labels each training of a sweep gets: functions of the seed alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._random import RandomState, generator
from .protocol import Protocol

BINS = 10
"""Strata of a regression: quantile bins of the target, fewer for few samples."""

_ORDER, _NOISE, _PERMUTE, _MODEL, _SPLIT, _HELD = range(6)
TRAIN, TEST, HELD = range(3)
"""Parts of the samples, each with noise of its own."""
_KINDS = {"size": 0, "noise": 1}


@dataclass(frozen=True)
class Condition:
    """One training: a level of a sweep in one repeat."""

    kind: str
    level: float
    place: int
    repeat: int

    @property
    def name(self) -> str:
        """For files."""
        return f"{self.kind}-{self.level:.9g}-repeat-{self.repeat}"

    @property
    def words(self) -> str:
        """For messages."""
        return f"the condition '{self.kind} {100 * self.level:.3g} %, repeat {self.repeat + 1}'"


def conditions_of(protocol: Protocol) -> list[Condition]:
    """Return all trainings; sizes first, whose labels are clean."""
    return [
        Condition(kind, level, place, repeat)
        for kind, levels in (("size", protocol.sizes), ("noise", protocol.noise))
        for repeat in range(protocol.repeats)
        for place, level in enumerate(levels)
    ]


class Draws:
    """Random numbers of an experiment: those of a condition depend on it and the seed alone.

    Neither other levels, nor the order of the work, nor who does it, changes them.
    """

    def __init__(self, root: int) -> None:
        self.root = root

    @classmethod
    def of(cls, random_state: RandomState) -> "Draws":
        """Return the numbers that a user's random state stands for."""
        return cls(int(generator(random_state).integers(2**62)))

    def _of(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.root, spawn_key=key))

    def split(self) -> int:
        """Return the seed of the split into training and test samples."""
        return int(self._of(_SPLIT).integers(2**31))

    def seeds(self, condition: Condition, count: int) -> list[int]:
        """Return seeds for the model and what is sampled from it."""
        draw = self._of(
            condition.repeat, _MODEL, _KINDS[condition.kind], round(condition.level * 1e9)
        )
        return [int(seed) for seed in draw.integers(2**31, size=count)]

    def order(self, strata: np.ndarray, repeat: int, each: bool) -> np.ndarray:
        """Return the samples in an order of which every beginning is a stratified subset.

        The next sample comes from the stratum that is furthest behind its share (the method of
        Sainte-Lague). With ``each`` one sample of every stratum comes first.
        """
        return self._ordered(self._of(repeat, _ORDER), strata, each)

    def held_out(self, strata: np.ndarray, count: int, each: bool) -> np.ndarray:
        """Return samples that no subset has, the same in all conditions, in their own order."""
        order = self._ordered(self._of(_HELD), strata, each)
        return np.sort(order[len(strata) - count :])

    def _ordered(self, draw: np.random.Generator, strata: np.ndarray, each: bool) -> np.ndarray:
        behind = np.empty(len(strata))
        for stratum in np.unique(strata):
            rows = draw.permutation(np.flatnonzero(strata == stratum))
            behind[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
            if each:
                behind[rows[0]] -= 1
        return np.lexsort((draw.random(len(strata)), behind))

    def noisy(self, y: np.ndarray, condition: Condition, part: int = TRAIN) -> np.ndarray:
        """Return labels of which a share is permuted among themselves.

        The sets that are permuted are nested: what is touched at a level is touched at all higher
        ones. The permutation within them is drawn anew.
        """
        order = self._of(condition.repeat, _NOISE, part).permutation(len(y))
        chosen = order[: subset_size(condition.level, len(y))]
        draw = self._of(condition.repeat, _PERMUTE, part, round(condition.level * 1e9))
        result = y.copy()
        result[chosen] = y[draw.permutation(chosen)]
        return result


def subset_size(share: float, samples: int, least: int = 0) -> int:
    """Return how many samples a share is; half a sample counts as one."""
    # 0.35 * 10 is less than 3.5 by a rounding error.
    return max(least, int(np.floor(share * samples + 0.5 + 1e-9)))


def strata_of(y: np.ndarray, task: str) -> np.ndarray:
    """Return what a subset keeps the shares of: the class, or the quantile bin of a number."""
    if task == "classification":
        return np.unique(y, return_inverse=True)[1]
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    bins = min(BINS, max(1, len(y) // BINS))
    return ranks * bins // len(y)


def least_samples(y: np.ndarray, task: str) -> int:
    """Return the smallest subset that can be learned from."""
    return len(np.unique(y)) if task == "classification" else 2


def rows_of(condition: Condition, y: np.ndarray, task: str, draws: Draws) -> Any:
    """Return the training samples of a condition, in their own order; None for all."""
    count = subset_size(condition.level, len(y), least_samples(y, task))
    if condition.kind == "noise" or count >= len(y):
        return None
    order = draws.order(strata_of(y, task), condition.repeat, task == "classification")
    return np.sort(order[:count])
