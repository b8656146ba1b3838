"""Last layers that say a distribution: Gaussian logits, mean and variance, quantiles."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import isfinite

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...exceptions import OptionError
from ._checks import check_positive, check_size


class GaussianHead(nn.Module):
    """What the heads with a mean and a standard deviation share: (..., 2, outputs)."""

    def __init__(
        self,
        in_features: int,
        outputs: int,
        *,
        bias: bool,
        floor: float,
        linear: Callable[..., nn.Module],
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        self.in_features = check_size(in_features, "in_features")
        self.outputs = outputs
        self.floor = check_positive(floor, "floor")
        self.linear = linear(in_features, 2 * outputs, bias=bias, device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters of the linear map again."""
        self.linear.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Tensor) -> Tensor:
        """Return means and standard deviations of shape (rows, 2, outputs)."""
        mean, raw = self.linear(x).unflatten(-1, (2, self.outputs)).unbind(-2)
        return torch.stack([mean, functional.softplus(raw) + self.floor], dim=-2)

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{self.in_features}, {self.outputs}, floor={self.floor}"


class GaussianLogitsHead(GaussianHead):
    r"""Logits that are Gaussians: a mean and a standard deviation for each class.

    .. math:: \sigma = \log(1 + e^r) + \mathrm{floor}

    of a linear output :math:`r`. It is the standard deviation that comes out of the softplus, not
    the variance: the square root that a variance would need has, where the softplus has run down
    to 0, the slope 0 / 0, and long trainings on few samples get there.
    `losses.sampled_softmax_nll` trains it, and `caveat.GaussianLogits.from_std` takes what comes
    out.

    Parameters
    ----------
    in_features, classes : int
    bias : bool, default=True
    floor : float, default=1e-6
        The least standard deviation.
    linear : callable, default=torch.nn.Linear
        What makes the linear map, called with its sizes, ``bias``, ``device`` and ``dtype``; a
        stochastic one, such as `FlipoutLinear`, makes a Bayesian head.
    device, dtype : as in torch

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import GaussianLogitsHead
    >>> mean, std = GaussianLogitsHead(8, 3)(torch.ones(5, 8)).unbind(1)
    >>> mean.shape, bool((std > 0).all())
    (torch.Size([5, 3]), True)
    """

    def __init__(
        self,
        in_features: int,
        classes: int,
        bias: bool = True,
        *,
        floor: float = 1e-6,
        linear: Callable[..., nn.Module] = nn.Linear,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_features,
            check_size(classes, "classes"),
            bias=bias,
            floor=floor,
            linear=linear,
            device=device,
            dtype=dtype,
        )


class MeanVarianceHead(GaussianHead):
    r"""A mean and a standard deviation for each target of a regression.

    .. math:: \sigma = \log(1 + e^r) + \mathrm{floor}

    of a linear output :math:`r`, so that :math:`\sigma \ge \mathrm{floor}`, and above 1 it grows as
    :math:`r` does, not as its exponential. A network that learns its few samples by heart wants a
    variance of 0, where the likelihood is infinite; the floor ends that: the slope of the Gaussian
    loss in the mean is at most the residual over floor squared (a million times it, by default).
    The floor is in units of the targets: standardize them.

    Parameters
    ----------
    in_features : int
    targets : int, default=1
    bias : bool, default=True
    floor : float, default=1e-3
        The least standard deviation.
    linear : callable, default=torch.nn.Linear
        What makes the linear map, called with its sizes, ``bias``, ``device`` and ``dtype``.
    device, dtype : as in torch

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import MeanVarianceHead
    >>> MeanVarianceHead(8, targets=2)(torch.ones(5, 8)).shape
    torch.Size([5, 2, 2])
    """

    def __init__(
        self,
        in_features: int,
        targets: int = 1,
        bias: bool = True,
        *,
        floor: float = 1e-3,
        linear: Callable[..., nn.Module] = nn.Linear,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_features,
            check_size(targets, "targets"),
            bias=bias,
            floor=floor,
            linear=linear,
            device=device,
            dtype=dtype,
        )


class QuantileHead(nn.Module):
    r"""Quantiles that cannot cross.

    The level next to 1/2 is a linear output; every other quantile is its neighbor's plus a
    softplus above it, or minus one below it:

    .. math:: q_c = r_c, \quad q_{j+1} = q_j + \log(1 + e^{r_{j+1}}) \;(j \ge c), \quad
        q_{j-1} = q_j - \log(1 + e^{r_{j-1}}) \;(j \le c)

    Parameters
    ----------
    in_features : int
    levels : sequence of float
        Between 0 and 1, increasing; `losses.pinball` wants the same.
    targets : int, default=1
    bias : bool, default=True
    linear : callable, default=torch.nn.Linear
        What makes the linear map, called with its sizes, ``bias``, ``device`` and ``dtype``.
    device, dtype : as in torch

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import QuantileHead
    >>> quantiles = QuantileHead(8, [0.1, 0.5, 0.9], targets=2)(torch.randn(5, 8))
    >>> quantiles.shape, bool((quantiles.diff() >= 0).all())
    (torch.Size([5, 2, 3]), True)
    """

    def __init__(
        self,
        in_features: int,
        levels: Sequence[float],
        targets: int = 1,
        bias: bool = True,
        *,
        linear: Callable[..., nn.Module] = nn.Linear,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = check_size(in_features, "in_features")
        self.levels = check_levels(levels)
        self.targets = check_size(targets, "targets")
        self.center = min(range(len(self.levels)), key=lambda i: abs(self.levels[i] - 0.5))
        size = self.targets * len(self.levels)
        self.linear = linear(in_features, size, bias=bias, device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters of the linear map again."""
        self.linear.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Tensor) -> Tensor:
        """Return quantiles of shape (rows, targets, levels), increasing along the last axis."""
        raw = self.linear(x).unflatten(-1, (self.targets, len(self.levels)))
        middle = raw[..., self.center : self.center + 1]
        steps = functional.softplus(raw)
        above = middle + steps[..., self.center + 1 :].cumsum(-1)
        below = middle - steps[..., : self.center].flip(-1).cumsum(-1).flip(-1)
        return torch.cat([below, middle, above], dim=-1)

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{self.in_features}, levels={self.levels}, targets={self.targets}"


def check_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Return increasing levels between 0 and 1."""
    values = tuple(float(level) for level in levels)
    inside = all(isfinite(value) and 0 < value < 1 for value in values)
    if not values or not inside or any(b <= a for a, b in pairwise(values)):
        raise OptionError(
            f"levels must lie between 0 and 1 and increase; got {values}; sort them, each once"
        )
    return values
