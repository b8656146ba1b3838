"""Optimizers of one long vector that holds the weights of all copies."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn

from ...exceptions import OptionError
from ._adam_kernel import HAS_TRITON, adam_on_gpu
from ._settings import Training
from ._stack import Stack, factor_of

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

    @cached_property
    def work(self) -> Tensor:
        """Room for one vector."""
        return torch.empty_like(self.first)

    @cached_property
    def taken(self) -> Tensor:
        """Room for the number of steps."""
        return torch.empty(())

    @property
    def state(self) -> dict[str, Tensor]:
        """What one step leaves to the next, by name."""
        return {"first": self.first, "second": self.second}

    def update(self, weights: Tensor, gradient: Tensor, rate: Rate, step: float | Tensor) -> None:
        """Move the weights in place; `step` counts from 1."""
        one, two = self.betas
        if (
            HAS_TRITON
            and weights.is_cuda
            and weights.dtype == torch.float32
            and isinstance(rate, Tensor)
        ):  # pragma: no cover - needs a GPU
            adam_on_gpu(
                weights, gradient, (self.first, self.second), rate, step, decay=self.decay,
                decoupled=self.decoupled, betas=self.betas, epsilon=self.epsilon,
            )  # fmt: skip
            return
        if isinstance(rate, float):
            # One pass over all vectors. torch's own optimizer calls the same function.
            step_of = torch._fused_adamw_ if self.decoupled else torch._fused_adam_
            step_of(
                [weights], [gradient], [self.first], [self.second], [], [self.taken.fill_(step)],
                lr=rate, beta1=one, beta2=two, weight_decay=self.decay, eps=self.epsilon,
                amsgrad=False, maximize=False,
            )  # fmt: skip
            return
        if self.decay and self.decoupled:
            weights.sub_(weights * (rate * self.decay))
        elif self.decay:
            gradient = gradient.add(weights, alpha=self.decay)
        self.first.lerp_(gradient, 1 - one)
        self.second.mul_(two).addcmul_(gradient, gradient, value=1 - two)
        size = torch.sqrt(self.second, out=self.work)
        # Both sides of the fraction times this, which is one pass less than dividing by it.
        scale = (1 - two**step) ** 0.5
        size.add_(self.epsilon * scale)
        rate = rate * scale / (1 - one**step)
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


class Own:
    """An optimizer of torch, on the weights of one copy, and maybe a scheduler of torch."""

    state: dict[str, Tensor] = {}  # noqa: RUF012 - never written: it cannot be resumed

    def __init__(self, training: Training, stack: Stack) -> None:
        weights = stack.split(stack.flat)
        self._weights = {name: nn.Parameter(view) for name, view in weights.items()}
        self._stack, self._factor = stack, 1.0
        make = training.optimizer
        if not callable(make):
            make = _NAMED[make]
            make = partial(make, momentum=training.momentum) if make is torch.optim.SGD else make
        given = {"lr": training.base_rate, "weight_decay": training.weight_decay}
        groups = _groups(self._weights, training)
        self.optimizer = _made(make, "optimizer", groups, **_taken(make, given))
        if not isinstance(self.optimizer, torch.optim.Optimizer):
            raise OptionError(
                f"optimizer must make a torch.optim.Optimizer; it made a "
                f"{type(self.optimizer).__name__}"
            )
        _check_step(self.optimizer)
        self._rates = [group["lr"] for group in self.optimizer.param_groups]
        self._scheduler = None
        if callable(training.scheduler):
            self._scheduler = _made(training.scheduler, "scheduler", self.optimizer)

    def update(self, weights: Tensor, gradient: Tensor, rate: Rate, step: float | Tensor) -> None:
        """Move the weights in place; the rates are in the optimizer."""
        for name, view in self._stack.split(gradient).items():
            self._weights[name].grad = view
        self.optimizer.step()

    def scale(self, factor: float) -> None:
        """Multiply the rates that the optimizer began with."""
        if factor == self._factor:
            return
        self._factor = factor
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor

    def end_epoch(self, loss: float) -> None:
        """Let the scheduler set the rates for the next epoch."""
        if isinstance(self._scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            self._scheduler.step(loss)
        elif self._scheduler is not None:
            self._scheduler.step()


_NAMED: dict[Any, Callable[..., Any]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}


def _groups(weights: dict[str, nn.Parameter], training: Training) -> list[Any]:
    """Return the parameters as an optimizer takes them, those of one rate together."""
    rates = training.learning_rate
    if isinstance(rates, int | float):
        return list(weights.values())
    groups: dict[float, list[nn.Parameter]] = {}
    for name, weight in weights.items():
        groups.setdefault(factor_of(name, rates, "learning_rate"), []).append(weight)
    return [{"params": each, "lr": rate} for rate, each in groups.items()]


def _taken(make: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a class or function takes and that are not fixed in it."""
    fixed = make.keywords if isinstance(make, partial) else {}
    known = inspect.signature(make).parameters
    return {name: value for name, value in given.items() if name in known and name not in fixed}


def _made(make: Callable[..., Any], name: str, *given: Any, **options: Any) -> Any:
    try:
        return make(*given, **options)
    except TypeError as error:
        raise OptionError(
            f"{name} could not be made: {error}; fix its arguments with "
            f"functools.partial({getattr(make, '__name__', name)}, ...)"
        ) from error


def _check_step(optimizer: torch.optim.Optimizer) -> None:
    """Raise if an optimizer computes the loss several times in a step."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise OptionError(
            f"optimizer {type(optimizer).__name__} computes the loss several times in a step, by a "
            "closure, and a step here has one gradient of a batch; take another one, such as "
            "torch.optim.Adam"
        )


def make_optimizer(training: Training, stack: Stack) -> Any:
    """Return the optimizer of the stacked weights, of which torch's take one copy alone."""
    if training.own:
        return Own(training, stack)
    weights, decay = stack.flat, training.weight_decay
    if training.optimizer in ("adam", "adamw"):
        decoupled = training.optimizer == "adamw"
        return Adam(torch.zeros_like(weights), torch.zeros_like(weights), decay, decoupled)
    return GradientDescent(torch.zeros_like(weights), decay, training.momentum)
