"""Plans of modules that were looked at before and have not changed since.

A pass depends on more than a module's attributes: on its code, on what is set on its class, and on
what its functions read from around them. All of it is walked through, and where something might
change unseen, the module is looked at anew.
"""

import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from dis import get_instructions
from enum import Enum
from functools import lru_cache, partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from ._copies import ATOMS, MAPPINGS, SEQUENCES
from ._plan import PassPlan
from .generators import GENERATORS_LOCK

_MOST = 20_000
"""Things that are compared at most: a module with more is looked at anew, which takes no longer."""

_SMALL = 2**16
"""Bytes of tensors and arrays that are compared by what they hold; a larger one is untold."""

_FEW = 16
"""Numbers of a parameter or buffer that are compared, too: a rate may be kept in one."""

_VALUES = (torch.dtype, torch.device, torch.layout, torch.memory_format, range)
_NAMED = (MethodDescriptorType, WrapperDescriptorType)
_WRAPPED = (staticmethod, classmethod)

_BY_TEXT = {
    "__dict__", "__import__", "eval", "exec", "getattr", "globals", "import_module", "locals",
    "modules", "vars",
}  # fmt: skip
"""Names by which a function may look up others, as a text."""

_KNOWN = sys.stdlib_module_names | {"torch", "numpy", "caveat"}
"""Packages whose functions and classes stay as they are."""

_HOOKS = (
    torch.nn.modules.module._global_forward_hooks,
    torch.nn.modules.module._global_forward_pre_hooks,
)
"""What runs with every module."""

_PLAIN = type("_Plain", (), {}).__basicsize__
"""The size of an object that is all in its attributes: not of a dict, a partial or the like."""


class _UntoldError(Exception):
    """There is something whose changes cannot be seen."""


@dataclass(frozen=True, eq=False)
class _Same:
    """A thing to be found again; held, so that no other takes its place in memory."""

    value: Any
    version: int = 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return False
        return self.value is other.value and self.version == other.version


class _Walk:
    """All that a pass of a module may depend on, as a list to compare with a later one."""

    def __init__(self, module: nn.Module) -> None:
        self.met: list[Any] = []
        self._places: dict[int, tuple[int, Any]] = {}
        if any(map(len, _HOOKS)):
            raise _UntoldError
        self._add(module)

    def holds(self, value: Any) -> bool:
        """Whether a thing was met on the way."""
        return id(value) in self._places

    def _add(self, value: Any) -> None:
        if len(self.met) > _MOST:
            raise _UntoldError
        kind = type(value)
        if kind in ATOMS or isinstance(value, _VALUES):
            self.met.append((kind, value))
        elif id(value) in self._places:
            self.met.append(self._places[id(value)][0])
        else:
            self._places[id(value)] = len(self.met), value
            self._add_new(value, kind)

    def _add_new(self, value: Any, kind: type) -> None:
        if isinstance(value, Tensor):
            self._add_tensor(value)
        elif isinstance(value, nn.Module):
            self._add_module(value)
        elif isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, MethodType):
            self._add_all(kind, value.__func__, value.__self__)
        elif kind is partial:
            self._add_all(kind, value.func, value.args, value.keywords, vars(value))
        elif kind is property:
            self._add_all(kind, value.fget)
        elif isinstance(value, _WRAPPED):
            self._add_all(kind, value.__func__)
        elif kind in MAPPINGS:
            self._add_all(kind, *value, *value.values())
        elif kind in (*SEQUENCES, tuple, torch.Size):
            self._add_all(kind, *value)
        elif kind in (set, frozenset) and ATOMS.issuperset(map(type, value)):
            self.met.append((kind, frozenset(value)))
        elif kind is np.ndarray and value.dtype != object and value.nbytes <= _SMALL:
            self.met.append((value.dtype, value.shape, value.tobytes()))
        elif isinstance(value, (*_NAMED, Enum)) or _is_builtin(value):
            self.met.append(_Same(value))
        elif kind.__basicsize__ == _PLAIN and not kind.__itemsize__ and hasattr(value, "__dict__"):
            self._add_all(kind, vars(value))
            self._add(kind)
        else:
            raise _UntoldError

    def _add_all(self, kind: type, *parts: Any) -> None:
        self.met.append((_Same(kind), len(parts)))
        for part in parts:
            self._add(part)

    def _add_module(self, module: nn.Module) -> None:
        self._add(type(module))
        for name, each in vars(module).items():
            # A copy is in evaluation mode; most of the rest are places for hooks, and empty.
            if name == "training" or (type(each) in MAPPINGS and not each):
                continue
            self.met.append(name)
            if name in ("_parameters", "_buffers"):
                for key, tensor in each.items():
                    self.met.append(key)
                    self._add_own(tensor)
            else:
                self._add(each)

    def _add_own(self, tensor: Tensor | None) -> None:
        """Add a parameter or buffer, whose values a kept plan takes over."""
        if tensor is None:
            self.met.append(None)
            return
        if tensor.is_inference():
            raise _UntoldError
        same = _Same(tensor, tensor._version)
        self.met.append((same, tensor.device, tensor.dtype, tensor.shape))
        if tensor.numel() <= _FEW and tensor.device.type == "cpu" and _is_dense(tensor):
            self.met.append(_bytes(tensor))

    def _add_tensor(self, tensor: Tensor) -> None:
        """Add a tensor in an attribute, which may be written without a trace."""
        if tensor.is_inference() or not _is_dense(tensor) or tensor.nbytes > _SMALL:
            raise _UntoldError
        self.met.append((_Same(tensor), tensor.device, tensor.dtype, tensor.shape, _bytes(tensor)))

    def _add_function(self, function: FunctionType) -> None:
        around, code = function.__globals__, function.__code__
        self.met.append(_Same(code))
        self._add_all(FunctionType, function.__defaults__, function.__kwdefaults__, vars(function))
        for cell in function.__closure__ or ():
            try:
                self._add(cell.cell_contents)
            except ValueError:  # it was never given a value
                self.met.append(None)
        if not _is_known(around.get("__name__")):
            names = _names(code)
            if names is None:
                raise _UntoldError
            for name in sorted(names & around.keys()):
                self.met.append(name)
                self._add_around(around[name], names)

    def _add_around(self, value: Any, names: frozenset[str]) -> None:
        """Add what a function reads from around it; of a module, all that may be read from it."""
        if not isinstance(value, ModuleType):
            self._add(value)
            return
        self.met.append(_Same(value))
        if not _is_known(value.__name__) and not self.holds(value):
            self._places[id(value)] = len(self.met), value
            for name in sorted(names & vars(value).keys()):
                self.met.append(name)
                self._add_around(vars(value)[name], names)

    def _add_class(self, kind: type) -> None:
        self.met.append(_Same(kind))
        for each in kind.__mro__:
            if not _is_known(each.__module__):
                for name, value in vars(each).items():
                    told = isinstance(value, (FunctionType, property, *_WRAPPED))
                    if told or not (name.startswith("__") or name == "_abc_impl"):
                        self.met.append(name)
                        self._add(value)


def _is_known(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in _KNOWN


def _is_builtin(value: Any) -> bool:
    return isinstance(value, BuiltinFunctionType) and (
        value.__self__ is None or isinstance(value.__self__, ModuleType)
    )


@lru_cache(maxsize=1024)
def _names(code: CodeType) -> frozenset[str] | None:
    """Return the names that a function, and those within it, may look up.

    None if it may look up any: by a text, or in a module that it imports itself.
    """
    imported = (each.argval for each in get_instructions(code) if each.opname == "IMPORT_NAME")
    if not _BY_TEXT.isdisjoint(code.co_names) or not all(map(_is_known, imported)):
        return None
    within = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    known = [names for names in within if names is not None]
    return frozenset(code.co_names).union(*known) if len(known) == len(within) else None


def _is_dense(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_quantized


def _bytes(tensor: Tensor) -> bytes:
    """Return what a tensor holds."""
    try:
        flat = tensor.detach().cpu().contiguous().flatten()
        return flat.view(torch.uint8).numpy().tobytes()
    except RuntimeError:  # left behind by a pass under torch.vmap
        raise _UntoldError from None


@dataclass(frozen=True)
class _Kept:
    """A plan, what it was made for, and how the module and the plan's own copy of it were."""

    use: Hashable
    module: list[Any]
    copy: list[Any]
    plan: PassPlan

    def fits(self, use: Hashable, seen: list[Any]) -> bool:
        """Whether it is for this use, and neither the module nor the copy has changed."""
        same = self.use == use and self.module == seen
        return same and self.copy == _Walk(self.plan.module).met


_PLANS: "WeakKeyDictionary[nn.Module, _Kept]" = WeakKeyDictionary()


def plan_for(module: nn.Module, use: Hashable, make: Callable[[], PassPlan]) -> PassPlan:
    """Return the plan that was made last for a module if nothing has changed, else another one.

    Parameters
    ----------
    module : torch.nn.Module
    use : hashable
        What else the plan depends on: the rows of the inputs, precision and device.
    make : callable
        Makes a plan.
    """
    with GENERATORS_LOCK:  # fx, too, can trace one module at a time
        known = _PLANS.pop(module, None)
        try:
            seen = _Walk(module).met
            if known and known.fits(use, seen):
                _refresh(known.plan.module, module)
                _PLANS[module] = known
                return known.plan
        except (_UntoldError, RecursionError):
            return make()
        plan = make()
        with suppress(_UntoldError, RecursionError):
            again, own = _Walk(module), _Walk(plan.module)
            # One that counts its calls, say, never is as it was; and what the copy refers to would
            # live as long as the plan.
            if seen == again.met and not own.holds(module):
                _PLANS[module] = _Kept(use, seen, own.met, plan)
        return plan


def _refresh(copy: nn.Module, module: nn.Module) -> None:
    """Take over what a module has as values of its own: batch norm changes them unseen."""
    pairs = zip(copy.buffers(), module.buffers(), strict=True)
    for mine, theirs in (*pairs, *zip(copy.parameters(), module.parameters(), strict=True)):
        if mine is not theirs:
            mine.data.copy_(theirs.data)
