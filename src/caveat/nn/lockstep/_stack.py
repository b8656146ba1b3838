"""K copies of a module as one: stacked weights, and one call for all of them."""

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ...exceptions import OptionError
from .._loaders import arguments, takes_several
from ..layers import Dropout, SpatialDropout, number_layers, total_penalty
from ..noise import keyed
from ._by_hand import by_hand, is_altered
from ._ends import check_losses
from ._frozen import frozen_parts, quiet_parts
from ._ragged import Shared

State = dict[str, Tensor]

_KEYED: dict[type, type[Dropout]] = {
    nn.Dropout: Dropout,
    nn.Dropout1d: SpatialDropout,
    nn.Dropout2d: SpatialDropout,
    nn.Dropout3d: SpatialDropout,
}
"""Layers that draw from keys in place of torch's own, but not of subclasses of these."""

_STREAMS = 16
"""Copies that run side by side on a GPU when they are not stacked."""


@contextmanager
def without_vmap_warnings() -> Iterator[None]:
    """Silence torch's warnings about slow operations under ``torch.vmap``."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        yield


def prepared(module: nn.Module, *, frozen_noise: bool = False) -> nn.Module:
    """Return a copy whose dropout draws from keys; the names of its weights stay the same.

    Frozen parts have no dropout, unless their noise is asked for.
    """
    module = copy.deepcopy(module)
    if not frozen_noise:
        _remove_dropout(frozen_parts(module))
    known: dict[int, nn.Module] = {}
    for part in list(module.modules()):
        children: dict[str, Any] = part._modules
        for name, child in children.items():
            kind = _KEYED.get(type(child))
            if kind is not None and child.p < 1 and not is_altered(child):
                # One for each object: one that is used at several places draws anew at each.
                children[name] = known.setdefault(id(child), kind(child.p))
    number_layers(module)
    return module


def _remove_dropout(parts: list[nn.Module]) -> None:
    for part in [each for frozen in parts for each in frozen.modules()]:
        children: dict[str, Any] = part._modules
        for name, child in children.items():
            if type(child) in (*_KEYED, *_KEYED.values()) and not is_altered(child):
                children[name] = nn.Identity()


def tied_names(module: nn.Module) -> dict[str, str]:
    """Return the other names of weights and buffers that have several, each with the first."""
    first: dict[int, str] = {}
    saved = module.state_dict().keys()
    named = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    pairs = [(name, first.setdefault(id(value), name)) for name, value in named if name in saved]
    return {name: other for name, other in pairs if name != other}


def _places(module: nn.Module, ties: dict[str, str]) -> dict[str, str]:
    """Return the other names but those of one module that is used twice.

    There both names are one place, and torch would not put back what it was given for the second.
    """
    owners: dict[tuple[int, str], str] = {}
    for name in [*ties.values(), *ties]:
        owner, _, attribute = name.rpartition(".")
        owners.setdefault((id(module.get_submodule(owner)), attribute), name)
    return {name: ties[name] for name in owners.values() if name in ties}


class Objective(nn.Module):
    """A module together with its loss, so that both see the same weights."""

    def __init__(self, module: nn.Module, loss: Callable[[Tensor, Tensor], Tensor] | None) -> None:
        super().__init__()
        self.module, self.loss = module, loss
        self.several = takes_several(module)

    def forward(
        self, x: Tensor, y: Tensor, counts: Tensor, penalty: Tensor | None, key: Tensor
    ) -> Tensor:
        """Return the weighted sum of the losses of a batch, and the penalty of the layers.

        Layers draw noise in training only; a loss that samples does so from the key in any case,
        but in validation all rows share what it draws: there a row's place depends on others.
        """
        assert self.loss is not None  # without one there are outputs only
        with noise_of(key if self.training else None):
            output = self.module(*arguments(x, self.several))
            added = None if penalty is None else penalty * total_penalty(self.module)
        with keyed(key, shared=not self.training):
            each = self.loss(output, y)
        check_losses(each, counts)
        total = (each * counts).sum()
        return total if added is None else total + added


class Stack:
    """Stacked weights in one long vector, with a view for each parameter.

    The vector is ordered by parameter, then by copy, so that each view (copies, ...) is contiguous
    and an optimizer has one tensor to work on. Only the structure of the prepared module is used.
    With ``stacked`` copies run as one under ``torch.vmap``, otherwise one after another in each
    step; networks of known layers have passes of their own, faster than either, also for one copy
    that trains ``alone``.
    """

    def __init__(
        self,
        module: nn.Module,
        state: State,
        loss: Callable[[Tensor, Tensor], Tensor] | None,
        device: torch.device,
        *,
        stacked: bool,
        alone: bool = False,
        compiled: bool = False,
        frozen_noise: bool = False,
    ) -> None:
        self.stacked, self.device = stacked, device
        self.objective = Objective(module.to(device), loss)
        self._frozen = quiet_parts(module, frozen_noise)
        self.call: Callable[..., Tensor] = self._objective
        if compiled and not stacked and device.type == "cuda":  # pragma: no cover - needs a GPU
            self.call = torch.compile(self._objective, dynamic=False)
        trained = [name for name, p in module.named_parameters() if p.requires_grad]
        self.ties = tied_names(module)
        self._places = _places(module, self.ties)
        self.shapes = {name: state[name].shape[1:] for name in trained}
        self.count = len(next(iter(state.values())))
        flat = [state[name].reshape(-1) for name in trained]
        dtype = flat[0].dtype if flat else torch.float32
        self.flat = torch.cat([part.to(device, dtype) for part in flat])
        self.parameters = self._views(self.flat)
        known = self.shapes.keys() | self.ties.keys()
        self.buffers = {k: v.to(device) for k, v in state.items() if k not in known}
        self.gradient = torch.empty_like(self.flat)
        self._gradients: list[Tensor] | None = None
        self.by_hand = self.by_hand_to_check = None
        if loss is not None and (stacked or alone):
            gradients = {name: view.detach() for name, view in self._views(self.gradient).items()}
            given = module, loss, self.parameters | self.buffers, gradients
            # Two, since a recorded graph keeps writing to the arrays of the first: validation,
            # with other numbers of rows, must not replace them.
            self.by_hand, self.by_hand_to_check = by_hand(*given), by_hand(*given)

    def _views(self, flat: Tensor) -> State:
        views, start = {}, 0
        for name, shape in self.shapes.items():
            size = self.count * shape.numel()
            part = flat[start : start + size].view(self.count, *shape)
            views[name] = part.detach().requires_grad_()
            start += size
        return views

    def split(self, flat: Tensor) -> State:
        """Return a vector such as the weights as that of the first copy, by parameter."""
        return {name: view.detach()[0] for name, view in self._views(flat).items()}

    def spread(
        self,
        values: Tensor,
        factors: Mapping[str, float] | None = None,
        of: str = "anchor_strength",
    ) -> Tensor:
        """Return a value of each copy at each of its weights, times a factor of each layer."""
        parts = []
        for name, shape in self.shapes.items():
            factor = 1.0 if factors is None else factor_of(name, factors, of)
            parts.append((values * factor).repeat_interleave(shape.numel()))
        return torch.cat(parts)

    def shorten(self, gradient: Tensor, most: float) -> Tensor:
        """Return gradients of which that of each copy has at most this norm.

        One that is not finite stays so: the copy has diverged.
        """
        if gradient is not self.gradient:
            self.gradient.copy_(gradient)
        if self._gradients is None:
            views = self._views(self.gradient).values()
            self._gradients = [view.detach().reshape(self.count, -1) for view in views]
        parts = [torch.linalg.vector_norm(part, dim=1) for part in self._gradients]
        norms = torch.linalg.vector_norm(torch.stack(parts), dim=0)
        factors = (most / norms.clamp_min_(most))[:, None]
        for part in self._gradients:
            part.mul_(factors)
        return self.gradient

    def state(self) -> State:
        """Return the stacked weights and buffers, under all their names."""
        state = {k: v.detach() for k, v in (self.parameters | self.buffers).items()}
        return state | {name: state[first] for name, first in self.ties.items()}

    def part_of(self, flat: Tensor, copies: Tensor) -> Tensor:
        """Return a vector such as the weights for some copies only."""
        parts = [view.detach()[copies].reshape(-1) for view in self._views(flat).values()]
        return torch.cat(parts)

    def step(
        self, x: Any, y: Tensor, counts: Tensor, penalty: Tensor | None, keys: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the objective of each copy, with noise, and all gradients as one vector."""
        if self.is_plain(x):
            assert self.by_hand is not None
            return self.by_hand.step(x, y, counts, penalty, keys), self.gradient
        if not self.stacked:
            return self._one_by_one(x, y, counts, penalty, keys)
        each = self.losses(x, y, counts, penalty, keys)
        views = list(self.parameters.values())
        gradients = torch.autograd.grad(each.sum(), views, allow_unused=True)
        parts = [
            (torch.zeros_like(view) if part is None else part).reshape(-1)
            for part, view in zip(gradients, views, strict=True)
        ]
        return each.detach(), torch.cat(parts, out=self.gradient)

    def _one_by_one(
        self, x: Any, y: Tensor, counts: Tensor, penalty: Tensor | None, keys: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Pass copy by copy; on a GPU several at a time, each in a stream of its own."""
        self._set_mode(True)
        slots = self._views(self.gradient)
        losses = []
        with _streams(self.device, self.count) as within:
            for k in range(self.count):
                with within(k):
                    weights = {
                        n: v[k].detach().requires_grad_() for n, v in self.parameters.items()
                    }
                    given = _of(x, k), y[k], counts[k], _of(penalty, k)
                    loss = self.call(weights, self._buffers_of(k), *given, keys[k])
                    gradients = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
                    for slot, part in zip(slots.values(), gradients, strict=True):
                        mine = slot.detach()[k]
                        _ = mine.zero_() if part is None else mine.copy_(part)
                    losses.append(loss.detach())
        return torch.stack(losses), self.gradient

    def losses(
        self,
        x: Any,
        y: Tensor,
        counts: Tensor,
        penalty: Tensor | None,
        keys: Tensor,
        *,
        noise: bool = True,
    ) -> Tensor:
        """Return the objective of each copy; without noise the layers are in evaluation mode."""
        if not noise and self.is_plain(x):
            assert self.by_hand_to_check is not None
            return self.by_hand_to_check.losses(x, y, counts, keys)
        self._set_mode(noise)
        return self._over_copies(self._objective, x, y, counts, penalty, keys)

    def _set_mode(self, training: bool) -> None:
        self.objective.train(training)
        for part in self._frozen:
            part.eval()

    def is_plain(self, x: Any) -> bool:
        """Whether the passes by hand apply: rows of numbers, in one precision."""
        return (
            self.by_hand is not None
            and isinstance(x, Tensor)
            and x.ndim == 3
            and not torch.is_autocast_enabled(x.device.type)
        )

    def _objective(
        self, weights: State, buffers: State, x: Any, y: Tensor, c: Tensor, p: Any, key: Tensor
    ) -> Tensor:
        if not self.stacked:
            x, weights = _channels_last(x), {k: _channels_last(v) for k, v in weights.items()}
        named = {f"module.{name}": value for name, value in self._named(weights, buffers).items()}
        return functional_call(self.objective, named, (x, y, c, p, key), tie_weights=False)

    def _named(self, weights: State, buffers: State) -> State:
        """Return the values of a copy for every place in the module that holds one."""
        named = weights | buffers
        return named | {name: named[first] for name, first in self._places.items()}

    def outputs(self, x: Any) -> Tensor:
        """Return the outputs of each copy for a batch that all share, without noise."""
        if isinstance(x, Tensor) and not self.stacked:
            x = x.clone()  # a module may change the user's data in place
        return self.own_outputs(x if isinstance(x, Shared) else x.expand(self.count, *x.shape))

    def own_outputs(self, x: Any) -> Tensor:
        """Return the outputs of each copy for its own batch (copies, rows, ...), without noise."""
        self.objective.eval()

        def one(weights: State, buffers: State, x: Any) -> Tensor:
            named = self._named(weights, buffers)
            inputs = arguments(x, self.objective.several)
            return functional_call(self.objective.module, named, inputs, tie_weights=False)

        return self._over_copies(one, x)

    def _over_copies(self, one: Callable[..., Tensor], *given: Any) -> Tensor:
        if self.stacked:
            dims = tuple(None if g is None or isinstance(g, Shared) else 0 for g in given)
            mapped = torch.vmap(one, in_dims=(0, 0, *dims), randomness="different")
            values = [g.value if isinstance(g, Shared) else g for g in given]
            return mapped(self.parameters, self.buffers, *values)
        results = []
        for k in range(self.count):
            weights = {name: value[k] for name, value in self.parameters.items()}
            mine = [_of(g, k) for g in given]
            results.append(one(weights, self._buffers_of(k), *mine))
        return torch.stack(results)

    def _buffers_of(self, k: int) -> State:
        return {name: value[k] for name, value in self.buffers.items()}

    def take(self, copies: Tensor) -> State:
        """Return the weights and buffers of some copies, on the CPU."""
        return {name: value[copies].cpu().clone() for name, value in self.state().items()}


def factor_of(name: str, factors: Mapping[str, float], of: str) -> float:
    """Return the factor of a parameter, by its name or that of a part around it; "" is all."""
    layers = name.split(".")
    for depth in range(len(layers), -1, -1):
        if ".".join(layers[:depth]) in factors:
            return float(factors[".".join(layers[:depth])])
    raise OptionError(
        f"{of} has no entry for {name!r}; got {sorted(factors)}; give one for its part, or for all "
        "others as ''"
    )


def check_parts(module: nn.Module, factors: Any, of: str) -> None:
    """Raise unless a mapping names parts with weights, and has an entry for all that is trained."""
    if not isinstance(factors, Mapping):
        return
    levels = [name.split(".") for name, _ in module.named_parameters(remove_duplicate=False)]
    known = {".".join(each[:depth]) for each in levels for depth in range(len(each) + 1)}
    for name in factors:
        if name not in known:
            children = [name for name, part in module.named_children() if list(part.parameters())]
            raise OptionError(
                f"{of} has an entry for {name!r}, which is no part of the module with weights; its "
                f"parts are {', '.join(map(repr, children))}, and '' is all others"
            )
    for name in [name for name, value in module.named_parameters() if value.requires_grad]:
        factor_of(name, factors, of)


def _of(given: Any, copy: int) -> Any:
    """Return what one copy gets of a value for all."""
    if isinstance(given, Shared):
        return given.value
    return None if given is None else given[copy]


def _channels_last(value: Any) -> Any:
    """Return pictures and their kernels in the order in which convolutions are fastest."""
    if not isinstance(value, Tensor) or value.ndim != 4:
        return value
    return value.contiguous(memory_format=torch.channels_last)


@contextmanager
def _streams(device: torch.device, count: int) -> Iterator[Callable[[int], Any]]:
    """Give each copy a stream on a GPU, so that small kernels of several run side by side."""
    if device.type == "cuda" and count > 1:  # pragma: no cover - needs a GPU
        yield from _cuda_streams(device, count)
    else:
        yield lambda k: nullcontext()


def _cuda_streams(  # pragma: no cover - needs a GPU
    device: torch.device, count: int
) -> Iterator[Callable[[int], Any]]:
    main = torch.cuda.current_stream(device)
    streams = [torch.cuda.Stream(device) for _ in range(min(count, _STREAMS))]
    for stream in streams:
        stream.wait_stream(main)
    yield lambda k: torch.cuda.stream(streams[k % len(streams)])
    for stream in streams:
        main.wait_stream(stream)


@contextmanager
def noise_of(key: Tensor | None) -> Iterator[None]:
    """Draw from a key, or leave everything as it is without one."""
    if key is None:
        yield
    else:
        with keyed(key):
            yield
