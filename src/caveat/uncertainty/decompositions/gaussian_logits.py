"""Entropies of softmaxes whose logits carry one kind of noise at a time."""

import numpy as np

from ..._blocks import row_blocks
from ..._members import mean_and_variance
from ..._random import RandomState, generator
from ..._validation import FloatArray
from ...predictions import Decomposition, GaussianLogits
from ...predictions._expected_softmax import expected_softmax
from ...predictions.gaussian_logits import check_draws, sampled_softmax
from .._logarithm import times_logarithm
from ._common import split


def gaussian_logits(
    prediction: GaussianLogits, *, draws: int | None = None, random_state: RandomState = None
) -> Decomposition:
    r"""Split by the variance that the logits are given before the softmax.

    With :math:`\mu = \mathrm{E}_t\,\mu_t`, each part is the entropy, in nats, of
    :math:`\mathrm{E}\,\mathrm{softmax}(z)`, :math:`z \sim \mathcal{N}(\mu, v)`, where :math:`v` is
    :math:`\mathrm{E}_t\,\sigma_t^2` for the aleatoric part, :math:`\mathrm{Var}_t\,\mu_t` for the
    epistemic part and their sum for the total.

    Not additive, and the epistemic part of one member is not 0 but the entropy of the softmax of
    :math:`\mu`. The expectation is taken by quadrature, see
    :meth:`caveat.GaussianLogits.to_categorical`, with an error of its probabilities below
    :math:`10^{-5}`. The paper averages 100 draws instead, whose entropies are off by up to 0.1 to
    0.2 nats with ten classes. A sample's numbers depend neither on the samples around it nor on
    the order of the classes.

    Parameters
    ----------
    prediction : GaussianLogits
    draws : int, optional
        Average this many random softmaxes for each sample and part, as the paper does. They come in
        pairs of opposite sign and are the same for every sample, dealt to its classes in the order
        of their logits.
    random_state : int, Generator or None
        For the draws.

    References
    ----------
    Valdenegro-Toro & Mori, A deeper look into aleatoric and epistemic uncertainty disentanglement,
    CVPR workshops 2022.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.GaussianLogits([[2.0, 0.0]], [[9.0, 9.0]])
    >>> split = caveat.decompose(prediction, "gaussian_logits", random_state=0)
    >>> bool(split.aleatoric[0] > split.epistemic[0])
    True
    """
    noise = None
    if draws is not None:
        half = generator(random_state).standard_normal(
            ((check_draws(draws) + 1) // 2, prediction.mean.shape[2])
        )
        noise = np.concatenate([half, -half])[:draws]
    mean, epistemic = mean_and_variance(prediction.mean)
    aleatoric = prediction.variance.mean(axis=0)
    return split(
        "gaussian_logits",
        _entropy_under(mean, aleatoric + epistemic, noise),
        _entropy_under(mean, aleatoric, noise),
        _entropy_under(mean, epistemic, noise),
        additive=False,
    )


def _entropy_under(mean: FloatArray, variance: FloatArray, noise: FloatArray | None) -> FloatArray:
    if noise is None:
        return _entropy(expected_softmax(mean, np.sqrt(variance)))
    entropy = np.empty(len(mean))
    for rows in row_blocks(len(mean), noise.size):
        order = np.lexsort((variance[rows], mean[rows]), axis=1)
        sorted_mean = np.take_along_axis(mean[rows], order, axis=1)
        sorted_std = np.sqrt(np.take_along_axis(variance[rows], order, axis=1))
        entropy[rows] = _entropy(sampled_softmax(sorted_mean, sorted_std, noise))
    return entropy


def _entropy(probabilities: FloatArray) -> FloatArray:
    return np.asarray(-times_logarithm(probabilities, np.empty_like(probabilities)).sum(axis=1))
