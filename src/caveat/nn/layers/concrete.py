"""Concrete dropout: dropout that learns how much to drop."""

from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional

from ._checks import check_drop, check_positive
from ._masks import uniform_like
from ._operations import Dense, Operation, Size, convolution
from ._weights import Weighted


class ConcreteDropout(Weighted):
    """What the layers with Concrete dropout share; the definition is in `ConcreteDropoutLinear`."""

    def __init__(
        self,
        operation: Operation,
        *,
        bias: bool,
        initial_p: float,
        length_scale: float,
        temperature: float,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__(operation, bias=bias, device=device, dtype=dtype)
        self.initial_p = check_drop(initial_p, "initial_p", learned=True)
        self.length_scale = check_positive(length_scale, "length_scale")
        self.temperature = check_positive(temperature, "temperature")
        self.logit_p = nn.Parameter(torch.empty((), device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias as torch does, and start again from the first probability."""
        super().reset_parameters()
        nn.init.constant_(self.logit_p, log(self.initial_p) - log(1 - self.initial_p))

    @property
    def p(self) -> Tensor:
        """The probability of dropping an input, a Tensor of shape ()."""
        return torch.sigmoid(self.logit_p)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs; the shapes are those of torch's layer."""
        self.operation.check(x)
        if self.random:
            x = x * self._kept(x).to(x.dtype)
        return self.operation(x, self.weight, self.bias)

    def _kept(self, x: Tensor) -> Tensor:
        """Return for each input how much of it is kept: nearly 0, or nearly 1 / (1 - p)."""
        rows = 1 if self.shared else x.shape[0]
        chance = uniform_like(self, self.operation.unit_shape(rows, self.operation.inputs, x), x)
        dropped = (self.logit_p + torch.logit(chance)) / self.temperature
        # 1 / (1 - p) = 1 + exp(logit p), which has no difference to lose digits in.
        return torch.sigmoid(-dropped) * (1 + torch.exp(self.logit_p))

    def penalty(self) -> Tensor:
        """Return the regularizer, not divided by the number of samples."""
        logit = self.logit_p
        squares = self.length_scale**2 * self.weight.square().sum() * (1 + torch.exp(logit)) / 2
        # -log p = softplus(-logit) and -log(1 - p) = softplus(logit), finite for every logit.
        entropy = self.p * functional.softplus(-logit)
        entropy = entropy + torch.sigmoid(-logit) * functional.softplus(logit)
        return squares - self.operation.inputs * entropy

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return (
            f"{super().extra_repr()}, initial_p={self.initial_p}, "
            f"length_scale={self.length_scale}, temperature={self.temperature}"
        )


class ConcreteDropoutLinear(ConcreteDropout):
    r"""A dense layer that drops its inputs with a probability that it learns.

    A dropped input is relaxed so that the probability has a gradient:

    .. math::
        y = \frac{(1 - z) \odot x}{1 - p} W' + b, \quad
        z_i = \mathrm{sigmoid}\Big(\frac{\mathrm{logit}\, p + \mathrm{logit}\, u_i}{t}\Big), \quad
        u_i \sim U(0, 1)

    so :math:`z_i` exceeds 1/2 with probability :math:`p` exactly; its mean is not quite :math:`p`
    (with :math:`t = 0.1` and :math:`p = 0.1` it is 0.1012). `penalty` is

    .. math:: \frac{l^2 \lVert W \rVert^2}{2 (1 - p)} - K_{in} H(p)

    with the entropy :math:`H` of a Bernoulli in nats, the number of inputs :math:`K_{in}` and
    without the bias. It goes with the mean negative log likelihood of `N` samples as `penalty / N`:
    with more data it counts less, and the probability falls. The relaxation is used in training and
    in every pass inside `caveat.nn.keyed`; in evaluation outside nothing is dropped.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool, default=True
    initial_p : float, default=0.1
        The probability of dropping before training; between 0 and 1.
    length_scale : float, default=0.01
        :math:`l`: the weights have the prior :math:`N(0, l^{-2})`.
    temperature : float, default=0.1
        :math:`t`: close to 0, the relaxation is a plain dropout and its gradient is noise.
    device, dtype : as in torch

    Attributes
    ----------
    p : Tensor of shape ()
        The probability of dropping, as learned so far.

    References
    ----------
    Gal, Hron, Kendall: Concrete dropout, 2017.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import ConcreteDropoutLinear
    >>> layer = ConcreteDropoutLinear(4, 2, initial_p=0.2)
    >>> layer.p.detach()
    tensor(0.2000)
    >>> layer(torch.ones(5, 4)).shape, layer.penalty().shape
    (torch.Size([5, 2]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        initial_p: float = 0.1,
        length_scale: float = 0.01,
        temperature: float = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            Dense(in_features, out_features),
            bias=bias,
            initial_p=initial_p,
            length_scale=length_scale,
            temperature=temperature,
            device=device,
            dtype=dtype,
        )


class ConcreteDropoutConv1d(ConcreteDropout):
    """A convolution over one axis that drops whole channels; see `ConcreteDropoutLinear`.

    :math:`K_{in}` is the number of input channels, each of which is one unit to drop.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv1d``.
    initial_p, length_scale, temperature : float
        As in `ConcreteDropoutLinear`.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import ConcreteDropoutConv1d
    >>> ConcreteDropoutConv1d(3, 8, 5, padding=2)(torch.ones(2, 3, 20)).shape
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
        initial_p: float = 0.1,
        length_scale: float = 0.01,
        temperature: float = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            convolution(
                1, in_channels, out_channels, kernel_size, stride, padding, dilation, groups
            ),
            bias=bias,
            initial_p=initial_p,
            length_scale=length_scale,
            temperature=temperature,
            device=device,
            dtype=dtype,
        )


class ConcreteDropoutConv2d(ConcreteDropout):
    """A convolution over two axes that drops whole channels; see `ConcreteDropoutLinear`.

    :math:`K_{in}` is the number of input channels, each of which is one unit to drop.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, device, dtype
        As in ``torch.nn.Conv2d``.
    initial_p, length_scale, temperature : float
        As in `ConcreteDropoutLinear`.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import ConcreteDropoutConv2d
    >>> ConcreteDropoutConv2d(3, 8, 3)(torch.ones(2, 3, 10, 10)).shape
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
        initial_p: float = 0.1,
        length_scale: float = 0.01,
        temperature: float = 0.1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            convolution(
                2, in_channels, out_channels, kernel_size, stride, padding, dilation, groups
            ),
            bias=bias,
            initial_p=initial_p,
            length_scale=length_scale,
            temperature=temperature,
            device=device,
            dtype=dtype,
        )
