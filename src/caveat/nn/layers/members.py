"""Layers of several members that share most of their weights: rank-1 adapters, and own heads.

Values are (rows, members, features); a ``torch.nn.Linear`` between them is shared by all members.
"""

from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn

from ..._validation import check_integer
from ...exceptions import ShapeError
from ._operations import Device


class MemberScale(nn.Module):
    r"""Each member multiplies the features by numbers of its own, and may add some.

    .. math:: y_{nm} = r_m \odot x_{nm} + b_m

    Around a linear layer that all members share, two of them are a rank-1 change of its weights:
    :math:`s_m \odot W (r_m \odot x) = (W \odot s_m r_m^\top) x`.

    Parameters
    ----------
    members, features : int
        Sizes of the inputs and outputs, (rows, members, features).
    repeat : bool, default=False
        Whether inputs are (rows, features), the same for all members. The numbers then start as
        random signs, by which the members differ; otherwise they start at 1.
    shift : bool, default=False
        Whether numbers are added; they start at 0.

    References
    ----------
    Wen, Tran, Ba: BatchEnsemble: an alternative approach to efficient ensemble and lifelong
    learning, 2020.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import MemberScale
    >>> MemberScale(4, 3, repeat=True)(torch.ones(5, 3)).shape
    torch.Size([5, 4, 3])
    """

    def __init__(
        self, members: int, features: int, *, repeat: bool = False, shift: bool = False
    ) -> None:
        super().__init__()
        self.members, self.repeat = check_integer(members, "members"), repeat
        self.features = check_integer(features, "features")
        size = self.members, self.features
        self.bias: Tensor | None
        self.weight = nn.Parameter(torch.empty(size))
        self.register_parameter("bias", nn.Parameter(torch.empty(size)) if shift else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw signs from torch's generator, or start at 1."""
        with torch.no_grad():
            self.weight.fill_(1.0)
            if self.repeat:
                self.weight.bernoulli_(0.5).mul_(2.0).sub_(1.0)
            if self.bias is not None:
                self.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, members, features)."""
        if self.repeat:
            x = x.unsqueeze(-2)
        else:
            _check_members(x, self.members)
        scaled = x * self.weight
        return scaled if self.bias is None else scaled + self.bias

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        own = f"members={self.members}, features={self.features}"
        return own + f", repeat={self.repeat}, shift={self.bias is not None}"


class MemberLinear(nn.Module):
    r"""A linear layer of its own for each member: :math:`y_{nm} = W_m x_{nm} + b_m`.

    Parameters
    ----------
    in_features, out_features : int
        Sizes of each member's inputs and outputs, (rows, members, features).
    members : int
        Number of members.
    bias : bool, default=True
        Whether a bias is added.
    device, dtype : as in torch, default=None
        Where the parameters are kept, and their type.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import MemberLinear
    >>> MemberLinear(3, 2, members=4)(torch.ones(5, 4, 3)).shape
    torch.Size([5, 4, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        members: int,
        bias: bool = True,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.members = check_integer(members, "members")
        self.in_features = check_integer(in_features, "in_features")
        self.out_features = check_integer(out_features, "out_features")
        size = self.members, self.out_features
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty(*size, self.in_features, **place))
        self.bias: Tensor | None
        self.register_parameter("bias", nn.Parameter(torch.empty(size, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters as those of a ``torch.nn.Linear``, each member its own."""
        bound = 1 / sqrt(self.in_features)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, members, out_features)."""
        _check_members(x, self.members)
        values = torch.einsum("...mi,moi->...mo", x, self.weight)
        return values if self.bias is None else values + self.bias

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{self.in_features}, {self.out_features}, members={self.members}"


def _check_members(x: Tensor, members: int) -> None:
    if x.dim() < 2 or x.shape[-2] != members:
        raise ShapeError(
            f"inputs must have shape (rows, {members}, features), one row of features for each "
            f"member; got {tuple(x.shape)}; begin with MemberScale(..., repeat=True)"
        )
