"""Bayes by backprop: Gaussian weights learned from samples of them."""

import torch
from torch import Tensor

from ._mean_field import MeanField
from ._operations import Dense, Size, convolution
from .priors import Prior


class Bayes(MeanField):
    """What the layers of Bayes by backprop share: one set of weights for each pass."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs; the shapes are those of torch's layer."""
        return self.plain_pass(x)


class BayesLinear(Bayes):
    r"""A dense layer whose weights and biases are independent Gaussians.

    .. math:: y = x W' + b, \quad W_{ij} \sim N(\mu_{ij}, \sigma_{ij}^2), \quad
        \sigma = \log(1 + e^{\rho})

    One pass draws one set of weights for all its rows, in training too; the outputs' own noise is
    never drawn instead of the weights' (the local reparametrization), so that a pass is a network.
    In evaluation outside of `caveat.nn.keyed` the weights are their means.

    `penalty` is the divergence :math:`KL(q \Vert p)` of the weights from the prior, in closed form
    for a `GaussianPrior`, otherwise :math:`\log q(w) - \log p(w)` at the drawn weights. With the
    mean negative log likelihood of `N` samples it goes as `penalty / N`.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool, default=True
    prior : Prior, optional
        By default ``GaussianPrior(1.0)``.
    initial_mean : float, optional
        Means start from :math:`N(0, \mathrm{initial\_mean}^2)`; by default as torch's weights do.
    initial_std : float, optional
        By default 0.1 / sqrt(fan in), which adds noise of a tenth of the inputs' size.
    device, dtype : as in torch

    Attributes
    ----------
    weight_mean, weight_rho : Parameters of shape (out_features, in_features)
    bias_mean, bias_rho : Parameters of shape (out_features,), or None
    weight_std, bias_std : Tensors

    References
    ----------
    Blundell et al.: Weight uncertainty in neural networks, 2015.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import BayesLinear, GaussianPrior
    >>> layer = BayesLinear(4, 2, prior=GaussianPrior(0.5))
    >>> layer
    BayesLinear(in_features=4, out_features=2, bias=True, prior=GaussianPrior(std=0.5))
    >>> outputs = layer(torch.ones(5, 4))
    >>> outputs.shape, bool(layer.penalty() > 0)
    (torch.Size([5, 2]), True)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        prior: Prior | None = None,
        initial_mean: float | None = None,
        initial_std: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            Dense(in_features, out_features),
            bias=bias,
            prior=prior,
            initial_mean=initial_mean,
            initial_std=initial_std,
            device=device,
            dtype=dtype,
        )


class BayesConv1d(Bayes):
    """A convolution over one axis whose weights are independent Gaussians; see `BayesLinear`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv1d``.
    prior, initial_mean, initial_std
        As in `BayesLinear`.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import BayesConv1d
    >>> BayesConv1d(3, 8, 5, padding=2)(torch.ones(2, 3, 20)).shape
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
        prior: Prior | None = None,
        initial_mean: float | None = None,
        initial_std: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            convolution(
                1, in_channels, out_channels, kernel_size, stride, padding, dilation, groups
            ),
            bias=bias,
            prior=prior,
            initial_mean=initial_mean,
            initial_std=initial_std,
            device=device,
            dtype=dtype,
        )


class BayesConv2d(Bayes):
    """A convolution over two axes whose weights are independent Gaussians; see `BayesLinear`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv2d``.
    prior, initial_mean, initial_std
        As in `BayesLinear`.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import BayesConv2d
    >>> BayesConv2d(3, 8, 3)(torch.ones(2, 3, 10, 10)).shape
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
        prior: Prior | None = None,
        initial_mean: float | None = None,
        initial_std: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            convolution(
                2, in_channels, out_channels, kernel_size, stride, padding, dilation, groups
            ),
            bias=bias,
            prior=prior,
            initial_mean=initial_mean,
            initial_std=initial_std,
            device=device,
            dtype=dtype,
        )
