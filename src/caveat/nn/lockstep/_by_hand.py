"""Plain networks on stacked weights: passes forward and back by hand, in arrays used again.

No graph is recorded and nothing is allocated after the first step, which is most of the cost of
small networks. Values are laid out as (copies, units, rows): so products need no transposed copies,
and what runs over the units, such as a softmax over three classes, runs along the rows instead.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .. import layers, losses
from ..networks import CNN, MLP
from ._ends import BY_ROW, End, bare, make_end
from ._member_parts import MemberLinear, MemberScale
from ._parts import (
    Dropout,
    Elementwise,
    Embed,
    Linear,
    NetworkPart,
    Random,
    Rectifier,
    Standardize,
)
from ._random_parts import PRIORS, Concrete, DropConnect, MeanField

State = dict[str, Tensor]

_SAME = (nn.ELU, nn.GELU, nn.Identity, nn.SELU, nn.SiLU, nn.Tanh)
"""Elementwise functions without state; torch computes their gradients."""

_RANDOM = (
    layers.BayesLinear,
    layers.ConcreteDropoutLinear,
    layers.DropConnectLinear,
    layers.FlipoutLinear,
)
"""Layers with a penalty, whose gradients torch computes unless `_random_parts` has them."""

_WITHOUT_NOISE = (layers.Dropout, layers.Embed, layers.Standardize)
"""Other layers of ours."""

_MEMBERS = (layers.MemberLinear, layers.MemberScale)
"""Layers of members that share the others; rows of all members follow each other."""

_WEIGHTED: dict[type, Any] = {
    layers.DropConnectLinear: DropConnect,
    layers.MemberLinear: MemberLinear,
    layers.MemberScale: MemberScale,
}
"""Layers with a weight and maybe a bias, and their parts."""

_CONTAINERS = (nn.Sequential, MLP, CNN)
_HEADS = (layers.GaussianLogitsHead, layers.MeanVarianceHead, layers.QuantileHead)


class ByHand:
    """The passes of all copies of one network: its parts from the inputs on, and its loss."""

    def __init__(self, parts: list["NetworkPart"], end: End) -> None:
        self._parts, self._end = parts, end
        # Nothing before the first weights needs a gradient.
        learns = [part.learns for part in parts]
        self._first = learns.index(True) if True in learns else len(parts)
        for part in parts[: self._first + 1]:
            part.passes_on = False

    def step(
        self, x: Tensor, y: Tensor, counts: Tensor, penalty: Tensor | None, keys: Tensor
    ) -> Tensor:
        """Return the objective of each copy; gradients are written into the parts' targets."""
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
        return sum(part.bytes for part in self._parts) + self._end.bytes

    def _forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        values = x.transpose(1, 2)
        for part in self._parts:
            values = part.forward(values, keys)
        return values


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

    The dropout of the module must draw from keys. ``state`` are the stacked weights and buffers,
    read at each pass, and ``gradients`` the tensors to write to, for the weights that are trained.
    """
    named = list(_flat(module, ""))
    modules = [part for _, part in named]
    if not _are_known(modules) or not _share(modules, loss):
        return None
    head = modules[-1] if isinstance(modules[-1], _HEADS) else None
    calls = [modules[:place].count(part) for place, part in enumerate(modules)]
    parts = [
        _part(part, name, state, gradients, call)
        for (name, part), call in zip(named, calls, strict=True)
    ]
    return ByHand(parts, make_end(head, loss))


def _are_known(modules: list[nn.Module]) -> bool:
    """Whether there are known layers only, weights once each, and a head at the end alone."""
    tensors = [each for part in modules for each in (*part.parameters(), *part.buffers())]
    return (
        not any(_is_foreign(part) for part in modules)
        and len({id(each) for each in tensors}) == len(tensors)
        and not any(isinstance(part, _HEADS) for part in modules[:-1])
    )


def _share(modules: list[nn.Module], loss: Any) -> bool:
    """Whether there are no members, or as many from one layer to the end and in the loss."""
    layered = [part.linear if isinstance(part, _HEADS) else part for part in modules]
    own: list[Any] = [part for part in layered if isinstance(part, _MEMBERS)]
    repeats = [getattr(part, "repeat", False) for part in own]
    fits = repeats == [True, *repeats[1:]] and repeats.count(True) == 1
    together = bare(loss) is losses.over_members
    return together == (fits and len({part.members for part in own}) == 1) and fits == bool(own)


def _flat(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the layers in order, repeated ones as often as they occur."""
    if type(module) in _CONTAINERS and not is_altered(module):
        for key, part in module._modules.items():
            assert part is not None
            yield from _flat(part, f"{name}{key}.")
    else:
        yield name, module


def is_altered(module: nn.Module) -> bool:
    """Whether hooks or an own forward change what a call of this object does."""
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    return any(hooks) or "forward" in vars(module)


def _is_foreign(module: nn.Module) -> bool:
    if type(module) in _HEADS:
        linear: Any = module.linear
        maps = (nn.Linear, layers.MemberLinear, *_RANDOM)
        return is_altered(module) or is_altered(linear) or type(linear) not in maps
    known = (*_MEMBERS, *_SAME, *_RANDOM, nn.Linear, nn.ReLU, *_WITHOUT_NOISE)
    return is_altered(module) or type(module) not in known


def _part(module: Any, name: str, state: State, gradients: State, call: int) -> NetworkPart:
    if type(module) in _HEADS:
        module, name = module.linear, f"{name}linear."
    weight, bias = f"{name}weight", f"{name}bias"
    targets = gradients.get(weight), gradients.get(bias)
    if isinstance(module, nn.Linear):
        return Linear(state[weight], state.get(bias), targets)
    if type(module) in _WEIGHTED:
        return _WEIGHTED[type(module)](module, state[weight], state.get(bias), targets)
    if isinstance(module, _RANDOM):
        return _random_part(module, name, state, gradients)
    if isinstance(module, layers.Standardize):
        limit = state.get(f"{name}limit")
        return Standardize(state[f"{name}mean"], state[f"{name}scale"], limit)
    if isinstance(module, layers.Embed):
        return Embed(state[weight], state[f"{name}starts"], gradients.get(weight))
    if isinstance(module, layers.Dropout):
        return Dropout(module.place, module.p, call)
    return Rectifier() if isinstance(module, nn.ReLU) else Elementwise(module)


def _random_part(module: Any, name: str, state: State, gradients: State) -> NetworkPart:
    mine = {key.removeprefix(name): value for key, value in state.items() if key.startswith(name)}
    trained = {key: gradients[name + key] for key in mine if name + key in gradients}
    whole = len(trained) == len(mine)
    if isinstance(module, layers.ConcreteDropoutLinear) and whole:
        return Concrete(module, mine, trained)
    gaussian = isinstance(module, layers.BayesLinear | layers.FlipoutLinear)
    if gaussian and type(module.prior) in PRIORS and whole:
        return MeanField(module, mine, trained)
    return Random(module, mine, trained)
