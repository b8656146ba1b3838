"""Dropout of units and of whole channels."""

from torch import Tensor

from ..noise import times_mask
from ._checks import check_axes, check_drop
from ._masks import kept_units
from ._stochastic import Stochastic


class Dropout(Stochastic):
    r"""Set units to 0 at random, and enlarge the others so that the mean stays.

    .. math:: y = \frac{m \odot x}{1 - p}, \quad m_i \sim \mathrm{Bernoulli}(1 - p)

    In training every row has its own mask. In one shared pass (`caveat.nn.keyed` with
    ``shared=True``) all rows have the same: that is one sampled network, whose answer for a row
    does not depend on the rows around it. In evaluation outside of `keyed` the layer does nothing.

    Parameters
    ----------
    p : float, default=0.5
        Probability of dropping a unit; from 0 to below 1.

    References
    ----------
    Gal, Ghahramani: Dropout as a Bayesian approximation, 2016.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import Dropout
    >>> from caveat.nn.noise import keyed, make_keys
    >>> layer = Dropout(0.5).eval()
    >>> layer(torch.ones(2, 4))
    tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]])
    >>> with keyed(make_keys([0])[0], shared=True):
    ...     sampled = layer(torch.ones(2, 4))
    >>> torch.equal(sampled[0], sampled[1]), sampled.unique()
    (True, tensor([0., 2.]))
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = check_drop(p, "p")

    def forward(self, x: Tensor) -> Tensor:
        """Return x, of shape (rows, ...), with units dropped."""
        if not self.random:
            return x
        check_axes(x, 2, f"(rows, {self._units}...)")
        rows = 1 if self.shared else x.shape[0]
        kept = kept_units(self, (rows, *self._mask_shape(x)), x, self.p)
        scale = 1 / (1 - self.p)
        if 2 * kept.numel() <= x.numel() and x.dtype.itemsize > 2:  # in half it would be rounded
            return times_mask(x, kept.to(x.dtype).mul_(scale))
        return times_mask(x, kept).mul_(scale)

    _units = ""

    def _mask_shape(self, x: Tensor) -> tuple[int, ...]:
        """Return the shape of the mask of one row."""
        return tuple(x.shape[1:])

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"p={self.p}"


class SpatialDropout(Dropout):
    r"""Dropout of whole channels: all places of a channel are kept or dropped together.

    Neighboring places of a convolution's output are alike, so dropping single ones has little
    effect; a channel is the unit there.

    Parameters
    ----------
    p : float, default=0.5
        Probability of dropping a channel; from 0 to below 1.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import SpatialDropout
    >>> dropped = SpatialDropout(0.5)(torch.ones(8, 16, 5, 5))
    >>> bool((dropped == dropped[:, :, :1, :1]).all())
    True
    """

    _units = "channels, "

    def _mask_shape(self, x: Tensor) -> tuple[int, ...]:
        return (x.shape[1], *(1,) * (x.dim() - 2))
