"""Convolutions that pool before they add their bias, and means of pairs."""

import torch
from torch import Tensor, nn

from ..._docstrings import describe_parameters
from .lengthwise import LengthwiseConv1d

_CONVOLUTION = {
    "in_channels": "in_channels : int\n    Channels of the inputs.",
    "out_channels": "out_channels : int\n    Channels of the outputs.",
    "kernel_size": "kernel_size : int or tuple of int\n    Size of the kernel.",
    "stride": "stride : int or tuple of int\n    Step between two positions of the kernel.",
    "padding": "padding : int, tuple of int or str\n    What is added on both sides of each axis.",
    "dilation": "dilation : int or tuple of int\n    Distance between two neighbors in the kernel.",
    "groups": "groups : int\n    Number of groups of channels that are convolved separately.",
    "bias": "bias : bool\n    Must be True.",
    "padding_mode": "padding_mode : str\n    As in torch's convolution.",
    "device": "device : as in torch\n    Where the parameters are kept.",
    "dtype": "dtype : as in torch\n    Type of the parameters.",
}

_FEW = 3
"""Channels of an input for which a GPU has no fast convolution."""


@describe_parameters(_CONVOLUTION)
class PooledConv1d(LengthwiseConv1d):
    """A convolution and a max pooling of 2, with the bias added last.

    The bias is the same for all that are pooled, so adding it later changes nothing and is half the
    work; an increasing activation may follow for the same reason.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import PooledConv1d
    >>> layer, x = PooledConv1d(2, 4, 3, padding=1), torch.randn(5, 2, 8)
    >>> plain = torch.nn.functional.conv1d(x, layer.weight, layer.bias, padding=1)
    >>> torch.allclose(layer(x), torch.nn.functional.max_pool1d(plain, 2), atol=1e-6)
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return (rows, channels, length / 2)."""
        pooled = nn.functional.max_pool1d(self._conv_forward(input, self.weight, None), 2)
        assert self.bias is not None
        return pooled + self.bias.to(pooled.dtype)[:, None]


@describe_parameters(_CONVOLUTION)
class PooledConv2d(nn.Conv2d):
    """A convolution over two axes and a max pooling of 2; see `PooledConv1d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return (rows, channels, height / 2, width / 2)."""
        if input.is_cuda and input.ndim == 4 and self._is_thin():  # pragma: no cover - needs a GPU
            values = self.as_product(input)
        else:
            values = self._conv_forward(input, self.weight, None)
        pooled = nn.functional.max_pool2d(values, 2)
        assert self.bias is not None
        return pooled + self.bias.to(pooled.dtype)[:, None, None]

    def _is_thin(self) -> bool:
        """Whether there are few input channels, in a plain convolution with zeros around."""
        plain = self.stride == self.dilation == (1, 1) and self.padding_mode == "zeros"
        few = self.in_channels <= _FEW and self.groups == 1
        return few and plain and not isinstance(self.padding, str)

    def as_product(self, input: Tensor) -> Tensor:
        """Return the convolution of few channels as a product of matrices, without the bias.

        Such convolutions are slow on a GPU, above all the gradient of their kernels.
        """
        assert not isinstance(self.padding, str)
        (height, width), (above, left) = self.kernel_size, self.padding
        wide = nn.functional.pad(input, (left, left, above, above))
        rows, columns = wide.shape[2] - height + 1, wide.shape[3] - width + 1
        parts = [
            wide[:, channel, i : i + rows, j : j + columns]
            for channel in range(self.in_channels)
            for i in range(height)
            for j in range(width)
        ]
        # Products of half precision are slow for lengths that are no multiple of 8.
        missing = (0, -len(parts) % 8)
        patches = nn.functional.pad(torch.stack(parts, dim=-1), missing)
        kernels = nn.functional.pad(self.weight.flatten(1), missing)
        return (patches @ kernels.t()).permute(0, 3, 1, 2)


class MeansOfPairs(nn.Module):
    """Means of neighbors; a last one without a neighbor stays. Much faster than torch's pooling.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers.pooled import MeansOfPairs
    >>> MeansOfPairs()(torch.tensor([[[1.0, 3.0, 4.0, 8.0, 5.0]]]))
    tensor([[[2., 6., 5.]]])
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, channels, length / 2), rounded up."""
        first, second = x[:, :, ::2], x[:, :, 1::2]
        if x.shape[2] % 2:
            second = torch.cat([second, first[:, :, -1:]], dim=2)
        return (first + second) / 2
