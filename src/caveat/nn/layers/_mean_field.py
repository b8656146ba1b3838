"""Layers whose every weight is a Gaussian of its own."""

from dataclasses import KW_ONLY, field
from math import expm1, log, sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..._constructors import declared
from ..._validation import check_number
from ...exceptions import OptionError
from ._operations import Device, Operation
from .priors import GaussianPrior, Prior


@declared()
class MeanField(Operation):
    r"""Independent Gaussian weights: their parameters, their noise and their divergence.

    Parameters
    ----------
    prior : Prior
        The prior of the weights and biases.
    initial_mean : float
        Means start from :math:`N(0, \mathrm{initial\_mean}^2)`; by default as torch's weights do.
    initial_std : float
        Standard deviation of the weights before training; by default 0.1 / sqrt(fan in), which adds
        noise of a tenth of the inputs' size.

    Attributes
    ----------
    weight_mean, weight_rho : Parameters of the weight's shape
        Means, and what softplus maps to the standard deviations.
    bias_mean, bias_rho : Parameters of the bias' shape, or None
        The same of the bias.
    weight_std, bias_std : Tensors
        Standard deviations.
    """

    _: KW_ONLY
    prior: Prior = GaussianPrior()
    initial_mean: float | None = None
    initial_std: float | None = None

    weight_mean: Tensor = field(init=False)
    weight_rho: Tensor = field(init=False)
    bias_mean: Tensor | None = field(init=False)
    bias_rho: Tensor | None = field(init=False)
    _noise: tuple[Tensor, Tensor | None] | None = field(init=False)

    def _create(self, bias: bool, device: Device, dtype: torch.dtype | None) -> None:
        if not isinstance(self.prior, Prior):
            raise OptionError(
                f"prior must be a Prior such as GaussianPrior(1.0); got {type(self.prior).__name__}"
            )
        for name in ("initial_mean", "initial_std"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name, closed="neither")

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_mean = parameter(*self.weight_shape)
        self.weight_rho = parameter(*self.weight_shape)
        self.bias_mean = parameter(self.out_units) if bias else None
        self.bias_rho = parameter(self.out_units) if bias else None
        self._noise = None

    def reset_parameters(self) -> None:
        """Draw the means again, and set the standard deviations to the first one."""
        if self.initial_mean is None:
            self.draw_uniform((self.weight_mean, self.bias_mean))
        for mean in (self.weight_mean, self.bias_mean):
            if mean is not None and self.initial_mean is not None:
                nn.init.normal_(mean, 0.0, self.initial_mean)
        std = 0.1 / sqrt(self.fan_in) if self.initial_std is None else self.initial_std
        for rho in (self.weight_rho, self.bias_rho):
            if rho is not None:
                nn.init.constant_(rho, inverse_softplus(std))

    @property
    def weight_std(self) -> Tensor:
        """The standard deviation of each weight."""
        return functional.softplus(self.weight_rho)

    @property
    def bias_std(self) -> Tensor | None:
        """The standard deviation of each bias; None without a bias."""
        return None if self.bias_rho is None else functional.softplus(self.bias_rho)

    def plain_pass(self, x: Tensor) -> Tensor:
        """Return the outputs of one set of weights, drawn or the means."""
        self.check_input(x)
        if not self.random:
            self._noise = None
            return self.product(x, self.weight_mean, self.bias_mean)
        weight, bias = self.draw()
        shifted = None if self.bias_mean is None or bias is None else self.bias_mean + bias
        return self.product(x, self.weight_mean + weight, shifted)

    def draw(self) -> tuple[Tensor, Tensor | None]:
        """Return how far this pass's weight and bias are from their means."""
        noise = self._draw_noise()
        # Without gradients no objective follows, so the noise need not be kept for it.
        keep = torch.is_grad_enabled() and not self.prior.closed_form
        self._noise = noise if keep else None
        bias_std = self.bias_std
        shift = None if bias_std is None or noise[1] is None else bias_std * noise[1]
        return self.weight_std * noise[0], shift

    def penalty(self) -> Tensor:
        """Return the divergence of all weights from the prior.

        Exact for a prior with a closed form. Otherwise the estimate at the weights of the last
        pass; where that used the means, or ran without gradients, at weights drawn now - inside
        the same `caveat.nn.keyed` these are the weights of the pass.
        """
        noise = self._noise
        if noise is None and not self.prior.closed_form:
            noise = self._draw_noise()
        weight_noise, bias_noise = (None, None) if noise is None else noise
        divergence = self.prior.divergence(self.weight_mean, self.weight_std, weight_noise)
        if self.bias_mean is None or self.bias_std is None:
            return divergence
        return divergence + self.prior.divergence(self.bias_mean, self.bias_std, bias_noise)

    def _options_text(self) -> str:
        return f"bias={self.bias_mean is not None}, prior={self.prior}"

    def _draw_noise(self) -> tuple[Tensor, Tensor | None]:
        weight = self.normal(self.weight_shape, self.weight_mean, draw=0)
        if self.bias_mean is None:
            return weight, None
        return weight, self.normal((self.out_units,), self.bias_mean, draw=1)

    def __getstate__(self) -> dict[str, Any]:
        # The noise belongs to the pass that drew it: copies and files do without it.
        return {**self.__dict__, "_noise": None}


def inverse_softplus(value: float) -> float:
    """Return what softplus maps to a positive number."""
    # log(exp(value) - 1), written so that a large value does not overflow.
    return value + log(-expm1(-value))
