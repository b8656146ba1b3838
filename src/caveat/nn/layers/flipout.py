"""Flipout: Gaussian weights whose noise has random signs in each row."""

from torch import Tensor

from ..._constructors import declared
from ._mean_field import MeanField
from ._operations import Conv1d, Conv2d, Dense


@declared()
class Flipout(MeanField):
    """Gaussian weights with row-wise signs; the definition is in `FlipoutLinear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs; the shapes are those of torch's layer."""
        if self.shared or not self.random:
            return self.plain_pass(x)
        rows = x.shape[0]
        self.check_input(x)
        weight, bias = self.draw()
        in_signs = self.signs(self.unit_shape(rows, self.in_units, x), x, draw=2)
        out_signs = self.signs(self.unit_shape(rows, self.out_units, x), x, draw=3)
        flipped = self.product(x * in_signs, weight, bias) * out_signs
        return self.product(x, self.weight_mean, self.bias_mean) + flipped


@declared()
class FlipoutLinear(Flipout, Dense):
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


@declared()
class FlipoutConv1d(Flipout, Conv1d):
    """A convolution of signals with Gaussian weights and row-wise signs; see `FlipoutLinear`."""


@declared()
class FlipoutConv2d(Flipout, Conv2d):
    """A convolution of images with Gaussian weights and row-wise signs; see `FlipoutLinear`."""
