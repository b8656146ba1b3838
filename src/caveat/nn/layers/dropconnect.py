"""DropConnect: dropout of single weights."""

from dataclasses import KW_ONLY

import torch
from torch import Tensor

from ..._constructors import declared
from ._checks import check_drop
from ._masks import keep_mask
from ._operations import Conv1d, Conv2d, Dense, Device
from ._weights import Weighted


@declared()
class DropConnect(Weighted):
    """One mask of the weight for the whole batch.

    Parameters
    ----------
    p : float
        Probability of dropping a weight; from 0 to below 1.
    """

    _: KW_ONLY
    p: float = 0.5

    def _create(self, bias: bool, device: Device, dtype: torch.dtype | None) -> None:
        super()._create(bias, device, dtype)
        self.p = check_drop(self.p, "p")

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs; the shapes are those of torch's layer."""
        self.check_input(x)
        weight: Tensor = self.weight
        if self.random:
            weight = weight * keep_mask(self, self.weight_shape, weight, self.p)
        return self.product(x, weight, self._bias)

    def _options_text(self) -> str:
        return f"{super()._options_text()}, p={self.p}"


@declared()
class DropConnectLinear(DropConnect, Dense):
    r"""A dense layer whose weights are set to 0 at random.

    .. math:: y = \frac{x (M \odot W)'}{1 - p} + b, \quad M_{ij} \sim \mathrm{Bernoulli}(1 - p)

    The division keeps the mean of the outputs, so evaluation outside of `caveat.nn.keyed` is the
    plain layer with the weight :math:`W`. One pass draws one mask for all its rows, in training
    too: a mask for each row would need a weight for each row. The bias is never dropped.

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


@declared()
class DropConnectConv1d(DropConnect, Conv1d):
    """A convolution of signals whose weights are dropped; see `DropConnectLinear`."""


@declared()
class DropConnectConv2d(DropConnect, Conv2d):
    """A convolution of images whose weights are dropped; see `DropConnectLinear`."""
