"""DropConnect: dropout of single weights."""

import torch
from torch import Tensor

from ._checks import check_drop
from ._masks import keep_mask
from ._operations import Dense, Operation, Size, convolution
from ._weights import Weighted


class DropConnect(Weighted):
    """What the DropConnect layers share: one mask of the weight for the whole batch."""

    def __init__(
        self,
        operation: Operation,
        *,
        bias: bool,
        p: float,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__(operation, bias=bias, device=device, dtype=dtype)
        self.p = check_drop(p, "p")
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs; the shapes are those of torch's layer."""
        self.operation.check(x)
        weight = self.weight
        if self.random:
            weight = weight * keep_mask(self, self.operation.weight_shape, weight, self.p)
        return self.operation(x, weight, self.bias)

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{super().extra_repr()}, p={self.p}"


class DropConnectLinear(DropConnect):
    r"""A dense layer whose weights are set to 0 at random.

    .. math:: y = \frac{x (M \odot W)'}{1 - p} + b, \quad M_{ij} \sim \mathrm{Bernoulli}(1 - p)

    The division keeps the mean of the outputs, so evaluation outside of `caveat.nn.keyed` is the
    plain layer with the weight :math:`W`. One pass draws one mask for all its rows, in training
    too: a mask for each row would need a weight for each row. The bias is never dropped.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool, default=True
    p : float, default=0.5
        The probability of dropping a weight; from 0 to below 1.
    device, dtype : as in torch

    References
    ----------
    Wan et al.: Regularization of neural networks using DropConnect, 2013. Mobiny et al.:
    DropConnect is effective in modeling uncertainty of Bayesian deep networks, 2021.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import DropConnectLinear
    >>> layer = DropConnectLinear(4, 2, p=0.3)
    >>> layer
    DropConnectLinear(in_features=4, out_features=2, bias=True, p=0.3)
    >>> layer(torch.ones(5, 4)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        p: float = 0.5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        operation = Dense(in_features, out_features)
        super().__init__(operation, bias=bias, p=p, device=device, dtype=dtype)


class DropConnectConv1d(DropConnect):
    """A convolution over one axis whose weights are set to 0 at random; see `DropConnectLinear`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv1d``.
    p : float, default=0.5
        The probability of dropping a weight.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import DropConnectConv1d
    >>> DropConnectConv1d(3, 8, 5, padding=2)(torch.ones(2, 3, 20)).shape
    torch.Size([2, 8, 20])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        p: float = 0.5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        operation = convolution(
            1, in_channels, out_channels, kernel_size, stride, padding, dilation, groups
        )
        super().__init__(operation, bias=bias, p=p, device=device, dtype=dtype)


class DropConnectConv2d(DropConnect):
    """A convolution over two axes whose weights are set to 0 at random; see `DropConnectLinear`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv2d``.
    p : float, default=0.5
        The probability of dropping a weight.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import DropConnectConv2d
    >>> DropConnectConv2d(3, 8, 3)(torch.ones(2, 3, 10, 10)).shape
    torch.Size([2, 8, 8, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        p: float = 0.5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        operation = convolution(
            2, in_channels, out_channels, kernel_size, stride, padding, dilation, groups
        )
        super().__init__(operation, bias=bias, p=p, device=device, dtype=dtype)
