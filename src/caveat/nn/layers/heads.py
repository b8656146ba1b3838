"""Last layers that return a distribution: Gaussian logits, mean and variance, quantiles."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, InitVar, field
from itertools import pairwise
from math import isfinite

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..._constructors import declared
from ..._validation import check_integer, check_number
from ...exceptions import OptionError
from ._operations import Device


@declared()
class Head(nn.Module):
    """A linear map whose outputs become the parameters of a distribution.

    Parameters
    ----------
    in_features : int
        Number of inputs.
    bias : bool
        Whether the linear map adds a bias.
    linear : callable, default=Linear
        Makes the linear map, by default ``torch.nn.Linear``; called with its sizes, ``bias``,
        ``device`` and ``dtype``. A stochastic one, such as `FlipoutLinear`, makes a Bayesian head.
    device, dtype : as in torch
        Where the parameters are kept, and their type.
    """

    _: KW_ONLY
    linear: InitVar[Callable[..., nn.Module]] = nn.Linear
    device: InitVar[Device] = None
    dtype: InitVar[torch.dtype | None] = None

    def __post_init__(
        self,
        linear: Callable[..., nn.Module],
        device: Device,
        dtype: torch.dtype | None,
        bias: bool = True,
    ) -> None:
        nn.Module.__init__(self)
        inputs = check_integer(self.in_features, "in_features")
        outputs = self._count_outputs()
        self.add_module("linear", linear(inputs, outputs, bias=bias, device=device, dtype=dtype))

    @abstractmethod
    def _count_outputs(self) -> int:
        """Check the sizes and return how many outputs the linear map has."""

    def reset_parameters(self) -> None:
        """Draw the parameters of the linear map again."""
        self.get_submodule("linear").reset_parameters()  # type: ignore[operator]


@declared()
class GaussianHead(Head):
    """A mean and a standard deviation for each output: (rows, 2, outputs).

    Parameters
    ----------
    floor : float
        Smallest standard deviation.
    """

    floor: float = field(kw_only=True)
    outputs: int = field(init=False)

    def _count_outputs(self) -> int:
        self.floor = check_number(self.floor, "floor", closed="neither")
        self.outputs = self._check_units()
        return 2 * self.outputs

    @abstractmethod
    def _check_units(self) -> int:
        """Return the checked number of classes or targets."""

    def forward(self, x: Tensor) -> Tensor:
        """Return means and standard deviations of shape (rows, 2, outputs)."""
        mean, raw = self.get_submodule("linear")(x).unflatten(-1, (2, self.outputs)).unbind(-2)
        return torch.stack([mean, self._spread(raw) + self.floor], dim=-2)

    def _spread(self, raw: Tensor) -> Tensor:
        """Return the standard deviation above its floor."""
        return functional.softplus(raw)

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return f"{self.in_features}, {self.outputs}, floor={self.floor}"


@declared()
class GaussianLogitsHead(GaussianHead):
    r"""Logits that are Gaussians: a mean and a standard deviation for each class.

    .. math:: \sigma = \log(1 + e^r) + \mathrm{floor}

    of a linear output :math:`r`. It is the standard deviation that comes out of the softplus, not
    the variance: the square root that a variance would need has the slope 0 / 0 where the softplus
    underflows, and long trainings on few samples get there. `losses.sampled_softmax_nll` trains it,
    and `caveat.GaussianLogits.from_std` takes its outputs.

    Parameters
    ----------
    classes : int
        Number of classes.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import GaussianLogitsHead
    >>> mean, std = GaussianLogitsHead(8, 3)(torch.ones(5, 8)).unbind(1)
    >>> mean.shape, bool((std > 0).all())
    (torch.Size([5, 3]), True)
    """

    in_features: int
    classes: int
    bias: InitVar[bool] = True
    floor: float = field(default=1e-6, kw_only=True)

    def _check_units(self) -> int:
        return check_integer(self.classes, "classes")


@declared()
class MeanVarianceHead(GaussianHead):
    r"""A mean and a standard deviation for each target of a regression.

    .. math:: \sigma = \log(1 + e^r) + \mathrm{floor}

    of a linear output :math:`r`, so that :math:`\sigma \ge \mathrm{floor}`, and above 1 it grows as
    :math:`r` does, not as its exponential. With a cap it is bounded from above too:

    .. math:: \sigma = \frac{s}{1 + s / \mathrm{cap}} + \mathrm{floor}, \quad s = \log(1 + e^r)

    A network that memorizes its few samples drives the
    variance to 0, where the likelihood is infinite; the floor prevents that: the slope of the
    Gaussian loss in the mean is at most the residual over floor squared (a million times it, by
    default). Without a cap a sample far from all others may be called noise without bound, and then
    its residual counts for nothing. Floor and cap are in units of the targets: standardize them.

    Parameters
    ----------
    targets : int
        Number of targets.
    cap : float, optional
        Largest standard deviation, less the floor; by default there is none.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import MeanVarianceHead
    >>> MeanVarianceHead(8, targets=2)(torch.ones(5, 8)).shape
    torch.Size([5, 2, 2])
    """

    in_features: int
    targets: int = 1
    bias: InitVar[bool] = True
    floor: float = field(default=1e-3, kw_only=True)
    cap: float | None = field(default=None, kw_only=True)

    def _check_units(self) -> int:
        if self.cap is not None:
            self.cap = check_number(self.cap, "cap", closed="neither")
        return check_integer(self.targets, "targets")

    def _spread(self, raw: Tensor) -> Tensor:
        spread = super()._spread(raw)
        return spread if self.cap is None else spread / (1 + spread / self.cap)

    def extra_repr(self) -> str:
        """Return what the layer's line in a printed module says."""
        return super().extra_repr() + ("" if self.cap is None else f", cap={self.cap}")


@declared()
class QuantileHead(Head):
    r"""Quantiles that cannot cross.

    The level next to 1/2 is a linear output; every other quantile is its neighbor's plus a
    softplus above it, or minus one below it:

    .. math:: q_c = r_c, \quad q_{j+1} = q_j + \log(1 + e^{r_{j+1}}) \;(j \ge c), \quad
        q_{j-1} = q_j - \log(1 + e^{r_{j-1}}) \;(j \le c)

    Parameters
    ----------
    levels : sequence of float
        Levels of the quantiles, increasing, between 0 and 1; `losses.pinball` needs the same.
    targets : int
        Number of targets.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import QuantileHead
    >>> quantiles = QuantileHead(8, [0.1, 0.5, 0.9], targets=2)(torch.randn(5, 8))
    >>> quantiles.shape, bool((quantiles.diff() >= 0).all())
    (torch.Size([5, 2, 3]), True)
    """

    in_features: int
    levels: Sequence[float]
    targets: int = 1
    bias: InitVar[bool] = True

    def _count_outputs(self) -> int:
        self.levels = levels = check_levels(self.levels)
        self.center = min(range(len(levels)), key=lambda i: abs(levels[i] - 0.5))
        return check_integer(self.targets, "targets") * len(levels)

    def forward(self, x: Tensor) -> Tensor:
        """Return quantiles of shape (rows, targets, levels), increasing along the last axis."""
        raw = self.get_submodule("linear")(x).unflatten(-1, (self.targets, len(self.levels)))
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
