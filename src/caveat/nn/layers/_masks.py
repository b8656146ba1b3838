"""Masks of what is kept."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ._stochastic import Stochastic


def uniform_like(layer: Stochastic, shape: Sequence[int], x: Tensor) -> Tensor:
    """Return numbers from 0 to 1 on the device of x, in at least single precision."""
    return layer.uniform(shape, _wide(x))


def _wide(x: Tensor) -> Tensor:
    """Return a tensor in single precision at least: in half 0.3 is not 0.3, and 0.9999 is 1."""
    return torch.empty((), dtype=torch.promote_types(x.dtype, torch.float32), device=x.device)


def kept_units(layer: Stochastic, shape: Sequence[int], x: Tensor, p: float) -> Tensor:
    """Return 0 with probability p and otherwise 1, as bytes: products with them are quick."""
    return layer.kept(shape, _wide(x), p).to(torch.uint8)  # as a view torch < 2.13 cannot batch it


def keep_mask(layer: Stochastic, shape: Sequence[int], x: Tensor, p: float) -> Tensor:
    """Return 0 with probability p, and otherwise what keeps the mean at 1."""
    return layer.kept(shape, _wide(x), p).to(x.dtype).div_(1 - p)
