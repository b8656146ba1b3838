"""Plain networks on stacked weights: passes forward and back by hand, in arrays used again.

No graph is recorded and nothing is allocated after the first step, which is most of the cost of
small networks. Values are laid out as (copies, units, rows): so products need no transposed copies,
and what runs over the units, such as a softmax over three classes, runs along the rows instead.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .. import layers, noise
from ..networks import CNN, MLP
from ._ends import BY_ROW, End, bare, make_end
from ._rooms import Rooms

State = dict[str, Tensor]

_SAME = (nn.ELU, nn.GELU, nn.Identity, nn.SELU, nn.SiLU, nn.Tanh)
"""What works on each number by itself, and keeps no state; their gradients are left to torch."""

_RANDOM = (
    layers.BayesLinear,
    layers.ConcreteDropoutLinear,
    layers.DropConnectLinear,
    layers.FlipoutLinear,
)
"""What is left to torch layer by layer, with what it adds to the objective."""

_CONTAINERS = (nn.Sequential, MLP, CNN)
_HEADS = (layers.GaussianLogitsHead, layers.MeanVarianceHead, layers.QuantileHead)


class ByHand:
    """The passes of all copies of one network.

    Parameters
    ----------
    parts : list of parts, from the inputs on
    end : End
        What makes losses of the last part's outputs.
    """

    def __init__(self, parts: list["Part"], end: End) -> None:
        self._parts, self._end = parts, end
        # Nothing before the first weights needs a gradient.
        learns = [part.learns for part in parts]
        self._first = learns.index(True) if True in learns else len(parts)
        for part in parts[: self._first + 1]:
            part.passes_on = False

    def step(
        self, x: Tensor, y: Tensor, counts: Tensor, penalty: Tensor | None, keys: Tensor
    ) -> Tensor:
        """Return the objective of each copy; the gradients are written where weights say."""
        with torch.no_grad():
            outputs = self._forward(x, keys)
            each, gradient = self._end.with_gradient(outputs, y, counts, keys)
            for part in reversed(self._parts[self._first :]):
                gradient = part.backward(gradient, penalty)
                if penalty is not None and part.penalty is not None:
                    each = each + penalty * part.penalty.detach()
        return each

    def losses(self, x: Tensor, y: Tensor, counts: Tensor, keys: Tensor) -> Tensor:
        """Return the weighted loss of each copy; the layers draw no noise."""
        with torch.no_grad():
            return self._end.losses(self._forward(x, None), y, counts, keys)

    @property
    def bytes(self) -> int:
        """The memory of the arrays that are used again."""
        return sum(part.rooms.bytes for part in self._parts) + self._end.rooms.bytes

    def _forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        values = x.transpose(1, 2)
        for part in self._parts:
            values = part.forward(values, keys)
        return values


class Part(ABC):
    """One layer: values in, values out, and back."""

    passes_on = True
    """Whether anything before this part needs a gradient."""

    learns = False
    """Whether any of its weights is trained."""

    penalty: Tensor | None = None
    """What it adds to the objective of each copy, after a pass."""

    def __init__(self) -> None:
        self.rooms = Rooms()

    @abstractmethod
    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return outputs; without keys there is no noise."""

    @abstractmethod
    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Return the gradient of the inputs of the last pass; it may overwrite what it is given.

        `strength` is how much the penalty of each copy counts.
        """


class Linear(Part):
    """A product of matrices."""

    def __init__(
        self, weight: Tensor, bias: Tensor | None, gradients: tuple[Tensor | None, Tensor | None]
    ) -> None:
        super().__init__()
        self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()[..., None]
        self.gradients = gradients
        self.learns = any(gradient is not None for gradient in gradients)

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return W x + b."""
        self.x = x
        room = self.rooms("out", (len(x), self.weight.shape[1], x.shape[2]), x)
        if self.bias is None:
            return torch.bmm(self.weight, x, out=room)
        return torch.baddbmm(self.bias, self.weight, x, out=room)

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Write the gradients of the weights, pass on W' g."""
        weight, bias = self.gradients
        if weight is not None:
            torch.bmm(gradient, self.x.transpose(1, 2), out=weight)
        if bias is not None:
            torch.sum(gradient, 2, out=bias)
        if not self.passes_on:
            return gradient
        return torch.bmm(
            self.weight.transpose(1, 2), gradient, out=self.rooms("in", self.x.shape, gradient)
        )


class Rectifier(Part):
    """ReLU."""

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return what is above 0."""
        self.out = torch.clamp_min(x, 0.0, out=self.rooms("out", x.shape, x))
        return self.out

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on where the outputs are above 0."""
        return torch.ops.aten.threshold_backward.grad_input(
            gradient, self.out, 0.0, grad_input=gradient
        )


class Standardise(Part):
    """A shift and a scale that are not learned."""

    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.mean, self.scale = mean.detach()[..., None], scale.detach()[..., None]

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return (x - mean) / scale."""
        room = self.rooms("out", x.shape, x, layout=x)
        return torch.sub(x, self.mean, out=room).div_(self.scale)

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on g / scale."""
        return gradient.div_(self.scale)


class Dropout(Part):
    """The same masks that `layers.Dropout` draws."""

    def __init__(self, place: int, p: float) -> None:
        super().__init__()
        self.stream, self.p = noise.stream(place, 0), p
        self.single = float(torch.tensor(p, dtype=torch.float32))

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return x with units dropped, each row with a mask of its own."""
        if keys is None:
            return x
        copies, units, rows = x.shape
        bits = self.rooms("bits", (copies, units * rows), x, torch.int32)
        work = self.rooms("work", bits.shape, x, torch.int32)
        noise.fill_bits(keys, self.stream, self._places(units, rows, x), bits, work)
        p = self.p if x.dtype == torch.float64 else self.single
        kept = noise.at_least(bits, p).view(x.shape)
        self.mask = self.rooms("mask", x.shape, x).copy_(kept).div_(1 - self.p)
        return torch.mul(x, self.mask, out=self.rooms("out", x.shape, x))

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on through what was kept."""
        return gradient.mul_(self.mask)

    def _places(self, units: int, rows: int, like: Tensor) -> Tensor:
        """Return the number of each element as the layer counts them: row by row."""

        def count() -> Tensor:
            numbers = torch.arange(rows * units, dtype=torch.int32, device=like.device)
            return numbers.view(rows, units).t().reshape(-1)

        return self.rooms.kept("places", (units, rows), count)


class Elementwise(Part):
    """Any function of single numbers, with torch's own gradient."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return the function's values."""
        with torch.set_grad_enabled(self.passes_on):
            self.x = x.detach().requires_grad_(self.passes_on)
            self.out = self.module(self.x)
        return self.out.detach()

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on by torch."""
        return torch.autograd.grad(self.out, self.x, gradient)[0]


class Random(Part):
    """A stochastic layer with weights: torch's own gradient, and a penalty.

    Parameters
    ----------
    module : Stochastic
    state : dict of str to Tensor
        Its stacked weights and buffers.
    gradients : dict of str to Tensor
        Where to write, for what is trained.
    """

    def __init__(self, module: layers.Stochastic, state: State, gradients: State) -> None:
        super().__init__()
        self.module, self.state, self.gradients = _WithPenalty(module), state, gradients
        self.learns = bool(gradients)

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return outputs with noise, or those of the mean weights."""
        self.module.train(keys is not None)
        with torch.set_grad_enabled(keys is not None):
            self.x = x.transpose(1, 2).detach().requires_grad_(self.passes_on)
            places = 0, 0, None if keys is None else 0
            mapped = torch.vmap(self._one, in_dims=places, randomness="different")
            self.out, self.penalty = mapped(self.state, self.x, keys)
        return self.out.detach().transpose(1, 2)

    def _one(self, state: State, x: Tensor, key: Tensor | None) -> tuple[Tensor, Tensor]:
        named = {f"module.{name}": value for name, value in state.items()}
        with nullcontext() if key is None else noise.keyed(key):
            out, penalty = functional_call(self.module, named, (x,))
        return out, penalty

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Write the gradients of the weights, pass on that of the inputs."""
        assert self.penalty is not None
        ends, given = [self.out], [gradient.transpose(1, 2)]
        if strength is not None and self.penalty.requires_grad:
            ends, given = [*ends, self.penalty], [*given, strength]
        weights = [self.state[name] for name in self.gradients]
        inputs = [self.x] if self.passes_on else []
        found = torch.autograd.grad(ends, [*weights, *inputs], given)
        for room, value in zip(self.gradients.values(), found, strict=False):
            room.copy_(value)
        return found[-1].transpose(1, 2) if self.passes_on else gradient


class _WithPenalty(nn.Module):
    """A layer that also returns its penalty, so that both see the same weights."""

    def __init__(self, module: layers.Stochastic) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out = self.module(x)
        penalty = self.module.penalty()
        return out, torch.zeros(()) if penalty is None else penalty


def draws(module: nn.Module, loss: Any) -> bool:
    """Whether a step may draw noise from keys."""
    return bare(loss) not in BY_ROW or any(layers.stochastic_layers(module))


def by_hand(
    module: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    state: State,
    gradients: State,
) -> ByHand | None:
    """Return the passes of a network of known layers, or None if it has others.

    Parameters
    ----------
    module : nn.Module
        Prepared: its dropout draws from keys.
    loss : callable
    state : dict of str to Tensor
        Stacked weights and buffers, which are used as they are at each pass.
    gradients : dict of str to Tensor
        Where to write, for what is trained.
    """
    found = list(_flat(module, ""))
    modules = [part for _, part in found]
    if not _are_known(modules):
        return None
    head = modules[-1] if isinstance(modules[-1], _HEADS) else None
    parts = [_part(part, name, state, gradients) for name, part in found]
    return ByHand(parts, make_end(head, loss))


def _are_known(modules: list[nn.Module]) -> bool:
    """Whether there are known layers only, weights once each, and a head at the end alone."""
    with_weights = [part for part in modules if next(part.parameters(), None) is not None]
    return (
        not any(_is_foreign(part) for part in modules)
        and len(set(with_weights)) == len(with_weights)
        and not any(isinstance(part, _HEADS) for part in modules[:-1])
    )


def _flat(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the layers in order, those that occur twice as often as they occur."""
    if type(module) in _CONTAINERS and not _has_hooks(module):
        for key, part in module._modules.items():
            assert part is not None
            yield from _flat(part, f"{name}{key}.")
    else:
        yield name, module


def _has_hooks(module: nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)


def _is_foreign(module: nn.Module) -> bool:
    if type(module) in _HEADS:
        linear: Any = module.linear
        return _has_hooks(module) or _has_hooks(linear) or type(linear) not in (nn.Linear, *_RANDOM)
    known = (*_SAME, *_RANDOM, nn.Linear, nn.ReLU, layers.Dropout, layers.Standardise)
    return _has_hooks(module) or type(module) not in known


def _part(module: Any, name: str, state: State, gradients: State) -> Part:
    if type(module) in _HEADS:
        module, name = module.linear, f"{name}linear."
    if isinstance(module, nn.Linear):
        weight, bias = f"{name}weight", f"{name}bias"
        return Linear(state[weight], state.get(bias), (gradients.get(weight), gradients.get(bias)))
    if isinstance(module, _RANDOM):
        mine = {key.removeprefix(name): key for key in state if key.startswith(name)}
        trained = {key: gradients[full] for key, full in mine.items() if full in gradients}
        return Random(module, {key: state[full] for key, full in mine.items()}, trained)
    if isinstance(module, layers.Standardise):
        return Standardise(state[f"{name}mean"], state[f"{name}scale"])
    if isinstance(module, layers.Dropout):
        return Dropout(module.place, module.p)
    return Rectifier() if isinstance(module, nn.ReLU) else Elementwise(module)
