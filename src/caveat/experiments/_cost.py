"""What an experiment took."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cost:
    """What a result took.

    Attributes
    ----------
    trainings : int
        Networks that were trained, each member of an ensemble counted; fits of other models.
    steps : int or None
        Steps of the optimizers of all networks together; None for other models.
    seconds : float
        Duration of the call; what was read from a checkpoint took no time.

    Examples
    --------
    >>> from caveat.experiments import Cost
    >>> Cost(trainings=90, steps=None, seconds=2.0)
    Cost(trainings=90, steps=None, seconds=2.0)
    """

    trainings: int = 0
    steps: int | None = None
    seconds: float = 0.0


def cost_of(outcomes: Sequence[Any], seconds: float) -> Cost:
    """Return the cost of several trainings."""
    steps = [one.steps for one in outcomes]
    trainings = sum(one.trainings for one in outcomes)
    return Cost(trainings, None if None in steps else sum(steps), seconds)
