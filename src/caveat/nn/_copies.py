"""Private copies of modules: shared weights, own mode, so that the original is never changed."""

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from types import MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ..exceptions import OptionError

_WRAPPERS = {
    "OptimizedModule": "_orig_mod",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
}

# Not their subclasses, of which some cannot be filled again.
MAPPINGS = (dict, OrderedDict, defaultdict, Counter)
SEQUENCES = (list, deque)
# Vocabularies and tables hold many of these; inspecting more than their type takes long.
ATOMS = frozenset({bool, bytes, complex, float, int, str, type(None)})


def unwrap(module: Any) -> nn.Module:
    """Return the module inside of torch's wrappers; raise if it is not a module of Python."""
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
    """Return a copy in evaluation mode, with or without its hooks.

    Its submodules and buffers are its own, and so are tensors, arrays, generators and containers in
    its attributes; its parameters are the module's (copies of them on another device). A plain
    ``deepcopy`` would copy the weights, and fails on tensors that a forward has left in attributes.
    """
    copier = _Copier(device, hooks)
    for each in module.buffers():  # ahead of attributes that are buffers of another part
        copier.buffer(each)
    return copier.copy(module)


class _Copier:
    """Copies each thing once, so that what was shared stays shared."""

    def __init__(self, device: torch.device, hooks: bool) -> None:
        self.device = device
        self.hooks = hooks
        self.known: dict[int, Any] = {}

    def copy(self, module: nn.Module) -> nn.Module:
        if id(module) in self.known:
            return self.known[id(module)]
        new = object.__new__(type(module))
        self.known[id(module)] = new
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
        if id(value) not in self.known:
            moved = value.detach().to(self.device)
            self.known[id(value)] = nn.Parameter(moved, requires_grad=False)
        return self.known[id(value)]

    def buffer(self, value: Tensor | None) -> Tensor | None:
        if value is None:
            return None
        if id(value) not in self.known:
            self.known[id(value)] = value.detach().to(self.device, copy=True)
        return self.known[id(value)]

    def plain(self, value: Any) -> Any:
        """Copy what a forward may change in place, and what has modules in it."""
        if type(value) in ATOMS:
            return value
        if isinstance(value, nn.Module):
            return self.copy(value)
        if isinstance(value, nn.Parameter):
            return self.parameter(value)
        if isinstance(value, MethodType) and isinstance(value.__self__, nn.Module):
            return MethodType(value.__func__, self.copy(value.__self__))
        if type(value) is tuple:
            return tuple(self.plain(each) for each in value)
        if id(value) in self.known:
            return self.known[id(value)]
        new = _shallow(value)
        if new is not value:
            self.known[id(value)] = new
        if type(value) in MAPPINGS:
            for key, each in value.items():
                new[key] = self.plain(each)
        elif type(value) in SEQUENCES:
            new.clear()
            new.extend(map(self.plain, value))
        return new


def _shallow(value: Any) -> Any:
    """Return a tensor, generator, array or container of its own; anything else as it is."""
    if isinstance(value, Tensor):
        try:
            return value.detach().clone()
        except RuntimeError:  # left behind by a pass under torch.vmap, of no use to any other
            return value
    if isinstance(value, torch.Generator):
        return value.clone_state()
    if type(value) in (*MAPPINGS, *SEQUENCES, set, bytearray, np.ndarray):
        return copy.copy(value)
    return value
