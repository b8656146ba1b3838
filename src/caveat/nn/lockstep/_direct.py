"""Plain networks on stacked weights without ``torch.vmap``: the same numbers, fewer operations."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .. import layers, losses, noise
from ..networks import CNN, MLP

State = dict[str, Tensor]

_SAME = (nn.ELU, nn.GELU, nn.Identity, nn.ReLU, nn.SELU, nn.SiLU, nn.Tanh)
"""What works on each number by itself."""

_CONTAINERS = (nn.Sequential, MLP, CNN)
_HEADS = (layers.GaussianLogitsHead, layers.MeanVarianceHead, layers.QuantileHead)

_BY_ROW = (losses.nll, losses.gaussian_nll, losses.beta_nll, losses.squared_error, losses.pinball)
"""Losses that see each row by itself, so that the rows of all copies can go in as one batch."""


class _Linear(nn.Module):
    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        # Hidden from torch, which would make parameters of them and lose that they are views.
        self.stacked = [weight.transpose(1, 2), None if bias is None else bias[:, None]]

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self.stacked
        assert weight is not None
        return torch.bmm(x, weight) if bias is None else torch.baddbmm(bias, x, weight)


class _Standardise(nn.Module):
    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.stacked = [mean[:, None], scale[:, None]]

    def forward(self, x: Tensor) -> Tensor:
        mean, scale = self.stacked
        return (x - mean) / scale


class _Dropout(nn.Module):
    def __init__(self, place: int, p: float) -> None:
        super().__init__()
        self.place, self.p = place, p

    def forward(self, x: Tensor) -> Tensor:
        now = noise.current()
        if now is None:
            return x
        wide = torch.empty((), dtype=torch.promote_types(x.dtype, torch.float32), device=x.device)
        drawn = noise.uniform(now.key, noise.stream(self.place, 0), x.shape[1:], wide)
        return x * ((drawn >= self.p).to(x.dtype) / (1 - self.p))


def direct(module: nn.Module, state: State) -> nn.Module | None:
    """Return a module for (copies, rows, ...) on stacked weights, or None if it has other layers.

    Parameters
    ----------
    module : nn.Module
        Prepared: its dropout draws from keys.
    state : dict of str to Tensor
        Stacked weights and buffers, which are used as they are at each call.
    """
    return _of(module, "", state)


def _of(module: nn.Module, name: str, state: State) -> nn.Module | None:
    kind = type(module)
    if module._forward_hooks or module._forward_pre_hooks:
        return None
    if kind in _CONTAINERS:
        parts = [_of(part, f"{name}{key}.", state) for key, part in module.named_children()]
        found = [part for part in parts if part is not None]
        return nn.Sequential(*found) if len(found) == len(parts) else None
    if kind is nn.Linear:
        return _Linear(state[f"{name}weight"], state.get(f"{name}bias"))
    if isinstance(module, layers.Standardise):
        return _Standardise(state[f"{name}mean"], state[f"{name}scale"])
    if kind is layers.Dropout:
        assert isinstance(module, layers.Dropout)
        return _Dropout(module.place, module.p)
    if kind in _SAME:
        return module
    if kind in _HEADS and type(module.linear) is nn.Linear:
        double = copy.copy(module)
        double._modules = {"linear": _of(module.linear, f"{name}linear.", state)}
        return double
    return None


def stacked_loss(
    loss: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return a loss of (copies, rows, ...) outputs and labels, with a key for each copy."""
    bare = loss.func if isinstance(loss, partial) else loss
    if bare in _BY_ROW:
        return partial(_as_one_batch, loss)
    return partial(_copy_by_copy, loss)


def draws(module: nn.Module, loss: Any) -> bool:
    """Whether a step may draw noise from keys."""
    bare = loss.func if isinstance(loss, partial) else loss
    return bare not in _BY_ROW or any(layers.stochastic_layers(module))


def _as_one_batch(loss: Any, output: Tensor, y: Tensor, keys: Tensor) -> Tensor:
    return loss(output.flatten(0, 1), y.flatten(0, 1)).view(y.shape[:2])


def _copy_by_copy(loss: Any, output: Tensor, y: Tensor, keys: Tensor) -> Tensor:
    def one(output: Tensor, y: Tensor, key: Tensor) -> Tensor:
        with noise.keyed(key):
            return loss(output, y)

    return torch.vmap(one, randomness="different")(output, y, keys)
