"""Entropies: how much of the disagreement is between members."""

import numpy as np

from ..._blocks import row_blocks
from ...predictions import Categorical, Decomposition
from .._logarithm import times_logarithm
from ._common import not_negative, split


def information(prediction: Categorical) -> Decomposition:
    r"""Split the entropy of the mean prediction (information-theoretic).

    .. math::

        \underbrace{H[\mathrm{E}_t\, p_t]}_{\text{total}} =
        \underbrace{\mathrm{E}_t\, H[p_t]}_{\text{aleatoric}} +
        \underbrace{I(Y; \Theta)}_{\text{epistemic}}

    In nats, each part in :math:`[0, \log C]`. The epistemic part, the mutual information of label
    and member, is 0 for one member. Additive. (Equation 4 of de Jong et al. is misprinted: the
    aleatoric term stands there twice.)

    References
    ----------
    Depeweg et al., Decomposition of uncertainty in Bayesian deep learning, ICML 2018.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical([[[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]])
    >>> split = caveat.decompose(prediction, "information")
    >>> split.aleatoric.round(3), split.epistemic.round(3)
    (array([0.693, 0.   ]), array([0.   , 0.693]))
    """
    members, samples, classes = prediction.probabilities.shape
    aleatoric = np.empty(samples)
    total = np.empty(samples) if members > 1 else aleatoric
    ones = np.ones(classes)
    for rows in row_blocks(samples, classes):
        block = prediction.probabilities[:, rows]
        if members == 1:  # nothing is epistemic
            aleatoric[rows] = -(times_logarithm(block[0], np.empty(block.shape[1:])) @ ones)
            continue
        mean, entropies = np.zeros(block.shape[1:]), np.zeros(block.shape[1:])
        scratch = np.empty(block.shape[1:])
        for member in block:
            entropies -= times_logarithm(member, scratch)
            mean += member
        mean /= members
        entropies /= members
        aleatoric[rows] = entropies.sum(axis=1)
        total[rows] = -times_logarithm(mean, scratch).sum(axis=1)
    return split("information", total, aleatoric, not_negative(total - aleatoric))
