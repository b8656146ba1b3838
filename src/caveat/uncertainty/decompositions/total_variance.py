"""Regression: the law of total variance."""

from ..._members import mean_and_variance
from ...predictions import Decomposition, Gaussian
from ._common import split


def total_variance(prediction: Gaussian) -> Decomposition:
    r"""Split the variance of the mixture of the members.

    .. math::

        \underbrace{\mathrm{Var}[y]}_{\text{total}} =
        \underbrace{\mathrm{E}_t[\sigma_t^2]}_{\text{aleatoric}} +
        \underbrace{\mathrm{Var}_t[\mu_t]}_{\text{epistemic}}

    In squared units of the target, one column for each target. Additive; the variance over
    members divides by their number, and is 0 for one member.

    References
    ----------
    Kendall & Gal, What uncertainties do we need in Bayesian deep learning for computer vision?,
    NeurIPS 2017.

    Examples
    --------
    >>> import caveat
    >>> prediction = caveat.Gaussian.from_members([[1.0], [3.0]], [[0.5], [1.5]])
    >>> split = caveat.decompose(prediction)
    >>> split.total, split.aleatoric, split.epistemic
    (array([[2.]]), array([[1.]]), array([[1.]]))
    """
    aleatoric = prediction.variance.mean(axis=0)
    _, epistemic = mean_and_variance(prediction.mean)
    return split("total_variance", aleatoric + epistemic, aleatoric, epistemic)
