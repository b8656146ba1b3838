"""Layers of members that share the others, forward and back by hand.

Values are (copies, units, members * rows): the rows of one member after those of another, so that a
layer that all members share sees them as rows.
"""

import torch
from torch import Tensor

from .. import layers
from ._parts import NetworkPart

Gradients = tuple[Tensor | None, Tensor | None]


class MemberScale(NetworkPart):
    """`layers.MemberScale`: a product with numbers of each member, and a sum."""

    def __init__(
        self, layer: layers.MemberScale, weight: Tensor, bias: Tensor | None, gradients: Gradients
    ) -> None:
        super().__init__()
        self.members, self.repeats, self.gradients = layer.members, layer.repeat, gradients
        self.weight = weight.detach().transpose(1, 2)[..., None]
        self.bias = None if bias is None else bias.detach().transpose(1, 2)[..., None]
        self.learns = any(gradient is not None for gradient in gradients)

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return r x + b for each member."""
        copies, units, rows = x.shape
        each = rows if self.repeats else rows // self.members
        self.x = x.unsqueeze(2) if self.repeats else x.unflatten(2, (self.members, each))
        target = self.workspace("out", (copies, units, self.members, each), x)
        if self.bias is None:
            torch.mul(self.x, self.weight, out=target)
        else:
            torch.addcmul(self.bias, self.x, self.weight, out=target)
        return target.flatten(2)

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Write the gradients of the numbers, pass on r g, for all members together or each."""
        slope = gradient.unflatten(2, (self.members, -1))
        weight, bias = self.gradients
        if bias is not None:
            torch.sum(slope, 3, out=bias.transpose(1, 2))
        if weight is not None:
            product = self.workspace("product", slope.shape, slope)
            torch.sum(torch.mul(slope, self.x, out=product), 3, out=weight.transpose(1, 2))
        if not self.passes_on:
            return gradient
        slope = slope.mul_(self.weight)
        return slope.sum(2) if self.repeats else slope.flatten(2)


class MemberLinear(NetworkPart):
    """`layers.MemberLinear`: a product of matrices for each member."""

    def __init__(
        self, layer: layers.MemberLinear, weight: Tensor, bias: Tensor | None, gradients: Gradients
    ) -> None:
        super().__init__()
        self.members, self.gradients = layer.members, gradients
        self.weight = weight.detach().flatten(0, 1)
        self.bias = None if bias is None else bias.detach().flatten(0, 1)[..., None]
        self.learns = any(gradient is not None for gradient in gradients)

    def forward(self, x: Tensor, keys: Tensor | None) -> Tensor:
        """Return W x + b of each member."""
        self.copies = len(x)
        self.x = self._by_member(x)
        if self.bias is None:
            return self._as_rows(torch.bmm(self.weight, self.x), "out")
        return self._as_rows(torch.baddbmm(self.bias, self.weight, self.x), "out")

    def backward(self, gradient: Tensor, strength: Tensor | None) -> Tensor:
        """Write the gradients of the weights, pass on W' g."""
        slope = self._by_member(gradient)
        weight, bias = self.gradients
        if weight is not None:
            torch.bmm(slope, self.x.transpose(1, 2), out=weight.flatten(0, 1))
        if bias is not None:
            torch.sum(slope, 2, out=bias.flatten(0, 1))
        if not self.passes_on:
            return gradient
        return self._as_rows(torch.bmm(self.weight.transpose(1, 2), slope), "in")

    def _by_member(self, values: Tensor) -> Tensor:
        """Return (copies * members, units, rows); of one copy without copying."""
        return values.unflatten(2, (self.members, -1)).transpose(1, 2).flatten(0, 1)

    def _as_rows(self, values: Tensor, name: str) -> Tensor:
        """Return (copies, units, members * rows)."""
        units, rows = values.shape[1:]
        target = self.workspace(name, (self.copies, units, self.members, rows), values)
        return target.copy_(values.unflatten(0, (self.copies, -1)).transpose(1, 2)).flatten(2)
