"""A module's private double: shared weights, own mode, so that the original is never touched."""

from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ..exceptions import OptionError

_WRAPPERS = {
    "OptimizedModule": "_orig_mod",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
}


def unwrap(module: Any) -> nn.Module:
    """Return the module inside of torch's wrappers; refuse what is no module of Python."""
    while type(module).__name__ in _WRAPPERS:
        module = getattr(module, _WRAPPERS[type(module).__name__])
    if not isinstance(module, nn.Module) or isinstance(module, torch.jit.ScriptModule):
        raise OptionError(
            f"module must be a torch.nn.Module; got {type(module).__name__}. For a scripted module "
            "pass the one it was made from"
        )
    for name, parameter in module.named_parameters():
        if is_lazy(parameter):
            raise OptionError(
                f"parameter {name} of the module has no shape yet; call the module once on a batch"
            )
    return module


def private_copy(module: nn.Module, device: torch.device, *, hooks: bool = True) -> nn.Module:
    """Return a double in evaluation mode.

    Its submodules and buffers are its own, its parameters are the module's (copies of them on
    another device). A plain ``deepcopy`` would double the weights, and fails on tensors that a
    forward has left behind in attributes.

    Parameters
    ----------
    module : nn.Module
    device : torch.device
    hooks : bool, default=True
        Whether the hooks come along.
    """
    return _Copier(device, hooks).copy(module)


class _Copier:
    """Copies each module and each tensor once, so that what was shared stays shared."""

    def __init__(self, device: torch.device, hooks: bool) -> None:
        self.device = device
        self.hooks = hooks
        self.modules: dict[int, nn.Module] = {}
        self.tensors: dict[int, Tensor] = {}

    def copy(self, module: nn.Module) -> nn.Module:
        known = self.modules.get(id(module))
        if known is not None:
            return known
        new = object.__new__(type(module))
        self.modules[id(module)] = new
        fields: dict[str, Any] = {}
        for name, value in module.__dict__.items():
            if name == "_parameters":
                fields[name] = {key: self.parameter(each) for key, each in value.items()}
            elif name == "_buffers":
                fields[name] = {key: self.buffer(each) for key, each in value.items()}
            elif name == "_modules":
                fields[name] = {key: self.plain(each) for key, each in value.items()}
            elif "_hooks" in name:
                keep = self.hooks or not name.startswith("_forward")
                fields[name] = type(value)(value if keep else ())
            else:
                fields[name] = self.plain(value)
        new.__dict__.update(fields, training=False)
        return new

    def parameter(self, value: Tensor | None) -> Tensor | None:
        if value is None or value.device == self.device:
            return value
        if id(value) not in self.tensors:
            moved = value.detach().to(self.device)
            self.tensors[id(value)] = nn.Parameter(moved, requires_grad=False)
        return self.tensors[id(value)]

    def buffer(self, value: Tensor | None) -> Tensor | None:
        if value is None:
            return None
        if id(value) not in self.tensors:
            self.tensors[id(value)] = value.detach().to(self.device, copy=True)
        return self.tensors[id(value)]

    def plain(self, value: Any) -> Any:
        """Copy modules that are kept in lists, and methods that were set on a module."""
        if isinstance(value, nn.Module):
            return self.copy(value)
        if isinstance(value, MethodType) and isinstance(value.__self__, nn.Module):
            return MethodType(value.__func__, self.copy(value.__self__))
        if type(value) in (list, tuple):
            return type(value)(self.plain(each) for each in value)
        if type(value) is dict:
            return {key: self.plain(each) for key, each in value.items()}
        return value
