"""Variances of the one-hot label, by the law of total variance."""

import numpy as np

from ..._members import mean_and_variance
from ...predictions import Categorical, Decomposition
from ._common import gini, split


def variance(prediction: Categorical) -> Decomposition:
    r"""Split the variance of the one-hot label, summed over classes (Kwon et al., the trace).

    .. math::

        \underbrace{1 - \textstyle\sum_c \bar p_c^2}_{\text{total}} =
        \underbrace{\mathrm{E}_t \textstyle\sum_c p_{tc} (1 - p_{tc})}_{\text{aleatoric}} +
        \underbrace{\textstyle\sum_c \mathrm{Var}_t\, p_{tc}}_{\text{epistemic}}

    Each part in :math:`[0, 1 - 1/C]`. The trace is taken of both matrices, and the variance over
    members divides by their number. Additive; the epistemic part is 0 for one member.

    References
    ----------
    Kwon et al., Uncertainty quantification using Bayesian neural networks in classification,
    Computational Statistics & Data Analysis 142, 2020.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical([[[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]])
    >>> split = caveat.decompose(prediction, "variance")
    >>> split.aleatoric, split.epistemic
    (array([0.5, 0. ]), array([0. , 0.5]))
    """
    mean, spread = mean_and_variance(prediction.probabilities)
    epistemic = spread.sum(axis=1)
    # E[p (1 - p)] for each class, from the two moments at hand: no further pass over the members.
    aleatoric = np.maximum(mean * (1 - mean) - spread, 0.0).sum(axis=1)
    return split("variance", gini(mean), aleatoric, epistemic)
