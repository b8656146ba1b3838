"""Flipout: Gaussian weights whose noise is turned for each row."""

import torch
from torch import Tensor

from ._mean_field import MeanField
from ._operations import Dense, Size, convolution
from .priors import Prior


class Flipout(MeanField):
    """What the Flipout layers share; the definition is in `FlipoutLinear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs; the shapes are those of torch's layer."""
        if self.shared or not self.random:
            return self.plain_pass(x)
        operation, rows = self.operation, x.shape[0]
        operation.check(x)
        weight, bias = self.draw()
        inward = self.signs(operation.unit_shape(rows, operation.inputs, x), x, draw=2)
        outward = self.signs(operation.unit_shape(rows, operation.outputs, x), x, draw=3)
        turned = operation(x * inward, weight, bias) * outward
        return operation(x, self.weight_mean, self.bias_mean) + turned


class FlipoutLinear(Flipout):
    r"""A dense layer with Gaussian weights whose noise has other signs in every row.

    .. math:: y_n = x_n M' + b + r_n \odot \big((x_n \odot s_n) (\sigma \odot \epsilon)'
        + \sigma_b \odot \epsilon_b\big), \quad r_n, s_n \in \{-1, 1\}

    One set of noise :math:`\epsilon` serves the whole batch, and the random signs :math:`r_n, s_n`
    make it uncorrelated between rows. For each row alone, the weights are distributed exactly as in
    `BayesLinear` with the same parameters; the batch's gradient has less variance. That is all the
    signs are for: in a shared pass (`caveat.nn.keyed` with ``shared=True``), where all rows have to
    see one network, there are none, and the layer draws the weights that `BayesLinear` draws. In
    evaluation outside of `keyed` the weights are their means.

    `penalty` is the divergence from the prior as in `BayesLinear`; where it has no closed form, at
    the weights without the signs, which have the same distribution.

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
    Wen et al.: Flipout: efficient pseudo-independent weight perturbations on mini-batches, 2018.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import FlipoutLinear, ScaleMixturePrior
    >>> layer = FlipoutLinear(4, 2, prior=ScaleMixturePrior(0.5, 5.0, 2.0))
    >>> layer
    FlipoutLinear(in_features=4, out_features=2, bias=True,
    prior=ScaleMixturePrior(weight=0.5, std1=5.0, std2=2.0))
    >>> outputs = layer(torch.ones(5, 4))
    >>> outputs.shape, layer.penalty().shape
    (torch.Size([5, 2]), torch.Size([]))
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


class FlipoutConv1d(Flipout):
    """A convolution over one axis with Gaussian weights and row-wise signs; see `FlipoutLinear`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv1d``.
    prior, initial_mean, initial_std
        As in `FlipoutLinear`.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import FlipoutConv1d
    >>> FlipoutConv1d(3, 8, 5, padding=2)(torch.ones(2, 3, 20)).shape
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


class FlipoutConv2d(Flipout):
    """A convolution over two axes with Gaussian weights and row-wise signs; see `FlipoutLinear`.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv2d``.
    prior, initial_mean, initial_std
        As in `FlipoutLinear`.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import FlipoutConv2d
    >>> FlipoutConv2d(3, 8, 3)(torch.ones(2, 3, 10, 10)).shape
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
