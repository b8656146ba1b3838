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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caveat.estimators import MAPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MAPClassifier(epochs=20, random_state=0).fit(X, y)
    >>> model.predict_distribution(X)
    Categorical: 1 member x 150 samples x 3 classes (0, 1, 2)
    >>> model.score(X, y) > 0.9
    True
    """


@declared(kw_only=True)
class MAPRegressor(WithPrior, NetworkRegressor):
    """One network for numbers, the most probable one under a Gaussian prior.

    The objective is that of `MAPClassifier`, with Gaussians whose mean and standard deviation the
    network predicts; with ``head="mean"`` it is the squared error, under noise whose standard
    deviation is that of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.estimators import MAPRegressor
    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> model = MAPRegressor(epochs=40, random_state=0).fit(X, X[:, 0] ** 2)
    >>> model.predict_distribution(X)
    Gaussian: 1 member x 60 samples x 1 target (0)
    >>> model.predict_interval([[0.5]], coverage=0.9).coverage
    0.9
    """
