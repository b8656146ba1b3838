"""Entropies of softmaxes whose logits carry one kind of noise at a time."""

import numpy as np

from ..._blocks import row_blocks
from ..._members import mean_and_variance
from ..._random import RandomState, generator
from ..._validation import FloatArray
from ...predictions import Decomposition, GaussianLogits
from ...predictions.gaussian_logits import check_draws, expected_softmax
from .._logarithm import times_logarithm


def gaussian_logits(
    prediction: GaussianLogits, *, draws: int = 100, random_state: RandomState = None
) -> Decomposition:
    r"""Split by the variance that the logits are given before the softmax.

    With :math:`\mu = \mathrm{E}_t\,\mu_t`, each part is the entropy, in nats, of
    :math:`\frac{1}{N} \sum_n \mathrm{softmax}(z_n)`, :math:`z_n \sim \mathcal{N}(\mu, v)`, where
    :math:`v` is :math:`\mathrm{E}_t\,\sigma_t^2` for the aleatoric part,
    :math:`\mathrm{Var}_t\,\mu_t` for the epistemic part and their sum for the total.

    Not additive, and the epistemic part of one member is not 0 but the entropy of the softmax of
    :math:`\mu`. The draws come in pairs of opposite sign and are the same for every sample, dealt
    to its classes in the order of their logits: a sample's numbers depend neither on the samples
    around it nor on the order of the classes.

    Parameters
    ----------
    prediction : GaussianLogits
    draws : int, default=100
        Softmaxes averaged for each sample and part (:math:`N`).
    random_state : int, Generator or None

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
    half = generator(random_state).standard_normal(
        ((check_draws(draws) + 1) // 2, prediction.mean.shape[2])
    )
    noise = np.concatenate([half, -half])[:draws]
    mean, epistemic = mean_and_variance(prediction.mean)
    aleatoric = prediction.variance.mean(axis=0)
    return Decomposition._trusted(
        {
            "total": _entropy_under(mean, aleatoric + epistemic, noise),
            "aleatoric": _entropy_under(mean, aleatoric, noise),
            "epistemic": _entropy_under(mean, epistemic, noise),
            "additive": False,
            "method": "gaussian_logits",
        }
    )


def _entropy_under(mean: FloatArray, variance: FloatArray, noise: FloatArray) -> FloatArray:
    entropy = np.empty(len(mean))
    for rows in row_blocks(len(mean), noise.size):
        order = np.lexsort((variance[rows], mean[rows]), axis=1)
        sorted_mean = np.take_along_axis(mean[rows], order, axis=1)
        sorted_std = np.sqrt(np.take_along_axis(variance[rows], order, axis=1))
        probabilities = expected_softmax(sorted_mean, sorted_std, noise)
        entropy[rows] = -times_logarithm(probabilities, np.empty_like(probabilities)).sum(axis=1)
    return entropy
