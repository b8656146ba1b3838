"""How the learning rate changes from the first step of a copy to its last.

A schedule is a function of how much of the training is done, from 0 to 1, and returns the factor of
the learning rate. A new one is a function and a line in the table.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Schedule = Callable[[np.ndarray], np.ndarray]

_WARM_UP = 0.05
"""Share of the training in which the rate rises."""

_STAGES = 100
"""How often the rate of a copy changes at most: between two of these steps it stays the same."""


def constant(done: np.ndarray) -> np.ndarray:
    """Return 1: the rate stays as it is."""
    return np.ones_like(done)


def cosine(done: np.ndarray) -> np.ndarray:
    """Rise along a line in the first twentieth, then fall to 0 along half a cosine."""
    falling = np.cos(np.pi * (done - _WARM_UP) / (1 - _WARM_UP))
    return np.where(done < _WARM_UP, done / _WARM_UP, (1 + falling) / 2)


def linear(done: np.ndarray) -> np.ndarray:
    """Rise along a line in the first twentieth, then fall to 0 along another."""
    return np.where(done < _WARM_UP, done / _WARM_UP, (1 - done) / (1 - _WARM_UP))


SCHEDULES: dict[str, Schedule] = {"constant": constant, "cosine": cosine, "linear": linear}
"""All schedules by name."""


class Rates:
    """The factor of the learning rate of each copy, which depends on its own steps alone."""

    def __init__(self, name: Any, steps: np.ndarray) -> None:
        # A scheduler of torch changes the rates of its optimizer itself.
        name = name if isinstance(name, str) else "constant"
        self._of, self._constant, self._steps = SCHEDULES[name], name == "constant", steps
        self._stage = -(-steps // _STAGES)

    def at(self, step: int) -> tuple[np.ndarray, int]:
        """Return the factors at a step, each at the middle of its stage, and the next change."""
        if self._constant:
            return np.ones(len(self._steps)), int(self._steps.max()) + 1
        stage = step // self._stage
        done = np.minimum((stage + 0.5) * self._stage / self._steps, 1.0)
        return self._of(done), int(((stage + 1) * self._stage).min())
