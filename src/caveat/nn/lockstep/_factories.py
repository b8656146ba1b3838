"""What makes the network of a copy: with the weights of a module, or with new ones."""

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ...exceptions import OptionError
from .._generators import Generators
from ._stack import State

Factory = Callable[[], nn.Module]

HEAD, ALL = "head", "all"


def as_factory(module: nn.Module | Factory, fresh: str | Sequence[str] | None = None) -> Factory:
    """Return a function that makes a network.

    Copies of a module have its weights; a class or function makes its own. ``fresh`` names the
    parts whose weights are drawn anew afterwards: "head" is the last layer, unless a part has that
    name, and "all" is everything.
    """
    make: Factory = module
    if isinstance(module, nn.Module):
        make = partial(copy.deepcopy, module)
    if fresh is None or not len(fresh):
        return make

    def drawn() -> nn.Module:
        made = make()
        for part in _parts(made, [fresh] if isinstance(fresh, str) else fresh):
            _draw_anew(part)
        return made

    return drawn


def _parts(module: nn.Module, names: Sequence[str]) -> Iterator[nn.Module]:
    known = dict(module.named_modules())
    layers = [part for part in known.values() if list(part.parameters(recurse=False))]
    for name in names:
        if name in known:
            yield known[name]
        elif name == ALL:
            yield module
        elif name == HEAD and layers:
            yield layers[-1]
        else:
            children = [child for child in known if child and "." not in child]
            raise OptionError(
                f"fresh must be 'head', 'all' or names of parts of the module, such as "
                f"{', '.join(map(repr, children[-3:]))}; got {name!r}"
            )


def _draw_anew(module: nn.Module) -> None:
    for part in module.modules():
        reset = getattr(part, "reset_parameters", None)
        if callable(reset):
            reset()
        elif list(part.parameters(recurse=False)):
            raise OptionError(
                f"module has parameters that cannot be drawn anew ({type(part).__name__} has no "
                "reset_parameters); pass a function that makes the module instead"
            )


def initial_states(make: Factory, seeds: Sequence[int]) -> tuple[nn.Module, State]:
    """Return one module, and the initial weights and buffers of a copy for each seed, stacked."""
    states: list[State] = []
    module: Any = None
    generators = Generators()
    with generators.kept():
        for seed in seeds:
            generators.seed(seed)
            module = make()
            if not isinstance(module, nn.Module):
                raise OptionError(
                    f"module must be a torch module or a function that makes one; got a "
                    f"{type(module).__name__}"
                )
            mine = {k: v.detach().cpu() for k, v in module.state_dict().items()}
            first = states[0] if states else mine
            states.append({k: first[k] if torch.equal(v, first[k]) else v for k, v in mine.items()})
    if not any(each.requires_grad for each in module.parameters()):
        raise OptionError("module must have parameters that can be trained; it has none")
    return module.cpu(), {name: _stacked([s[name] for s in states]) for name in states[0]}


def _stacked(values: list[Tensor]) -> Tensor:
    """Return tensors along a new axis; one that all copies share is kept once."""
    if all(value is values[0] for value in values):
        return values[0].expand(len(values), *values[0].shape)
    return torch.stack(values)
