"""Inputs scaled by constants that belong to the network."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..._validation import check_number


class Standardize(nn.Module):
    r"""Subtract a mean and divide by a scale, both kept with the weights; bound what is far out.

    .. math:: z = (x - m) / s, \quad y = z / \sqrt{1 + (z / l)^2}

    Without ``clip`` the result is :math:`z` itself. With it :math:`y` is close to :math:`z` near 0
    and stays between :math:`-l` and :math:`l`, so a value that is far from all others moves the
    network no further than :math:`l` does. Copies that train together can each have their own
    constants, on data that they share.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of one sample.
    clip : float, optional
        The limit :math:`l`. It is kept for each entry of a sample, and an infinite one bounds
        nothing. By default there is none.

    References
    ----------
    Holzmüller, Grinsztajn, Steinwart: Better by default: strong pre-tuned MLPs and boosted trees
    on tabular data, 2024.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import Standardize
    >>> layer = Standardize(2)
    >>> layer.mean.copy_(torch.tensor([1.0, 0.0])), layer.scale.fill_(2.0)
    (tensor([1., 0.]), tensor([2., 2.]))
    >>> layer(torch.tensor([[3.0, 4.0]]))
    tensor([[1., 2.]])
    >>> Standardize(2, clip=3.0)(torch.tensor([[0.1, 1e6]]))
    tensor([[0.0999, 3.0000]])
    """

    mean: Tensor
    scale: Tensor
    limit: Tensor | None

    def __init__(self, shape: int | Sequence[int], clip: float | None = None) -> None:
        super().__init__()
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("scale", torch.ones(size))
        if clip is not None:
            clip = check_number(clip, "clip", closed="neither")
        self.register_buffer("limit", None if clip is None else torch.full(size, clip))

    def forward(self, x: Tensor) -> Tensor:
        """Return x, whose rows have the shape, scaled."""
        z = (x - self.mean) / self.scale
        # The square of a large number would be infinite.
        return z if self.limit is None else z / torch.hypot(torch.ones_like(z), z / self.limit)
