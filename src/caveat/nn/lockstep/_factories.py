"""What makes the network of a copy: with the weights of a module, or with new ones."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ...exceptions import OptionError
from .._loaders import call
from ..generators import Generators
from ._stack import State
from .sources import tensors_of

Factory = Callable[[], nn.Module]

HEAD, ALL = "head", "all"


def as_factory(module: nn.Module | Factory, fresh: Sequence[str] = ()) -> Factory:
    """Return a function that makes a network.

    Copies of a module have its weights; a class or function makes its own. ``fresh`` has the names
    of parts whose weights are drawn anew afterwards, see `fresh_parts`.
    """
    make: Factory = module
    if isinstance(module, nn.Module):
        make = partial(copy.deepcopy, module)
    if not fresh:
        return make

    def drawn() -> nn.Module:
        made = make()
        for name in fresh:
            _draw_anew(made.get_submodule(name))
        return made

    return drawn


def fresh_parts(module: nn.Module, fresh: str | Sequence[str] | None, samples: Any) -> list[str]:
    """Return the names of the parts of a module that are to be drawn anew.

    "head" is the last layer that is called on the samples, unless a part has that name; "all" is
    everything, the part without a name.
    """
    names = [fresh] if isinstance(fresh, str) else list(fresh or ())
    return [_part(module, name, samples) for name in names]


def _part(module: nn.Module, name: str, samples: Any) -> str:
    known = dict(module.named_modules())
    if name in known:
        return name
    if name == ALL:
        return ""
    if name == HEAD:
        with Generators().kept():
            return _head(module, samples)
    children = [child for child in known if child and "." not in child]
    raise OptionError(
        f"fresh must be 'head', 'all' or names of parts of the module, such as "
        f"{', '.join(map(repr, children[-3:]))}; got {name!r}"
    )


def _head(module: nn.Module, samples: Any) -> str:
    """Return the layer with weights that is called last; raise if it is no head."""
    made = copy.deepcopy(module).cpu().eval()
    called: list[str] = []
    for name, part in made.named_modules():
        if list(part.parameters(recurse=False)):
            part.register_forward_pre_hook(lambda *_, name=name: called.append(name))
    with torch.no_grad():
        call(made, samples)
    if not called:
        raise _no_head("the module calls no layer with weights")
    last = made.get_submodule(called[-1])
    words = f"{called[-1]!r} ({type(last).__name__})"
    if _is_passed_by(made, last, samples):
        raise _no_head(f"not all of the output comes from {words}, which is called last")
    if _is_fixed(last):
        raise _no_head(f"{words} is called last, and its weights begin with the same numbers")
    return called[-1]


def _no_head(why: str) -> OptionError:
    return OptionError(
        f"fresh='head' draws the last layer anew, but {why}; name the parts that are to be drawn "
        "anew instead, such as fresh=['fc']"
    )


def _is_passed_by(module: nn.Module, part: nn.Module, samples: Any) -> bool:
    """Whether weights outside of a part reach the output by other ways than through it."""
    for value in module.parameters():
        value.requires_grad_(value.is_floating_point())
    part.register_forward_hook(lambda *hooked: _detached(hooked[-1]))
    with torch.enable_grad():
        outputs = tensors_of(call(module, samples))
    return any(each.requires_grad for each in outputs)


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _is_fixed(part: nn.Module) -> bool:
    """Whether a part that is drawn anew always has the same weights."""
    draws = []
    for _ in range(2):
        _draw_anew(part)
        draws.append([value.detach().clone() for value in part.parameters()])
    return all(map(torch.equal, *draws))


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
