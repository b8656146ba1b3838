"""Codes of categories as vectors that are learned."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..._validation import check_integer
from ...exceptions import OptionError


class Embed(nn.Module):
    """Replace the last columns, which hold codes of categories, by a vector for each code.

    Columns before them pass. All vectors are in one matrix, those of the first column at its top.
    Code 0 stands for a category that was not seen: its vector starts at 0, and stays there as long
    as no sample has it.

    Parameters
    ----------
    sizes : sequence of int
        How many codes there are in each of the last columns.
    width : int, default=8
        Length of the vectors.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import Embed
    >>> layer = Embed([30, 50], width=4)
    >>> rows = torch.tensor([[0.3, 7.0, 0.0], [0.1, 2.0, 49.0]])
    >>> layer(rows).shape, layer(rows)[0, 5:]
    (torch.Size([2, 9]), tensor([0., 0., 0., 0.], grad_fn=<SliceBackward0>))
    """

    starts: Tensor

    def __init__(self, sizes: Sequence[int], width: int = 8) -> None:
        super().__init__()
        self.sizes = tuple(check_integer(size, "sizes") for size in sizes)
        if not self.sizes:
            raise OptionError("sizes must name the codes of one column at least; got none")
        self.width = check_integer(width, "width")
        starts = torch.tensor([0, *self.sizes[:-1]]).cumsum(0)
        self.register_buffer("starts", starts)
        self.weight = nn.Parameter(torch.empty(sum(self.sizes), self.width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors anew, from torch's generator."""
        with torch.no_grad():
            # As long as a category's own input would be: a 1 and nothing else.
            self.weight.normal_(0.0, self.width**-0.5)
            self.weight[self.starts] = 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Return rows of (columns before) + (columns of codes) * width numbers."""
        before = x.shape[-1] - len(self.sizes)
        codes = x[..., before:].to(torch.int64) + self.starts
        return torch.cat([x[..., :before], self.weight[codes].flatten(-2)], dim=-1)

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{list(self.sizes)}, width={self.width}"
