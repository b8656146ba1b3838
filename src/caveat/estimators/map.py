"""Maximum a posteriori: one network, under a Gaussian prior on its weights."""

from .._constructors import declared
from ._tasks import NetworkClassifier, NetworkRegressor, WithPrior


@declared(kw_only=True)
class MAPClassifier(WithPrior, NetworkClassifier):
    r"""One network for classes, the most probable one under a Gaussian prior.

    .. math:: \frac{1}{N} \sum_n -\log p(y_n \mid x_n, \theta)
        + \frac{\lVert \theta \rVert^2}{2 N s^2}

    with the standard deviation :math:`s` of the prior. It has one member, so all its uncertainty is
    aleatoric.
    """


@declared(kw_only=True)
class MAPRegressor(WithPrior, NetworkRegressor):
    """One network for numbers, the most probable one under a Gaussian prior.

    The objective is that of `MAPClassifier`, with Gaussians whose mean and standard deviation the
    network predicts; with ``head="mean"`` it is the squared error, under noise whose standard
    deviation is that of the targets.
    """
