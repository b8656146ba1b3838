"""Masks of what is kept."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ._stochastic import Stochastic


def uniform_like(layer: Stochastic, shape: Sequence[int], x: Tensor) -> Tensor:
    """Return numbers from 0 to 1 on the device of x, in at least single precision.

    In half precision 0.3 would not be 0.3, and a number could round to 1.
    """
    dtype = torch.promote_types(x.dtype, torch.float32)
    return layer.uniform(shape, torch.empty((), dtype=dtype, device=x.device))


def keep_mask(layer: Stochastic, shape: Sequence[int], x: Tensor, p: float) -> Tensor:
    """Return 0 with probability p, and otherwise what keeps the mean at 1."""
    kept = uniform_like(layer, shape, x) >= p
    return kept.to(x.dtype) / (1 - p)
