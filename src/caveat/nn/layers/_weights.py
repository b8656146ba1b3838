"""Layers whose weight is one tensor, as in torch."""

import torch
from torch import Tensor, nn

from ..._constructors import declared
from ._operations import Device, Operation


@declared()
class Weighted(Operation):
    """A stochastic layer with a weight and maybe a bias, which start as torch's own do."""

    def _create(self, bias: bool, device: Device, dtype: torch.dtype | None) -> None:
        self.weight = nn.Parameter(torch.empty(self.weight_shape, device=device, dtype=dtype))
        empty = torch.empty(self.out_units, device=device, dtype=dtype) if bias else None
        self.register_parameter("bias", None if empty is None else nn.Parameter(empty))

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly between plus and minus 1 / sqrt(fan in)."""
        self.draw_uniform((self.weight, self._bias))

    @property
    def _bias(self) -> Tensor | None:
        return self._parameters["bias"]

    def _options_text(self) -> str:
        return f"bias={self._bias is not None}"
