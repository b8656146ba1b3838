"""Layers on stacked weights, forward and back by hand; values are (copies, units, rows)."""

import copy
from abc import ABC, abstractmethod
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .. import layers, noise
from ._draws import Draws, Reusing, by_units

State = dict[str, Tensor]


class NetworkPart(Reusing, ABC):
    """One layer: values in, values out, and back."""

    passes_on = True
    """Whether anything before this part needs a gradient."""

    learns = False
    """Whether any of its weights is trained."""

    penalty: Tensor | None = None
    """What it adds to the objective of each copy, after a pass."""

    @abstractmethod
    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return outputs; without keys there is no noise."""

    @abstractmethod
    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Return the gradient of the inputs of the last pass; it may overwrite ``gradient``.

        `strength` is how much the penalty of each copy counts.
        """


class Linear(NetworkPart):
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
        target = self.workspace("out", (len(x), self.weight.shape[1], x.shape[2]), x)
        if self.bias is None:
            return torch.bmm(self.weight, x, out=target)
        return torch.baddbmm(self.bias, self.weight, x, out=target)

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
            self.weight.transpose(1, 2), gradient, out=self.workspace("in", self.x.shape, gradient)
        )


class Rectifier(NetworkPart):
    """ReLU."""

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return what is above 0."""
        self.out = torch.clamp_min(x, 0.0, out=self.workspace("out", x.shape, x))
        return self.out

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on where the outputs are above 0."""
        return torch.ops.aten.threshold_backward.grad_input(
            gradient, self.out, 0.0, grad_input=gradient
        )


class Standardize(NetworkPart):
    """A shift and a scale that are not learned, and a limit if there is one."""

    def __init__(self, mean: Tensor, scale: Tensor, limit: Tensor | None) -> None:
        super().__init__()
        self.mean, self.scale = mean.detach()[..., None], scale.detach()[..., None]
        self.limit = None if limit is None else limit.detach()[..., None]

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return z = (x - mean) / scale, or z over the root of 1 + (z / limit)^2."""
        z = self.workspace("out", x.shape, x, layout=x)
        torch.sub(x, self.mean, out=z).div_(self.scale)
        if self.limit is None:
            return z
        root = torch.div(z, self.limit, out=self.workspace("root", x.shape, x, layout=x))
        self.root = root.hypot_(self.workspace.kept("one", (), lambda: x.new_ones(())))
        return z.div_(self.root)

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on g / scale, with a limit over the third power of the root."""
        gradient = gradient.div_(self.scale)
        return gradient if self.limit is None else gradient.div_(self.root.pow(3))


class Embed(NetworkPart):
    """`layers.Embed`: the last units are codes, each of which becomes a vector."""

    def __init__(self, weight: Tensor, starts: Tensor, gradient: Tensor | None) -> None:
        super().__init__()
        copies, codes, self.width = weight.shape
        self.flat = weight.detach().flatten(0, 1)
        self.gradient, self.learns = gradient, gradient is not None
        first = torch.arange(copies, device=weight.device) * codes
        self.starts = (first[:, None] + starts)[..., None]
        """Where the vectors of each copy and column begin."""

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return the units before the codes, then a vector for each code."""
        before, columns, rows = x.shape[1] - self.starts.shape[1], self.starts.shape[1], x.shape[2]
        self.places = x[:, before:].to(torch.int64).add_(self.starts).reshape(-1)
        out = self.workspace("out", (len(x), before + columns * self.width, rows), x)
        out[:, :before] = x[:, :before]
        vectors = self.flat.index_select(0, self.places).view(len(x), columns, rows, self.width)
        out[:, before:].view(len(x), columns, self.width, rows).copy_(vectors.transpose(2, 3))
        return out

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Add up the gradients of each vector; pass on that of the units before the codes."""
        copies, columns = self.starts.shape[:2]
        before = gradient.shape[1] - columns * self.width
        if self.gradient is not None:
            parts = gradient[:, before:].reshape(copies, columns, self.width, -1).transpose(2, 3)
            flat = self.gradient.zero_().view(-1, self.width)
            flat.index_add_(0, self.places, parts.reshape(-1, self.width))
        passed = gradient.new_zeros(copies, before + columns, gradient.shape[2])
        passed[:, :before] = gradient[:, :before]
        return passed


class Dropout(NetworkPart):
    """The same masks that `layers.Dropout` draws, when it is called in a pass for the n-th time."""

    def __init__(self, place: int, p: float, call: int) -> None:
        super().__init__()
        self.draws, self.p, self.call = Draws(noise.stream(place, 0)), p, call

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return x with units dropped, each row with a mask of its own."""
        if keys is None:
            return x
        units, rows = x.shape[1:]
        mine = noise.key_of_call(keys, self.call)
        bits = self.draws(mine, (rows, units), lambda: [by_units(rows, units)])
        kept = noise.at_least(bits, self.p, x.dtype).view(x.shape)
        self.mask = self.workspace("mask", x.shape, x).copy_(kept).div_(1 - self.p)
        return torch.mul(x, self.mask, out=self.workspace("out", x.shape, x))

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on through what was kept."""
        return gradient.mul_(self.mask)


class Elementwise(NetworkPart):
    """Any function of single numbers, with torch's own gradient."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        # Gradients need the inputs as they were; the copy has no weights of its own.
        self.module = copy.copy(module)
        if hasattr(module, "inplace"):
            vars(self.module)["inplace"] = False

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return the function's values."""
        with torch.set_grad_enabled(self.passes_on):
            self.x = x.detach().requires_grad_(self.passes_on)
            self.out = self.module(self.x)
        return self.out.detach()

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Pass on by torch."""
        return torch.autograd.grad(self.out, self.x, gradient)[0]


class Random(NetworkPart):
    """A stochastic layer with weights: torch's own gradient, and a penalty."""

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
        results = torch.autograd.grad(ends, [*weights, *inputs], given)
        for target, value in zip(self.gradients.values(), results, strict=False):
            target.copy_(value)
        return results[-1].transpose(1, 2) if self.passes_on else gradient


class _WithPenalty(nn.Module):
    """A layer that also returns its penalty, so that both see the same weights."""

    def __init__(self, module: layers.Stochastic) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out = self.module(x)
        penalty = self.module.penalty()
        return out, torch.zeros(()) if penalty is None else penalty
