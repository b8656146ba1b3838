"""Layers whose every weight is a Gaussian of its own."""

from math import expm1, log, sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...exceptions import OptionError
from ._checks import check_positive
from ._operations import Operation
from ._stochastic import Stochastic
from .priors import GaussianPrior, Prior


class MeanField(Stochastic):
    """Independent Gaussian weights: their parameters, their noise and their divergence."""

    weight_mean: Tensor
    weight_rho: Tensor
    bias_mean: Tensor | None
    bias_rho: Tensor | None
    _noise: tuple[Tensor, Tensor | None] | None

    def __init__(
        self,
        operation: Operation,
        *,
        bias: bool,
        prior: Prior | None,
        initial_mean: float | None,
        initial_std: float | None,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        self.operation = operation
        self.prior = GaussianPrior() if prior is None else prior
        if not isinstance(self.prior, Prior):
            raise OptionError(
                f"prior must be a Prior such as GaussianPrior(1.0); got {type(prior).__name__}"
            )
        self.initial_mean = initial_mean
        if initial_mean is not None:
            check_positive(initial_mean, "initial_mean")
        self.initial_std = 0.1 / sqrt(operation.fan_in) if initial_std is None else initial_std
        check_positive(self.initial_std, "initial_std")

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_mean = parameter(*operation.weight_shape)
        self.weight_rho = parameter(*operation.weight_shape)
        self.bias_mean = parameter(operation.outputs) if bias else None
        self.bias_rho = parameter(operation.outputs) if bias else None
        self._noise = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the means again, and set the standard deviations to the first one."""
        bound = 1 / sqrt(self.operation.fan_in)
        for mean in (self.weight_mean, self.bias_mean):
            if mean is None:
                continue
            if self.initial_mean is None:
                nn.init.uniform_(mean, -bound, bound)
            else:
                nn.init.normal_(mean, 0.0, self.initial_mean)
        for rho in (self.weight_rho, self.bias_rho):
            if rho is not None:
                nn.init.constant_(rho, inverse_softplus(self.initial_std))

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
        self.operation.check(x)
        if not self.random:
            self._noise = None
            return self.operation(x, self.weight_mean, self.bias_mean)
        weight, bias = self.draw()
        shifted = None if self.bias_mean is None or bias is None else self.bias_mean + bias
        return self.operation(x, self.weight_mean + weight, shifted)

    def draw(self) -> tuple[Tensor, Tensor | None]:
        """Return how far this pass's weight and bias are from their means."""
        noise = self._draw_noise()
        # Without gradients there is no objective to come, and nothing to remember for it.
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

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{self.operation}, bias={self.bias_mean is not None}, prior={self.prior}"

    def _draw_noise(self) -> tuple[Tensor, Tensor | None]:
        weight = self.normal(self.operation.weight_shape, self.weight_mean, draw=0)
        if self.bias_mean is None:
            return weight, None
        return weight, self.normal((self.operation.outputs,), self.bias_mean, draw=1)

    def __getstate__(self) -> dict[str, Any]:
        # What a pass left behind belongs to that pass: copies and files do without it.
        return {**self.__dict__, "_noise": None}


def inverse_softplus(value: float) -> float:
    """Return what softplus maps to a positive number."""
    # log(exp(value) - 1), written so that a large value does not overflow.
    return value + log(-expm1(-value))
