"""Layers whose weight is one tensor, as in torch."""

from math import sqrt

import torch
from torch import Tensor, nn

from ._operations import Operation
from ._stochastic import Stochastic


class Weighted(Stochastic):
    """A stochastic layer with a weight and maybe a bias, which start as torch's own do.

    The layer itself calls `reset_parameters` when it has all of them.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        operation: Operation,
        *,
        bias: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        self.operation = operation
        self.weight = nn.Parameter(torch.empty(operation.weight_shape, device=device, dtype=dtype))
        self.bias = (
            nn.Parameter(torch.empty(operation.outputs, device=device, dtype=dtype))
            if bias
            else None
        )

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly between plus and minus 1 / sqrt(fan in)."""
        bound = 1 / sqrt(self.operation.fan_in)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{self.operation}, bias={self.bias is not None}"
