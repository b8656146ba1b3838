"""Losses: one number for each sample, unless said otherwise; lower is better.

All but `uncertainty_gap` work under ``torch.vmap``. Layouts are those of the heads in
`caveat.nn.layers`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log, pi

import torch
from torch import Tensor

from .._docstrings import describe_parameters
from .._validation import check_integer
from ..exceptions import OptionError, ShapeError
from . import noise
from ._loss_inputs import as_codes, as_targets, halves, pairs
from ._uncertainty_gap import uncertainty_gap
from .layers.heads import check_levels

__all__ = [
    "anchored_penalty",
    "beta_nll",
    "elbo",
    "gaussian_nll",
    "nll",
    "over_members",
    "pinball",
    "sampled_softmax_nll",
    "squared_error",
    "uncertainty_gap",
]

BETA, DRAWS = 0.5, 100
"""Defaults of `beta_nll` and `sampled_softmax_nll`."""

_EACH = {"Returns": "Tensor of shape (samples,)"}
_CODES = _EACH | {
    "target": "target : integer Tensor of shape (samples,)\n    Codes 0, 1, 2, ... of the classes."
}
_TARGET = _EACH | {
    "target": "target : Tensor of shape (samples, targets), or (samples,) for one target\n"
    "    True values."
}
_MOMENTS = {
    "output": "output : Tensor of shape (samples, 2, targets)\n"
    "    Mean and standard deviation, as `MeanVarianceHead` gives them."
}

LOSS_PLACE = -1
"""Where the losses draw their noise: layers have places from 0 on, so none draws the same."""


@describe_parameters(_CODES)
def nll(logits: Tensor, target: Tensor) -> Tensor:
    r"""Return the negative log likelihood of class codes, in nats.

    .. math:: -\log \mathrm{softmax}(z_n)_{y_n}

    Parameters
    ----------
    logits : Tensor of shape (samples, classes)

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import nll
    >>> nll(torch.zeros(1, 4), torch.tensor([2])).exp()
    tensor([4.])
    """
    return -_log_probability(logits, as_codes(target, logits.shape[:-1]))


@describe_parameters(_MOMENTS, _TARGET)
def gaussian_nll(output: Tensor, target: Tensor) -> Tensor:
    r"""Return the negative log likelihood under Gaussians with a learned standard deviation.

    .. math:: \sum_t \log \sigma_{nt} + \frac{(y_{nt} - \mu_{nt})^2}{2 \sigma_{nt}^2}
        + \frac{1}{2} \log 2 \pi

    Summed over the targets, which are independent; with all constants, so values can be compared
    with those of other densities.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import gaussian_nll
    >>> gaussian_nll(torch.tensor([[[0.0], [1.0]]]), torch.tensor([2.0]))
    tensor([2.9189])
    """
    return _gaussian_terms(output, target).sum(-1)


@describe_parameters(_MOMENTS, _TARGET)
def beta_nll(output: Tensor, target: Tensor, *, beta: float = BETA) -> Tensor:
    r"""Return the Gaussian negative log likelihood, each target weighted by its variance.

    .. math:: \sum_t \lfloor \sigma_{nt}^{2 \beta} \rfloor \Big(\log \sigma_{nt}
        + \frac{(y_{nt} - \mu_{nt})^2}{2 \sigma_{nt}^2} + \frac{1}{2} \log 2 \pi\Big)

    where no gradient goes through :math:`\lfloor \cdot \rfloor`. A plain Gaussian loss divides the
    residual's gradient by the variance, so samples that fit badly at first are called noise and
    given up; with `beta` 1 the mean learns as under a squared error, 0 is `gaussian_nll`. The value
    itself is no likelihood.

    Parameters
    ----------
    beta : float, default=0.5
        From 0 to 1.

    References
    ----------
    Seitzer et al.: On the pitfalls of heteroscedastic uncertainty estimation with probabilistic
    neural networks, 2022.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import beta_nll, gaussian_nll
    >>> output, target = torch.tensor([[[0.0], [2.0]]]), torch.tensor([1.0])
    >>> beta_nll(output, target) / gaussian_nll(output, target)
    tensor([2.])
    """
    if not 0 <= beta <= 1:
        raise OptionError(f"beta must be from 0 to 1; got {beta!r}")
    terms = _gaussian_terms(output, target)
    return (output[..., 1, :].detach() ** (2 * beta) * terms).sum(-1)


@describe_parameters(_CODES)
def sampled_softmax_nll(
    output: Tensor, target: Tensor, *, draws: int = DRAWS, place: int = LOSS_PLACE
) -> Tensor:
    r"""Return the negative log of the probability averaged over noisy logits.

    .. math:: -\log \frac{1}{K} \sum_k \mathrm{softmax}(\mu_n + \sigma_n \odot
        \epsilon_{nk})_{y_n}, \quad \epsilon \sim N(0, 1)

    computed from log probabilities, so it is finite where all :math:`K` of them underflow. The
    average comes before the logarithm; it is not the mean of `nll` over draws, which is larger.

    Inside `caveat.nn.keyed` the noise is a function of the key, and all samples share it in a
    shared pass; outside it comes from torch's generator.

    Parameters
    ----------
    output : Tensor of shape (samples, 2, classes)
        Mean and standard deviation of the logits, as `GaussianLogitsHead` gives them.
    draws : int, default=100
        Softmaxes averaged for each sample (:math:`K`); memory grows with it.
    place : int, default=-1
        Where under the key the noise is drawn; two such losses of one pass need two places. Layers
        have the places from 0 on.

    References
    ----------
    Kendall, Gal: What uncertainties do we need in Bayesian deep learning for computer vision?,
    2017.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import nll, sampled_softmax_nll
    >>> certain = torch.tensor([[[1.0, 3.0], [0.0, 0.0]]])
    >>> code = torch.tensor([1])
    >>> torch.allclose(sampled_softmax_nll(certain, code), nll(certain[:, 0], code))
    True
    """
    mean, std = halves(output, "classes")
    codes = as_codes(target, mean.shape[:-1])
    now = noise.current()
    rows = (1,) * (mean.dim() - 1) if now is not None and now.shared else mean.shape[:-1]
    # Numbered row by row: what a row draws does not depend on how many follow.
    shape = (*rows, check_integer(draws, "draws"), mean.shape[-1])
    key = None if now is None else now.key
    drawn = noise.normal(key, noise.stream(place, 0), shape, mean).movedim(-2, 0)
    logits = mean + std * drawn
    likelihoods = _log_probability(logits, codes.expand(logits.shape[:-1]))
    return log(draws) - torch.logsumexp(likelihoods, dim=0)


@describe_parameters(_TARGET)
def pinball(output: Tensor, target: Tensor, levels: Sequence[float]) -> Tensor:
    r"""Return the pinball loss of quantiles.

    .. math:: \frac{1}{T L} \sum_t \sum_l \max\big(\nu_l (y_{nt} - q_{ntl}),
        (\nu_l - 1)(y_{nt} - q_{ntl})\big)

    the mean over targets and levels: with two targets and five levels the factor is 1/10. Each term
    is least in expectation where the output is the quantile of its level.

    Parameters
    ----------
    output : Tensor of shape (samples, targets, levels)
        As `QuantileHead` gives it.
    levels : sequence of float
        Between 0 and 1, increasing: those of the head.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import pinball
    >>> pinball(torch.zeros(1, 1, 1), torch.tensor([2.0]), [0.9])
    tensor([1.8000])
    """
    values = check_levels(levels)
    if output.dim() < 2 or output.shape[-1] != len(values):
        raise ShapeError(
            f"output must have shape (samples, targets, {len(values)}), one value for each level; "
            f"got {tuple(output.shape)}"
        )
    residual = as_targets(target, output.shape[:-1]).unsqueeze(-1) - output
    # Not by torch.tensor, a copy from the host, which cannot be recorded on a GPU.
    level = torch.stack([output.new_full((), value) for value in values])
    return torch.maximum(level * residual, (level - 1) * residual).mean((-2, -1))


@describe_parameters(_TARGET)
def squared_error(output: Tensor, target: Tensor) -> Tensor:
    r"""Return the squared distance from the targets, summed over them.

    .. math:: \sum_t (y_{nt} - \mu_{nt})^2

    Parameters
    ----------
    output : Tensor of shape (samples, targets), or (samples,) for one target

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import squared_error
    >>> squared_error(torch.zeros(2, 1), torch.tensor([1.0, 3.0]))
    tensor([1., 9.])
    """
    values = output.unsqueeze(-1) if output.dim() == 1 else output
    return (values - as_targets(target, values.shape)).square().sum(-1)


@describe_parameters(_EACH)
def over_members(
    output: Tensor, target: Tensor, *, loss: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    r"""Return the mean loss of members that share weights, each for itself.

    .. math:: \frac{1}{M} \sum_m \ell(o_{nm}, y_n)

    It is not the loss of their mean, under which members would only learn what others lack.

    Parameters
    ----------
    output : Tensor of shape (samples, members, ...)
        Outputs of all members.
    target : Tensor of shape (samples, ...)
        True values, the same for all members.
    loss : callable
        Loss of one member: (output, target) -> one number for each sample.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import over_members, squared_error
    >>> output = torch.tensor([[[0.0], [2.0]]])
    >>> over_members(output, torch.tensor([1.0]), loss=squared_error)
    tensor([1.])
    """
    samples, members = output.shape[:2]
    rows = output.transpose(0, 1).flatten(0, 1)
    repeated = target.repeat(members, *[1] * (target.dim() - 1))
    return loss(rows, repeated).view(members, samples).mean(0)


def elbo(
    nll: Tensor, kl: Tensor, *, likelihood_weight: float = 1.0, kl_weight: float = 1.0
) -> Tensor:
    r"""Return what variational inference minimizes: minus the evidence's lower bound, weighted.

    .. math:: \lambda \frac{1}{B} \sum_n \mathrm{nll}_n + \kappa\, \mathrm{kl}

    For `N` samples the bound divided by `N` is :math:`\lambda = 1, \kappa = 1 / N`, with any size
    :math:`B` of a batch. Some instead leave the divergence whole and multiply the mean likelihood
    by a constant: :math:`\lambda = N` is the bound itself, any other value a tempered posterior.

    Parameters
    ----------
    nll : Tensor of shape (samples,)
        Negative log likelihoods; their mean is taken.
    kl : Tensor of shape ()
        The divergence from the prior, such as `caveat.nn.layers.total_penalty`.
    likelihood_weight, kl_weight : float, default=1
        :math:`\lambda` and :math:`\kappa`.

    Returns
    -------
    Tensor of shape ()

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import elbo
    >>> elbo(torch.tensor([1.0, 3.0]), torch.tensor(50.0), kl_weight=1 / 100)
    tensor(2.5000)
    """
    return likelihood_weight * nll.mean() + kl_weight * kl


def anchored_penalty(
    parameters: Mapping[str, Tensor] | Iterable[Tensor],
    anchors: Mapping[str, Tensor] | Iterable[Tensor],
    *,
    strength: float | Tensor,
    samples: int | Tensor,
    half: bool = False,
) -> Tensor:
    r"""Return the pull of a network's parameters to its own draw from the prior.

    .. math:: \frac{\lambda}{N} \lVert \theta - \theta_0 \rVert^2

    It goes with the mean *squared error*; then :math:`\lambda` is the variance of the noise over
    that of the prior. With a negative log likelihood, which has a half of its own, pass
    ``half=True``: the penalty is halved, and :math:`\lambda` is one over the prior's variance.

    Parameters
    ----------
    parameters, anchors : mappings from names to Tensors, or iterables of Tensors
        :math:`\theta` and :math:`\theta_0`, of the same names or in the same order.
    strength : float
        :math:`\lambda`.
    samples : int
        :math:`N`, the size of the training set, not of a batch.
    half : bool, default=False
        Whether to halve the penalty.

    Returns
    -------
    Tensor of shape ()

    References
    ----------
    Pearce et al.: Uncertainty in neural networks: approximately Bayesian ensembling, 2020.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import anchored_penalty
    >>> anchored_penalty([torch.ones(3)], [torch.zeros(3)], strength=2.0, samples=10)
    tensor(0.6000)
    """
    squares = torch.stack(
        [(value - anchor).square().sum() for value, anchor in pairs(parameters, anchors)]
    ).sum()
    return squares * strength / samples / (2 if half else 1)


def _log_probability(logits: Tensor, codes: Tensor) -> Tensor:
    """Return the log probability of each code; the last axis are the classes."""
    return torch.log_softmax(logits, -1).gather(-1, codes.unsqueeze(-1)).squeeze(-1)


def _gaussian_terms(output: Tensor, target: Tensor) -> Tensor:
    """Return the negative log density of each target."""
    mean, std = halves(output, "targets")
    # Dividing before squaring keeps the square of a small deviation from vanishing.
    residual = (as_targets(target, mean.shape) - mean) / std
    return std.log() + residual.square() / 2 + log(2 * pi) / 2
