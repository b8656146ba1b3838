"""Divergences between every two members."""

import numpy as np

from ..._blocks import row_blocks
from ...predictions import Categorical, Decomposition
from .._logarithm import LOG_OF_ZERO
from ._common import not_negative, split


def pairwise_kl(prediction: Categorical) -> Decomposition:
    r"""Split by the mean Kullback-Leibler divergence between two different members.

    .. math::

        \text{aleatoric} = \frac{1}{M} \sum_i H[p_i], \qquad
        \text{epistemic} = \frac{1}{M (M - 1)} \sum_{i \ne j} \mathrm{KL}(p_i \,\|\, p_j)

    In nats; the total is their sum (additive). All pairs cost one pass over the members, since
    :math:`\sum_{ij} \mathrm{KL}(p_i \| p_j) = M \sum_{ic} p_{ic} \log p_{ic} -
    \sum_c (\sum_i p_{ic}) (\sum_j \log p_{jc})`. The epistemic part is infinite where one member
    rules out what another allows, and 0 for one member.

    References
    ----------
    Schweighofer et al., Introducing an improved information-theoretic measure of predictive
    uncertainty, NeurIPS workshop on the mathematics of modern machine learning, 2023.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical([[[0.5, 0.5], [1, 0]], [[0.25, 0.75], [0, 1]]])
    >>> caveat.decompose(prediction, "pairwise_kl").epistemic.round(4)
    array([0.1373,    inf])
    """
    members, samples, classes = prediction.probabilities.shape
    aleatoric, epistemic = np.empty(samples), np.empty(samples)
    pairs = max(1, members * (members - 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0, and 0 times it
        for rows in row_blocks(samples, classes):
            block = prediction.probabilities[:, rows]
            shape = block.shape[1:]
            sums, logs, entropies = np.zeros(shape), np.zeros(shape), np.zeros(shape)
            scratch = np.empty(shape)
            for member in block:
                np.log(member, out=scratch)
                logs += scratch
                np.maximum(scratch, LOG_OF_ZERO, out=scratch)
                scratch *= member
                entropies -= scratch
                sums += member
            crossed = np.where(sums == 0, 0.0, sums * logs)
            aleatoric[rows] = entropies.sum(axis=1) / members
            epistemic[rows] = (-members * entropies - crossed).sum(axis=1) / pairs
    epistemic = not_negative(epistemic)
    return split("pairwise_kl", aleatoric + epistemic, aleatoric, epistemic)
