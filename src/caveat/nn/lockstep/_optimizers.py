"""Optimizers of one long vector that holds the weights of all copies."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Rate = float | Tensor
"""One learning rate, or one for each weight."""


@dataclass
class Adam:
    """Adam; with `decoupled`, AdamW. The same arithmetic as torch's."""

    first: Tensor
    second: Tensor
    decay: float
    decoupled: bool
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        self.work = torch.empty_like(self.first)

    @property
    def state(self) -> dict[str, Tensor]:
        """What one step leaves to the next, by name."""
        return {"first": self.first, "second": self.second}

    def update(self, weights: Tensor, gradient: Tensor, rate: Rate, step: float | Tensor) -> None:
        """Move the weights in place; `step` counts from 1."""
        if self.decay and self.decoupled:
            weights.sub_(weights * (rate * self.decay))
        elif self.decay:
            gradient = gradient.add(weights, alpha=self.decay)
        one, two = self.betas
        self.first.lerp_(gradient, 1 - one)
        self.second.mul_(two).addcmul_(gradient, gradient, value=1 - two)
        size = torch.sqrt(self.second, out=self.work)
        # Both sides of the fraction times this, which is one pass less than dividing by it.
        scale = (1 - two**step) ** 0.5
        size.add_(self.epsilon * scale)
        rate = rate * scale / (1 - one**step)
        if isinstance(rate, float):
            weights.addcdiv_(self.first, size, value=-rate)
        else:
            weights.sub_(torch.div(self.first, size, out=size).mul_(rate))


@dataclass
class GradientDescent:
    """Stochastic gradient descent, with momentum as torch has it."""

    first: Tensor
    decay: float
    momentum: float

    @property
    def state(self) -> dict[str, Tensor]:
        """What one step leaves to the next, by name."""
        return {"first": self.first}

    def update(self, weights: Tensor, gradient: Tensor, rate: Rate, step: float | Tensor) -> None:
        """Move the weights in place."""
        if self.decay:
            gradient = gradient.add(weights, alpha=self.decay)
        if self.momentum:
            gradient = self.first.mul_(self.momentum).add_(gradient)
        weights.sub_(gradient * rate)


def make_optimizer(name: str, weights: Tensor, decay: float, momentum: float) -> Any:
    """Return the optimizer of a checked name for a vector of weights."""
    if name in ("adam", "adamw"):
        return Adam(torch.zeros_like(weights), torch.zeros_like(weights), decay, name == "adamw")
    return GradientDescent(torch.zeros_like(weights), decay, momentum)
