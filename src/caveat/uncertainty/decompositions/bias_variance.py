"""The variance over members, and the Gini impurity of their mean."""

from ..._members import mean_and_variance
from ...predictions import Categorical, Decomposition
from ._common import gini, split


def bias_variance(prediction: Categorical) -> Decomposition:
    r"""Variance over members, and Gini impurity of their mean (Smith & Gal).

    .. math::

        \text{aleatoric} = 1 - \sum_c \bar p_c^2, \qquad
        \text{epistemic} = \frac{1}{C} \sum_c \mathrm{Var}_t\, p_{tc}

    Not additive: what is called aleatoric here is already the whole predictive variance of
    :func:`variance`, so the total is that same number.

    References
    ----------
    Smith & Gal, Understanding measures of uncertainty for adversarial example detection, UAI 2018.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Categorical([[[0.5, 0.5], [1, 0]], [[0.5, 0.5], [0, 1]]])
    >>> split = caveat.decompose(prediction, "bias_variance")
    >>> split.aleatoric, split.epistemic
    (array([0.5, 0.5]), array([0.  , 0.25]))
    """
    mean, spread = mean_and_variance(prediction.probabilities)
    impurity = gini(mean)
    return split("bias_variance", impurity, impurity, spread.mean(axis=1), additive=False)
