"""Inputs scaled by constants that belong to the network."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Standardize(nn.Module):
    r"""Subtract a mean and divide by a scale, both kept with the weights.

    .. math:: y = (x - m) / s

    Copies that train together can each have their own, on data that they share.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of one sample.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import Standardize
    >>> layer = Standardize(2)
    >>> layer.mean.copy_(torch.tensor([1.0, 0.0])), layer.scale.fill_(2.0)
    (tensor([1., 0.]), tensor([2., 2.]))
    >>> layer(torch.tensor([[3.0, 4.0]]))
    tensor([[1., 2.]])
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, shape: int | Sequence[int]) -> None:
        super().__init__()
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        """Return x, whose rows have the shape, scaled."""
        return (x - self.mean) / self.scale
