"""What is believed of a weight before the data, and how far a learned Gaussian is from it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp, log, pi
from typing import ClassVar

import torch
from torch import Tensor

from ..._validation import check_number
from ...exceptions import OptionError

_HALF_LOG_2PI = log(2 * pi) / 2


class Prior(ABC):
    """A distribution of independent weights.

    A prior of your own is a subclass with `log_density`.
    """

    closed_form: ClassVar[bool] = False
    """Whether `divergence` is exact and needs no drawn weights."""

    @abstractmethod
    def log_density(self, weight: Tensor) -> Tensor:
        """Return the log density of each weight, in the weights' shape."""

    def divergence(self, mean: Tensor, std: Tensor, noise: Tensor | None = None) -> Tensor:
        r"""Return the divergence of :math:`q = N(mean, std^2)` from the prior, or its estimate.

        .. math:: \log q(w) - \log p(w), \quad w = \mathrm{mean} + \mathrm{std} \cdot
            \mathrm{noise}

        summed over the weights; its expectation over standard normal noise is the Kullback-Leibler
        divergence.

        Parameters
        ----------
        mean, std : Tensors of one shape
            Means and standard deviations of the weights.
        noise : Tensor of the same shape, optional
            May be left out if there is a closed form.

        Returns
        -------
        Tensor of shape ()
        """
        if noise is None:
            raise OptionError(
                f"{type(self).__name__} has no closed form of its divergence; "
                "pass the standard normal noise of the drawn weights"
            )
        # (w - mean) / std is the noise itself; a division would lose digits where std is small.
        log_q = -(std.log() + noise.square() / 2 + _HALF_LOG_2PI)
        return (log_q - self.log_density(mean + std * noise)).sum()


@dataclass(frozen=True)
class GaussianPrior(Prior):
    r"""Independent weights from :math:`N(0, \mathrm{std}^2)`.

    The divergence of a Gaussian from it has a closed form:

    .. math:: \sum \log\frac{s}{\sigma} + \frac{\sigma^2 + \mu^2}{2 s^2} - \frac{1}{2}

    Parameters
    ----------
    std : float, default=1.0
        Standard deviation :math:`s`.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import GaussianPrior
    >>> prior = GaussianPrior(2.0)
    >>> prior.divergence(torch.zeros(3), torch.full((3,), 2.0), torch.zeros(3))
    tensor(0.)
    """

    closed_form: ClassVar[bool] = True
    std: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.std, "std", closed="neither")

    def log_density(self, weight: Tensor) -> Tensor:
        """Return the log density of each weight."""
        return _log_normal(weight, self.std)

    def divergence(self, mean: Tensor, std: Tensor, noise: Tensor | None = None) -> Tensor:
        """Return the Kullback-Leibler divergence.

        Parameters
        ----------
        mean, std : Tensors of one shape
        noise : Tensor, optional
            Not used.
        """
        ratio = std / self.std
        return (((mean / self.std).square() + ratio.square() - 1) / 2 - ratio.log()).sum()


@dataclass(frozen=True)
class ScaleMixturePrior(Prior):
    r"""Independent weights from a mixture of a wide and a narrow Gaussian around 0.

    .. math:: p(w) = \pi N(w; 0, s_1^2) + (1 - \pi) N(w; 0, s_2^2)

    The wide part lets some weights be large, the narrow one pulls the others to 0. The divergence
    of a Gaussian from it has no closed form and is estimated at the drawn weights. The default is
    the prior of Blundell et al., where published settings often give :math:`-\log s`, here 0 and
    6.

    Parameters
    ----------
    weight : float, default=0.5
        Weight :math:`\pi` of the first part, between 0 and 1.
    std1 : float, default=1.0
        Standard deviation :math:`s_1` of the first part.
    std2 : float, default=0.0024787521766663585
        Standard deviation :math:`s_2` of the second part; :math:`e^{-6}` by default.

    References
    ----------
    Blundell et al.: Weight uncertainty in neural networks, 2015.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.layers import ScaleMixturePrior
    >>> prior = ScaleMixturePrior(0.5, 5.0, 2.0)
    >>> float(prior.log_density(torch.tensor(0.0)).exp().mul(1000).round())
    140.0
    """

    weight: float = 0.5
    std1: float = 1.0
    std2: float = exp(-6)

    def __post_init__(self) -> None:
        if not 0 < self.weight < 1:
            raise OptionError(
                f"weight must lie between 0 and 1; got {self.weight!r}; "
                "a prior of one Gaussian is GaussianPrior"
            )
        check_number(self.std1, "std1", closed="neither")
        check_number(self.std2, "std2", closed="neither")

    def log_density(self, weight: Tensor) -> Tensor:
        """Return the log density of each weight."""
        return torch.logaddexp(
            _log_normal(weight, self.std1) + log(self.weight),
            _log_normal(weight, self.std2) + log(1 - self.weight),
        )


def _log_normal(weight: Tensor, std: float) -> Tensor:
    """Return the log density of N(0, std**2)."""
    return -((weight / std).square() / 2 + log(std) + _HALF_LOG_2PI)
