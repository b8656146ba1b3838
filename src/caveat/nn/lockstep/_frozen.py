"""Parts of a network whose weights stay as they are, and what they compute once for all copies."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .._inputs import precision
from .._loaders import call
from ..noise import keyed, make_keys
from ._by_hand import is_altered

_MOST = 4 * 2**30
"""Bytes of features that are kept."""

_NORMS = (nn.modules.batchnorm._NormBase,)


def frozen_parts(module: nn.Module) -> list[nn.Module]:
    """Return the largest parts that have parameters, none of which is trained."""
    own = list(module.parameters())
    if own and not any(each.requires_grad for each in own):
        return [module]
    return [part for child in module.children() for part in frozen_parts(child)]


def quiet_parts(module: nn.Module, noise: bool) -> list[nn.Module]:
    """Return what runs as in evaluation: all frozen parts, or with noise their norms alone."""
    parts = frozen_parts(module)
    if not noise:
        return parts
    return [each for part in parts for each in part.modules() if isinstance(each, _NORMS)]


@dataclass(frozen=True, eq=False)
class Split:
    """A network as two: what comes before all trained parts, and the rest on its outputs.

    The names of the weights in the rest are those in the whole.
    """

    whole: nn.Module
    features: Callable[[Any], Tensor]
    rest: nn.Module

    def on(self, device: torch.device) -> Callable[[Any], Tensor]:
        """Return the first half on a device."""
        self.whole.to(device)
        return self.features

    def compute(self, blocks: Iterator[Any], rows: int, device: torch.device) -> Tensor | None:
        """Return the features of all samples on the CPU; None if they are too large to keep."""
        kept: list[Tensor] = []
        dtype = precision(self.whole)
        features = self.on(device)
        try:
            with torch.no_grad():
                for block in blocks:
                    values = features(block).to("cpu", dtype)
                    if values[0].numel() * values.element_size() * rows > _MOST:
                        return None
                    kept.append(values)
        finally:
            self.whole.cpu()
        return torch.cat(kept)


def split(
    module: nn.Module,
    state: dict[str, Tensor],
    x: Any,
    *,
    training: bool = True,
    noise: bool = False,
) -> Split | None:
    """Return a network in two, or None if nothing before its trained parts is fixed.

    ``state`` has the weights and buffers of all copies, and ``x`` are some samples, on which both
    halves are tried: what is random in training, or differs between copies, is not fixed. With
    ``noise`` dropout in frozen parts is on.
    """
    if not frozen_parts(module):
        return None
    module = copy.deepcopy(module).train(training)
    module.load_state_dict({name: value[0] for name, value in state.items()})
    for part in quiet_parts(module, noise):
        part.eval()
    stages = list(_stages(module, ""))
    for cut in _cuts(stages):
        rest = cut.rest()
        kept = rest.state_dict().keys()
        fixed = [value for name, value in state.items() if name not in kept]
        if (
            _is_apart(module, rest)
            and all(bool((value == value[:1]).all()) for value in fixed)
            and cut.holds(x)
        ):
            return Split(module, cut.features, rest)
    return None


def _stages(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules that follow each other, by name; sequences are taken apart."""
    children = module._modules
    if type(module).forward is nn.Sequential.forward and children and not is_altered(module):
        for key, part in children.items():
            assert part is not None
            yield from _stages(part, f"{name}.{key}" if name else key)
    else:
        yield name, module


def _cuts(stages: list[tuple[str, nn.Module]]) -> Iterator["_Cut"]:
    """Yield where a network may be cut, the latest places first."""
    trained = [any(p.requires_grad for p in stage.parameters()) for _, stage in stages]
    first = trained.index(True)
    stage = stages[first][1]
    if any(not p.requires_grad for p in stage.parameters()):
        owners = [n.rpartition(".")[0] for n, p in stage.named_parameters() if p.requires_grad]
        parts = _common(owners)
        for depth in range(len(parts), 0, -1):
            yield _Cut(stages, first, ".".join(parts[:depth]))
    for place in range(first, 0, -1):
        if any(list(part.parameters()) for _, part in stages[:place]):
            yield _Cut(stages, place, "")


def _common(names: list[str]) -> list[str]:
    """Return the levels that all names begin with."""
    levels: list[str] = []
    for several in zip(*(name.split(".") for name in names), strict=False):
        if len(set(several)) > 1 or not several[0]:
            break
        levels.append(several[0])
    return levels


@dataclass(frozen=True)
class _Cut:
    """A place in a network: before a stage, or before a part within it whose output is its own."""

    stages: list[tuple[str, nn.Module]]
    place: int
    part: str

    def features(self, x: Any) -> Tensor:
        """Return what comes to this place."""
        for _, stage in self.stages[: self.place]:
            x = call(stage, x)
        return self._within(x) if self.part else x

    def _within(self, x: Any) -> Any:
        """Return what comes to the part in its stage, whose last call must be that of the part."""
        calls: list[tuple[Any, Any]] = []
        stage = self.stages[self.place][1]
        hook = stage.get_submodule(self.part).register_forward_hook(
            lambda _, given, output: calls.append((given, output))
        )
        try:
            output = call(stage, x)
        finally:
            hook.remove()
        (((inputs,), own),) = calls
        if output is not own:
            raise ValueError("the part is not the last one")
        return inputs

    def rest(self) -> nn.Module:
        """Return what comes after this place."""
        tree = nn.Sequential()
        for name, stage in self.stages[self.place :]:
            if self.part and stage is self.stages[self.place][1]:
                _put(tree, f"{name}.{self.part}".lstrip("."), stage.get_submodule(self.part))
            else:
                _put(tree, name, stage)
        return tree

    def holds(self, x: Any) -> bool:
        """Whether the two halves give what the whole does, and the first does so in training."""
        modes = {part: part.training for _, stage in self.stages for part in stage.modules()}
        try:
            with torch.no_grad():
                with keyed(make_keys([0])[0]):
                    noisy = self.features(x)
                for part in modes:
                    part.eval()
                whole = x
                for _, stage in self.stages:
                    whole = call(stage, whole)
                features = self.features(x)
                again = self.rest()(features)
        except Exception:
            return False
        finally:
            for part, mode in modes.items():
                part.training = mode
        tensors = all(isinstance(each, Tensor) for each in (noisy, features, whole, again))
        return tensors and torch.equal(noisy, features) and torch.equal(whole, again)


def _put(tree: nn.Sequential, name: str, part: nn.Module) -> None:
    """Put a part into nested sequences, under its name."""
    first, _, left = name.partition(".")
    if not left:
        tree.add_module(first, part)
        return
    if first not in tree._modules:
        tree.add_module(first, nn.Sequential())
    inner = tree._modules[first]
    assert isinstance(inner, nn.Sequential)
    _put(inner, left, part)


def _is_apart(module: nn.Module, rest: nn.Module) -> bool:
    """Whether all that is trained is in the rest, under all of its names."""
    kept = rest.state_dict().keys()
    trained = {id(p) for p in module.parameters() if p.requires_grad}
    named = module.named_parameters(remove_duplicate=False)
    return all(name in kept for name, value in named if id(value) in trained)
