"""Concrete dropout: dropout that learns how much to drop."""

from dataclasses import KW_ONLY
from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..._constructors import declared
from ..._defaults import LENGTH_SCALE, RATE
from ..._validation import check_number
from ._checks import check_drop
from ._masks import uniform_like
from ._operations import Conv1d, Conv2d, Dense, Device
from ._weights import Weighted


@declared()
class ConcreteDropout(Weighted):
    """Inputs that are dropped with a learned probability; see `ConcreteDropoutLinear`.

    Parameters
    ----------
    initial_p : float
        Probability of dropping before training; between 0 and 1.
    length_scale : float
        :math:`l`: the weights have the prior :math:`N(0, l^{-2})`.
    temperature : float
        :math:`t`: close to 0, the relaxation is a plain dropout and its gradient is noise.

    Attributes
    ----------
    p : Tensor of shape ()
        Probability of dropping, as learned so far.
    """

    _: KW_ONLY
    initial_p: float = RATE
    length_scale: float = LENGTH_SCALE
    temperature: float = 0.1

    def _create(self, bias: bool, device: Device, dtype: torch.dtype | None) -> None:
        super()._create(bias, device, dtype)
        self.initial_p = check_drop(self.initial_p, "initial_p", learned=True)
        self.length_scale = check_number(self.length_scale, "length_scale", closed="neither")
        self.temperature = check_number(self.temperature, "temperature", closed="neither")
        self.logit_p = nn.Parameter(torch.empty((), device=device, dtype=dtype))

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
        self.check_input(x)
        if self.random:
            x = x * self._kept(x).to(x.dtype)
        return self.product(x, self.weight, self._bias)

    def _kept(self, x: Tensor) -> Tensor:
        """Return for each input how much of it is kept: nearly 0, or nearly 1 / (1 - p)."""
        rows = 1 if self.shared else x.shape[0]
        chance = uniform_like(self, self.unit_shape(rows, self.in_units, x), x)
        dropped = (self.logit_p + torch.logit(chance)) / self.temperature
        # 1 / (1 - p) = 1 + exp(logit p), which loses no digits to a difference.
        return torch.sigmoid(-dropped) * (1 + torch.exp(self.logit_p))

    def penalty(self) -> Tensor:
        """Return the regularizer, not divided by the number of samples."""
        logit = self.logit_p
        squares = self.length_scale**2 * self.weight.square().sum() * (1 + torch.exp(logit)) / 2
        # -log p = softplus(-logit) and -log(1 - p) = softplus(logit), finite for every logit.
        entropy = self.p * functional.softplus(-logit)
        entropy = entropy + torch.sigmoid(-logit) * functional.softplus(logit)
        return squares - self.in_units * entropy

    def _options_text(self) -> str:
        names = ("initial_p", "length_scale", "temperature")
        options = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"{super()._options_text()}, {options}"


@declared()
class ConcreteDropoutLinear(ConcreteDropout, Dense):
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


@declared()
class ConcreteDropoutConv1d(ConcreteDropout, Conv1d):
    """A convolution of signals that drops whole channels; see `ConcreteDropoutLinear`.

    :math:`K_{in}` is the number of input channels.
    """


@declared()
class ConcreteDropoutConv2d(ConcreteDropout, Conv2d):
    """A convolution of images that drops whole channels; see `ConcreteDropoutLinear`.

    :math:`K_{in}` is the number of input channels.
    """
