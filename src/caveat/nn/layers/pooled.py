"""Convolutions that pool before they add their bias."""

from torch import Tensor, nn


class PooledConv1d(nn.Conv1d):
    """A convolution and a max pooling of 2, with the bias added last.

    The bias is the same for all that are pooled, so adding it later changes nothing and is half the
    work; a rising activation may follow for the same reason. Arguments are those of torch's
    convolution, with a bias.

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


class PooledConv2d(nn.Conv2d):
    """A convolution over two axes and a max pooling of 2; see `PooledConv1d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Return (rows, channels, height / 2, width / 2)."""
        pooled = nn.functional.max_pool2d(self._conv_forward(input, self.weight, None), 2)
        assert self.bias is not None
        return pooled + self.bias.to(pooled.dtype)[:, None, None]
