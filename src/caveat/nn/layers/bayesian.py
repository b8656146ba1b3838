"""Bayes by backprop: Gaussian weights learned from samples of them."""

from torch import Tensor

from ..._constructors import declared
from ._mean_field import MeanField
from ._operations import Conv1d, Conv2d, Dense


@declared()
class Bayes(MeanField):
    """One set of weights for each pass."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs; the shapes are those of torch's layer."""
        return self.plain_pass(x)


@declared()
class BayesLinear(Bayes, Dense):
    r"""A dense layer whose weights and biases are independent Gaussians.

    .. math:: y = x W' + b, \quad W_{ij} \sim N(\mu_{ij}, \sigma_{ij}^2), \quad
        \sigma = \log(1 + e^{\rho})

    One pass draws one set of weights for all its rows, in training too; the outputs' own noise is
    never drawn instead of the weights' (the local reparametrization), so that a pass is a network.
    In evaluation outside of `caveat.nn.keyed` the weights are their means.

    `penalty` is the divergence :math:`KL(q \Vert p)` of the weights from the prior, in closed form
    for a `GaussianPrior`, otherwise :math:`\log q(w) - \log p(w)` at the drawn weights. With the
    mean negative log likelihood of `N` samples it goes as `penalty / N`.

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


@declared()
class BayesConv1d(Bayes, Conv1d):
    """A convolution of signals with independent Gaussian weights; see `BayesLinear`."""


@declared()
class BayesConv2d(Bayes, Conv2d):
    """A convolution of images with independent Gaussian weights; see `BayesLinear`."""
